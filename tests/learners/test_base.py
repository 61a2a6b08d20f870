"""Kernels get their arguments by name."""

import inspect
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from tombola import Budget, Learner, MixedLearner, Pool, Session, instances, play
from tombola._types import Floats, RngState
from tombola.engine.compiler import interpreted
from tombola.errors import LearnerError
from tombola.learners import (
    BudgetedBanditLearner,
    FollowTheLeader,
    Interleaved,
    OptimisticSimulation,
    Simulation,
)
from tombola.learners.base import Feedback, bound_of
from tombola.rng import uniform


class Means(NamedTuple):
    seen: Floats
    means: Floats
    mix: Floats


def update(state: Means, action: int, probability: float, loss: float) -> None:
    state.seen[action] += 1.0 / probability
    state.means[action] += (loss - state.means[action]) / state.seen[action]


@dataclass(frozen=True, repr=False)
class Standard(Learner):
    """A greedy learner in the order of the engine."""

    feedback: ClassVar[Feedback] = "bandit"

    def __repr__(self) -> str:
        return "same random numbers"  # they are seeded by the repr

    def init(self, actions: int, horizon: int) -> Means:
        return Means(*np.zeros((3, actions)))

    @staticmethod
    def act(state: Means, rng: RngState) -> tuple[int, float]:
        if uniform(rng) < 0.2:
            return int(uniform(rng) * state.seen.size), 0.5
        return int(np.argmin(state.means)), 0.75

    @staticmethod
    def observe(state: Means, action: int, probability: float, loss: float) -> None:
        update(state, action, probability, loss)


def backwards(kernel: Any) -> Any:
    """Return a kernel with its parameters in the reverse order."""
    names = list(inspect.signature(kernel).parameters)
    return staticmethod(
        eval(f"lambda kernel: lambda {', '.join(names[::-1])}: kernel({', '.join(names)})")(kernel)
    )


@dataclass(frozen=True, repr=False)
class Reordered(Standard):
    """The same learner with its parameters in other orders."""

    act = backwards(Standard.act)
    observe = backwards(Standard.observe)

    def init(self, horizon: int, actions: int) -> Means:  # type: ignore[override]
        return super().init(actions, horizon)


@dataclass(frozen=True, repr=False)
class Leader(MixedLearner):
    """A full-information learner that omits the round."""

    feedback: ClassVar[Feedback] = "full"
    __repr__ = Standard.__repr__

    def init(self, actions: int, horizon: int) -> Means:
        return Means(*np.zeros((3, actions)))

    @staticmethod
    def mix(state: Means, mix: Floats) -> None:
        mix[:] = 0.0
        mix[np.argmin(state.means)] = 1.0

    @staticmethod
    def observe(state: Means, losses: Floats) -> None:
        state.means[:] += losses


@dataclass(frozen=True, repr=False)
class ReorderedLeader(Leader):
    """The same learner with the round, and its parameters in other orders."""

    mix = backwards(Leader.mix)

    @staticmethod
    def observe(losses: Floats, round: int, state: Means) -> None:  # type: ignore[override]
        state.seen[0] = round
        state.means[:] += losses


@dataclass(frozen=True, repr=False)
class Spender(BudgetedBanditLearner):
    __repr__ = Standard.__repr__

    def init(self, terms: Any) -> Means:
        return Means(*np.zeros((3, terms.actions)))

    @staticmethod
    def mix(state: Means, mix: Floats) -> None:
        mix[:] = 0.0
        mix[np.argmin(state.means)] = 1.0

    @staticmethod
    def observe(
        state: Means, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        update(state, action, 1.0, loss + costs[0])


@dataclass(frozen=True, repr=False)
class ReorderedSpender(Spender):
    @staticmethod
    def observe(costs: Floats, loss: float, state: Means, action: int) -> None:  # type: ignore[override]
        update(state, action, 1.0, loss + costs[0])


def _equal(one: Any, two: Any) -> None:
    for name in ("actions", "probabilities", "losses"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("delay", [0, 3])
def test_bandit_kernels_in_any_order(delay: int, compiled: bool) -> None:
    pool = instances.split(200)
    with nullcontext() if compiled else interpreted():
        _equal(*(play(learner, pool, delay=delay, seed=2) for learner in (Standard(), Reordered())))


@pytest.mark.full
@pytest.mark.parametrize("delay", [0, 3])
def test_full_information_kernels_in_any_order(delay: int) -> None:
    pool = instances.split(200)
    _equal(*(play(learner, pool, delay=delay, seed=2) for learner in (Leader(), ReorderedLeader())))
    assert ReorderedLeader().needs_round
    assert not Leader().needs_round


@pytest.mark.full
def test_reductions_take_reordered_bases() -> None:
    pool = instances.split(64)
    _equal(*(play(OptimisticSimulation(base), pool, seed=2) for base in (Standard(), Reordered())))
    _equal(*(play(Simulation(base), pool, seed=2) for base in (Leader(), ReorderedLeader())))
    assert play(Interleaved(Leader(), delay=2), pool, delay=2, seed=2).horizon == 64


@pytest.mark.full
def test_budgeted_kernels_in_any_order() -> None:
    losses = np.random.default_rng(1).random((100, 3))
    pool = Pool(losses, costs=losses / 2)
    budget = Budget(10.0, worst=0.5, null="add")
    _equal(
        *(play(learner, pool, budget=budget, seed=2) for learner in (Spender(), ReorderedSpender()))
    )


def test_session_kernels_in_any_order() -> None:
    sessions = [
        Session(learner, actions=2, horizon=50, seed=3) for learner in (Standard(), Reordered())
    ]
    for t in range(50):
        one, two = (session.act() for session in sessions)
        assert one == two
        for session, ticket in zip(sessions, (one, two), strict=True):
            session.observe(ticket, loss=float((t + ticket.action) % 3 == 0))


@dataclass(frozen=True)
class Misspelt(Standard):
    @staticmethod
    def observe(state: Means, action: int, likelihood: float, loss: float) -> None:
        update(state, action, likelihood, loss)


def test_unknown_parameter_names_are_rejected() -> None:
    with pytest.raises(
        LearnerError,
        match=r"Misspelt\.observe: expected parameters among state, action, probability, loss",
    ) as error:
        play(Misspelt(), instances.split(10), seed=1)
    assert "got likelihood;" in str(error.value)


def test_bound_gets_its_arguments_by_name() -> None:
    """A bound that lists T before k must not get them swapped."""

    class Swapped(FollowTheLeader):
        def bound(self, horizon: int, actions: int) -> float:  # type: ignore[override]
            return horizon + actions / 10

    class Unknown(FollowTheLeader):
        def bound(self, T: int, k: int) -> float:  # type: ignore[override]
            return T

    assert bound_of(Swapped(), actions=2, horizon=1000) == 1000.2
    assert bound_of(Swapped(), actions=2, horizon=1000, delay=1) is None
    with pytest.raises(
        LearnerError, match=r"Unknown\.bound: expected parameters among .*, got T, k"
    ):
        bound_of(Unknown(), actions=2, horizon=1000)
