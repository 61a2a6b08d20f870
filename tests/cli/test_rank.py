"""`tombola rank`: readings, clusters, pairs, pages and refusals."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tombola
from conftest import Run
from tombola._formatting import cli_style
from tombola.cli.app import app
from tombola.errors import ParameterError, QuestionError, TableError, TombolaError

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of right and wrong answers of three models, with a column of conversations."""
    generator = np.random.default_rng(0)
    right = (generator.random((120, 3)) < [0.9, 0.6, 0.3]).astype(int)
    lines = [
        "id,talk,small,middle,large",
        *(f"r{i},t{i // 2},{a},{b},{c}" for i, (a, b, c) in enumerate(right)),
    ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*words: object) -> str:
    done = CliRunner().invoke(app, ["rank", *map(str, words)])
    if done.exception:
        raise done.exception
    return done.output


def test_scores_rank_the_best_first(table: Path) -> None:
    output = run(table, "--scores", "--ignore", "talk", "--pair", "small,large")
    assert output.startswith(
        "Read as scores: higher is better. Candidates: small, middle, large.\n"
    )
    assert output.index("small") < output.index("middle") < output.index("large")
    assert "small is not worse than large for rows like these" in output


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
        line if i in keep or i == 0 else ",".join([*line.split(",")[:2], "", "", ""])
        for i, line in enumerate(lines)
    ]
    table.write_text("\n".join(blank) + "\n")
    with pytest.raises(QuestionError, match="not answered yet"):
        run(table, "--scores", "--ignore", "talk")
    output = run(table, "--scores", "--ignore", "talk", "--missing", "keep")
    assert "if the rows answered are a random part of the list, for one look; 60 rows." in " ".join(
        output.split()
    )
    assert "rows like these" not in output


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
    pytest.importorskip(
        "inspect_ai", reason="inspect_ai is not installed: pip install 'tombola[inspect]'"
    )
    done = run_python("-W", "ignore", "-c", EVALUATION, str(tmp_path))
    assert done.returncode == 0, done.stderr
    logs = sorted(tmp_path.glob("*.eval"))
    assert len(logs) == 2
    output = run(*logs, "--metric", "match")
    assert output.startswith("Read as scores (match): higher is better.")
    found = {
        one["reading"]: one["candidates"] for one in json.loads(run(*logs, "--json"))["readings"]
    }
    for candidates in found.values():
        ranks = {
            one["candidate"]: (one["first_rank"], one["last_rank"], one["mean"])
            for one in candidates
        }
        assert ranks == {"mockllm/strong": (1, 1, 1.0), "mockllm/weak": (2, 2, 0.25)}
    assert set(found) == {"recorded", "beyond"}
    with pytest.raises(
        ParameterError, match="expected logs of 2 candidates or more, got one of mockllm/"
    ):
        run(logs[0])
    with pytest.raises(ParameterError, match="clusters"):
        run(*logs, "--clusters", "talk")


def test_long_tables_of_several_candidates_are_read_as_logs(tmp_path: Path) -> None:
    for name, score in (("a", 1), ("b", 0)):
        lines = ["candidate,row,score", *(f"{name},r{i},{score}" for i in range(20))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    output = run(tmp_path / "b.csv", tmp_path / "a.csv", "--pair", "a,b")
    assert "a is better than b for rows like these" in output


def test_in_order_holds_at_every_look_and_counts_the_rows_before_a_gap(table: Path) -> None:
    lines = table.read_text().splitlines()
    blank = [
        line if i < 41 or 50 < i < 60 else ",".join([*line.split(",")[:2], "", "", ""])
        for i, line in enumerate(lines)
    ]
    table.write_text("\n".join(blank) + "\n")
    facts = json.loads(run(table, "--scores", "--ignore", "talk", "--in-order", "--json"))
    [reading] = facts["readings"]
    assert (reading["rows"], reading["every_look"]) == (40, True)
    assert "however often you look" in run(
        table, "--scores", "--ignore", "talk", "--in-order", "--reading", "beyond"
    )
    table.write_text(
        "\n".join([lines[0], ",".join([*lines[1].split(",")[:2], "", "", ""]), *lines[2:]]) + "\n"
    )
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


def test_metrics_share_the_level_and_print_the_pareto_front(
    metrics: dict[str, Path], tmp_path: Path
) -> None:
    words = [f"{name}={path}" for name, path in metrics.items()]
    options = ["--lower", "price", "--metric-range", "price=0,10", "--pair", "small,middle"]
    output = " ".join(run(*words, *options, "--out", tmp_path / "page.html").split())
    assert output.startswith(
        "2 metrics share the level 0.05. The Pareto front of 3 candidates in 2 metrics is among small and middle on"
    )
    assert (
        "accuracy: small is better than middle on the answers recorded here for these 150 rows, for certain"
        in output
    )
    assert (
        "price: middle is better than small for rows like these, with probability 0.975 or more"
        in output
    )
    assert "Pareto front" in (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = json.loads(run(*words, *options[:4], "--json"))
    assert facts["pareto_front"] == {
        "recorded": ["small", "middle"],
        "beyond": ["small", "middle"],
    }
    assert {one["level"] for one in facts["metrics"]["price"]["readings"]} == {0.025}
    assert facts["metrics"]["price"]["readings"][0]["candidates"][0]["candidate"] == "middle"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lower", "cost"], "among accuracy, price, each once, got 'cost'"),
        (["--scores", "--metric-range", "0,10"], "--metric-range accuracy=0,10"),
        (["--lower", "price"], "expected values from 0 to 1"),
    ],
)
def test_metrics_with_missing_facts_are_refused(
    metrics: dict[str, Path], options: list[str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        run(*(f"{name}={path}" for name, path in metrics.items()), *options)


def test_direction_of_each_metric_is_stated_or_asked_about(tmp_path: Path) -> None:
    """One metric of which lower is better does not make scores of the others."""
    for name in ("e", "p"):
        (tmp_path / f"{name}.csv").write_text("id,a,b\n" + "x,0.1,0.9\ny,0.2,0.8\n" * 1)
    error, price = (f"{tmp_path}/{name}.csv" for name in "ep")
    output = run(f"error={error}", f"price={price}", "--lower", "price", "--json")
    kinds = {name: one["kind"] for name, one in json.loads(output)["metrics"].items()}
    assert kinds == {"error": "losses", "price": "losses"}
    with pytest.raises(QuestionError, match="got none of vibe"):
        run(f"vibe={error}", f"price={price}", "--lower", "price")
    output = run(f"vibe={error}", f"price={price}", "--higher", "vibe", "--json")
    kinds = {name: one["kind"] for name, one in json.loads(output)["metrics"].items()}
    assert kinds == {"vibe": "scores", "price": "losses"}


def test_metric_options_without_metrics_are_refused(table: Path, metrics: dict[str, Path]) -> None:
    for option, value in (("--lower", "price"), ("--metric-range", "price=0,1")):
        with pytest.raises(ParameterError, match="expected several metrics"):
            run(table, "--scores", option, value)
    table.write_text("id,small,middle,large\nx,1,0,1\ny,0,1,1\n")
    with pytest.raises(ParameterError, match="the same candidates and rows"):
        run(f"accuracy={metrics['accuracy']}", f"other={table}", "--scores")


def test_several_scores_of_long_tables_are_metrics(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = [
        f"{name},r{i},{right},{price}"
        for name, right, price in (("a", 1, 0.9), ("b", 0, 0.1))
        for i in range(30)
    ]
    path.write_text("\n".join(["candidate,row,accuracy,price", *lines]))
    options = ["--metric", "accuracy,price", "--json"]
    facts = json.loads(run(path, *options, "--lower", "price"))
    assert json.loads(run(path, *options)) == facts, "the name states the direction"
    best = {name: one["readings"][0]["candidates"][0] for name, one in facts["metrics"].items()}
    assert {name: (one["candidate"], one["mean"]) for name, one in best.items()} == {
        "accuracy": ("a", 1.0),
        "price": ("b", pytest.approx(0.1)),
    }


def test_results_of_promptfoo_are_ranked(tmp_path: Path) -> None:
    entries = [
        {"provider": f"p:{name}", "promptIdx": 0, "testIdx": i, "score": score}
        for name, score in (("weak", 0.25), ("strong", 1))
        for i in range(30)
    ]
    (tmp_path / "results.json").write_text(json.dumps({"results": {"results": entries}}))
    assert "p:strong is better than p:weak for rows like these" in run(
        tmp_path / "results.json", "--pair", "p:weak,p:strong"
    )


@pytest.mark.parametrize("command", [["rank"], ["compare"], ["race", "plan"], ["describe"]])
@pytest.mark.parametrize("limits", [["--range", "0,10"], []])
def test_percent_column_beside_scores_is_refused(
    command: list[str], limits: list[str], tmp_path: Path
) -> None:
    """The column in percent is the best one, and would be ranked last as a fraction."""
    path = tmp_path / "mixed.csv"
    rows = [f"r{n},{n % 5},{n % 4},{60 + n}%" for n in range(20)]
    path.write_text("\n".join(["id,prompt_a,prompt_b,prompt_c", *rows, "r20,,1,"]))
    words = [*command, str(path), "--scores", *limits, "--candidates", "prompt_*"]
    with cli_style():
        found = CliRunner().invoke(app, words)
    assert isinstance(found.exception, TableError)
    assert "in line 2, column 'prompt_c', got '60%'; write " in str(found.exception)
    assert "leave out the columns in percent: --candidates prompt_a,prompt_b." in str(
        found.exception
    )
    assert "tombola" not in found.output


TABLES = {
    "plain.csv": ["id,a,b", *(f"q{i},1,{i % 2}" for i in range(20))],
    "losses.csv": ["id,a,b", *(f"q{i},1,{i % 2}" for i in range(20))],
    "accuracies.csv": ["id,a_accuracy,b_accuracy", *(f"q{i},1,{i % 2}" for i in range(20))],
    "both.csv": ["id,gpt_loss,llama_score", *(f"q{i},{i % 2},{i % 3 / 2}" for i in range(20))],
    "blanks.csv": ["id,a,b", *(f"q{i},{i % 10},{'' if i % 2 else 3}" for i in range(20))],
    "solvers.csv": [
        "instance,a_seconds,b_seconds",
        *(f"i{i},{20 + i},{'timeout' if i % 4 == 0 else 15}" for i in range(40)),
    ],
    # Scores in [0, 1] of two candidates, and in percent of a third.
    "percent.csv": [
        "id,gpt,claude,llama",
        *(f"q{i},{i % 10 / 10},{60 + i % 40},{i % 7 / 7:.3f}" for i in range(60)),
    ],
}
NAMED = "--candidates gpt,claude,llama"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in TABLES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("losses.csv --losses", "Read as losses: lower is better."),
        (
            "accuracies.csv --losses",
            "Candidates: a, b. Note: the names say higher is better (a_accuracy, b_",
        ),
        (
            "both.csv --candidates gpt_loss,llama_score --scores",
            "Note: the names say lower is better (gpt_loss), but",
        ),
        (
            "blanks.csv --scores --range 0,10 --missing worst",
            "10 of 40 cells (25 %) are missing and count as score 0",
        ),
        (
            "solvers.csv --losses --missing worst --range 0,300",
            "10 missing answers counted as the worst",
        ),
        (
            f"percent.csv --scores {NAMED} --range 0,100",
            "Note: only claude is above 1: in percent?",
        ),
        (f"percent.csv --scores {NAMED} --ignore claude", "Read as scores: higher is better."),
    ],
)
def test_remarks_on_a_table(command: str, text: str) -> None:
    with cli_style():
        output = " ".join(run(*command.split()).split())
    assert text in output
    assert ("claude" in output) is ("claude" in text), "an ignored candidate is not ranked"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("plain.csv", r"scores.* if higher is better, .*losses.* if lower"),
        (
            "both.csv --candidates gpt_loss,llama_score",
            "got columns named gpt_loss, llama_score, which can be either",
        ),
        # A row that a candidate cannot solve is no random part of the list.
        (
            "solvers.csv --losses",
            r"got 'timeout', .* with timeouts write .*worst.* and the time limit",
        ),
        ("solvers.csv --losses --range 0,300", "with timeouts write"),
        ("solvers.csv --losses --range 0,300 --missing drop", "with timeouts write"),
        ("time=solvers.csv other=solvers.csv --losses", "with timeouts write"),
        ("solvers.csv --losses --missing worst", "write the time limit, such as --range 0,LIMIT"),
        (
            f"percent.csv --scores {NAMED}",
            "outside only in claude.* divide it by 100, or .* with --ignore claude",
        ),
        ("percent.csv --scores --candidates gpt,claude", "outside only in claude"),
        ("percent.csv --scores --candidates claude --ignore claude", "got only columns that"),
        ("plain.csv --scores --pair a", "--pair A,B"),
    ],
)
def test_refused_tables(command: str, message: str) -> None:
    with cli_style(), pytest.raises(TombolaError, match=message):
        run(*command.split())


def test_pair_prints_the_change_as_a_gate_does(tmp_path: Path) -> None:
    """The interval is that of `gate`, and a forecast is never below the rows that were read."""
    path = tmp_path / "pair.csv"
    rows = [f"q{i},{int(i % 5 != 0)},{int(i % 5 != 0 and i % 8 != 1)}" for i in range(120)]
    path.write_text("\n".join(["id,a,b", *rows]) + "\n")
    output = " ".join(run(path, "--scores", "--pair", "a,b").split())
    line = str(tombola.gate(path, baseline="a", within=0.1, kind="scores"))
    change = re.findall(r"change (\S+); for rows like these (\S+ to \S+) \(95 % each side", line)
    assert len(change) == 1
    assert f"change {change[0][0]}; for rows like these {change[0][1]} (95 % each side" in output
    assert f"change {change[0][0]} exactly, on the answers recorded here" in output


def test_forecast_exceeds_what_was_read() -> None:
    """Twelve rows did not do it, whatever the rule of thumb says."""
    read = 12
    below = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        losses = (rng.random((read, 2)) < [0.2, 0.6]).astype(float)
        ranking = tombola.rank(losses, names=["a", "b"], kind="losses", reading="beyond")
        sentence = ranking.compare("a", "b")
        below += ranking.rows_to_separate("a", "b") <= read and "More than 12 rows" in sentence
        for number in re.findall(r"About ([\d,]+) row", sentence):
            assert int(number.replace(",", "")) > read
    assert below


def test_a_wrong_pair_prints_no_table(tmp_path: Path) -> None:
    path = tmp_path / "pair.csv"
    path.write_text("id,a,b\nx,0,1\ny,1,1\n")
    with cli_style():
        failed = CliRunner().invoke(app, ["rank", str(path), "--scores", "--pair", "a,z"])
    assert isinstance(failed.exception, ParameterError)
    assert "ranks" not in failed.output


def test_providers_of_promptfoo_keep_their_names(tmp_path: Path) -> None:
    """promptfoo numbers columns, not prompts: two providers with one prompt have two numbers."""
    entries = [
        {"provider": {"id": "x", "label": name}, "promptIdx": place, "testIdx": i, "score": score}
        for place, (name, score) in enumerate((("old", 0.25), ("new", 1)))
        for i in range(30)
    ]
    (tmp_path / "results.json").write_text(json.dumps({"results": {"results": entries}}))
    output = run(tmp_path / "results.json", "--pair", "old,new")
    assert "new is better than old for rows like these" in output
