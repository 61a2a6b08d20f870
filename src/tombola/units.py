"""Units of numbers: losses or scores, from a lowest to a highest value, and their conversion to losses in [0, 1]."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from tombola._types import Floats
from tombola.errors import TableError

# Direction of numbers: lower or higher is better.
Kind: TypeAlias = Literal["losses", "scores"]
# Both directions, in the order in which messages offer them.
KINDS: tuple[Kind, Kind] = ("scores", "losses")

_Number = TypeVar("_Number", float, Floats)


class Units(NamedTuple):
    """Conversion between numbers from `low` to `high` and losses in [0, 1].

    scores: whether higher is better; then `high` is loss 0.
    unit: the word for the numbers, such as "seconds"; "" for loss or score.

    >>> points = Units(0, 100, scores=True)
    >>> points.loss(80), points.number(0.2), points.gap(0.05), points.interval(0.1, 0.3)
    (0.2, 80.0, 5.0, (70.0, 90.0))
    """

    low: float = 0.0
    high: float = 1.0
    scores: bool = False
    unit: str = ""

    def loss(self, number: _Number) -> _Number:
        """Convert a value in table units, or an array of them, to losses in [0, 1]."""
        return (self.high - number if self.scores else number - self.low) / (self.high - self.low)

    def number(self, loss: _Number) -> _Number:
        """Convert a loss in [0, 1] to a number of the table, such as a score."""
        difference = self.gap(loss)
        return self.high - difference if self.scores else self.low + difference

    def gap(self, difference: _Number) -> _Number:
        """Convert a difference of losses to table units; positive is always worse."""
        return difference * (self.high - self.low)

    @property
    def expected_text(self) -> str:
        """The values that a cell may have, for an error message."""
        return (
            f"{'yes, no or ' if self.has_words else ''}a number from {self.low:g} to {self.high:g}"
        )

    @property
    def has_words(self) -> bool:
        """Whether a cell may be yes, no, true or false."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def quantity(self) -> str:
        """The word for the numbers: the unit, such as seconds, or loss or score."""
        return self.unit or ("score" if self.scores else "loss")

    def text(self, losses: float | Sequence[float]) -> str:
        """Format a loss, or several with commas between them, in table units.

        >>> Units(0, 10, scores=True).text(0.25), Units().text((0.5, 1.0))
        ('7.5', '0.5, 1')
        """
        several = losses if isinstance(losses, Sequence) else (losses,)
        # Twelve digits hide the rounding of the conversion to a loss and back.
        return ", ".join(f"{self.number(loss):.12g}" for loss in several)

    @property
    def worst_text(self) -> str:
        """The worst value with its quantity, such as "score 0"."""
        return f"{self.quantity} {self.number(1.0):g}"

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """Convert an interval of losses to table units, the smaller number first."""
        ends = self.number(low), self.number(high)
        return (ends[1], ends[0]) if self.scores else ends


# Unit of losses in [0, 1]: no conversion.
UNIT_LOSSES = Units()


def parse_range(text: str) -> tuple[float, float]:
    """Parse the text LOW,HIGH, such as "0,100"; raise TableError unless LOW < HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = 0.0
    if not 0.0 < high - low < float("inf"):
        example = f"{high:g},{low:g}" if high < low else "0,100"
        raise TableError(
            f"--range: expected the smallest and the largest number, got {text!r}; write --range "
            f"{example}."
        )
    return low, high
