"""`tombola describe`: what is understood of a table, and what to run next."""

import shlex
import sys
from typing import TYPE_CHECKING

from tombola.cli import reading
from tombola.cli.options import Json
from tombola.cli.printing import escape_control, grid, show

if TYPE_CHECKING:
    from tombola.readers.summary import Look


@reading.reads_a_table
def describe(
    table: reading.Table,
    said: reading.Said,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Say what is understood of a table: rows, actions, ids, costs, ranges, what is missing; and what to run next."""
    import json

    from tombola.readers.options import ReadOptions
    from tombola.readers.summary import look_at

    seen = look_at(table, ReadOptions(**said))
    command = " ".join(["tombola compare", *map(shlex.quote, _given(table)), *seen.needed()])
    if as_json:
        print_json = {**dict(seen.facts()), "notes": seen.parts.notes, "next": command}
        sys.stdout.write(json.dumps(print_json) + "\n")
        return
    _show(table, seen, command)


def _show(table: str, seen: "Look", command: str) -> None:
    show(f"{table}: what was understood")
    facts = grid("", "")
    facts.show_header = False
    for word, what in [*seen.facts(), *(("note", note) for note in seen.parts.notes)]:
        facts.add_row(word, escape_control(what))
    show(facts)
    head, rows = seen.sample()
    sample = grid(*map(escape_control, head))
    for row in rows:
        sample.add_row(*map(escape_control, row))
    show(sample)
    show(f"next: {command}")
    if seen.parts.costs is not None:
        show("with a budget: add --budget AMOUNT, in the unit of the costs")


def _given(table: str) -> list[str]:
    """Return what was written after `look`, or the table alone where that is not known."""
    words = sys.argv[2:] if sys.argv[1:2] == ["look"] else []
    return [word for word in words if word != "--json"] if table in words else [table]
