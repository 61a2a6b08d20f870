"""OnlineStatistic: ids to start a run from, and outcomes to record, read from text files."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tombola._formatting import csv_cell_matches
from tombola.budget.budget import Budget
from tombola.errors import TableError
from tombola.persistence.outcome import Outcome
from tombola.readers.formats.delimited import text_lines, text_table

if TYPE_CHECKING:
    from tombola.persistence.session_file import Assignment

IDS = ("id", "ids", "row")


def read_ids(path: Path, column: str | None = None) -> list[str]:
    """Return the ids in a CSV or TSV table (the column called id, or `column`), or the lines of a .txt file."""
    if path.suffix.lower() == ".txt":
        if column is not None:
            raise TableError(
                f"{path}: expected a table for --column {column}, got a .txt, which has one row a line; call it .csv."
            )
        lines = [line.strip() for line in text_lines(path) if line.strip()]
        ids = lines[1:] if lines and lines[0].lower() in IDS else lines
    else:
        header, rows = _table(path)
        place = _place(path, header, (column,) if column else IDS, "--column NAME")
        ids = [row[place].strip() for row in rows]
    if not ids or not all(ids):
        raise TableError(f"{path}: expected an id in every row, got none or an empty one; fill it in.")
    return ids


def cost_columns(budget: Budget | None) -> tuple[str, ...]:
    """Return the names of the columns of costs: `cost`, or `cost:1`, `cost:2`, ... if there are several resources.

    >>> cost_columns(Budget([5.0, 2.0], worst=1.0))
    ('cost:1', 'cost:2')
    """
    resources = 0 if budget is None else budget.per_resource.size
    return ("cost",) if resources == 1 else tuple(f"cost:{number}" for number in range(1, resources + 1))


def read_outcomes(
    path: Path,
    actions: tuple[str, ...] | None,
    round_of: Callable[[str], int],
    *,
    play_of: "Callable[[int], Assignment] | None" = None,
    costs: tuple[str, ...] = (),
    rewards: bool = False,
) -> list[Outcome]:
    """Return the outcomes in a CSV or TSV table: a column `ticket` or `id`, and the numbers; blank: not known yet.

    The numbers are in a column `loss` or `reward`; if whole rows are seen, in one column for each of `actions` (losses,
    unless `rewards` says otherwise). What the action played cost is in the columns `costs`, if they are there. Where
    there are also columns `id` and `action`, they must say what the ticket was, by `play_of`.
    """
    header, rows = _table(path)
    key = _place(path, header, ("ticket",) if "ticket" in header else IDS, "a header such as ticket,loss")
    if actions is not None:
        places = [_place(path, header, (action,), "a column for every action") for action in actions]
    else:
        places = [_place(path, header, ("loss", "reward"), "a header such as ticket,loss")]
        rewards = rewards or header[places[0]] == "reward"
    priced = (
        [_place(path, header, (name,), "a column for each resource") for name in costs] if {*costs} & {*header} else []
    )
    checked = {name for name in ("id", "action") if header.count(name) == 1 and name not in (actions or ())}
    outcomes = []
    for row in rows:
        cells = [row[place].strip() for place in places]
        cost = [row[place].strip() for place in priced] or None
        if any(cells):
            round_ = _ticket(path, row[key]) if header[key] == "ticket" else round_of(row[key].strip())
            if checked and play_of is not None:
                _agree(path, {name: row[header.index(name)] for name in checked}, play_of(round_))
            value = cells if actions is not None else cells[0]
            outcomes.append(Outcome(round_, None, value, cost) if rewards else Outcome(round_, value, None, cost))
    return outcomes


def _agree(path: Path, told: dict[str, str], play: "Assignment") -> None:
    """Refuse an outcome of another row, or of another action, than its ticket's."""
    for name, written in told.items():
        wanted = getattr(play, name)
        if not csv_cell_matches(written, wanted):
            raise TableError(
                f"{path}: expected the {name} {wanted!r} for ticket {play.round}, got {written.strip()!r}; record what "
                f"came of the ticket as `next` gave it, or leave out the column {name}."
            )


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
    header, rows, _ = text_table(path)
    if not header:
        raise TableError(f"{path}: expected a header and rows, got an empty file; add them.")
    return header, [row for _, row in rows if any(cell.strip() for cell in row)]
