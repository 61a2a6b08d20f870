"""Evidence: for each erratum of the paper, numbers that show it."""

from tombola.claims.evidence import appendix, budget, classification, delay, separation, switching
from tombola.claims.evidence.base import Erratum, Evidence

ERRATA: tuple[Erratum, ...] = (
    *separation.ERRATA,
    *delay.ERRATA,
    *budget.ERRATA,
    *switching.ERRATA,
    *classification.ERRATA,
    *appendix.ERRATA,
)

__all__ = ["ERRATA", "Erratum", "Evidence"]
