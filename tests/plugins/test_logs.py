"""Readers of evaluation logs: the right pool, or an error of one sentence."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tombola.cli.race import app
from tombola.errors import TableError
from tombola.plugins.logs import read_logs


def lm_eval(folder: Path, name: str, values: list[float]) -> Path:
    (folder / name).mkdir()
    path = folder / name / "samples_gsm8k_2026.jsonl"
    lines = [{"doc_id": i, "doc": {}, "metrics": ["exact_match"], "exact_match": v} for i, v in enumerate(values)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_lm_eval_samples(tmp_path: Path) -> None:
    paths = [lm_eval(tmp_path, "small", [1.0, 0.0, 1.0]), lm_eval(tmp_path, "large", [1.0, 1.0, 0.0])]
    pool = read_logs(paths)
    assert pool.actions == ("small", "large")
    assert pool.losses.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert read_logs(paths, metric="exact_match").losses.tolist() == pool.losses.tolist()


def test_promptfoo_results(tmp_path: Path) -> None:
    lines = [
        {"provider": {"id": f"openai:{name}", "label": ""}, "promptIdx": 0, "testIdx": i, "score": s}
        for i in range(2)
        for name, s in (("a", 1), ("b", 0.25))
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"evalId": "x", "results": {"version": 3, "results": lines}}))
    pool = read_logs([path])
    assert (pool.actions, pool.losses.tolist()) == (("openai:a", "openai:b"), [[0, 0.75], [0, 0.75]])
    path.write_text(json.dumps({"results": [*lines, *({**line, "promptIdx": 1} for line in lines)]}))
    assert read_logs([path]).actions[-1] == "openai:b, prompt 2"


def test_long_table_and_command(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("candidate,row,score\na,x,1\nb,x,0\nb,y,0.5\na,y,0.75\n")
    assert read_logs([path]).losses.tolist() == [[0, 1], [0.25, 0.5]]
    done = CliRunner().invoke(app, ["table", str(path), "--out", str(tmp_path / "wide.csv")])
    assert done.exit_code == 0, done.exception
    assert "2 candidates on 2 rows" in " ".join(done.output.split())
    assert (tmp_path / "wide.csv").read_text() == "id,a,b\nx,0.0,1.0\ny,0.25,0.5\n"


HUGE = "9" * 400
BAD = [
    ("a.jsonl", "{", ""), ("a.jsonl", '{"doc_id": 1}', ""), ("a.jsonl", '{"doc_id": 1, "acc": 7}', ""),
    ("a.jsonl", f'{{"doc_id": 1, "acc": {HUGE}}}', "OverflowError"), ("a.jsonl", "[]", ""), ("a.jsonl", "", ""),
    ("a.json", "[", ""), ("a.json", "[]", ""), ("a.json", "[" * 100_000, ""), ("a.json", '{"results": 3}', ""),
    ("a.json", '{"results": {"results": [{"provider": "x"}]}}', ""),
    ("a.json", f'{{"results": [{{"provider": "x", "score": {HUGE}}}]}}', "OverflowError"),
    ("a.json", '{"results": [{"provider": "x", "score": 1, "promptIdx": Infinity}, {"provider": "y"}]}', "Overflow"),
    ("a.json", '{"results": [{"provider": "\\ud800", "score": 1}]}', "valid Unicode"),
    ("a.csv", "candidate,row\nx,y\n", ""), ("a.csv", "candidate,row,score\nx,y,z\n", ""),
    ("a.csv", "candidate,row,score\nx,y,1\nx,y,0\n", "got two"), ("a.csv", "candidate,row,score\nx,1,1\ny,2,0\n", ""),
    ("a.csv", "candidate,row,score\n", ""), ("a.csv", "candidate,Candidate,row,loss\na,b,x,1\n", "'candidate' twice"),
    ("a.csv", ",".join(["n" * 10_000, "m" * 10_000]) + "\n", "nnn..., mmm"), ("a.csv", "", "got none"),
    ("a.eval", "no zip at all", ""), ("none.csv", None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "reason"), BAD)
def test_bad_file_is_one_sentence(
    name: str, text: str | None, reason: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(TableError) as caught:
        read_logs([tmp_path / name])
    assert reason in one_sentence(caught.value)
    assert len(str(caught.value)) < 500
