"""Claims: one file for each statement of the paper."""

from tombola.claims.base import Claim, Verdict
from tombola.claims.birthday import Birthday
from tombola.claims.classification import Classification, UniformConvergence
from tombola.claims.concentration import Concentration
from tombola.claims.constraints import Constraints, Impossibility
from tombola.claims.de_finetti import DeFinetti
from tombola.claims.delay import DelayCorollary, DelayLemma, DelayTheorem
from tombola.claims.errata import Errata
from tombola.claims.hierarchy import Hierarchy
from tombola.claims.separation import Repair, Separation
from tombola.claims.switching import RandomWalk, Switching

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
)

__all__ = ["CLAIMS", "Claim", "Verdict"]
