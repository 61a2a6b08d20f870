"""Means of chosen candidates: intervals that allow for the choice, beside the naive mean."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from tombola import Race
from tombola.evidence.betting import Betting
from tombola.racing.means import mean_text
from tombola.racing.report import RaceReport


def play(race: Race, table: np.ndarray) -> Race:
    while not race.done:
        for call in race.calls():
            race.record(call, loss=table[call.row_index, race.candidates.index(call.candidate)])
    return race


def test_the_level_is_shared_by_the_candidates() -> None:
    """The interval is that of a betting sequence at level / k on the rows of the winner."""
    table = (np.random.default_rng(0).random((300, 4)) < [0.1, 0.5, 0.6, 0.7]).astype(float)
    race = play(Race("abcd", 300, level=0.1, seed=2), table)
    (mean,) = race.chosen_means()
    rows, losses = race.counted_losses("a")
    assert mean.name == "a"
    assert mean.rows == len(rows) == race.rows_counted
    sequence = Betting(population=300, level=0.1 / 4)
    sequence.extend(table[rows, 0])
    assert (mean.low, mean.high) == tuple(sequence.interval())
    assert mean.naive == pytest.approx(losses.mean())


def test_all_orders_of_a_small_list() -> None:
    """Of all 120 orders the interval of the chosen one misses its mean in at most the level."""
    table = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]], float)
    means = table.mean(axis=0)
    level = 0.3
    wrong = 0
    for order in itertools.permutations(range(5)):
        sequences = [Betting(population=5, level=level / 3) for _ in range(3)]
        missed = False
        for count in range(1, 6):
            for sequence, loss in zip(sequences, table[order[count - 1]], strict=True):
                sequence.update(float(loss))
            winner = int(table[list(order[:count])].sum(axis=0).argmin())
            low, high = sequences[winner].interval()
            missed |= not low - 1e-9 <= means[winner] <= high + 1e-9
        wrong += missed
    assert wrong <= level * math.factorial(5)


def test_known_answers_make_the_mean_exact() -> None:
    table = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    race = play(Race("ab", 3, seed=1), table)
    (mean,) = race.chosen_means()
    if race.calls_left == 0:
        assert mean.low == mean.high == pytest.approx(1 / 3)
    known = play(Race("ab", 3, seed=1, known={"a": [0.0, 1.0, 0.0]}), table)
    (mean,) = known.chosen_means()
    assert mean.low == mean.high == pytest.approx(1 / 3)
    assert "the mean loss of a is 0.3333" in mean_text(known, mean)
    assert "probability" not in mean_text(known, mean)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, {"a"}),
        ({"top": 2}, {"a", "b"}),
        ({"within": 0.3}, {"a"}),
        ({"question": "ranks"}, {"a"}),
        ({"baseline": "d", "within": 0.1}, {"a", "b", "c"}),
        ({"baseline": "a", "within": 0.1}, set()),
        ({"reading": "beyond"}, {"a"}),
        ({"answers": "random", "reading": "expected"}, {"a"}),
        ({"max_calls": 12}, set()),
        ({"answers": "once"}, set()),
    ],
)
def test_every_question(options: Any, names: set[str]) -> None:
    """The mean is that of the answer; an open race, and one that all fail, have none."""
    table = (np.random.default_rng(4).random((400, 4)) < [0.02, 0.35, 0.7, 0.95]).astype(float)
    race = play(Race("abcd", 400, kind="scores", range=(0, 100), seed=1, **options), table)
    report = RaceReport.from_race(race)
    means = report.to_json()["chosen_means"]
    json.dumps(means, allow_nan=False)
    chosen = {mean["name"] for mean in means}
    assert chosen <= names
    assert bool(chosen) == bool(names)
    for mean in means:
        column = 100 * (1 - table[:, "abcd".index(mean["name"])])
        assert 0 <= mean["low"] <= mean["mean"] <= mean["high"] <= 100
        assert mean["low"] <= column.mean() <= mean["high"]
        assert f"the mean score of {mean['name']} is from" in mean["statement"]
    assert ("choice allowed for" in report.to_html()) == bool(names)


def test_a_running_race_has_no_chosen_mean() -> None:
    race = Race("ab", 10, seed=1)
    assert race.chosen_means() == ()
    for call in race.calls():
        race.record(call, loss=0.5)
    assert RaceReport.from_race(race).to_json()["chosen_means"] == []
    assert len(race.chosen_means()) == 1
