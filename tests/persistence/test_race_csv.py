"""Answers of a race as CSV."""

from collections.abc import Callable
from pathlib import Path

import pytest

from race_cases import start_file
from tombola.errors import ParameterError, TableError
from tombola.persistence.race_file import RaceFile
from tombola.racing import Event, RaceSettings


def test_read_answers(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    from tombola.persistence.race_csv import read_answers

    with start_file(tmp_path / "r") as file:
        file.calls()
        tickets = ("ticket,loss\nnan,1\n", "ticket,loss\ninf,1\n", "ticket,loss\n0.9,1\n")
        twice = ("ticket,loss,score\n1,0.2,0.2\n", "ticket,loss,failed\n1,0.2,1\n", "ticket,loss,failed\n1,,perhaps\n")
        other = ("ticket,candidate,loss\n1,high,0.2\n", "ticket,row,loss\n1,nowhere,0.2\n")
        others = ("a,b\n1,2\n", "ticket,loss\n1,x\n", "ticket,loss,cost\n1,1,y\n", "candidate,loss\nlow,1\n")
        for text in (*others, *other, *tickets, *twice):
            (tmp_path / "a.csv").write_text(text)
            with pytest.raises(TableError) as refused:
                read_answers(tmp_path / "a.csv", file.tickets(), file.race.call, file.settings)
            said = one_sentence(refused.value)
            assert said.startswith(f"{tmp_path / 'a.csv'}: ")
            assert "in line 2" in said or text in (others[0], others[3]), "where it is, unless it is the header"
        (tmp_path / "a.csv").write_text("ticket,loss,failed\n1,,\n2,,yes\n")
        assert read_answers(tmp_path / "a.csv", file.tickets(), file.race.call, file.settings) == [
            Event("answer", 2, None, 0.0, True)
        ]
        (tmp_path / "a.csv").write_text("ticket,score,failed\n1.0,0.25,0.0\n2.0,,1.0\n")  # as pandas writes them
        found = [Event("answer", 1, 0.75, 0.0, False), Event("answer", 2, None, 0.0, True)]
        assert read_answers(tmp_path / "a.csv", file.tickets(), file.race.call, file.settings) == found
    with pytest.raises(ParameterError, match="surrogate"):
        RaceFile.start(tmp_path / "s", RaceSettings(("\ud800", "b"), seed=1), ["x"])
