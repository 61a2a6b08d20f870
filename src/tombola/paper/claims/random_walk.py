"""The multi-scale random walk (L583) in given and random order.

Dekel, Ding, Koren and Peres 2014.

In given order actions can only be compared by switching between them, and regret with switches is at least of order
T^(2/3) / log T for every learner. In random order the same rows are ordinary noise, and a learner with few switches
has a rate of sqrt(T).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tombola import _statistics, instances
from tombola._compare import compare
from tombola._types import Floats, Seed
from tombola.engine.loop import SWITCHES
from tombola.learners import BatchedExp3, FrugalUCB, SerflingElimination
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select, slope
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.extensions.frugal import NO_OPTIMISM, NO_PRICE
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import FrugalUCBTwin, rounds_agreed
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Name of the learner with a proved rate.
_FRUGAL = "FrugalUCB"
# Standard deviation of the rescaled walk.
_SPREAD = 0.25
# Walks compared with the twin, and their longest horizon: the twin is slow.
_TWIN_WALKS, _TWIN_ROUNDS = 6, 512
# Learners of the claim, by name.
_LEARNERS: dict[str, Learner] = {
    _FRUGAL: FrugalUCB(),
    "BatchedExp3": BatchedExp3(),
    "Serfling elimination": SerflingElimination(delta=0.1),
}


def _rescaled_walk(walk: Pool) -> Pool:
    """Return the walk with standard deviation 1/4 and gap (2/T)^(1/3) / 2.

    Losses are clipped to [0, 1].

    The walk of the proof has sigma = 1/(9 log2 T) to stay in [0, 1], and a gap so small that up to millions of rounds a
    few switches cost more than the worse action; the rescaled walk shows the rates at thousands of rounds.

    >>> _rescaled_walk(instances.random_walk(64, seed=0)).losses.shape
    (64, 2)
    """
    T = walk.rows
    losses = np.array(walk.losses, dtype=np.float64)
    best = int(np.argmin(losses.sum(axis=0)))
    factor = _SPREAD * 9 * math.log2(T) / math.sqrt(math.log2(T) / 2)
    wide = np.repeat(0.5 + factor * (losses[:, [1 - best]] - 0.5), 2, axis=1)
    wide[:, best] -= 0.5 * (2 / T) ** (1 / 3)
    return Pool(wide.clip(0.0, 1.0))


def _walk_of(T: int, seed: Seed) -> Pool:
    """Return a rescaled walk of T rounds."""
    return _rescaled_walk(instances.random_walk(T, seed=seed))


@dataclass(frozen=True)
class RandomWalk(Claim, name="random-walk", expected="holds", alpha=5e-4):
    """Growth of regret with switches on the multi-scale random walk.

    It is of order T^(2/3) in given order, and sqrt(T) in random order.

    The pool is a walk of T = 256 to 16,384 losses that both actions share, one of them lower by a gap of order
    T^(−1/3). A switch costs 1.

    Fields, which faults replace: learners (name -> learner under test), given and order (orders of the plays without
    and with a shuffle), walk (function from T and a seed to the pool).

    Title: The pool for which switching is costly, in given and random order
    Source: Dekel et al. 2014 (cited at L583)
    Statement: In adversarial order regret with switches grows like T^(2/3); shuffled, the same rows allow √T.
    Meaning: Losses that drift slowly can only be compared by switching back and forth. In random order there is no
        drift.
    Limits: Passes if the regret of FrugalUCB in given order grows at least as fast as T^(2/3) / log T, and in random
        order at most as fast as √(T ln T) (regression); if every learner loses more in given order than FrugalUCB in
        random order (t-test at level alpha); and if FrugalUCB chooses the same action as a second, naive implementation
        in every round. The slopes of the other learners are shown only: the theorem bounds their regret and not their
        slope.
    """

    learners: Mapping[str, Learner] = component(_LEARNERS)
    given: OrderLike = "given"
    order: OrderLike = "random"
    walk: Callable[[int, Seed], Pool] = component(_walk_of)

    def units(self, *, full: bool) -> list[Unit]:
        return [{"T": 2**i, "walks": 200 if full else 80} for i in range(8, 18 if full else 15)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        rows: list[Row] = []
        for play, child in enumerate(repetition_seeds(seed, unit["walks"])):
            pool = self.walk(unit["T"], child)
            for kind, order in (("given", self.given), ("random", self.order)):
                runs = compare(pool, self.learners, order, repetitions=1, switching_price=1.0, seed=child)
                for name in self.learners:
                    regret, switches = float(runs.regrets(name)[0]), int(runs.cell(name).sums[0, -1, SWITCHES])
                    about = {"T": unit["T"], "order": kind, "learner": name, "play": play}
                    rows.append({**about, "regret": regret, "switches": switches, "differs": False})
            if play < _TWIN_WALKS and unit["T"] <= _TWIN_ROUNDS:
                rows[-1] = {**rows[-1], "differs": self._differs(pool, child)}
        return rows

    def _differs(self, pool: Pool, seed: Seed) -> bool:
        """Return whether FrugalUCB differs from its twin on a walk, as listed or shuffled."""
        listed = np.asarray(pool.losses, dtype=np.float64)
        orders = (listed, np.random.default_rng(seed).permutation(listed))
        T, k = listed.shape
        return any(rounds_agreed(self.learners[_FRUGAL], losses, FrugalUCBTwin(k, T)) < T for losses in orders)

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        lower, upper = [T ** (2 / 3) / math.log2(T) for T in at], [math.sqrt(T * math.log(T)) for T in at]
        checks = [
            pvalues.growth("at least", at, _regrets(rows, _FRUGAL, "given"), lower),
            pvalues.growth("at most", at, _regrets(rows, _FRUGAL, "random"), upper),
        ]
        checks.append(pvalues.exact(not any(row["differs"] for row in rows)))
        gains = {name: _gains(rows, name) for name in self.learners}
        checks += [pvalues.exact(pvalues.mean_at_most(gain, 0.0) <= self.alpha) for gain in gains.values()]
        slopes = [slope(rows, "T", "regret", order=order, learner=_FRUGAL) for order in ("given", "random")]
        least = min(slope(rows, "T", "regret", order="given", learner=name).value for name in self.learners)
        measured = f"{_FRUGAL}: slope {slopes[0]} given, {slopes[1]} shuffled; given, no learner below {least:.2f}"
        smallest = min(gains.values(), key=lambda gain: float(np.mean(gain)))
        measured += f"; shuffling saves at least {_statistics.mean(smallest)} T^(2/3), for every learner in given order"
        return self.verdict_from(checks, measured, "T^(2/3) against √T")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret plus switches",
            bands=(
                *(
                    mean_band(rows, f"{name}, given", "T", "regret", order="given", learner=name)
                    for name in self.learners
                ),
                mean_band(rows, f"{_FRUGAL}, shuffled", "T", "regret", order="random", learner=_FRUGAL),
            ),
            lines=reference_lines(levels(rows, "T"), {"T^(2/3)": lambda T: T ** (2 / 3), "√T": math.sqrt}),
            alt="In given order the regrets run parallel to T to the power 2/3, shuffled FrugalUCB is flatter.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "a walk that is shuffled too": {"given": "random"},
            "a learner that switches as if rows were listed": {"learners": {**self.learners, _FRUGAL: BatchedExp3()}},
            "a walk without a best action": {
                "walk": lambda T, seed: Pool(np.repeat(_walk_of(T, seed).losses[:, :1], 2, axis=1))
            },
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {"FrugalUCB without optimism": NO_OPTIMISM, "FrugalUCB without its price": NO_PRICE}


def _regrets(rows: Rows, learner: str, order: str) -> list[Floats]:
    return [select(rows, "regret", T=T, learner=learner, order=order) for T in levels(rows, "T")]


def _gains(rows: Rows, learner: str) -> Floats:
    """Return the gain of random order over given order, per walk.

    It is (regret of a learner in given order - FrugalUCB in random order) / T^(2/3).

    Walks of all horizons have equal weight.
    """
    at = levels(rows, "T")
    kinds = [
        [mine / T ** (2 / 3) for mine, T in zip(_regrets(rows, name, kind), at, strict=True)]
        for name, kind in ((learner, "given"), (_FRUGAL, "random"))
    ]
    return np.asarray(np.mean([given - shuffled for given, shuffled in zip(*kinds, strict=True)], axis=0))
