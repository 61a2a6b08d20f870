"""Theorem (paper L333): with feedback d rounds late, Simulation has regret 5 sqrt(T log T) + d log T + sum R(2^i) at most.

Beside the bounds, what a delay adds, for one and the same learner in both orders. Shuffled, a learner that has seen n rows
costs the same in whichever round it plays, so a delay adds at most d to following the leader (which never gains by
what it has not seen), 2 d to a fixed Hedge, and 2 d log T to Simulation with its waits. On the trap in its given order
nothing is known of a block while it lasts, so every learner has the same expected regret: that of fair rng.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tombola import _statistics, bounds, instances
from tombola._play import play
from tombola._statistics import Estimate
from tombola._types import Floats, Seed
from tombola.learners import Uniform
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Measure, Measures, Parts, Ruling, Unit, Verdict, levels, pick
from tombola.paper.claims.delay_parts import LEARNERS, Learners, against, bound_of, measure
from tombola.paper.curves import lines
from tombola.report.chart import Band, Chart
from tombola.rng import repetition_seeds

EASY, LATE = ("split", "gap", "balanced"), (3, 7, 15)
WORDS = ("5 √(T log T) + d log T + Σ R(2^i)", "1 + 4.18 √(T log k) + d ⌈log T⌉ + Σ R(2^i)")


def three() -> Learners:
    """Return the learners of the trap."""
    return {name: LEARNERS[name] for name in ("follow the leader", "Hedge", "Simulation")}


def most_added(learner: str, T: int, d: int) -> float:
    """Return the most that a delay can add to the expected regret of a learner in random order.

    >>> most_added("follow the leader", 1024, 3), most_added("Simulation", 1024, 3)
    (3.0, 60.0)
    """
    return {"follow the leader": 1.0, "Hedge": 2.0, "Simulation": 2.0 * math.ceil(math.log2(T))}[learner] * d


def coin_regret(T: int, d: int) -> float:
    """Return the expected regret of every learner on `delay_trap(T, d)` in given order: (d+1)/2 E|sum of fair signs|.

    There are n = T/(d+1) blocks, an even number.

    >>> coin_regret(4, 0), coin_regret(8, 1)
    (0.75, 1.5)
    """
    n = T // (d + 1)
    log = math.lgamma(n + 1) - 2 * math.lgamma(n / 2 + 1) - n * math.log(2)
    return (d + 1) / 2 * n * math.exp(log)


@dataclass(frozen=True)
class DelayTheorem(Claim, name="delay-theorem", expected="holds", luck=5e-4):
    """Regret of Simulation below both bounds: shuffled, a delay adds; in adversarial order it multiplies.

    Title: What a delay costs: shuffled, and in the worst order
    Source: theorem on delayed feedback (L333)
    Statement: With feedback d rounds late, Simulation has regret at most 5 √(T log T) + d log T + Σ R(2^i) in
        random order.
    Meaning: Late answers cost a shuffled list a fixed number of rounds. In an order chosen against you they cost
        in proportion to √(d T): the longer the list, the more a delay hurts. Rows and learners are the same in
        both cases.
    Limits: from the theorem: both bounds on three pools; by exchangeability, d more for the leader, 2 d for Hedge
        and 2 d ⌈log T⌉ for Simulation when shuffled; in given order the exact regret of fair rng (Student)
    """

    learners: Learners = field(default_factory=three)
    order: OrderLike = "random"
    late: Callable[[int], int] = int

    def units(self, *, full: bool) -> list[Unit]:
        """Play pools at several horizons and delays, and the trap at one horizon with growing delays."""
        horizons, plays = ((2**8, 2**13, 2**18), 40) if full else ((2**8, 2**12), 10)
        easy = [{"pool": pool, "T": T, "d": d, "plays": plays} for pool in EASY for T in horizons for d in (0, 10, 100)]
        T, plays = (2**16, 300) if full else (2**12, 120)
        traps = [
            {"pool": "trap", "order": order, "T": T, "d": d, "plays": plays}
            for order in ("random", "given")
            for d in LATE
        ]
        return [*easy, *traps]

    def run(self, unit: Unit, *, seed: Seed) -> list[Measure]:
        """Play Simulation on a pool in random order, or three learners on traps, with late feedback and without."""
        if unit["pool"] != "trap":
            return measure(unit, {"Simulation": self.learners["Simulation"]}, self.order, self.late, seed)
        T, d = unit["T"], unit["d"]
        order = self.order if unit["order"] == "random" else "given"
        rows: list[Measure] = []
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            pool = instances.delay_trap(T, d, seed=child)
            for name, learner in self.learners.items():
                prompt = learner(0) if name == "Simulation" else learner(d)
                late = play(learner(d), pool, order, self.late(d), seed=child).expected_regret
                at_once = play(prompt, pool, order, seed=child).expected_regret
                about = {"pool": "trap", "order": unit["order"], "T": T, "k": 2, "d": d, "learner": name, "play": r}
                rows.append({**about, "regret": late, "prompt": at_once})
        return rows

    def verdict(self, rows: Measures) -> Verdict:
        """Ask for regrets below the bounds, for delays that add no more than they can, and for the rng' regret."""
        easy = [row for row in rows if row["pool"] != "trap"]
        traps = [row for row in rows if row["pool"] == "trap"]
        below, corrected = against(easy, bound_of)
        as_printed, printed = against(easy, lambda _, *size: bounds.simulation_printed(*size))
        T = levels(traps, "T")[0]
        settings = [(name, d) for name in self.learners for d in levels(traps, "d")]
        checks = [pvalues.at_most(extra(traps, "random", *one), most_added(one[0], T, one[1])) for one in settings]
        checks += [
            pvalues.equal(pick(traps, "regret", order="given", learner=name, d=d), coin_regret(T, d))
            for name, d in settings
        ]
        measured = f"at most {printed:.2f} of the printed bound, {corrected:.2f} of the corrected one; " + _sentence(
            traps
        )
        outcome: Ruling = "holds as corrected" if self.fails(as_printed) else "holds"
        return self.judged([*below, *checks], measured, *WORDS, outcome=outcome)

    def chart(self, rows: Measures) -> Chart:
        """Show what each delay adds to the regret of each learner, in both orders."""
        traps = [row for row in rows if row["pool"] == "trap"]
        T, late = levels(traps, "T")[0], levels(traps, "d")
        bands = [
            _band(traps, name, order) for order in ("given", "random") for name in self.learners if name != "Hedge"
        ]
        return Chart(
            title=self.title,
            x_label=f"delay d, in rounds (T = {T:,} rows)",
            y_label="regret that the delay adds",
            bands=tuple(bands),
            lines=lines(late, {"d log T": lambda d: d * math.log2(T)}),
            log_x=False,
            log_y=False,
            alt="In given order a delay adds far more to the regret of the leader than d; shuffled, the same learner on "
            "the same rows shows next to nothing of it, and Simulation only its waits.",
        )

    def faults(self) -> dict[str, Parts]:
        """Break the shuffle, the delay and the learners."""
        return {
            "no shuffle": {"order": "given"},
            "feedback at once": {"late": lambda _: 0},
            "feedback after half the delay": {"late": lambda d: d // 2},
            "Simulation that does not learn": {"learners": {**self.learners, "Simulation": lambda _: Uniform()}},
        }


def extra(traps: Measures, order: str, learner: str, delay: int) -> Floats:
    """Return how much more regret there is than with prompt feedback on the same rows, play by play."""
    late, prompt = (pick(traps, column, order=order, learner=learner, d=delay) for column in ("regret", "prompt"))
    return late - prompt


def added(traps: Measures, order: str, learner: str, delay: int) -> Estimate:
    """Return the mean of that, with its 95 % interval."""
    return _statistics.mean(extra(traps, order, learner, delay))


def _sentence(traps: Measures) -> str:
    d = levels(traps, "d")[-1]
    words = [
        f"{name} {added(traps, 'random', name, d).value:+.1f} shuffled, {added(traps, 'given', name, d).value:+.0f} given"
        for name in levels(traps, "learner")
    ]
    return f"delay {d} adds to " + "; ".join(words)


def _band(traps: Measures, name: str, order: str) -> Band:
    late = levels(traps, "d")
    found = [added(traps, order, name, d) for d in late]
    words = f"{name}, {'shuffled' if order == 'random' else 'given order'}"
    return Band(words, np.array(late, dtype=np.float64), *(np.array([one[i] for one in found]) for i in range(3)))
