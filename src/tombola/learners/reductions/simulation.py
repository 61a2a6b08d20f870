"""Simulation, the paper's template (Section 3), also for delays (Section 4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats, RngState
from tombola.bounds.common import capped
from tombola.engine.state_vector import lazy_zeros
from tombola.errors import ParameterError
from tombola.feedback import FullFeedback
from tombola.learners.base import Feedback, Learner, MixedLearner, bound_of
from tombola.learners.full_information.follow_the_leader import FollowTheLeader
from tombola.learners.parameters import integer, one_of
from tombola.learners.reductions.schedule import (
    GrowingSchedule,
    LemmaSchedule,
    Schedule,
    block_is_due,
    in_any_block,
    in_block,
)
from tombola.learners.reductions.training import PythonLearner, train

# Positions in `State.counters`.
_N_ACTED = 0
N_KEPT = 1
_BLOCK = 2
_NEXT = 3


class State(NamedTuple):
    """State of Simulation."""

    # by_blocks, growth: whether the schedule has blocks, else the growth of its trainings.
    by_blocks: float
    growth: float
    # discards, waits: whether rows, and plays, between blocks are special.
    discards: float
    waits: float
    free: float  # action between blocks
    counters: Floats  # rounds, rows kept, block, next training
    # starts, lengths: of the blocks.
    starts: Floats
    lengths: Floats
    played: Floats  # current mix
    past: Floats  # rows kept, shape (T, k)


@dataclass(frozen=True)
class Simulation(MixedLearner):
    """Train `base` on i.i.d. draws from past rows, and play its frequencies.

    Its frequencies are the share of each action in the plays of the base during the training; they
    are the probabilities of the actions until the next training.

    base: any full-information learner, or a `PythonLearner`.
    schedule: the default, `GrowingSchedule()`, has no blocks: it keeps every row, trains when the
        rows have doubled, and plays the last mix in between. `LemmaSchedule(delay)` and
        `PaperSchedule(delay)` are faithful to the paper: they have blocks, and wait `delay` rounds
        before each.
    past: rows to train on: "blocks", those of past blocks; "all", also those between blocks. The
        default schedule trains on all rows and ignores it.
    waiting: play between blocks: "free", `free_action`; "last", the last mix. The default schedule
        plays the last mix and ignores it.
    trainings: number of runs to average; the variance falls, and the expected regret stays the
        same.
    free_action: index of the action that is played before the first training, and while waiting.

    In random order its regret is at most that of `base` on i.i.d. rows, summed over trainings, plus
    4.18 sqrt(T ln k), plus the cost of a delay of d rounds: d with the default schedule, d
    ceil(log2 T) with LemmaSchedule(d), which is the looser Theorem 4.2 of the paper and
    `bounds.simulation`.

    >>> from tombola import FollowTheLeader, instances, play
    >>> from tombola.learners import LemmaSchedule
    >>> trace = play(Simulation(FollowTheLeader(), LemmaSchedule(delay=10)), instances.split(1000), delay=10, seed=0)
    >>> trace.expected_regret < 120
    True
    """

    base: Learner | PythonLearner
    schedule: Schedule = field(default_factory=GrowingSchedule)
    past: Literal["blocks", "all"] = one_of("blocks", "all")
    waiting: Literal["free", "last"] = one_of("free", "last")
    trainings: int = integer(1, least=1)
    free_action: int = integer(0, least=0)
    feedback: ClassVar[Feedback] = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            not isinstance(self.base, PythonLearner)
            and getattr(self.base, "feedback", None) != "full"
        ):
            raise ParameterError(
                f"Simulation: base must be a full-information learner, got {self.base!r}; "
                "write for example Simulation(FollowTheLeader())."
            )

    def init(self, actions: int, horizon: int) -> State:
        if self.free_action >= actions:
            raise ParameterError(
                f"Simulation: free_action must be one of the {actions} actions 0..{actions - 1}, "
                f"got {self.free_action}; write free_action=0."
            )
        faithful = not isinstance(self.schedule, GrowingSchedule)
        blocks = self.schedule.blocks(horizon)
        return State(
            by_blocks=float(faithful),
            growth=self.schedule.growth if isinstance(self.schedule, GrowingSchedule) else 0.0,
            discards=float(faithful and self.past != "all"),
            waits=float(faithful and self.waiting != "last"),
            free=float(self.free_action),
            counters=np.array([0.0, 0.0, -1.0, 1.0]),
            starts=blocks.starts,
            lengths=blocks.lengths,
            played=np.eye(actions)[self.free_action],
            past=lazy_zeros(horizon, actions),
        )

    @staticmethod
    def needs_plan(state: State) -> bool:
        if state.by_blocks == 0.0:
            return bool(state.counters[N_KEPT] >= state.counters[_NEXT])
        return block_is_due(state.starts, int(state.counters[_BLOCK]), state.counters[_N_ACTED])

    def plan(self, state: State, rng: RngState) -> None:
        past = state.past[: int(state.counters[N_KEPT])]
        rounds = begin_training(state)
        if past.shape[0] > 0:
            plays = np.zeros(state.played.size)
            for _ in range(self.trainings):
                plays += _play_counts(self.base, past, rounds, rng)
            state.played[:] = plays / (rounds * self.trainings)

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        state.counters[_N_ACTED] += 1.0
        if state.waits == 1.0 and not in_block(
            state.starts, state.lengths, int(state.counters[_BLOCK]), state.counters[_N_ACTED]
        ):
            for action in range(mix.size):
                mix[action] = 0.0
            mix[int(state.free)] = 1.0
        else:
            for action in range(mix.size):
                mix[action] = state.played[action]

    @staticmethod
    def observe(state: State, round: int, losses: Floats) -> None:
        if not keeps_row(state, round):
            return
        row = int(state.counters[N_KEPT])
        for action in range(losses.size):
            state.past[row, action] = losses[action]
        state.counters[N_KEPT] += 1.0

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        """Return a bound on the expected regret in random order, or None without a proof.

        The base needs a bound of its own, which then holds on i.i.d. rows, a mixture of pools in
        random order. `LemmaSchedule(d)` must train on the rows of its blocks only, with d >=
        `delay`; `GrowingSchedule` must have growth 2. Other schedules have no proof
        (docs/theory/delay.md, section 2).
        """
        base = self._base_bound(actions, horizon)
        if base is None:
            return None
        if isinstance(self.schedule, GrowingSchedule):
            # No waits: the delay only postpones the first training, by `delay` rounds of loss at
            # most 1.
            without_delay = bounds.simulation(horizon, actions, 0, base)
            return (
                capped(without_delay + delay, horizon, actions)
                if self.schedule.growth == 2.0
                else None
            )
        if not isinstance(self.schedule, LemmaSchedule) or delay > self.schedule.delay:
            return None
        # Rows of the waits enlarge the past beyond the 2^i rows of the proof.
        discards = self.past == "blocks" or self.schedule.delay == 0
        return bounds.simulation(horizon, actions, self.schedule.delay, base) if discards else None

    def _base_bound(self, actions: int, horizon: int) -> Callable[[int], float] | None:
        """Return the bound of the base on 2^i i.i.d. rows, or None if unknown."""
        if isinstance(self.base, PythonLearner):
            return None
        if isinstance(self.base, FollowTheLeader):
            return partial(bounds.follow_the_leader_iid, actions=actions)
        values = {
            2**i: bound_of(self.base, actions=actions, horizon=2**i)
            for i in range(max(0, horizon - 1).bit_length())
        }
        known = {size: value for size, value in values.items() if value is not None}
        return known.__getitem__ if len(known) == len(values) else None


def keeps_row(state: State, round: int) -> bool:
    """Return whether the row of a round, from 1, is kept to train on; a kernel."""
    return state.discards != 1.0 or in_any_block(
        state.starts, state.lengths, int(state.counters[_BLOCK]), float(round)
    )


def _play_counts(base: Learner | PythonLearner, past: Floats, rounds: int, rng: RngState) -> Floats:
    """Return the play counts of `base` on `rounds` i.i.d. draws from `past`."""
    if isinstance(base, PythonLearner):
        return base.train(past, rounds, rng)
    return train(base, FullFeedback(past.shape[1], rounds), past, rng)


def begin_training(state: State) -> int:
    """Count the training in `state`, set when the next is due; return its rounds."""
    if state.by_blocks == 0.0:
        n_kept = int(state.counters[N_KEPT])
        state.counters[_NEXT] = max(n_kept + 1, int(state.growth * n_kept))
        return n_kept
    state.counters[_BLOCK] += 1.0
    return int(state.lengths[int(state.counters[_BLOCK])])
