"""Learners for full feedback: after the round, the losses of all actions are seen."""

from tombola.learners.full.ada_hedge import AdaHedge
from tombola.learners.full.birthday_test import BirthdayTest
from tombola.learners.full.fixed_action import FixedAction
from tombola.learners.full.flip_flop import FlipFlop
from tombola.learners.full.follow_the_leader import FollowTheLeader
from tombola.learners.full.hedge import Hedge
from tombola.learners.full.hedge_anytime import HedgeAnytime
from tombola.learners.full.uniform import Uniform

__all__ = [
    "AdaHedge",
    "BirthdayTest",
    "FixedAction",
    "FlipFlop",
    "FollowTheLeader",
    "Hedge",
    "HedgeAnytime",
    "Uniform",
]
