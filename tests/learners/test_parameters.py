"""Parameters of learners: wrong and extreme values, and unknown names."""

import math
import re
from collections.abc import Callable

import pytest

from tombola import instances, learners, play
from tombola.errors import ParameterError, SessionError
from tombola.learners.bandit.ucb2 import _next_block
from tombola.learners.spec import from_spec

NAMES = {
    "inf": math.inf,
    "nan": math.nan,
    **{name: getattr(learners, name) for name in learners.__all__},
}
# With 1 + alpha = 1 a play never ended; other extreme values ended a command in a traceback.
WRONG = """
Hedge(rate=0)  Hedge(rate=inf)  Hedge(delay=3)  Hedge(order="iid")  AdaHedge(kappa=0)  FollowTheLeader(ties="first")
BirthdayTest(grid=0)  BanditBirthdayTest(grid=0)  FixedAction(action=-1)
UCB1(scale=-1)  UCB2(alpha=0)  UCB2(alpha=1)  UCB2(alpha=5e-324)  UCB2(alpha=1e-12)  KLUCB(c=-0.5)  EpsilonGreedy(c=-1)
Exp3(rate=0)  Exp3(rate=nan)  ExploreThenCommit(rounds=0)  ExploreThenCommit(rounds=1.5)
SimulationSuccessiveElimination(price=-1)  SerflingElimination(delta=0)  SerflingElimination(delta=1)
SerflingElimination(delta=5e-324)  SerflingElimination(price=inf)  BernsteinElimination(delta=2.0)
BernsteinElimination(price=-0.1)  BettingElimination(delta=0.0)  BettingElimination(delta=1)
BettingElimination(delta=5e-324)  UCB2WithoutReplacement(alpha=1)  UCB2WithoutReplacement(alpha=5e-324)
BlockUCB(scale=-1)  BatchedExp3(block=0)  BatchedExp3(price=nan)  BatchedExp3(price=1.7e308)
TsallisSwitching(price=-1)  TsallisSwitching(price=1.7e308)  Thrifty(price=-1)  FrugalUCB(price=-1)
FrugalUCB(scale="1")  Simulation(base=5)  Simulation(base=UCB1())  Simulation(base=Hedge(),past="none")
Simulation(base=Hedge(),waiting="all")  Simulation(base=Hedge(),trainings=0)  Simulation(base=Hedge(),free_action=-1)
LemmaSchedule(delay=-1)  PaperSchedule(delay=-1)  GrowingSchedule(growth=1.0)  OptimisticSimulation(base=5)
Interleaved(base=5,delay=3)  Interleaved(base=UCB1(),delay=1)  Interleaved(base=Hedge(),delay=-1)
EmpiricalLP(growth=1.0)  SerflingLP(delta=0.0)  SerflingLP(growth=nan)  ThriftyLP(growth=1)
OptimisticLP(delta=0.0)  OptimisticLP(delta=1.0)  OptimisticLP(growth=1.0)  DualDescent(step=0)
BudgetSimulation(delta=1)  BudgetSimulation(margin=-1)  BudgetSimulation(base="PrimalDual")  BudgetSimulation(delay=-1)
"""


@pytest.mark.parametrize("text", WRONG.split())
def test_wrong_parameters_are_rejected(text: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(ParameterError) as rejected:
        eval(text, NAMES)
    message = one_sentence(rejected.value)
    assert message.startswith(f"{text.partition('(')[0]}: ")
    assert any(name in message for name in re.findall(r"(\w+)=", text))


def test_parameters_that_do_not_fit_the_actions_are_rejected(
    one_sentence: Callable[[object], str],
) -> None:
    with pytest.raises(ParameterError) as rejected:
        learners.FixedAction(3).init(3, 10)
    one_sentence(rejected.value)
    with pytest.raises(ParameterError) as rejected:
        play(learners.Simulation(learners.Hedge(), free_action=2), instances.split(5), seed=0)
    one_sentence(rejected.value)


@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_smallest_block_has_one_round(alpha: float) -> None:
    state = learners.UCB2(alpha).init(2, 10)
    assert [_next_block(state, 0) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_unknown_learner_name_is_one_line(one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(SessionError) as refused:
        from_spec({"name": "own My\nLearner", "parameters": {}})
    one_sentence(refused.value)
