"""Default learners of `compare`, and their mean ranks on other tables."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tombola import learners
from tombola.learners import BudgetedBase
from tombola.learners.base import Learner

# Condition that decides which learners are suitable. "late": delayed feedback, of whole rows or of
# single losses; "budget losses": a budget with bandit feedback.
Kind: TypeAlias = Literal[
    "full", "bandit", "late rows", "late losses", "switching", "budget", "budget losses"
]

# Feedback ("full" or "bandit") -> learners that are compared by default.
DEFAULTS: dict[str, list[Learner]] = {
    "full": [
        learners.FollowTheLeader(),
        learners.Hedge(),
        learners.HedgeAnytime(),
        learners.AdaHedge(),
        learners.FlipFlop(),
        learners.Uniform(),
    ],
    "bandit": [
        learners.UCB1(),
        learners.UCB2(),
        learners.FrugalUCB(),
        learners.KLUCB(),
        learners.Exp3(),
        learners.TsallisInf(),
        learners.ThompsonSampling(),
        learners.SuccessiveElimination(),
        learners.ExploreThenCommit(),
    ],
}

# Condition -> learner -> mean rank over a collection of other tables (1 is best); breaks ties in
# the advice. Measured by `python benchmarks/advice.py ranks ../shared/pools`; "budget losses" by
# `benchmarks/budgets.py`.
MEAN_RANKS: dict[str, dict[str, float]] = {
    "full": {
        "FollowTheLeader": 1.44,
        "AdaHedge": 2.22,
        "FlipFlop": 2.33,
        "HedgeAnytime": 4.11,
        "Hedge": 4.89,
        "Uniform": 6.00,
    },
    "bandit": {
        "Thrifty": 1.44,
        "FrugalUCB": 2.56,
        "ThompsonSampling": 3.22,
        "EpsilonGreedy": 4.11,
        "KLUCB": 4.44,
        "UCB2": 6.22,
        "TsallisInf": 7.00,
        "Exp3": 8.56,
        "UCB1": 8.67,
        "ExploreThenCommit": 8.78,
        "SuccessiveElimination": 11.00,
    },
    "late rows": {
        "FlipFlop": 1.78,
        "AdaHedge": 2.11,
        "FollowTheLeader": 2.11,
        "HedgeAnytime": 4.44,
        "Simulation of leaders": 4.78,
        "Hedge": 5.89,
        "Interleaved Hedge": 6.89,
        "Uniform": 8.00,
    },
    "late losses": {
        "Thrifty": 1.33,
        "ThompsonSampling": 2.67,
        "FrugalUCB": 3.67,
        "EpsilonGreedy": 4.22,
        "KLUCB": 5.11,
        "UCB2": 6.00,
        "TsallisInf": 7.11,
        "UCB1": 7.67,
        "ExploreThenCommit": 8.67,
        "Exp3": 9.00,
        "SuccessiveElimination": 10.56,
    },
    "switching": {
        "Thrifty": 1.00,
        "FrugalUCB": 2.00,
        "SerflingElimination": 4.44,
        "EpsilonGreedy": 5.33,
        "TsallisSwitching": 5.33,
        "UCB2": 6.11,
        "BatchedExp3": 6.33,
        "KLUCB": 6.67,
        "ThompsonSampling": 9.00,
        "ExploreThenCommit": 10.11,
        "UCB1": 10.78,
        "TsallisInf": 11.44,
        "Exp3": 12.44,
        "SuccessiveElimination": 14.00,
    },
    "budget": {
        "EmpiricalLP": 1.00,
        "DualDescent": 2.00,
        "PrimalDual": 3.00,
        "SerflingLP": 4.00,
    },
    "budget losses": {
        "ThriftyLP": 1.00,
        "OptimisticLP": 2.00,
    },
}


@dataclass(frozen=True)
class Conditions:
    """Conditions of a comparison that decide which learners are suitable.

    feedback: "full" (the losses of all actions) or "bandit" (that of the action played).
    delay: rounds until feedback arrives.
    switching_price: loss added for each change of the action.
    """

    feedback: str = "bandit"
    delay: int = 0
    switching_price: float = 0.0

    @property
    def kind(self) -> Kind:
        """The condition that decides which learners are suitable; a key of `MEAN_RANKS`.

        `MEAN_RANKS` has the mean rank of each learner by condition. With bandit feedback, a
        switching price counts before a delay.
        """
        if self.switching_price > 0 and self.feedback == "bandit":
            return "switching"
        if self.delay > 0:
            return "late rows" if self.feedback == "full" else "late losses"
        return "full" if self.feedback == "full" else "bandit"


def default_learners(conditions: Conditions) -> dict[str, Learner]:
    """Return the learners to compare by name, adapted to delay and switching price.

    >>> list(default_learners(Conditions("full", delay=10)))[-3:]
    ['Uniform', 'Interleaved Hedge', 'Simulation of leaders']
    """
    price = conditions.switching_price
    by_name: dict[str, Learner] = {
        type(learner).__name__: learner for learner in DEFAULTS[conditions.feedback]
    }
    if conditions.kind == "late rows":
        # Until the first row arrives all actions tie: the lowest would be played d + 1 times, an
        # arbitrary choice.
        by_name["FollowTheLeader"] = learners.FollowTheLeader(ties="random")
        by_name["Interleaved Hedge"] = learners.Interleaved(
            learners.Hedge(), delay=conditions.delay
        )
        by_name["Simulation of leaders"] = learners.Simulation(learners.FollowTheLeader())
    if conditions.feedback == "bandit":
        by_name["FrugalUCB"] = learners.FrugalUCB(price=price)
        by_name["Thrifty"] = learners.Thrifty(price=price)
        by_name["EpsilonGreedy"] = learners.EpsilonGreedy()
    if conditions.kind == "switching":
        by_name["SerflingElimination"] = learners.SerflingElimination(price=price)
        by_name["BatchedExp3"] = learners.BatchedExp3(price=price)
        by_name["TsallisSwitching"] = learners.TsallisSwitching(price=price)
    return by_name


def default_budgeted_learners(feedback: str = "full") -> dict[str, BudgetedBase]:
    """Return the learners to compare under a budget with this feedback, by name.

    The paper's BudgetSimulation is left out: on tables of usual size it never leaves the null
    action.

    >>> list(default_budgeted_learners()), list(default_budgeted_learners("bandit"))
    (['EmpiricalLP', 'SerflingLP', 'DualDescent', 'PrimalDual'], ['ThriftyLP', 'OptimisticLP'])
    """
    rows = (
        learners.EmpiricalLP(),
        learners.SerflingLP(),
        learners.DualDescent(),
        learners.PrimalDual(),
    )
    defaults: tuple[BudgetedBase, ...] = (
        rows if feedback == "full" else (learners.ThriftyLP(), learners.OptimisticLP())
    )
    return {type(learner).__name__: learner for learner in defaults}
