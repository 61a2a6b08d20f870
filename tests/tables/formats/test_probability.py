"""Reports of pytest-probability: runs of cases, in the form that version 0.3.0 writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tombola import gate
from tombola.errors import TableError
from tombola.tables.formats.logs import is_log, logged_answers


def report(path: Path, outcomes: dict[str, list[str]], **stopping: Any) -> Path:
    """Write a report with the outcomes of the runs of each case."""
    records = [
        {"case": case, "run": run, "outcome": outcome, "message": None, "elapsed": 1e-5}
        for case, runs in outcomes.items()
        for run, outcome in enumerate(runs, start=1)
    ]
    data = {
        "created": "2026-11-18T21:37:36",
        "runs": 2,
        "stats_config": {"method": "exact", "level": 0.95},
        "rows": [],
        "stopping": {"mode": "off", "runs_skipped": 0, **stopping},
        "records": records,
    }
    path.write_text(json.dumps(data, indent=2))
    return path


def test_outcomes_are_scores(tmp_path: Path) -> None:
    """An error counts as a failure: a version that breaks must not look better."""
    path = report(tmp_path / "old.json", {"qa::a": ["pass", "error"], "qa::b": ["fail", "pass"]})
    assert is_log(path)
    answers = list(logged_answers(path))
    assert [(one.row, one.value) for one in answers] == [
        ("qa::a", 1.0),
        ("qa::a", 0.0),
        ("qa::b", 0.0),
        ("qa::b", 1.0),
    ]
    assert {(one.candidate, one.metric, one.kind) for one in answers} == {("old", "pass", "scores")}


def test_two_reports_are_two_versions(tmp_path: Path) -> None:
    cases = [f"qa::q{i}" for i in range(160)]
    old = report(tmp_path / "old.json", {case: ["pass", "pass"] for case in cases})
    new = report(tmp_path / "new.json", {case: ["pass", "pass"] for case in cases[:120]})
    result = gate(old, new, within=0.05)
    assert result.tag == "PASSED"
    assert "40 rows only in old" in str(result)


@pytest.mark.parametrize(
    ("outcomes", "stopping", "message"),
    [
        ({"a": ["pass"]}, {"runs_skipped": 3}, "3 runs less"),
        ({"a": ["maybe"]}, {}, "pytest-probability"),
        ({"a": ["pass"]}, {"runs_skipped": "x"}, "pytest-probability"),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, outcomes: dict[str, list[str]], stopping: dict[str, Any], message: str
) -> None:
    path = report(tmp_path / "old.json", outcomes, **stopping)
    with pytest.raises(TableError, match=message):
        list(logged_answers(path))
