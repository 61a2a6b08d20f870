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
