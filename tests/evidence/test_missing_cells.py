"""Blank cells in audit, certify and gate: asked about, left out, or counted as the worst."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import audit, gate
from tombola import certify as _certify
from tombola.errors import ParameterError, QuestionError, RowError
from tombola.evidence.best_column import BestColumn


def certify(*arguments: Any, **options: Any) -> BestColumn:
    result = _certify(*arguments, **options)
    assert isinstance(result, BestColumn)
    return result


@pytest.fixture
def blanks(tmp_path: Path) -> Path:
    """Return a table of 60 rows in which a is right, b is wrong, and b has three blank cells."""
    path = tmp_path / "t.csv"
    cells = ["" if row in (3, 9, 20) else str(row % 2) for row in range(60)]
    lines = [f"q{row},1,{cell}" for row, cell in enumerate(cells)]
    path.write_text("\n".join(["id,gpt,claude", *lines]) + "\n")
    return path


def test_best_column_asks(blanks: Path) -> None:
    with pytest.raises(QuestionError, match="column 'claude', got none, and cells are") as asked:
        certify(blanks, kind="scores")
    answers = [eval(f"dict({text})")["missing"] for _, text in asked.value.answers]
    assert answers == ["worst", "drop"]
    dropped = certify(blanks, kind="scores", missing="drop")
    assert dropped.certificate.population == 57
    worst = certify(blanks, kind="scores", missing="worst", level=1e-9)
    assert worst.certificate.population == 60
    # The rows 3 and 9 were answered wrong anyway or right: b has 30 right less the blank ones.
    means = {one["name"]: one["mean"] for one in worst.to_json()["actions"]}
    right = sum(row % 2 for row in range(60) if row not in (3, 9, 20))
    rows = {one["name"]: one["rows"] for one in worst.to_json()["actions"]}["claude"]
    assert rows < 60 or means["claude"] == pytest.approx(right / 60)
    assert "counted as the worst: 3 rows with a blank cell" in worst.notes


def test_worst_is_the_end_of_the_range(tmp_path: Path) -> None:
    """A blank loss counts as the largest, so that the candidate with blanks is not the best."""
    path = tmp_path / "t.csv"
    lines = [f"q{row},4,{'' if row % 2 else 3}" for row in range(40)]
    path.write_text("\n".join(["id,gpt,claude", *lines]) + "\n")
    result = certify(path, kind="losses", range=(0, 10), missing="worst")
    assert result.best == "gpt"
    assert certify(path, kind="losses", range=(0, 10), missing="drop").best == "claude"


def test_statement_asks_and_has_no_worst(blanks: Path) -> None:
    with pytest.raises(QuestionError) as asked:
        audit(blanks, "mean(claude) > 0.2")
    assert [text for _, text in asked.value.answers] == ["missing='drop'"]
    report = audit(blanks, "mean(claude) > 0.2", missing="drop")
    assert (report.outcome, report.population) == ("proved", 57)
    with pytest.raises(ParameterError, match="expected missing='drop' with this question"):
        audit(blanks, "mean(claude) > 0.2", missing="worst")  # type: ignore[arg-type]
    with pytest.raises(QuestionError):
        audit(blanks, "share(claude = 1) > 0.1")
    # A text is compared as it is: a blank one differs.
    assert audit(blanks, "share(claude != none) > 0.1").population == 60


def test_rows_of_a_sample_are_not_left_out(blanks: Path) -> None:
    """How many rows of the whole list are complete is not known."""
    with pytest.raises(RowError, match="line 5"):
        certify(blanks, kind="scores", rows=500)
    result = certify(blanks, kind="scores", rows=500, missing="worst")
    assert result.certificate.population == 500
    with pytest.raises(ParameterError, match="expected missing='worst'"):
        certify(blanks, kind="scores", rows=500, missing="drop")


def test_stream_counts_blanks_as_stated() -> None:
    rows = [{"a": "1", "b": "" if row % 3 else "0"} for row in range(40)]
    with pytest.raises(RowError):
        certify(iter(rows), kind="scores", rows=1000)
    result = certify(iter(rows), kind="scores", rows=1000, missing="worst")
    assert result.certificate.names == ("a", "b")


def test_gate_asks(tmp_path: Path) -> None:
    paths = []
    for name in ("old", "new"):
        path = tmp_path / f"{name}.csv"
        numbers = np.random.default_rng(1).integers(0, 2, 30)
        lines = [f"q{row},{'' if row == 5 else number}" for row, number in enumerate(numbers)]
        path.write_text("\n".join(["id,score", *lines]) + "\n")
        paths.append(path)
    with pytest.raises(QuestionError, match="row 'q5'") as asked:
        gate(*paths, kind="scores", within=0.1)
    assert [text for _, text in asked.value.answers] == ["missing='worst'", "missing='drop'"]
