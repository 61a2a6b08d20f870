"""Section 4 (L262): Simulation repairs the birthday test, regret about sqrt(T).

The birthday test plays action 0 until one of its losses repeats, in round tau. Training for block i draws 2^i times
from 2^i different rows, so tau is distributed as on i.i.d. draws, and action 0 is played in a share (tau + 1) / 2^i of
the block. tau does not depend on the losses of the block, so in random order the expected regret is a finite sum, about
1.51 sqrt(T).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola import instances
from tombola._compare import compare
from tombola._types import Seed
from tombola.learners import BirthdayTest, FixedAction, FollowTheLeader, LemmaSchedule, Simulation
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import mean_band, reference_lines
from tombola.report.chart import Chart


def _mean_plays_of_test(n: int) -> float:
    """Return E min(tau + 1, n): mean plays of action 0 in n rounds of training.

    Training draws from n rows.

    >>> _mean_plays_of_test(1), _mean_plays_of_test(2), _mean_plays_of_test(4)
    (1.0, 2.0, 3.75)
    """
    going = np.concatenate([[1.0, 1.0], np.cumprod(1 - np.arange(n) / n)])[:n]  # P[tau + 1 > t], t = 0 .. n-1
    return float(going.sum())


def _exact_regret(T: int) -> float:
    """Return the exact regret of the repaired test on the birthday pool.

    T is a power of two.

    >>> _exact_regret(2), round(_exact_regret(4), 9)
    (1.5, 2.5)
    """
    played = 1.0 + sum(_mean_plays_of_test(2**i) for i in range(T.bit_length() - 1))
    return (T + 1) / (2 * T) * played


@dataclass(frozen=True)
class Repair(Claim, name="repair", expected="holds", alpha=5e-4, verdict_only=("mean",)):
    """Regret of Simulation(BirthdayTest) against its exact mean, 1.51 sqrt(T).

    The birthday test plays action 0 until one of its losses repeats, which never happens in random order on this pool.
    Simulation trains it on draws with replacement from the past rows.

    Fields, which faults replace: learner (function from the horizon T to the learner), order (order of the rows,
    argument of `compare`), mean (function from T to the exact mean regret).

    Title: Simulation repairs what random order broke
    Source: Section 4, the template (L262-L290)
    Statement: Trained on its own past in i.i.d. order, the test has regret of order √T in random order.
    Meaning: Past rows can be drawn again with replacement. A learner for i.i.d. data can be trained on these draws,
        and its actions there are then played on the shuffled list.
    Limits: Passes if the mean regret over plays does not differ from its exact value, a finite sum (two-sided t-test),
        for T = 256 to 16,384, and if that exact value is at most 2 √T.
    """

    learner: Callable[[int], Learner] = component(lambda T: Simulation(BirthdayTest(grid=T), LemmaSchedule()))
    order: OrderLike = "random"
    mean: Callable[[int], float] = component(_exact_regret)

    def units(self, *, full: bool) -> list[Unit]:
        return [{"T": 2**i, "plays": 400 if full else 200} for i in range(8, 19 if full else 15, 1 if full else 2)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        pool = instances.birthday(unit["T"])
        learners = {"repaired": self.learner(unit["T"])}
        runs = compare(pool, learners, self.order, repetitions=unit["plays"], relabel=False, seed=seed)
        regrets = runs.regrets("repaired", expected=True)
        return [{"T": unit["T"], "play": r, "regret": float(regret)} for r, regret in enumerate(regrets)]

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        agree = [pvalues.mean_equals(select(rows, "regret", T=T), self.mean(T)) for T in at]
        worst = max(self.mean(T) / T**0.5 for T in at)
        ratios = [float(select(rows, "regret", T=T).mean()) / T**0.5 for T in at]
        measured = f"regret / √T between {min(ratios):.3f} and {max(ratios):.3f}, exact mean at T = {at[-1]} " + (
            f"{self.mean(at[-1]) / at[-1] ** 0.5:.3f}; plays {'differ' if self.any_rejected(agree) else 'agree'}"
        )
        return self.verdict_from([*agree, pvalues.exact(worst <= 2)], measured, "√T")

    def chart(self, rows: Rows) -> Chart:
        without, inside = "shuffled, without: (T+1)/2", "exact mean with Simulation"
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret of the birthday test",
            bands=(mean_band(rows, "shuffled, with Simulation", "T", "regret"),),
            lines=reference_lines(levels(rows, "T"), {without: lambda T: (T + 1) / 2, inside: self.mean}),
            alt="Shuffled, the birthday test has regret T/2; with Simulation it runs along its exact mean, like √T.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "no Simulation": {"learner": BirthdayTest},
            "training in which nothing repeats": {"learner": lambda _: Simulation(FixedAction(0), LemmaSchedule())},
            "the grid of the block": {"learner": lambda _: Simulation(BirthdayTest(), LemmaSchedule())},
            "no test": {"learner": lambda _: Simulation(FollowTheLeader(), LemmaSchedule())},
            "a constant of 1.25": {"mean": lambda T: 1.25 * T**0.5},
        }
