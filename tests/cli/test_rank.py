"""`tombola rank`: readings, clusters, pairs, pages and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from conftest import Run
from tombola._formatting import cli_style
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


def test_in_order_holds_at_every_look_and_counts_the_rows_before_a_gap(table: Path) -> None:
    lines = table.read_text().splitlines()
    blank = [
        line if i < 41 or 50 < i < 60 else ",".join([*line.split(",")[:2], "", "", ""]) for i, line in enumerate(lines)
    ]
    table.write_text("\n".join(blank) + "\n")
    facts = json.loads(run(table, "--scores", "--ignore", "talk", "--in-order", "--json"))
    [reading] = facts["readings"]
    assert (reading["rows"], reading["every_look"]) == (40, True)
    assert "however often you look" in run(table, "--scores", "--ignore", "talk", "--in-order", "--beyond-this-list")
    table.write_text("\n".join([lines[0], ",".join([*lines[1].split(",")[:2], "", "", ""]), *lines[2:]]) + "\n")
    with pytest.raises(ParameterError, match="from the first row on"):
        run(table, "--scores", "--ignore", "talk", "--in-order")


@pytest.fixture
def metrics(tmp_path: Path) -> dict[str, Path]:
    """Accuracy (higher is better) and price from 0 to 10: large is dominated, its columns are in another order."""
    generator = np.random.default_rng(3)
    right = (generator.random((150, 3)) < [0.9, 0.6, 0.3]).astype(int)
    price = generator.uniform([6, 1, 8], [7, 2, 9], (150, 3))
    paths = {"accuracy": tmp_path / "accuracy.csv", "price": tmp_path / "price.csv"}
    rows = [f"r{i},{a},{b},{c}" for i, (a, b, c) in enumerate(right)]
    paths["accuracy"].write_text("\n".join(["id,small,middle,large", *rows]))
    rows = [f"r{i},{c:.3f},{a:.3f},{b:.3f}" for i, (a, b, c) in enumerate(price)]
    paths["price"].write_text("\n".join(["id,large,small,middle", *rows]))
    return paths


def test_metrics_share_the_level_and_print_the_pareto_front(metrics: dict[str, Path], tmp_path: Path) -> None:
    words = [f"{name}={path}" for name, path in metrics.items()]
    options = ["--lower", "price", "--metric-range", "price=0,10", "--pair", "small,middle"]
    output = " ".join(run(*words, *options, "--out", tmp_path / "page.html").split())
    assert output.startswith(
        "2 metrics share the level 0.05. On this list: 2 of 3 candidates may be on the Pareto front"
    )
    assert "accuracy: small is before middle (this list)." in output
    assert "price: middle is before small (beyond this list)." in output
    assert "Pareto front" in (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = json.loads(run(*words, *options[:4], "--json"))
    assert facts["pareto_front"] == {"this list": ["small", "middle"], "beyond this list": ["small", "middle"]}
    assert {one["level"] for one in facts["metrics"]["price"]["readings"]} == {0.025}
    assert facts["metrics"]["price"]["readings"][0]["candidates"][0]["candidate"] == "middle"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "direction of each metric"),
        (["--lower", "cost"], "among accuracy, price, got 'cost'"),
        (["--scores", "--metric-range", "0,10"], "--metric-range accuracy=0,10"),
        (["--lower", "price"], "expected values from 0 to 1"),
    ],
)
def test_metrics_with_missing_facts_are_refused(metrics: dict[str, Path], options: list[str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run(*(f"{name}={path}" for name, path in metrics.items()), *options)


def test_metric_options_without_metrics_are_refused(table: Path, metrics: dict[str, Path]) -> None:
    for option, value in (("--lower", "price"), ("--metric-range", "price=0,1")):
        with pytest.raises(ParameterError, match="expected several metrics"):
            run(table, "--scores", option, value)
    table.write_text("id,small,middle,large\nx,1,0,1\ny,0,1,1\n")
    with pytest.raises(ParameterError, match="the same candidates and rows"):
        run(f"accuracy={metrics['accuracy']}", f"other={table}", "--scores")


def test_several_scores_of_long_tables_are_metrics(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = [f"{name},r{i},{right},{price}" for name, right, price in (("a", 1, 0.9), ("b", 0, 0.1)) for i in range(30)]
    path.write_text("\n".join(["candidate,row,accuracy,price", *lines]))
    facts = json.loads(run(path, "--metric", "accuracy,price", "--lower", "price", "--json"))
    best = {name: one["readings"][0]["candidates"][0] for name, one in facts["metrics"].items()}
    assert {name: (one["candidate"], one["mean"]) for name, one in best.items()} == {
        "accuracy": ("a", 1.0),
        "price": ("b", pytest.approx(0.1)),
    }


def test_results_of_promptfoo_and_lm_eval_are_ranked(tmp_path: Path) -> None:
    entries = [
        {"provider": f"p:{name}", "promptIdx": 0, "testIdx": i, "score": score}
        for name, score in (("weak", 0.25), ("strong", 1))
        for i in range(30)
    ]
    (tmp_path / "results.json").write_text(json.dumps({"results": {"results": entries}}))
    assert "p:strong is before p:weak (beyond this list)." in run(
        tmp_path / "results.json", "--pair", "p:weak,p:strong"
    )
    for name, score in (("weak", 0.0), ("strong", 1.0)):
        (tmp_path / name).mkdir()
        samples = [json.dumps({"doc_id": i, "metrics": ["acc"], "acc": score}) for i in range(30)]
        (tmp_path / name / "samples_task.jsonl").write_text("\n".join(samples))
    output = run(*sorted(tmp_path.glob("*/samples_*.jsonl")), "--pair", "weak,strong")
    assert "strong is before weak (this list)." in output


@pytest.mark.parametrize("command", [["rank"], ["compare"], ["race", "plan"], ["describe"]])
@pytest.mark.parametrize("limits", [["--range", "0,10"], []])
def test_percent_column_beside_scores_is_refused(command: list[str], limits: list[str], tmp_path: Path) -> None:
    """The column in percent is the best one, and would be ranked last as a fraction."""
    path = tmp_path / "mixed.csv"
    rows = [f"r{n},{n % 5},{n % 4},{60 + n}%" for n in range(20)]
    path.write_text("\n".join(["id,prompt_a,prompt_b,prompt_c", *rows, "r20,,1,"]))
    words = [*command, str(path), "--scores", *limits, "--actions", "prompt_*"]
    with cli_style():
        found = CliRunner().invoke(app, words)
    assert isinstance(found.exception, TableError)
    assert "in line 2, column 'prompt_c', got '60%'; write " in str(found.exception)
    assert "leave out the columns in percent: --actions prompt_a,prompt_b." in str(found.exception)
    assert "tombola" not in found.output


def test_flag_against_the_names_is_noted_below_the_direction(tmp_path: Path) -> None:
    path = tmp_path / "acc.csv"
    path.write_text("id,a_accuracy,b_accuracy\n" + "".join(f"q{i},1,{i % 2}\n" for i in range(20)))
    with cli_style():
        output = " ".join(run(path, "--losses", "--this-list").split())
    assert output.startswith(
        "Read as losses (accuracy): lower is better. Note: the names say higher is better (a_accuracy, b_accuracy), "
        "but --losses was given."
    )
    assert "Note" not in run(path, "--scores", "--this-list")


def test_name_of_the_file_is_named_as_the_reason(tmp_path: Path) -> None:
    text = "id,a,b\n" + "".join(f"q{i},1,{i % 2}\n" for i in range(20))
    (tmp_path / "losses.csv").write_text(text)
    assert run(tmp_path / "losses.csv").startswith("Read as losses by the name of the file: lower is better.")
    (tmp_path / "error_analysis.csv").write_text(text)
    with pytest.raises(TableError, match="which can be either"):
        run(tmp_path / "error_analysis.csv")


def test_missing_cells_that_count_as_worst_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,a,b\n" + "".join(f"q{i},{i % 10},{'' if i % 2 else 3}\n" for i in range(20)))
    output = run(path, "--scores", "--range", "0,10", "--missing", "worst")
    assert "10 of 40 cells (25%) are missing and count as score 0: the answer depends" in " ".join(output.split())


@pytest.fixture
def solvers(tmp_path: Path) -> Path:
    """Run times of three solvers; the last one has timeouts."""
    rows = [f"i{i},{20 + i},{90 - i},{'timeout' if i % 4 == 0 else 15}" for i in range(40)]
    path = tmp_path / "solvers.csv"
    path.write_text("\n".join(["instance,a_seconds,b_seconds,c_seconds", *rows]) + "\n")
    return path


@pytest.mark.parametrize("options", [[], ["--range", "0,300"], ["--range", "0,300", "--missing", "drop"]])
def test_timeouts_are_refused_as_unanswered_rows(solvers: Path, options: list[str]) -> None:
    """A row that a candidate cannot solve is no random part of the list; dropping it would put c before a."""
    with pytest.raises(TableError, match=r"got 'timeout', .* with timeouts write .*worst.* and the time limit"):
        run(solvers, *options)


def test_timeouts_are_refused_in_a_table_of_a_metric(solvers: Path) -> None:
    with pytest.raises(TableError, match="with timeouts write"):
        run(f"time={solvers}", f"other={solvers}", "--losses")


def test_timeouts_as_worst_need_the_time_limit(solvers: Path) -> None:
    with pytest.raises(TableError, match=r"write the time limit, such as range=\(0, LIMIT\)"):
        run(solvers, "--missing", "worst")
    assert "10 missing answers counted as the worst value" in " ".join(
        run(solvers, "--missing", "worst", "--range", "0,300").split()
    )


@pytest.fixture
def percent(tmp_path: Path) -> Path:
    """Scores in [0, 1] of two candidates, and in percent of a third."""
    rows = [f"q{i},{i % 10 / 10},{60 + i % 40},{i % 7 / 7:.3f}" for i in range(60)]
    path = tmp_path / "percent.csv"
    path.write_text("\n".join(["id,gpt,claude,llama", *rows]) + "\n")
    return path


@pytest.mark.parametrize("actions", ["gpt,claude,llama", "gpt,claude"])
def test_candidate_in_percent_is_named_without_a_range(percent: Path, actions: str) -> None:
    with cli_style(), pytest.raises(TableError, match="outside only in claude") as refused:
        run(percent, "--scores", "--actions", actions)
    assert "in percent? divide it by 100, or leave it out with --ignore claude" in str(refused.value)
    assert "--range" not in str(refused.value)
    assert "--rescale" not in str(refused.value)


def test_range_over_two_units_has_a_note(percent: Path) -> None:
    output = " ".join(run(percent, "--scores", "--actions", "gpt,claude,llama", "--range", "0,100").split())
    assert "Note: only claude is above 1: in percent?" in output


def test_ignored_candidate_is_not_ranked(percent: Path) -> None:
    """The advice of the message works on the command that it is about."""
    output = run(percent, "--scores", "--actions", "gpt,claude,llama", "--ignore", "claude")
    assert "claude" not in output
    with pytest.raises(TableError, match="got only columns that"):
        run(percent, "--scores", "--actions", "claude", "--ignore", "claude")


def test_direction_is_asked_for_with_the_names_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text("id,gpt_loss_score,claude_loss_score\n" + "".join(f"q{i},{i % 2},{i % 3 / 2}\n" for i in range(20)))
    with pytest.raises(TableError, match="got columns named gpt_loss_score, claude_loss_score, which can be either"):
        run(path)


def test_a_loss_beside_a_score_has_a_note(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("id,gpt_loss,claude_score\n" + "".join(f"q{i},{i % 2},{i % 3 / 2}\n" for i in range(20)))
    with cli_style():
        output = " ".join(run(path, "--actions", "gpt_loss,claude_score", "--scores").split())
    assert "Note: the names say lower is better (gpt_loss), but --scores was given" in output
