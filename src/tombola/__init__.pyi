"""Public names, for type checkers; `__init__.py` lists the same names for the lazy import."""

from tombola import bounds as bounds
from tombola import budget as budget
from tombola import classification as classification
from tombola import demo as demo
from tombola import evidence as evidence
from tombola import instances as instances
from tombola import lab as lab
from tombola import learners as learners
from tombola import paper as paper
from tombola import policies as policies
from tombola import rng as rng
from tombola._compare import compare as compare
from tombola._play import play as play
from tombola.budget.budget import Budget as Budget
from tombola.checks import check_learner as check_learner
from tombola.delay import RowDelays as RowDelays
from tombola.engine.tickets import Ticket as Ticket
from tombola.errors import TombolaError as TombolaError
from tombola.evidence.best_column import certify as certify
from tombola.evidence.list_audit import audit as audit
from tombola.evidence.list_order import check_order as check_order
from tombola.gating import gate as gate
from tombola.learners import UCB1 as UCB1
from tombola.learners import UCB2 as UCB2
from tombola.learners import Exp3 as Exp3
from tombola.learners import FixedAction as FixedAction
from tombola.learners import FollowTheLeader as FollowTheLeader
from tombola.learners import FrugalUCB as FrugalUCB
from tombola.learners import Hedge as Hedge
from tombola.learners import Learner as Learner
from tombola.learners import MixedLearner as MixedLearner
from tombola.learners import Simulation as Simulation
from tombola.learners import Thrifty as Thrifty
from tombola.paper.citations import cite as cite
from tombola.pool import Pool as Pool
from tombola.racing import Race as Race
from tombola.racing import race as race
from tombola.ranking import rank as rank
from tombola.runs import Runs as Runs
from tombola.service.client import AsyncClient as AsyncClient
from tombola.service.client import Client as Client
from tombola.session import Session as Session
from tombola.tables import read_table as read_table
from tombola.tables.describe import describe as describe
from tombola.trace import Trace as Trace
from tombola.worklists.race_file import RaceFile as RaceFile
from tombola.worklists.session_file import SessionFile as SessionFile

__version__: str
__all__: list[str]
_MODULES: tuple[str, ...]
_HOME: dict[str, str]
