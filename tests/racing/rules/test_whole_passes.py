"""Theorem R2 in a race: rows asked pass by pass, candidates dropped at the end of a pass."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tombola.errors import ParameterError
from tombola.evidence.finished_runs import pass_wealth
from tombola.racing import Race
from tombola.racing.events import Event
from tombola.racing.rules.whole_passes import WholePasses


def answered(current: Race, loss: Callable[..., float]) -> list[Event]:
    """Answer all calls of a race; return the events."""
    events = []
    while not current.done:
        for call in current.calls():
            answer = Event("answer", call.ticket, loss(call))
            current.apply(answer)
            events.append(answer)
    return events


def coin(seed: int, chances: dict[str, float]) -> Callable[..., float]:
    rng = np.random.default_rng(seed)
    return lambda call: float(rng.random() < chances[call.candidate])


def test_expected_wealth_is_at_most_one_at_every_end_of_a_pass() -> None:
    """Two rows, two passes, all 256 answers of two candidates with equal means, in thirds.

    The strategy "stop after the first pass if its wealth is above 1" is included, and so is the
    probability that the rule claims a difference: the level is 1/2, and equal candidates are told
    apart with at most this probability.
    """
    outcomes = list(itertools.product((0.0, 1.0), repeat=8))
    cubes = np.array(outcomes).reshape(-1, 2, 2, 2)
    d = np.moveaxis(cubes[..., 0] - cubes[..., 1], 0, -1)
    wealth = pass_wealth(d, level=0.25, planned=2)
    rules = []
    for cube in cubes:
        rule = WholePasses(2, 2, math.inf, 0.25, passes=2)
        for row in cube.reshape(4, 2):
            if not rule.done:
                rule.update(row)
        rules.append(len(rule.active) == 1)
    assert any(rules), "the level can be reached"
    for law in itertools.product((0.0, 1 / 3, 2 / 3, 1.0), repeat=4):
        first, second = law[:2], law[2:]
        if sum(first) != pytest.approx(sum(second)):
            continue
        p = np.array([first, second]).T
        weights = np.prod(np.where(cubes == 1.0, p, 1.0 - p), axis=(1, 2, 3))
        assert weights.sum() == pytest.approx(1.0)
        for n in (0, 1):
            assert weights @ wealth[n] <= 1.0 + 1e-12
        stopped = np.where(wealth[0] > 1.0, wealth[0], wealth[1])
        assert weights @ stopped <= 1.0 + 1e-12
        assert weights @ np.array(rules) <= 0.5


def test_bets_on_a_pass_are_the_same_at_every_look() -> None:
    """Unless the number of passes is planned, a look after two passes bets otherwise on the first."""
    rng = np.random.default_rng(1)
    d = rng.choice([-1.0, 0.0, 1.0], (5, 30))
    whole = pass_wealth(d, level=0.025)
    for n in range(1, 6):
        np.testing.assert_allclose(pass_wealth(d[:n], level=0.025, planned=5), whole[:n])
    assert not np.allclose(pass_wealth(d[:2], level=0.025), whole[:2])


def test_drops_agree_with_the_definition() -> None:
    """Three candidates: averages over opponents, and dropped ones stand still."""
    rng = np.random.default_rng(2)
    rows = 40
    cube = (rng.random((4, rows, 3)) < [0.3, 0.45, 0.9]) * 1.0
    rule = WholePasses(3, rows, math.inf, 0.05, passes=4)
    active = {0, 1, 2}
    wealth = dict.fromkeys(itertools.permutations(range(3), 2), 1.0)
    drops: dict[int, int] = {}
    for n in range(1, 5):
        for row in cube[n - 1]:
            if not rule.done:
                rule.update(row)
        if len(active) == 1:
            break
        for b, o in itertools.permutations(sorted(active), 2):
            d = cube[:n, :, b] - cube[:n, :, o]
            wealth[b, o] = float(pass_wealth(d, level=0.05, planned=4)[-1])
        mean = {b: sum(wealth[b, o] for o in range(3) if o != b) / 2 for b in active}
        for b in active:
            assert rule.state.current_wealth[b] == pytest.approx(mean[b])
        gone = {b for b in active if mean[b] >= 20.0}
        assert gone < active
        drops |= dict.fromkeys(gone, n * rows)
        active -= gone
        assert rule.active == sorted(active)
    assert drops[2] < drops.get(1, math.inf), "the clear loser is dropped first"
    for b, row in drops.items():
        assert rule.state.drop_row[b] == row


def test_race_asks_every_row_once_in_each_pass() -> None:
    current = Race(["a", "b"], rows=10, seed=1, answers="random", passes=3)
    loss = coin(3, {"a": 0.5, "b": 0.5})
    events = answered(current, loss)
    cells = [current.call(event.ticket) for event in events]
    runs = {(call.row, call.candidate, call.run) for call in cells}
    assert len(runs) == len(cells) == 60
    assert {call.run for call in cells} == {1, 2, 3}
    assert current.done
    assert current.calls_left == 0
    assert current.statement.verdict == "undecided"
    assert "in expectation over repeated answers, on these 10 rows" in current.verdict
    assert current.chosen_means() == ()
    again = Race.restore(current.settings, 10, events)
    assert again.verdict == current.verdict


def claims_of_equal_agents(share: float) -> int:
    """Return how often 200 races of one agent entered twice claim a difference; 10 rows, 4 passes.

    share: part of the threshold at which the rule drops.
    """
    claims = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.6, 0.4, 10)
        rule = WholePasses(2, 10, math.inf, 0.1 / share, passes=4)
        for row in (rng.random((4, 10, 2)) < p[:, None]).reshape(-1, 2) * 1.0:
            if not rule.done:
                rule.update(row)
        claims += len(rule.active) == 1
    return claims


def test_equal_agents_are_told_apart_at_most_at_the_level() -> None:
    """Level .2 for both: if a claim had this probability, more than 55 would have one of .005."""
    assert claims_of_equal_agents(1.0) <= 55
    assert claims_of_equal_agents(0.25) > 55, "at a quarter of the threshold the level is exceeded"


def test_clear_difference_ends_after_one_pass_and_groups_have_their_own() -> None:
    groups = ["x", "y"] * 40
    options: Any = {"answers": "random", "passes": 4, "seed": 1, "strata": groups}
    current = Race(["a", "b"], rows=80, **options)
    answered(current, lambda call: float((call.candidate == "a") == (call.row_index % 2 == 1)))
    assert {name: part.answer for name, part in current.by_group.items()} == {
        "x": ("a",),
        "y": ("b",),
    }
    alone = Race(["a", "b"], rows=80, seed=1, answers="random", passes=4)
    answered(alone, lambda call: float(call.candidate == "a"))
    assert (alone.answer, alone.calls_made, alone.rows_counted) == (("b",), 160, 80)
    assert alone.calls_saved == 480


@pytest.mark.parametrize(
    "options",
    [
        {"passes": 3},
        {"passes": 3, "answers": "once"},
        {"passes": 3, "answers": "random", "reading": "beyond"},
        {"passes": 3, "answers": "random", "within": 0.1},
        {"passes": 3, "answers": "random", "question": "ranks"},
        {"passes": 0, "answers": "random"},
        {"passes": 3, "answers": "random", "known": {"a": [0.5] * 9}},
    ],
)
def test_what_passes_cannot_be_used_with(
    options: dict[str, Any], one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(ParameterError) as refused:
        Race(["a", "b", "c"], rows=9, **options)
    one_sentence(refused.value)
