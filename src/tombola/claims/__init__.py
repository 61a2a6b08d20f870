"""Claims: one file for each statement of the paper."""

from tombola.claims.base import Claim, Verdict
from tombola.claims.birthday import Birthday
from tombola.claims.separation import Repair, Separation

CLAIMS: tuple[type[Claim], ...] = (Birthday, Separation, Repair)

__all__ = ["CLAIMS", "Claim", "Verdict"]
