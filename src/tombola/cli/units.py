"""Units: the numbers in a person's columns, and the losses in [0, 1] that they are."""

from typing import NamedTuple

from tombola.errors import TableError


class Units(NamedTuple):
    """Numbers from `low` to `high`, of which less is better, or more if they are rewards.

    >>> points = Units(0, 100, rewards=True)
    >>> points.loss(80), points.number(0.2), points.gap(0.05), points.interval(0.1, 0.3)
    (0.2, 80.0, 5.0, (70.0, 90.0))
    """

    low: float = 0.0
    high: float = 1.0
    rewards: bool = False

    def loss(self, number: float) -> float:
        """Return the loss that a number is."""
        return (self.high - number if self.rewards else number - self.low) / (self.high - self.low)

    def number(self, loss: float) -> float:
        """Return the number that has this loss."""
        over = self.gap(loss)
        return self.high - over if self.rewards else self.low + over

    def gap(self, losses: float) -> float:
        """Return how far apart numbers are whose losses are this far apart."""
        return losses * (self.high - self.low)

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """Return the numbers between which those are whose losses are between these, the smaller one first."""
        ends = self.number(low), self.number(high)
        return (ends[1], ends[0]) if self.rewards else ends

    def read(self, source: str, line: int, name: str, cell: str) -> float:
        """Return the loss of a cell, or refuse it, saying where it is.

        >>> Units(0, 10).read("t.csv", 2, "a", "5")
        0.5
        """
        try:
            number = float(cell)
        except ValueError:
            number = float("nan")
        if not self.low <= number <= self.high:
            raise TableError(
                f"{source}: expected a number from {self.low:g} to {self.high:g} in line {line}, column {name}, got "
                f"{cell!r}; repair it, or say what the numbers can be with --range LOW,HIGH."
            )
        return self.loss(number)


def limits(text: str) -> tuple[float, float]:
    """Return the two ends of a range.

    >>> limits("0,100")
    (0.0, 100.0)
    """
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = 0.0
    if not 0.0 < high - low < float("inf"):
        raise TableError(f"--range: expected the smallest and the largest number, got {text!r}; write --range 0,100.")
    return low, high
