"""Claims: one file for each statement of the paper, and a folder for those beyond it."""

from tombola.claims.base import Claim, Verdict
from tombola.claims.beyond import BEYOND
from tombola.claims.birthday import Birthday
from tombola.claims.classification import Classification
from tombola.claims.concentration import Concentration
from tombola.claims.constraints import Constraints
from tombola.claims.de_finetti import DeFinetti
from tombola.claims.delay_corollary import DelayCorollary
from tombola.claims.delay_lemma import DelayLemma
from tombola.claims.delay_theorem import DelayTheorem
from tombola.claims.errata import Errata
from tombola.claims.hierarchy import Hierarchy
from tombola.claims.impossibility import Impossibility
from tombola.claims.random_walk import RandomWalk
from tombola.claims.repair import Repair
from tombola.claims.separation import Separation
from tombola.claims.switching import Switching
from tombola.claims.uniform_convergence import UniformConvergence

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
    *BEYOND,
)

__all__ = ["CLAIMS", "Claim", "Verdict"]
