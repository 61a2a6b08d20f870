"""Within: naive twin and redistribution of accounts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import race as naive
from race_cases import MARGINS, loss_tables, play_table
from tombola.racing.rules.best import Best
from tombola.racing.rules.bets import total_wealth
from tombola.racing.rules.elimination import drop
from tombola.racing.rules.within import Within, _account, _close_accounts


@settings(max_examples=60, deadline=None)
@given(loss_tables(), st.sampled_from([0.05, 0.3, 0.9]), MARGINS)
@pytest.mark.usefixtures("short_work")
def test_within_matches_naive(table: list[list[float]], level: float, margin: float) -> None:
    k, N = len(table[0]), len(table)
    rule = Within(candidates=k, rows=N, population=N, level=level, within=margin)
    if k > 1:
        play_table(rule, table)
        assert (rule.active, rule.chosen) == naive.within(table, level, margin)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("times", "left"), [(1.0, 0.5), (3.0, 0.5), (0.5, 0.25)])
def test_dropped_accounts_are_redistributed_without_gains(times: float, left: float) -> None:
    """No account receives more than was paid in; of three candidates the last two hold all deposits."""
    rule = Within(candidates=3, rows=9, population=9, level=0.05, within=0.1)
    state = rule.state
    for b in (1, 2):
        state.wealth[_account(3, 0, b)] *= times
    state.rows_seen[0] = 1.0
    drop(state, 0, 1, math.inf)
    _close_accounts(state)
    for a, b in ((1, 2), (2, 1)):
        assert total_wealth(state.wealth[_account(3, a, b)]) == pytest.approx(0.5 + left)
        assert state.deposit[a, b] == pytest.approx(0.5 + left)


@pytest.mark.parametrize("scale", [0.1, 0.9])
@pytest.mark.usefixtures("short_work")
def test_small_tolerance_costs_no_more_calls_than_none(scale: float) -> None:
    """Candidates are dropped before a small tolerance is shown."""
    rng, tolerance, calls = np.random.default_rng(3), scale / 20, np.zeros(2)
    for _ in range(12):
        table = (rng.random((400, 4)) < [0.2, 0.35, 0.4, 0.45]).astype(float)
        order = np.arange(400, dtype=np.uint32)
        calls += [
            Best(candidates=4, rows=400, population=400, level=0.05).play(table, order),
            Within(candidates=4, rows=400, population=400, level=0.05, within=tolerance).play(
                table, order
            ),
        ]
    assert calls[1] <= 1.02 * calls[0]
