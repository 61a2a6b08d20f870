"""Claims: statements as executable checks.

The verdict is computed from recorded rows only.

A claim is divided into units. Each unit is run, cached and resumed independently. A unit is a mapping of JSON values
(its settings) and produces rows of JSON values; the verdict and the chart read rows and nothing else.

The fields of a claim are the components it tests: learners, orders, bounds, confidence intervals. A fault replaces one
of them by a wrong one; each fault must change the verdict (`tombola.paper.runner`). So must each source fault, a
changed expression in a function of the package that the claim is about. Bounds are often many times the measured
value, so claims also compare learners with twins (`tombola.paper.twins`) and bounds with their formulas, written out
again.
"""

import inspect
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats, Seed
from tombola.errors import ParameterError
from tombola.paper.pvalues import bonferroni
from tombola.paper.source_faults import SourceFault
from tombola.report.chart import Chart

# Settings of one piece of work of a claim, such as {"T": 1024, "pool": "gap"}: name -> JSON value. Each claim chooses
# its own names.
Unit: TypeAlias = Mapping[str, Any]
# One measurement of a unit, such as {"T": 1024, "play": 0, "regret": 12.5}: column -> JSON value. A row usually
# repeats the settings of its unit.
Row: TypeAlias = Mapping[str, Any]
# Rows of all units of a claim, in any order: the table that the verdict and the chart read.
Rows: TypeAlias = Sequence[Row]
# A fault of a claim: name of a dataclass field -> wrong value of it, as in dataclasses.replace.
Overrides: TypeAlias = Mapping[str, Any]
# Outcome of a verdict. "holds": the statement of the paper passes every check; "holds as corrected": its corrected
# form does; "refuted as printed": the printed form fails, the corrected one passes; "refuted": a check of the
# statement fails; "inconclusive": the rows do not decide.
Outcome = Literal["holds", "holds as corrected", "refuted as printed", "refuted", "inconclusive"]
# Type of a value that a function returns unchanged.
_Value = TypeVar("_Value")


class Verdict(NamedTuple):
    """Hold the outcome of a claim, with the texts that the page prints.

    outcome: "holds"; "holds as corrected" (the corrected form passes every check); "refuted as printed" (the printed
        form fails, the corrected one passes); "refuted" (a check fails); "inconclusive" (the rows do not decide).
    measured: the measured values as a sentence.
    printed, corrected: formulas of the paper and of its correction, or "".
    """

    outcome: Outcome
    measured: str
    printed: str = ""
    corrected: str = ""


class _ClaimOptions(TypedDict, total=False):
    """Class keywords of a claim, as in `class Birthday(Claim, name="birthday", ...)`.

    Missing ones are inherited. Their meaning is that of the attributes of `Claim`.
    """

    name: str
    expected: Outcome
    alpha: float
    verdict_only: tuple[str, ...]


def docstring_fields(docstring: str | None) -> dict[str, str]:
    r"""Return the text of every line `Heading: text` of a docstring, by heading.

    Headings are in lower case. Indented continuation lines belong to the text. None returns no headings. Raises
    ParameterError if Python runs without docstrings (-OO).

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

    A subclass must define the methods `units`, `run`, `verdict` and `chart`, which are documented here; it may override
    `faults`, `source_faults` and `sample_size`. It is a frozen dataclass; its fields are the components under test,
    such as learners and bounds (`component`). It is declared as `class Birthday(Claim, name="birthday",
    expected="holds", alpha=1e-4)`.

    Class attributes:
        name: identifier for `tombola reproduce --claims`.
        expected: outcome of a correct program.
        alpha: probability that a correct program has another outcome, shared by all checks of the verdict
            (Bonferroni); 0 if everything is computed exactly.
        verdict_only: fields that only the verdict reads; rows do not depend on them.
        section: heading on the page above the first claim that has it.
        title, source, statement, meaning, limits: text of the page, from the docstring of each subclass (lines
            `Title: ...`, `Source: ...` and so on). `source` cites the statement; L215 is line 215 of the LaTeX source
            of the paper, "Online Learning in the Random Order Model". `limits` is the pass criterion of the verdict.
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

    def __init_subclass__(cls, **options: Unpack[_ClaimOptions]) -> None:
        super().__init_subclass__()
        for name, value in (*options.items(), *docstring_fields(cls.__doc__).items()):
            setattr(cls, name, value)

    @abstractmethod
    def units(self, *, full: bool) -> list[Unit]:
        """Return the units of this claim: the settings of its measurements.

        A unit is a mapping such as {"T": 1024, "pool": "gap"}, with JSON values; `run` of the same claim takes it.
        Units are independent; they are run and cached one by one.

        full: False for few and small units; True for the sizes of a publication.
        """

    @abstractmethod
    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Measure one unit, and return its rows.

        A row is a mapping such as {"T": 1024, "play": 0, "regret": 12.5}; the keys are those that `verdict` and `chart`
        of the same claim read. Rows depend on the fields of the claim, the unit and the seed only.

        unit: settings, one of the mappings that `units` returns.
        seed: source of all randomness of this unit.
        """

    @abstractmethod
    def verdict(self, rows: Rows) -> Verdict:
        """Return the verdict: outcome, measured values as a sentence, and formulas.

        The outcome follows from the rows by the pass criterion in `limits`, the text of the page. It depends on the
        rows and the fields of the claim only.

        rows: those that `run` returned for all units, in any order.
        """

    @abstractmethod
    def chart(self, rows: Rows) -> Chart:
        """Return the chart of the measurements for the page of `tombola reproduce`.

        It is data: nothing is drawn or written yet.

        rows: those that `run` returned for all units, in any order.
        """

    def page_table(self, rows: Rows) -> tuple[tuple[str, ...], ...]:
        """Return a table for the page of `tombola reproduce`: cells as text, names of columns first.

        Empty unless the claim has texts that a chart cannot show.

        rows: those that `run` returned for all units, in any order.
        """
        return ()

    def faults(self) -> dict[str, Overrides]:
        """Return the faults of this claim: name -> mapping of fields to wrong values.

        They test the power of the verdict: the claim with a fault, such as {"order": "given"} for an order that is not
        shuffled, must have another outcome than `expected`. `with_fault` applies one. A claim without faults returns an
        empty dict.
        """
        return {}

    def source_faults(self) -> dict[str, SourceFault]:
        """Return the source faults of this claim: name -> `SourceFault`.

        A source fault replaces a text in the source of a function of the package, in memory and for one run, for errors
        that no field of the claim can hold. The outcome with it must differ from `expected`. A claim without source
        faults returns an empty dict.
        """
        return {}

    def with_fault(self, fault: str) -> Self:
        """Return a copy of the claim with the fields of one fault replaced.

        fault: a key of `faults()`; any other name raises KeyError. Source faults are injected by
            `tombola.paper.source_faults.injected` instead.
        """
        return replace(self, **self.faults()[fault])

    def same_runs(self, other: "Claim") -> bool:
        """Return whether both claims produce the same rows, so that one run serves both.

        They do if they differ in `verdict_only` fields at most. Values are compared by identity.

        other: a claim of the same class, usually `with_fault` of this one.
        """
        names = [field.name for field in fields(self) if field.name not in self.verdict_only]
        return all(getattr(self, name) is getattr(other, name) for name in names)

    def sample_size(self, rows: Rows) -> int:
        """Return the number of plays, draws or computations behind the rows.

        The page prints it. It is the number of rows, or larger where a row stands for many plays or draws.

        rows: those that `run` returned for all units.
        """
        return len(rows)

    def verdict_from(self, pvalues: Iterable[float], measured: str, *texts: str, outcome: Outcome = "holds") -> Verdict:
        """Return a verdict with `outcome`, or with "refuted" if a check is rejected.

        pvalues: of all checks of the statement; see `any_rejected`.
        measured: the measured values as a sentence.
        texts: none, one or two: the printed formula, then the corrected one.
        outcome: outcome of the verdict if no check is rejected.
        """
        return Verdict("refuted" if self.any_rejected(pvalues) else outcome, measured, *texts)

    def any_rejected(self, pvalues: Iterable[float]) -> bool:
        """Return whether some check is rejected, at `alpha` for all checks together.

        `alpha` is the class attribute of the claim. True if the smallest p-value times the number of checks is at most
        `alpha` (Bonferroni). With alpha 0 only a p-value of 0 rejects.

        pvalues: of all checks; see `tombola.paper.pvalues`.
        """
        return bonferroni(pvalues) <= self.alpha


@dataclass(frozen=True)
class Extension(Claim):
    """Base class of claims that are not in the paper; their proofs are in docs/theory.

    It differs from `Claim` in the section of the page only. A subclass defines the same methods: `units`, `run`,
    `verdict` and `chart`.
    """

    section: ClassVar[str] = "Beyond the paper"


def component(value: _Value) -> _Value:
    """Return a dataclass field of a claim with this default value.

    Use it in the body of the class: `bound: Callable[[int], float] = component(bounds.birthday)`. A component is a part
    that the claim tests, such as a learner or a bound; faults replace it. Functions as plain defaults would look like
    methods of the class, and dictionaries are not allowed as such.

    value: default of the field, shared by all instances.
    """
    return field(default_factory=lambda: value)


def unchanged(value: _Value) -> _Value:
    """Return the value itself.

    It is the default of fields that transform a value, such as a bound or a delay; a fault replaces them.
    """
    return value


def select(rows: Rows, column: str, **where: Any) -> Floats:
    """Return one column of the matching rows, as a float64 array in row order.

    rows: mappings from column to value, as `Claim.run` returns them.
    column: name of the column; its values are numbers.
    where: columns with their required values; a row matches if all are equal.

    >>> select([{"T": 2, "regret": 1.5}, {"T": 4, "regret": 2.5}], "regret", T=4).tolist()
    [2.5]
    """
    values = [row[column] for row in rows if all(row[name] == value for name, value in where.items())]
    return np.array(values, dtype=np.float64)


def levels(rows: Rows, column: str, **where: Any) -> list[Any]:
    """Return the distinct values of a column of the matching rows, sorted.

    rows: mappings from column to value, as `Claim.run` returns them.
    column: name of the column.
    where: columns with their required values; a row matches if all are equal.

    >>> levels([{"T": 4}, {"T": 2}, {"T": 4}], "T")
    [2, 4]
    """
    return sorted({row[column] for row in rows if all(row[name] == value for name, value in where.items())})


def slope(rows: Rows, over: str, column: str, **where: Any) -> Estimate:
    """Return the slope of log mean(column) on log(over), with its 95 % interval.

    Raises ParameterError for fewer than three values of `over`, and if a mean is not positive.

    rows: several rows, such as repeated plays, per value of `over`.
    over: column of the x-axis, such as the horizon; positive numbers.
    column: column of the y-axis, such as the regret.
    where: columns with their required values; other rows are ignored.
    """
    at = levels(rows, over, **where)
    values = [select(rows, column, **{over: x}, **where) for x in at]
    return _statistics.slope(np.array(at, dtype=np.float64), values)
