"""Every name at the top, and where it lives: read by type checkers, and by `__init__.py` when a name is used."""

from typing import Any

from tombola import bandit as bandit
from tombola import bounds as bounds
from tombola import budgets as budgets
from tombola import coins as coins
from tombola import confidence as confidence
from tombola import demo as demo
from tombola import exact as exact
from tombola import full as full
from tombola import instances as instances
from tombola import labels as labels
from tombola import switching as switching
from tombola.book import Ticket as Ticket
from tombola.budget import Budget as Budget
from tombola.comparing import compare as compare
from tombola.delay import RowDelays as RowDelays
from tombola.errors import TombolaError as TombolaError
from tombola.laws import check_learner as check_learner
from tombola.learners.bandit import UCB1 as UCB1
from tombola.learners.bandit import UCB2 as UCB2
from tombola.learners.bandit import Exp3 as Exp3
from tombola.learners.base import Learner as Learner
from tombola.learners.base import MixedLearner as MixedLearner
from tombola.learners.full import FixedAction as FixedAction
from tombola.learners.full import FollowTheLeader as FollowTheLeader
from tombola.learners.full import Hedge as Hedge
from tombola.learners.switching import FrugalUCB as FrugalUCB
from tombola.playing import play as play
from tombola.pool import Pool as Pool
from tombola.racing import Race as Race
from tombola.racing import race as race
from tombola.readers import read_table as read_table
from tombola.reductions import Simulation as Simulation
from tombola.runs import Runs as Runs
from tombola.session import Session as Session
from tombola.trace import Trace as Trace

__version__: str
__all__: list[str]
_HOME: dict[str, str]
_ROOMS: tuple[str, ...]

def __getattr__(name: str) -> Any: ...
