"""Print to the terminal, with control characters in text escaped."""

import json
import re
import shlex
import sys
import warnings
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tombola._formatting import escape_control, written_line
from tombola.errors import TombolaWarning

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from tombola._results import Block

# Colours of the verdict at the start of a line.
_TAG_STYLES = {
    "exact": "green", "proved": "green", "passed": "green", "refuted": "red", "worse": "red",
    "undecided": "yellow", "stopped": "yellow",
}  # fmt: skip

_default_showwarning = warnings.showwarning


def new_table(*columns: str, right: Container[int] = ()) -> "Table":
    """Return an empty Rich table in the style of all commands.

    right: positions, from 0, of the columns that are aligned to the right.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="right" if at in right else "left")
    return table


def show_cells(
    headings: Sequence[str], rows: Iterable[Sequence[str]], right: Container[int] = ()
) -> None:
    """Print a table of cells below headings; control characters in cells are escaped."""
    table = new_table(*map(escape_control, headings), right=right)
    table.show_header = any(headings)
    for row in rows:
        table.add_row(*map(escape_control, row))
    show(table)


def show(content: "str | Table", *, soft: bool = False, indent: int = 0) -> None:
    """Print text or a table to standard output.

    soft: leave the breaking of long lines to the terminal, so that they can be copied.
    indent: number of spaces to the left.
    """
    from rich.console import Console
    from rich.padding import Padding

    text = _coloured(escape_control(content, line=soft)) if isinstance(content, str) else content
    printed = Padding(text, (0, 0, 0, indent)) if indent else text
    Console(highlight=False, markup=False).print(printed, soft_wrap=soft)


def _coloured(line: str) -> "Text":
    """Return a line with its verdict in colour, or dim if it is a note.

    Rich leaves out the colours if the output is no terminal, or if NO_COLOR is set.
    """
    from rich.text import Text

    text = Text(line, style="dim" if line.lower().startswith("note: ") else "")
    word = re.match(r"\w+", line)
    if word is not None and word.group().lower() in _TAG_STYLES:
        text.stylize(f"bold {_TAG_STYLES[word.group().lower()]}", 0, word.end())
    return text


def show_answer(
    result: Any, out: Path | None = None, *inputs: str | Path, as_json: bool = False
) -> None:
    """Write the page of a result, if `out` is given, and print the result.

    result: a `Result`; a `PageResult` with `out`.
    inputs: files that the command reads, which the page must not replace.
    as_json: print JSON instead of text.
    """
    from tombola._files import write_atomic

    if out is not None:
        write_atomic(out, result.to_page(shlex.join(["tombola", *sys.argv[1:]])), *inputs)
    if as_json:
        typer.echo(json.dumps(result.to_json(), allow_nan=False))
        return
    show_blocks(result.blocks())
    if out is not None:
        show(written_line(out), soft=True)


def show_blocks(blocks: "Iterable[Block]") -> None:
    """Print paragraphs, tables and command lines."""
    from tombola._results import Cells, Command

    for block in blocks:
        if isinstance(block, Cells):
            show_cells(*block)
        elif isinstance(block, Command):
            show(f"  {block.text}", soft=True)
        else:
            # A line of a table that is aligned by spaces must not be broken.
            show(block, soft=block.startswith(" "))


def show_result(facts: Any, *lines: str, as_json: bool, soft: bool = False) -> None:
    """Print the result of a command: JSON, or lines of text.

    facts: JSON data, printed if `as_json`; else `lines` are.
    soft: as for `show`.
    """
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        show_lines(lines, soft=soft)


def write_report(out: Path, text: str, file: Path, *, as_json: bool) -> None:
    """Write the report of a session or race file, and print its path unless JSON is printed."""
    from tombola._files import write_atomic

    write_atomic(out, text, file)
    if not as_json:
        show(written_line(out), soft=True)


def show_lines(lines: Iterable[str], *, soft: bool = False) -> None:
    """Print lines; those that start with two spaces are commands, never broken."""
    for line in lines:
        show(line, soft=soft or line.startswith("  "))


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a TombolaWarning as one line, other warnings as Python does.

    Replaces `warnings.showwarning`, and has its arguments.
    """
    if issubclass(category, TombolaWarning):
        print_error(f"tombola: {message}")
    else:
        _default_showwarning(message, category, *where, **more)


def print_error(text: str) -> None:
    """Print text to standard error as one line; control characters are escaped."""
    typer.echo(escape_control(text, line=True), err=True)
