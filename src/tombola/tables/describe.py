"""`describe`: the columns of a table as detected, and the commands to run next."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tombola._results import Block, Cells, Command, Result
from tombola.tables.costs import AS_REQUESTED
from tombola.tables.options import ReadOptions
from tombola.tables.summary import GroupRow, TableSummary
from tombola.tables.table import parse_table, read_source
from tombola.tables.to_pool import reading_line, source_name
from tombola.units import Kind


@dataclass(frozen=True, eq=False)
class Description(Result):
    """Result of `describe`.

    summary: facts, sample and groups of the table.
    by: the column of groups that results are shown by; "" without one.
    steps, races: pairs of a purpose and a command line; races fill missing cells.
    more: further blocks, printed before the commands.
    """

    table: str
    summary: TableSummary
    by: str
    steps: tuple[tuple[str, str], ...]
    races: tuple[tuple[str, str], ...]
    more: tuple[Block, ...] = ()

    @property
    def statement(self) -> str:
        """The size and the direction of the table, as a sentence."""
        facts = dict(self.summary.facts())
        return f"{facts['rows']} rows; actions: {facts['actions']}; {facts['values']}."

    def blocks(self) -> list[Block]:
        """Return the facts, a sample, the best action by group, and the next commands."""
        facts = [*self.summary.facts(), *(("notes", note) for note in self.summary.parsed.notes)]
        rows = []
        before = ""
        for heading, text in facts:
            rows.append(("" if heading == before else heading, text))
            before = heading
        header, sample = self.summary.sample()
        parsed = self.summary.parsed
        reading = f"{self.table}:"
        if parsed.kind is not None:
            reading = reading_line(parsed.kind, parsed.unit, parsed.names, self.table)
        blocks: list[Block] = [
            reading,
            Cells(("", ""), rows),
            Cells(header, sample),
        ]
        if self.summary.parsed.strata is not None:
            is_ranked = self.summary.parsed.kind is not None
            quantity = f"mean {self.summary.quantity}"
            means = "exact"
            if self.summary.n_missing:
                means = "means over filled cells, exact where none is missing"
            blocks += [
                group_cells(self.summary.by_group(), self.by, quantity, is_ranked=is_ranked),
                f"Results by {self.by}: {means}. Add --by {self.by} to compare, race plan, race "
                "start or race run.",
            ]
        blocks += self.more
        for purpose, command in self.steps:
            blocks += [f"next, {purpose}:", Command(command)]
        if self.races != self.steps:
            for purpose, command in self.races:
                blocks += [f"or, {purpose}:", Command(command)]
            blocks.append("or, how few calls would find the best action (a race):")
            blocks += [
                Command(command.replace("tombola compare", "tombola race plan", 1))
                for _, command in self.steps
            ]
        if self.summary.parsed.costs is not None:
            blocks.append("with a budget: add --budget AMOUNT, in the unit of the costs")
        return blocks

    def to_json(self) -> dict[str, Any]:
        """Return the description as JSON data."""
        parsed = self.summary.parsed
        facts: dict[str, Any] = {
            heading: text for heading, text in self.summary.facts() if heading != "ignored"
        }
        facts |= {
            "kind": parsed.kind,
            "unit": parsed.unit,
            "candidates": list(parsed.names),
            "ignored": dict(parsed.ignored),
            "rows_left_out": parsed.n_masked,
            "notes": parsed.notes,
        }
        if parsed.strata is not None:
            groups = [group._asdict() for group in self.summary.by_group()]
            facts["by_group"] = {"column": self.by, "groups": groups}
        commands = dict.fromkeys(command for _, command in (*self.steps, *self.races))
        return {**facts, "next": list(commands)}


def describe(
    table: Any,
    *,
    kind: Kind | None = None,
    by: str | None = None,
    sheet: str | None = None,
    ignore: Sequence[str] = (),
) -> Description:
    """Return the columns of a table as detected, missing values, and the commands to run next.

    Nothing is written.

    table: a path, a data frame or an array, as for `read_table`; "-" for standard input.
    kind: "losses" (lower is better) or "scores"; None if names of columns state it.
    by: the column of groups of rows; None: a column that looks like groups.
    sheet: the sheet of an Excel file.
    ignore: columns to leave out.

    >>> result = describe([[0.0, 0.3], [0.5, 0.1]], kind="scores")
    >>> result.statement
    '2 rows; actions: 2: 0, 1; 0 to 0.5, read as scores: higher is better.'
    """
    return describe_with(table, ReadOptions(kind=kind, by=by, sheet=sheet, ignore=ignore))


def describe_with(table: Any, options: ReadOptions, command: str = "") -> Description:
    """Return the description of a table that is read with any options; as `describe`.

    command: `tombola compare` with the table and the options as typed; "": with the table.
    """
    name = source_name(table)
    options = options._replace(runs=True)
    source = read_source(table, options)
    summary = TableSummary(parse_table(source, options))
    groups = (
        column
        for column in summary.parsed.groups
        if summary.parsed.ignored.get(column) != AS_REQUESTED
    )
    by = options.by or next(groups, "")
    if by and not options.by:
        # A column of groups was detected: show the results by it, as --by would.
        strata = parse_table(source, options._replace(by=by)).strata
        summary = summary._replace(parsed=summary.parsed._replace(strata=strata))
    # The commands of races have no option --sheet.
    path = f"{name}::{options.sheet}" if options.sheet else name
    command = command or shlex.join(["tombola", "compare", name])
    steps = summary.next_steps(command, path)
    if summary.parsed.runs is not None:
        # `compare` takes one answer for each cell.
        ranks = command.replace("tombola compare", "tombola rank", 1)
        if summary.parsed.kind is None:
            ranks += " --scores"
        plan = ranks.replace("tombola rank", "tombola race plan", 1)
        steps = [
            ("ranks in expectation, and the probability that all runs of a row succeed", ranks),
            ("how few fresh calls would find the best action (a race)", plan),
        ]
        return Description(name, summary, by, tuple(steps), tuple(steps))
    return Description(name, summary, by, tuple(steps), tuple(summary.race_steps(path)))


def group_cells(
    groups: Sequence[GroupRow], by: str, quantity: str, *, is_ranked: bool = True
) -> Cells:
    """Return the best action of each group of rows as a table.

    by: header of the groups.
    quantity: word for the means in the header, such as "mean loss".
    is_ranked: whether the direction of the numbers is known; if not, the largest and the smallest
        mean are shown.
    """
    first, second = ("best", "next") if is_ranked else ("highest", "lowest")
    rows = []
    for group in groups:
        best, other = (
            "–" if mean != mean else f"{mean:.4g}" for mean in (group.best_mean, group.second_mean)
        )
        cells = (group.name, f"{group.rows:,}", group.best or "–", best, group.second or "–", other)
        rows.append(cells)
    return Cells((by, "rows", first, quantity, second, quantity), rows, right=(1, 3, 5))
