"""The test of random order: against its naive twin, its false alarms, its power, and a real table."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naive.confidence import order_wealth, ranks
from pools import REAL, npz_of
from tombola import Pool
from tombola.confidence import RandomOrderTest, examine
from tombola.confidence.exchangeability import BOLDEST, FOLLOWERS, GAMBLERS, JUMP, RATES
from tombola.engine.coins import new_coins, uniform
from tombola.engine.compiler import plain
from tombola.errors import ParameterError


def few(level: float, runs: int) -> float:
    """Return the number that binomial chance exceeds with probability below 1e-6 (Bernstein)."""
    t = math.log(1e6)
    return level * runs + math.sqrt(2 * runs * level * (1 - level) * t) + t


def test_does_what_the_source_says() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.random(80), np.zeros(60), (rng.random(90) < 0.3).astype(float), np.arange(70) / 69):
        test = RandomOrderTest(level=0.01, seed=5)
        test.extend(values)
        coins = new_coins(np.random.SeedSequence(5))
        with np.errstate(over="ignore"):
            thrown = [uniform(coins) for _ in values]
        wealth = order_wealth(ranks(values.tolist(), thrown), GAMBLERS.tolist(), RATES, JUMP)
        assert test._state.record[0] == pytest.approx(max(0.0, math.log(max(wealth))), abs=1e-9)
        alarms = [n for n, w in enumerate(wealth, start=1) if w >= 100]
        assert test.alarm == bool(alarms)
        assert test._state.when[0] == (alarms[0] if alarms else 0)


def test_every_bet_is_fair() -> None:
    """The mean yield of every shape over uniform ranks is 0, and no gambler can be left with less than nothing."""
    from tombola.confidence.exchangeability import shape

    shapes, total = np.zeros(5), np.zeros(5)
    least, most = np.full(5, np.inf), np.full(5, -np.inf)
    points = (np.arange(200_000) + 0.5) / 200_000
    for p in points.tolist():
        shape(shapes, p, 1.0)
        total += shapes
        least, most = np.minimum(least, shapes), np.maximum(most, shapes)
    assert total / points.size == pytest.approx(np.zeros(5), abs=1e-4)
    for kind, stake, _ in GAMBLERS:
        assert 1 + stake * (least if stake > 0 else most)[int(kind)] > 0
    assert BOLDEST * 0.5 < 1
    assert GAMBLERS[:, 2].sum() + FOLLOWERS * len(RATES) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["continuous", "two values", "two columns", "one value"])
def test_false_alarms_are_rare(kind: str) -> None:
    """2000 random orders of a pool of 300 at level .1; false alarm of this test below 1e-6."""
    rng = np.random.default_rng(2)
    table = {
        "continuous": rng.random((300, 1)),
        "two values": (rng.random((300, 1)) < 0.1).astype(float),
        "two columns": np.column_stack([np.arange(300) / 300, 1 - np.arange(300) / 300]),
        "one value": np.ones((300, 1)),
    }[kind]
    alarms = sum(examine(rng.permutation(table), level=0.1, seed=seed).refuted for seed in range(2000))
    assert alarms <= few(0.1, 2000)


@pytest.mark.parametrize("kind", ["sorted", "step", "spread", "alternating", "late", "slow"])
def test_sees_what_is_not_random(kind: str) -> None:
    """Ten streams of 4000 of each kind, all seen at level .01."""
    n = np.arange(4000)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        coin = rng.random(4000)
        stream = {
            "sorted": np.sort(coin),
            "step": coin < np.where(n < 2000, 0.3, 0.5),
            "spread": np.where(n < 2000, coin, 0.35 + 0.3 * coin),
            "alternating": coin < np.where(n % 2 == 0, 0.2, 0.8),
            "late": coin < np.where(n < 3600, 0.1, 0.6),
            "slow": coin < 0.3 + 0.4 * n / 4000,
        }[kind]
        assert examine(stream.astype(float), seed=seed).refuted


def test_bandit_feedback_under_adaptive_choice() -> None:
    """Only the loss of the action played is seen, and the next action depends on it: 1000 orders at level .1."""
    rng, alarms = np.random.default_rng(7), 0
    first = (rng.random(200) < 0.4).astype(float)
    table = np.column_stack([first, 1 - first])
    for seed in range(1000):
        test, action = RandomOrderTest(columns=2, level=0.1, seed=seed), 0
        for row in rng.permutation(table):
            test.update(float(row[action]), action)
            action = action if row[action] == 0.0 else 1 - action
        alarms += test.alarm
    assert alarms <= few(0.1, 1000)


@pytest.mark.parametrize("name", ["own_calls", *(["bank_calls"] if REAL else [])])
def test_calls_are_not_in_random_order_but_their_shuffles_are(name: str, tmp_path: Path) -> None:
    """1000 shuffles at level .01; false alarm of this test below 1e-6."""
    losses = np.load(npz_of(name, tmp_path))["loss"].astype(float)
    given = examine(Pool(losses), level=0.01, seed=0)
    assert given.refuted
    assert given.chance < (1e-100 if name == "bank_calls" else 1e-6)
    assert "certificates do not apply" in str(given)
    rng = np.random.default_rng(1)
    alarms = sum(examine(rng.permutation(losses), level=0.01, seed=seed).refuted for seed in range(1000))
    print(str(given), alarms)
    assert alarms <= few(0.01, 1000)


def test_live_and_recorded_agree_and_the_same_bits_without_numba() -> None:
    table = np.random.default_rng(3).random((80, 2))
    recorded, live = RandomOrderTest(2, seed=1), RandomOrderTest(2, seed=1)
    recorded.extend(table)
    with plain():
        slow = RandomOrderTest(2, seed=1)
        for row in table:
            slow.update(row)
    for row in table.tolist():
        live.update(row[0], 0)
        live.update(row[1], 1)
    assert recorded._memory.tobytes() == live._memory.tobytes() == slow._memory.tobytes()


def test_the_wealth_may_be_astronomical() -> None:
    test = RandomOrderTest(seed=0)
    test.extend(np.repeat([0.0, 1.0], 50_000))
    assert test.alarm
    assert 0.0 < test.chance < 1e-290
    assert np.isfinite(test._memory).all()


def test_a_quiet_stream_says_nothing() -> None:
    test = RandomOrderTest(seed=0)
    assert str(test.verdict()) == "nothing speaks against random order"
    assert test.chance == 1.0


def test_bad_input_is_refused(one_sentence: Callable[[object], str]) -> None:
    test = RandomOrderTest(columns=2, seed=0)
    cases: list[Callable[[], Any]] = [
        lambda: test.update(1.5, 0),
        lambda: test.update(math.nan, 0),
        lambda: test.update(0.5, 2),
        lambda: test.update([0.5, 0.5, 0.5]),
        lambda: test.extend([0.5, 2.0], [0, 1]),
        lambda: test.extend([0.5], [0, 1]),
        lambda: test.extend([0.5], [3]),
        lambda: examine([], seed=0),
        lambda: RandomOrderTest(columns=0, seed=0),
        lambda: RandomOrderTest(level=0.0, seed=0),
    ]
    for case in cases:
        with pytest.raises(ParameterError) as error:
            case()
        one_sentence(error.value)
    assert not test._state.counts.any()
