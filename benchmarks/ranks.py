"""Wrong claims about orders with 1, 10 and 100 looks, and pairs separated, side by side with paired tests.

Three measurements for each pool:

list     Rows of the list in random order, up to half of them. A claim is wrong if it contradicts the order on the list.
sample   Independent rows of a law in which all candidates have the same mean, made from the pool: the candidates with
         the closest means, permuted at random within each row. A claim against the file order is wrong; `any` counts
         all claims, for which a method with level .05 for wrong ones has .10 in all.
peer     The same for evalstats (all_pairwise with its defaults, 1,000 resamples) and at most 10 looks: it takes about a
         second for a look.
power    Pairs separated beyond the list by all rows, as a share of those that one-sided paired tests at
         level / (k (k - 1) / 2) separate: exact binomial tests for losses 0 and 1, t-tests for others.

`uncorrected` tests every pair at the level, `holm` and `evalstats` correct over the pairs of one look; none of them
corrects for looks. `ranks` are the claims of a race, made after every row. Run:
`python benchmarks/ranks.py FOLDER_OF_POOLS list,sample,peer,power SHUFFLES [POOL,POOL]`.
"""

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tombola.racing.ranks import Ranks, close_transitively
from tombola.ranking.paired_tests import pair_pvalues

LEVEL = 0.05
POOLS = ("swebench_bash", "alpacaeval_v2", "m3_forecasts", "aslib_sat12_indu", "routellm_gsm8k")
LOOKS = (1, 10, 100)
MIN_ROWS = 20  # t-tests on fewer rows are not what anyone publishes
NULL_CANDIDATES, NULL_ROWS = 5, 500
PEER_CANDIDATES, PEER_LOOKS = 3, (1, 10)
# Evidence of several looks at once: boolean matrices "row before column", one per method.
Claims = dict[str, Any]


def paired_pvalues(rows: Any) -> tuple[Any, Any]:
    """Return two-sided p-values of paired t-tests and mean differences, shape (k, k)."""
    n = len(rows)
    means, covariance = rows.mean(axis=0), np.cov(rows, rowvar=False)
    variance = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    difference = means[:, None] - means[None, :]
    deviation = np.sqrt(np.maximum(variance, 0.0) / n)
    # Identical columns have neither a difference nor a spread: no evidence.
    t = np.divide(np.abs(difference), deviation, out=np.zeros_like(difference), where=deviation > 1e-12)
    return 2 * stats.t.sf(t, n - 1), difference


def holm(p: Any) -> Any:
    """Return the rejected pairs of Holm's procedure over all unordered pairs."""
    upper = np.triu_indices(len(p), 1)
    values = p[upper]
    order = np.argsort(values)
    failed = values[order] > LEVEL / np.arange(values.size, 0, -1)
    count = int(np.argmax(failed)) if failed.any() else values.size
    rejected = np.zeros_like(p, bool)
    rejected[upper[0][order[:count]], upper[1][order[:count]]] = True
    return rejected | rejected.T


def test_claims(rows: Any) -> Claims:
    """Return the claims of paired t-tests on these rows."""
    p, difference = paired_pvalues(rows)
    return {"uncorrected": (p <= LEVEL) & (difference < 0), "holm": holm(p) & (difference < 0)}


def evalstats_claims(rows: Any) -> Claims:
    """Return the claims of evalstats with its defaults, but fewer resamples."""
    import evalstats

    k = rows.shape[1]
    names = [f"c{a}" for a in range(k)]
    found = evalstats.all_pairwise(rows.T, names, n_bootstrap=1000, rng=np.random.default_rng(0))
    before = np.zeros((k, k), bool)
    for (first, second), one in found.results.items():
        if one.p_value <= LEVEL:
            a, b = names.index(first), names.index(second)
            # Losses: the smaller mean comes first.
            before[(a, b) if one.point_diff < 0 else (b, a)] = True
    return {"evalstats": before}


def look_times(rows: int, looks: int) -> Any:
    """Return the numbers of rows at which somebody looks."""
    return np.unique(np.maximum(MIN_ROWS, np.linspace(rows / looks, rows, looks).astype(int)))


class Tally:
    """Shares of shuffles with a wrong claim, and of pairs separated at the last look."""

    def __init__(self) -> None:
        self.wrong: dict[str, list[bool]] = {}
        self.found: dict[str, list[float]] = {}
        self.claimed: dict[str, list[bool]] = {}

    def add(self, name: str, *, wrong: bool, claimed: bool, claims: Any) -> None:
        k = len(claims)
        self.claimed.setdefault(name, []).append(claimed)
        self.wrong.setdefault(name, []).append(wrong)
        self.found.setdefault(name, []).append(float(claims.sum()) / (k * (k - 1) / 2))

    def add_race(self, rule: Ranks, false: Any) -> None:
        """Add the claims of a race, made after every row."""
        before = rule.before
        self.add("ranks, every row", wrong=bool((before & false).any()), claimed=bool(before.any()), claims=before)

    def looked(self, rows: Any, false: Any, claims_of: Callable[[Any], Claims], counts: Sequence[int] = LOOKS) -> None:
        """Add the claims of tests with each number of looks at the rows."""
        for looks in counts:
            ever: Claims = {}
            for n in look_times(len(rows), looks):
                claims = claims_of(rows[:n])
                ever = {name: ever.get(name, False) | claim for name, claim in claims.items()}
            for name, claim in claims.items():
                wrong, claimed = bool((ever[name] & false).any()), bool(ever[name].any())
                self.add(f"{name}, {looks} looks", wrong=wrong, claimed=claimed, claims=claim)

    def show(self) -> None:
        for name, wrong in sorted(self.wrong.items()):
            shares = f"wrong {np.mean(wrong):.3f}  any {np.mean(self.claimed[name]):.3f}"
            print(f"    {name:<24} {shares}  separated {np.mean(self.found[name]):.3f}  of {len(wrong)}", flush=True)


def on_list(losses: Any, shuffles: int) -> Tally:
    """Return wrong claims about the order on the list, from half of its rows."""
    N, k = losses.shape
    totals = losses.sum(axis=0)
    false, rule, tally = totals[:, None] > totals[None, :] + 1e-9 * N, Ranks(k, N, N, LEVEL), Tally()
    for shuffle in range(shuffles):
        order = np.random.default_rng(shuffle).permutation(N)[: N // 2]
        rule.play(losses, order.astype(np.uint32))
        tally.add_race(rule, false)
        tally.looked(losses[order], false, test_claims)
    return tally


def on_sample(losses: Any, shuffles: int, *, peer: bool = False) -> Tally:
    """Return wrong claims about rows of a law with equal means."""
    k = min(PEER_CANDIDATES if peer else NULL_CANDIDATES, losses.shape[1])
    by_mean = np.argsort(losses.mean(axis=0), kind="stable")
    spreads = [np.ptp(losses.mean(axis=0)[by_mean[i : i + k]]) for i in range(losses.shape[1] - k + 1)]
    group = losses[:, by_mean[int(np.argmin(spreads)) :][:k]]
    false, rule, tally = np.tri(k, k=-1, dtype=bool), Ranks(k, NULL_ROWS, math.inf, LEVEL), Tally()
    for shuffle in range(shuffles):
        rng = np.random.default_rng(shuffle)
        rows = rng.permuted(group[rng.integers(len(group), size=NULL_ROWS)], axis=1)
        rule.play(rows, np.arange(NULL_ROWS, dtype=np.uint32))
        tally.add_race(rule, false)
        if peer:
            tally.looked(rows, false, evalstats_claims, PEER_LOOKS)
        else:
            tally.looked(rows, false, test_claims)
    return tally


def power(losses: Any, shuffles: int) -> str:
    """Return the share of the pairs of corrected paired tests that one look and a race to the last row separate."""
    n, k = losses.shape
    pairs = k * (k - 1) // 2
    if np.isin(losses, (0.0, 1.0)).all():
        p = pair_pvalues(losses)
    else:
        both, difference = paired_pvalues(losses)
        p = np.where(difference > 0, both / 2, 1 - both / 2)
    reference = close_transitively(p.T <= LEVEL / pairs)
    one_look = close_transitively(pair_pvalues(losses, level=LEVEL).T <= LEVEL / pairs)
    rule, running = Ranks(k, n, math.inf, LEVEL), []
    for shuffle in range(shuffles):
        rule.play(losses, np.random.default_rng(shuffle).permutation(n).astype(np.uint32))
        running.append((rule.before & reference).sum() / max(reference.sum(), 1))
    share = (one_look & reference).sum() / max(reference.sum(), 1)
    return (
        f"tests separate {reference.sum() / pairs:.3f} of all pairs; one look {share:.3f} of those, "
        f"running {np.mean(running):.3f} ({shuffles} orders)"
    )


if __name__ == "__main__":
    folder, parts, shuffles = Path(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3])
    for pool in sys.argv[4].split(",") if len(sys.argv) > 4 else POOLS:
        losses = np.ascontiguousarray(np.load(folder / f"{pool}.npz", allow_pickle=False)["loss"], np.float64)
        print(f"{pool}: {losses.shape[0]:,} x {losses.shape[1]}", flush=True)
        for name, measure in (("list", on_list), ("sample", on_sample), ("peer", partial(on_sample, peer=True))):
            if name in parts:
                print(f"  {name}", flush=True)
                measure(losses, shuffles).show()
        if "power" in parts:
            print(f"  power: {power(losses, min(shuffles, 10))}", flush=True)
