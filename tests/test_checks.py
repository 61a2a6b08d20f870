"""Every learner of tombola passes the checks, and every check rejects a learner that fails it."""

import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from conftest import Own, Sums, variant
from tombola import Learner, MixedLearner, Pool, check_learner, checks, learners
from tombola import classification as labels
from tombola._types import Floats, RngState
from tombola.errors import LearnerError, TombolaWarning
from tombola.rng import uniform
from twin_cases import BANDIT, BUDGETED, BUDGETED_BANDIT, FULL, OPTIMISTIC, SWITCHING, Case


def first_of_each(*cases: Case) -> list[Any]:
    """Return the learner of the first case of every class."""
    return list({type(case.learner): case.learner for case in reversed(cases)}.values())


OURS: list[Any] = [
    *first_of_each(*BANDIT, *OPTIMISTIC, *FULL),
    learners.FollowTheLeader(ties="random"),
    learners.Hedge(rate=0.3),
    learners.Simulation(learners.FollowTheLeader(), learners.LemmaSchedule(delay=3)),
    learners.Simulation(learners.BirthdayTest(grid=60), learners.GrowingSchedule(1.5), trainings=2),
    learners.Interleaved(learners.Hedge(), delay=3),
    learners.Interleaved(learners.FollowTheLeader(ties="random"), delay=0),
    labels.Halving(labels.FiniteClass([[0, 0, 1], [0, 1, 1]])),
]
SLOW: list[Any] = [
    *first_of_each(*SWITCHING, *BUDGETED_BANDIT.values(), BUDGETED["dual descent"]),
    learners.Simulation(
        learners.Hedge(), learners.PaperSchedule(delay=2), past="all", waiting="last"
    ),
    learners.Simulation(learners.Simulation(learners.FollowTheLeader())),
    learners.Interleaved(learners.HedgeAnytime(), delay=100),
    labels.ERM(labels.Thresholds(), ties="random"),
]
# One learner of each kind of kernel is compiled in every run, the others in full runs, as in
# test_machine_code.
COMPILED = [
    learners.FollowTheLeader(),
    learners.Hedge(),
    learners.UCB1(),
    learners.Exp3(),
    OURS[-1],
]


@pytest.mark.parametrize(
    "learner", [*OURS, *(pytest.param(one, marks=pytest.mark.full) for one in SLOW)], ids=repr
)
@pytest.mark.filterwarnings("ignore:.*does not learn")
def test_learners_of_tombola_pass_every_check(learner: Any, request: pytest.FixtureRequest) -> None:
    if learner in OURS and learner not in COMPILED:
        request.getfixturevalue("short_work")
    assert check_learner(learner) == [check.__name__ for check in checks.CHECKS]


@dataclass(frozen=True)
class OwnMix(MixedLearner):
    """A correct bandit learner: exponential weights of importance-weighted losses."""

    feedback: ClassVar[Any] = "bandit"

    def init(self, actions: int, horizon: int) -> Sums:
        return Sums(np.zeros(actions), np.full(actions, 1 / actions))

    @staticmethod
    def mix(state: Any, mix: Floats) -> None:
        total = 0.0
        for action in range(mix.size):
            mix[action] = math.exp(-0.1 * state.total[action])
            total += mix[action]
        for action in range(mix.size):
            mix[action] /= total
            state.other[action] = mix[action]

    @staticmethod
    def observe(state: Any, action: int, probability: float, loss: float) -> None:
        state.total[action] += loss / probability


def test_base_learners_below_pass_every_check() -> None:
    with pytest.warns(TombolaWarning, match="Own: does not learn within 400 rounds"):
        check_learner(Own())
    check_learner(OwnMix())


def overflow(state: Any, rng: RngState) -> tuple[int, float]:
    """Count on 64 bits, which plain Python does not have."""
    large = int(state.total[0]) + 4611686018427387904
    return (1 if large * 4 > 0 and state.other.size > 1 else 0), 1.0


def by_last_probability(state: Any, action: int, probability: float, loss: float) -> None:
    """Divide by the last probability in the place of the ticket's."""
    state.total[action] += loss / state.other[action]


def thin_mix(state: Any, mix: Floats) -> None:
    for action in range(mix.size):
        mix[action] = 0.9 / mix.size


def negative_mix(state: Any, mix: Floats) -> None:
    for action in range(mix.size):
        mix[action] = 0.0
    mix[0] = -0.5
    mix[mix.size - 1] += 1.5


def nan_mix(state: Any, mix: Floats) -> None:
    for action in range(mix.size):
        mix[action] = math.nan


def assign_number(state: Any, losses: Floats) -> None:
    state.total += losses[0]


Hidden = variant(
    "Hidden", act=lambda state, rng: (int(np.random.random() * state.other.size), math.nan)
)  # has no seed
Boasting = variant(
    "Boasting", act=lambda state, rng: (int(uniform(rng) * state.other.size), 1.0)
)  # is random, says sure
Skewed = variant(
    "Skewed",
    act=lambda state, rng: (1 if uniform(rng) < 2 / 3 and state.other.size > 1 else 0, 0.5),
)
Wavering = variant(
    "Wavering", act=lambda state, rng: (0, 1.0 - 1e-9 * uniform(rng))
)  # another probability each time
Outside = variant(
    "Outside", act=lambda state, rng: (int(4 * state.total[0]) % 3, 1.0)
)  # knows three actions, always
Negative = variant("Negative", act=lambda state, rng: (-1, 1.0))
Impossible = variant("Impossible", act=lambda state, rng: (0, 0.0))
Dividing = variant(
    "Dividing",
    act=lambda state, rng: (int(0.0 / float(state.total[0])) if state.other.size > 3 else 0, 1.0),
)
Fractional = variant("Fractional", act=lambda state, rng: (1.5, 1.0))
Overflowing = variant("Overflowing", act=overflow)
Stubborn = variant("Stubborn", learns=True)  # claims to learn, and does not
Unsure = variant("Unsure", feedback="some")
Melting = type("Melting", (Own,), {})  # not a dataclass of its own, so anything can be set
Swallowing = type("Swallowing", (Own,), {"__init__": lambda self, **anything: None})
Adding = variant("Adding", observe=assign_number)
Forgetful = variant("Forgetful", OwnMix, observe=by_last_probability)
Thin, Below, Void = (
    variant(name, OwnMix, mix=mix)
    for name, mix in (("Thin", thin_mix), ("Below", negative_mix), ("Void", nan_mix))
)


COUNT = itertools.count()


@dataclass(frozen=True)
class Counting(Own):
    """Counts its runs outside of the state."""

    def init(self, actions: int, horizon: int) -> Sums:
        return Sums(np.full(1, next(COUNT) / 4), np.zeros(actions))


@dataclass(frozen=True)
class Hoarding(Own):
    """Keeps what it plans in itself."""

    box: list[int] = field(default_factory=list, repr=False, compare=False)

    @staticmethod
    def needs_plan(state: Any) -> bool:
        return bool(state.total[0] >= state.other[0])

    def plan(self, state: Any, rng: RngState) -> None:
        self.box.append(1)
        state.other[0] = state.total[0] + 0.5
        state.other[1] = len(self.box)

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        return int(state.other[1]) % 3, 1.0


def pool_of_a_caller() -> Pool:
    """Return the pool that some caller holds."""
    frame: Any = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if isinstance(value, Pool):
                return value
        frame = frame.f_back
    raise AssertionError("no object holds the pool")


@dataclass(frozen=True)
class Peeking(Own):
    """Looks for the pool among what its callers hold, and plays by the row to come."""

    def init(self, actions: int, horizon: int) -> Sums:
        return Sums(np.zeros(1), pool_of_a_caller().losses.argmin(axis=1).astype(float))

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        state.total[0] += 1.0
        return int(state.other[int(state.total[0]) - 1]), 1.0

    @staticmethod
    def observe(state: Any, losses: Floats) -> None:
        pass


BROKEN: list[tuple[Callable[[], Learner], Any]] = [
    (Melting, checks.check_frozen_dataclass),
    (Unsure, checks.check_frozen_dataclass),
    (Swallowing, checks.check_unknown_parameters),
    (Counting, checks.check_reproducible),
    (Hidden, checks.check_reproducible),
    (Overflowing, checks.check_plain_python),
    (Hoarding, checks.check_session),
    (Counting, checks.check_workers),
    (Peeking, checks.check_unrevealed_feedback),
    (Boasting, checks.check_probabilities),
    (Skewed, checks.check_probabilities),
    (Wavering, checks.check_probabilities),
    (Fractional, checks.check_probabilities),
    (Forgetful, checks.check_late_feedback),
    (Outside, checks.check_degenerate_pools),
    (Negative, checks.check_degenerate_pools),
    (Impossible, checks.check_degenerate_pools),
    (Dividing, checks.check_degenerate_pools),
    (Adding, checks.check_degenerate_pools),
    (Thin, checks.check_mixes),
    (Below, checks.check_mixes),
    (Void, checks.check_mixes),
    (Hoarding, checks.check_save_and_load),
    (Stubborn, checks.check_beats_uniform),
]


@pytest.mark.parametrize(("make", "check"), BROKEN, ids=lambda value: value.__name__)
def test_check_rejects_broken_learner(
    make: Any, check: Any, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(LearnerError) as caught:
        check(make())
    assert one_sentence(caught.value).startswith(make.__name__)


def test_every_check_has_broken_learner() -> None:
    assert {check for _, check in BROKEN} == set(checks.CHECKS)
