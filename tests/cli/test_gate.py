"""`tombola gate`: exit statuses, questions, files of several forms."""

import json
from pathlib import Path

import pytest

from cli.conftest import Main


def write(path: Path, worse: int = 0, better: int = 0, rows: int = 200) -> None:
    scores = [int(i % 5 != 0) for i in range(rows)]
    for i in [i for i, score in enumerate(scores) if score][:worse]:
        scores[i] = 0
    for i in [i for i in range(rows) if i % 5 == 0][:better]:
        scores[i] = 1
    path.parent.mkdir(exist_ok=True)
    lines = [f"q{i},{score}" for i, score in enumerate(scores)]
    path.write_text("\n".join(["id,score", *lines]) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "old.csv")
    write(tmp_path / "same.csv")
    write(tmp_path / "down.csv", worse=40)
    write(tmp_path / "mixed.csv", worse=15, better=15)
    return tmp_path


@pytest.mark.parametrize(
    ("new", "more", "status", "tag"),
    [
        ("same", [], 0, "PASSED"),
        ("down", [], 1, "WORSE"),
        ("mixed", [], 3, "UNDECIDED"),
        ("mixed", ["--undecided", "pass"], 0, "UNDECIDED"),
        ("mixed", ["--undecided", "fail"], 1, "UNDECIDED"),
    ],
)
def test_exit_status(
    folder: Path, run_main: Main, new: str, more: list[str], status: int, tag: str
) -> None:
    code, output, error = run_main("gate", "old.csv", f"{new}.csv", "--within", "0.02", *more)
    assert (code, error) == (status, "")
    assert f"\n{tag} " in output
    assert "An identical version would fail this gate with probability at most 0.05." in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["old.csv", "same.csv"], "--within 0.02 if a loss of 0.02 may pass, --better if"),
        (["old.csv", "gone.csv", "--within", "1"], "gone.csv"),
        (["old.csv", "same.csv", "--within", "few"], "expected a number"),
        (["old.csv", "old.csv", "--within", "1"], "expected different versions"),
        (["old.csv", "--within", "1"], "expected two versions, got score only"),
        (["old.csv", "same.csv", "--within", "1", "--baseline", "old"], "leave it out"),
        (["old.csv", "same.csv", "--within", "accuracy=1"], "column called 'accuracy'"),
    ],
)
def test_what_cannot_be_measured_exits_with_2(
    folder: Path, run_main: Main, words: list[str], message: str
) -> None:
    code, output, error = run_main("gate", *words)
    assert (code, output) == (2, "")
    assert message in error


def test_commits_are_in_page_and_summary(folder: Path, run_main: Main) -> None:
    words = (
        "gate",
        "old.csv",
        "down.csv",
        "--within",
        "0.02",
        "--out",
        "g.html",
        "--summary",
        "s.md",
    )
    assert run_main(*words, "--commits", "3f2a9c1,b81e044")[0] == 1
    for name in ("g.html", "s.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "3f2a9c1" in text
        assert "b81e044" in text
    code, _, error = run_main(*words, "--commits", "3f2a9c1")
    assert code == 2
    assert "--commits: expected a commit for each of old, down, got 1" in error


def test_folders_name_versions(tmp_path: Path, run_main: Main) -> None:
    write(tmp_path / "main" / "scores.csv")
    write(tmp_path / "branch" / "scores.csv", worse=40)
    _, output, _ = run_main("gate", "main/scores.csv", "branch/scores.csv", "--within", "0.02")
    assert "branch is worse than main by more than 0.02" in output


def test_json(folder: Path, run_main: Main) -> None:
    code, output, _ = run_main("gate", "old.csv", "down.csv", "--within", "0.02", "--json")
    data = json.loads(output)
    assert (code, data["verdict"], data["exit_code"]) == (1, "refuted", 1)
    assert data["comparisons"][0]["rows_worse"] == 40


def test_long_table_with_runs(tmp_path: Path, run_main: Main) -> None:
    lines = [
        f"{question},{model},{run},{int(question % 3 != 0)}"
        for question in range(160)
        for model in "ab"
        for run in (1, 2)
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["question,model,run,score", *lines]) + "\n")
    code, output, _ = run_main("gate", "runs.csv", "--baseline", "a", "--within", "0.02")
    assert code == 0
    assert "160 rows in both" in output
    assert "2 runs per row: answers change on 0 rows of a, 0 of b" in output
    path.write_text("question,score\n1,1\n1,0\n")
    code, _, error = run_main("gate", "runs.csv", "runs.csv", "--within", "0.02")
    assert code == 2
    assert "different versions" in error


def test_lm_eval_folders(tmp_path: Path, run_main: Main) -> None:
    for version, wrong in (("old", 0), ("new", 50)):
        run = tmp_path / version / "model"
        run.mkdir(parents=True)
        lines = [
            json.dumps(
                {"doc_id": i, "filter": "none", "metrics": ["acc"], "acc": float(i >= wrong)}
            )
            for i in range(200)
        ]
        (run / "samples_task_2026-01-01T00-00-00.jsonl").write_text("\n".join(lines) + "\n")
    code, output, error = run_main("gate", "old", "new", "--within", "0.02")
    assert (code, error) == (1, "")
    assert "new is worse than old by more than 0.02" in output


def test_two_logs_of_one_model(tmp_path: Path, run_main: Main) -> None:
    for name, score in (("a", 1.0), ("b", 1.0)):
        results = [
            {"provider": "m-1", "testIdx": i, "score": score, "success": True} for i in range(150)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": {"results": results}}))
    code, output, error = run_main("gate", "a.json", "b.json", "--within", "0.02")
    assert (code, error) == (0, "")
    assert "all logs name the model m-1" in output
