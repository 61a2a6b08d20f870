"""Parameters of learners: wrong and extreme values, and unknown names."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from tombola import instances, learners, play
from tombola.errors import ParameterError, SessionError
from tombola.learners.bandit.ucb2 import _next_block
from tombola.learners.spec import from_spec

# With 1 + alpha = 1 a play never ended; other extreme values ended a command in a traceback.
WRONG: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (learners.Hedge, {"rate": 0}),
    (learners.Hedge, {"rate": math.inf}),
    (learners.Hedge, {"delay": 3}),
    (learners.Hedge, {"order": "iid"}),
    (learners.AdaHedge, {"kappa": 0}),
    (learners.FollowTheLeader, {"ties": "first"}),
    (learners.BirthdayTest, {"grid": 0}),
    (learners.FixedAction, {"action": -1}),
    (learners.UCB1, {"scale": -1}),
    (learners.UCB2, {"alpha": 0}),
    (learners.UCB2, {"alpha": 1}),
    (learners.UCB2, {"alpha": 5e-324}),
    (learners.UCB2, {"alpha": 1e-12}),
    (learners.KLUCB, {"c": -0.5}),
    (learners.Exp3, {"rate": 0}),
    (learners.Exp3, {"rate": math.nan}),
    (learners.ExploreThenCommit, {"rounds": 0}),
    (learners.ExploreThenCommit, {"rounds": 1.5}),
    (learners.SimulationSuccessiveElimination, {"price": -1}),
    (learners.SerflingElimination, {"delta": 0}),
    (learners.SerflingElimination, {"delta": 1}),
    (learners.SerflingElimination, {"delta": 5e-324}),
    (learners.SerflingElimination, {"price": math.inf}),
    (learners.BernsteinElimination, {"delta": 2.0}),
    (learners.BernsteinElimination, {"price": -0.1}),
    (learners.BettingElimination, {"delta": 0.0}),
    (learners.BettingElimination, {"delta": 1}),
    (learners.BettingElimination, {"delta": 5e-324}),
    (learners.UCB2WithoutReplacement, {"alpha": 1}),
    (learners.UCB2WithoutReplacement, {"alpha": 5e-324}),
    (learners.BlockUCB, {"scale": -1}),
    (learners.BatchedExp3, {"block": 0}),
    (learners.BatchedExp3, {"price": math.nan}),
    (learners.BatchedExp3, {"price": 1.7e308}),
    (learners.TsallisSwitching, {"price": -1}),
    (learners.TsallisSwitching, {"price": 1.7e308}),
    (learners.Thrifty, {"price": -1}),
    (learners.FrugalUCB, {"price": -1}),
    (learners.FrugalUCB, {"scale": "1"}),
    (learners.Simulation, {"base": 5}),
    (learners.Simulation, {"base": learners.UCB1()}),
    (learners.Simulation, {"base": learners.Hedge(), "past": "none"}),
    (learners.Simulation, {"base": learners.Hedge(), "trainings": 0}),
    (learners.LemmaSchedule, {"delay": -1}),
    (learners.GrowingSchedule, {"growth": 1.0}),
    (learners.OptimisticSimulation, {"base": 5}),
    (learners.Interleaved, {"base": 5, "delay": 3}),
    (learners.Interleaved, {"base": learners.UCB1(), "delay": 1}),
    (learners.EmpiricalLP, {"growth": 1.0}),
    (learners.SerflingLP, {"delta": 0.0}),
    (learners.SerflingLP, {"growth": math.nan}),
    (learners.OptimisticLP, {"delta": 0.0}),
    (learners.OptimisticLP, {"delta": 1.0}),
    (learners.OptimisticLP, {"growth": 1.0}),
    (learners.DualDescent, {"step": 0}),
    (learners.BudgetSimulation, {"delta": 1}),
    (learners.BudgetSimulation, {"base": "PrimalDual"}),
    (learners.BudgetSimulation, {"delay": -1}),
    (lambda: learners.FixedAction(3).init(3, 10), {}),
    (lambda: play(learners.Simulation(learners.Hedge(), free_action=2), instances.split(5), seed=0), {}),
]


@pytest.mark.parametrize(("make", "parameters"), WRONG, ids=lambda value: getattr(value, "__name__", str(value)))
def test_wrong_parameters_are_rejected(
    make: Callable[..., Any], parameters: dict[str, Any], one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(ParameterError) as rejected:
        make(**parameters)
    message = one_sentence(rejected.value)
    if parameters:
        assert message.startswith(f"{make.__name__}: ")
        assert any(name in message for name in parameters)


@pytest.mark.parametrize(
    "learner",
    [
        learners.BirthdayTest(), learners.Uniform(), learners.FixedAction(0), learners.UCB1(scale=0.5),
        learners.KLUCB(), learners.KLUCB(c=3), learners.ThompsonSampling(), learners.UCB2WithoutReplacement(),
        learners.BlockUCB(), learners.BettingElimination(), learners.LazyOptimisticSimulation(learners.UCB1()),
    ],
    ids=repr,
)  # fmt: skip
def test_no_bound_is_claimed_where_none_is_proved(learner: learners.Learner) -> None:
    assert learner.bound(2, 100) is None


@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_smallest_block_has_one_round(alpha: float) -> None:
    state = learners.UCB2(alpha).init(2, 10)
    assert [_next_block(state, 0) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_unknown_learner_name_is_one_line(one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(SessionError) as refused:
        from_spec({"name": "own My\nLearner", "parameters": {}})
    one_sentence(refused.value)
