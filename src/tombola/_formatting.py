"""Format results as text, HTML or data frame; escape for terminal, CSV and HTML."""

import csv
import io
import math
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from tombola.errors import ParameterError

if TYPE_CHECKING:  # _statistics imports NumPy, which would slow down the start of the command line
    from tombola._statistics import Estimate

# Rows of a table in a notebook, so that it fits a screen; the rest is counted in one line below it.
MAX_ROWS = 12
# Largest number of characters of a name in a cell of such a table; longer ones would widen the
# column off the screen.
_MAX_NAME_LENGTH = 60
# Characters of `__repr__`, which consoles and lists show on one line.
_MAX_REPR_LENGTH = 199
# Characters of a learner inside of another `__repr__`; parameters may be whole arrays.
_MAX_LEARNER_LENGTH = 80

# No colours: notebooks are light or dark, and the text inherits the colour of its surroundings.
_TABLE = "border-collapse:collapse;margin:.4em 0"
_LEFT = "text-align:left;padding:.15em .8em .15em 0"
_RIGHT = "text-align:right;padding:.15em .8em .15em 0"

# A spreadsheet evaluates a cell that starts with one of these.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

# Python arguments that have another name on the command line.
_CLI_NAMES = {
    "ids": "--id",
    "actions": "--candidates",
    "action": "--action-column",
    "value": "--value-column",
    "delay": "--delay-column",
    "run": "--run-column",
    "kind=losses": "--losses",
    "kind=scores": "--scores",
    "rescale=True": "--rescale",
    "transpose=True": "--transpose",
    "header=True": "--header",
    "header=False": "--no-header",
}
# The flags of the command that runs; None if they are not known.
_cli_flags: ContextVar[frozenset[str] | None] = ContextVar("cli_flags", default=None)
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
        letter
        if letter.isprintable() or letter in allowed
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def is_encodable(text: str) -> bool:
    r"""Return whether the text has a UTF-8 encoding; a lone surrogate has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _csv_cell(text: str) -> str:
    """Return the text of a CSV cell, with a quote before it if it could be a formula.

    Phone numbers and amounts, such as +49 221 616388 and -12,50, only have digits and separators:
    no formula.
    """
    harmless = re.fullmatch(r"[+-][\d ().,/-]*", text) or is_number(text)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not harmless else text


def csv_cell_matches(written: str, name: str) -> bool:
    """Return whether a cell is blank, or holds this name as `csv_text` writes it.

    >>> csv_cell_matches("'=1+1", "=1+1"), csv_cell_matches("", "a"), csv_cell_matches("b", "a")
    (True, True, False)
    """
    return written.strip() in ("", name.strip(), _csv_cell(name).strip())


def csv_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    """Format rows as CSV, safe to open in a spreadsheet.

    A text that a spreadsheet would evaluate gets an apostrophe.

    >>> csv_text([["a", "=b"], [1, None]]).splitlines()
    ["a,'=b", '1,']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", delimiter=delimiter)
    for row in rows:
        writer.writerow([_csv_cell(value) if isinstance(value, str) else value for value in row])
    return text.getvalue()


def is_number(text: str) -> bool:
    """Return whether `float` can parse the text; it accepts "nan" and "inf" too."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def truncate(text: str, length: int = 60) -> str:
    r"""Return the text on one line, cut to `length` characters, "..." included.

    >>> truncate("a\nlong name", 6)
    'a l...'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def distinct_names(names: Sequence[str], length: int) -> list[str]:
    """Cut long names to `length` characters, so that different names stay different.

    Names are cut at the end, else in the middle, else they get their number.

    >>> distinct_names(["model/large-v1", "model/large-v2", "gpt"], 9)
    ['mod...-v1', 'mod...-v2', 'gpt']
    """
    half = (length - 3) // 2
    ends = [truncate(name, length) for name in names]
    middles = [
        text if len(name) <= length else f"{name[: length - 3 - half]}...{name[-half:]}"
        for name, text in zip(names, ends, strict=True)
    ]
    for texts in (ends, middles):
        if len({*texts}) == len({*names}):
            return texts
    numbers = [f"{place} " for place in range(1, len(names) + 1)]
    return [truncate(number + name, length) for number, name in zip(numbers, names, strict=True)]


def join_names(
    names: Sequence[object], *, limit: int | None = 6, length: int = 60, last: str = ", "
) -> str:
    """Join names with commas, each cut to `length` characters.

    limit: largest number of names listed; the others are counted ("and 3 more"). None lists all.
    last: separator of the last two names, if all are listed.

    >>> join_names(["a", "b", "c"], limit=2), join_names(["a", "b", "c"], last=" and ")
    ('a, b and 1 more', 'a, b and c')
    """
    texts = [truncate(str(name), length) for name in names[:limit]]
    if len(names) > len(texts):
        return f"{', '.join(texts)} and {len(names) - len(texts):,} more"
    return last.join([*([", ".join(texts[:-1])] if len(texts) > 1 else []), *texts[-1:]])


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name most like a misspelt one, whatever the case; None if none is.

    >>> closest_name("thrifty", ["UCB1", "Thrifty"]), closest_name("x", ["UCB1", "Thrifty"])
    ('Thrifty', None)
    """
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in names}
    return next(
        (by_lower[candidate] for candidate in get_close_matches(name.lower(), by_lower, n=1)), None
    )


def unknown_name_text(kind: str, name: str, names: Sequence[str]) -> str:
    """Return expected, got and fix of a message on an unknown session or race.

    name: the given name, possibly the path of its file.

    >>> unknown_name_text("race", "grades.race", ["grades", "models"])
    "expected the name of a race (grades, models), got 'grades.race'; write grades."
    """
    stem = name.replace("\\", "/").rpartition("/")[2].rpartition(".")
    fix = closest_name(stem[0] or stem[2], names) or "one of those"
    known, fix = (
        (f" ({join_names(names)})", f"write {fix}") if names else ("", "the server has none")
    )
    return f"expected the name of a {kind}{known}, got {name!r:.200}; {fix}."


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun; `many` is the plural, "" for the noun with s.

    >>> plural(1, "row"), plural(1200, "call"), plural(2, "match", "matches")
    ('1 row', '1,200 calls', '2 matches')
    """
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def format_forecast(count: int, most: float = math.inf) -> str:
    """Format an estimated count with two significant digits, rounded up: more are false precision.

    most: as many as there are, for an estimate that is not above it.

    >>> format_forecast(87), format_forecast(131), format_forecast(396154), format_forecast(131, 134)
    ('87', '140', '400,000', '134')
    """
    step = 10 ** max(0, len(str(count)) - 2)
    rounded = -(-count // step) * step
    return f"{rounded:,}" if rounded <= most else f"{int(most):,}"


def forecast_text(count: int, noun: str, most: float = math.inf) -> str:
    """Return an estimated count with its noun.

    >>> forecast_text(1, "row"), forecast_text(134028, "row")
    ('1 row', '140,000 rows')
    """
    return f"{format_forecast(count, most)} {noun if count == 1 else f'{noun}s'}"


def since_text(since: float | None) -> str:
    """Return a Unix time as text after a comma, in local time; "" for None."""
    return "" if since is None else time.strftime(", since %Y-%m-%d %H:%M", time.localtime(since))


def format_number(number: float) -> str:
    """Format a number with four significant digits, or as an integer from 1,000 on.

    >>> format_number(0.123456), format_number(12.3456), format_number(123456.7)
    ('0.1235', '12.35', '123,457')
    """
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def format_percent(share: float, digits: int = 0) -> str:
    """Format a share of 1 in per cent; a number that is not 0 or 1 is never rounded to them.

    >>> format_percent(0.516), format_percent(0.999), format_percent(0.001), format_percent(1.0)
    ('52 %', '> 99 %', '< 1 %', '100 %')
    """
    unit = 10.0**-digits
    percent = round(100.0 * share, digits)
    if percent >= 100.0 and share < 1.0:
        return f"> {100.0 - unit:.{digits}f} %"
    if percent <= 0.0 and share > 0.0:
        return f"< {unit:.{digits}f} %"
    return f"{percent:.{digits}f} %"


def confidence_text(level: float, *, percent: bool = False) -> str:
    """Format the probability 1 - level, rounded down: it promises no more than was proved, never 1.

    >>> confidence_text(0.05), confidence_text(1 / 3), confidence_text(1e-6)
    ('0.95', '0.6666', '0.999999')
    >>> confidence_text(0.05, percent=True), confidence_text(1e-6, percent=True)
    ('95 %', '99.9999 %')
    """
    digits = min(15, max(4, math.ceil(-math.log10(level))))
    # The rounding of a product is no reason to move the last digit.
    missing = max(1, math.ceil(level * 10**digits - 1e-6))
    places = digits - 2 if percent else digits
    number = Decimal(10**digits - missing).scaleb(-places)
    text = f"{number:.{places}f}".rstrip("0").removesuffix(".")
    return f"{text} %" if percent else text


def format_range(low: float, high: float) -> str:
    """Format an interval, or one number if both ends look the same.

    >>> format_range(0.1234567, 12), format_range(7.44701, 7.44702)
    ('0.1235 to 12', '7.447')
    """
    first = format_number(low)
    last = format_number(high)
    return first if first == last else f"{first} to {last}"


def note_line(note: str) -> str:
    """Return a note as a line for the terminal, with one full stop.

    >>> note_line("ids from column 'id'"), note_line("Done.")
    ("Note: ids from column 'id'.", 'Note: Done.')
    """
    return f"Note: {note.rstrip('.')}."


def written_line(path: object) -> str:
    """Return the line that announces a file which was written.

    >>> written_line("page.html")
    'Written: page.html'
    """
    return f"Written: {path}"


def format_estimate(estimate: "Estimate") -> str:
    """Format an estimate with the half width of its interval, to two digits.

    The value has as many decimals, at most 4; from 1,000 on it is an integer. An infinite interval
    is left out.

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
    """Name options in messages as on the command line, inside a `with` block.

    command: words of the command line of the user, repeated by `command_text`; empty if not known.
    """
    token = _cli_command.set(shlex.join(command))
    try:
        yield
    finally:
        _cli_command.reset(token)


def is_cli_style() -> bool:
    """Return whether messages are for the command line: inside of a `cli_style` block."""
    return _cli_command.get() is not None


def command_text(name: str, value: str, more: str = "") -> str:
    """Return the command line of the user with one more option, for messages.

    Outside of a `cli_style` block it is only the argument of the Python call, such as
    "kind='losses'".

    name, value: parameter of the Python call, and its value.
    more: further options, as `option_text` returns them.

    >>> with cli_style(["tombola", "compare", "t.csv"]):
    ...     command_text("kind", "losses")
    'tombola compare t.csv --losses'
    """
    command = _cli_command.get()
    options = [option_text(name, value), *filter(None, [more])]
    return ", ".join(options) if command is None else " ".join([*filter(None, [command]), *options])


def answer_text(options: Mapping[str, Any]) -> str:
    """Return the command line of the user with these options, in place of earlier ones; for messages.

    Outside of a `cli_style` block it is only the arguments of the Python call.

    options: parameters of the Python call, with their values.

    >>> with cli_style(["tombola", "rank", "t.csv", "--ignore", "x", "--losses"]):
    ...     answer_text({"ignore": ["x", "y"]})
    'tombola rank t.csv --losses --ignore x,y'
    >>> answer_text({"ignore": ["x", "y"], "transpose": True})
    "ignore=['x', 'y'], transpose=True"
    """
    texts = [
        option_text(name, on=value) if isinstance(value, bool) else option_text(name, value)
        for name, value in options.items()
    ]
    command = _cli_command.get()
    if command is None:
        return ", ".join(texts)
    flags = {text.split()[0] for text in texts}
    words: list[str] = []
    is_value = False
    for word in shlex.split(command):
        if word in flags or word.partition("=")[0] in flags:
            is_value = "=" not in word
        elif is_value and not word.startswith("--"):
            is_value = False
        else:
            is_value = False
            words.append(word)
    return " ".join([*filter(None, [shlex.join(words)]), *texts])


@contextmanager
def offered_flags(flags: Iterable[str]) -> Iterator[None]:
    """Name the flags of the command that runs, such as --ignore, inside a `with` block."""
    token = _cli_flags.set(frozenset(flags))
    try:
        yield
    finally:
        _cli_flags.reset(token)


def is_offered(options: Iterable[str]) -> bool:
    """Return whether the command that runs has these options; True in Python.

    options: parameters of the Python call.

    >>> with offered_flags(["--id", "--ignore"]):
    ...     is_offered(["ids", "ignore"]), is_offered(["features"])
    (True, False)
    """
    flags = _cli_flags.get()
    # Flags of a value, such as --losses of kind, have names of their own.
    names = [name for name in options if name not in ("kind", "rescale")]
    texts = {_CLI_NAMES.get(name, f"--{name.replace('_', '-')}") for name in names}
    return flags is None or texts <= flags


def option_text(
    name: str,
    value: str | Sequence[str] | tuple[float, float | str] | None = None,
    *,
    on: bool | None = None,
) -> str:
    """Return an option as in Python, or as on the command line (`cli_style`).

    name: parameter of the Python call; on the command line an option may have another name.
    value: the value to show (two numbers, or a number and a placeholder, are a range); None for the
        name alone.
    on: the state of a flag; None if it is not a flag.

    >>> option_text("missing", "drop"), option_text("rescale", on=True), option_text("actions", ["a", "b"])
    ("missing='drop'", 'rescale=True', "actions=['a', 'b']")
    >>> with cli_style():
    ...     option_text("missing", "drop"), option_text("rescale", on=True), option_text("ids")
    ('--missing drop', '--rescale', '--id')
    """
    in_python = _cli_command.get() is None
    if isinstance(value, tuple) and isinstance(value[0], float):
        numbers = [end if isinstance(end, str) else f"{end:g}" for end in value]
        return f"{name}=({', '.join(numbers)})" if in_python else f"--{name} {','.join(numbers)}"
    if in_python:
        return f"{name}={on}" if on is not None else name if value is None else f"{name}={value!r}"
    flag = _CLI_NAMES.get(f"{name}={value if on is None else on}")
    if flag is not None:
        return flag
    word = _CLI_NAMES.get(name, f"--{name.replace('_', '-')}")
    if value is None:
        return word
    items = (
        value
        if isinstance(value, str)
        else ",".join(f'"{item}"' if "," in str(item) else str(item) for item in value)
    )
    return f"{word} {_shell_quoted(items)}"


def assignment_text(name: str, value: str) -> str:
    """Return a parameter with its value as `option_text` does, without quotes.

    >>> assignment_text("within", "0.5")
    'within=0.5'
    >>> with cli_style():
    ...     assignment_text("max_cost", "25")
    '--max-cost 25'
    """
    return f"{name}={value}" if _cli_command.get() is None else f"{option_text(name)} {value}"


def _shell_quoted(text: str) -> str:
    plain = all(letter.isalnum() or letter in "_-.,:/@%+=" for letter in text)
    return text if plain and text else "'" + text.replace("'", "'\"'\"'") + "'"


class HtmlTable(NamedTuple):
    """A table of plain text for `html_block`, which escapes every text.

    total: number of rows of the whole table, if `rows` has only the first ones.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    heading: str = ""
    total: int | None = None


def html_block(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    tables: Iterable[HtmlTable] = (),
    notes: Iterable[str] = (),
) -> str:
    """Return HTML of a title, facts, tables and sentences; all text is escaped.

    Of each table `MAX_ROWS` rows are shown; the others are counted in a line below.

    facts: pairs of a name and its value, one line each.
    notes: sentences below the tables.

    >>> html_block("a < b", [("rows", "2")])
    '<div><strong>a &lt; b</strong><div>rows: 2</div></div>'
    """
    parts = [f"<strong>{_html_text(title)}</strong>"]
    line = ", ".join(f"{_html_text(name)}: {_html_text(value)}" for name, value in facts)
    parts += [f"<div>{line}</div>"] if line else []
    parts += [_table_html(table) for table in tables]
    parts += [f"<div>{_html_text(note)}</div>" for note in notes if note]
    return f"<div>{''.join(parts)}</div>"


def _html_text(text: str) -> str:
    r"""Escape text for HTML; control characters become visible."""
    return escape(escape_control(text))


def short_repr(text: str, length: int = _MAX_REPR_LENGTH) -> str:
    r"""Return the text on one line of at most `length` characters, escaped.

    >>> short_repr("Hedge(\n  0.5)"), short_repr("x" * 300)[-5:], len(short_repr("x" * 300))
    ('Hedge( 0.5)', 'xx...', 199)
    """
    return truncate(escape_control(truncate(text, 4 * length), line=True), length)


def short_learner(learner: object) -> str:
    """Return the `repr` of a learner, cut for the `repr` of an object that owns it."""
    return short_repr(repr(learner), _MAX_LEARNER_LENGTH)


def _table_html(table: HtmlTable) -> str:
    rows = table.rows[:MAX_ROWS]
    styles = [
        _RIGHT if rows and all(_is_numeric(row[at]) for row in rows) else _LEFT
        for at in range(len(table.columns))
    ]
    head = "".join(
        f'<th style="{style}">{_html_text(name)}</th>'
        for name, style in zip(table.columns, styles, strict=True)
    )
    cells = [[_html_text(truncate(text, _MAX_NAME_LENGTH)) for text in row] for row in rows]
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style}">{cell}</td>' for cell, style in zip(row, styles, strict=True)
        )
        + "</tr>"
        for row in cells
    )
    heading = f"<div>{_html_text(table.heading)}</div>" if table.heading else ""
    more = (len(table.rows) if table.total is None else table.total) - len(rows)
    rest = f"<div>and {more:,} more</div>" if more > 0 else ""
    return (
        f"{heading}<table "
        f'style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}'
    )


def _is_numeric(text: str) -> bool:
    """Return whether a cell is a number, or stands for a missing one."""
    digits = text.replace(",", "").replace(".", "", 1).replace("e-", "", 1).lstrip("-+")
    return digits.isdigit() or text in ("", "–", "inf")


def nan_to_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a mapping with None in place of NaN, which JSON does not have.

    >>> nan_to_none({"mean": math.nan, "rows": 3})
    {'mean': None, 'rows': 3}
    """
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in values.items()
    }


def to_frame(owner: str, columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a data frame: pandas if it is installed, else polars.

    Raises ParameterError, in the name of the class `owner`, if neither is installed.

    >>> to_frame("Runs", {"a": [1, 2]}).shape
    (2, 1)
    """
    for library in ("pandas", "polars"):
        try:
            return __import__(library).DataFrame(columns)
        except ImportError:
            continue
    raise ParameterError(
        f"{owner}.to_frame: expected pandas or polars, got neither; install one of them, or use "
        f"{owner}.columns()."
    )
