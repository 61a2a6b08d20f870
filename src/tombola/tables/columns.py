"""Columns of numbers, parsed from cells; the place of a missing or invalid cell is known for messages."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from string import ascii_letters
from types import MappingProxyType
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text, truncate
from tombola._types import Floats, Integers
from tombola.errors import TableError
from tombola.tables.input_checks import check_memory
from tombola.tables.names import matching

# Texts that count as a missing cell, in lower case: those that spreadsheets, R, pandas and
# databases write.
MISSING = frozenset(
    {
        "",
        "na",
        "n/a",
        "n.a.",
        "#n/a",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        "?",
        "-",
        "--",
        ".",
        "<na>",
    }
)
# Texts of a run without an answer in time, in lower case; they are missing cells. So is >60, a
# limit that was reached.
_TIMEOUTS = frozenset({"timeout", "time out", "timed out", "time-out", "t/o", "tle", "memout"})
_BEYOND_LIMIT = re.compile(r">=?\s*\d+(?:[.,]\d+)?\s*s?")
# Words that count as numbers, in lower case -> number; Excel and pandas write booleans as words.
BOOLEANS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
# Words for a result, in lower case. They are not read as numbers: 1 for pass is a score, but would
# be a loss, too.
_RESULTWORDS = frozenset({
    "pass", "passed", "fail", "failed", "correct", "incorrect", "right", "wrong", "success", "failure", "ok", "solved",
    "unsolved", "y", "n",
})  # fmt: skip
# A text with one of these letters, or that begins with any, is no number: others are in 1e5, nan,
# inf, NaT and >60 s. The words in lower case are the exceptions, with all percentages.
_WORD_LETTER = re.compile(r"^[A-Za-z]|[bcdghjklmopqruvwxzBCDGHJKLMOPQRUVWXZ]")
_LETTERS = frozenset(ascii_letters)
_WORDS = MISSING | _TIMEOUTS | BOOLEANS.keys() | {"to", "inf", "infinity", "nat"}
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/|of|out of)\s*(\d+(?:\.\d+)?)")
# Notations, the keys of `Column.notations`: how the number of a cell is written.
PLAIN = "plain"  # with a decimal point, or true and false
PERCENT = "percent"  # 12.5% is 0.125
WORD = "word"  # yes and no, which count as 1 and 0
_DECIMAL_COMMA = "decimal comma"  # 0,5
TIMEOUT = "timeout"  # a run that did not end in time, such as TO or >60; it counts as missing
AMBIGUOUS_COMMA = "comma"  # 1,234 is 1.234, or 1234 if the comma separates thousands
AMBIGUOUS_POINT = "point"  # 1.234 is 1234 in a table whose commas are decimal
# Start of the note on timeouts in a table; `ParsedTable.has_timeouts` recognises the note by it.
TIMEOUT_NOTE = "timeouts such as"
_AMBIGUOUS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_AMBIGUOUS_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+")
# 2.443,00: points between thousands and a decimal comma.
_POINTS_AND_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")
# Bytes per cell that rows of Python objects take at least.
_CELL_SIZE = 64


class CellRef(NamedTuple):
    """A cell of a column: its row, from 0, and its text; for messages."""

    row: int
    text: str


class IntegerTexts(Sequence[str]):
    """The texts of whole numbers, made when they are asked for: few of them ever are.

    >>> texts = IntegerTexts(np.array([1.0, 20.0]))
    >>> list(texts), texts[1], "20" in texts
    (['1', '20'], '20', True)
    """

    def __init__(self, numbers: Floats) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "IntegerTexts": ...
    def __getitem__(self, place: int | slice) -> "str | IntegerTexts":
        if isinstance(place, slice):
            return IntegerTexts(self._numbers[place])
        return str(int(self._numbers[place]))

    def __iter__(self) -> Iterator[str]:
        return map(str, self._numbers.astype(np.int64).tolist())


class Column(NamedTuple):
    """A column: its name, its numbers (NaN if missing or invalid), and its cells as written, if kept.

    first_invalid, first_missing: first cell that is not a number, and first missing one; None if
        there is none.
    notations: each way in which numbers are written, such as "percent", with the first cell written
        so.
    """

    name: str
    numbers: Floats
    texts: Sequence[str] | None = None
    first_invalid: CellRef | None = None
    first_missing: CellRef | None = None
    notations: Mapping[str, CellRef] = MappingProxyType({})

    @property
    def n_numbers(self) -> int:
        """The number of cells that hold a number."""
        return int(np.count_nonzero(~np.isnan(self.numbers)))

    @property
    def labels(self) -> list[str]:
        """The cells as text; numbers in the shortest form if no text was kept.

        >>> Column("threshold", np.array([0.1, 2.0, 1e15])).labels
        ['0.1', '2', '1000000000000000']
        """
        if self.texts is not None:
            return list(self.texts)
        return [
            f"{number:.0f}" if number.is_integer() else repr(number)
            for number in self.numbers.tolist()
        ]

    def head(self, rows: int) -> "Column":
        """Return the column with its first rows only."""

        def kept(cell: CellRef | None) -> CellRef | None:
            return cell if cell is not None and cell.row < rows else None

        notations = {name: cell for name, cell in self.notations.items() if cell.row < rows}
        texts = None if self.texts is None else self.texts[:rows]
        invalid = kept(self.first_invalid)
        missing = kept(self.first_missing)
        return Column(self.name, self.numbers[:rows], texts, invalid, missing, notations)

    def select(self, mask: NDArray[np.bool_]) -> "Column":
        """Return the column with the rows of a mask; cells that it leaves out are not referred to."""
        places = np.cumsum(mask) - 1

        def moved(cell: CellRef | None) -> CellRef | None:
            is_left = cell is not None and bool(mask[cell.row])
            return CellRef(int(places[cell.row]), cell.text) if cell and is_left else None

        notations = {}
        for notation, cell in self.notations.items():
            if (place := moved(cell)) is not None:
                notations[notation] = place
        texts = None
        if self.texts is not None:
            texts = [self.texts[row] for row in np.flatnonzero(mask).tolist()]
        numbers = self.numbers[mask]
        first_missing = moved(self.first_missing)
        if self.first_missing is not None and first_missing is None and self.first_invalid is None:
            blank = np.flatnonzero(np.isnan(numbers))
            first_missing = CellRef(int(blank[0]), "") if blank.size else None
        return Column(
            self.name, numbers, texts, moved(self.first_invalid), first_missing, notations
        )


@dataclass(frozen=True, eq=False)
class Columns:
    """A table as columns, before their roles (action, id, cost) are assigned.

    source: name of the table in messages.
    lines: line number of each row in the file; None if unknown.
    notes: remarks of the reader.
    decimal: the decimal mark that the user named; None without one.
    """

    source: str
    columns: Sequence[Column]
    lines: Integers | None = None
    notes: tuple[str, ...] = ()
    decimal: str | None = None

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return len(self.columns[0].numbers)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns, keyed by their names."""
        return {column.name: column for column in self.columns}

    def place(self, row: int) -> str:
        """Return a row's place as text: "line 5" of the file, or "row 3" without lines."""
        return f"row {row}" if self.lines is None else f"line {int(self.lines[row])}"

    def find(self, name: str, option: str) -> Column:
        """Return the column that `option`, such as "ids", names; TableError if unknown."""
        if name in self.by_name:
            return self.by_name[name]
        raise TableError(
            f"{self.source}: expected a column called {name!r} as {option_text(option)} states, "
            "got "
            f"{join_names([*self.by_name])}; name one of those."
        )

    def matching(self, pattern: str, option: str) -> list[str]:
        """Return the names of columns that match a pattern; TableError, with the option, if none does."""
        return matching(self.by_name, pattern) or [self.find(pattern, option).name]

    def numeric(self, column: Column) -> Column:
        """Return the column; TableError unless all cells are missing or clearly numbers."""
        if column.first_invalid is not None:
            raise TableError(
                f"{self.source}: expected a number in {self.place(column.first_invalid.row)}, "
                f"column {column.name!r}, "
                f"got {truncate(column.first_invalid.text)!r}; {_repair_text(column)}."
            )
        if PERCENT in column.notations and len(column.notations) > 1:
            other = next(cell for notation, cell in column.notations.items() if notation != PERCENT)
            raise TableError(
                f"{self.source}: expected a percent sign in every cell of column {column.name!r} "
                "or in none, got "
                f"{truncate(other.text)!r} in {self.place(other.row)}; write all cells alike."
            )
        mark, name = (".", AMBIGUOUS_POINT) if self._has_decimal_commas else (",", AMBIGUOUS_COMMA)
        if cell := column.notations.get(name):
            raise TableError(
                f"{self.source}: expected a number in {self.place(cell.row)}, column "
                f"{column.name!r}, got "
                f"{cell.text!r}, which may have a decimal {name} or one between thousands; if it "
                "is decimal write "
                f"{option_text('decimal', mark)}, else leave out the {name}s."
            )
        return column

    def all_different(self, column: Column) -> bool:
        """Return whether no cell of a column repeats; a long one is examined once."""
        if column.name not in self._different:
            texts = None if isinstance(column.texts, IntegerTexts) else column.texts
            values = texts or column.numbers.tolist()
            self._different[column.name] = len(set(values)) == len(column.numbers)
        return self._different[column.name]

    @cached_property
    def _different(self) -> dict[str, bool]:
        return {}

    def matrix(self, columns: Sequence[Column]) -> Floats:
        """Return the numbers of columns, shape (rows, columns); TableError as for `numeric`."""
        return np.column_stack([self.numeric(column).numbers for column in columns])

    def select(self, mask: NDArray[np.bool_]) -> "Columns":
        """Return the table with the rows of a mask."""
        lines = None if self.lines is None else self.lines[mask]
        return replace(self, columns=[column.select(mask) for column in self.columns], lines=lines)

    @cached_property
    def _has_decimal_commas(self) -> bool:
        """Whether commas are decimal: by option, or because a cell proves it."""
        if self.decimal is not None:
            return self.decimal == ","
        return any(_DECIMAL_COMMA in column.notations for column in self.columns)


class _ParsedCell(NamedTuple):
    """A cell as a number (NaN if missing, None if invalid), and its notation."""

    number: float | None
    notation: str = PLAIN


def parse_cell(cell: Any) -> _ParsedCell:
    """Parse a cell: number, boolean, percentage, decimal comma, or missing.

    Returns `number` (NaN if missing, None if invalid) and `notation`, such as "percent": how it is
    written.

    >>> [parse_cell(cell).number for cell in (" 0.5 ", "True", "NA", "12.5%", "0,5", "good", "1_000")]
    [0.5, 1.0, nan, 0.125, 0.5, None, None]
    >>> parse_cell("1,234").notation, parse_cell(">60").notation
    ('comma', 'timeout')
    """
    if not isinstance(cell, str):
        return _ParsedCell(_to_float(cell))
    text = cell.strip().lower()
    if text in MISSING:
        return _ParsedCell(math.nan)
    if text in _TIMEOUTS or cell.strip() == "TO" or _BEYOND_LIMIT.fullmatch(text):
        return _ParsedCell(math.nan, TIMEOUT)
    if text in BOOLEANS:
        return _ParsedCell(BOOLEANS[text], PLAIN if text in ("true", "false") else WORD)
    if text.endswith("%"):
        share = parse_cell(text[:-1])
        return _ParsedCell(None if share.number is None else share.number / 100, PERCENT)
    if _COMMA_NUMBER.fullmatch(text):
        ambiguous = _AMBIGUOUS_COMMA.fullmatch(text)
        return _ParsedCell(
            float(text.replace(",", ".")), AMBIGUOUS_COMMA if ambiguous else _DECIMAL_COMMA
        )
    # float() accepts 1_000, which no table means.
    number = None if "_" in text else _to_float(text)
    return _ParsedCell(number, AMBIGUOUS_POINT if has_ambiguous_point(text) else PLAIN)


def parse_number(cell: Any) -> float:
    """Return the number in a cell, with a point or a decimal comma; NaN without one.

    >>> [parse_number(cell) for cell in ("0.5", " 0,5", "1,234", "yes", "inf", "")]
    [0.5, 0.5, nan, nan, nan, nan]
    """
    try:
        number = float(cell)
    except (TypeError, ValueError):
        cell_value = parse_cell(cell)
        number = (
            math.nan
            if cell_value.number is None or cell_value.notation != _DECIMAL_COMMA
            else cell_value.number
        )
    return number if math.isfinite(number) else math.nan


def has_ambiguous_point(text: str) -> bool:
    """Return whether the point in a number may separate thousands, as in "1.234"."""
    # The slice is a cheap test for the usual case, before the regular expression.
    return text.strip()[-4:-3] == "." and _AMBIGUOUS_POINT.fullmatch(text.strip()) is not None


def parse_column(
    name: str, cells: Iterable[Any], *, first_row: int = 0, keep_texts: bool = False
) -> Column:
    """Parse cells of a column that starts at row `first_row`; NaN for invalid cells."""
    cells = cells if isinstance(cells, list | tuple) else list(cells)
    doubtful = _doubtful_rows(cells)
    numbers = [math.nan] * len(cells)
    first_invalid = None
    first_missing = None
    notations: dict[str, CellRef] = {}
    word = next((row for row, other in enumerate(doubtful) if row != other), len(doubtful))
    if word < len(cells):
        first_invalid = CellRef(first_row + word, cells[word])
    for place in doubtful:
        row = first_row + place
        cell = cells[place]
        value, notation = parse_cell(cell)
        if value is None:
            if first_invalid is None or row < first_invalid.row:
                first_invalid = CellRef(row, str(cell))
            continue
        if math.isnan(value):
            first_missing = first_missing or CellRef(row, "" if cell is None else str(cell))
        if (notation == TIMEOUT or not math.isnan(value)) and notation not in notations:
            notations[notation] = CellRef(row, str(cell).strip())
        numbers[place] = value
    texts = _stripped(cells) if keep_texts else None
    array = np.array(numbers, dtype=np.float64)
    return Column(name, array, texts, first_invalid, first_missing, notations)


def _stripped(cells: Sequence[Any]) -> list[str]:
    try:
        return list(map(str.strip, cells))
    except TypeError:  # not only texts
        return ["" if cell is None else str(cell).strip() for cell in cells]


def _doubtful_rows(cells: Sequence[Any]) -> Sequence[int]:
    """Return the places of cells that may be numbers or missing; the others are words for certain."""
    try:
        joined = "".join(cells)
        has_word = not _WORDS.isdisjoint(map(str.lower, map(str.strip, cells)))
    except TypeError:  # not only texts
        return range(len(cells))
    if not has_word and "%" not in joined:
        if {cell[:1] for cell in cells} <= _LETTERS:
            return []
        return [place for place, cell in enumerate(cells) if not _WORD_LETTER.search(cell)]
    return [
        place
        for place, cell in enumerate(cells)
        if "%" in cell or not _WORD_LETTER.search(cell) or cell.strip().lower() in _WORDS
    ]


def parse_text_column(
    name: str, cells: Sequence[str], first_row: int = 0, *, keep_texts: bool
) -> Column:
    """Parse cells of text of a column; plain numbers are converted at once, which is faster."""
    numbers: Floats
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        numbers = np.full(1, np.nan)
    joined = "".join(cells)
    if not np.isfinite(numbers).all() or "_" in joined:
        return parse_column(name, cells, first_row=first_row, keep_texts=keep_texts)
    # Numbers below 1 cannot have a thousands separator.
    large = np.flatnonzero(np.abs(numbers) >= 1).tolist() if "." in joined else ()
    ambiguous = next((row for row in large if has_ambiguous_point(cells[row])), None)
    plain = 0
    notations = {}
    if ambiguous is not None:
        notations[AMBIGUOUS_POINT] = CellRef(first_row + ambiguous, cells[ambiguous].strip())
        plain = next((row for row, c in enumerate(cells) if not has_ambiguous_point(c)), len(cells))
    if plain < len(cells):
        notations[PLAIN] = CellRef(first_row + plain, cells[plain].strip())
    texts = _stripped(cells) if keep_texts else None
    return Column(name, numbers, texts, notations=notations)


def parse_words(words: Mapping[str, float] | str) -> dict[str, float]:
    """Return numbers for words, in lower case, from a mapping or from text such as yes=1,no=0.

    >>> parse_words("Ja=1, nein=0"), parse_words({"oui": 1})
    ({'ja': 1.0, 'nein': 0.0}, {'oui': 1.0})
    """
    if isinstance(words, str):
        pairs = [part.rpartition("=") for part in words.split(",") if part.strip()]
        words = {word: parse_number(number) for word, _, number in pairs}
    wrong = next((word for word, number in words.items() if not (word and number == number)), None)
    if wrong is not None:
        raise TableError(
            f"{option_text('words')}: expected words with a number each, got {wrong!r} without "
            f"one; write {option_text('words', 'yes=1,no=0')}."
        )
    return {word.strip().lower(): float(number) for word, number in words.items()}


def with_words(table: Columns, words: Mapping[str, float]) -> Columns:
    """Return the table with words as numbers, in columns that have no other words."""
    columns = []
    for column in table.columns:
        texts = column.texts
        if column.first_invalid is not None and texts is not None:
            cells = [words.get(text.lower(), text) for text in texts]
            column = parse_column(column.name, cells)._replace(texts=texts)
        columns.append(column)
    return replace(table, columns=columns)


def columns_from_rows(
    source: str, names: Sequence[str], rows: Iterable[Sequence[Any]], *, note: str = ""
) -> Columns:
    """Parse a table that is given as rows of cells; the texts of all columns are kept.

    A cell that is not a number becomes NaN, and its column has the place of the first one; every
    row must have a cell for each name.

    source: name of the table in messages, such as its file.
    note: remark of the reader for the notes of the table; "" for none.
    """
    check_unique_names(source, names)
    cells = []
    for row in rows:
        cells.append(
            [
                cell if cell is None or isinstance(cell, str | int | float) else str(cell)
                for cell in row
            ]
        )
        # Checking every row would take longer than reading it.
        if len(cells) % 4096 == 0:
            check_memory(source, _CELL_SIZE * len(cells) * len(names))
    if not cells:
        raise TableError(
            f"{source}: expected at least one row, got none; give a table that is not empty."
        )
    by_column = zip(names, zip(*cells, strict=True), strict=True)
    columns = [parse_column(name, column, keep_texts=True) for name, column in by_column]
    return Columns(source, columns, notes=(note,) if note else ())


def notation_notes(columns: Sequence[Column]) -> list[str]:
    """Return a note with an example for each notation except plain numbers."""
    examples: dict[str, tuple[Column, CellRef]] = {}
    for column in columns:
        for notation, cell in column.notations.items():
            examples.setdefault(
                _DECIMAL_COMMA if notation == AMBIGUOUS_COMMA else notation, (column, cell)
            )
    return [
        f"{TIMEOUT_NOTE} {cell.text!r} in column {column.name!r} are missing cells"
        if notation == TIMEOUT
        else f"{notation}: {cell.text!r} in column {column.name!r} was read as "
        f"{column.numbers[cell.row]:g}"
        for notation, (column, cell) in examples.items()
        if notation not in (PLAIN, AMBIGUOUS_POINT)
    ]


def check_unique_names(
    source: str,
    names: Sequence[str],
    rule: str = "columns must have different names",
    fix: str = "rename one of them",
) -> None:
    """Raise TableError "source: rule, got NAME twice; fix." if a name occurs twice."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(f"{source}: {rule}, got {name!r} twice; {fix}.")
        seen.add(name)


def has_result_word(column: Column) -> bool:
    """Return whether the first invalid cell is a word for a result, such as pass."""
    return (
        column.first_invalid is not None
        and column.first_invalid.text.strip().lower() in _RESULTWORDS
    )


def _repair_text(column: Column) -> str:
    """Return the fix, for an error message, of the first cell that is no number."""
    assert column.first_invalid is not None
    if has_result_word(column):
        return (
            "write 1 for pass and 0 for fail in every cell, with "
            f"{option_text('kind', 'scores')}, since higher is "
            "then better"
        )
    text = column.first_invalid.text.strip()
    if _POINTS_AND_COMMA.fullmatch(text):
        return f"leave out the points between thousands in every cell: {text.replace('.', '')}"
    if text.startswith("="):
        return (
            "it is a formula without its value: open the file in a spreadsheet, and save the values"
        )
    share = parse_share(text)
    if share is not None:
        points, most = share
        return (
            f"write {points / most:g}, or {points:g} in every cell with "
            f"{option_text('range', (0.0, most))}"
        )
    return (
        "fill it in, leave out the row, or leave out the column with "
        f"{option_text('ignore', [column.name])}"
    )


def parse_share(text: str) -> tuple[float, float] | None:
    """Return points and their maximum of a text such as "8/10" or "8 out of 10"; None for other texts."""
    match = _SHARE.fullmatch(text.strip())
    return (float(match[1]), float(match[2])) if match and float(match[2]) > 0 else None


def _to_float(cell: Any) -> float | None:
    # pandas and polars have their own missing values.
    if cell is None or str(cell) in ("<NA>", "NaT"):
        return math.nan
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isinf(value) else value
