"""What a result of a program shows: text, notebook, JSON and page from one list of blocks."""

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from tombola._formatting import HtmlTable, escape_control, html_block
from tombola.statements import Statement


class Cells(NamedTuple):
    """A table of texts below headings.

    right: positions, from 0, of the columns that are aligned to the right.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Container[int] = ()


class Command(NamedTuple):
    """A command line to copy, never broken into lines."""

    text: str


# A piece of a result: a paragraph, a table, or a command line.
Block = str | Cells | Command


class Result(ABC):
    """Base class of results of programs such as `audit`.

    A subclass defines `blocks` and `to_json`; texts, notebooks and terminals render the blocks.
    What it claims is `statements`, and no block has other words about what is proved.
    """

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What the result claims; empty if nothing, as for a description of a table."""
        return ()

    @abstractmethod
    def blocks(self) -> list[Block]:
        """Return what the result says: paragraphs, tables and commands, the answer first."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the result as a dict of JSON data."""

    def __str__(self) -> str:
        return "\n".join(_block_text(block) for block in self.blocks())

    def _repr_html_(self) -> str:
        title, *rest = self.blocks()
        tables = [
            HtmlTable(block.headings, block.rows) for block in rest if isinstance(block, Cells)
        ]
        notes = [_block_text(block) for block in rest if not isinstance(block, Cells)]
        if isinstance(title, Cells):
            return html_block("", (), [HtmlTable(title.headings, title.rows), *tables], notes)
        return html_block(_block_text(title), (), tables, notes)


class PageResult(Result):
    """A result that has a page, too."""

    @abstractmethod
    def to_page(self, command: str = "") -> str:
        """Return the result as an HTML page that needs no other file.

        command: the command line that made it, which the page repeats.
        """


def _block_text(block: Block) -> str:
    """Return a block as lines of text; control characters are escaped.

    >>> print(_block_text(Cells(("name", "rows"), [("a", "7")], right=(1,))))
    name  rows
    a        7
    """
    if isinstance(block, str):
        return escape_control(block)
    if isinstance(block, Command):
        return f"  {escape_control(block.text, line=True)}"
    lines = [[escape_control(cell, line=True) for cell in row] for row in block.rows]
    lines = [[" ".join(heading.split()) for heading in block.headings], *lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in block.right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
