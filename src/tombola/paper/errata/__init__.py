"""Errata of the paper, each with numbers that demonstrate it."""

from tombola.paper.errata import budget, classification, delay, input_models, switching
from tombola.paper.errata.base import Erratum, Evidence

_MODULES = (input_models, delay, budget, switching, classification)
# All errata, in the order of the paper.
ERRATA: tuple[Erratum, ...] = tuple(
    value for module in _MODULES for value in vars(module).values() if isinstance(value, Erratum)
)

__all__ = ["ERRATA", "Erratum", "Evidence"]
