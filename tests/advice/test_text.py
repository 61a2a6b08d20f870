"""Sentences of a report: best action, advised learner, precision, warnings, prices of budgets and targets."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import Pool
from tombola.advice import CompareReport, CompareRequest, Conditions, run_comparison
from tombola.advice.comparison_page import compare_page
from tombola.advice.text import order_test_text
from tombola.evidence import order_verdict
from tombola.learners import FollowTheLeader
from tombola.tables import read_table
from tombola.tables.to_pool import Table

pytestmark = pytest.mark.usefixtures("plainly")


def report_on(losses: Any, *, repetitions: int = 12, **conditions: Any) -> CompareReport:
    request = CompareRequest(
        Conditions("full", **conditions), ("FollowTheLeader", "Uniform"), repetitions=repetitions
    )
    return run_comparison(read_table(losses, kind="losses"), request, name="t.csv")


CLEAR = np.random.default_rng(0).permutation(np.array([[0.0, 1.0], [0.25, 1.0], [0.0, 0.75]] * 40))


def test_many_actions_stay_in_the_table() -> None:
    """A command of a thousand characters does not fit on a screen."""
    losses = np.random.default_rng(1).random((200, 57)).round(2)
    losses[:, 0] = 0.0
    pool = Pool(losses, actions=[f"organisation/model-{n}" for n in range(57)])
    request = CompareRequest(Conditions("full"), ("FollowTheLeader", "Uniform"), repetitions=12)
    report = run_comparison(Table(pool, None, []), request, name="t.csv")
    command = report.summary.command
    assert " --actions-from t.csv " in command
    assert len(command) < 200


def test_equal_best_actions_are_both_named() -> None:
    """ "Best action (exact): 0; next: 1, +0": neither is better than the other."""
    rows = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]] * 20
    report = report_on(rows, repetitions=2)
    assert report.summary.best == (
        "Best actions in this table (exact): 0 and 1, mean loss 0.5 each; next: 2, 0.5 behind. Learners "
        "are for new lists: each takes one action per row, and sees the outcomes of all (full "
        "feedback)."
    )
    assert "next" not in report_on([row[:2] for row in rows], repetitions=2).summary.best
    assert "best fixed actions: 0, 1, mean loss 0.5" in read_table(rows, kind="losses").notes


def test_page_highlights_a_learner_only_if_it_is_advised() -> None:
    """With "play one fixed action" as advice the page marked the learner of smallest regret."""
    tie = report_on([[0.0, 1.0], [1.0, 0.0]] * 20, repetitions=3)
    assert tie.advice.fixed_action
    assert 'class="advised"' not in compare_page(tie, command="")
    page = compare_page(report_on(CLEAR), command="")
    [marked] = re.findall(r'<tr class="advised">.*?class="name">(\w+)<', page)
    assert marked == "FollowTheLeader"


def test_summary_of_clear_table() -> None:
    summary = report_on(CLEAR).summary
    assert summary.table == "t.csv: 120 rows, 2 actions (0, 1), read as losses: lower is better."
    assert summary.best == (
        "Best action in this table (exact): 0, mean loss 0.08333; next: 1, 0.8333 behind. Learners are "
        "for new lists: each takes one action per row, and sees the outcomes of all (full "
        "feedback)."
    )
    assert summary.advice.startswith("Advice for a new list like this one: use FollowTheLeader: ")
    assert "less total loss than Uniform" in summary.advice
    assert "less total loss than a random fixed action, and" in summary.gain
    assert summary.command.startswith(
        "tombola session start ids.csv --actions 0,1 --losses --learner FollowTheLeader --seed"
    )
    assert f"expected regret at most {FollowTheLeader().bound(2, 120):.4g} (" in summary.precision
    assert summary.warnings == ()


def test_equal_actions_give_fixed_action() -> None:
    summary = report_on(np.full((60, 3), 0.5)).summary
    assert summary.advice.startswith(
        "Advice for a new list: play one fixed action. No learner is significantly better"
    )
    assert summary.command == ""


@pytest.mark.parametrize(("seed", "text"), [(1, " less total loss"), (2, " more total loss")])
def test_differences_have_no_minus_sign(seed: int, text: str) -> None:
    report = report_on(np.random.default_rng(seed).random((30, 2)).round(2))
    assert report.advice.fixed_action
    assert text in report.summary.advice
    assert not any(
        f" -{digit}" in f"{report.summary.advice} {report.summary.gain}" for digit in range(10)
    )


def test_one_repetition_has_no_interval() -> None:
    request = CompareRequest(Conditions("bandit"), ("UCB1",), repetitions=1)
    summary = run_comparison(read_table([[0.1, 0.2], [0.1, 0.3]], kind="losses"), request).summary
    assert " -" not in summary.gain
    assert summary.precision == "One repetition has no interval; write repetitions='40'."


@pytest.mark.parametrize(
    ("losses", "delay", "text", "warned"),
    [
        ([[0.0, 1.0]] * 60, 60, "no feedback arrives in time", True),
        ([[0.0, 1.0]] * 60, 59, "no feedback arrives in time", False),
        (np.eye(12), 0, "rows per action", True),
    ],
)
def test_warnings(losses: Any, delay: int, text: str, warned: bool) -> None:
    assert any(text in one for one in report_on(losses, delay=delay).summary.warnings) == warned


def test_bound_above_number_of_rows_is_left_out() -> None:
    report = report_on(CLEAR[:12])
    for bound, printed in ((12.0, False), (11.5, True)):
        runs = replace(report.runs, bounds=dict.fromkeys(report.runs.bounds, bound))
        assert (
            "at most 11.5 (docs/theory/delay.md, section 1)."
            in replace(report, runs=runs).summary.precision
        ) == printed


def test_learner_from_file_has_no_session_command(tmp_path: Path) -> None:
    """A session knows the learners of the package only."""
    (tmp_path / "mine.py").write_text(
        "from tombola.learners import FollowTheLeader\n\n\nclass Mine(FollowTheLeader): ...\n"
    )
    request = CompareRequest(
        Conditions("full"), (f"{tmp_path}/mine.py:Mine", "Uniform"), repetitions=12
    )
    report = run_comparison(read_table(np.array([[0.0, 1.0]] * 60), kind="losses"), request)
    assert report.advice.learner.endswith("mine.py:Mine")
    assert report.summary.command == ""


def test_order_test_text() -> None:
    drifting = np.repeat([[0.0, 0.5], [1.0, 0.5]], 200, axis=0)
    text = order_test_text(order_verdict(drifting, 0.01, seed=1), ("rising", "flat"), 0.01)
    assert text.startswith(
        "Order test: not in random order. The values of rising drift, detected after "
    )
    shuffled = order_verdict(np.random.default_rng(0).permutation(drifting), 0.01, seed=1)
    assert order_test_text(shuffled, ("rising", "flat"), 0.01) == (
        "Order test: no evidence against random order (level 1 %). Shuffle the list to be sure."
    )


def test_budget_of_zero_could_save_losses() -> None:
    """The price of the first unit is infinite, which is not 0."""
    pool = Pool([[0.6, 0.1]] * 10, ["small", "large"], costs=[[1.0, 4.0]] * 10)
    request = CompareRequest(Conditions(), amounts=(0.0,), repetitions=1)
    best = run_comparison(Table(pool, None, []), request).summary.best
    assert "Any budget above 0 could bring less total loss." in best
    assert "affordable" not in best


def test_headline_has_the_unit() -> None:
    table = Table(Pool([[0.2, 0.5]] * 20), None, [], "scores", "accuracy", (0.0, 100.0))
    report = run_comparison(
        table, CompareRequest(Conditions("full"), ("FollowTheLeader",), repetitions=2)
    )
    assert "read as scores (accuracy): higher is better." in report.summary.table
    assert "0, mean accuracy 80; next: 1, 30 behind. Learners" in report.summary.best
