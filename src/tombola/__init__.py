"""tombola: learn over a finite pool of rows drawn in random order.

Everything public is here; names are loaded when they are first used, so that `import tombola` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from tombola import bounds as bounds
    from tombola import demo as demo
    from tombola import exact as exact
    from tombola import instances as instances
    from tombola.budget import Budget as Budget
    from tombola.budget import Ledger as Ledger
    from tombola.budgeted import BudgetedLearner as BudgetedLearner
    from tombola.budgeted import BudgetSession as BudgetSession
    from tombola.budgeted import BudgetSimulation as BudgetSimulation
    from tombola.budgeted import BudgetTrace as BudgetTrace
    from tombola.budgeted import DualDescent as DualDescent
    from tombola.budgeted import EmpiricalLP as EmpiricalLP
    from tombola.budgeted import PrimalDual as PrimalDual
    from tombola.budgeted import SerflingLP as SerflingLP
    from tombola.budgeted import play_budget as play_budget
    from tombola.classes import ERM as ERM
    from tombola.classes import AllLabellings as AllLabellings
    from tombola.classes import Estimator as Estimator
    from tombola.classes import Experts as Experts
    from tombola.classes import FiniteClass as FiniteClass
    from tombola.classes import Halfplanes as Halfplanes
    from tombola.classes import Halving as Halving
    from tombola.classes import Hypotheses as Hypotheses
    from tombola.classes import Intervals as Intervals
    from tombola.classes import LabelLearner as LabelLearner
    from tombola.classes import LabelledPool as LabelledPool
    from tombola.classes import LabelSession as LabelSession
    from tombola.classes import LabelTrace as LabelTrace
    from tombola.classes import Rectangles as Rectangles
    from tombola.classes import StandardOptimal as StandardOptimal
    from tombola.classes import Stumps as Stumps
    from tombola.classes import Thresholds as Thresholds
    from tombola.classes import Unions as Unions
    from tombola.classes import attack as attack
    from tombola.classes import attack_thresholds as attack_thresholds
    from tombola.classes import littlestone_dimension as littlestone_dimension
    from tombola.classes import play_labels as play_labels
    from tombola.classes import vc_dimension as vc_dimension
    from tombola.comparing import compare as compare
    from tombola.confidence import BernsteinSequence as BernsteinSequence
    from tombola.confidence import Betting as Betting
    from tombola.confidence import Certificate as Certificate
    from tombola.confidence import Confidence as Confidence
    from tombola.confidence import EmpiricalBernsteinSerfling as EmpiricalBernsteinSerfling
    from tombola.confidence import Hoeffding as Hoeffding
    from tombola.confidence import HoeffdingSequence as HoeffdingSequence
    from tombola.confidence import Interval as Interval
    from tombola.confidence import RandomOrderTest as RandomOrderTest
    from tombola.confidence import Serfling as Serfling
    from tombola.confidence import Verdict as Verdict
    from tombola.confidence import Watch as Watch
    from tombola.confidence import certify as certify
    from tombola.confidence import certify_trace as certify_trace
    from tombola.confidence import examine as examine
    from tombola.delay import RowDelays as RowDelays
    from tombola.errors import TombolaError as TombolaError
    from tombola.laws import check_learner as check_learner
    from tombola.learners.bandit import KLUCB as KLUCB
    from tombola.learners.bandit import UCB1 as UCB1
    from tombola.learners.bandit import UCB2 as UCB2
    from tombola.learners.bandit import Exp3 as Exp3
    from tombola.learners.bandit import ExploreThenCommit as ExploreThenCommit
    from tombola.learners.bandit import SuccessiveElimination as SuccessiveElimination
    from tombola.learners.bandit import ThompsonSampling as ThompsonSampling
    from tombola.learners.bandit import TsallisInf as TsallisInf
    from tombola.learners.base import Learner as Learner
    from tombola.learners.base import MixedLearner as MixedLearner
    from tombola.learners.full import AdaHedge as AdaHedge
    from tombola.learners.full import BirthdayTest as BirthdayTest
    from tombola.learners.full import FixedAction as FixedAction
    from tombola.learners.full import FlipFlop as FlipFlop
    from tombola.learners.full import FollowTheLeader as FollowTheLeader
    from tombola.learners.full import Hedge as Hedge
    from tombola.learners.full import HedgeAnytime as HedgeAnytime
    from tombola.learners.full import Uniform as Uniform
    from tombola.learners.switching import BatchedExp3 as BatchedExp3
    from tombola.learners.switching import BernsteinElimination as BernsteinElimination
    from tombola.learners.switching import BettingElimination as BettingElimination
    from tombola.learners.switching import BlockUCB as BlockUCB
    from tombola.learners.switching import FrugalUCB as FrugalUCB
    from tombola.learners.switching import SerflingElimination as SerflingElimination
    from tombola.learners.switching import SimulationSuccessiveElimination as SimulationSuccessiveElimination
    from tombola.learners.switching import TsallisSwitching as TsallisSwitching
    from tombola.learners.switching import UCB2WithoutReplacement as UCB2WithoutReplacement
    from tombola.playing import Trace as Trace
    from tombola.playing import play as play
    from tombola.pool import Pool as Pool
    from tombola.readers import Table as Table
    from tombola.readers import read_table as read_table
    from tombola.reductions import External as External
    from tombola.reductions import Interleaved as Interleaved
    from tombola.reductions import Lemma as Lemma
    from tombola.reductions import Paper as Paper
    from tombola.reductions import Revealed as Revealed
    from tombola.reductions import Simulation as Simulation
    from tombola.runs import Runs as Runs
    from tombola.session import Session as Session
    from tombola.session import Ticket as Ticket

_PUBLIC = {
    "tombola": ["bounds", "demo", "exact", "instances"],
    "tombola.budget": ["Budget", "Ledger"],
    "tombola.budgeted": [
        "BudgetSession",
        "BudgetSimulation",
        "BudgetTrace",
        "BudgetedLearner",
        "DualDescent",
        "EmpiricalLP",
        "PrimalDual",
        "SerflingLP",
        "play_budget",
    ],
    "tombola.classes": [
        "AllLabellings",
        "ERM",
        "Estimator",
        "Experts",
        "FiniteClass",
        "Halfplanes",
        "Halving",
        "Hypotheses",
        "Intervals",
        "LabelLearner",
        "LabelSession",
        "LabelTrace",
        "LabelledPool",
        "Rectangles",
        "StandardOptimal",
        "Stumps",
        "Thresholds",
        "Unions",
        "attack",
        "attack_thresholds",
        "littlestone_dimension",
        "play_labels",
        "vc_dimension",
    ],
    "tombola.comparing": ["compare"],
    "tombola.confidence": [
        "BernsteinSequence",
        "Betting",
        "Certificate",
        "Confidence",
        "EmpiricalBernsteinSerfling",
        "Hoeffding",
        "HoeffdingSequence",
        "Interval",
        "RandomOrderTest",
        "Serfling",
        "Verdict",
        "Watch",
        "certify",
        "certify_trace",
        "examine",
    ],
    "tombola.delay": ["RowDelays"],
    "tombola.errors": ["TombolaError"],
    "tombola.laws": ["check_learner"],
    "tombola.learners.bandit": [
        "KLUCB",
        "UCB1",
        "UCB2",
        "Exp3",
        "ExploreThenCommit",
        "SuccessiveElimination",
        "ThompsonSampling",
        "TsallisInf",
    ],
    "tombola.learners.base": ["Learner", "MixedLearner"],
    "tombola.learners.full": [
        "AdaHedge",
        "BirthdayTest",
        "FixedAction",
        "FlipFlop",
        "FollowTheLeader",
        "Hedge",
        "HedgeAnytime",
        "Uniform",
    ],
    "tombola.learners.switching": [
        "BatchedExp3",
        "BernsteinElimination",
        "BettingElimination",
        "BlockUCB",
        "FrugalUCB",
        "SerflingElimination",
        "SimulationSuccessiveElimination",
        "TsallisSwitching",
        "UCB2WithoutReplacement",
    ],
    "tombola.playing": ["Trace", "play"],
    "tombola.pool": ["Pool"],
    "tombola.readers": ["Table", "read_table"],
    "tombola.reductions": ["External", "Interleaved", "Lemma", "Paper", "Revealed", "Simulation"],
    "tombola.runs": ["Runs"],
    "tombola.session": ["Session", "Ticket"],
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tombola' has no attribute {name!r}")
    home = _HOME[name]
    value = import_module(f"tombola.{name}") if home == "tombola" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
