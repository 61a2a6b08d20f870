"""Theorem 4.2 (L333): regret of Simulation with delay d.

5 sqrt(T log T) + d log T + sum R(2^i).

Also the regret added by a delay, for the same learner in both orders. In random order the expected loss of a round
depends on the number of rows seen only, so a delay adds at most d to following the leader, 2 d to a fixed Hedge, and
2 d log T to Simulation with its waiting times. On the trap in given order a block reveals nothing until it ends, so
every learner has the same expected regret: that of fair coin flips.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tombola import _statistics, bounds, instances
from tombola._compare import compare
from tombola._formatting import format_estimate
from tombola._play import play
from tombola._statistics import Estimate
from tombola._types import Floats, Seed
from tombola.learners import FollowTheLeader, GrowingSchedule, Hedge, LemmaSchedule, Simulation, Uniform
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Outcome, Overrides, Row, Rows, Unit, Verdict, levels, select
from tombola.paper.curves import reference_lines
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import agrees, hedge_regret
from tombola.pool import Pool
from tombola.report.chart import Band, Chart
from tombola.rng import repetition_seeds

# Name of a learner -> function from the delay d, in rounds, to the learner configured for it.
Learners: TypeAlias = Mapping[str, Callable[[int], Learner]]
# Learners of both delay claims: name -> function from the delay d, in rounds, to the learner.
LEARNERS: dict[str, Callable[[int], Learner]] = {
    "Simulation": lambda d: Simulation(FollowTheLeader(), LemmaSchedule(delay=d)),
    "Simulation, not waiting": lambda _: Simulation(FollowTheLeader(), GrowingSchedule()),
    "follow the leader": lambda _: FollowTheLeader(),
    "Hedge": lambda d: Hedge(order="given", delay=d),
}
# Pools of both delay claims, as functions of the horizon.
_POOLS: dict[str, Callable[[int], Pool]] = {
    "split": lambda T: instances.split(T, 0.75),
    "gap": lambda T: instances.gap(T, 4, 0.4, seed=1),
    "balanced": lambda T: instances.balanced(T, 8, seed=1),
    "hard": lambda T: instances.split(T, 0.5 + 0.5 / math.sqrt(T)),
}


def bound_of(learner: str, T: int, k: int, d: int) -> float:
    """Return the proved bound on the regret of a learner in random order.

    learner: key of `LEARNERS`, not "Hedge".
    T, k, d: number of rounds and of actions, and delay in rounds.

    >>> bound_of("follow the leader", 100, 2, 3) < bound_of("Simulation", 100, 2, 3)
    True
    """
    return bounds.follow_the_leader(T, k, d) if learner == "follow the leader" else bounds.simulation(T, k, d)


def play_learners(
    unit: Unit, learners: Learners, order: OrderLike, delay: Callable[[int], int], seed: Seed
) -> list[Row]:
    """Play learners configured for delay d; return a row per learner and play.

    A row has pool, T, k, d, learner, play and regret (expected, over the learner's own randomness).

    unit: settings pool (its name), T, d and plays (number of repetitions).
    learners: functions from the delay to a learner, by name.
    order, seed: of the plays.
    delay: `delay(d)` is the delay of the play; another function than the identity is a fault.
    """
    T, d = unit["T"], unit["d"]
    pool = _POOLS[unit["pool"]](T)
    named = {name: learner(d) for name, learner in learners.items()}
    runs = compare(pool, named, order, delay=delay(d), repetitions=unit["plays"], relabel=False, seed=seed)
    about = {"pool": unit["pool"], "T": T, "k": pool.k, "d": d}
    return [
        {**about, "learner": name, "play": r, "regret": float(regret)}
        for name in learners
        for r, regret in enumerate(runs.regrets(name, expected=True))
    ]


def bound_checks(rows: Rows, bound: Callable[[str, int, int, int], float]) -> tuple[list[float], float]:
    """Return a p-value for each mean regret, and the largest mean / bound.

    There is one mean per pool, learner, T and d; its p-value is that of "the true mean is at most the bound".

    rows: as returned by `play_learners`.
    bound: function of the name of the learner, T, k and d.
    """
    settings = sorted({(row["pool"], row["learner"], row["T"], row["k"], row["d"]) for row in rows})
    found, worst = [], 0.0
    for pool, name, T, k, d in settings:
        regrets, most = select(rows, "regret", pool=pool, learner=name, T=T, d=d), bound(name, T, k, d)
        found.append(pvalues.mean_at_most(regrets, most))
        worst = max(worst, float(regrets.mean()) / most)
    return found, worst


def _bound_formula(learner: str, T: int, k: int, d: int) -> float:
    """Return the bound of a learner as a plain sum of its terms, at most T.

    It is computed without the package, to check `bound_of`.

    >>> round(_bound_formula("Simulation", 2**16, 2, 0)), round(_bound_formula("follow the leader", 1000, 10, 0), 1)
    (2285, 210.5)
    """
    n = np.arange(1.0, T)
    shifts = math.sqrt(2 * math.log(k)) * T / (T - n) * np.sqrt((T - n + 1) / (T * n))
    if learner == "follow the leader":
        # Pairwise differences instead of a maximum over all actions: better for few actions.
        c = float(np.sum(1 / np.sqrt(n * (T - n))[: T - 1 - d])) * T / (2 * math.sqrt(T - 1))
        return float(min(T, d + 1 + shifts[: T - 1 - d].sum(), math.hypot(1 + d, c) + (k - 2) * c))
    total, size = 1.0, 1
    while size < T:
        training = 1 + math.sqrt(2 * math.log(k)) * float(np.sum(1 / np.sqrt(np.arange(1.0, size))))
        total += d + min(size, T - size) * float(shifts[size - 1]) + min(size, training)
        size *= 2
    return min(float(T), total)


def bound_formula_checks(rows: Rows, bound: Callable[[str, int, int, int], float]) -> list[float]:
    """Return 1 for every bound that equals its formula, written out again, else 0.

    These are p-values, one per learner, T, k and d. Regrets are too far below the bounds to check them.

    rows: as returned by `play_learners`.
    bound: function of the name of the learner, T, k and d.
    """
    settings = sorted({(row["learner"], row["T"], row["k"], row["d"]) for row in rows})
    return [pvalues.exact(agrees(bound(*setting), _bound_formula(*setting))) for setting in settings]


_POOL_NAMES, _TRAP_DELAYS = ("split", "gap", "balanced"), (3, 7, 15)
# Source fault of both delay claims: the bound of Simulation divided by 1.6. Regrets stay below it, so that only the
# comparison with the formula can detect it.
BOUND_TOO_SMALL = SourceFault("bounds.delay:simulation", "capped(total,", "capped(total / 1.6,")
# Regret bound as printed and as corrected, for the verdict.
_WORDS = ("5 √(T log T) + d log T + Σ R(2^i)", "1 + 4.18 √(T log k) + d ⌈log T⌉ + Σ R(2^i)")


def _default_learners() -> Learners:
    """Return the learners played on the trap, as functions of the delay."""
    return {name: LEARNERS[name] for name in ("follow the leader", "Hedge", "Simulation")}


def _max_added_regret(learner: str, T: int, d: int) -> float:
    """Return a bound on the regret that a delay adds in random order.

    >>> _max_added_regret("follow the leader", 1024, 3), _max_added_regret("Simulation", 1024, 3)
    (3.0, 60.0)
    """
    return {"follow the leader": 1.0, "Hedge": 2.0, "Simulation": 2.0 * math.ceil(math.log2(T))}[learner] * d


def _trap_regret(T: int, d: int) -> float:
    """Return the expected regret of every learner on `delay_trap(T, d)`, not shuffled.

    It is (d+1)/2 E|S|, S the sum of n = T/(d+1) fair signs; n is even.

    >>> _trap_regret(4, 0), _trap_regret(8, 1)
    (0.75, 1.5)
    """
    n = T // (d + 1)
    log = math.lgamma(n + 1) - 2 * math.lgamma(n / 2 + 1) - n * math.log(2)
    return (d + 1) / 2 * n * math.exp(log)


@dataclass(frozen=True)
class DelayTheorem(Claim, name="delay-theorem", expected="holds", alpha=5e-4):
    """Regret of Simulation below its printed and its corrected bound; cost of a delay.

    R(n) is the regret of the base learner in n rounds. Simulation plays three pools; Simulation, Hedge and follow the
    leader play a pool on which d rounds reveal nothing, in random and in given order.

    Fields, which faults replace: learners (functions from d to the learner under test, by name), order (order of the
    rows), played_delay (delay of the plays as a function of d).

    Title: The cost of a delay in random order and in the worst order
    Source: Theorem 4.2 (L333)
    Statement: With feedback d rounds late, Simulation has regret at most 5 √(T log T) + d log T + Σ R(2^i) in
        random order.
    Meaning: On a shuffled list a delay costs a fixed number of rounds. In an adversarial order it costs in
        proportion to √(d T), so it grows with the list. Rows and learners are the same in both cases.
    Limits: Passes if the mean regret of Simulation is at most the printed and the corrected bound on three pools
        (t-test), and the latter, up to five times the regret, equals the sum of its terms. In random order a delay of d
        rounds may add at most d to the regret of follow the leader, 2 d to Hedge and 2 d ⌈log T⌉ to Simulation
        (t-test). In given order the mean regret must be the exact one of fair coin flips (two-sided t-test), and Hedge
        must have the regret of its formula.
    """

    learners: Learners = field(default_factory=_default_learners)
    order: OrderLike = "random"
    played_delay: Callable[[int], int] = int

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**8, 2**13, 2**18), 40) if full else ((2**8, 2**12), 10)
        easy = [
            {"pool": pool, "T": T, "d": d, "plays": plays}
            for pool in _POOL_NAMES
            for T in horizons
            for d in (0, 10, 100)
        ]
        T, plays = (2**16, 300) if full else (2**12, 120)
        traps = [
            {"pool": "trap", "order": order, "T": T, "d": d, "plays": plays}
            for order in ("random", "given")
            for d in _TRAP_DELAYS
        ]
        return [*easy, *traps]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        if unit["pool"] != "trap":
            return play_learners(unit, {"Simulation": self.learners["Simulation"]}, self.order, self.played_delay, seed)
        T, d = unit["T"], unit["d"]
        order = self.order if unit["order"] == "random" else "given"
        rows: list[Row] = []
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            pool = instances.delay_trap(T, d, seed=child)
            for name, learner in self.learners.items():
                prompt = learner(0) if name == "Simulation" else learner(d)
                late = play(learner(d), pool, order, self.played_delay(d), seed=child).expected_regret
                at_once = play(prompt, pool, order, seed=child).expected_regret
                about = {"pool": "trap", "order": unit["order"], "T": T, "k": 2, "d": d, "learner": name, "play": r}
                # Exact only where the order of the rows is known here.
                twin = _hedge_trap_regret(pool, d) if name == "Hedge" and order == "given" else None
                rows.append({**about, "regret": late, "prompt": at_once, "twin": twin})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        easy = [row for row in rows if row["pool"] != "trap"]
        traps = [row for row in rows if row["pool"] == "trap"]
        below, corrected = bound_checks(easy, bound_of)
        as_printed, printed = bound_checks(easy, lambda _, *size: bounds.simulation_printed(*size))
        T = levels(traps, "T")[0]
        settings = [(name, d) for name in self.learners for d in levels(traps, "d")]
        checks = [
            pvalues.mean_at_most(_added_regrets(traps, "random", *one), _max_added_regret(one[0], T, one[1]))
            for one in settings
        ]
        checks += [
            pvalues.mean_equals(select(traps, "regret", order="given", learner=name, d=d), _trap_regret(T, d))
            for name, d in settings
        ]
        checks += bound_formula_checks(easy, bound_of)
        twins = [row for row in traps if row["twin"] is not None]
        checks += [pvalues.exact(all(agrees(row["regret"], row["twin"]) for row in twins))]
        measured = f"at most {printed:.2f} of the printed bound, {corrected:.2f} of the corrected one; " + _sentence(
            traps
        )
        outcome: Outcome = "holds as corrected" if self.any_rejected(as_printed) else "holds"
        return self.verdict_from([*below, *checks], measured, *_WORDS, outcome=outcome)

    def chart(self, rows: Rows) -> Chart:
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
            lines=reference_lines(late, {"d log T": lambda d: d * math.log2(T)}),
            log_x=False,
            log_y=False,
            alt="In given order a delay adds far more than d to the regret of the leader. In random order it adds "
            "almost nothing to the same learner on the same rows, and to Simulation only its waiting times.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "feedback at once": {"played_delay": lambda _: 0},
            "feedback after half the delay": {"played_delay": lambda d: d // 2},
            "Simulation that does not learn": {"learners": {**self.learners, "Simulation": lambda _: Uniform()}},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "bound of Simulation / 1.6": BOUND_TOO_SMALL,
            "rate of Hedge x 5": SourceFault("learners.full_information.hedge:Hedge.init", "sqrt(8 *", "sqrt(200 *"),
        }


def _hedge_trap_regret(pool: Pool, d: int) -> float:
    """Return the regret of Hedge, tuned to delay d, in given order, by its formula."""
    rate = math.sqrt(8 * math.log(2) / (pool.rows * (1 + 2 * d)))
    return hedge_regret(np.asarray(pool.losses, dtype=np.float64), rate, d)


def _added_regrets(traps: Rows, order: str, learner: str, delay: int) -> Floats:
    """Return the regret with delay minus that without, for every play.

    Both are on the same rows in the same order.
    """
    late, prompt = (select(traps, column, order=order, learner=learner, d=delay) for column in ("regret", "prompt"))
    return late - prompt


def _mean_added_regret(traps: Rows, order: str, learner: str, delay: int) -> Estimate:
    """Return the mean regret that a delay adds, with its 95 % interval."""
    return _statistics.mean(_added_regrets(traps, order, learner, delay))


def _sentence(traps: Rows) -> str:
    d = levels(traps, "d")[-1]
    words = [
        f"{name} {format_estimate(_mean_added_regret(traps, 'random', name, d))} in random order, "
        f"{format_estimate(_mean_added_regret(traps, 'given', name, d))} in given order"
        for name in levels(traps, "learner")
    ]
    return f"regret that a delay of {d} rounds adds (mean ± half the 95 % interval): " + "; ".join(words)


def _band(traps: Rows, name: str, order: str) -> Band:
    late = levels(traps, "d")
    found = [_mean_added_regret(traps, order, name, d) for d in late]
    words = f"{name}, {'shuffled' if order == 'random' else 'given order'}"
    return Band(words, np.array(late, dtype=np.float64), *(np.array([one[i] for one in found]) for i in range(3)))
