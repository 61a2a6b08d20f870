"""Lemma 4.1 (L323): training has the mean of the past blocks.

The base learner records the rows it is trained on: row t of the pool is the t-th unit vector, and the base plays the
action that its last row points at. The action frequencies of Simulation are then the frequencies of the draws, and both
sides of the lemma are compared row by row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from tombola._types import Floats, RngState, Seed
from tombola._validate import seed_sequence
from tombola.learners import GrowingSchedule, LemmaSchedule, PaperSchedule, Simulation
from tombola.learners.base import Feedback, Learner
from tombola.learners.reductions.schedule import Schedule
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import exact_band
from tombola.report.chart import Chart
from tombola.rng import new_rng

# Trainings per block in the claim: enough draws for the chi-square test.
_TRAININGS = 40


class _LastActionState(NamedTuple):
    """Index of the nonzero entry of the last row; the last action before any row."""

    last: Floats


@dataclass(frozen=True)
class _LastRowRecorder(Learner):
    """Base learner that plays the action with a loss in the last row.

    Its plays record the rows of its training.
    """

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
    """Play the action with a loss in the first row: a fault.

    It is as if training drew one row only.
    """

    def init(self, actions: int, horizon: int) -> _LastActionState:
        return _LastActionState(last=np.full(2, actions - 1.0))

    @staticmethod
    def observe(state: _LastActionState, losses: Floats) -> None:
        for action in range(losses.size):
            if losses[action] > 0.0 and state.last[0] == state.last[1]:
                state.last[0] = action


# Name of a schedule -> function from the delay to the schedule.
_Schedules: TypeAlias = Mapping[str, Callable[[int], Schedule]]
# The schedules of the claim, as functions of the delay.
_SCHEDULES: _Schedules = {"lemma": LemmaSchedule, "paper": PaperSchedule}


def _recording_simulation(
    schedule: str,
    delay: int,
    *,
    base: Learner = _LastRowRecorder(),  # noqa: B008 - immutable
    schedules: _Schedules = _SCHEDULES,
    past: Literal["blocks", "all"] = "blocks",
) -> Simulation:
    """Return Simulation with a recording base learner and a schedule for this delay."""
    return Simulation(base, schedules[schedule](delay), trainings=_TRAININGS, past=past)


def _training_counts(learner: Simulation, T: int, delay: int, seed: Seed) -> dict[int, Floats]:
    """Return the draw frequency of each row, shape (T,), by the round of the training."""
    rows = np.eye(T, T + 1)
    state = learner.init(T + 1, T)._replace(past=np.zeros((T, T + 1)))
    rng, mix = new_rng(seed_sequence("trained_on", seed)), np.zeros(T + 1)
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
    """Return the blocks of Simulation that begin by round T: pairs (i, rounds).

    Block i has the 2^i rounds t_i, .., t_i + 2^i - 1, counted from 1; the last block may end after T.

    >>> _blocks("lemma", 10, 1)
    [(0, range(3, 4)), (1, range(5, 7)), (2, range(8, 12))]
    """
    late = 1 if schedule == "lemma" else 0
    starts = ((i, 2**i + late + (i + late) * delay) for i in range(1 - late, T.bit_length() + 1))
    return [(i, range(start, start + 2**i)) for i, start in starts if start <= T]


@dataclass(frozen=True)
class DelayLemma(Claim, name="delay-lemma", expected="holds as corrected", alpha=5e-4):
    """Rows that Simulation trains on: round 1 and earlier blocks, equally often.

    Fields, which faults replace: learner (function from the schedule, "lemma" or "paper", and the delay to the
    Simulation under test).

    Title: The training rows of Simulation
    Source: Lemma 4.1 (L323)
    Statement: The mean of the training distribution of block i is the mean loss of the blocks before it.
    Meaning: Training draws from the rows already revealed, with replacement. On average the learner trains on
        exactly the past. The printed sum omits round 1, which is part of the past.
    Limits: Passes if, for two schedules of blocks, four horizons and six delays, training before a block draws only
        rows that precede the block, and draws all of them equally often (chi-square test for every block).
    """

    learner: Callable[[str, int], Simulation] = component(_recording_simulation)

    def units(self, *, full: bool) -> list[Unit]:
        horizons = (2, 3, 37, 64, 300, 1024) if full else (2, 37, 64, 150)
        delays = (0, 1, 3, 10, 40, 299)
        return [{"schedule": name, "T": T, "d": d} for name in _SCHEDULES for T in horizons for d in delays]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, d, name = unit["T"], unit["d"], unit["schedule"]
        drawn = _training_counts(self.learner(name, d), T, d, seed)
        before = [0]
        rows: list[Row] = []
        for i, block in _blocks(name, T, d):
            shares = drawn.get(block.start, np.zeros(T))
            draws = _TRAININGS * (2**i - 1)  # the first draw of a training precedes its first action
            if draws:
                counts = np.rint(shares * _TRAININGS * 2**i)
                off = {
                    "strange": int(counts.sum() - counts[before].sum()),
                    "even": pvalues.counts_uniform(counts[before]),
                }
                rows.append({**unit, "block": i, "draws": draws, "seen": int(counts.sum()), "rows": len(before), **off})
            before += [t - 1 for t in block if t <= T]
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        wrong = int(select(rows, "strange").sum() + np.abs(select(rows, "draws") - select(rows, "seen")).sum())
        draws = int(select(rows, "seen").sum())
        even = select(rows, "even").tolist()
        blocks = f"{len(rows) - sum(row['strange'] > 0 for row in rows)} of {len(rows)} blocks"
        measured = (
            f"{draws:,} draws in {len(rows)} blocks: only rows before the block in {blocks}, "
            f"{'not all' if self.any_rejected(even) else 'all'} equally often; as printed, 1/2^i of the mean is missing"
        )
        words = ("1/2^i Σ over blocks before i", "the same, round 1 counted as a block")
        return self.verdict_from([pvalues.exact(wrong == 0), *even], measured, *words, outcome="holds as corrected")

    def sample_size(self, rows: Rows) -> int:
        return int(select(rows, "seen").sum())

    def chart(self, rows: Rows) -> Chart:
        lemma = [row for row in rows if row["schedule"] == "lemma"]
        x = np.array(levels(lemma, "block"), dtype=np.float64)
        curves = [("as printed: round 1 is left out", 1.0), ("with round 1", 0.0)]
        return Chart(
            title=self.title,
            x_label="block, i",
            y_label="share of the draws that the sum leaves out",
            bands=tuple(
                exact_band(words, x, np.array([share / select(lemma, "rows", block=i).max() for i in x]))
                for words, share in curves
            ),
            log_x=False,
            log_y=False,
            alt="As printed, the sum leaves out the row of round 1, half of the draws in block 1 and half as much in "
            "each block that follows; with round 1 counted nothing is left out.",
        )

    def faults(self) -> dict[str, Overrides]:
        other = {"lemma": PaperSchedule, "paper": LemmaSchedule}
        no_blocks = dict.fromkeys(_SCHEDULES, lambda _: GrowingSchedule())
        return {
            "training on one row only": {"learner": partial(_recording_simulation, base=_FirstRowRecorder())},
            "rows between blocks kept": {"learner": partial(_recording_simulation, past="all")},
            "waits one round too long": {"learner": lambda schedule, d: _recording_simulation(schedule, d + 1)},
            "the other schedule": {"learner": partial(_recording_simulation, schedules=other)},
            "no blocks": {"learner": partial(_recording_simulation, schedules=no_blocks)},
        }
