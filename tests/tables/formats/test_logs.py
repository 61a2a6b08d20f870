"""Readers of evaluation logs: the right pool, or an error of one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Of
from typing import Any

import pytest

from tombola._formatting import cli_style
from tombola.errors import TableError
from tombola.tables import read_table
from tombola.tables.formats.logs import (
    LogOptions,
    answers_of_log,
    direction_of_metric,
    read_logs,
    table_of,
)
from tombola.tables.options import ParsedTable, ReadOptions
from tombola.tables.to_pool import to_pool


def read(paths: list[Path], metric: str | None = None) -> ParsedTable:
    """Read logs as one table, in the unit of the metric."""
    return read_logs(paths, ReadOptions(value=metric))


def losses_of(parsed: ParsedTable) -> Any:
    """Return the values of a table as losses in [0, 1]."""
    return parsed.values if parsed.kind == "losses" else 1.0 - parsed.values


def lm_eval(folder: Path, name: str, values: list[float]) -> Path:
    (folder / name).mkdir()
    path = folder / name / "samples_gsm8k_2026.jsonl"
    lines = [
        {"doc_id": i, "doc": {}, "metrics": ["exact_match"], "exact_match": v}
        for i, v in enumerate(values)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_lm_eval_samples(tmp_path: Path) -> None:
    paths = [
        lm_eval(tmp_path, "small", [1.0, 0.0, 1.0]),
        lm_eval(tmp_path, "large", [1.0, 1.0, 0.0]),
    ]
    parsed = read(paths)
    assert (parsed.actions, parsed.kind, parsed.unit) == (
        ("small", "large"),
        "scores",
        "exact_match",
    )
    assert parsed.values.tolist() == [[1, 1], [0, 1], [1, 0]]
    assert read(paths, "exact_match").values.tolist() == parsed.values.tolist()


def write_samples(folder: Path, **candidates: list[dict[str, object]]) -> list[Path]:
    """Write a log of lm-eval with these samples per candidate; every sample has two rows."""
    for name, samples in candidates.items():
        (folder / name).mkdir()
        lines = [{"doc_id": row, "doc": {}, **sample} for row in range(2) for sample in samples]
        (folder / name / "samples.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return [folder / name / "samples.jsonl" for name in candidates]


@pytest.mark.parametrize("metric", ["brier_score", "wer", "error_rate", "nll", "bits_per_byte"])
def test_value_of_lower_is_better_is_the_loss(metric: str, tmp_path: Path) -> None:
    paths = write_samples(
        tmp_path, **{n: [{"metrics": [metric], metric: v}] for n, v in (("a", 0.25), ("b", 0.75))}
    )
    assert read(paths).kind == "losses"
    assert read(paths).values.tolist() == [[0.25, 0.75]] * 2


def test_named_score_of_promptfoo_is_a_loss_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(
        json.dumps(
            {"results": [{"provider": "x", "score": 1, "namedScores": {"cer": 0.25, "f1": 0.75}}]}
        )
    )
    assert [losses_of(read([path], metric)).item() for metric in ("cer", "f1", None)] == [
        0.25,
        0.25,
        0,
    ]


def test_scores_of_inspect_ai_have_the_direction_of_their_name() -> None:
    pytest.importorskip(
        "inspect_ai", reason="inspect_ai is not installed: pip install 'tombola[inspect]'"
    )
    scores = {
        name: Of(value=value)
        for name, value in (("brier", 0.25), ("mine", "C"), ("vague", 0.5), ("f1", {}))
    }
    log = Of(
        status="success", location="x.eval", samples=[Of(id=1, scores=scores)], eval=Of(model="m")
    )
    for name, loss in (("brier", 0.25), ("mine", 0)):
        assert losses_of(table_of(answers_of_log(log, LogOptions(name)), "log")).item() == loss
    for metric, reason in (
        (None, "got brier, mine, vague and f1; write TOMBOLA_RANKS=brier"),
        ("vague", "got 'vague'"),
        ("f1", "expected a number as f1, got several"),
    ):
        with pytest.raises(TableError, match=reason):
            list(answers_of_log(log, LogOptions(metric)))


DIRECTIONS = {
    "losses": [
        "loss",
        "perplexity",
        "word_perplexity",
        "bits_per_byte",
        "cer",
        "ter",
        "nll",
        "brier",
        "log_loss",
    ],
    "scores": [
        "score",
        "acc",
        "acc_norm",
        "exact_match,strict-match",
        "mc2",
        "pass@1",
        "pass_at_1",
        "rougeL",
        "match",
    ],
    None: [
        "nll_score",
        "neg_nll",
        "loss_score",
        "no_match",
        "1-acc",
        "toxicity",
        "likelihood_diff",
        "",
    ],
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in DIRECTIONS.items() for name in names]
)
def test_direction_of_metric(
    kind: str | None, name: str, one_sentence: Callable[[object], str]
) -> None:
    if kind is not None:
        assert direction_of_metric(name, "log") == kind
        return
    with pytest.raises(TableError) as caught:
        direction_of_metric(name, "log")
    assert f"got {name!r}; write kind='scores' if higher is better" in one_sentence(caught.value)


STRICT = {"filter": "strict-match", "metrics": ["exact_match"], "exact_match": 0}
FLEXIBLE = {"filter": "flexible-extract", "metrics": ["exact_match"], "exact_match": 1}
TWO = {"metrics": ["acc", "acc_norm"], "acc": 1, "acc_norm": 0.5}


def test_metric_and_filter_of_lm_eval(tmp_path: Path) -> None:
    paths = write_samples(tmp_path, a=[STRICT, FLEXIBLE], b=[STRICT])
    for metric, losses in (
        ("exact_match,strict-match", [1, 1]),
        ("exact_match,flexible-extract", [0, 0]),
    ):
        assert losses_of(read(paths[:1], metric))[:, 0].tolist() == losses
    assert (
        losses_of(read(paths[1:])).tolist()
        == losses_of(read(paths[1:], "exact_match")).tolist()
        == [[1], [1]]
    )
    paths = write_samples(tmp_path, c=[TWO], d=[{"acc": 1, "acc_norm": 0.5, "target": 3}])
    for metric, loss in (("acc", 0), ("acc_norm", 0.5), ("acc,none", 0)):
        assert losses_of(read(paths, metric)).tolist() == [[loss, loss]] * 2


SEVERAL = "expected one metric, got acc and acc_norm; write value='acc', or another of them"
FILTERS = (
    "got exact_match,strict-match and exact_match,flexible-extract; write "
    "value='exact_match,strict-match'"
)


@pytest.mark.parametrize(
    ("first", "second", "metric", "reason"),
    [
        ([TWO], [TWO], None, SEVERAL),
        ([{"acc": 1, "acc_norm": 0}], [TWO], None, SEVERAL),
        (
            [TWO],
            [TWO],
            "f1",
            "expected the metric 'f1', got acc and acc_norm; write value='acc', or another of them",
        ),
        ([TWO], [STRICT], "acc", "expected the metric 'acc', got exact_match,strict-match; write"),
        (
            [STRICT],
            [{"acc": 1}],
            None,
            "expected the same metric in all logs, got exact_match,strict-match and acc",
        ),
        ([STRICT], [FLEXIBLE], "exact_match", "expected the same metric in all logs"),
        ([STRICT, FLEXIBLE], [STRICT, FLEXIBLE], None, FILTERS),
        ([STRICT, FLEXIBLE], [STRICT, FLEXIBLE], "exact_match", FILTERS),
        (
            [{"metrics": ["ppl"], "ppl": [-3, 1]}],
            [],
            None,
            "line 1: expected a number as ppl, got several",
        ),
        ([{"metrics": ["helpful"], "helpful": 1}], [], None, "got 'helpful'; write kind='scores'"),
    ],
)
def test_unclear_metric_is_rejected(
    first: list[dict[str, object]],
    second: list[dict[str, object]],
    metric: str | None,
    reason: str,
    tmp_path: Path,
    one_sentence: Callable[[object], str],
) -> None:
    with pytest.raises(TableError) as caught:
        read(write_samples(tmp_path, a=first, b=second), metric)
    assert reason in one_sentence(caught.value)


def test_filter_on_the_command_line_names_an_option(tmp_path: Path) -> None:
    with (
        cli_style(),
        pytest.raises(TableError, match=r"write --value-column exact_match,strict-match, or"),
    ):
        read(write_samples(tmp_path, a=[STRICT, FLEXIBLE]))


def test_larger_values_need_a_range(tmp_path: Path) -> None:
    """The answers are in the unit of the metric: a perplexity of 12.5 is not cut to [0, 1]."""
    paths = write_samples(tmp_path, a=[{"metrics": ["ppl"], "ppl": 12.5}], b=[{"ppl": 3}])
    assert read(paths).values.tolist() == [[12.5, 3]] * 2
    with pytest.raises(TableError, match=r"must be in \[0, 1\], got numbers from 3 to 12.5"):
        read_table(tmp_path)
    assert read_table(tmp_path, range=(0, 50)).pool.losses[0].tolist() == [0.25, 0.06]


@pytest.mark.parametrize(
    "failed", [{"success": False, "error": "rate limit"}, {"failureReason": 2}]
)
def test_failed_result_of_promptfoo_is_the_worst(failed: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    lines = [{"provider": "x", "score": 1, "namedScores": {"cer": 0}}, {"provider": "x", **failed}]
    path.write_text(json.dumps({"results": lines}))
    assert [losses_of(read([path], metric)).ravel().tolist() for metric in (None, "cer")] == [
        [0, 1],
        [0, 1],
    ]


def test_promptfoo_results(tmp_path: Path) -> None:
    lines = [
        {
            "provider": {"id": f"openai:{name}", "label": ""},
            "promptIdx": 0,
            "testIdx": i,
            "score": s,
        }
        for i in range(2)
        for name, s in (("a", 1), ("b", 0.25))
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"evalId": "x", "results": {"version": 3, "results": lines}}))
    parsed = read([path])
    assert (parsed.actions, parsed.values.tolist()) == (
        ("openai:a", "openai:b"),
        [[1, 0.25], [1, 0.25]],
    )
    path.write_text(
        json.dumps({"results": [*lines, *({**line, "promptIdx": 1} for line in lines)]})
    )
    assert read([path]).names[-1] == "openai:b, prompt 2"


def test_long_table_and_command(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("candidate,row,score\na,x,1\nb,x,0\nb,y,0.5\na,y,0.75\n")
    assert read([path]).values.tolist() == [[1, 0], [0.75, 0.5]]


HUGE = "9" * 400
BAD = [
    ("a.jsonl", "{", ""),
    ("a.jsonl", '{"doc_id": 1}', ""),
    ("a.jsonl", '{"doc_id": 1, "acc": 7}', ""),
    ("a.jsonl", f'{{"doc_id": 1, "doc": {{}}, "acc": {HUGE}}}', "OverflowError"),
    ("a.jsonl", "[]", ""),
    ("a.jsonl", "", ""),
    ("a.json", "[", ""),
    ("a.json", "[]", ""),
    ("a.json", "[" * 100_000, ""),
    ("a.json", '{"results": 3}', ""),
    ("a.json", '{"results": {"results": [{"provider": "x"}]}}', ""),
    (
        "a.json",
        '{"results": [{"provider": "x", "testIdx": 7, "success": true, "error": "limit"}]}',
        "'x' in test '7'",
    ),
    (
        "a.csv",
        "candidate,row,score,loss\nx,y,1,1\n",
        "expected one metric, got loss and score; write value='loss'",
    ),
    ("a.json", f'{{"results": [{{"provider": "x", "score": {HUGE}}}]}}', "OverflowError"),
    (
        "a.json",
        '{"results": [{"provider": "x", "score": 1, "promptIdx": Infinity}, {"provider": "y"}]}',
        "Overflow",
    ),
    ("a.json", '{"results": [{"provider": "\\ud800", "score": 1}]}', "valid Unicode"),
    ("a.csv", "candidate,row\nx,y\n", ""),
    ("a.csv", "candidate,row,score\nx,y,z\n", ""),
    ("a.csv", "candidate,row,score\nx,y,1\nx,y,0\n", "got two"),
    ("a.csv", "candidate,row,score\nx,1,1\ny,2,0\n", ""),
    ("a.csv", "candidate,row,score\n", ""),
    ("a.csv", "candidate,Candidate,row,loss\na,b,x,1\n", "'candidate' twice"),
    ("a.csv", ",".join(["n" * 10_000, "m" * 10_000]) + "\n", "nnn..., mmm"),
    ("a.csv", "", "got none"),
    ("a.eval", "no zip at all", ""),
    # The version that a zip archive needs is 6.7, as damage may say.
    ("a.eval", "PK\x03\x04PK\x01\x02\x3f\x03\x43\x00", ""),
    ("none.csv", None, ""),
]


@pytest.mark.parametrize(("name", "text", "reason"), BAD)
def test_bad_file_is_one_sentence(
    name: str, text: str | None, reason: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(TableError) as caught:
        to_pool(read([tmp_path / name]), missing="error", limits=None, rescale=False)
    assert reason in one_sentence(caught.value)
    assert len(str(caught.value)) < 500
