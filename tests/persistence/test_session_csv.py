"""Tables of outcomes, and the daily list."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tombola import UCB1
from tombola.errors import FeedbackError, SessionError, TableError
from tombola.persistence import Outcome, SessionFile
from tombola.persistence.session_csv import check_daily_list, read_outcomes, write_daily_list
from tombola.readers.cells import read_cells
from tombola.readers.units import Units


def test_read_outcomes(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    def outcomes(content: str, feedback: str = "bandit", unit: Units | None = None) -> list[tuple[int, Any]]:
        (tmp_path / "o.csv").write_text(content)
        actions = ("a", "b") if feedback == "full" else None
        read = read_outcomes(
            tmp_path / "o.csv", actions, {"x": 3, "y": 1}.__getitem__, unit=None if unit is None else lambda _: unit
        )
        return [(one.round, one.loss) for one in read]

    assert outcomes("ticket,loss\n2,0.5\n9,\n1,1\n") == [(2, 0.5), (1, 1.0)]
    assert outcomes("score,id\n0.5,x\n0.25,y\n") == [(3, 0.5), (1, 0.75)]
    assert outcomes("id,b,a\nx,0,1\ny,,\n", "full") == [(3, [1.0, 0.0])]
    assert outcomes("id,b,a\nx,0,1\n", "full", Units(scores=True)) == [(3, [0.0, 1.0])]
    assert outcomes("Ticket;Outcome\n2;7,5\n3;nein\n".replace("nein", "10"), unit=Units(0, 10, scores=True)) == [
        (2, 0.25),
        (3, 0.0),
    ]
    for bad in ("ticket\n1\n", "loss\n1\n", "ticket,loss\nx,1\n", "ticket,loss,score\n1,1,0\n", "ticket,loss\n-1,1\n"):
        with pytest.raises(TableError) as refused:
            outcomes(bad)
        one_sentence(refused.value)


def test_outcome_errors_name_line(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    for cell in ("maybe", "1.5", "-0.1", "1_0", "inf"):
        (tmp_path / "o.csv").write_text(f"ticket,outcome\n1,yes\n\n2,{cell}\n")
        with pytest.raises(TableError) as refused:
            read_outcomes(tmp_path / "o.csv", None, int, unit=lambda _: Units(scores=True))
        text = one_sentence(refused.value)
        assert "o.csv, line 4" in text
        # A range cannot make a number of a word.
        assert ("--range" in text, "write yes, no, 0, 1" in text) == (
            (True, False) if cell[-1] == "5" or cell == "-0.1" else (False, True)
        ), cell


def test_words_are_outcomes_only_from_0_to_1(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    """Beside scores from 0 to 10, yes may mean 1 or 10."""
    for word, loss in (("yes", 0.0), ("No", 1.0), ("TRUE", 0.0), ("false", 1.0)):
        assert Units(scores=True).parse(word) == loss
        (tmp_path / "o.csv").write_text(f"ticket,outcome\n1,{word}\n")
        with pytest.raises(TableError) as refused:
            read_outcomes(tmp_path / "o.csv", None, int, unit=lambda _: Units(0, 10, scores=True))
        text = one_sentence(refused.value)
        assert f"o.csv, line 2: expected a number from 0 to 10 in column outcome, got '{word}'; write a number" in text
        assert "--range" not in text


def test_outcome_with_ambiguous_comma_is_rejected() -> None:
    assert Units(0, 10_000).parse("1,234") is None
    assert Units(0, 2).parse("1,234") == pytest.approx(0.617)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_daily_list_round_trip(suffix: str, tmp_path: Path) -> None:
    """The daily list has the list's own columns; filled in by a spreadsheet, it is recorded as it is."""
    columns = {"phone": ["0049", "=1+1", "x"], "customer": ["Änn", "Bob", "Cem"], "action": ["p", "q", "r"]}
    with SessionFile.start(
        tmp_path / "r", columns["customer"], ["call", "write"], UCB1(), seed=1, columns=columns, id_column="customer",
        delimiter=";",
    ) as file:  # fmt: skip
        file.interpreted = True
        tasks = file.next(2)
        write_daily_list(file, tasks, tmp_path / f"today{suffix}")
        table = read_cells(tmp_path / f"today{suffix}")
        assert table.names == ("phone", "customer", "list:action", "ticket", "action", "outcome")
        for task, (_, row) in zip(tasks, table.rows, strict=True):
            at = columns["customer"].index(task.id)
            phone = columns["phone"][at]
            assert row[0] in (phone, f"'{phone}")
            assert row[1:] == (task.id, columns["action"][at], str(task.round), task.action, "")
        filled = tmp_path / "filled.csv"
        lines = [";".join(table.names), *(";".join([*row[:-1], "yes"]) for _, row in table.rows)]
        filled.write_bytes("\r\n".join(lines).encode("cp1252"))
        outcomes = read_outcomes(
            filled, None, file.round_of, assignment=file.assignment, unit=lambda _: Units(scores=True),
            id_column=file.id_column, own_columns=file.columns,
        )  # fmt: skip
        assert [one.loss for one in outcomes] == [0.0, 0.0]
        assert file.record_all(outcomes) == 2
        with pytest.raises(TableError, match="nothing is overwritten"):
            check_daily_list(tmp_path / f"today{suffix}")


def test_recorded_conflict_names_line(tmp_path: Path) -> None:
    with SessionFile.start(tmp_path / "r", ["x", "y"], ["a", "b"], UCB1(), seed=1) as file:
        file.interpreted = True
        file.next(2)
        file.record(2, loss=1.0)
        with pytest.raises(FeedbackError, match=r"^t.csv, line 3: ticket 2 has been answered"):
            file.record_all([Outcome(1, 0.0, source="t.csv, line 2"), Outcome(2, 0.0, source="t.csv, line 3")])
        assert len(file.pending) == 1, "all or none"


def test_changed_cell_of_list_is_damage(tmp_path: Path) -> None:
    columns = {"id": ["x", "y"], "phone": ["1", "2"]}
    SessionFile.start(tmp_path / "r", ["x", "y"], ["a", "b"], UCB1(), seed=1, columns=columns).close()
    with closing(sqlite3.connect(tmp_path / "r")) as db, db:
        db.execute("UPDATE pool SET cells = '[\"3\"]' WHERE place = 1")
    with SessionFile.open(tmp_path / "r") as file, pytest.raises(SessionError, match="row 1 has changed"):
        file.next(1)
