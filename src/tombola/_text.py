"""Text: names that come from outside, made safe for a terminal, for a spreadsheet, and for a file."""

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def clean(text: str, *, line: bool = False) -> str:
    r"""Return a text whose control characters are written out, so that no name commands the terminal.

    A `line` stays one: no name in it looks like a line of its own.

    >>> clean("a\x1b[31mb"), clean("a\nb"), clean("a\nb", line=True)
    ('a\\x1b[31mb', 'a\nb', 'a\\nb')
    """
    kept = "" if line else "\n\t"
    return "".join(
        letter if letter.isprintable() or letter in kept else letter.encode("unicode_escape").decode()
        for letter in text
    )


def cell(text: str) -> str:
    """Return the text for a cell of a CSV file; what a spreadsheet would take for a formula gets a quote.

    >>> cell("=1+1"), cell("x=1"), cell("-0.5")
    ("'=1+1", 'x=1', '-0.5')
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _number(text) else text


def holds(written: str, name: str) -> bool:
    """Tell whether a cell holds this name, as it is or as `cell` writes it; a blank one does.

    >>> holds("'=1+1", "=1+1"), holds(" a ", "a"), holds("", "a"), holds("b", "a")
    (True, True, True, False)
    """
    return written.strip() in ("", name.strip(), cell(name).strip())


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as the text of a CSV file, safe for a spreadsheet.

    >>> csv_text([["a", "=b"], [1, None]]).splitlines()
    ["a,'=b", '1,']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([cell(value) if isinstance(value, str) else value for value in row])
    return text.getvalue()


def encodable(text: str) -> bool:
    r"""Tell whether the text can be written down at all: half of a surrogate pair cannot.

    >>> encodable("é"), encodable("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
