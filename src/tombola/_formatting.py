"""Text formatting: numbers, names, options; escaping for terminal and CSV."""

import csv
import io
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # _statistics imports NumPy, which would slow down the start of the command line
    from tombola._statistics import Estimate

# A spreadsheet evaluates a cell that starts with one of these.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

# Python arguments that have another name on the command line.
_CLI_NAMES = {
    "ids": "--id", "action": "--action-column", "value": "--value-column", "delay": "--delay-column",
    "kind=losses": "--losses", "kind=scores": "--scores", "rescale=True": "--rescale",
    "header=True": "--header", "header=False": "--no-header",
}  # fmt: skip
# The command line of the user, "" if it is not known, None in Python.
_cli_command: ContextVar[str | None] = ContextVar("cli_command", default=None)


def escape_control(text: str, *, line: bool = False) -> str:
    r"""Escape control characters, which could send commands to a terminal.

    With `line=True` line breaks and tabs are escaped too.

    >>> escape_control("a\x1b[31mb"), escape_control("a\nb"), escape_control("a\nb", line=True)
    ('a\\x1b[31mb', 'a\nb', 'a\\nb')
    """
    allowed = "" if line else "\n\t"
    return "".join(
        letter if letter.isprintable() or letter in allowed else letter.encode("unicode_escape").decode()
        for letter in text
    )


def is_encodable(text: str) -> bool:
    r"""Return whether the text has a UTF-8 encoding; a lone surrogate has none.

    >>> is_encodable("é"), is_encodable("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def csv_cell(text: str) -> str:
    """Quote the text of a CSV cell if a spreadsheet would evaluate it.

    >>> csv_cell("=1+1"), csv_cell("x=1"), csv_cell("-0.5")
    ("'=1+1", 'x=1', '-0.5')
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not is_number(text) else text


def csv_cell_matches(written: str, name: str) -> bool:
    """Return whether a cell is blank, or holds this name, quoted or not.

    >>> csv_cell_matches("'=1+1", "=1+1"), csv_cell_matches("", "a"), csv_cell_matches("b", "a")
    (True, True, False)
    """
    return written.strip() in ("", name.strip(), csv_cell(name).strip())


def csv_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    """Format rows as CSV, safe to open in a spreadsheet.

    >>> csv_text([["a", "=b"], [1, None]]).splitlines()
    ["a,'=b", '1,']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", delimiter=delimiter)
    for row in rows:
        writer.writerow([csv_cell(value) if isinstance(value, str) else value for value in row])
    return text.getvalue()


def is_number(text: str) -> bool:
    """Return whether `float` accepts the text.

    >>> is_number(" 1e3"), is_number("a")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def truncate(text: str, length: int = 60) -> str:
    r"""Return the text on one line, cut to `length` characters.

    >>> truncate("a\nlong name", 6)
    'a l...'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def join_names(names: Sequence[object], *, limit: int | None = 6, length: int = 60, last: str = ", ") -> str:
    """Join the first `limit` names with commas, each cut to `length` characters.

    `last` separates the last two names, if all are listed.

    >>> join_names(["a", "b", "c"], limit=2), join_names(["a", "b", "c"], last=" and ")
    ('a, b and 1 more', 'a, b and c')
    """
    texts = [truncate(str(name), length) for name in names[:limit]]
    if len(names) > len(texts):
        return f"{', '.join(texts)} and {len(names) - len(texts):,} more"
    return last.join([*([", ".join(texts[:-1])] if len(texts) > 1 else []), *texts[-1:]])


def format_number(number: float) -> str:
    """Format a number with four significant digits, or without decimals from 1,000 on.

    >>> format_number(0.123456), format_number(12.3456), format_number(123456.7)
    ('0.1235', '12.35', '123,457')
    """
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def format_estimate(estimate: "Estimate") -> str:
    """Format an estimate with the half width of its interval, to two digits.

    >>> from tombola._statistics import Estimate
    >>> format_estimate(Estimate(10.0, 8.0, 12.0, 25))
    '10.0 ± 2.0'
    """
    if not math.isfinite(estimate.half_width):
        return format_number(estimate.value)
    half = estimate.half_width
    if half == 0 or abs(estimate.value) >= 1000:
        return f"{format_number(estimate.value)} ± {half:,.0f}"
    digits = min(4, max(0, 1 - math.floor(math.log10(half))))
    return f"{estimate.value:,.{digits}f} ± {half:,.{digits}f}"


@contextmanager
def cli_style(command: Sequence[str] = ()) -> Iterator[None]:
    """Name options in messages as on the command line while the context is active.

    `command` is the command line of the user, to be repeated in messages by `command_text`.
    """
    token = _cli_command.set(shlex.join(command))
    try:
        yield
    finally:
        _cli_command.reset(token)


def command_text(name: str, value: str) -> str:
    """Return the user's command with one more option; in Python the argument.

    >>> with cli_style(["tombola", "compare", "t.csv"]):
    ...     command_text("kind", "losses")
    'tombola compare t.csv --losses'
    """
    return " ".join([*([command] if (command := _cli_command.get()) else []), option_text(name, value)])


def option_text(
    name: str, value: str | Sequence[str] | tuple[float, float] | None = None, *, on: bool | None = None
) -> str:
    """Return an option as a Python argument, or as a command line option.

    `value` is the value to show (two numbers are a range), `on` the state of a flag; without both, the name alone.

    >>> option_text("missing", "drop"), option_text("rescale", on=True), option_text("actions", ["a", "b"])
    ("missing='drop'", 'rescale=True', "actions=['a', 'b']")
    >>> with cli_style():
    ...     option_text("missing", "drop"), option_text("rescale", on=True), option_text("ids")
    ('--missing drop', '--rescale', '--id')
    """
    in_python = _cli_command.get() is None
    if isinstance(value, tuple) and isinstance(value[0], float):
        numbers = [f"{number:g}" for number in value]
        return f"{name}=({', '.join(numbers)})" if in_python else f"--{name} {','.join(numbers)}"
    if in_python:
        return f"{name}={on}" if on is not None else name if value is None else f"{name}={value!r}"
    flag = _CLI_NAMES.get(f"{name}={value if on is None else on}")
    if flag is not None:
        return flag
    word = _CLI_NAMES.get(name, f"--{name.replace('_', '-')}")
    if value is None:
        return word
    return (
        f"{word} {_shell_quoted(value if isinstance(value, str) else ','.join(_list_item(str(one)) for one in value))}"
    )


def _list_item(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _shell_quoted(text: str) -> str:
    plain = all(letter.isalnum() or letter in "_-.,:/@%+=" for letter in text)
    return text if plain and text else "'" + text.replace("'", "'\"'\"'") + "'"
