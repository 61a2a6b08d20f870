"""describe from Python: facts, groups, next commands, one reading of the file."""

import json
from pathlib import Path
from typing import Any

import pytest

import tombola
from tombola.tables.formats import read_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "answers.csv"
    rows = [f"r{i},{'xy'[i % 2]},{i % 2},{(i + 1) % 2}" for i in range(20)]
    file.write_text("\n".join(["id,category,a,b", *rows]))
    return file


def test_description_has_text_notebook_and_json(path: Path) -> None:
    result = tombola.describe(path, kind="scores")
    assert "category" in str(result)
    assert f"  tombola compare {path}" in str(result)
    assert "<table" in result._repr_html_()
    facts = json.loads(json.dumps(result.to_json()))
    assert (facts["rows"], facts["kind"]) == ("20", "scores")
    assert [group["best"] for group in facts["by_group"]["groups"]] == ["b", "a"]
    assert "higher is better" in result.statement


def test_groups_are_found_without_a_second_reading(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    def counted(file: str, options: Any) -> Any:
        reads.append(file)
        return read_file(file, options)

    monkeypatch.setattr("tombola.tables.table.read_file", counted)
    assert tombola.describe(path, kind="scores").by == "category"
    assert reads == [str(path)]


def test_any_column_may_be_a_group(path: Path) -> None:
    """The text of a column is kept because it is named, whatever its name is."""
    path.write_text(path.read_text().replace("category", "mood"))
    groups = tombola.describe(path, kind="scores", by="mood").to_json()["by_group"]["groups"]
    assert [group["name"] for group in groups] == ["x", "y"]


def test_runs_are_described_with_their_noise(tmp_path: Path) -> None:
    """A third of the answers of b change; its row means are all equal, so its noise is everything."""
    lines = ["model,question,run,score"]
    for question in range(30):
        for run in (1, 2):
            lines.append(f"a,q{question},{run},{question % 2}")
            lines.append(f"b,q{question},{run},{(question % 3 == 0) * (run - 1)}")
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(lines))
    description = tombola.describe(table)
    facts = dict(description.summary.facts())
    assert facts["runs"] == "2 of each row; an answer changed on 10 of 30 rows"
    assert facts["noise"] == "share of the variance of one answer: a 0 %, b 100 %"
    commands = [f"tombola rank {table}", f"tombola race plan {table}"]
    assert [command for _, command in description.steps] == commands
    assert "tombola rank" in str(description)
