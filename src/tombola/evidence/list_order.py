"""`check_order`: whether the rows of a list are in random order as listed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola import _validate
from tombola._formatting import note_line, option_text, plural
from tombola._results import Block, PageResult
from tombola._types import Floats
from tombola.errors import TableError
from tombola.evidence.best_column import reasons_text, short_list
from tombola.evidence.order_test import (
    MARTINGALE_SHARE,
    OrderVerdict,
    RandomOrderTest,
    combined_verdict,
)
from tombola.evidence.page_parts import MAX_FIGURES, MAX_POINTS, rows_figure
from tombola.evidence.rows import RowSource
from tombola.report.evidence_page import CaptionedChart, EvidencePage, render_evidence
from tombola.statements import Conclusion, Counts, Quantity, Statement
from tombola.tables.columns import parse_number
from tombola.tables.derived import summary_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class OrderCheck(PageResult):
    """Result of `check_order`.

    verdict: of the order test; its column is an index of `columns`.
    sequential: whether the martingale raised the alarm, which names a row; else it is the
        permutation test of the whole list.
    rows: number of rows.
    columns: names of the columns that were tested.
    ignored: the other columns, with reasons.
    path: pairs of rows and the evidence of each column, a power of ten.
    """

    verdict: OrderVerdict
    sequential: bool
    level: float
    rows: int
    columns: tuple[str, ...]
    table: str
    ignored: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    path: tuple[tuple[int, Floats], ...] = field(default=(), repr=False)

    @property
    def refuted(self) -> bool:
        """Whether random order is refuted."""
        return self.verdict.refuted

    @property
    def outcome(self) -> str:
        """The outcome: "refuted", or "not refuted"; no test can prove that a list was shuffled."""
        return "refuted" if self.refuted else "not refuted"

    @property
    def p_value(self) -> float:
        """P(evidence as strong as this), at most, in random order."""
        return self.verdict.p_value

    @property
    def column(self) -> str | None:
        """The column that shows it; None if random order is not refuted."""
        return self.columns[self.verdict.column] if self.refuted else None

    @property
    def row(self) -> int | None:
        """The row of the alarm, from 1; None if random order is not refuted."""
        return self.verdict.values if self.refuted else None

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is proved about the order: nothing without an alarm."""
        claim = Conclusion("not shuffled", (self.column or "",))
        statement = Statement(
            "refuted" if self.refuted else "undecided",
            "recorded",
            (claim,) if self.refuted else (),
            () if self.refuted else (claim,),
            level=self.level,
            quantity=Quantity("value", recorded="values"),
            counts=Counts(rows=self.rows, counted=self.rows),
        )
        return (statement,)

    @property
    def advice(self) -> str:
        """What to do, with the place of the alarm, as sentences."""
        if not self.refuted:
            return "The test saw nothing. Shuffle the list to be sure."
        alarm = "differs from its shuffles"
        if self.sequential:
            alarm = f"raised an alarm at row {self.row:,}"
        return (
            f"Column {self.column} {alarm} (p-value {self.p_value:.2g}). Shuffle the rows before "
            "you sample from them."
        )

    def blocks(self) -> list[Block]:
        """Return the verdict, the columns, and notes."""
        blocks: list[Block] = [
            f"{self.statements[0].full} {self.advice}",
            f"{plural(self.rows, 'row')}; columns: {short_list(self.columns)}",
        ]
        if self.ignored:
            blocks.append(note_line(f"ignored columns: {reasons_text(self.ignored)}"))
        return [*blocks, *(note_line(note) for note in self.notes)]

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "statement": self.statements[0].to_json(),
            "random": not self.refuted,
            "column": self.column,
            "row": self.row,
            "p_value": self.p_value,
            "level": self.level,
            "rows": self.rows,
            "columns": list(self.columns),
            "ignored": list(self.ignored),
            "notes": list(self.notes),
        }

    def to_page(self, command: str = "") -> str:
        """Return an HTML page: the verdict, and the evidence by rows."""
        alarm: tuple[tuple[str, str], ...] = ()
        if self.column is not None:
            alarm = (("column", self.column), ("alarm at row", f"{self.row:,}"))
        page = EvidencePage(
            title=f"Order of {Path(self.table).name}",
            lead="A test martingale bets on the rank of each value among its predecessors. At the "
            "end the list is compared with its shuffles. Each of the two raises a false alarm "
            "with at most half of the stated probability.",
            statement=self.statements[0],
            facts=(
                *alarm,
                ("rows", f"{self.rows:,}"),
                ("columns", str(len(self.columns))),
                ("level", f"{self.level:g}"),
            ),
            tables=(),
            figures=(self._figure(),),
            command=command,
            advice=self.advice,
        )
        return render_evidence(page)

    def plot(
        self, *, ax: "Axes | None" = None, size: tuple[float, float] | None = None
    ) -> "Figure":
        """Draw the evidence against random order by rows; return the figure.

        `ax`: axes to draw on; None: a new figure. `size` is in inches.
        """
        from tombola.report.figures import draw_chart

        return draw_chart(self._figure().chart, axes=ax, size=size)

    def _figure(self) -> CaptionedChart:
        rows = np.array([row for row, _ in self.path], np.float64)
        alarm = float(np.log10(len(self.columns) / (MARTINGALE_SHARE * self.level)))
        # Far above the alarm more evidence says nothing new, and would press the alarm to the axis.
        evidence = np.minimum(np.array([column for _, column in self.path]), 3.0 * alarm)
        # The column of the alarm first, then by evidence.
        first = [self.verdict.column] if self.refuted else []
        by_evidence = np.argsort(-evidence.max(axis=0), kind="stable").tolist()
        order = [*first, *(place for place in by_evidence if place not in first)][:MAX_FIGURES]
        return rows_figure(
            "Evidence against random order",
            f"Largest wealth of the test martingale so far, for at most {MAX_FIGURES} columns. In "
            "random order it ever reaches the dashed line with at most half of the stated "
            "probability. The permutation test of the whole list is not drawn.",
            "evidence, in powers of ten",
            {self.columns[place]: (rows, *[evidence[:, place]] * 3) for place in order},
            {"alarm": alarm},
            alt=f"Evidence against random order by row. {self.statements[0].full}",
        )


def check_order(
    table: Any,
    level: float = 0.01,
    *,
    columns: Sequence[str] = (),
    ignore_rows: Sequence[str] = (),
    sheet: str | None = None,
    seed: int = 1,
) -> OrderCheck:
    """Test whether the rows of a list are in random order as listed.

    table: a path, a data frame, an array, a `Pool` or a table of `read_table`; "-" for CSV from
        standard input.
    level: the probability of a false alarm.
    columns: names of the columns to test; empty: all columns of numbers.
    ignore_rows: ids of rows to leave out, such as Total; "none" for none.
    sheet: the sheet of an Excel file.
    seed: for ties and shuffles.

    >>> result = check_order([{"age": age} for age in range(20, 80)] * 4, columns=["age"])
    >>> result.refuted, result.column, result.row < 200
    (True, 'age', True)
    """
    level = _validate.real("check_order", "level", level, above=0, below=1)
    source = RowSource(table, sheet, ignore_rows=ignore_rows)
    names, ranks, ignored = _number_columns(source, columns)
    test = RandomOrderTest(len(names), MARTINGALE_SHARE * level, seed=seed)
    edges = np.unique(np.linspace(0, len(ranks), MAX_POINTS + 1).astype(int)).tolist()
    path = []
    for start, stop in pairwise(edges):
        test.extend(ranks[start:stop])
        path.append((stop, test.evidence / np.log(10)))
    verdict = combined_verdict(test, ranks, level, seed=seed)
    return OrderCheck(
        verdict,
        test.alarm,
        level,
        len(ranks),
        tuple(names),
        source.source,
        ignored,
        tuple(source.notes),
        tuple(path),
    )


def _number_columns(
    source: RowSource, requested: Sequence[str]
) -> tuple[list[str], Floats, dict[str, str]]:
    """Return names and ranks of the number columns, and why others are ignored.

    Ranks are dense and scaled to [0, 1]; the order test uses no more.
    """
    rows = list(source.rows())
    if not rows:
        raise TableError(
            f"{source.source}: expected a header and at least one row, got no row; add rows."
        )
    source.check_columns(requested)
    ranks: dict[str, Floats] = {}
    ignored: dict[str, str] = {}
    for name, cells in source.columns(rows).items():
        if requested and name not in requested:
            continue
        numbers = np.array([parse_number(cell) for cell in cells])
        invalid = np.flatnonzero(np.isnan(numbers))
        # Ids given after a shuffle count the rows.
        is_row_number = len(rows) > 1 and bool((np.diff(numbers) == 1.0).all())
        if invalid.size:
            ignored[name] = f"line {rows[invalid[0]][0]} has {cells[invalid[0]]!r}"
        elif not requested and len(source.header) > 1 and is_row_number:
            ignored[name] = "row numbers"
        else:
            places = np.unique(numbers, return_inverse=True)[1]
            ranks[name] = places / max(int(places.max()), 1)
    if source.parsed is not None and not requested:
        summaries = summary_columns([source.parsed.by_name[name] for name in ranks])[0]
        ranks = {name: column for name, column in ranks.items() if name not in summaries}
        ignored |= summaries
    if not ranks or (requested and ignored):
        raise TableError(
            f"{source.source}: expected a column of numbers, got {reasons_text(ignored)}; "
            f"repair a cell, or name other columns with {option_text('columns')}."
        )
    return list(ranks), np.column_stack(list(ranks.values())), ignored
