"""`tombola rank`: readings, clusters, pairs, pages and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from conftest import Run
from tombola.cli.app import app
from tombola.errors import ParameterError, TableError

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of right and wrong answers of three models, with a column of conversations."""
    generator = np.random.default_rng(0)
    right = (generator.random((120, 3)) < [0.9, 0.6, 0.3]).astype(int)
    lines = ["id,talk,small,middle,large", *(f"r{i},t{i // 2},{a},{b},{c}" for i, (a, b, c) in enumerate(right))]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*words: object) -> str:
    done = CliRunner().invoke(app, ["rank", *map(str, words)])
    if done.exception:
        raise done.exception
    return done.output


def test_direction_is_asked_for_with_both_answers(table: Path) -> None:
    with pytest.raises(TableError, match=r"scores.* if higher is better, .*losses.* if lower"):
        run(table, "--clusters", "talk")


def test_scores_rank_the_best_first(table: Path) -> None:
    output = run(table, "--scores", "--ignore", "talk", "--pair", "small,large")
    assert output.startswith("Read as scores: higher is better.\n")
    assert output.index("small") < output.index("middle") < output.index("large")
    assert "small is before large (beyond this list)." in output


def test_json_and_page_with_clusters(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranks.html"
    facts = json.loads(run(table, "--scores", "--clusters", "talk", "--json", "--out", out))
    assert facts["clusters"] == 60
    assert facts["readings"][0]["candidates"][0]["candidate"] == "small"
    assert "</html>" in out.read_text(encoding="utf-8")


def test_partly_filled_table_is_ranked(table: Path) -> None:
    lines = table.read_text().splitlines()
    keep = set(np.random.default_rng(1).permutation(np.arange(1, 121))[:60].tolist())
    blank = [
        line if i in keep or i == 0 else ",".join([*line.split(",")[:2], "", "", ""]) for i, line in enumerate(lines)
    ]
    table.write_text("\n".join(blank) + "\n")
    output = run(table, "--scores", "--ignore", "talk")
    assert "On this list: from 60 rows in random order" in output
    assert "Beyond" not in output


def test_pair_needs_two_names(table: Path) -> None:
    with pytest.raises(ParameterError, match="--pair A,B"):
        run(table, "--scores", "--ignore", "talk", "--pair", "small")


EVALUATION = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver

@solver
def answers(right):
    async def solve(state, generate):
        # No generate(): it would fetch a tokenizer from the network.
        state.output = ModelOutput.from_content("mockllm", "yes" if int(state.sample_id) < right else "no")
        return state
    return solve

samples = [Sample(id=str(i), input=f"question {i}", target="yes") for i in range(40)]
for name, right in (("weak", 10), ("strong", 40)):
    task = Task(samples, solver=answers(right), scorer=match())
    eval(task, model=f"mockllm/{name}", log_dir=sys.argv[1], display="none")
"""


def test_logs_of_inspect_ai_rank_their_models(tmp_path: Path, run_python: Run) -> None:
    """Real logs of two models on one task: one answers all 40 questions, the other a quarter of them."""
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: pip install 'tombola[inspect]'")
    done = run_python("-W", "ignore", "-c", EVALUATION, str(tmp_path))
    assert done.returncode == 0, done.stderr
    logs = sorted(tmp_path.glob("*.eval"))
    assert len(logs) == 2
    output = run(*logs, "--metric", "match")
    assert output.startswith("Read as losses: lower is better.\n")
    found = {one["reading"]: one["candidates"] for one in json.loads(run(*logs, "--json"))["readings"]}
    for candidates in found.values():
        ranks = {one["candidate"]: (one["first_rank"], one["last_rank"], one["mean"]) for one in candidates}
        assert ranks == {"mockllm/strong": (1, 1, 0.0), "mockllm/weak": (2, 2, 0.75)}
    assert set(found) == {"this list", "beyond this list"}
    with pytest.raises(ParameterError, match="expected logs of 2 candidates or more, got one of mockllm/"):
        run(logs[0])
    with pytest.raises(ParameterError, match="clusters"):
        run(*logs, "--clusters", "talk")


def test_long_tables_of_several_candidates_are_read_as_logs(tmp_path: Path) -> None:
    for name, score in (("a", 1), ("b", 0)):
        lines = ["candidate,row,score", *(f"{name},r{i},{score}" for i in range(20))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    output = run(tmp_path / "b.csv", tmp_path / "a.csv", "--pair", "a,b")
    assert "a is before b (beyond this list)." in output
