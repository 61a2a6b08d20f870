"""The quick part of the harness of results that are no races; `run_harness.py` is the nightly one."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from statements.evidence_harness import (
    SCENARIOS,
    Run,
    Truth,
    count_of,
    judge_scenario,
    judge_statement,
    small_list,
)
from tombola import rank
from tombola.learners import UCB1
from tombola.statements import Conclusion, Counts, Quantity, Statement
from tombola.worklists import SessionFile

pytestmark = pytest.mark.usefixtures("plainly")

# Runs of a scenario in the quick part.
FIRST_RUNS = 3


@pytest.mark.parametrize("name", SCENARIOS)
def test_sentences_of_all_scenarios(name: str) -> None:
    """The first runs of a list: all sentences parse, agree with JSON, and none is false for certain."""
    runs: Iterator[Run] = SCENARIOS[name].runs(small_list(1), 0.4, 1)
    count = count_of(itertools.islice(runs, FIRST_RUNS))
    assert count.races > 0
    assert count.wrong_certain == 0, count.examples


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if scenario.exact])
def test_error_over_all_runs_is_below_the_level(name: str) -> None:
    for number, level in ((0, 0.5), (1, 0.3), (2, 0.5)):
        count = judge_scenario(name, number, level)
        assert count.wrong <= level * count.races + 1e-9, count.examples
        assert count.wrong_certain == 0


def test_harness_sees_wrong_levels_and_wrong_words() -> None:
    """A level that is twice too small, a strict word at a tie, and a false certainty are seen."""
    tie = Truth(np.array([0.5, 0.5, 2.0]), {"a": 0.5})
    quantity = Quantity(recorded="values")

    def said(conclusion: Conclusion, level: float, truth: Truth = tie) -> tuple[bool, bool]:
        verdict: Any = "exact" if level == 0.0 else "proved"
        counts = Counts(rows=5, counted=5)
        statement = Statement(
            verdict, "recorded", (conclusion,), level=level, quantity=quantity, counts=counts
        )
        return judge_statement(statement, truth)

    assert said(Conclusion("better", ("a",), than="b"), 0.1) == (True, False)
    assert said(Conclusion("not worse", ("a",), than="b"), 0.1) == (False, False)
    assert said(Conclusion("holds", ("mean(a) >= 0.6",)), 0.0) == (True, True)
    assert said(Conclusion("fails", ("mean(a) >= 0.6",)), 0.0) == (False, False)
    assert said(Conclusion("mean", ("a",), interval=(0.51, 0.8)), 0.1) == (True, False)
    assert said(Conclusion("rank", ("b",), field=3, interval=(1, 1)), 0.1) == (True, False)
    assert said(Conclusion("rank", ("b",), field=3, interval=(2, 2)), 0.1) == (False, False)


def test_amended_and_cancelled_outcomes_of_a_session_stay_true(tmp_path: Path) -> None:
    """Outcomes are amended and pending tickets cancelled; two handles say the same."""
    table = np.tile(small_list(3), (3, 1))
    truth = Truth(table.mean(axis=0))
    path = tmp_path / "s"
    ids = [str(row) for row in range(len(table))]
    with SessionFile.start(path, ids, list("abc"), UCB1(), seed=4) as file:
        file.interpreted = True
        for turn in range(5):
            for task in file.next(3):
                if turn == 2:
                    file.cancel(task.ticket)
                    continue
                loss = table[int(task.id), "abc".index(task.action)]
                file.record(task.ticket, loss=abs(loss - 0.25))
                file.amend(task.ticket, loss=loss)
            with SessionFile.open(path) as other:
                other.interpreted = True
                statement = file.status(0.4).statement
                assert str(other.status(0.4).statement) == str(statement)
                wrong, certain = judge_statement(statement, truth)
                assert not (wrong and certain)


def test_level_of_a_ranking_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness errs more often than the level allows if ranks beyond the list ignore it.

    All samples of seven rows; the pair tests at .9 instead of .4.
    """
    from tombola.ranking import _rank

    honest = judge_scenario("rank, beyond", 1, 0.4)
    assert 0.0 < honest.wrong <= 0.4 * honest.races
    inner = _rank._beyond
    monkeypatch.setattr(_rank, "_beyond", lambda rows, plan: _at_level(inner, rows, plan))
    assert judge_scenario("rank, beyond", 1, 0.4).wrong > honest.wrong


def _at_level(inner: Any, rows: Any, plan: Any) -> Any:
    return replace(inner(rows, replace(plan, level=0.99)), level=plan.level)


def test_rank_of_a_sample_says_for_one_look() -> None:
    rows = [[0.0, 1.0]] * 9
    [statement] = rank(rows, kind="losses", reading="beyond").statements
    assert statement.condition == "for one look"
