"""Theorem 1' (docs/theory/optimistic.md): simulation under bandit feedback.

The birthday test plays action 0 until one of its losses repeats, and then UCB1. On i.i.d. rows it
costs at most 2 sqrt(T); in random order no loss repeats, and the regret is (T + 1)/2 in every play.
This pool has no noise in its better action, so it does not need optimism: a noisy one is compared
with a twin round by round.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tombola import bounds, instances
from tombola._play import play
from tombola._types import Seed
from tombola.learners import UCB1, BanditBirthdayTest, ExploreThenCommit, OptimisticSimulation
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.pvalues import exact, means_at_most
from tombola.paper.rows import Row, Rows, levels, select
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import OptimisticSimulationTwin, rounds_agreed
from tombola.report.chart import Chart
from tombola.rng import RngStreams, repetition_seeds


def _theorem_bound(T: int) -> float:
    """Return the bound of the theorem; R(h) is a birthday mean plus the bound of UCB1."""
    regrets: list[float] = [
        bounds.birthday_mean(T) + bounds.ucb1(2**i, 2) for i in range(T.bit_length())
    ]
    return bounds.smallest_index(T, 2) + sum(
        min(2.0**i, regret) for i, regret in enumerate(regrets)
    )


# Number of plays compared with the twin, a second implementation of the learner.
_TWIN_PLAYS = 4


class BanditRepair(
    Extension, name="bandit-repair", expected="holds", alpha=1e-5, verdict_only=("bound",)
):
    """The birthday test under bandit feedback, played directly and simulated.

    Title: Simulation with one loss a round
    Source: our Theorem 1' (docs/theory/optimistic.md)
    Statement: OptimisticSimulation(base) has, on every pool of T rows and k actions in random
        order, regret at most Σ R(2^i) + O(√(kT)), where R(h) bounds the regret of the base on h
        i.i.d. rounds; the birthday test alone has T/2.
    Meaning: A learner for i.i.d. data may fail on a shuffled list. It can be used there even under
        bandit feedback: train it on draws from the losses seen, with optimistic values for
        uncertain ones.
    Limits: Passes if the birthday test, played directly, has regret (T + 1)/2 in every play; if its
        mean regret when simulated is at most the bound of the theorem and at most a third of that
        (t-test), which the bound implies from T = 2^17 on; and if UCB1, simulated on noisy losses,
        chooses the same actions as a second, naive implementation in every round.
    Alt: Played directly the test has regret T/2; simulated it grows like the root of T.
    """

    direct: Callable[[int], Learner] = component(BanditBirthdayTest)
    learner: Callable[[int], Learner] = component(
        lambda T: OptimisticSimulation(BanditBirthdayTest(grid=T))
    )
    order: OrderLike = "random"
    bound: Callable[[int], float] = component(_theorem_bound)

    def units(self, *, full: bool) -> list[Unit]:
        sizes = (
            {2**9: 40, 2**11: 20, 2**13: 6, 2**14: 3} if full else {2**9: 20, 2**10: 10, 2**11: 5}
        )
        return [{"T": 48, "plays": 0}, *({"T": T, "plays": plays} for T, plays in sizes.items())]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        T = unit["T"]
        if unit["plays"] == 0:
            for child in repetition_seeds(seed, _TWIN_PLAYS):
                learner = OptimisticSimulation(UCB1())
                losses = (np.random.default_rng(child).random((T, 2)) < (0.4, 0.7)).astype(
                    np.float64
                )
                twin = OptimisticSimulationTwin(2, T, UCB1(), RngStreams(child).learner(learner))
                yield {
                    "T": T,
                    "play": None,
                    "differs": rounds_agreed(learner, losses, twin, seed=child) < T,
                }
            return
        pool = instances.birthday(T)
        learners = {"direct": self.direct(T), "regret": self.learner(T)}
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            regrets = {
                name: play(one, pool, order=self.order, seed=child).regret
                for name, one in learners.items()
            }
            yield {"T": T, "play": r, **regrets}

    def verdict(self, rows: Rows) -> Verdict:
        differ = sum(row["differs"] for row in rows if row["play"] is None)
        rows = [row for row in rows if row["play"] is not None]
        checks, share = means_at_most(rows, ["T"], self.bound)
        checks += means_at_most(rows, ["T"], lambda T: (T + 1) / 6)[0]
        simulated = ", ".join(
            f"{select(rows, 'regret', T=T).mean():.0f} (T = {T})" for T in levels(rows, "T")
        )
        worst = max(abs(row["direct"] - (row["T"] + 1) / 2) for row in rows)
        directly = (
            "(T + 1)/2 in every play" if worst < 1e-6 else f"off (T + 1)/2 by up to {worst:.0f}"
        )
        measured = f"directly {directly}; simulated {simulated}, at most {share:.2f} of the bound"
        measured += f"; {differ} noisy plays differ from the twin"
        checks += [exact(differ == 0), exact(worst < 1e-6)]
        return self.verdict_from(checks, measured, "Σ R(2^i) + O(√(kT))")

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["play"] is not None]
        bands = (
            mean_band(rows, "directly", "T", "direct"),
            mean_band(rows, "simulated", "T", "regret"),
        )
        lines = reference_lines(levels(rows, "T"), {"bound, simulated": _theorem_bound})
        return self.make_chart("regret of the birthday test", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no simulation": {"learner": BanditBirthdayTest},
            "training that never ends": {
                "learner": lambda T: OptimisticSimulation(ExploreThenCommit(rounds=T))
            },
            "no test": {"direct": lambda _: UCB1()},
            "a grid with one point less": {"direct": lambda T: BanditBirthdayTest(grid=T - 1)},
            "draws with replacement": {"order": "iid"},
            "bound divided by 40": {"bound": lambda T: _theorem_bound(T) / 40},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        keep = "learners.reductions.optimistic:keep_probabilities"
        return {
            "no optimism": SourceFault(
                keep, "np.divide(indices, state", "np.divide(state.levels, state"
            )
        }
