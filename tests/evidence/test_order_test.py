"""The test of random order: against its naive twin, its false alarms, its power, and a real table."""

import math
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence_cases import allowed
from naive.evidence import order_wealth, ranks
from pools import REAL, npz_of
from tombola import Pool
from tombola.engine.compiler import interpreted
from tombola.errors import ParameterError
from tombola.evidence import RandomOrderTest, order_test, order_verdict
from tombola.evidence.order_test import (
    _BET_PER_MEAN,
    _MAX_BET,
    _MIXING_RATE,
    _STRATEGIES,
    _WARMUP_ROWS,
    _payoffs,
)
from tombola.evidence.permutation_test import permutation_test
from tombola.rng import new_rng, uniform

MEASURED = [4.866510096620058, 2096.0, 92.52862072191807, 51.0, 27.786742667752595, 189.0]


def test_order_test_equals_naive_twin() -> None:
    generator = np.random.default_rng(0)
    for values in (
        generator.random(80),
        np.zeros(60),
        (generator.random(2300) < 0.3).astype(float),
        np.arange(70) / 69,
    ):
        test = RandomOrderTest(level=0.01, seed=5)
        test.extend(values)
        rng = new_rng(np.random.SeedSequence(5))
        with np.errstate(over="ignore"):
            thrown = [uniform(rng) for _ in values]
        wealth = order_wealth(
            ranks(values.tolist(), thrown), _STRATEGIES.tolist(), _MIXING_RATE, _WARMUP_ROWS
        )
        assert test._state.max_log_wealth[0] == pytest.approx(
            max(0.0, math.log(max(wealth))), abs=1e-9
        )
        alarms = [n for n, w in enumerate(wealth, start=1) if w >= 100]
        assert test.alarm == bool(alarms)
        assert test._state.alarm_at[0] == (alarms[0] if alarms else 0)


@pytest.mark.usefixtures("plainly")
def test_order_test_published_bets() -> None:
    """Any bets are valid, so no other test depends on them; the published power does."""
    generator, n = np.random.default_rng(11), np.arange(2100)
    lists = (
        (generator.random(2100) < np.where(n < 1000, 0.3, 0.4)).astype(float),
        np.clip(0.5 + 0.2 * (-1.0) ** n * generator.random(2100), 0, 1)[:300],
        np.where(n < 150, 0.45 + 0.1 * generator.random(2100), generator.random(2100))[:300],
    )
    found = []
    for values in lists:
        test = RandomOrderTest(level=0.01, seed=5)
        test.extend(values)
        found += [float(test._state.max_log_wealth[0]), float(test._state.alarm_at[0])]
    assert found == pytest.approx(MEASURED, rel=1e-9)
    assert _STRATEGIES[:, 2].sum() == pytest.approx(1.0, abs=1e-12)
    assert set(_STRATEGIES[_STRATEGIES[:, 3] == 0.0][:, 4].tolist()) == {0.0}


@pytest.mark.usefixtures("plainly")
def test_order_verdict_divides_level(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []

    def watch(columns: int, level: float, *, seed: int) -> RandomOrderTest:
        shares.append(level)
        return RandomOrderTest(columns, level, seed=seed)

    def looked(table: Any, left: float, seed: Any) -> tuple[float, int]:
        shares.append(left)
        return permutation_test(table, left, seed)

    monkeypatch.setattr(order_test, "RandomOrderTest", watch)
    monkeypatch.setattr(order_test, "permutation_test", looked)
    order_verdict(np.random.default_rng(0).random(50), level=0.04, seed=1)
    assert len(shares) == 2
    assert min(shares) > 0
    assert sum(shares) == pytest.approx(0.04)


@pytest.mark.parametrize("rank", [0.0, 1.0])
def test_payoffs_of_extreme_ranks_are_finite(rank: float) -> None:
    found = np.zeros(len(_BET_PER_MEAN))
    _payoffs(found, rank, 1.0)
    assert np.isfinite(found).all()


def test_payoffs_have_mean_zero() -> None:
    """The mean of every payoff over uniform ranks is 0, and no bet can lose more than the wealth."""
    kinds = len(_BET_PER_MEAN)
    points, found = (np.arange(150_000) + 0.5) / 150_000, np.zeros((150_000, kinds))
    for yields, p in zip(found, points.tolist(), strict=True):
        _payoffs(yields, p, 1.0)
    assert found.mean(axis=0) == pytest.approx(np.zeros(kinds), abs=1e-4)
    least, most = found.min(axis=0), found.max(axis=0)
    for kind, stake, _, rate, _, _ in _STRATEGIES:
        on = int(kind)
        for largest in (_MAX_BET[on], -_MAX_BET[on]) if rate else (stake,):
            assert 1 + largest * (least if largest > 0 else most)[on] > 0
        if rate:
            assert _BET_PER_MEAN[on] * found[:, on].var() == pytest.approx(1.0, abs=1e-4)
    assert _STRATEGIES[:, 2].sum() == pytest.approx(1.0)


HASTY = (
    _STRATEGIES.copy()
)  # the same, but followers remember little but the last ranks: a few show what they do

HASTY[:, 3:5] = np.where(HASTY[:, 3:4] > 0, 0.5, 0.0)


def wealths(
    values: tuple[float, ...], pieces: int, strategies: Any, third: float = 1 / 3
) -> np.ndarray[Any, Any]:
    """Return the wealth after each row, for all orders of a list and all rng in the middle of equal pieces."""
    rng, plan = [(i + 0.5) / pieces for i in range(pieces)], strategies.tolist()
    return np.array(
        [
            order_wealth(ranks(order, thrown), plan, _MIXING_RATE, _WARMUP_ROWS, third)
            for order in permutations(values)
            for thrown in product(rng, repeat=len(values))
        ]
    )


@pytest.mark.parametrize("strategies", [_STRATEGIES, HASTY], ids=["as they are", "hasty"])
@pytest.mark.parametrize("values", [(0.1, 0.5), (1.0, 1.0), (0.0, 0.0, 1.0), (0.2, 0.4, 0.6)])
def test_mean_wealth_is_one_exactly(values: tuple[float, ...], strategies: Any) -> None:
    """Exact up to the width of the pieces, with and without ties, at every row; thirds of them are whole."""
    pieces = 66 if len(values) == 2 else 12
    found = wealths(values, pieces, strategies)
    assert found.mean(axis=0) == pytest.approx(np.ones(len(values)), abs=0.12 / pieces)


def passed(found: np.ndarray[Any, Any]) -> float:
    """Return P(a wealth ever reaches a goal) times the goal, for the worst goal: at most 1 is allowed."""
    highest = np.sort(np.maximum(found.max(axis=1), 1.0))[::-1]
    return float((highest * np.arange(1, highest.size + 1) / highest.size)[highest > 1.0].max())


@pytest.mark.parametrize("values", [(0.0, 0.0, 1.0), (0.2, 0.4, 0.6)])
def test_false_alarm_probability_exact(values: tuple[float, ...]) -> None:
    """A wealth ever reaches any goal with a probability of at most 1 / goal; up to the width of the pieces."""
    for strategies in (_STRATEGIES, HASTY):
        assert passed(wealths(values, 6, strategies)) <= 1.01


def test_unfair_payoff_is_detected() -> None:
    """They win on a third of the ranks for a price of three tenths."""
    cheap = np.array([[5.0, 1.0, 0.5, 0.0, 0.0, 0.0], [6.0, 1.0, 0.5, 0.0, 0.0, 0.0]])
    assert wealths((0.2, 0.4, 0.6), 12, cheap).mean(axis=0)[-1] == pytest.approx(1.0, abs=0.01)
    assert wealths((0.2, 0.4, 0.6), 12, cheap, 0.3).mean(axis=0)[-1] > 1.09


def test_bets_that_use_current_rank_are_detected() -> None:
    """Adaptive bets that use the current rank gain wealth in random order."""

    def knowing(ranked: Any) -> list[float]:
        drift, wealth = 0.0, [1.0]
        for p in ranked:
            drift += 0.5 * (p - 0.5 - drift)
            wealth.append(wealth[-1] * (1 + 12 * drift * (p - 0.5)))
        return wealth

    rng = [(i + 0.5) / 12 for i in range(12)]
    found = [
        knowing(ranks(order, thrown))
        for order in permutations((0.2, 0.4))
        for thrown in product(rng, repeat=2)
    ]
    assert np.mean(found, axis=0)[-1] > 1.05
    assert passed(np.array(found)) > 1.05


@pytest.mark.usefixtures("machine_code")
@pytest.mark.parametrize("kind", ["step", "drift", "alternating"])
def test_permutation_test_adds_power(kind: str) -> None:
    """20 lists of 2000 at level .01: at least half are detected, fewer by the martingale alone."""
    n, found, watched = np.arange(2000), 0, 0
    share = {
        "step": np.where(n < 1000, 0.3, 0.38),
        "drift": 0.3 + 0.14 * n / 2000,
        "alternating": np.where(n % 6 < 3, 0.18, 0.42),
    }[kind]
    for seed in range(20):
        values = (np.random.default_rng(seed).random(2000) < share).astype(float)
        found += order_verdict(values, seed=seed).refuted
        watched += RandomOrderTest(seed=seed).extend(values)
    assert found >= 10
    assert found > watched


@pytest.mark.parametrize("kind", ["continuous", "two values", "two columns", "one value"])
def test_false_alarm_rate(kind: str) -> None:
    """1000 random orders of a pool of 300 at level .1; false alarm of this test below 1e-6."""
    generator = np.random.default_rng(2)
    table = {
        "continuous": generator.random((300, 1)),
        "two values": (generator.random((300, 1)) < 0.1).astype(float),
        "two columns": np.column_stack([np.arange(300) / 300, 1 - np.arange(300) / 300]),
        "one value": np.ones((300, 1)),
    }[kind]
    alarms = sum(
        order_verdict(generator.permutation(table), level=0.1, seed=seed).refuted
        for seed in range(1000)
    )
    assert alarms <= 1000 * allowed(0.1, 1000)


@pytest.mark.parametrize("kind", ["sorted", "step", "spread", "alternating", "late", "slow"])
def test_power_against_non_random_orders(kind: str) -> None:
    """Ten streams of 4000 of each kind, all detected at level .01."""
    n = np.arange(4000)
    for seed in range(10):
        generator = np.random.default_rng(seed)
        coin = generator.random(4000)
        stream = {
            "sorted": np.sort(coin),
            "step": coin < np.where(n < 2000, 0.3, 0.5),
            "spread": np.where(n < 2000, coin, 0.35 + 0.3 * coin),
            "alternating": coin < np.where(n % 2 == 0, 0.4, 0.6),
            "late": coin < np.where(n < 3600, 0.1, 0.6),
            "slow": coin < 0.3 + 0.4 * n / 4000,
        }[kind]
        assert order_verdict(stream.astype(float), seed=seed).refuted


def test_false_alarm_rate_with_bandit_feedback() -> None:
    """Only the loss of the action played is seen, and the next action depends on it: 1000 orders at level .1."""
    generator, alarms = np.random.default_rng(7), 0
    first = (generator.random(200) < 0.4).astype(float)
    table = np.column_stack([first, 1 - first])
    for seed in range(1000):
        test, action = RandomOrderTest(columns=2, level=0.1, seed=seed), 0
        for row in generator.permutation(table):
            test.update(float(row[action]), action)
            action = action if row[action] == 0.0 else 1 - action
        alarms += test.alarm
    assert alarms <= 1000 * allowed(0.1, 1000)


@pytest.mark.parametrize("name", ["own_calls", *(["bank_calls"] if REAL else [])])
def test_order_of_call_lists(name: str, tmp_path: Path) -> None:
    """200 shuffles at level .01; false alarm of this test below 1e-6."""
    losses = np.load(npz_of(name, tmp_path))["loss"].astype(float)
    given = order_verdict(Pool(losses), level=0.01, seed=0)
    assert given.refuted
    assert given.p_value < (1e-100 if name == "bank_calls" else 1e-6)
    assert "certificates do not apply" in str(given)
    generator = np.random.default_rng(1)
    alarms = sum(
        order_verdict(generator.permutation(losses), level=0.01, seed=seed).refuted
        for seed in range(200)
    )
    assert alarms <= 200 * allowed(0.01, 200)


def test_order_test_same_bits_live_and_without_numba() -> None:
    table = np.random.default_rng(3).random((80, 2))
    recorded, live = RandomOrderTest(2, seed=1), RandomOrderTest(2, seed=1)
    recorded.extend(table)
    with interpreted():
        slow = RandomOrderTest(2, seed=1)
        for row in table:
            slow.update(row)
    for row in table.tolist():
        live.update(row[0], 0)
        live.update(row[1], 1)
    assert recorded._memory.tobytes() == live._memory.tobytes() == slow._memory.tobytes()


def test_huge_wealth_stays_finite() -> None:
    test = RandomOrderTest(seed=0)
    assert (str(test.verdict()), test.p_value) == ("no evidence against random order", 1.0)
    test.extend(np.repeat([0.0, 1.0], 50_000))
    assert test.alarm
    assert 0.0 < test.p_value < 1e-290
    assert np.isfinite(test._memory).all()


def test_invalid_input_is_rejected(one_sentence: Callable[[object], str]) -> None:
    test = RandomOrderTest(columns=2, seed=0)
    cases: list[Callable[[], Any]] = [
        lambda: test.update(1.5, 0),
        lambda: test.update(math.nan, 0),
        lambda: test.update(0.5, 2),
        lambda: test.update([0.5, 0.5, 0.5]),
        lambda: test.extend([0.5, 2.0], [0, 1]),
        lambda: test.extend([0.5], [0, 1]),
        lambda: test.extend([0.5], [3]),
        lambda: order_verdict([], seed=0),
        lambda: RandomOrderTest(columns=0, seed=0),
        lambda: RandomOrderTest(level=0.0, seed=0),
    ]
    for case in cases:
        with pytest.raises(ParameterError) as error:
            case()
        one_sentence(error.value)
    assert not test._state.counts.any()


@pytest.mark.usefixtures("plainly")
def test_order_verdict_uses_permutation_p_value() -> None:
    """A list that is too short for the martingale: the verdict is that of the permutation test."""
    values = np.repeat([0.0, 1.0], 10)
    watched = RandomOrderTest(1, order_test.MARTINGALE_SHARE * 0.05, seed=3)
    watched.extend(values.reshape(-1, 1))
    assert not watched.verdict().refuted
    verdict = order_verdict(values, level=0.05, seed=3)
    assert verdict.refuted
    assert verdict.values == 20
    assert verdict.p_value <= 0.05
    shuffled = order_verdict(np.random.default_rng(1).permutation(values), level=0.05, seed=3)
    assert not shuffled.refuted
    assert shuffled.p_value > 0.05


@pytest.mark.parametrize("columns", [2, 7])
def test_order_test_divides_level_by_columns(columns: int) -> None:
    alone, shared = (
        RandomOrderTest(level=0.01 / columns, seed=3),
        RandomOrderTest(columns, level=0.01, seed=3),
    )
    for t in range(300):
        alone.update(t / 300)
        shared.update(t / 300, 0)
    assert shared.verdict().values == alone.verdict().values > 0
    assert shared.p_value == pytest.approx(min(1.0, columns * alone.p_value))
