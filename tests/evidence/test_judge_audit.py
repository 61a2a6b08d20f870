"""Audit with a judge: order, labels that count, size of the planned look, words."""

import re
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tombola
from pools import SHARED
from tombola._formatting import cli_style
from tombola.cli.app import app
from tombola.errors import ParameterError, TableError, TombolaError
from tombola.evidence import parse_statement
from tombola.evidence.audit_statement import Inequality
from tombola.evidence.judge_audit import JudgeAudit, _single_look

RNG = np.random.default_rng(5)
TRUTH = {f"q{at}": int(value) for at, value in enumerate(RNG.random(300) < 0.7)}
WRONG = RNG.random(300) < 0.1
JUDGE = [
    {"id": name, "ok": int(label != wrong)}
    for (name, label), wrong in zip(TRUTH.items(), WRONG, strict=True)
]


def judged(table: Any, statements: Any, **options: Any) -> JudgeAudit:
    report = tombola.audit(table, statements, **options)
    assert isinstance(report, JudgeAudit)
    return report


def labels_of(names: list[str]) -> list[dict[str, Any]]:
    return [{"id": name, "ok": TRUTH[name]} for name in names]


def in_order(count: int, **options: Any) -> list[str]:
    """Return the ids of the first rows to label."""
    return judged(None, "mean(ok) > 0.6", judge=JUDGE, **options).next_rows(count)


def largest_error(n_rows: int, count: int, level: float) -> float:
    """Return the largest probability of a false outcome, over lists, statements and samples.

    Enumerates all labels of the list and all sets of labelled rows; the judge is fixed.
    """
    judge = np.array([0.1, 0.9, 0.8, 0.3, 0.7])[:n_rows]
    samples = [*combinations(range(n_rows), count)]
    orders = [[*rows, *(row for row in range(n_rows) if row not in rows)] for rows in samples]
    statements = [
        parse_statement(f"mean(ok) {sign} {threshold}")
        for sign, threshold in product((">", ">=", "<", "<="), (0, 0.4, 0.5))
    ]
    largest = 0.0
    # Lists that differ by exchanging the labels within a stratum are alike.
    for labels in product((0.0, 1.0), repeat=n_rows):
        if any(labels[row] < labels[other] for row, other in ((1, 2), (2, 4), (0, 3))):
            continue
        values = np.array(labels)
        for statement in statements:
            is_true = statement.inequalities[0].holds(values.mean(), n_rows)
            errors = 0
            for order in orders:
                outcome = _single_look(
                    statement, values[order[:count]], judge[order], level, is_made=True
                ).outcome
                errors += outcome == ("refuted" if is_true else "proved")
            largest = max(largest, errors / len(orders))
    return largest


def test_planned_look_is_wrong_at_most_as_often_as_the_level() -> None:
    assert 0.0 < largest_error(5, 3, level=0.45) <= 0.45


def test_fault_of_a_strict_sign_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """If "<" counted equality, "mean < t" would be called proved where it is equal."""

    def holds(inequality: Inequality, mean: float, rows: int) -> bool:
        margin = mean - inequality.threshold if inequality.above else inequality.threshold - mean
        return margin >= -1.0 / rows

    true_holds = Inequality.holds
    monkeypatch.setattr(Inequality, "holds", holds)
    judge = np.array([0.1, 0.9, 0.8, 0.3, 0.7])
    statement = parse_statement("mean(ok) < 0.4")
    values = np.array([0.0, 0.0, 1.0, 0.0, 1.0])
    errors = 0
    samples = [*combinations(range(5), 3)]
    for rows in samples:
        order = [*rows, *(row for row in range(5) if row not in rows)]
        result = _single_look(statement, values[order[:3]], judge[order], 0.45, is_made=True)
        errors += result.outcome == "proved"
    assert not true_holds(statement.inequalities[0], 0.4, 5)
    assert errors / len(samples) > 0.45


def test_order_depends_on_ids_and_seed_only() -> None:
    other = [{"ok": int(row["ok"] == 0), "id": row["id"]} for row in reversed(JUDGE)]
    order = in_order(300)
    assert judged(None, "mean(ok) < 0.2", judge=other).next_rows(300) == order
    assert sorted(order) == sorted(TRUTH)
    assert in_order(300, seed=2) != order


def test_labels_in_any_lines_give_one_result() -> None:
    names = in_order(120)
    first = judged(labels_of(names), "mean(ok) > 0.6", judge=JUDGE)
    again = judged(labels_of(names[::-1]), "mean(ok) > 0.6", judge=JUDGE[::-1])
    assert first.to_json() == again.to_json()
    assert first.outcome == "proved"


def test_labels_out_of_turn_wait() -> None:
    """A person who labels only good rows proves nothing: the first gap ends the count."""
    names = in_order(300)
    good = [name for name in names if TRUTH[name]]
    report = judged(labels_of(good), "mean(ok) > 0.9", judge=JUDGE)
    gap = next(name for name in names if not TRUTH[name])
    assert report.rows == names.index(gap)
    assert report.outcome == "undecided"
    assert len(report.waiting) == len(good) - report.rows
    assert f"label {gap} first" in str(report)
    assert report.next_rows(2) == [name for name in names if not TRUTH[name]][:2]


def test_blank_cell_is_no_label() -> None:
    names = in_order(30)
    rows = [{"id": name, "ok": TRUTH[name] if at < 20 else ""} for at, name in enumerate(names)]
    report = judged(rows, "mean(ok) > 0.6", judge=JUDGE)
    assert report.rows == 20
    assert report.next_rows(10) == names[20:]


def test_words_agree_with_counts() -> None:
    names = in_order(150)
    report = judged(labels_of(names), "mean(ok) > 0.6", judge=JUDGE)
    text = str(report)
    score = {row["id"]: row["ok"] for row in JUDGE}
    wrong = [name for name in names if score[name] != TRUTH[name]]
    match = re.search(r"disagree on (\d+) of 150 rows .*: on (\d+) only the judge", text)
    assert match
    assert int(match[1]) == len(wrong)
    assert int(match[2]) == sum(score[name] == 1 for name in wrong)
    mean = np.mean(list(score.values()))
    own = f"of all rows have the mean {mean:.4g}: by them alone mean(ok) > 0.6 would hold"
    assert f"{own}; the labels say the same" in text
    summary = report.judge[0]
    assert summary.without is not None
    assert summary.saved == max(0, summary.without - report.results[0].rows)
    assert f"{report.results[0].rows} labels were used, about {summary.without} without" in text
    assert text.splitlines()[3] in report.to_page()


def test_planned_look_makes_no_claim_before_its_number() -> None:
    names = in_order(300)
    options: dict[str, Any] = {"judge": JUDGE, "looks": 1, "labels": 100}
    early = judged(labels_of(names[:99]), "mean(ok) > 0.1", **options)
    assert early.outcome == "undecided"
    assert "1 label to go" in str(early)
    assert early.next_rows(9) == names[99:100]
    made = judged(labels_of(names[:100]), "mean(ok) > 0.1", **options)
    more = judged(labels_of(names), "mean(ok) > 0.1", **options)
    assert made.outcome == "proved"
    # Labels beyond the plan change nothing; they only wait.
    assert more.results == made.results
    assert more.next_rows(9) == []


def test_whole_list_is_certain() -> None:
    mean = float(np.mean(list(TRUTH.values())))
    for statement, outcome in (
        (f"mean(ok) >= {mean!r}", "proved"),
        (f"mean(ok) > {mean!r}", "refuted"),
    ):
        for looks, labels in (("any", None), (1, 300)):
            report = judged(labels_of([*TRUTH]), statement, judge=JUDGE, looks=looks, labels=labels)
            assert report.outcome == outcome
            assert report.results[0].p_value == 0.0


def test_level_is_shared_by_statements() -> None:
    """At 60 labels one statement is proved alone, and not beside nineteen others."""
    names = in_order(60)
    options: dict[str, Any] = {"judge": JUDGE, "looks": 1, "labels": 60}
    alone = judged(labels_of(names), "mean(ok) > 0.66", **options)
    p_value = alone.results[0].p_value
    assert 0.0025 < p_value <= 0.05
    among = judged(labels_of(names), ["mean(ok) > 0.66", *["mean(ok) > 0"] * 19], **options)
    assert among.results[0].outcome == "undecided"


def test_two_systems_are_paired_by_one_judge() -> None:
    """Both systems meet the same rows: their difference is decided before either mean."""
    rng = np.random.default_rng(2)
    hard = rng.random(400)
    new, old = hard < 0.6, hard < 0.45
    wrong = rng.random((2, 400)) < 0.05
    judge = [
        {"id": at, "new": int(new[at] ^ wrong[0, at]), "old": int(old[at] ^ wrong[1, at])}
        for at in range(400)
    ]
    labels = [{"id": at, "new": int(new[at]), "old": int(old[at])} for at in range(400)]
    report = judged(labels, "mean(new) - mean(old) > 0", judge=judge)
    assert report.outcome == "proved"
    assert report.results[0].rows < 120
    assert "differ by" in str(report)
    with pytest.raises(ParameterError, match="got a difference"):
        judged(labels, "mean(new) - mean(old) > 0", judge=judge, looks=1, labels=9)


def test_judge_column_of_another_name_and_words() -> None:
    grades = [{"id": name, "grade": "pass" if ok else "fail"} for name, ok in TRUTH.items()]
    scores = [{"id": row["id"], "p_pass": 0.9 if row["ok"] else 0.2} for row in JUDGE]
    report = judged(grades, "share(grade = pass) > 0.5", judge=scores)
    assert report.outcome == "proved"
    assert report.judge[0].disagreements == WRONG.sum()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"labels": [{"id": "x", "ok": 1}]}, "expected a row of judge, got 'x'"),
        ({"labels": [{"id": "q1", "ok": 1}] * 2}, "one label for each row, got 'q1' again"),
        ({"labels": [{"ok": 1}]}, "one column of row ids"),
        ({"judge": [{"id": "q1", "ok": 1}] * 2}, "a different id in every row, got 'q1' again"),
        ({"judge": [{"id": "q1", "a": 1, "b": 1}]}, "expected the judge's ok, got a, b"),
        ({"judge": [{"id": "q1", "a": 3}]}, "expected scores from 0 to 1 in a, got '3'"),
        ({"looks": 1}, "fixed before the first label; write labels=NUMBER"),
        ({"looks": 2}, "expected looks 1 or any"),
        ({"labels_planned": 5}, "for one planned look"),
        ({"looks": 1, "labels_planned": 301}, "at most 300 labels"),
        ({"rows": 300}, "expected judge or rows, got both"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], text: str) -> None:
    options: dict[str, Any] = {"judge": JUDGE, **change}
    table = options.pop("labels", labels_of(["q1"]))
    options["labels"] = options.pop("labels_planned", None)
    with pytest.raises(TombolaError, match=re.escape(text)):
        judged(table, "mean(ok) > 0.6", **options)


def test_planned_look_needs_labels_0_and_1() -> None:
    rows = [{"id": name, "ok": 0.5} for name in in_order(9)]
    with pytest.raises(TableError, match="labels 0 and 1"):
        judged(rows, "mean(ok) > 0.6", judge=JUDGE, looks=1, labels=9)


def test_judge_is_an_option_of_judge_audits_only() -> None:
    with pytest.raises(ParameterError, match="with judge only"):
        judged(labels_of(["q1"]), "mean(ok) > 0.6", looks=1, labels=1)


def test_command_prints_rows_to_label_and_the_answer(tmp_path: Path) -> None:
    judge = tmp_path / "judge.csv"
    judge.write_text("id,ok\n" + "".join(f"{row['id']},{row['ok']}\n" for row in JUDGE))
    labels = tmp_path / "labels.csv"
    words = ["audit", str(labels), "mean(ok) > 0.6", "--judge", str(judge)]

    def run(*more: str) -> tuple[int, str]:
        with cli_style(["tombola", *words, *more]):
            done = CliRunner().invoke(app, [*words, *more])
        return done.exit_code, str(done.exception) if done.exit_code == 1 else done.output

    status, text = run("--next", "150")
    assert status == 0
    lines = text.splitlines()
    assert lines[0] == "id,ok"
    names = [line.rstrip(",") for line in lines[1:]]
    assert names == in_order(150)
    labels.write_text("id,ok\n" + "".join(f"{name},{TRUTH[name]}\n" for name in names))
    status, text = run()
    assert status == 0
    assert "The judge saved about" in text
    assert '"saved"' in run("--json")[1]
    assert "--looks 1" not in text
    assert "write --labels NUMBER" in run("--looks", "1")[1]


def test_shared_pool_serves_as_judge_and_label() -> None:
    """A sentiment service is the judge of yelp reviews; it is right in 96 % of the rows."""
    path = SHARED / "frugalml_yelp.npz"
    if not path.is_file():
        pytest.skip("needs ../shared/pools beside the project")
    pool = np.load(path, allow_pickle=True)
    rows = np.random.default_rng(0).permutation(pool["y"].size)[:2000]
    labels = pool["y"][rows]
    column = pool["actions"].tolist().index("Google")
    says = np.abs(labels - pool["loss"][rows, column])
    judge = [{"id": at, "positive": int(score)} for at, score in enumerate(says)]
    people = [{"id": at, "positive": int(label)} for at, label in enumerate(labels)]
    report = judged(people, f"mean(positive) > {labels.mean() - 0.1:.3f}", judge=judge)
    assert report.outcome == "proved"
    assert report.judge[0].saved is not None
    assert report.judge[0].saved > report.results[0].rows


@pytest.mark.full
def test_any_time_claims_are_wrong_at_most_as_often_as_the_level() -> None:
    """1,000 orders at the edge; false alarm below 0.001 if the level is kept (68 of 1,000)."""
    rng = np.random.default_rng(3)
    truth = (rng.permutation(80) < 48).astype(int)
    judge = [{"id": at, "ok": int(label ^ (rng.random() < 0.15))} for at, label in enumerate(truth)]
    people = [{"id": at, "ok": int(label)} for at, label in enumerate(truth)]
    wrong = 0
    for seed in range(1000):
        order = judged(None, "mean(ok) > 0.6", judge=judge, seed=seed).order
        # Without the last row, so that the answer is never certain.
        kept = [people[int(name)] for name in order[:-8]]
        report = judged(kept, "mean(ok) > 0.6", judge=judge, seed=seed)
        wrong += report.outcome == "proved"
    assert wrong <= 68
