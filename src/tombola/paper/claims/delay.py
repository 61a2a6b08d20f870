"""Claims about delayed feedback: Lemma 4.1, Theorem 4.2 and Corollary 4.4.

Lemma 4.1 (L323): the base learner records the rows it is trained on: row t of the pool is the t-th
unit vector, and the base plays the action that its last row points at. The action frequencies of
Simulation are then the frequencies of the draws, and both sides of the lemma are compared row by
row.

Theorem 4.2 (L333) and Corollary 4.4 (L421): R(n) is the regret of the base in n rounds. In random
order the expected loss of a round depends on the number of rows seen only, so a delay adds at most
d to following the leader, 2 d to Hedge with a fixed rate, and 2 d log T to Simulation, which waits
d rounds in every block. On `instances.delay_trap` in given order a block of d + 1 equal rows
reveals nothing until it ends, so every learner has the regret of fair coin flips.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from tombola import _statistics, bounds, instances
from tombola._compare import compare
from tombola._formatting import format_estimate
from tombola._play import play
from tombola._types import Floats, RngState, Seed
from tombola._validate import seed_sequence
from tombola.learners import (
    FollowTheLeader,
    GrowingSchedule,
    Hedge,
    LemmaSchedule,
    PaperSchedule,
    Simulation,
    Uniform,
)
from tombola.learners.base import Feedback, Learner
from tombola.learners.reductions.schedule import Schedule
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Outcome, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import exact_band, mean_band, reference_lines
from tombola.paper.rows import Row, Rows, distinct, levels, matching, select, slope
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import agrees, hedge_regret
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import new_rng, repetition_seeds

# Trainings per block in the claim: enough draws for the chi-square test.
_TRAININGS = 40


class _LastActionState(NamedTuple):
    """Index of the nonzero entry of the last row; the last action before any row."""

    last: Floats


@dataclass(frozen=True)
class _LastRowRecorder(Learner):
    """Base learner that records rows: it plays the action with a loss in the last row."""

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _LastActionState:
        return _LastActionState(last=np.full(1, actions - 1.0))

    @staticmethod
    def act(state: _LastActionState, rng: RngState) -> tuple[int, float]:
        return int(state.last[0]), 1.0

    @staticmethod
    def observe(state: _LastActionState, losses: Floats) -> None:
        for action in range(losses.size):
            if losses[action] > 0.0:
                state.last[0] = action


@dataclass(frozen=True)
class _FirstRowRecorder(_LastRowRecorder):
    """Fault: it plays the action with a loss in the first row, not the last."""

    def init(self, actions: int, horizon: int) -> _LastActionState:
        return _LastActionState(last=np.full(2, actions - 1.0))

    @staticmethod
    def observe(state: _LastActionState, losses: Floats) -> None:
        for action in range(losses.size):
            if losses[action] > 0.0 and state.last[0] == state.last[1]:
                state.last[0] = action


# The schedules of the claim, as functions of the delay.
_SCHEDULES: Mapping[str, Callable[[int], Schedule]] = {
    "lemma": LemmaSchedule,
    "paper": PaperSchedule,
}


def _recording_simulation(
    schedule: str,
    delay: int,
    *,
    base: Learner = _LastRowRecorder(),  # noqa: B008 - immutable
    schedules: Mapping[str, Callable[[int], Schedule]] = _SCHEDULES,
    past: Literal["blocks", "all"] = "blocks",
) -> Simulation:
    """Return Simulation with a recording base learner and a schedule for this delay."""
    return Simulation(base, schedules[schedule](delay), trainings=_TRAININGS, past=past)


def _training_counts(learner: Simulation, T: int, delay: int, seed: Seed) -> dict[int, Floats]:
    """Return the draw frequency of each row, shape (T,), by the round of the training."""
    rows = np.eye(T, T + 1)
    state = learner.init(T + 1, T)._replace(past=np.zeros((T, T + 1)))
    rng = new_rng(seed_sequence("trained_on", seed))
    mix = np.zeros(T + 1)
    drawn = {}
    for t in range(1, T + 1):
        if t - delay - 1 >= 1:
            learner.observe(state, t - delay - 1, rows[t - delay - 2])
        if learner.needs_plan(state):
            learner.plan(state, rng)
            drawn[t] = state.played[:T].copy()
        learner.mix(state, mix)
    return drawn


def _blocks(schedule: str, T: int, delay: int) -> list[tuple[int, range]]:
    """Return the blocks of Simulation that begin by round T: pairs (i, 2^i rounds)."""
    # Rounds count from 1. The last block may end after T.
    late = 1 if schedule == "lemma" else 0
    starts = ((i, 2**i + late + (i + late) * delay) for i in range(1 - late, T.bit_length() + 1))
    return [(i, range(start, start + 2**i)) for i, start in starts if start <= T]


class DelayLemma(Claim, name="delay-lemma", expected="holds as corrected", alpha=5e-4):
    """Rows that Simulation trains on: round 1 and earlier blocks, equally often.

    Title: The training rows of Simulation
    Source: Lemma 4.1 (L323)
    Statement: The mean of the training distribution of block i is the mean loss of the blocks
        before it.
    Meaning: Training draws from the rows already revealed, with replacement. On average the learner
        trains on exactly the past. The printed sum omits round 1, which is part of the past.
    Limits: Passes if, for two schedules of blocks, four horizons and six delays, training before a
        block draws only rows that precede the block, and draws all of them equally often
        (chi-square test for every block).
    Alt: As printed, the sum leaves out the row of round 1, half of the draws in block 1 and half as
        much in each block that follows; with round 1 counted nothing is left out.
    """

    # From the schedule, "lemma" or "paper", and the delay to a learner that records its training
    # rows.
    learner: Callable[[str, int], Simulation] = component(_recording_simulation)

    def units(self, *, full: bool) -> list[Unit]:
        horizons = (2, 3, 37, 64, 300, 1024) if full else (2, 37, 64, 150)
        return grid(schedule=_SCHEDULES, T=horizons, d=(0, 1, 3, 10, 40, 299))

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        T = unit["T"]
        d = unit["d"]
        name = unit["schedule"]
        drawn = _training_counts(self.learner(name, d), T, d, seed)
        before = [0]
        for i, block in _blocks(name, T, d):
            draws = _TRAININGS * (
                2**i - 1
            )  # the first draw of a training precedes its first action
            if draws:
                counts = np.rint(drawn.get(block.start, np.zeros(T)) * _TRAININGS * 2**i)
                seen = int(counts.sum())
                own = counts[before]
                off = {"strange": int(seen - own.sum()), "even": pvalues.counts_uniform(own)}
                yield {**unit, "block": i, "draws": draws, "seen": seen, "rows": len(before), **off}
            before += [t - 1 for t in block if t <= T]

    def verdict(self, rows: Rows) -> Verdict:
        wrong = int(
            select(rows, "strange").sum()
            + np.abs(select(rows, "draws") - select(rows, "seen")).sum()
        )
        draws = int(select(rows, "seen").sum())
        even = select(rows, "even").tolist()
        blocks = f"{len(rows) - sum(row['strange'] > 0 for row in rows)} of {len(rows)} blocks"
        measured = (
            f"{draws:,} draws in {len(rows)} blocks: only rows before the block in {blocks}, "
            f"{'not all' if self.any_rejected(even) else 'all'} equally often; as printed, 1/2^i "
            "of the mean is missing"
        )
        words = ("1/2^i Σ over blocks before i", "the same, round 1 counted as a block")
        return self.verdict_from(
            [pvalues.exact(wrong == 0), *even], measured, *words, outcome="holds as corrected"
        )

    def sample_size(self, rows: Rows) -> int:
        return int(select(rows, "seen").sum())

    def chart(self, rows: Rows) -> Chart:
        lemma = matching(rows, schedule="lemma")
        x = np.array(levels(lemma, "block"), dtype=np.float64)
        curves = [("as printed: round 1 is left out", 1.0), ("with round 1", 0.0)]
        bands = [
            exact_band(
                words, x, np.array([share / select(lemma, "rows", block=i).max() for i in x])
            )
            for words, share in curves
        ]
        return self.make_chart(
            "share of the draws that the sum leaves out", bands, x_label="block, i", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        other = {"lemma": PaperSchedule, "paper": LemmaSchedule}
        no_blocks = dict.fromkeys(_SCHEDULES, lambda _: GrowingSchedule())
        return {
            "training on one row only": {
                "learner": partial(_recording_simulation, base=_FirstRowRecorder())
            },
            "rows between blocks kept": {"learner": partial(_recording_simulation, past="all")},
            "waits one round too long": {
                "learner": lambda schedule, d: _recording_simulation(schedule, d + 1)
            },
            "the other schedule": {"learner": partial(_recording_simulation, schedules=other)},
            "no blocks": {"learner": partial(_recording_simulation, schedules=no_blocks)},
        }


# Name of a learner -> function from the delay d, in rounds, to the learner configured for it.
_Learners: TypeAlias = Mapping[str, Callable[[int], Learner]]
# Bound on the regret, as a function of the name of the learner, T, k and d.
_Bound: TypeAlias = Callable[[str, int, int, int], float]
_LEARNERS: _Learners = {
    "Simulation": lambda d: Simulation(FollowTheLeader(), LemmaSchedule(delay=d)),
    "Simulation, not waiting": lambda _: Simulation(FollowTheLeader(), GrowingSchedule()),
    "follow the leader": lambda _: FollowTheLeader(),
    "Hedge": lambda d: Hedge(order="given", delay=d),
}
# Pools of both claims, as functions of the horizon.
_POOLS: dict[str, Callable[[int], Pool]] = {
    "split": lambda T: instances.split(T, 0.75),
    "gap": lambda T: instances.gap(T, 4, 0.4, seed=1),
    "balanced": lambda T: instances.balanced(T, 8, seed=1),
    "hard": lambda T: instances.split(T, 0.5 + 0.5 / math.sqrt(T)),
}


def _bound_of(learner: str, T: int, k: int, d: int) -> float:
    """Return the proved bound on the regret of a learner in random order."""
    return (
        bounds.follow_the_leader(T, k, d)
        if learner == "follow the leader"
        else bounds.simulation(T, k, d)
    )


def _play_learners(
    unit: Unit, learners: _Learners, order: OrderLike, delay: Callable[[int], int], seed: Seed
) -> list[Row]:
    """Play learners configured for delay d; return their expected regrets."""
    T = unit["T"]
    d = unit["d"]
    pool = _POOLS[unit["pool"]](T)
    by_name = {name: learner(d) for name, learner in learners.items()}
    runs = compare(
        pool, by_name, order, delay=delay(d), repetitions=unit["plays"], relabel=False, seed=seed
    )
    return [
        {
            "pool": unit["pool"],
            "T": T,
            "k": pool.k,
            "d": d,
            "learner": name,
            "play": r,
            "regret": float(regret),
        }
        for name in learners
        for r, regret in enumerate(runs.regrets(name, expected=True))
    ]


def _bound_checks(rows: Rows, bound: _Bound) -> tuple[list[float], float]:
    """Return p-values of "mean regret at most bound", and the largest mean / bound."""
    return pvalues.means_at_most(
        rows, ("pool", "learner", "T", "k", "d"), lambda _, *setting: bound(*setting)
    )


def _bound_formula(learner: str, T: int, k: int, d: int) -> float:
    """Return a learner's bound as a sum of terms, at most T, to check `_bound_of`."""
    n = np.arange(1.0, T)
    shifts = math.sqrt(2 * math.log(k)) * T / (T - n) * np.sqrt((T - n + 1) / (T * n))
    if learner == "follow the leader":
        # Pairwise differences instead of a maximum over all actions: better for few actions.
        c = float(np.sum(1 / np.sqrt(n * (T - n))[: T - 1 - d])) * T / (2 * math.sqrt(T - 1))
        return float(min(T, d + 1 + shifts[: T - 1 - d].sum(), math.hypot(1 + d, c) + (k - 2) * c))
    total = 1.0
    size = 1
    while size < T:
        training = 1 + math.sqrt(2 * math.log(k)) * float(np.sum(1 / np.sqrt(np.arange(1.0, size))))
        total += d + min(size, T - size) * float(shifts[size - 1]) + min(size, training)
        size *= 2
    return min(float(T), total)


def _bound_formula_checks(rows: Rows, bound: _Bound) -> list[float]:
    """Return 1 for every bound that equals its formula, else 0."""
    settings = distinct(rows, "learner", "T", "k", "d")
    return [
        pvalues.exact(agrees(bound(*setting), _bound_formula(*setting))) for setting in settings
    ]


# Source fault of both claims: the bound of Simulation divided by 1.6. Regrets stay below it, so
# that only the comparison with the formula can detect it.
_BOUND_TOO_SMALL = SourceFault("bounds.delay:simulation", "capped(total,", "capped(total / 1.6,")


def _trap_regret(T: int, d: int) -> float:
    """Return the expected regret of any learner on `delay_trap(T, d)` in given order."""
    # It is (d+1)/2 E|S|, S the sum of n = T/(d+1) fair signs; n is even.
    n = T // (d + 1)
    log = math.lgamma(n + 1) - 2 * math.lgamma(n / 2 + 1) - n * math.log(2)
    return (d + 1) / 2 * n * math.exp(log)


class DelayTheorem(Claim, name="delay-theorem", expected="holds", alpha=5e-4):
    """Regret of Simulation below its printed and its corrected bound; cost of a delay.

    Title: The cost of a delay in random order and in the worst order
    Source: Theorem 4.2 (L333)
    Statement: With feedback d rounds late, Simulation has regret at most 5 √(T log T) + d log T + Σ
        R(2^i) in random order.
    Meaning: On a shuffled list a delay costs a fixed number of rounds. In an adversarial order it
        costs in proportion to √(d T), so it grows with the list. Rows and learners are the same in
        both cases.
    Limits: Passes if the mean regret of Simulation is at most the printed and the corrected bound
        on three pools (t-test), and the latter, up to five times the regret, equals the sum of its
        terms. In random order a delay of d rounds may add at most d to the regret of follow the
        leader, 2 d to Hedge and 2 d ⌈log T⌉ to Simulation (t-test). In given order the mean regret
        must be the exact one of fair coin flips (two-sided t-test), and Hedge must have the regret
        of its formula.
    Alt: In given order a delay adds far more than d to the regret of the leader. In random order it
        adds almost nothing to the same learner on the same rows, and to Simulation only its waiting
        times.
    """

    learners: _Learners = component(
        {name: _LEARNERS[name] for name in ("follow the leader", "Hedge", "Simulation")}
    )
    order: OrderLike = "random"
    played_delay: Callable[[int], int] = component(
        int
    )  # from the stated delay to that of the plays

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**8, 2**13, 2**18), 40) if full else ((2**8, 2**12), 10)
        easy = grid(pool=("split", "gap", "balanced"), T=horizons, d=(0, 10, 100), plays=plays)
        T, plays = (2**16, 300) if full else (2**12, 120)
        # On the pool `delay_trap`, d + 1 divides the rows.
        return easy + grid(pool="trap", order=("random", "given"), T=T, d=(3, 7, 15), plays=plays)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        if unit["pool"] != "trap":
            learners = {"Simulation": self.learners["Simulation"]}
            yield from _play_learners(unit, learners, self.order, self.played_delay, seed)
            return
        T = unit["T"]
        d = unit["d"]
        order = self.order if unit["order"] == "random" else "given"
        rate = math.sqrt(8 * math.log(2) / (T * (1 + 2 * d)))  # of Hedge, tuned to the delay
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            pool = instances.delay_trap(T, d, seed=child)
            for name, learner in self.learners.items():
                prompt = learner(0) if name == "Simulation" else learner(d)
                late = play(
                    learner(d), pool, order, self.played_delay(d), seed=child
                ).expected_regret
                at_once = play(prompt, pool, order, seed=child).expected_regret
                about = {
                    "pool": "trap",
                    "order": unit["order"],
                    "T": T,
                    "k": 2,
                    "d": d,
                    "learner": name,
                    "play": r,
                }
                # Exact only where the order of the rows is known here.
                exact = name == "Hedge" and order == "given"
                twin = (
                    hedge_regret(np.asarray(pool.losses, dtype=np.float64), rate, d)
                    if exact
                    else None
                )
                yield {**about, "regret": late, "prompt": at_once, "twin": twin}

    def verdict(self, rows: Rows) -> Verdict:
        easy = [row for row in rows if row["pool"] != "trap"]
        traps = _trap_rows(rows)
        checks, corrected = _bound_checks(easy, _bound_of)
        as_printed, printed = _bound_checks(easy, lambda _, *size: bounds.simulation_printed(*size))
        T = levels(traps, "T")[0]
        delays = levels(traps, "d")
        # Largest regret that a round of delay adds in random order.
        most = {"follow the leader": 1.0, "Hedge": 2.0, "Simulation": 2.0 * math.ceil(math.log2(T))}
        for name in self.learners:
            for d in delays:
                shuffled, in_order = (
                    matching(traps, order=order, learner=name, d=d) for order in ("random", "given")
                )
                checks.append(pvalues.mean_at_most(select(shuffled, "added"), most[name] * d))
                checks.append(pvalues.mean_equals(select(in_order, "regret"), _trap_regret(T, d)))
        checks += _bound_formula_checks(easy, _bound_of)
        checks += [
            pvalues.exact(
                all(agrees(row["regret"], row["twin"]) for row in traps if row["twin"] is not None)
            )
        ]

        def added(name: str, order: str) -> str:
            values = select(traps, "added", order=order, learner=name, d=delays[-1])
            return format_estimate(_statistics.mean(values))

        measured = (
            f"at most {printed:.2f} of the printed bound, {corrected:.2f} of the corrected one; "
            f"regret that a delay of {delays[-1]} rounds adds (mean ± half the 95 % interval): "
        ) + "; ".join(
            f"{name} {added(name, 'random')} in random order, {added(name, 'given')} in given order"
            for name in levels(traps, "learner")
        )
        outcome: Outcome = "holds as corrected" if self.any_rejected(as_printed) else "holds"
        words = ("5 √(T log T) + d log T + Σ R(2^i)", "1 + 4.18 √(T log k) + d ⌈log T⌉ + Σ R(2^i)")
        return self.verdict_from(checks, measured, *words, outcome=outcome)

    def chart(self, rows: Rows) -> Chart:
        traps = _trap_rows(rows)
        T = levels(traps, "T")[0]
        late = levels(traps, "d")
        bands = [
            mean_band(traps, f"{name}, {words}", "d", "added", order=order, learner=name)
            for order, words in (("given", "given order"), ("random", "shuffled"))
            for name in self.learners
            if name != "Hedge"
        ]
        lines = reference_lines(late, {"d log T": lambda d: d * math.log2(T)})
        return self.make_chart(
            "regret that the delay adds",
            bands,
            lines,
            x_label=f"delay d, in rounds (T = {T:,} rows)",
            log="",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "feedback at once": {"played_delay": lambda _: 0},
            "feedback after half the delay": {"played_delay": lambda d: d // 2},
            "Simulation that does not learn": {
                "learners": {**self.learners, "Simulation": lambda _: Uniform()}
            },
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "bound of Simulation / 1.6": _BOUND_TOO_SMALL,
            "rate of Hedge x 5": SourceFault(
                "learners.full_information.hedge:Hedge.init", "sqrt(8 *", "sqrt(200 *"
            ),
        }


def _trap_rows(rows: Rows) -> Rows:
    """Return the rows of `delay_trap`, with the regret that the delay adds as `added`."""
    return [
        {**row, "added": row["regret"] - row["prompt"]} for row in rows if row["pool"] == "trap"
    ]


class DelayCorollary(
    Claim, name="delay-corollary", expected="holds", alpha=5e-4, verdict_only=("bound",)
):
    """Regret with delay d: Simulation, Simulation without waiting, follow the leader.

    Title: Three ways to handle delayed feedback
    Source: Corollary 4.4 (L421)
    Statement: Some learner has regret O(√(T log T) + d log T) in random order with feedback d
        rounds late.
    Meaning: Waiting for feedback before each block is not needed: learn from the feedback that has
        arrived. Following the leader on it has regret at most d + π √(2 T log k), without the
        logarithm and without knowing d.
    Limits: Passes if the mean regret of each learner is at most its own bound and at most the
        printed one (t-test); if each bound equals the plain sum of its terms, which is checked
        because the bounds are 2.5 to 10 times the regrets; and if, where the actions differ by
        1/√T, the regret grows in T at most as fast as √(T ln T) (regression of logarithms).
    Alt: Simulation pays for every wait; not waiting, or following the leader, pays far less; all
        are below their bounds.
    """

    learners: _Learners = component(
        {name: _LEARNERS[name] for name in _LEARNERS if name != "Hedge"}
    )
    order: OrderLike = "random"
    played_delay: Callable[[int], int] = component(
        int
    )  # from the stated delay to that of the plays
    bound: _Bound = component(_bound_of)

    def units(self, *, full: bool) -> list[Unit]:
        top, plays = (18, 100) if full else (14, 40)
        delays = grid(pool="split", T=2**top, d=(1, 10, 100, 1000), plays=plays)
        return delays + grid(pool="hard", T=[2**i for i in range(8, top + 1)], d=16, plays=plays)

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        return _play_learners(unit, self.learners, self.order, self.played_delay, seed)

    def verdict(self, rows: Rows) -> Verdict:
        below, corrected = _bound_checks(rows, self.bound)
        as_printed, printed = _bound_checks(rows, lambda _, *size: bounds.simulation_printed(*size))
        at = levels(rows, "T", pool="hard")
        rate = [(T * np.log(T)) ** 0.5 for T in at]
        hard = {
            name: [select(rows, "regret", pool="hard", learner=name, T=T) for T in at]
            for name in self.learners
        }
        flat = [pvalues.growth("at most", at, regrets, rate) for regrets in hard.values()]
        slopes = ", ".join(
            f"{slope(rows, 'T', 'regret', pool='hard', learner=name).value:.2f}" for name in hard
        )
        measured = (
            f"at most {corrected:.2f} of their bounds, {printed:.2f} of the printed one; "
            f"slopes in T {slopes}"
        )
        checks = [*below, *as_printed, *flat, *_bound_formula_checks(rows, self.bound)]
        words = ("O(√(T log T) + d log T)", "d + π √(2 T log k) by following the leader")
        return self.verdict_from(checks, measured, *words)

    def chart(self, rows: Rows) -> Chart:
        chosen = matching(rows, pool="split")
        T = levels(chosen, "T")[0]
        curves: dict[str, Callable[[int], float]] = {
            "printed bound": lambda d: bounds.simulation_printed(T, 2, d),
            "bound of Simulation": lambda d: self.bound("Simulation", T, 2, d),
            "bound of the leader": lambda d: self.bound("follow the leader", T, 2, d),
        }
        bands = [mean_band(chosen, name, "d", "regret", learner=name) for name in self.learners]
        lines = reference_lines(levels(chosen, "d"), curves)
        return self.make_chart(
            "regret in random order", bands, lines, x_label=f"delay d, in rounds (T = {T:,} rows)"
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "feedback that never comes": {"played_delay": lambda _: 10**6},
            "a leader that does not learn": {
                "learners": {**self.learners, "follow the leader": lambda _: Uniform()}
            },
            "Simulation that does not learn": {
                "learners": {**self.learners, "Simulation": lambda _: Uniform()}
            },
            "a twentieth of the bounds": {"bound": lambda *setting: self.bound(*setting) / 20},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        leader = "bounds.full_information:follow_the_leader"
        return {
            "bound of Simulation / 1.6": _BOUND_TOO_SMALL,
            "bound of the leader / 1.6": SourceFault(
                leader, "min(delay + 1 + many", "0.625 * min(delay + 1 + many"
            ),
        }
