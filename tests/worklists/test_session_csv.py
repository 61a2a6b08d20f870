"""Tables of outcomes, and the daily list."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tombola import UCB1
from tombola.errors import FeedbackError, SessionError, TableError
from tombola.tables.cells import read_cells
from tombola.tables.unit_checks import cell_loss
from tombola.units import Units
from tombola.worklists import Assignment, Outcome, SessionFile
from tombola.worklists.session_csv import check_daily_list, read_outcomes, write_daily_list

pytestmark = pytest.mark.usefixtures("plainly")

TEN_POINTS, YES_IS_GOOD = Units(0, 10, scores=True), Units(scores=True)
# Outcome errors of a table with scores from 0 to 1: a range cannot make a number of a word.
RANGE_FIX, WORD_FIX = "--range", "write yes, no, 0, 1"

Read = Callable[..., list[tuple[int, Any]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that reads a text as the outcomes of a session with the rows x (ticket 3) and y (ticket 1)."""

    def read(
        text: str, unit: Units | None = None, *, is_full: bool = False
    ) -> list[tuple[int, Any]]:
        (tmp_path / "o.csv").write_text(text)
        model = SimpleNamespace(full_feedback=is_full, n_listed_actions=2)
        session: Any = SimpleNamespace(
            feedback_model=model,
            names=("a", "b"),
            columns=(),
            id_column="id",
            budget=None,
            round_of={"x": 3, "y": 1, "z": 4}.__getitem__,
            round=3,
            assignment=lambda ticket: Assignment(ticket, {3: "x", 1: "y"}[ticket], "a", 1.0),
        )
        units: Callable[[str], Units] = lambda name: unit or Units(scores=name == "score")  # noqa: E731
        return [(one.round, one.loss) for one in read_outcomes(session, tmp_path / "o.csv", units)]

    return read


def test_read_outcomes(read: Read) -> None:
    assert read("ticket,loss\n2,0.5\n9,\n1,1\n") == [(2, 0.5), (1, 1.0)]
    assert read("score,id\n0.5,x\n0.25,y\n") == [(3, 0.5), (1, 0.75)]
    assert read("id,b,a\nx,0,1\ny,,\n", is_full=True) == [(3, [1.0, 0.0])]
    assert read("id,b,a\nx,0,1\n", YES_IS_GOOD, is_full=True) == [(3, [0.0, 1.0])]
    assert read("Ticket;Outcome\n2;7,5\n3;10\n", TEN_POINTS) == [(2, 0.25), (3, 0.0)]
    for word, loss in (("yes", 0.0), ("No", 1.0), ("TRUE", 0.0), ("false", 1.0)):
        assert read(f"ticket,outcome\n1,{word}\n", YES_IS_GOOD) == [(1, loss)]


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("ticket\n1\n", None, "expected one column with outcomes"),
        ("loss\n1\n", None, "expected one column called"),
        ("ticket,loss,score\n1,1,0\n", None, "expected one column with outcomes"),
        *(
            (f"ticket,loss\n{cell},1\n", None, "line 2: expected the number of a ticket")
            for cell in ("x", "-1", "0")
        ),
        *(
            (f"ticket,outcome\n1,yes\n\n2,{cell}\n", YES_IS_GOOD, RANGE_FIX)
            for cell in ("1.5", "-0.1")
        ),
        *(
            (f"ticket,outcome\n1,yes\n\n2,{cell}\n", YES_IS_GOOD, WORD_FIX)
            for cell in ("maybe", "1_0", "inf")
        ),
        # Beside scores from 0 to 10, yes may mean 1 or 10.
        *(
            (f"ticket,outcome\n1,{word}\n", TEN_POINTS, "; write a number")
            for word in ("yes", "No", "TRUE", "false")
        ),
        ("id,action,outcome\nx,b,1\n", YES_IS_GOOD, "expected the action"),
        (
            "id,outcome\nx,1\nz,1\n",
            YES_IS_GOOD,
            "got 'z', which has no ticket yet; issue it with tombola session next",
        ),
    ],
    ids=count(),  # a line break in a name cannot be given to pytest
)
def test_malformed_outcomes_are_rejected(
    text: str, unit: Units | None, words: str, read: Read, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TableError) as refused:
        read(text, unit)
    message = one_sentence(refused.value)
    assert words in message
    assert ("--range" in message) == (words == RANGE_FIX)
    if unit is not None:
        assert f"o.csv, line {text.count(chr(10))}: " in message


def test_outcome_with_ambiguous_comma_is_rejected() -> None:
    assert cell_loss("1,234", Units(0, 10_000)) is None
    assert cell_loss("1,234", Units(0, 2)) == pytest.approx(0.617)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_daily_list_round_trip(suffix: str, tmp_path: Path) -> None:
    """The daily list has the list's own columns; filled in by a spreadsheet, it is recorded as it is."""
    columns = {
        "phone": ["0049", "=1+1", "x"],
        "customer": ["Änn", "Bob", "Cem"],
        "action": ["p", "q", "r"],
    }
    today, filled = tmp_path / f"today{suffix}", tmp_path / "filled.csv"
    with SessionFile.start(
        tmp_path / "r",
        columns["customer"],
        ["call", "write"],
        UCB1(),
        seed=1,
        columns=columns,
        id_column="customer",
        delimiter=";",
    ) as file:
        tasks = file.next(2)
        write_daily_list(file, tasks, today)
        table = read_cells(today)
        assert table.names == ("phone", "customer", "list:action", "ticket", "action", "outcome")
        for task, (_, row) in zip(tasks, table.rows, strict=True):
            at = columns["customer"].index(task.id)
            phone = columns["phone"][at]
            assert row[0] in (phone, f"'{phone}")
            assert row[1:] == (task.id, columns["action"][at], str(task.round), task.action, "")
        lines = [";".join(table.names), *(";".join([*row[:-1], "yes"]) for _, row in table.rows)]
        filled.write_bytes("\r\n".join(lines).encode("cp1252"))
        outcomes = read_outcomes(file, filled, lambda _: YES_IS_GOOD)
        assert [one.loss for one in outcomes] == [0.0, 0.0]
        assert file.record_all(outcomes) == 2
        with pytest.raises(TableError, match="nothing is overwritten"):
            check_daily_list(today)


def test_recorded_conflict_names_line(tmp_path: Path) -> None:
    with SessionFile.start(tmp_path / "r", ["x", "y"], ["a", "b"], UCB1(), seed=1) as file:
        file.next(2)
        file.record(2, loss=1.0)
        with pytest.raises(FeedbackError, match=r"^t.csv, line 3: ticket 2 has been answered"):
            file.record_all(
                [Outcome(1, 0.0, source="t.csv, line 2"), Outcome(2, 0.0, source="t.csv, line 3")]
            )
        assert len(file.pending) == 1, "all or none"


def test_changed_cell_of_list_is_damage(tmp_path: Path) -> None:
    columns = {"id": ["x", "y"], "phone": ["1", "2"]}
    SessionFile.start(
        tmp_path / "r", ["x", "y"], ["a", "b"], UCB1(), seed=1, columns=columns
    ).close()
    with closing(sqlite3.connect(tmp_path / "r")) as db, db:
        db.execute("UPDATE pool SET cells = '[\"3\"]' WHERE place = 1")
    with (
        SessionFile.open(tmp_path / "r") as file,
        pytest.raises(SessionError, match="row 1 has changed"),
    ):
        file.next(1)
