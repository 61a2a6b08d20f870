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


@pytest.mark.parametrize("n_files", [1, 2])
def test_reading_is_in_json_of_gate(
    n_files: int, table: Path, run_python: Callable[..., Any]
) -> None:
    """A row that two files leave out is one row."""
    sources = [str(table), "--baseline", "gpt"]
    if n_files == 2:
        sources = []
        for name, at in (("gpt", 1), ("claude", 2)):
            cells = [line.split(",") for line in table.read_text().splitlines()]
            lines = [f"{row[0]},{'score' if row[0] == 'id' else row[at]},{row[3]}" for row in cells]
            path = table.with_name(f"{name}.csv")
            path.write_text("\n".join(lines) + "\n")
            sources.append(str(path))
    options = ["--scores", "--within", ".1", "--missing", "drop", "--ignore-rows", "Total"]
    done = run_python("-m", "tombola", "gate", *sources, *options, "--json")
    facts = json.loads(done.stdout)
    reading = {name: facts[name] for name in ("candidates", "ignored_columns", "rows_left_out")}
    assert reading == {name: READING[name] for name in reading}, done.stderr
    assert facts["comparisons"][0]["rows"] == 30
