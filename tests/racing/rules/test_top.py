"""Top: naive twin, expected wealth over all orders, injected faults."""

import math
from itertools import permutations
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import race as naive
from race_cases import BITS, all_pools, loss_tables, play_table
from tombola.racing.rules import top
from tombola.racing.rules.bets import bet
from tombola.racing.rules.top import Top

pytestmark = pytest.mark.usefixtures("plainly")


@settings(max_examples=120, deadline=None)
@given(
    loss_tables(), st.sampled_from([0.05, 0.3, 0.9]), st.integers(1, 3), st.sampled_from([2, 5000])
)
def test_top_matches_naive(table: list[list[float]], level: float, m: int, most: int) -> None:
    """With 2 sets at most, pairs drop candidates first."""
    k, N = len(table[0]), len(table)
    if m < k:
        with mock.patch.object(top, "_MAX_SETS", most):
            rule = Top(candidates=k, rows=N, population=N, level=level, top=m)
        assert play_table(rule, table).active == naive.top(table, level, m, most)


@pytest.mark.parametrize(("k", "m"), [(5, 1), (5, 3), (6, 2), (4, 3)])
def test_all_sets_of_active_candidates_are_listed(k: int, m: int) -> None:
    state = Top(candidates=k + 1, rows=9, population=9, level=0.1, top=m).state
    state.active[2] = state.n_sets[0] = 0.0
    state.members[:] = 0.0
    top._list_sets(state)
    count = int(state.n_sets[0])
    assert count == len({tuple(row) for row in state.members[:count]}) == math.comb(k, m)
    assert (state.members[:count].sum(axis=1) == m).all()
    assert not state.members[:count, 2].any()


def errors(table: Any, m: int, level: float, most: int = 5000) -> tuple[float, float]:
    """Return P(wrong answer), and the largest expected wealth against a set of m best, over all orders."""
    N, k = table.shape
    with mock.patch.object(top, "_MAX_SETS", most):
        rule = Top(candidates=k, rows=N, population=N, level=level, top=m)
    totals, wrong, count = table.sum(axis=0), 0, 0
    wealth: dict[Any, float] = {}
    for order in permutations(range(N)):
        rule.play(table, np.array(order, np.uint32))
        wrong, count = wrong + rule.is_wrong(totals), count + 1
        for s in range(int(rule.state.n_sets[0])):
            inside = rule.state.members[s] > 0
            if totals[inside].max() <= totals[~inside].min() + 1e-9:
                wealth[tuple(inside)] = wealth.get(tuple(inside), 0.0) + rule.state.wealth[s].sum()
    return wrong / count, max(wealth.values()) / count if wealth else 0.0


def pools() -> Any:
    rng = np.random.default_rng(4)
    yield from all_pools(BITS, 3, 3)[::7]
    for N, k in ((4, 4), (5, 3)):
        table = rng.integers(0, 3, (N, k)) / 2
        yield table
        # A tie on the border between inside and outside.
        yield np.column_stack([table[:, :-1], rng.permutation(table[:, 0])])


@pytest.mark.parametrize("most", [5000, 2])
def test_theorem_3_exactly(most: int) -> None:
    for table in pools():
        for level in (1e-9, 0.3, 0.7):
            error, wealth = errors(table, 2, level, most)
            assert error <= level
            # Dropped sets have no wealth any more, so that only a small level shows all of it.
            assert level > 1e-9 or wealth <= 1.0 + 1e-12


def test_choice_by_current_row_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that is chosen after a look at the row makes the expected wealth exceed 1."""

    def peek(state: Any, products: Any, losses: Any, s: int) -> None:
        inside = state.members[s] > 0
        worst = max(np.flatnonzero(inside & (state.active > 0)).tolist(), key=lambda c: losses[c])
        best = min(np.flatnonzero(~inside & (state.active > 0)).tolist(), key=lambda c: losses[c])
        lead = state.total_loss[worst] - state.total_loss[best]
        bet(state, s, worst, best, lead, losses[worst] - losses[best], 0.0)

    assert max(errors(table, 2, 1e-9)[1] for table in pools()) <= 1.0 + 1e-12
    monkeypatch.setattr(top, "_bet_against_set", peek)
    assert max(errors(table, 2, 1e-9)[1] for table in pools()) > 1.05


def test_drop_by_one_rejected_set_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate must stay while one set with it is left."""
    honest = top._reject_set

    def hasty(state: Any, s: int) -> None:
        members, before = state.members[s].copy(), state.n_sets[0]
        honest(state, s)
        if state.n_sets[0] < before:
            state.current_wealth[members > 0] = np.inf

    monkeypatch.setattr(top, "_reject_set", hasty)
    assert max(errors(table, 2, 0.3)[0] for table in pools()) > 0.3
