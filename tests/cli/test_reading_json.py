"""JSON of every command on a table says how it was read: direction, candidates, what was left out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

READING = {
    "kind": "scores",
    "candidates": ["gpt", "claude"],
    "ignored_columns": {"topic": "text"},
    "rows_left_out": 2,
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table with a column of words, a blank cell and a line of sums."""
    lines = [f"q{row},{row % 3 % 2},1,{'a' if row % 2 else 'b'}" for row in range(30)]
    lines.append("q30,,1,a")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,gpt,claude,topic", *lines, "Total,10,31,"]) + "\n")
    return path


@pytest.mark.parametrize(
    "command",
    [
        "rank TABLE",
        "audit TABLE --best",
        "race plan TABLE --shuffles 10",
        "compare TABLE --repetitions 2",
    ],
)
def test_reading_is_in_json(command: str, table: Path, run_python: Callable[..., Any]) -> None:
    words = [str(table) if word == "TABLE" else word for word in command.split()]
    options = ["--scores", "--missing", "drop", "--ignore-rows", "Total", "--json"]
    done = run_python("-m", "tombola", *words, *options)
    facts = json.loads(done.stdout)
    assert {name: facts[name] for name in READING} == READING, done.stderr
