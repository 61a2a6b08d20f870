"""Claims: one file for each statement of the paper, and a folder for those beyond it."""

from tombola.paper.base import Claim, Verdict
from tombola.paper.claims.birthday import Birthday
from tombola.paper.claims.classification import Classification
from tombola.paper.claims.concentration import Concentration
from tombola.paper.claims.constraints import Constraints
from tombola.paper.claims.de_finetti import DeFinetti
from tombola.paper.claims.delay_corollary import DelayCorollary
from tombola.paper.claims.delay_lemma import DelayLemma
from tombola.paper.claims.delay_theorem import DelayTheorem
from tombola.paper.claims.errata import Errata
from tombola.paper.claims.hierarchy import Hierarchy
from tombola.paper.claims.impossibility import Impossibility
from tombola.paper.claims.random_walk import RandomWalk
from tombola.paper.claims.repair import Repair
from tombola.paper.claims.separation import Separation
from tombola.paper.claims.switching import Switching
from tombola.paper.claims.uniform_convergence import UniformConvergence
from tombola.paper.extensions import BEYOND

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
