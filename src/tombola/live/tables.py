"""Tables: ids to start a run from, and outcomes to record, read from text files."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from tombola.errors import TableError
from tombola.live.run import Outcome

IDS = ("id", "ids", "row")
LONGEST = 1 << 20  # characters in a line


def read_ids(path: Path, column: str | None = None) -> list[str]:
    """Return the ids in a CSV or TSV table (the column called id, or `column`), or the lines of a .txt file."""
    if path.suffix.lower() == ".txt":
        lines = [line.strip() for line in _text(path) if line.strip()]
        ids = lines[1:] if lines and lines[0].lower() in IDS else lines
    else:
        header, rows = _table(path)
        place = _place(path, header, (column,) if column else IDS, "--column NAME")
        ids = [row[place].strip() for row in rows]
    if not ids or not all(ids):
        raise TableError(f"{path}: expected an id in every row, got none or an empty one; fill it in.")
    return ids


def read_outcomes(
    path: Path, actions: tuple[str, ...], feedback: str, round_of: Callable[[str], int], *, rewards: bool = False
) -> list[Outcome]:
    """Return the outcomes in a CSV or TSV table: a column `ticket` or `id`, and the numbers; blank: not known yet.

    The numbers are in a column `loss` or `reward`; if feedback is full, in one column for every action (losses, unless
    `rewards` says otherwise).
    """
    header, rows = _table(path)
    key = _place(path, header, ("ticket",) if "ticket" in header else IDS, "a header such as ticket,loss")
    if feedback == "full":
        places = [_place(path, header, (action,), "a column for every action") for action in actions]
    else:
        places = [_place(path, header, ("loss", "reward"), "a header such as ticket,loss")]
        rewards = rewards or header[places[0]] == "reward"
    outcomes = []
    for row in rows:
        cells = [row[place].strip() for place in places]
        if any(cells):
            round_ = _ticket(path, row[key]) if header[key] == "ticket" else round_of(row[key].strip())
            value = cells if feedback == "full" else cells[0]
            outcomes.append(Outcome(round_, None, value) if rewards else Outcome(round_, value))
    return outcomes


def _place(path: Path, header: list[str], names: tuple[str, ...], advice: str) -> int:
    found = [place for place, name in enumerate(header) if name in names]
    if len(found) != 1:
        wanted, got = " or ".join(names), ", ".join(header[:20])
        raise TableError(f"{path}: expected one column called {wanted}, got the columns {got}; write {advice}.")
    return found[0]


def _ticket(path: Path, text: str) -> int:
    if not (text.strip().isdecimal() and len(text) < 20):
        raise TableError(f"{path}: expected the number of a ticket, got {text!r}; take the one that `next` gave.")
    return int(text)


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows, blank lines left out."""
    try:
        reader = csv.reader(_text(path), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        lines = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise TableError(f"{path}: expected a text table, got something else ({error}); export it as CSV.") from None
    if not lines:
        raise TableError(f"{path}: expected a header and rows, got an empty file; add them.")
    header = [name.strip() for name in lines[0][1]]
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise TableError(
                f"{path}: expected {len(header)} columns as in the header, got {len(row)} in line {number}; "
                "repair that line."
            )
    return header, [row for _, row in lines[1:]]


def _text(path: Path) -> Iterator[str]:
    """Return the lines of a text file."""
    if not path.is_file():
        raise TableError(f"{path}: expected a file, found none; check the path.")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # Excel puts a byte order mark first
            yield from _short(path, file)
    except UnicodeDecodeError:
        raise TableError(f"{path}: expected text in UTF-8, got something else; export it as CSV again.") from None


def _short(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(LONGEST):
        if len(line) == LONGEST or "\0" in line:
            raise TableError(f"{path}: expected lines of text, got an endless or a binary one; export it as CSV again.")
        yield line
