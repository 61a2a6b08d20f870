"""Tables of tickets to fill in, and of outcomes, of sessions and races."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from race_cases import start_file
from tombola import UCB1
from tombola.errors import FeedbackError, SessionError, TableError
from tombola.tables.cells import read_cells
from tombola.tables.unit_checks import cell_loss
from tombola.units import Kind, Units
from tombola.worklists import Assignment, Description, Outcome, SessionFile
from tombola.worklists.ticket_tables import check_new_table, read_outcomes, write_tickets

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
        about = Description(
            kind="session",
            rows=4,
            actions=("a", "b"),
            n_listed=2,
            full_feedback=is_full,
            columns=(),
            id_column="id",
            delimiter=",",
            direction=None,
            range=(0.0, 1.0) if unit is None else (unit.low, unit.high),
        )

        def ticket_of(id_: str, action: str = "", run: int | None = None) -> int:
            if id_ == "z":
                raise FeedbackError("SessionFile: expected a row with a ticket, got 'z'; issue it.")
            return {"x": 3, "y": 1}[id_]

        work: Any = SimpleNamespace(
            describe=lambda: about,
            ticket_of=ticket_of,
            assignment=lambda ticket: Assignment(ticket, {3: "x", 1: "y"}[ticket], "a", 1.0),
        )
        kind: Kind | None = None if unit is None else "scores" if unit.scores else "losses"
        if is_full and kind is None:
            kind = "losses"
        outcomes = read_outcomes(work, tmp_path / "o.csv", kind)
        return [(outcome.ticket, outcome.loss) for outcome in outcomes]

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
        ("loss\n1\n", None, "expected a column ticket, or"),
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
            "expected a row with a ticket, got 'z'",
        ),
    ],
    ids=count(),  # a line break in a name cannot be given to pytest
)
def test_malformed_outcomes_are_rejected(
    text: str, unit: Units | None, words: str, read: Read, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises((TableError, FeedbackError)) as refused:
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
        write_tickets(file.describe(), tasks, file.rows_of(tasks), today)
        table = read_cells(today)
        assert table.names == ("phone", "customer", "list:action", "ticket", "action", "outcome")
        for task, (_, row) in zip(tasks, table.rows, strict=True):
            at = columns["customer"].index(task.id)
            phone = columns["phone"][at]
            assert row[0] in (phone, f"'{phone}")
            assert row[1:] == (task.id, columns["action"][at], str(task.ticket), task.action, "")
        lines = [";".join(table.names), *(";".join([*row[:-1], "yes"]) for _, row in table.rows)]
        filled.write_bytes("\r\n".join(lines).encode("cp1252"))
        outcomes = read_outcomes(file, filled, "scores")
        assert [one.loss for one in outcomes] == [0.0, 0.0]
        assert file.record_all(outcomes) == 2
        with pytest.raises(TableError, match="nothing is overwritten"):
            check_new_table(today)


@pytest.mark.parametrize("id_column", ["ticket", "Ticket"])
def test_ids_called_ticket_are_kept_apart_from_numbers(id_column: str, tmp_path: Path) -> None:
    """A number of a ticket is no id of the list, although both may be 1, 2 and 3."""
    columns = {id_column: ["3", "1", "2"], "customer": ["x", "x", "y"]}
    today = tmp_path / "today.csv"
    table = tmp_path / "o.csv"
    ids = columns[id_column]
    with SessionFile.start(
        tmp_path / "r", ids, ["a", "b"], UCB1(), seed=1, columns=columns, id_column=id_column
    ) as file:
        tasks = file.next(2)
        write_tickets(file.describe(), tasks, file.rows_of(tasks), today)
        text = today.read_text("utf-8-sig")
        first = text.splitlines()
        assert first[0] == f"list:{id_column},customer,ticket,action,outcome"
        table.write_text(text.replace(",\n", ",1\n").replace(",\r\n", ",1\n"))
        assert [one.ticket for one in read_outcomes(file, table, "losses")] == [1, 2]
        wrong = "\n".join([first[0], f"9{first[1][1:]}1"])
        table.write_text(wrong)
        with pytest.raises(TableError, match=rf"the list:{id_column} '{tasks[0].id}' for ticket 1"):
            read_outcomes(file, table, "losses")
        table.write_text(f"id,outcome\n{tasks[1].id},1\n")
        assert [one.ticket for one in read_outcomes(file, table, "losses")] == [2]
        table.write_text("ticket,outcome\n1,1\n")
        with pytest.raises(TableError, match="in two columns, got one called ticket"):
            read_outcomes(file, table, "losses")


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


@pytest.fixture
def read_answers(tmp_path: Path) -> Read:
    """Return a function that writes a table and reads it as answers to the first three calls of a race."""

    def read(text: str, **settings: Any) -> list[tuple[Any, ...]]:
        (tmp_path / "a.csv").write_text(text)
        (tmp_path / "r").unlink(missing_ok=True)
        with start_file(tmp_path / "r", **settings) as file:
            file.next()
            outcomes = read_outcomes(file, tmp_path / "a.csv")
            return [(outcome.ticket, outcome.loss, outcome.failed) for outcome in outcomes]

    return read


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ticket,loss\nnan,1\n",
            "ticket,loss\ninf,1\n",
            "ticket,loss\n0.9,1\n",
            "ticket,loss\n1,x\n",
        ),
        *(
            "ticket,loss,score\n1,0.2,0.2\n",
            "ticket,loss,failed\n1,0.2,1\n",
            "ticket,loss,failed\n1,,perhaps\n",
        ),
        *(
            "ticket,candidate,loss\n1,high,0.2\n",
            "ticket,row,loss\n1,nowhere,0.2\n",
            "ticket,loss,cost\n1,1,y\n",
        ),
        *("a,b\n1,2\n", "candidate,loss\nlow,1\n"),
    ],
    ids=count(),  # a line break in a name cannot be given to pytest
)
def test_malformed_answers_are_rejected(
    text: str, read_answers: Read, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TableError) as refused:
        read_answers(text)
    line = "" if text.startswith(("a,b", "candidate", "ticket,loss,score")) else ", line 2"
    assert one_sentence(refused.value).startswith(f"{tmp_path / 'a.csv'}{line}: ")


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("ticket,loss,failed\n1,,\n2,,yes\n", {}, [(2, None, True)]),
        (
            "ticket,outcome,failed\n1.0,0.25,0.0\n2.0,,1.0\n",
            {},
            [(1, 0.25, False), (2, None, True)],
        ),  # by pandas
        ("ticket,score\n1,0.25\n", {"kind": "scores"}, [(1, 0.75, False)]),
        ("ticket,score\n1,0.25\n", {"unit": "score"}, [(1, 0.25, False)]),
    ],
    ids=count(),
)
def test_answers_of_a_race_are_read(
    text: str, settings: dict[str, Any], expected: list[tuple[Any, ...]], read_answers: Read
) -> None:
    assert read_answers(text, **settings) == expected


@pytest.mark.parametrize(
    ("kind", "wrong", "right"), [("scores", "loss", "score"), ("losses", "score", "loss")]
)
def test_race_rejects_column_of_the_other_direction_is_rejected(
    kind: str, wrong: str, right: str, read_answers: Read
) -> None:
    """It was converted in silence, while `race record --score` rejects a score in a race of losses."""
    fix = f"rename the column to {right} if it is a {right}"
    with pytest.raises(
        TableError, match=f"expected {kind}, because this race has {kind}, .*; {fix}"
    ):
        read_answers(f"ticket,{wrong}\n1,0.25\n", kind=kind)
    assert read_answers(f"ticket,{wrong},{right}\n1,,0.25\n", kind=kind), (
        "a blank column is ignored"
    )
