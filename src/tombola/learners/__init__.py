"""Learners, by the feedback they need: full/ sees every action's loss, bandit/ only its own."""

from tombola.learners.bandit import (
    KLUCB,
    UCB1,
    UCB2,
    Exp3,
    ExploreThenCommit,
    SuccessiveElimination,
    ThompsonSampling,
    TsallisInf,
)
from tombola.learners.base import Learner, MixedLearner
from tombola.learners.full import AdaHedge, FlipFlop, FollowTheLeader, Hedge, HedgeAnytime, Uniform
from tombola.learners.switching import FrugalUCB

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

__all__ = ["DEFAULTS", "Learner", "MixedLearner"]
