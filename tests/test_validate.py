"""Validation of parameters: a text is never read as a list of letters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tombola import UCB1, Pool, Race, Session, SessionFile, race, read_table
from tombola.errors import ParameterError, TombolaError

CALLS: dict[str, Callable[[Path], Any]] = {
    "pool actions": lambda _: Pool([[0.0, 1.0]], actions="ab"),
    "pool ids": lambda _: Pool([[0.0], [1.0]], ids="ab"),
    "session": lambda _: Session(UCB1(), "ab", horizon=9, seed=0),
    "race rows": lambda _: Race(["a", "b"], rows="ab", seed=0),
    "race function": lambda _: race(
        "ab", range(9), lambda candidate, row: 0.0, kind="losses", seed=0
    ),
    "race function rows": lambda _: race(
        ["a", "b"], "ab", lambda candidate, row: 0.0, kind="losses", seed=0
    ),
    "file actions": lambda path: SessionFile.start(
        path / "x.run", ["x", "y"], "ab", UCB1(), seed=0
    ),
    "file ids": lambda path: SessionFile.start(path / "x.run", "ab", ["x", "y"], UCB1(), seed=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_text_is_no_list_of_letters(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        TombolaError, match=r"must be a list of names, got the text 'ab'; write \['ab'\]"
    ):
        CALLS[name](tmp_path)
    assert not list(tmp_path.iterdir())


def test_text_is_one_pattern_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "losses.csv"
    path.write_text("prompt_a,prompt_b,note_c,note_d\n0,1,1,0\n1,1,0,0\n")
    assert read_table(path, kind="losses", actions="prompt_*").pool.actions == (
        "prompt_a",
        "prompt_b",
    )
    assert read_table(path, kind="losses", ignore="prompt_*").pool.actions == ("note_c", "note_d")


def test_level_in_percent_gets_a_good_example() -> None:
    with pytest.raises(ParameterError, match=r"write for example level=0\.05\."):
        Race(["a", "b"], rows=9, level=95)
    with pytest.raises(ParameterError, match=r"write for example within=0\.5\."):
        Race(["a", "b"], rows=9, within=20, range=(0, 10))
