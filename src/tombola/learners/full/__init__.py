"""Learners for full feedback: after the round, the losses of all actions are seen."""

from typing import TYPE_CHECKING

from tombola.learners.full.ada_hedge import AdaHedge as AdaHedge
from tombola.learners.full.birthday_test import BirthdayTest as BirthdayTest
from tombola.learners.full.fixed_action import FixedAction as FixedAction
from tombola.learners.full.flip_flop import FlipFlop as FlipFlop
from tombola.learners.full.follow_the_leader import FollowTheLeader as FollowTheLeader
from tombola.learners.full.hedge import Hedge as Hedge
from tombola.learners.full.hedge_anytime import HedgeAnytime as HedgeAnytime
from tombola.learners.full.uniform import Uniform as Uniform

if not TYPE_CHECKING:  # type checkers read the imports: each name is written once
    __all__ = sorted(name for name in dir() if name[0].isupper() and name != "TYPE_CHECKING")
