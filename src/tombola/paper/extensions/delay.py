"""Claims about delay: it is a shift, and elimination pays for it once.

Theorem 3 (docs/theory/delay.md) is checked on all orders of small pools. Elimination
(docs/theory/transfer.md): a delay of d rounds adds at most d (1/2 + 1/3 + .. + 1/k) to the regret
with k actions.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tombola import bounds
from tombola._play import play
from tombola._types import Floats, Seed
from tombola.learners import (
    AdaHedge,
    FollowTheLeader,
    Hedge,
    HedgeAnytime,
    Interleaved,
    SuccessiveElimination,
)
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid, unchanged
from tombola.paper.curves import exact_column, mean_band, reference_lines
from tombola.paper.extensions import Orders, all_orders, as_listed, distinct_lists
from tombola.paper.extensions.switching import trap_pool
from tombola.paper.pvalues import ROUNDING, exact, mean_at_most, means_at_most
from tombola.paper.rows import Row, Rows, distinct, levels, matching, select
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import SuccessiveEliminationTwin, agrees, rounds_agreed
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Learners of the claims on delay, by name: their mix depends on the revealed rows only.
LEARNERS: dict[str, Learner] = {
    "follow the leader": FollowTheLeader(),
    "Hedge": Hedge(),
    "Hedge, any time": HedgeAnytime(),
    "AdaHedge": AdaHedge(),
}
_POOLS: dict[str, list[list[float]]] = {
    "one is best": [[0.0, 1.0, 1.0]] * 6,
    "turns": [[0.0, 1.0, 0.5]] * 3 + [[1.0, 0.0, 0.5]] * 2,
    "mixed": [[0.3, 0.1, 0.9], [0.8, 0.2, 0.4], [0.0, 1.0, 0.5], [0.6, 0.6, 0.1]],
}


def one_early(delay: int) -> int:
    """Return the delay minus one round, at least 0: a fault of claims on delay."""
    return max(0, delay - 1)


class DelayShift(Extension, name="delay-shift", expected="holds", verdict_only=("counted_delay",)):
    """Regret with delay against the shifted sum of the rounds without delay.

    All orders of three pools of 4 to 6 rows and 3 actions are played, with every delay up to the
    number of rows.

    Title: Delay is a shift
    Source: our Theorem 3 (docs/theory/delay.md)
    Statement: In random order, for every learner whose mix depends on the revealed rows only: a
        delay d repeats the first mix d times and leaves out the last d mixes, so Hedge has regret
        at most √(T ln k / 2) + d (1 − 1/k).
    Meaning: With delayed feedback on a shuffled list, use the same learner as without delay, and do
        not tune it to the delay. The delay costs d times the regret of the first round, once.
    Limits: Passes if the expected regret with delay d equals the shifted sum within 1e-9, and is at
        most the bound of the learner.
    Alt: Each round of delay adds at most the regret of the first round.
    """

    learners: Mapping[str, Learner] = component(LEARNERS)
    orders: Orders = component(all_orders)
    played_delay: Callable[[int], int] = component(unchanged)
    counted_delay: Callable[[int], int] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(learner=LEARNERS, pool=_POOLS)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        learner = self.learners[unit["learner"]]
        losses = np.array(_POOLS[unit["pool"]])
        T, k = losses.shape
        parts = self._rounds(learner, losses, 0, seed)
        for d in range(T + 1):
            regret = float(self._rounds(learner, losses, self.played_delay(d), seed).sum())
            shifted = float(min(d, T) * parts[0] + parts[: max(0, T - d)].sum())
            yield {**unit, "T": T, "k": k, "d": d, "regret": regret, "shifted": shifted}

    def _rounds(self, learner: Learner, losses: Floats, delay: int, seed: Seed) -> Floats:
        """Return the expected regret of every round, averaged over the orders."""
        best = int(losses.sum(axis=0).argmin())
        orders = distinct_lists(losses, self.orders)
        rounds = np.zeros(len(losses))
        for order in orders:
            rows = np.array(order)
            rounds += (
                play(learner, Pool(rows), order="given", delay=delay, seed=seed).expected_losses
                - rows[:, best]
            )
        return rounds / len(orders)

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["regret"] - row["shifted"]) for row in rows)
        limits = [
            LEARNERS[row["learner"]].bound(row["k"], row["T"], self.counted_delay(row["d"]))
            for row in rows
        ]
        shares = [row["regret"] / (limit or 1) for row, limit in zip(rows, limits, strict=True)]
        measured = (
            f"identity off by at most {off:.0e} in {len(rows)} cases; at most "
            f"{max(shares):.2f} of the bound"
        )
        words = "R(d) = d φ(0) + φ(0) + … + φ(T−1−d)"
        return self.verdict_from(
            [exact(off < ROUNDING), exact(max(shares) <= 1 + ROUNDING)], measured, words
        )

    def chart(self, rows: Rows) -> Chart:
        pool = rows[0]["pool"]
        names = [name for name in LEARNERS if matching(rows, learner=name)]
        bands = [exact_column(rows, name, "d", "regret", learner=name, pool=pool) for name in names]
        lines = reference_lines(
            levels(rows, "d", pool=pool), {"d (1 − 1/k)": lambda d: d * (1 - 1 / rows[0]["k"])}
        )
        return self.make_chart(
            "expected regret, exact",
            bands,
            lines,
            x_label="delay d",
            log="",
            subtitle=f": pool '{pool}'",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "feedback one round early": {"played_delay": one_early},
            "mixes that depend on the clock": {
                "learners": {name: Interleaved(Hedge(), delay=2) for name in LEARNERS}
            },
            "delay left out of the bound": {"counted_delay": lambda _: 0},
        }


# Gap large enough that all other actions are dropped early.
_GAP = 0.8
# Number of rounds of the plays of the claim.
_HORIZON = 2**13
# Rounds of the comparison with the twin, a second implementation of the learner.
_TWIN_ROUNDS = 1024


def _bound_formula(k: int, d: int) -> float:
    """Return the bound of k actions at delay d, at most T."""
    # It is sqrt(32 (k-1) T ln T) + 2 (k-1) + 2 k / T^2 + d (H_k - 1) + drift.
    T = _HORIZON
    drift = (
        math.pi / 4 * math.sqrt(T)
        if k == 2
        else (math.pi / 2 * math.sqrt(T) + 1.31) * math.sqrt(math.log(k) / 2)
    )
    prompt = math.sqrt(32 * (k - 1) * T * math.log(T)) + 2 * (k - 1) + 2 * k / T**2
    return min(float(T), prompt + d * _harmonic_share(k) + drift)


def _harmonic_share(k: int) -> float:
    """Return H_k - 1 = 1/2 + 1/3 + .. + 1/k."""
    return math.fsum(1 / j for j in range(2, k + 1))


class LateElimination(
    Extension,
    name="late-elimination",
    expected="holds",
    alpha=1e-5,
    verdict_only=("bound", "weight"),
):
    """Regret of successive elimination with delay, against its bound.

    Title: Elimination with late losses
    Source: our theorem on elimination with delay (docs/theory/transfer.md)
    Statement: Successive elimination of k actions in random order with delay d has the bound
        without delay plus d (1/2 + .. + 1/k) rounds, each weighted with the gap (the excess mean
        loss of the action played).
    Meaning: With delayed losses, play the remaining candidates in turn: they share the wasted
        rounds, and with two candidates a delay of d rounds costs d/2, once.
    Limits: Passes if the mean regret is at most the bound, and the bound equals its formula; if the
        delay adds at most gap × (d (1/2 + .. + 1/k) + 3 (k − 1)) to the mean regret, measured on
        pairs of plays in the same order (t-tests); and if a second, naive implementation chooses
        the same action in every round, with and without delay.
    Alt: The regret grows with the delay like the line for two actions, and a little faster for
        five.
    """

    order: str = "random"
    played_delay: Callable[[int], int] = component(unchanged)
    bound: Callable[[float], float] = component(unchanged)
    weight: float = 1.0  # factor on the allowed cost of the delay

    def units(self, *, full: bool) -> list[Unit]:
        return grid(k=(2, 5), d=(0, 100), T=_TWIN_ROUNDS) + grid(
            k=(2, 5), d=(256, 1024), plays=200 if full else 20
        )

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        k = unit["k"]
        d = unit["d"]
        if "T" in unit:
            losses = np.asarray(trap_pool(unit["T"], k, _GAP).losses, dtype=np.float64)
            shuffled = np.random.default_rng(seed).permutation(losses)
            agreed = rounds_agreed(
                SuccessiveElimination(), shuffled, SuccessiveEliminationTwin(k, unit["T"]), d
            )
            yield {"k": k, "d": d, "play": None, "differs": agreed < unit["T"]}
            return
        pool = trap_pool(_HORIZON, k, _GAP)
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            late, prompt = (
                play(
                    SuccessiveElimination(), pool, order=self.order, delay=delay, seed=child
                ).regret
                for delay in (self.played_delay(d), 0)
            )
            yield {"k": k, "d": d, "play": r, "regret": float(late), "prompt": float(prompt)}

    def verdict(self, rows: Rows) -> Verdict:
        differ = sum(row["differs"] for row in rows if row["play"] is None)
        rows = [row for row in rows if row["play"] is not None]
        checks, _ = means_at_most(rows, ("k", "d"), self._limit)
        shares = []
        for k, d in distinct(rows, "k", "d"):
            added = select(rows, "regret", k=k, d=d) - select(rows, "prompt", k=k, d=d)
            allowed = self.weight * _GAP * (d * _harmonic_share(k) + 3 * (k - 1))
            # The regret is a small share of the bound, and cannot tell it from a part of it.
            checks += [
                exact(agrees(self._limit(k, d), _bound_formula(k, d))),
                mean_at_most(added, allowed),
            ]
            shares.append(f"{float(added.mean()) / allowed:.2f} (k = {k}, d = {d})")
        measured = (
            f"delay adds {', '.join(shares)} of its bound; {differ} plays differ from the twin"
        )
        return self.verdict_from([*checks, exact(differ == 0)], measured, "d (1/2 + .. + 1/k)")

    def _limit(self, k: int, d: int) -> float:
        return self.bound(bounds.successive_elimination(_HORIZON, k, d))

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["play"] is not None]
        bands = [mean_band(rows, f"k = {k}", "d", "regret", k=k) for k in levels(rows, "k")]
        lines = reference_lines(levels(rows, "d"), {"gap d / 2": lambda d: _GAP * d / 2})
        return self.make_chart("regret", bands, lines, x_label="delay d")

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "answers twice as late": {"played_delay": lambda d: 2 * d},
            "half of the delay's share": {"weight": 0.5},
            "bound divided by 20": {"bound": lambda bound: bound / 20},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        learner = "learners.bandit.successive_elimination:SuccessiveElimination.init"
        bound = "bounds.bandit:successive_elimination_iid"
        return {
            "half of the radius": SourceFault(learner, "math.sqrt(2 *", "math.sqrt(0.5 *"),
            "bound / 40": SourceFault(bound, "capped(bound,", "capped(bound / 40,"),
        }
