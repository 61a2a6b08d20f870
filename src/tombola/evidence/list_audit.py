"""`audit`: prove or refute statements about a list from as few of its rows as possible."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola import _validate
from tombola._formatting import (
    confidence_text,
    format_forecast,
    is_cli_style,
    is_number,
    nan_to_none,
    note_line,
    option_text,
    plural,
)
from tombola._results import Block, Cells, PageResult
from tombola._types import Floats
from tombola.errors import ParameterError, TableError
from tombola.evidence.audit_statement import Batch, Statement, parse_statement
from tombola.evidence.best_column import MAX_NAMES, short_list
from tombola.evidence.history import History
from tombola.evidence.page_parts import MAX_FIGURES, MAX_POINTS, rows_figure, size_facts
from tombola.evidence.rows import Rows, RowSource, Sample, require_size
from tombola.evidence.sequential_audit import (
    Audit,
    AuditResult,
    Outcome,
    RunningMean,
    sample_size,
)
from tombola.report.evidence_page import CaptionedChart, EvidencePage, TextTable, render_evidence
from tombola.statements import (
    RANDOM_SAMPLE,
    RANDOM_STRATA,
    Conclusion,
    Counts,
    Quantity,
    Reading,
    Verdict,
)
from tombola.statements import Statement as Claim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Simulated audits for the forecast of the rows that an undecided statement still needs.
_FORECAST_SHUFFLES = 50
# Least p-value of a claim about rows like these.
_LEAST = 1e-300
_HEADINGS = ("statement", "outcome", "rows read", "p-value", "sample mean")


@dataclass(frozen=True, eq=False)
class AuditReport(PageResult):
    """Result of `audit`: the outcome of every statement.

    conditions, results: the conditions that were checked and their results, in the same order.
    rows: number of rows read.
    population: number of rows of the list.
    level: probability, at most, that any outcome is wrong.
    expected_rows: for each undecided statement, about how many rows it needs in all; else None.
    batches: rows read, as columns of cells, with the stratum of each row; for charts.
    is_sample: whether the table is a sample of the list, as its reader declares.
    reading: "recorded" for the list; "beyond" for rows like these, and then `population` is infinite.
    """

    conditions: tuple[Statement, ...]
    results: tuple[AuditResult, ...]
    rows: int
    population: float
    level: float
    table: str
    expected_rows: tuple[int | None, ...]
    sizes: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()
    batches: tuple[tuple[Batch, list[str] | None], ...] = field(default=(), repr=False)
    is_sample: bool = False
    reading: Reading = "recorded"

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of statements by outcome."""
        outcomes: tuple[Outcome, ...] = ("proved", "refuted", "undecided")
        return {
            outcome: sum(result.outcome == outcome for result in self.results)
            for outcome in outcomes
        }

    @property
    def outcome(self) -> Outcome:
        """The outcome of all: "refuted" if one is, else "undecided" if one is, else "proved"."""
        counts = self.counts
        if counts["refuted"]:
            return "refuted"
        return "undecided" if counts["undecided"] else "proved"

    @property
    def statements(self) -> tuple[Claim, ...]:
        """What is proved about the list: which conditions hold, and which do not."""
        decided = [result for result in self.results if result.outcome != "undecided"]
        claims = [
            Conclusion("fails" if result.outcome == "refuted" else "holds", (result.statement,))
            for result in sorted(decided, key=lambda result: result.outcome != "refuted")
        ]
        open_texts = [result.statement for result in self.results if result.outcome == "undecided"]
        is_certain = (
            self.reading == "recorded"
            and bool(decided)
            and all(result.p_value == 0.0 for result in decided)
        )
        verdict: Verdict = self.outcome
        if is_certain and verdict == "proved":
            verdict = "exact"
        claim = Claim(
            verdict,
            self.reading,
            tuple(claims),
            tuple(Conclusion("holds", (text,)) for text in open_texts),
            level=0.0 if is_certain else self.level,
            quantity=Quantity("value", recorded="values"),
            counts=Counts(rows=self._list_size, counted=self.rows),
            condition=self._condition,
        )
        return (claim,)

    @property
    def _list_size(self) -> int:
        """The rows of the list; of rows like these, those read."""
        return self.rows if self.reading == "beyond" else int(self.population)

    @property
    def _condition(self) -> str:
        """What the level assumes beyond a random order, as a clause."""
        if not self.is_sample or self.rows == self.population:
            return ""
        return RANDOM_STRATA if self.sizes else RANDOM_SAMPLE

    def blocks(self) -> list[Block]:
        """Return what is proved, a table of the conditions, and notes."""
        table = Cells(_HEADINGS, self._cells())
        return [self.statements[0].full, table, *(note_line(note) for note in self.notes)]

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        items = [
            {**nan_to_none(result._asdict()), "expected_rows": expected}
            for result, expected in zip(self.results, self.expected_rows, strict=True)
        ]
        return {
            "statement": self.statements[0].to_json(),
            "rows": self.rows,
            "level": self.level,
            "results": items,
            "notes": list(self.notes),
        }

    def to_page(self, command: str = "") -> str:
        """Return an HTML page: the outcomes, and the running mean of each statement."""
        page = EvidencePage(
            title=f"Audit of {Path(self.table).name}",
            lead="Statements about a whole list, tested on rows in random order.",
            statement=self.statements[0],
            facts=size_facts(self.rows, self.population, self.level),
            tables=self._page_tables(),
            figures=tuple(
                self._figure(running, result)
                for running, result in zip(self._running_means, self.results, strict=False)
                if running.points
            ),
            command=command,
        )
        return render_evidence(page)

    def _page_tables(self) -> tuple[TextTable, ...]:
        return (TextTable("Results", _HEADINGS, tuple(self._cells())),)

    def plot(
        self,
        statement: int = 0,
        *,
        ax: "Axes | None" = None,
        size: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the running mean of a statement with its interval; return the figure.

        statement: its position, from 0. `ax`: axes to draw on; None: a new figure. `size` is in
            inches.
        """
        from tombola.report.figures import draw_chart

        running = self._running_mean(statement)
        return draw_chart(self._figure(running, self.results[statement]).chart, axes=ax, size=size)

    @cached_property
    def _running_means(self) -> list[RunningMean]:
        return [self._running_mean(place) for place in range(len(self.conditions[:MAX_FIGURES]))]

    def _running_mean(self, place: int) -> RunningMean:
        running = RunningMean(
            self.conditions[place],
            None if self.sizes else self.population,
            self.level / len(self.conditions),
            strata=self.sizes,
        )
        for columns, strata in self.batches:
            running.extend(columns, strata)
        return running

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            _result_cells(result, expected, self.population)
            for result, expected in zip(self.results, self.expected_rows, strict=True)
        ]

    def _figure(self, running: RunningMean, result: AuditResult) -> CaptionedChart:
        """Return the chart of a running mean around the decisive row."""
        near = [
            point for point in running.points if result.rows / 20 <= point.rows <= 2 * result.rows
        ]
        drawn = np.unique(np.linspace(0, len(near) - 1, MAX_POINTS).round().astype(int))
        rows, mean, low, high = np.array(near, np.float64)[drawn].T
        mean = np.where(np.isnan(mean), (low + high) / 2, mean)
        kind = "difference" if running.statement.is_difference else "mean"
        level = self.level / len(self.conditions)
        return rows_figure(
            running.statement.text,
            f"{result.outcome.capitalize()} after {plural(result.rows, 'row')}. The band contains "
            f"the {kind} of the whole list at all times simultaneously with probability "
            f"{confidence_text(level)}; dashed: the threshold.{_side_text(result)}",
            kind,
            {kind: (rows, mean, low, high)},
            {f"threshold {height:g}": height for height in running.thresholds},
            alt=f"{result}; the mean after {plural(int(rows[-1]), 'row')} is {mean[-1]:.3g}, "
            f"interval {low[-1]:.3g} to {high[-1]:.3g}",
        )


def _side_text(result: AuditResult) -> str:
    """Return why an outcome and its band may differ; "" without an outcome."""
    if result.outcome == "undecided":
        return ""
    return (
        " The outcome is from a one-sided test, with the whole probability of an error on one side. The "
        "band is two-sided, so it is wider, and may still contain the threshold."
    )


def _result_cells(result: AuditResult, expected: int | None, population: float) -> tuple[str, ...]:
    """Return the line of a result; `expected` rows in all, if it is undecided.

    population: number of rows of the list.
    """
    rows = f"{result.rows:,}"
    if expected is not None:
        rows += f" (about {format_forecast(expected, population)} in all)"
    error = result.p_value_text.removeprefix("p-value ")
    mean = "-" if math.isnan(result.mean) else f"{result.mean:.5g}"
    return result.statement, result.outcome, rows, error, mean


def audit(
    table: Any,
    statements: str | Sequence[str],
    *,
    level: float = 0.05,
    reading: Reading | None = None,
    rows: int | None = None,
    strata: str | None = None,
    sizes: Mapping[str, int] | None = None,
    range: tuple[float, float] | None = None,
    history: Any = None,
    judge: Any = None,
    looks: Literal["any", 1] = "any",
    labels: int | None = None,
    missing: Literal["error", "drop"] = "error",
    ignore_rows: Sequence[str] = (),
    sheet: str | None = None,
    follow: bool = False,
    seed: int = 1,
) -> AuditReport:
    """Prove or refute statements about a list from as few of its rows as possible.

    Rows are read in random order, until every statement is decided.

    table: a path (any format of `read_table`), a data frame, an array, a `Pool` or a table of
        `read_table`; "-" for CSV from standard input, or an iterator of mappings, for rows as they
        arrive.
    statements: such as "mean(score) > 0.7", "share(grade = pass) >= 0.9" or "|mean(a) - mean(b)| <=
        0.02", in the unit of the columns.
    level: the probability, at most, that any outcome is wrong, at whatever row the program stops.
    reading: "recorded", the default, for the values of the list; "beyond" for rows like these, of
        which the table is a sample. No result is about repeated answers ("expected").
    rows: the size of the whole list, if the table is a random sample of it, in random order. None:
        the table is the whole list, and is shuffled.
    strata, sizes: the column with the stratum of each row, and the number of rows of each stratum
        in the list; None: one list.
    range: the smallest and the largest possible number of the columns in means; None: 0 and 1.
    history: a table with ids and numbers of every row of the list; predictions from them take fewer
        rows.
    judge: a table with ids and the judge's scores of every row of the list; `table` then has the
        labels of people, with ids, for some rows. They count in the random order of the seed
        (`JudgeAudit.next_rows`). None: no judge.
    looks: with a judge: "any" number of looks at the labels, or 1, planned at `labels` labels,
        which are 0 or 1. For the same chance of an answer it takes about half of the labels.
    labels: the number of labels of one planned look, fixed before the first label.
    missing: blank cells of a column of numbers: "error" asks, "drop" leaves out the row, if the
        table is the whole list.
    ignore_rows: ids of rows to leave out, such as Total; "none" for none.
    sheet: the sheet of an Excel file.
    follow: wait for new rows at the end of a growing file.
    seed: fixes the shuffle.

    Returns an `AuditReport`; with a judge a `JudgeAudit`. RowError, with the result for the rows
    before it, at an invalid row of a sample.

    >>> report = audit([{"ok": 1}, {"ok": 1}, {"ok": 0}] * 200, "mean(ok) > 0.5")
    >>> report.outcome, report.results[0].statement
    ('proved', 'mean(ok) > 0.5')
    """
    level = _validate.real("audit", "level", level, above=0, below=1)
    reading = _checked_reading(
        reading,
        {"rows": rows, "strata": strata, "history": history, "judge": judge, "follow": follow},
    )
    require_size("audit", table, follow=follow, has_size=rows is not None or bool(sizes))
    if bool(strata) != bool(sizes) or (sizes and rows):
        example = "strata='region', sizes={'a': 400, 'b': 600}"
        if is_cli_style():
            example = "--strata region --sizes a=400,b=600"
        raise ParameterError(
            f"audit: expected {option_text('strata')} and {option_text('sizes')} together, and no "
            f"{option_text('rows')}; write {example}."
        )
    if judge is not None:
        return _with_judge(
            table,
            statements,
            judge,
            {
                "rows": rows,
                "strata": strata,
                "history": history,
                "missing": missing if missing != "error" else None,
                "follow": follow,
            },
            looks=looks,
            labels=labels,
            level=level,
            range=range,
            ignore_rows=ignore_rows,
            sheet=sheet,
            seed=seed,
        )
    if looks != "any" or labels is not None:
        raise ParameterError(
            f"audit: expected {option_text('looks')} and {option_text('labels')} with "
            f"{option_text('judge')} only; add the judge, or leave them out."
        )
    source = RowSource(table, sheet, follow=follow, ignore_rows=ignore_rows)
    past = None if history is None else History(history, source)
    if past is not None and strata:
        raise ParameterError(
            f"audit: expected {option_text('strata')} or {option_text('history')}, got both; "
            "leave one out."
        )
    texts = [statements] if isinstance(statements, str) else list(statements)
    span = range or source.range or (0.0, 1.0)
    parsed = [parse_statement(text, span=span) for text in texts]
    source.check_columns(
        [*(name for statement in parsed for name in statement.columns), *filter(None, [strata])]
    )
    numeric = {
        name
        for statement in parsed
        if statement.value is None or is_number(statement.value)
        for name in statement.columns
    }
    is_whole = rows is None and not sizes and past is None
    if numeric:
        source.handle_missing(sorted(numeric), missing, may_drop=is_whole)
    # With strata the sizes are those of the strata; the number of rows is not needed.
    list_size = sum(sizes.values()) if sizes else rows

    def check(batch: Rows) -> None:
        _check_cells(source, parsed, strata, sizes, batch)
        if past is not None:
            past.places(batch)

    sample = Sample(source, check, list_size, seed, () if sizes else texts)
    if past is not None:
        past.check_complete(sample)
    list_rows = None if sizes else sample.population
    population = math.inf if reading == "beyond" else list_rows
    test = Audit(
        parsed, population, level, strata=sizes, history=None if past is None else past.table
    )
    used_columns = {name for statement in parsed for name in statement.columns}
    batches: list[tuple[Batch, list[str] | None]] = []
    n_rows = 0
    # Values of share(COLUMN = VALUE) that no row has had, with the cells of that column.
    absent = {statement: dict[str, None]() for statement in parsed if statement.value is not None}
    for batch in sample:
        columns = source.columns(batch)
        _drop_present_values(absent, columns)
        if rows is not None:
            sample.test_order(_quantities(parsed, columns))
        row_strata = [cell.strip() for cell in columns[strata]] if strata else None
        test.extend(columns, row_strata if past is None else past.places(batch))
        used = {name: cells for name, cells in columns.items() if name in used_columns}
        batches.append((used, row_strata))
        n_rows += len(batch)
        if all(result.outcome != "undecided" for result in test.results()):
            break
    if reading == "recorded":
        sample.check_row_count("audit", n_rows, int(test.population))
    results = test.results()
    if reading == "beyond":
        # However small, no p-value is certain: there are always further rows.
        results = [result._replace(p_value=max(result.p_value, _LEAST)) for result in results]
    expected = [
        _expected_rows(
            result,
            None if reading == "beyond" else list_rows,
            level / len(results),
            statement,
            seed,
        )
        for result, statement in zip(results, parsed, strict=True)
    ]
    notes = [
        f"{statement}: {statement.value!r} is in none of the {plural(n_rows, 'row')} read; column "
        f"{statement.columns[0]} has {short_list([*map(repr, values)])}"
        for statement, values in absent.items()
    ]
    report = AuditReport(
        tuple(parsed),
        tuple(results),
        n_rows,
        test.population,
        level,
        source.source,
        tuple(expected),
        sizes,
        (*source.notes, *notes),
        tuple(batches),
        rows is not None or bool(sizes),
        reading,
    )
    sample.raise_error(report)
    return report


def _checked_reading(reading: Reading | None, others: Mapping[str, Any]) -> Reading:
    """Return the reading of an audit; ParameterError if there is none such, or with the others."""
    if reading not in (None, "recorded", "beyond"):
        raise ParameterError(
            f"audit: expected {option_text('reading', 'recorded')}, about the values of the list, "
            f"or {option_text('reading', 'beyond')}, about rows like these, got {reading!r}; write "
            "one of them, or use rank or gate for several runs of a row."
        )
    if reading != "beyond":
        return "recorded"
    given = [name for name, value in others.items() if value]
    if given:
        raise ParameterError(
            f"audit: expected {option_text('reading', 'beyond')}, which is about more rows than one "
            f"list, without {option_text(given[0])}, got both; leave one out."
        )
    return "beyond"


def _with_judge(
    table: Any, statements: str | Sequence[str], judge: Any, others: Mapping[str, Any], **kept: Any
) -> AuditReport:
    """Return the audit with a judge; ParameterError if `others` has a value."""
    from tombola.evidence.judge_audit import audit_with_judge

    for name, value in others.items():
        if value:
            raise ParameterError(
                f"audit: expected {option_text('judge')} or {option_text(name)}, got both; leave "
                "one out."
            )
    return audit_with_judge(table, statements, judge, **kept)


def _drop_present_values(absent: dict[Statement, dict[str, None]], columns: Batch) -> None:
    """Drop the statements whose value is in these rows; collect cells for the others."""
    for statement in [*absent]:
        if statement.has_value(columns):
            del absent[statement]
        elif len(absent[statement]) <= MAX_NAMES:
            cells = columns[statement.columns[0]]
            absent[statement].update(dict.fromkeys(cell.strip() for cell in cells))


def _quantities(statements: Sequence[Statement], columns: Batch) -> Floats:
    """Return the quantity of each statement per row, shape (rows, statements)."""
    return np.column_stack([statement.inequalities[0].values(columns) for statement in statements])


def _check_cells(
    source: RowSource,
    statements: Sequence[Statement],
    strata: str | None,
    sizes: Mapping[str, int] | None,
    batch: Rows,
) -> None:
    """Reject rows with cells that a statement cannot use or unknown strata."""
    columns = source.columns(batch)
    try:
        _quantities(statements, columns)
        if strata and sizes:
            unknown = [name for name in columns[strata] if name.strip() not in sizes]
            if unknown:
                raise TableError(
                    f"audit: expected a stratum of {', '.join(sizes)}, got {unknown[0]!r}; add "
                    f"its size to {option_text('sizes')}."
                )
    except TableError as error:
        raise TableError(
            f"{source.source}: line {batch[0][0]}: {str(error).removeprefix('audit: ')}"
        ) from None


def _expected_rows(
    result: AuditResult, population: int | None, level: float, statement: Statement, seed: int
) -> int | None:
    """Estimate the rows that an undecided statement needs in all, if its mean stays."""
    first = statement.inequalities[0]
    mean = first.from_units(result.mean)
    at_threshold = any(mean == inequality.threshold for inequality in statement.inequalities)
    if result.outcome != "undecided" or population is None or math.isnan(mean) or at_threshold:
        return None
    medians = [
        sample_size(
            inequality.threshold,
            mean,
            population=population,
            deviation=result.deviation / first.unit,
            level=level,
            shuffles=_FORECAST_SHUFFLES,
            seed=seed,
        ).median
        for inequality in statement.inequalities
    ]
    needed = max(medians)
    # A forecast that has not come true says nothing about the rows to come.
    return needed if needed > result.rows else None
