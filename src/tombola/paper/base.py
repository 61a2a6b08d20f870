"""Claims: statements as executable checks.

A claim is divided into units. Each unit is run, cached and resumed independently. A unit is a
mapping of JSON values (its settings) and produces rows of JSON values; the verdict and the chart
read rows and nothing else.

Each fault must change the verdict (`tombola.paper.runner`). Bounds are often many times the
measured value, so claims also compare learners with twins (`tombola.paper.twins`) and bounds with
their formulas, written out again.
"""

import inspect
import itertools
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    dataclass_transform,
)

from tombola._types import Seed
from tombola.errors import ParameterError
from tombola.paper.pvalues import bonferroni
from tombola.paper.rows import Row, Rows
from tombola.paper.source_faults import SourceFault
from tombola.report.chart import Band, Chart, Line

# Settings of one piece of work of a claim, such as {"T": 1024, "pool": "gap"}: name -> JSON value.
# Each claim chooses its own names.
Unit: TypeAlias = Mapping[str, Any]
# A fault of a claim: name of a dataclass field -> wrong value of it, as in dataclasses.replace.
Overrides: TypeAlias = Mapping[str, Any]
# Outcome of a verdict, explained there.
Outcome = Literal["holds", "holds as corrected", "refuted as printed", "refuted"]
# Type of a value that a function returns unchanged.
_Value = TypeVar("_Value")


class Verdict(NamedTuple):
    """Outcome of a claim, with the texts that the page prints.

    outcome: "holds": the statement passes every check; "holds as corrected": its corrected form
        does; "refuted as printed": the printed form fails, the corrected one passes; "refuted": a
        check fails.
    measured: the measured values as a sentence.
    printed, corrected: formulas of the paper and of its correction, or "".
    """

    outcome: Outcome
    measured: str
    printed: str = ""
    corrected: str = ""


class _ClaimOptions(TypedDict, total=False):
    """Class keywords of a claim: attributes of `Claim`; missing ones are inherited."""

    name: str
    expected: Outcome
    alpha: float
    verdict_only: tuple[str, ...]


def docstring_fields(docstring: str | None) -> dict[str, str]:
    r"""Return the text of every line `Heading: text` of a docstring, by heading.

    Headings are in lower case. Indented continuation lines belong to the text. None returns no
    headings. Raises ParameterError if Python runs without docstrings (-OO).

    >>> docstring_fields("A summary.\n\n    Source: Lemma 1\n    Meaning: Some text,\n        and more: of it.\n    ")
    {'source': 'Lemma 1', 'meaning': 'Some text, and more: of it.'}
    """
    if sys.flags.optimize > 1:
        raise ParameterError(
            "claims: expected docstrings, which hold the statements, got Python without them; "
            "run it without -OO "
            "and PYTHONOPTIMIZE=2."
        )
    matches = re.findall(
        r"^(\w+): (.*(?:\n +\S.*)*)", inspect.cleandoc(docstring or ""), flags=re.MULTILINE
    )
    return {heading.lower(): " ".join(text.split()) for heading, text in matches}


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Claim(ABC):
    """Base class of claims: one statement as an executable check.

    A subclass defines `units`, `run`, `verdict` and `chart`, and is declared as `class
    Birthday(Claim, name="birthday", expected="holds", alpha=1e-4)`. It becomes a frozen dataclass.
    Its fields are the components under test (`component`), such as learner, order and bound;
    `faults` replace them.

    Class attributes:
        name: identifier for `tombola reproduce --claims`.
        expected: outcome of a correct program.
        alpha: probability that a correct program has another outcome, shared by all checks of the verdict
            (Bonferroni); 0 if everything is computed exactly.
        verdict_only: fields that only the verdict reads; rows do not depend on them.
        section: heading on the page above the first claim that has it.
        title, source, statement, meaning, limits, alt: text of the page, from the docstring of each subclass (lines
            `Title: ...`, `Source: ...` and so on). `source` cites the statement; L215 is line 215 of the LaTeX source
            of the paper, "Online Learning in the Random Order Model". `limits` is the pass criterion of the verdict,
            `alt` describes the chart for readers who do not see it.
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
    alt: ClassVar[str]
    section: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Unpack[_ClaimOptions]) -> None:
        super().__init_subclass__()
        for name, value in (*options.items(), *docstring_fields(cls.__doc__).items()):
            setattr(cls, name, value)
        dataclass(frozen=True)(cls)

    @abstractmethod
    def units(self, *, full: bool) -> list[Unit]:
        """Return the units: settings of measurements, as {"T": 1024, "pool": "gap"}.

        Units have JSON values and are independent: they are run and cached one by one. Each claim
        has its own keys.

        full: False for few and small units; True for the sizes of a publication.
        """

    @abstractmethod
    def run(self, unit: Unit, *, seed: Seed) -> Iterable[Row]:
        """Measure a unit, and return its rows, such as {"T": 1024, "regret": 12.5}.

        A row is one measurement, column -> JSON value, not a row of a pool. Rows depend on the
        fields of the claim, the unit and the seed only.
        """

    @abstractmethod
    def verdict(self, rows: Rows) -> Verdict:
        """Return the verdict on the rows of all units, by the pass criterion in `limits`.

        It depends on the rows, in any order, and on the fields of the claim only.
        """

    @abstractmethod
    def chart(self, rows: Rows) -> Chart:
        """Return the chart of the rows of all units, as data; see `make_chart`."""

    def page_table(self, rows: Rows) -> tuple[tuple[str, ...], ...]:
        """Return a table of texts that a chart cannot show, its heads first; or ()."""
        return ()

    def faults(self) -> dict[str, Overrides]:
        """Return the faults of this claim: name -> mapping of fields to wrong values.

        They test the power of the verdict: with a fault, such as {"order": "given"} for an order
        that is not shuffled, the outcome must differ from that of a correct program (class
        attribute `expected`).
        """
        return {}

    def source_faults(self) -> dict[str, SourceFault]:
        """Return faults by name in the package itself, which no field can hold.

        Each replaces a text in the source of a function, in memory and for one run
        (`source_faults.injected`); the outcome of the verdict must change.
        """
        return {}

    def with_fault(self, fault: str) -> Self:
        """Return a copy of the claim with one of its `faults()`, by name."""
        return replace(self, **self.faults()[fault])

    def same_runs(self, other: "Claim") -> bool:
        """Return whether `other`, of the same class, produces the same measurements.

        It does if both differ in `verdict_only` fields at most. Values are compared by identity.
        """
        names = [field.name for field in fields(self) if field.name not in self.verdict_only]
        return all(getattr(self, name) is getattr(other, name) for name in names)

    def sample_size(self, rows: Rows) -> int:
        """Return the number of plays, draws or computations, for the page."""
        return len(rows)

    def verdict_from(
        self, pvalues: Iterable[float], measured: str, *texts: str, outcome: Outcome = "holds"
    ) -> Verdict:
        """Return a verdict with `outcome`, or with "refuted" if a check is rejected.

        pvalues: one per check; see `any_rejected`.
        texts: none, one or two: the printed formula, then the corrected one.
        """
        return Verdict("refuted" if self.any_rejected(pvalues) else outcome, measured, *texts)

    def any_rejected(self, pvalues: Iterable[float]) -> bool:
        """Return whether some check is rejected, at `alpha` together (Bonferroni).

        pvalues: one per check; of an exact check 1 if it passes, 0 if not. With alpha 0 only a 0
            rejects.
        """
        return bonferroni(pvalues) <= self.alpha

    def make_chart(
        self,
        y_label: str,
        bands: Iterable[Band],
        lines: Iterable[Line] = (),
        *,
        x_label: str = "rows of the pool, T",
        log: str = "xy",
        subtitle: str = "",
    ) -> Chart:
        """Return a chart with the title and the description (`alt`) of the claim.

        bands, lines: measured curves with intervals; reference curves such as bounds.
        log: axes that are logarithmic: "xy", "x", "y" or "".
        subtitle: text after the title.
        """
        title = self.title + subtitle
        log_x = "x" in log
        log_y = "y" in log
        return Chart(
            title, x_label, y_label, tuple(bands), tuple(lines), log_x, log_y, alt=self.alt
        )


class Extension(Claim):
    """Base class of claims that are not in the paper; their proofs are in docs/theory."""

    section: ClassVar[str] = "Beyond the paper"


def grid(**settings: Any) -> list[Unit]:
    """Return units with all combinations of settings; the last one varies fastest.

    A setting is one value, or an iterable of values that is not a text.

    >>> grid(T=(2, 4), pool="gap")
    [{'T': 2, 'pool': 'gap'}, {'T': 4, 'pool': 'gap'}]
    """
    single = [
        isinstance(value, str) or not isinstance(value, Iterable) for value in settings.values()
    ]
    values = [
        [value] if is_single else value
        for is_single, value in zip(single, settings.values(), strict=True)
    ]
    return [dict(zip(settings, chosen, strict=True)) for chosen in itertools.product(*values)]


def component(value: _Value) -> _Value:
    """Return a dataclass field of a claim with this default value.

    As in `bound: Callable[[int], float] = component(bounds.birthday)`. Functions as plain defaults
    would look like methods of the class, and dictionaries are not allowed as such.
    """
    return field(default_factory=lambda: value)


def unchanged(value: _Value) -> _Value:
    """Return the value itself: default of fields of claims that map a value."""
    return value
