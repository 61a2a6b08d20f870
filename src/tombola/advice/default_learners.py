"""DefaultLearners: which learners are compared in which setting, when nobody says which."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tombola.learners import (
    KLUCB,
    UCB1,
    UCB2,
    AdaHedge,
    BatchedExp3,
    BudgetedBase,
    DualDescent,
    EmpiricalLP,
    EpsilonGreedy,
    Exp3,
    ExploreThenCommit,
    FlipFlop,
    FollowTheLeader,
    FrugalUCB,
    Hedge,
    HedgeAnytime,
    Interleaved,
    OptimisticLP,
    PrimalDual,
    SerflingElimination,
    SerflingLP,
    Simulation,
    SuccessiveElimination,
    ThompsonSampling,
    Thrifty,
    ThriftyLP,
    TsallisInf,
    TsallisSwitching,
    Uniform,
)
from tombola.learners.base import Learner

Kind: TypeAlias = Literal["full", "bandit", "late rows", "late losses", "switching", "budget", "budget losses"]

DEFAULTS: dict[str, list[Learner]] = {
    "full": [FollowTheLeader(), Hedge(), HedgeAnytime(), AdaHedge(), FlipFlop(), Uniform()],
    "bandit": [
        UCB1(),
        UCB2(),
        FrugalUCB(),
        KLUCB(),
        Exp3(),
        TsallisInf(),
        ThompsonSampling(),
        SuccessiveElimination(),
        ExploreThenCommit(),
    ],
}


@dataclass(frozen=True)
class Conditions:
    """What a learner meets: the feedback, its delay, and what a switch costs."""

    feedback: str = "bandit"
    delay: int = 0
    switching_price: float = 0.0

    @property
    def kind(self) -> Kind:
        """The setting in one word: what weighs most."""
        if self.switching_price > 0 and self.feedback == "bandit":
            return "switching"
        if self.delay > 0:
            return "late rows" if self.feedback == "full" else "late losses"
        return "full" if self.feedback == "full" else "bandit"


def default_learners(met: Conditions) -> dict[str, Learner]:
    """Return the learners to compare, by name, told of the delay and of the price where they can use that.

    >>> list(default_learners(Conditions("full", delay=10)))[-3:]
    ['Uniform', 'Interleaved Hedge', 'Simulation of leaders']
    """
    named: dict[str, Learner] = {type(learner).__name__: learner for learner in DEFAULTS[met.feedback]}
    if met.kind == "late rows":
        named["Interleaved Hedge"] = Interleaved(Hedge(), delay=met.delay)
        named["Simulation of leaders"] = Simulation(FollowTheLeader())
    if met.feedback == "bandit":
        named["FrugalUCB"] = FrugalUCB(price=met.switching_price)
        named["Thrifty"] = Thrifty(price=met.switching_price)
        named["EpsilonGreedy"] = EpsilonGreedy()
    if met.kind == "switching":
        price = met.switching_price
        named["SerflingElimination"] = SerflingElimination(price=price)
        named["BatchedExp3"] = BatchedExp3(price=price)
        named["TsallisSwitching"] = TsallisSwitching(price=price)
    return named


def default_budgeted_learners(feedback: str = "full") -> dict[str, BudgetedBase]:
    """Return the learners to compare under a budget with this feedback, by name.

    The paper's, BudgetSimulation, is not among them: on tables of usual size it never leaves the null action.

    >>> list(default_budgeted_learners())
    ['EmpiricalLP', 'SerflingLP', 'DualDescent', 'PrimalDual']
    >>> list(default_budgeted_learners("bandit"))
    ['ThriftyLP', 'OptimisticLP']
    """
    rows: tuple[BudgetedBase, ...] = (EmpiricalLP(), SerflingLP(), DualDescent(), PrimalDual())
    learners = rows if feedback == "full" else (ThriftyLP(), OptimisticLP())
    return {type(learner).__name__: learner for learner in learners}
