"""Evidence: for each erratum of the paper, numbers that show it."""

from tombola.paper.errata import appendix, budget, classification, delay, separation, switching
from tombola.paper.errata.base import Erratum, Evidence

_PARTS = (separation, delay, budget, switching, classification, appendix)
ERRATA: tuple[Erratum, ...] = tuple(
    value for part in _PARTS for value in vars(part).values() if isinstance(value, Erratum)
)

__all__ = ["ERRATA", "Erratum", "Evidence"]
