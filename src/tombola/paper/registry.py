"""The claims of `tombola reproduce`, in the order of its page."""

from tombola.paper.base import Claim, Extension
from tombola.paper.claims.birthday import Birthday, Repair, Separation
from tombola.paper.claims.classification import Classification, UniformConvergence
from tombola.paper.claims.constraints import Constraints, Impossibility
from tombola.paper.claims.delay import DelayCorollary, DelayLemma, DelayTheorem
from tombola.paper.claims.errata import Errata
from tombola.paper.claims.input_models import Concentration, DeFinetti, Hierarchy
from tombola.paper.claims.switching import RandomWalk, Switching
from tombola.paper.extensions.bandit_repair import BanditRepair
from tombola.paper.extensions.context import LearningCurve, RowOptimum, StakeGuard, ThresholdRegret
from tombola.paper.extensions.delay import DelayShift, LateElimination
from tombola.paper.extensions.empirical_lp import EmpiricalLPRegret
from tombola.paper.extensions.lower_bounds import BetterOfTwo, DelayFloor, FixedSample, Minimax
from tombola.paper.extensions.racing import (
    CertificateClaim,
    KnownAnswers,
    RaceBest,
    RaceGate,
    RaceTop,
    RaceWithin,
)
from tombola.paper.extensions.ranks import RankSets
from tombola.paper.extensions.switching import FrugalUCBRegret, ThriftyRegret
from tombola.paper.extensions.transfer import Deviations, Drift

# Classes of claims that are not in the paper, in the order of the page.
EXTENSIONS: tuple[type[Extension], ...] = (
    Deviations,
    Drift,
    FrugalUCBRegret,
    ThriftyRegret,
    BanditRepair,
    DelayShift,
    LateElimination,
    EmpiricalLPRegret,
    Minimax,
    DelayFloor,
    BetterOfTwo,
    FixedSample,
    RankSets,
    LearningCurve,
    StakeGuard,
    ThresholdRegret,
    RowOptimum,
    RaceBest,
    RaceWithin,
    RaceTop,
    RaceGate,
    CertificateClaim,
    KnownAnswers,
)
# Classes of all claims of `tombola reproduce`: those of the paper in its order, then the extensions.
CLAIMS: tuple[type[Claim], ...] = (
    Birthday,
    Separation,
    Repair,
    DelayLemma,
    DelayTheorem,
    DelayCorollary,
    Constraints,
    Impossibility,
    Switching,
    RandomWalk,
    UniformConvergence,
    Classification,
    DeFinetti,
    Hierarchy,
    Concentration,
    Errata,
    *EXTENSIONS,
)
