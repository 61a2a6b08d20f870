"""Error rate, power and time of rank sets, compared with paired tests.

`python benchmarks/ranks.py FOLDER_OF_POOLS PART,PART SHUFFLES [POOL,POOL [LOOKS]]`. The first three
parts use the candidates with the closest means, because a wrong claim needs a near tie:

list     Rows of the list in random order, up to half of them. A claim is wrong if it contradicts
         the order on the list.
sample   Independent rows of a distribution with equal means: rows of the pool, each permuted at
         random. A claim against the file order is wrong. `any` counts all claims: .10 for a method
         with .05 wrong ones.
peer     Both, and evalstats on the same rows (p-values of all_pairwise with its defaults, but
         PEER_RESAMPLES resamples), with PEER_CANDIDATES candidates and PEER_ROWS rows.
power    Pairs of all candidates separated beyond the list by all rows, as a share of those that
         one-sided paired tests at level / (k (k - 1) / 2) separate: exact binomial tests for losses
         0 and 1, t-tests for others.
time     Seconds of `rank` on tables of 240 candidates and 10,000 rows, both readings; uses no pool.

`uncorrected` tests every pair at the level. `holm` and `evalstats` correct over the pairs of one
look, and nothing over looks. `ranks, every row` are the claims of a race after every row, `ranks, 1
look` those of `rank` beyond the list.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from measure import random_orders, read_losses
from tombola.racing.rules.ranks import Ranks, close_transitively, n_pairs
from tombola.ranking import rank
from tombola.ranking.paired_tests import pair_pvalues

LEVEL = 0.05
POOLS = ("swebench_bash", "alpacaeval_v2", "m3_forecasts", "aslib_sat12_indu", "routellm_gsm8k")
LOOKS = (1, 10, 100)
# No look before this row: t-tests on fewer rows are not published.
MIN_ROWS = 20
CANDIDATES, MAX_ROWS = 8, 500
# evalstats takes milliseconds for a look, in proportion to pairs, rows and resamples.
PEER_CANDIDATES, PEER_ROWS, PEER_RESAMPLES = 3, 100, 300
# Random orders of `rank` for losses other than 0 and 1.
RANK_SEEDS = 8


def paired_pvalues(rows: Any) -> tuple[Any, Any]:
    """Return two-sided p-values of paired t-tests and mean differences, shape (k, k)."""
    n = len(rows)
    means, covariance = rows.mean(axis=0), np.cov(rows, rowvar=False)
    variance = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    difference = means[:, None] - means[None, :]
    deviation = np.sqrt(np.maximum(variance, 0.0) / n)
    # Identical columns have neither a difference nor a spread: no evidence.
    t = np.divide(
        np.abs(difference), deviation, out=np.zeros_like(difference), where=deviation > 1e-12
    )
    return 2 * stats.t.sf(t, n - 1), difference


def test_claims(rows: Any, times: Any) -> dict[str, Any]:
    """Return the claims of paired t-tests on prefixes of the rows.

    One boolean array (looks, k, k) for each method: the row is better than the column.
    """
    k = rows.shape[1]
    first, second = np.triu_indices(k, 1)
    d = rows[:, first] - rows[:, second]
    n = times[:, None].astype(float)
    mean, square = d.cumsum(axis=0)[times - 1] / n, (d * d).cumsum(axis=0)[times - 1] / n
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0) / (n - 1))
    t = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 1e-12)
    p = 2 * stats.t.sf(np.abs(t), n - 1)
    # Holm: the sorted p-values up to the first that exceeds its share of the level.
    order = np.argsort(p, axis=1)
    passed = np.take_along_axis(p, order, axis=1) <= LEVEL / np.arange(first.size, 0, -1)
    holm = np.zeros_like(passed)
    np.put_along_axis(holm, order, np.logical_and.accumulate(passed, axis=1), axis=1)
    claims = {}
    for name, rejected in (("uncorrected", p <= LEVEL), ("holm", holm)):
        before = np.zeros((len(times), k, k), bool)
        before[:, first, second], before[:, second, first] = rejected & (t < 0), rejected & (t > 0)
        claims[name] = before
    return claims


def evalstats_claims(rows: Any, times: Any) -> dict[str, Any]:
    """Return the claims of evalstats and of `test_claims` on prefixes of the rows."""
    import evalstats

    k = rows.shape[1]
    names = [f"c{a}" for a in range(k)]
    before = np.zeros((len(times), k, k), bool)
    for look, n in enumerate(times):
        # Its p-values do not depend on its simultaneous intervals, which take most of the time.
        report = evalstats.all_pairwise(
            rows[:n].T,
            names,
            n_bootstrap=PEER_RESAMPLES,
            rng=np.random.default_rng(0),
            simultaneous_ci=False,
        )
        for (first, second), one in report.results.items():
            if one.p_value <= LEVEL:
                a, b = names.index(first), names.index(second)
                # Losses: the smaller mean comes first.
                before[(look, a, b) if one.point_diff < 0 else (look, b, a)] = True
    return {"evalstats": before, **test_claims(rows, times)}


def look_times(rows: int, looks: int) -> Any:
    """Return the numbers of rows of equally spaced looks."""
    return np.unique(np.maximum(MIN_ROWS, np.linspace(rows / looks, rows, looks).astype(int)))


def closest(losses: Any, k: int) -> Any:
    """Return k columns with the closest means; of equal means only the first."""
    totals, first = np.unique(losses.sum(axis=0), return_index=True)
    k = min(k, totals.size)
    start = int(np.argmin(totals[k - 1 :] - totals[: totals.size - k + 1]))
    return np.ascontiguousarray(losses[:, first[start : start + k]])


class ClaimCounts:
    """Shares of shuffles with a wrong claim, and with any claim.

    false: (k, k), pairs whose claim is wrong.
    looks: numbers of looks to compare.
    claims_of: returns the claims of each method on prefixes, like `test_claims`.
    """

    def __init__(
        self, false: Any, looks: Sequence[int], claims_of: Callable[[Any, Any], dict[str, Any]]
    ) -> None:
        self.false, self.looks, self.claims_of = false, looks, claims_of
        self.outcomes: dict[str, list[tuple[bool, bool]]] = {}

    def add(self, name: str, before: Any) -> None:
        self.outcomes.setdefault(name, []).append(
            (bool((before & self.false).any()), bool(before.any()))
        )

    def add_tests(self, rows: Any) -> None:
        """Add the claims of the tests on the rows, for each number of looks."""
        times = {looks: look_times(len(rows), looks) for looks in self.looks}
        # Times shared by several numbers of looks are computed once.
        every = np.unique(np.concatenate(list(times.values())))
        for name, before in self.claims_of(rows, every).items():
            for looks in self.looks:
                self.add(f"{name}, {looks} looks", before[np.isin(every, times[looks])])

    def print(self) -> None:
        for name, outcomes in sorted(self.outcomes.items()):
            wrong, claimed = np.mean(outcomes, axis=0)
            print(
                f"    {name:<24} wrong {wrong:.3f}  any {claimed:.3f}  of {len(outcomes)}",
                flush=True,
            )


def on_list(losses: Any, shuffles: int, looks: Sequence[int], *, peer: bool = False) -> ClaimCounts:
    """Count wrong claims about the order on the list, from at most half of its rows."""
    group = closest(losses, PEER_CANDIDATES if peer else CANDIDATES)
    N, k = group.shape
    totals, rule = group.sum(axis=0), Ranks(k, N, N, LEVEL)
    counts = ClaimCounts(
        totals[:, None] > totals[None, :] + 1e-9 * N,
        looks,
        evalstats_claims if peer else test_claims,
    )
    for order in random_orders(N, shuffles):
        order = order[: min(N // 2, PEER_ROWS if peer else MAX_ROWS)]
        rule.play(group, order)
        counts.add("ranks, every row", rule.before)
        counts.add_tests(group[order])
    return counts


def on_sample(
    losses: Any, shuffles: int, looks: Sequence[int], *, peer: bool = False
) -> ClaimCounts:
    """Count wrong claims about rows of a distribution with equal means."""
    group = closest(losses, PEER_CANDIDATES if peer else CANDIDATES)
    k, n = group.shape[1], PEER_ROWS if peer else MAX_ROWS
    rule = Ranks(k, n, math.inf, LEVEL)
    counts = ClaimCounts(
        np.tri(k, k=-1, dtype=bool), looks, evalstats_claims if peer else test_claims
    )
    for shuffle in range(shuffles):
        rng = np.random.default_rng(shuffle)
        rows = rng.permuted(group[rng.integers(len(group), size=n)], axis=1)
        rule.play(rows, np.arange(n, dtype=np.uint32))
        counts.add("ranks, every row", rule.before)
        counts.add(
            "ranks, 1 look",
            close_transitively(pair_pvalues(rows, level=LEVEL).T <= LEVEL / n_pairs(k)),
        )
        counts.add_tests(rows)
    return counts


def power(losses: Any, shuffles: int) -> str:
    """Return the separated pairs as a share of those of corrected paired tests."""
    n, k = losses.shape
    exact = bool(np.isin(losses, (0.0, 1.0)).all())
    if exact:
        p = pair_pvalues(losses)
    else:
        both, difference = paired_pvalues(losses)
        p = np.where(difference > 0, both / 2, 1 - both / 2)
    reference = close_transitively(p.T <= LEVEL / n_pairs(k))

    def share(before: Any) -> float:
        return float((before & reference).sum() / max(reference.sum(), 1))

    # Tests of losses 0 and 1 use no random order: all seeds agree.
    one_look = [
        share(
            rank(losses, kind="losses", reading="beyond", level=LEVEL, seed=seed).reading().before
        )
        for seed in range(1 if exact else RANK_SEEDS)
    ]
    rule, running = Ranks(k, n, math.inf, LEVEL), []
    for order in random_orders(n, shuffles):
        rule.play(losses, order)
        running.append(share(rule.before))
    return (
        f"tests separate {reference.sum()} of {n_pairs(k)} pairs; one look "
        f"{np.mean(one_look):.4f} of those "
        f"({len(one_look)} seeds, {min(one_look):.3f} to {max(one_look):.3f}, seed 0 "
        f"{one_look[0]:.3f}), "
        f"running {np.mean(running):.3f} ({shuffles} orders)"
    )


def time_rank(losses: Any) -> str:
    """Return the time of both readings, with the time to load compiled code."""
    start, busy = time.perf_counter(), time.process_time()
    rank(losses, kind="losses")
    return (
        f"{time.perf_counter() - start:.1f} s, {time.process_time() - busy:.1f} s of the processor"
    )


if __name__ == "__main__":
    folder, parts, shuffles = Path(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3])
    looks = tuple(map(int, sys.argv[5].split(","))) if len(sys.argv) > 5 else LOOKS
    if "time" in parts:
        values = np.random.default_rng(1).random((10_000, 240)) ** np.linspace(0.5, 1.5, 240)
        half = np.where(np.arange(10_000)[:, None] < 5_000, values, np.nan)
        tables = {
            "real losses": values,
            "losses 0 and 1": np.round(values),
            "real losses, half filled": half,
        }
        for name, table in tables.items():
            print(f"240 x 10,000, {name}: {time_rank(table)}", flush=True)
        parts.remove("time")
    for pool in (sys.argv[4].split(",") if len(sys.argv) > 4 else POOLS) if parts else ():
        losses = read_losses(folder, pool)
        print(f"{pool}: {losses.shape[0]:,} x {losses.shape[1]}", flush=True)
        for name, measure in (("list", on_list), ("sample", on_sample)):
            for part, peer in ((name, False), ("peer", True)):
                if part in parts:
                    print(f"  {name}, {part}" if peer else f"  {name}", flush=True)
                    measure(losses, shuffles, looks, peer=peer).print()
        if "power" in parts:
            print(f"  power: {power(losses, min(shuffles, 10))}", flush=True)
