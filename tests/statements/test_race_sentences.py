"""Sentences, cards and JSON of races that once said more than was proved.

Every test reads what a user reads. Rows of a table in all orders, under one seed, are all orders
of the race.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tombola import Race, RaceFile
from tombola.cli.app import app
from tombola.racing import RaceSettings
from tombola.racing.driver import progress_line
from tombola.racing.report import RaceReport

pytestmark = pytest.mark.usefixtures("plainly")


def answer_table(race: Race, table: Any) -> Race:
    """Answer all calls of a race from a table of losses, rows x candidates."""
    while not race.done:
        calls = race.calls()
        if not calls:
            break
        for call in calls:
            column = race.candidates.index(call.candidate)
            race.record(call, loss=float(table[call.row_index][column]))
    return race


def text_of_page(race: Race) -> str:
    """Return the words of the page of a race, without its markup."""
    page = RaceReport.from_race(race).to_html()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


EARLY_REJECTION = np.array(
    [[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]], float
)


@pytest.mark.parametrize(
    ("options", "allowed"), [({"top": 2}, 2), ({"within": 0.05}, 1), ({"question": "ranks"}, 0)]
)
def test_certain_answer_is_true_in_all_orders(options: Any, allowed: int) -> None:
    """Sets and accounts decided early by wealth were called certain after the last row."""
    totals = EARLY_REJECTION.sum(axis=0)
    certain = 0
    for order in itertools.permutations(range(5)):
        table = EARLY_REJECTION[list(order)]
        race = answer_table(Race("abcd", 5, level=0.5, seed=1, **options), table)
        if "for certain" not in race.verdict:
            continue
        certain += 1
        answer = ["abcd".index(name) for name in race.answer]
        if race.proved and allowed:
            best = np.sort(totals)[: len(answer)]
            assert np.allclose(np.sort(totals[answer]), best, atol=0.05 * 5 * (allowed == 1))
        for name, (first, last) in race.rank_sets.items():
            ahead = int((totals < totals["abcd".index(name)]).sum())
            assert first <= 1 + ahead <= last
    assert certain > 0


def test_top_after_the_last_row_is_by_totals() -> None:
    """8 of 120 orders gave "c and d ... for certain", although b and c are the best two."""
    wrong = 0
    for order in itertools.permutations(range(5)):
        race = answer_table(Race("abcd", 5, top=2, level=0.5, seed=1), EARLY_REJECTION[list(order)])
        if race.rows_counted == 5 and len(race.active) == 2:
            wrong += "for certain" in race.verdict and set(race.answer) != {"b", "c"}
    assert wrong == 0


def test_undecided_gate_of_a_sample_is_not_certain() -> None:
    """The page had "error probability 0: certain" for a gate without any decision."""
    race = Race("ab", 6, baseline="a", better=True, reading="beyond", seed=1)
    answer_table(race, [[0.5, 0.4]] * 6)
    assert race.proved is None
    assert "0: certain" not in text_of_page(race)
    assert "0: certain" not in race._repr_html_()
    assert "nothing is claimed" in text_of_page(race)


def test_groups_decided_at_the_level_are_not_certain() -> None:
    """The whole list is a certain tie; the groups are decided by wealth, before their last row."""
    table = [[0.0, 1.0]] * 30 + [[1.0, 0.0]] * 30
    race = answer_table(Race("ab", 60, strata=["x"] * 30 + ["y"] * 30, seed=1), table)
    assert all(result.rows_counted < 30 for result in race.by_group.values())
    page = text_of_page(race)
    assert "0: certain" not in page
    assert "at most 0.05" in page
    assert "by group, all with probability 0.95 or more: x: a; y: b" in race.verdict


def test_equal_candidates_get_no_strict_order() -> None:
    """Two equal candidates are separated in 6 % of the orders, at level .05; "or equal" is true."""
    table = np.array([[0, 1], [1, 0]] * 30, float)
    decided = 0
    for seed in range(60):
        race = answer_table(Race("ab", 60, seed=seed, level=0.2), table)
        if race.proved:
            decided += 1
            assert "is the best of 2 candidates (another may be equal)" in race.verdict
    assert decided > 0


def test_certain_winner_is_strict() -> None:
    race = answer_table(Race("ab", 4, seed=1), [[0.5, 0.6]] * 4)
    assert "a is the best of 2 candidates on the answers recorded here" in race.verdict


def test_gate_says_not_better_rather_than_worse() -> None:
    race = answer_table(Race("ab", 200, baseline="a", better=True, seed=1), [[0.0, 1.0]] * 200)
    assert race.proved is False
    assert "b is not better than a" in race.verdict
    assert "is worse than" not in race.verdict


def test_race_stopped_at_its_cap_saves_nothing() -> None:
    """It was "Done", with "calls saved 99%", although its question is open."""
    race = answer_table(Race("ab", 400, seed=1, max_calls=8), [[0.4, 0.5]] * 400)
    data = RaceReport.from_race(race).to_json()
    assert data["calls_saved"] is None
    assert data["cost_saved_estimate"] is None
    page = text_of_page(race)
    assert "calls saved" not in page
    assert "Stopped, undecided" in page
    assert race.verdict.startswith("stopped at the limit of 8 calls: nothing is proved")


def test_cost_of_a_capped_race_is_not_saved() -> None:
    race = Race("ab", 400, seed=1, max_cost=2.0, max_call_cost=0.5)
    while not race.done:
        for call in race.calls():
            race.record(call, loss=0.5, cost=0.5)
    assert race.verdict.startswith("stopped at the limit of cost 2: nothing is proved")
    assert "saved" not in text_of_page(race)


@pytest.mark.parametrize(
    ("options", "is_certain"),
    [({"answers": "fixed"}, True), ({"answers": "random"}, False), ({"reading": "beyond"}, False)],
)
def test_only_recorded_answers_can_become_certain(
    options: dict[str, Any], is_certain: bool, tmp_path: Path
) -> None:
    """The status of a race on random answers said "or when the rows left cannot help it"."""
    settings = RaceSettings(("a", "b"), seed=1, **options)
    RaceFile.start(tmp_path / "r", settings, ["x", "y", "z"]).close()
    shown = CliRunner().invoke(app, ["race", "status", str(tmp_path / "r")]).stdout
    words = " ".join(shown.split())
    page = text_of_page(Race("ab", 3, seed=1, **options))
    assert ("or when it can no longer catch up (certain)" in page) is is_certain
    assert "evidence: against a candidate; it is dropped at" in words
    assert ("or when the rows left cannot help it" in words) is is_certain


def test_progress_calls_no_equal_candidate_the_leader() -> None:
    """ "a leads with mean loss 0.5" stood above "a and b are level"."""
    race = Race("ab", 9, seed=1, answers="fixed")
    for call in race.calls():
        race.record(call, loss=0.5)
    assert "a and b are level at mean loss 0.5" in progress_line(race)
    for call in race.calls():
        race.record(call, loss=float(call.candidate == "a"))
    assert "b leads with mean loss 0.25" in progress_line(race)
