"""What a claim is: a statement of the paper with what it runs, its verdict from recorded rows only, and its chart.

A claim is cut into units, each of which is run, recorded and resumed on its own. A unit is a mapping of plain values
(its settings) and gives rows of plain values; the verdict and the chart read rows and nothing else.

The fields of a claim are its parts: the learners, orders, bounds and confidence intervals that it puts together. A
fault is a wrong part, handed in like a right one; each must change the verdict (`tombola.paper.faults`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypedDict, Unpack

import numpy as np

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats, Seed
from tombola.paper.docstring_fields import words_of
from tombola.paper.pvalues import joint
from tombola.report.chart import Band, Chart

Unit: TypeAlias = Mapping[str, Any]
Measure: TypeAlias = Mapping[str, Any]
Measures: TypeAlias = Sequence[Measure]
Parts: TypeAlias = Mapping[str, Any]
Ruling = Literal["holds", "holds as corrected", "refuted as printed", "refuted", "inconclusive"]


class Verdict(NamedTuple):
    """What the rows say about a statement: a word, a sentence, and the numbers for the table."""

    outcome: Ruling
    measured: str
    printed: str = ""
    corrected: str = ""


class About(TypedDict, total=False):
    """What a class of claims says of itself in its head; what is left out is that of its base."""

    name: str
    expected: Ruling
    luck: float
    judging: tuple[str, ...]


@dataclass(frozen=True)
class Claim(ABC):
    """A statement of the paper as an executable check; `expected` is the outcome that a right program shows.

    `luck` is the probability that a right program comes out otherwise, shared by all checks of the verdict; it is 0 where
    everything is computed exactly. `judging` names the parts that only judge: the rows do not depend on them. `section`
    is the heading on the page, where one begins. The other words are the headings of the docstring of each class:
    title, source, statement, meaning, and limits, which says where the limits of the verdict come from.
    """

    name: ClassVar[str]
    expected: ClassVar[Ruling]
    luck: ClassVar[float] = 0.0
    judging: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    source: ClassVar[str]
    statement: ClassVar[str]
    meaning: ClassVar[str]
    limits: ClassVar[str]
    section: ClassVar[str] = ""

    def __init_subclass__(cls, **about: Unpack[About]) -> None:
        super().__init_subclass__()
        for name, value in (*about.items(), *words_of(cls.__doc__).items()):
            setattr(cls, name, value)

    @abstractmethod
    def units(self, *, full: bool) -> list[Unit]:
        """Return the units of work, quick or for publication."""

    @abstractmethod
    def run(self, unit: Unit, *, seed: Seed) -> list[Measure]:
        """Measure one unit."""

    @abstractmethod
    def verdict(self, rows: Measures) -> Verdict:
        """Judge the statement by these rows alone."""

    @abstractmethod
    def chart(self, rows: Measures) -> Chart:
        """Say what the picture of these rows shows."""

    def faults(self) -> dict[str, Parts]:
        """Return ways to break the program, by name: the parts that each hands in. All must change the verdict."""
        return {}

    def fault_runs(self, fault: str) -> Self:
        """Return the claim with the parts that a fault hands in."""
        return replace(self, **self.faults()[fault])

    def plays_as(self, other: "Claim") -> bool:
        """Tell whether the rows of both are the same, since they differ in parts that only judge."""
        playing = [part.name for part in fields(self) if part.name not in self.judging]
        return all(getattr(self, name) is getattr(other, name) for name in playing)

    def plays(self, rows: Measures) -> int:
        """Return how many plays, draws or computations the rows come from."""
        return len(rows)

    def judged(self, checks: Iterable[float], measured: str, *texts: str, outcome: Ruling = "holds") -> Verdict:
        """Return this outcome, or "refuted" if one of the checks fails; the texts are what is printed, and corrected."""
        return Verdict("refuted" if self.fails(checks) else outcome, measured, *texts)

    def fails(self, probabilities: Iterable[float]) -> bool:
        """Tell whether one of the checks fails, each given as its probability under the claim (`tombola.paper.pvalues`)."""
        return joint(probabilities) <= self.luck


def pick(rows: Measures, column: str, **where: Any) -> Floats:
    """Return a column of the rows that have these values.

    >>> pick([{"T": 2, "regret": 1.5}, {"T": 4, "regret": 2.5}], "regret", T=4).tolist()
    [2.5]
    """
    chosen = [row[column] for row in rows if all(row[name] == value for name, value in where.items())]
    return np.array(chosen, dtype=np.float64)


def levels(rows: Measures, column: str, **where: Any) -> list[Any]:
    """Return the different values of a column, sorted.

    >>> levels([{"T": 4}, {"T": 2}, {"T": 4}], "T")
    [2, 4]
    """
    return sorted({row[column] for row in rows if all(row[name] == value for name, value in where.items())})


def band(rows: Measures, name: str, over: str, column: str, **where: Any) -> Band:
    """Return the means of a column with their 95 % intervals, over the levels of another."""
    at = levels(rows, over, **where)
    means = [_statistics.mean(pick(rows, column, **{over: x}, **where)) for x in at]
    parts = (np.array([mean[i] for mean in means]) for i in range(3))
    return Band(name, np.array(at, dtype=np.float64), *parts)


def slope(rows: Measures, over: str, column: str, **where: Any) -> Estimate:
    """Return the slope of the log mean of a column on the log of another, with its 95 % interval."""
    at = levels(rows, over, **where)
    values = [pick(rows, column, **{over: x}, **where) for x in at]
    return _statistics.slope(np.array(at, dtype=np.float64), values)
