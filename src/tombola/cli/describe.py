"""`tombola describe`: print detected columns and the command to run next."""

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from tombola._formatting import escape_control
from tombola.cli.options import By, Json
from tombola.cli.printing import new_table, show, show_cells, show_groups
from tombola.cli.table_options import TableArgument, TableOptions, with_table_options

if TYPE_CHECKING:
    from tombola.tables.summary import TableSummary


@with_table_options
def describe(
    table: TableArgument,
    table_options: TableOptions,
    by: By = "",
    as_json: Json = False,
) -> None:
    """Print detected columns, missing values, and the command to run next.

    Only reads the table; nothing is written.
    """
    from tombola.tables.costs import AS_REQUESTED
    from tombola.tables.options import ReadOptions
    from tombola.tables.summary import summarise_table
    from tombola.tables.table import parse_table

    options = {name: value for name, value in table_options.items() if name in ReadOptions._fields}
    summary = summarise_table(table, ReadOptions(**options, by=by or None))
    parsed = summary.parsed
    found = next((name for name in parsed.groups if parsed.ignored.get(name) != AS_REQUESTED), None)
    if found is not None and table != "-":
        # A column of groups was detected: show the results by it, as --by would.
        by = by or found
        strata = parse_table(table, ReadOptions(**{**options, "by": by})).strata
        summary = summary._replace(parsed=parsed._replace(strata=strata))
    # The commands of races have no option --sheet.
    source = f"{table}::{options['sheet']}" if options.get("sheet") else table
    steps, races = (
        summary.next_steps(shlex.join(["tombola", "compare", *_given_arguments(table)]), source),
        summary.race_steps(source),
    )
    if as_json:
        parsed = summary.parsed
        facts: dict[str, Any] = {
            heading: text for heading, text in summary.facts() if heading != "ignored"
        }
        facts |= {
            "kind": parsed.kind,
            "unit": parsed.unit,
            "ignored": dict(parsed.ignored),
            "notes": parsed.notes,
        }
        if summary.parsed.strata is not None:
            facts["by_group"] = {
                "column": by,
                "groups": [group._asdict() for group in summary.by_group()],
            }
        commands = dict.fromkeys(command for _, command in (*steps, *races))
        sys.stdout.write(json.dumps({**facts, "next": list(commands)}) + "\n")
        return
    _print_summary(table, summary)
    if summary.parsed.strata is not None:
        show_groups(
            summary.by_group(),
            by,
            f"mean {summary.quantity}",
            ranked=summary.parsed.kind is not None,
        )
        means = (
            "means over filled cells, exact where none is missing" if summary.n_missing else "exact"
        )
        show(
            f"Results by {by}: {means}. Add --by {by} to compare, race plan, race start or race "
            "run."
        )
    for purpose, command in steps:
        show(f"next, {purpose}:")
        show(command, soft=True)
    if races != steps:
        for purpose, command in races:
            show(f"or, {purpose}:")
            show(command, soft=True)
        show("or, how few calls would find the best action (a race):")
        for _, command in steps:
            show(command.replace("tombola compare", "tombola race plan", 1), soft=True)
    if summary.parsed.costs is not None:
        show("with a budget: add --budget AMOUNT, in the unit of the costs")


def _print_summary(table: str, summary: "TableSummary") -> None:
    show(f"{table}:")
    facts = new_table("", "")
    facts.show_header = False
    headings = set()
    for heading, text in [*summary.facts(), *(("notes", note) for note in summary.parsed.notes)]:
        facts.add_row("" if heading in headings else heading, escape_control(text))
        headings.add(heading)
    show(facts)
    header, rows = summary.sample()
    show_cells([escape_control(name) for name in header], rows)


def _given_arguments(table: str) -> list[str]:
    """Return the arguments after `describe`, or the table alone."""
    words = sys.argv[2:] if sys.argv[1:2] == ["describe"] else []
    return [word for word in words if word != "--json"] if table in words else [table]
