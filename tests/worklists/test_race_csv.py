"""Answers of a race as CSV."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from race_cases import start_file
from tombola.errors import ParameterError, TableError
from tombola.racing import Event, RaceSettings
from tombola.worklists.race_csv import read_answers
from tombola.worklists.race_file import RaceFile

pytestmark = pytest.mark.usefixtures("plainly")

Read = Callable[..., list[Event]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that writes a table and reads it as answers to the first three calls of a race."""

    def read(text: str, **settings: Any) -> list[Event]:
        (tmp_path / "a.csv").write_text(text)
        (tmp_path / "r").unlink(missing_ok=True)
        with start_file(tmp_path / "r", **settings) as file:
            file.calls()
            return read_answers(tmp_path / "a.csv", file.tickets(), file.race.call, file.settings)

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
    text: str, read: Read, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TableError) as refused:
        read(text)
    line = "" if text.startswith(("a,b", "candidate")) else ", line 2"
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
def test_read_answers(
    text: str, settings: dict[str, Any], expected: list[tuple[Any, ...]], read: Read
) -> None:
    answers = [Event("answer", ticket, loss, 0.0, failed) for ticket, loss, failed in expected]
    assert read(text, **settings) == answers


@pytest.mark.parametrize(
    ("kind", "wrong", "right"), [("scores", "loss", "score"), ("losses", "score", "loss")]
)
def test_column_of_the_other_direction_is_rejected(
    kind: str, wrong: str, right: str, read: Read
) -> None:
    """It was converted in silence, while `race record --score` rejects a score in a race of losses."""
    fix = f"rename the column to {right} if it is a {right}"
    with pytest.raises(
        TableError, match=f"line 2: expected a {right}, because this race has {kind}, .*; {fix}"
    ):
        read(f"ticket,{wrong}\n1,0.25\n", kind=kind)
    assert read(f"ticket,{wrong},{right}\n1,,0.25\n", kind=kind), "a blank column is ignored"


def test_lone_surrogate_in_names_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="surrogate"):
        RaceFile.start(tmp_path / "s", RaceSettings(("\ud800", "b"), seed=1), ["x"])
