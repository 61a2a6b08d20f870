"""Claims: statements as executable checks.

The verdict is computed from recorded rows only.

A claim is divided into units. Each unit is run, cached and resumed independently. A unit is a mapping of JSON values
(its settings) and produces rows of JSON values; the verdict and the chart read rows and nothing else.

The fields of a claim are the components it tests: learners, orders, bounds, confidence intervals. A fault replaces one
of them by a wrong one; each fault must change the verdict (`tombola.paper.faults`). So must each source fault, a
changed expression in a function of the package that the claim is about. Bounds are often many times the measured
value, so claims also compare learners with twins (`tombola.paper.twins`) and bounds with their formulas, written out
again.
"""

import inspect
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats, Seed
from tombola.errors import ParameterError
from tombola.paper.pvalues import bonferroni
from tombola.paper.source_faults import SourceFault
from tombola.report.chart import Chart

# Settings of one piece of work, as JSON values.
Unit: TypeAlias = Mapping[str, Any]
# One measurement, as JSON values.
Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
Overrides: TypeAlias = Mapping[str, Any]  # fields of a claim that a fault replaces
# Outcome of a verdict.
Outcome = Literal["holds", "holds as corrected", "refuted as printed", "refuted", "inconclusive"]
Value = TypeVar("Value")


class Verdict(NamedTuple):
    """Hold the outcome of a claim.

    measured: the measured values as a sentence.
    printed, corrected: formulas of the paper and of its correction.
    """

    outcome: Outcome
    measured: str
    printed: str = ""
    corrected: str = ""


class ClaimOptions(TypedDict, total=False):
    """Class keywords of a claim; missing ones are inherited."""

    name: str
    expected: Outcome
    alpha: float
    verdict_only: tuple[str, ...]


def docstring_fields(docstring: str | None) -> dict[str, str]:
    r"""Return the text of every line `Heading: text` of a docstring.

    Indented continuation lines belong to it.

    >>> docstring_fields("A summary.\n\n    Source: Lemma 1\n    Meaning: Some text,\n        and more: of it.\n    ")
    {'source': 'Lemma 1', 'meaning': 'Some text, and more: of it.'}
    """
    if sys.flags.optimize > 1:
        raise ParameterError(
            "claims: expected docstrings, which hold the statements, got Python without them; run it without -OO "
            "and PYTHONOPTIMIZE=2."
        )
    matches = re.findall(r"^(\w+): (.*(?:\n +\S.*)*)", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return {heading.lower(): " ".join(text.split()) for heading, text in matches}


@dataclass(frozen=True)
class Claim(ABC):
    """Base class of claims: one statement as an executable check.

    Class attributes:
        name: identifier for `tombola reproduce --claims`.
        expected: outcome of a correct program.
        alpha: probability that a correct program has another outcome, shared by all checks of the verdict
            (Bonferroni); 0 if everything is computed exactly.
        verdict_only: fields that only the verdict reads; rows do not depend on them.
        section: heading on the page above the first claim that has it.
        title, source, statement, meaning, limits: text of the page, from the docstring of each subclass (lines
            `Title: ...`, `Source: ...` and so on). `limits` names the origin of the limits in the verdict.
    """

    name: ClassVar[str]
    expected: ClassVar[Outcome]
    alpha: ClassVar[float] = 0.0
    verdict_only: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    source: ClassVar[str]
    statement: ClassVar[str]
    meaning: ClassVar[str]
    limits: ClassVar[str]
    section: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Unpack[ClaimOptions]) -> None:
        super().__init_subclass__()
        for name, value in (*options.items(), *docstring_fields(cls.__doc__).items()):
            setattr(cls, name, value)

    @abstractmethod
    def units(self, *, full: bool) -> list[Unit]:
        """Return the units of work: few and small, or (`full`) for publication."""

    @abstractmethod
    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Run one unit and return its rows.

        unit: one of `units`.
        """

    @abstractmethod
    def verdict(self, rows: Rows) -> Verdict:
        """Compute the verdict from the rows of all units, in any order."""

    @abstractmethod
    def chart(self, rows: Rows) -> Chart:
        """Return the chart of the rows."""

    def faults(self) -> dict[str, Overrides]:
        """Return the faults by name, each as the fields it replaces.

        Every fault must change the verdict.
        """
        return {}

    def source_faults(self) -> dict[str, SourceFault]:
        """Return the source faults by name. Every one must change the verdict."""
        return {}

    def with_fault(self, fault: str) -> Self:
        """Return the claim with one fault injected, except source faults."""
        return replace(self, **self.faults()[fault])

    def same_runs(self, other: "Claim") -> bool:
        """Return whether both claims produce the same rows.

        They do if they differ in `verdict_only` fields at most.
        """
        names = [field.name for field in fields(self) if field.name not in self.verdict_only]
        return all(getattr(self, name) is getattr(other, name) for name in names)

    def sample_size(self, rows: Rows) -> int:
        """Return the number of plays, draws or computations behind the rows."""
        return len(rows)

    def verdict_from(self, pvalues: Iterable[float], measured: str, *texts: str, outcome: Outcome = "holds") -> Verdict:
        """Return `outcome`, or "refuted" if a check is rejected.

        pvalues: of the checks.
        measured: the measured values as a sentence.
        texts: the printed and the corrected formula.
        """
        return Verdict("refuted" if self.any_rejected(pvalues) else outcome, measured, *texts)

    def any_rejected(self, pvalues: Iterable[float]) -> bool:
        """Return whether some check is rejected at its share of alpha (Bonferroni).

        pvalues: of all checks.
        """
        return bonferroni(pvalues) <= self.alpha


@dataclass(frozen=True)
class Extension(Claim):
    """A statement that is not in the paper; its proof is in docs/theory."""

    section: ClassVar[str] = "Beyond the paper"


def unchanged(value: Value) -> Value:
    """Return the value itself: default of fields that faults replace."""
    return value


def select(rows: Rows, column: str, **where: Any) -> Floats:
    """Return one column of the rows with these values, as an array.

    where: columns with their required values.

    >>> select([{"T": 2, "regret": 1.5}, {"T": 4, "regret": 2.5}], "regret", T=4).tolist()
    [2.5]
    """
    values = [row[column] for row in rows if all(row[name] == value for name, value in where.items())]
    return np.array(values, dtype=np.float64)


def levels(rows: Rows, column: str, **where: Any) -> list[Any]:
    """Return the distinct values of a column, sorted.

    where: columns with their required values.

    >>> levels([{"T": 4}, {"T": 2}, {"T": 4}], "T")
    [2, 4]
    """
    return sorted({row[column] for row in rows if all(row[name] == value for name, value in where.items())})


def slope(rows: Rows, over: str, column: str, **where: Any) -> Estimate:
    """Return the slope of log mean(column) on log(over), with its 95 % interval.

    over: column of the x-axis.
    where: columns with their required values.
    """
    at = levels(rows, over, **where)
    values = [select(rows, column, **{over: x}, **where) for x in at]
    return _statistics.slope(np.array(at, dtype=np.float64), values)
