"""Logs with several runs of a row: epochs of inspect_ai, repeats of promptfoo, a log per run."""

import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from conftest import HANGS
from tombola.cli.app import app
from tombola.errors import TableError
from tombola.tables.formats.logs import read_logs
from tombola.tables.options import ParsedTable, ReadOptions
from tombola.tables.to_pool import to_pool


def read_runs(paths: list[Path]) -> ParsedTable:
    """Read logs whose cells may have several answers."""
    return read_logs(paths, ReadOptions(runs=True))


def promptfoo(path: Path, repeats: int, extra: int = 0) -> Path:
    """Write results with `--repeat`: the same test several times for each provider."""
    entries = [
        {"provider": name, "promptIdx": 0, "testIdx": i, "score": float((i + r) % 3 > place)}
        for place, name in enumerate(("p:weak", "p:strong"))
        for r in range(repeats + (extra if name == "p:weak" else 0))
        for i in range(20)
    ]
    path.write_text(json.dumps({"results": {"results": entries}}), encoding="utf-8")
    return path


def test_repeats_of_promptfoo_are_runs(tmp_path: Path) -> None:
    path = promptfoo(tmp_path / "results.json", 3, extra=1)
    parsed = read_runs([path])
    runs = parsed.runs
    assert runs is not None
    assert runs.shape == (4, 20, 2)
    assert math.isnan(runs[3, 0, 1])
    np.testing.assert_allclose(parsed.values, np.nanmean(runs, axis=0))
    with pytest.raises(TableError, match="expected one answer of"):
        read_logs([path])
    result = CliRunner().invoke(app, ["rank", str(path)])
    assert result.exit_code == 0, result.output
    output = " ".join(result.stdout.split())
    assert "in expectation over repeated answers, on these 20 rows" in output
    assert "3 to 4 runs of each row" in output
    assert "mean score" in output


def test_a_log_of_lm_eval_per_run(tmp_path: Path) -> None:
    paths = []
    for seed in range(2):
        for name in ("small", "large"):
            folder = tmp_path / f"run{seed}" / name
            folder.mkdir(parents=True)
            lines = [
                json.dumps(
                    {"doc_id": i, "exact_match": float((i + seed) % 2), "metrics": ["exact_match"]}
                )
                for i in range(4)
            ]
            paths.append(folder / "samples_task_2026.jsonl")
            paths[-1].write_text("\n".join(lines), encoding="utf-8")
    runs = read_runs(paths).runs
    assert runs is not None
    assert runs.shape == (2, 4, 2)
    assert runs[0, 0, 0] != runs[1, 0, 0]


def test_one_run_has_no_runs(tmp_path: Path) -> None:
    parsed = read_runs([promptfoo(tmp_path / "results.json", 1)])
    assert parsed.runs is None
    assert len(parsed.values) == 20


def test_values_of_later_runs_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("candidate,row,score\na,x,1\nb,x,1\na,x,7\nb,x,0\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"must be in \[0, 1\], got numbers from 0 to 7"):
        to_pool(read_runs([path]), missing="error", limits=None, rescale=False)


@pytest.mark.full
@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
def test_epochs_of_inspect_ai_are_runs(tmp_path: Path) -> None:
    """The real package in a process of its own: two mock models, three epochs of four samples."""
    script = Path(__file__).parent / "inspect_epochs.py"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs = read_runs(sorted(tmp_path.rglob("*.eval"))).runs
    assert runs is not None
    assert runs.shape == (3, 4, 2)
    assert set(np.unique(runs)) == {0.0, 1.0}
