"""What a claim is: a statement of the paper with what it runs, its verdict from recorded rows only, and its chart.

A claim is cut into units, each of which is run, recorded and resumed on its own. A unit is a mapping of plain values
(its settings) and gives rows of plain values; the verdict and the chart read rows and nothing else.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from tombola import statistics
from tombola.report.chart import Band, Chart
from tombola.statistics import Estimate
from tombola.types import Floats, Seed

Unit: TypeAlias = Mapping[str, Any]
Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
Outcome = Literal["holds", "holds as corrected", "refuted as printed", "refuted", "inconclusive"]


class Verdict(NamedTuple):
    """What the rows say about a statement: a word, a sentence, and the numbers for the table."""

    outcome: Outcome
    measured: str
    printed: str = ""
    corrected: str = ""


@dataclass(frozen=True)
class Claim(ABC):
    """A statement of the paper as an executable check; `expected` is the outcome that a right implementation shows."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    statement: ClassVar[str]
    meaning: ClassVar[str]
    expected: ClassVar[Outcome]

    @abstractmethod
    def units(self, *, full: bool) -> list[Unit]:
        """Return the units of work, quick or for publication."""

    @abstractmethod
    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Measure one unit."""

    @abstractmethod
    def verdict(self, rows: Rows) -> Verdict:
        """Judge the statement by these rows alone."""

    @abstractmethod
    def chart(self, rows: Rows) -> Chart:
        """Say what the picture of these rows shows."""


def pick(rows: Rows, column: str, **where: Any) -> Floats:
    """Return a column of the rows that have these values.

    >>> pick([{"T": 2, "regret": 1.5}, {"T": 4, "regret": 2.5}], "regret", T=4).tolist()
    [2.5]
    """
    chosen = [row[column] for row in rows if all(row[name] == value for name, value in where.items())]
    return np.array(chosen, dtype=np.float64)


def levels(rows: Rows, column: str, **where: Any) -> list[Any]:
    """Return the different values of a column, sorted.

    >>> levels([{"T": 4}, {"T": 2}, {"T": 4}], "T")
    [2, 4]
    """
    return sorted({row[column] for row in rows if all(row[name] == value for name, value in where.items())})


def band(rows: Rows, name: str, over: str, column: str, **where: Any) -> Band:
    """Return the means of a column with their 95 % intervals, over the levels of another."""
    at = levels(rows, over, **where)
    means = [statistics.mean(pick(rows, column, **{over: x}, **where)) for x in at]
    parts = (np.array([mean[i] for mean in means]) for i in range(3))
    return Band(name, np.array(at, dtype=np.float64), *parts)


def slope(rows: Rows, over: str, column: str, **where: Any) -> Estimate:
    """Return the slope of the log mean of a column on the log of another, with its 95 % interval."""
    at = levels(rows, over, **where)
    values = [pick(rows, column, **{over: x}, **where) for x in at]
    return statistics.slope(np.array(at, dtype=np.float64), values)
