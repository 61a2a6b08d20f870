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


def repeated_tests(path: Path, repeats: int, *, numbered: bool = True) -> Path:
    """Write results as promptfoo 0.123 does with `--repeat`: each repetition has a number of its own.

    They are in the order in which calls ended, here the last one first.
    """
    entries = [
        {
            "provider": {"id": "file://provider.js", "label": name},
            "promptIdx": place,
            "testIdx": i * repeats + r if numbered else i,
            "score": float((i + r) % 3 > place),
            "vars": {"word": f"w{i}", "sessionId": f"{i} {r}"},
            "testCase": {
                "vars": {"word": f"w{i}", "sessionId": f"{i} {r}"},
                "assert": [{"type": "equals", "value": "{{word}}"}],
                "options": {},
                "metadata": {"call": i * repeats + r},
            },
        }
        for place, name in enumerate(("weak", "strong"))
        for i in range(20)
        for r in range(repeats)
    ]
    path.write_text(json.dumps({"results": {"results": entries[::-1]}}), encoding="utf-8")
    return path


def test_repetitions_with_numbers_of_their_own_are_runs(tmp_path: Path) -> None:
    parsed = read_runs([repeated_tests(tmp_path / "results.json", 3)])
    assert parsed.runs is not None
    assert parsed.runs.shape == (3, 20, 2), "rows are tests, not repetitions"
    assert parsed.ids == tuple(str(i) for i in range(20))
    assert parsed.actions == ("strong", "weak")
    expected = [[(i + r) % 3 > place for place in (1, 0)] for r in range(3) for i in range(20)]
    np.testing.assert_array_equal(parsed.runs.reshape(60, 2), expected)
    same = read_runs([repeated_tests(tmp_path / "old.json", 3, numbered=False)]).runs
    assert same is not None
    np.testing.assert_array_equal(np.sort(same, axis=0), np.sort(parsed.runs, axis=0))
    with pytest.raises(TableError, match="expected one answer of"):
        read_logs([tmp_path / "results.json"])


def test_tests_that_differ_in_more_than_the_run_stay_rows(tmp_path: Path) -> None:
    path = repeated_tests(tmp_path / "results.json", 2)
    data = json.loads(path.read_text(encoding="utf-8"))
    for entry in data["results"]["results"]:
        entry["testCase"]["assert"][0]["value"] += str(entry["testIdx"] % 2)
    path.write_text(json.dumps(data), encoding="utf-8")
    parsed = read_runs([path])
    assert parsed.runs is None
    assert len(parsed.values) == 40


def test_a_gate_takes_repetitions_as_runs(tmp_path: Path) -> None:
    path = repeated_tests(tmp_path / "results.json", 3)
    result = CliRunner().invoke(app, ["gate", str(path), "--baseline", "weak", "--within", "0.5"])
    assert "20 rows" in " ".join(result.output.split()), result.output


def lm_eval_log(folder: Path, name: str, repeats: int, *, scored: bool) -> Path:
    """Write a log as lm-eval 0.4.13 does for a task with `repeats`: one score, or one per answer."""
    lines = []
    for i in range(6):
        scores = [float((i + r + len(name)) % 2) for r in range(repeats)]
        answers = ["right" if score else "wrong" for score in scores]
        line = {
            "doc_id": i,
            "doc": {"q": f"question {i}"},
            "resps": [answers],
            "filtered_resps": [answers] if scored else answers[:1],
            "filter": "each" if scored else "none",
            "metrics": ["acc"],
            "doc_hash": f"hash {i}",
            "acc": scores if scored else scores[0],
        }
        lines.append(json.dumps(line))
    (folder / name).mkdir(parents=True)
    path = folder / name / "samples_sums_2026-11-19T21-39-40.828518.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_score_per_repeat_of_lm_eval_is_a_run(tmp_path: Path) -> None:
    paths = [lm_eval_log(tmp_path, name, 3, scored=True) for name in ("a", "ab")]
    parsed = read_runs(paths)
    assert parsed.runs is not None
    assert parsed.runs.shape == (3, 6, 2)
    assert parsed.runs[:, 0, 0].tolist() == [1.0, 0.0, 1.0]
    assert not parsed.questions


def test_repeats_of_lm_eval_with_one_score_are_one_run(tmp_path: Path) -> None:
    """The usual filter keeps the first answer: the others have no score, and no run is made up."""
    paths = [lm_eval_log(tmp_path, name, 3, scored=False) for name in ("a", "ab")]
    assert read_runs(paths).runs is None
    for command in (["rank"], ["gate", "--within", "0.5"]):
        result = CliRunner().invoke(app, [*command, *map(str, paths)])
        assert "asked 3 times (repeats)" in " ".join(result.output.split()), result.output


@pytest.mark.full
@pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm_eval is not installed")
def test_repeats_of_the_real_lm_eval(tmp_path: Path) -> None:
    """The real package: a task with 3 repeats, scored as usual and answer by answer."""
    script = Path(__file__).parent / "lm_eval_repeats.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    each = read_runs(sorted(tmp_path.rglob("samples_sums_each_*.jsonl"))).runs
    assert each is not None
    assert each.shape == (3, 4, 2)
    usual = read_runs(sorted(tmp_path.rglob("samples_sums_2*.jsonl")))
    assert usual.runs is None
    assert "3 times" in usual.questions[0]


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
