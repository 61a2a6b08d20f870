"""What the claims of this folder have in common: a section of their own on the page."""

from dataclasses import dataclass
from typing import ClassVar

from tombola.paper.base import Claim


@dataclass(frozen=True)
class Beyond(Claim):
    """A statement that the paper does not make; its proof is in docs/theory."""

    section: ClassVar[str] = "Beyond the paper"
