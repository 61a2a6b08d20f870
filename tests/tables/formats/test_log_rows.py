"""Logs are joined only if they are about the same rows, and read in the unit of their metric."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace as Of
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import HANGS
from tombola import gate
from tombola.cli.app import app
from tombola.errors import TableError
from tombola.tables import read_table
from tombola.tables.formats.logs import LogOptions, answers_of_log, is_log, read_logs, table_of
from tombola.tables.options import ParsedTable, ReadOptions

TIME = "2026-11-18T20-00-00.123456"
ROWS = 40


def lm_eval(
    folder: Path, name: str, task: str = "gsm8k", *, docs: str = "question", right: int = 3
) -> Path:
    """Write samples as lm-eval does; the prompt differs with the candidate, the document not."""
    path = folder / name / f"samples_{task}_{TIME}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        {
            "doc_id": row,
            "doc": {"question": f"{docs} {row}"},
            "target": "4",
            "arguments": {"gen_args_0": {"arg_0": f"prompt of {name}: {docs} {row}"}},
            "resps": [["4"]],
            "filtered_resps": ["4"],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": f"{docs} {row}",
            "prompt_hash": f"{name} {row}",
            "target_hash": "4",
            "acc": float(row % right > 0),
        }
        for row in range(ROWS)
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def promptfoo(path: Path, word: str, provider: str) -> Path:
    """Write results of one provider; each test has the variable `question`."""
    entries = [
        {"provider": provider, "testIdx": row, "score": 1, "vars": {"question": f"{word} {row}"}}
        for row in range(3)
    ]
    path.write_text(json.dumps({"results": {"results": entries}}), encoding="utf-8")
    return path


def refused(paths: Sequence[Path], one_sentence: Callable[[object], str]) -> str:
    with pytest.raises(TableError) as caught:
        read_logs(paths)
    return one_sentence(caught.value)


def test_rows_of_two_tasks_are_not_joined(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    paths = [lm_eval(tmp_path, "a"), lm_eval(tmp_path, "b", "arc_easy")]
    text = refused(paths, one_sentence)
    assert "got 'gsm8k' of 'a'" in text
    assert "and 'arc_easy' of 'b'" in text
    with pytest.raises(TableError, match=r"'gsm8k' of 'a' .* 'arc_easy' of 'b'"):
        gate(*paths, within=0.1)


def test_rows_with_other_data_are_not_joined(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """The prompt of a new version may differ, the document may not."""
    assert read_logs([lm_eval(tmp_path, "a"), lm_eval(tmp_path, "b")]).values.shape == (ROWS, 2)
    paths = [lm_eval(tmp_path, "a"), lm_eval(tmp_path, "c", docs="another")]
    text = refused(paths, one_sentence)
    assert "same data of row '0'" in text
    assert "another doc_hash in task 'gsm8k' of 'c'" in text
    assert "than in task 'gsm8k' of 'a'" in text
    with pytest.raises(TableError, match="another doc_hash"):
        gate(*paths, within=0.1)


def test_documents_are_compared_without_a_hash(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """Versions of lm-eval before 0.4.3 write no hash."""
    paths = [lm_eval(tmp_path, "a"), lm_eval(tmp_path, "c", docs="another")]
    for path in paths:
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        for entry in entries:
            del entry["doc_hash"]
        path.write_text("\n".join(map(json.dumps, entries)))
    assert "another doc in task 'gsm8k' of 'c'" in refused(paths, one_sentence)


def test_variables_of_promptfoo_must_agree(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    first = promptfoo(tmp_path / "a.json", "what is", "x")
    assert read_logs([first, promptfoo(tmp_path / "b.json", "what is", "y")]).names == ("x", "y")
    text = refused([first, promptfoo(tmp_path / "c.json", "who is", "y")], one_sentence)
    assert "another vars in task '' of 'y'" in text.replace("variables", "vars")


def test_several_tasks_of_every_candidate_are_joined(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    paths = [lm_eval(tmp_path, name, task) for name in "ab" for task in ("gsm8k", "arc")]
    parsed = read_logs(paths)
    assert parsed.values.shape == (2 * ROWS, 2)
    assert parsed.ids is not None
    assert parsed.ids[0] == "gsm8k/0"
    assert parsed.runs is None
    assert "'arc' of 'a'" in refused(paths[:3], one_sentence)


def inspect_log(status: str = "success", text: str = "question", **changes: Any) -> Any:
    """Return what the reader uses of a log of inspect_ai."""
    samples = [
        Of(id=row, epoch=1, input=f"{text} {row}", scores={"match": Of(value="C")}, error=None)
        for row in range(3)
    ]
    spec = Of(model="m", task="arithmetic")
    return Of(status=status, location="", samples=samples, eval=spec, invalidated=False, **changes)


@pytest.mark.parametrize("status", ["error", "cancelled", "started"])
def test_log_of_an_unfinished_run_is_refused(status: str) -> None:
    pytest.importorskip("inspect_ai", reason="the reader of its logs needs inspect_ai")
    log = inspect_log(status)
    with pytest.raises(TableError, match=f"got status '{status}'; .* unfinished=True"):
        list(answers_of_log(log, LogOptions(), "log"))
    assert len(list(answers_of_log(log, LogOptions(unfinished=True), "log"))) == 3


def test_sample_with_an_error_is_open_only_on_request() -> None:
    pytest.importorskip("inspect_ai", reason="the reader of its logs needs inspect_ai")
    log = inspect_log()
    log.samples[1] = Of(id=1, epoch=1, input="question 1", scores=None, error=Of(message="limit"))
    with pytest.raises(TableError, match="sample 1, got an error"):
        list(answers_of_log(log, LogOptions(), "log"))
    other = inspect_log()
    other.eval = Of(model="n", task="arithmetic")
    answers = [
        answer
        for entry in (log, other)
        for answer in answers_of_log(entry, LogOptions(unfinished=True), "log")
    ]
    parsed = table_of(answers, "logs")
    assert parsed.first_missing == "row '1', action 'm', got none"


def test_inputs_of_inspect_ai_must_agree() -> None:
    pytest.importorskip("inspect_ai", reason="the reader of its logs needs inspect_ai")
    logs = [inspect_log(), inspect_log(text="another")]
    logs[1].eval = Of(model="n", task="arithmetic")
    answers = [a for log in logs for a in answers_of_log(log, LogOptions(), "log")]
    with pytest.raises(TableError, match="another input in task 'arithmetic' of 'n'"):
        table_of(answers, "logs")


def test_a_log_is_recognised_by_its_content(tmp_path: Path) -> None:
    samples = lm_eval(tmp_path, "a")
    renamed = tmp_path / "a" / "answers.txt"
    shutil.copy(samples, renamed)
    results = promptfoo(tmp_path / "results.dat", "what is", "x")
    assert is_log(renamed)
    assert is_log(results)
    assert read_table(renamed).pool.rows == ROWS
    for name, text in (
        ("t.jsonl", '{"id": 1, "a": 0, "b": 1}\n'),
        ("u.jsonl", '{"doc_id": 1, "a": 0, "b": 1}\n'),
        ("v.json", '{"results": [0, 1], "b": [1, 0]}'),
        ("w.json", '[{"eval": 0, "b": 1}]'),
        ("x.csv", "candidate,row,score\na,1,0\n"),
    ):
        (tmp_path / name).write_text(text)
        assert not is_log(tmp_path / name), name


def test_means_of_lm_eval_name_the_samples(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {"gsm8k": {"acc,none": 0.5}}, "configs": {}}))
    with pytest.raises(TableError, match=r"expected the samples of lm-eval, .* --log_samples"):
        read_table(path)


def test_commands_read_a_folder_of_logs_in_the_unit_of_the_metric(tmp_path: Path) -> None:
    for name, right in (("small", 2), ("large", 20)):
        lm_eval(tmp_path, name, right=right)
    folder = str(tmp_path)

    def output(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code in (0, 3), done.output
        return " ".join(done.output.split())

    assert "read as scores (acc): higher is better" in output("describe", folder)
    ranks = output("rank", folder)
    assert "Read as scores (acc): higher is better" in ranks
    assert "mean acc" in ranks
    assert "0.95" in ranks
    assert "mean loss" not in ranks
    assert "acc" in output("race", "plan", folder)
    files = [str(next((tmp_path / name).iterdir())) for name in ("small", "large")]
    assert "PASSED" in output("gate", *files, "--within", "0.1")
    assert "mean acc" in output("rank", *files)


def test_direction_of_a_metric_can_be_stated(tmp_path: Path) -> None:
    for name in "ab":
        path = lm_eval(tmp_path, name)
        path.write_text(path.read_text().replace('"acc"', '"helpful"'))
    with pytest.raises(TableError, match="got 'helpful'; write kind='scores' if higher"):
        read_table(tmp_path)
    assert read_table(tmp_path, kind="losses").unit == "helpful"


def test_options_about_columns_are_rejected(tmp_path: Path) -> None:
    lm_eval(tmp_path, "a")
    with pytest.raises(TableError, match=r"no options about columns .* got by"):
        read_table(tmp_path, by="topic")


@pytest.mark.full
@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
def test_real_logs_of_inspect_ai_are_joined_only_if_rows_agree(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """The real package with a mock model: a new prompt is the same row, other data are not."""
    script = Path(__file__).parent / "inspect_runs.py"
    words = [sys.executable, "-W", "ignore", str(script), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    logs = {
        name: next((tmp_path / name).iterdir()) for name in ("old", "new", "data", "task", "error")
    }
    parsed = read_logs([logs["old"], logs["new"]])
    assert parsed.values.tolist() == [[row % 2, row % 2] for row in range(6)]
    assert (parsed.kind, parsed.unit) == ("scores", "match")
    assert "another input in task 'sums'" in refused([logs["old"], logs["data"]], one_sentence)
    assert "'products' of 'mockllm/task'" in refused([logs["old"], logs["task"]], one_sentence)
    assert "got status 'error'" in refused([logs["old"], logs["error"]], one_sentence)
    unfinished = read_logs([logs["old"], logs["error"]], ReadOptions(unfinished=True))
    assert unfinished.first_missing is not None
    renamed = logs["old"].rename(tmp_path / "answers.bin")
    assert read_table(renamed).pool.rows == 6


# --- Every Eval Ever ---


def instance(entry: dict[str, Any], model: str) -> dict[str, Any]:
    """Return a sample of lm-eval as an instance, as the converter of Every Eval Ever writes it."""
    end = "" if entry["filter"] == "none" else f"/{entry['filter']}"
    metric = entry["metrics"][0]
    return {
        "schema_version": "0.2.2",
        "evaluation_id": f"gsm8k/{model}/1",
        "model_id": model,
        "evaluation_name": f"gsm8k{end}",
        "sample_id": str(entry["doc_id"]),
        "sample_hash": entry["prompt_hash"],
        "interaction_type": "single_turn",
        "input": {
            "raw": entry["arguments"]["gen_args_0"]["arg_0"],
            "formatted": None,
            "reference": [entry["target"]],
            "choices": None,
        },
        "output": {"raw": entry["filtered_resps"], "reasoning_trace": None},
        "messages": None,
        "answer_attribution": [],
        "evaluation": {"score": entry[metric], "is_correct": entry[metric] == 1.0},
        "error": None,
        "metadata": {
            "doc_hash": entry["doc_hash"],
            "filter": entry["filter"],
            "lm_eval_metrics": json.dumps({metric: entry[metric]}),
        },
    }


def every_eval(path: Path, entries: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def content(parsed: ParsedTable) -> tuple[Any, ...]:
    return parsed.values.tolist(), parsed.names, parsed.ids, parsed.kind, parsed.unit


def test_instances_equal_the_samples_they_are_made_of(tmp_path: Path) -> None:
    samples = [lm_eval(tmp_path, name, right=right) for name, right in (("a", 2), ("b", 5))]
    instances = []
    for path in samples:
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        name = path.parent.name
        own = [instance(entry, name) for entry in entries]
        instances.append(every_eval(tmp_path / f"{name}_samples.jsonl", own))
    assert content(read_logs(instances)) == content(read_logs(samples))
    # One program may have written the one log, another one the other.
    assert content(read_logs([samples[0], instances[1]])) == content(read_logs(samples))


def plain_instance(model: str, row: int, score: float, *, correct: bool) -> dict[str, Any]:
    return {
        "schema_version": "0.2.2",
        "evaluation_id": "e",
        "model_id": model,
        "evaluation_name": "task",
        "sample_id": f"q{row}",
        "interaction_type": "single_turn",
        "input": {"raw": f"question {row}", "reference": ["4"]},
        "output": {"raw": ["4"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": correct},
    }


def test_direction_of_instances_is_stated_or_certain(tmp_path: Path) -> None:
    """A score of 1 for what is correct is certain; else the file of the evaluation states it."""
    grades = [plain_instance("m", row, row % 2, correct=row % 2 == 1) for row in range(4)]
    path = every_eval(tmp_path / "x_samples.jsonl", grades)
    assert read_logs([path]).kind == "scores"
    shares = [plain_instance("m", row, 0.25 * row, correct=False) for row in range(4)]
    path = every_eval(tmp_path / "y_samples.jsonl", shares)
    with pytest.raises(TableError, match="whether higher or lower is better"):
        read_logs([path])
    assert read_logs([path], ReadOptions(kind="losses")).kind == "losses"
    for lower, kind in ((True, "losses"), (False, "scores")):
        result = {"evaluation_name": "task", "metric_config": {"lower_is_better": lower}}
        (tmp_path / "y.json").write_text(json.dumps({"evaluation_results": [result]}))
        assert read_logs([path]).kind == kind


def test_instances_of_other_items_are_not_joined(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    first = every_eval(tmp_path / "a.jsonl", [plain_instance("a", 1, 1, correct=True)])
    entry = plain_instance("b", 1, 1, correct=True)
    entry["input"] = {"raw": "another question", "reference": ["4"]}
    second = every_eval(tmp_path / "b.jsonl", [entry])
    assert "another input in task 'task' of 'b'" in refused([first, second], one_sentence)


def test_epochs_of_instances_are_runs(tmp_path: Path) -> None:
    entries = [
        {
            **plain_instance("m", 1, epoch % 2, correct=epoch % 2 == 1),
            "metadata": {"epoch": str(epoch)},
        }
        for epoch in (3, 1, 2)
    ]
    path = every_eval(tmp_path / "m.jsonl", entries)
    parsed = read_logs([path], ReadOptions(runs=True))
    assert parsed.runs is not None
    assert parsed.runs[:, 0, 0].tolist() == [1, 0, 1]
