"""HTML fragments that notebooks show for an object (`_repr_html_`)."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from tombola._formatting import escape_control, truncate

# Rows of a table in a notebook; the rest is counted in one line below it.
MAX_ROWS = 12
# Characters of a name in a cell.
MAX_NAME_LENGTH = 60
# Characters of `__repr__`, which consoles and lists show on one line.
MAX_REPR_LENGTH = 199
# Characters of a learner inside of another `__repr__`; parameters may be whole arrays.
MAX_LEARNER_LENGTH = 80

# No colours: notebooks are light or dark, and the text inherits the colour of its surroundings.
_TABLE = "border-collapse:collapse;margin:.4em 0"
_LEFT = "text-align:left;padding:.15em .8em .15em 0"
_RIGHT = "text-align:right;padding:.15em .8em .15em 0"


class HtmlTable(NamedTuple):
    """A table of texts: column names, rows, and a heading above it.

    `total` is the number of rows if `rows` has only the first ones.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    heading: str = ""
    total: int | None = None


def html_block(
    title: str, facts: Iterable[tuple[str, str]] = (), tables: Iterable[HtmlTable] = (), notes: Iterable[str] = ()
) -> str:
    """Return a title, names with values, tables and sentences as HTML; all text is escaped.

    >>> html_block("a < b", [("rows", "2")])
    '<div><strong>a &lt; b</strong><div>rows: 2</div></div>'
    """
    parts = [f"<strong>{html_text(title)}</strong>"]
    line = ", ".join(f"{html_text(name)}: {html_text(value)}" for name, value in facts)
    parts += [f"<div>{line}</div>"] if line else []
    parts += [_table_html(table) for table in tables]
    parts += [f"<div>{html_text(note)}</div>" for note in notes if note]
    return f"<div>{''.join(parts)}</div>"


def html_text(text: str) -> str:
    r"""Escape text for HTML; control characters become visible.

    >>> html_text("<b>\x1b"), html_text('"')
    ('&lt;b&gt;\\x1b', '&quot;')
    """
    return escape(escape_control(text))


def short_repr(text: str, length: int = MAX_REPR_LENGTH) -> str:
    r"""Return the text on one line of at most `length` characters, without control characters.

    >>> short_repr("Hedge(\n  0.5)"), short_repr("x" * 300)[-5:], len(short_repr("x" * 300))
    ('Hedge( 0.5)', 'xx...', 199)
    """
    return truncate(escape_control(truncate(text, 4 * length), line=True), length)


def short_learner(learner: object) -> str:
    """Return the `repr` of a learner, short enough to stand inside of another one."""
    return short_repr(repr(learner), MAX_LEARNER_LENGTH)


def _table_html(table: HtmlTable) -> str:
    rows = table.rows[:MAX_ROWS]
    styles = [
        _RIGHT if rows and all(_is_numeric(row[at]) for row in rows) else _LEFT for at in range(len(table.columns))
    ]
    head = "".join(
        f'<th style="{style}">{html_text(name)}</th>' for name, style in zip(table.columns, styles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style}">{_cell(text)}</td>' for text, style in zip(row, styles, strict=True))
        + "</tr>"
        for row in rows
    )
    heading = f"<div>{html_text(table.heading)}</div>" if table.heading else ""
    more = (len(table.rows) if table.total is None else table.total) - len(rows)
    rest = f"<div>and {more:,} more</div>" if more > 0 else ""
    return f'{heading}<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}'


def _cell(text: str) -> str:
    return html_text(truncate(text, MAX_NAME_LENGTH))


def _is_numeric(text: str) -> bool:
    """Return whether a cell is a number, or stands for a missing one; intervals and names are not."""
    digits = text.replace(",", "").replace(".", "", 1).replace("e-", "", 1).lstrip("-+")
    return digits.isdigit() or text in ("", "–", "inf")
