"""Best: naive twin, Theorem 1 by enumeration of all small pools and orders, and injected faults."""

import math
from collections import Counter
from itertools import chain, combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import race as naive
from race_cases import BITS, LEVELS, THIRDS, by_one_row, error_rate, loss_tables
from tombola.engine.compiler import compile_loop
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.best import Best
from tombola.racing.rules.bets import update_wealth
from tombola.racing.rules.elimination import (
    MOST_OPPONENTS,
    best_two,
    bet_against,
    count_row,
    drop,
    drop_hopeless,
    finish,
)
from tombola.racing.rules.opponents import add_products, count_opponents, rank_candidates


@settings(max_examples=150, deadline=None)
@given(loss_tables(), st.sampled_from([0.05, 0.3, 0.9]), st.booleans())
def test_best_matches_naive(table: list[list[float]], level: float, endless: bool) -> None:
    N = math.inf if endless else len(table)
    rule = Best(candidates=len(table[0]), rows=len(table), population=N, level=level)
    history = []
    for row in table:
        if not rule.done:
            rule.update(np.array(row))
            history.append(rule.active)
    assert history == naive.best(table, level, N)


def distinct_pools(values: tuple[float, ...], N: int, k: int) -> tuple[Any, Any]:
    """Return rows, and all all_pools of N of them, by number, that differ for a race.

    To add the same to all losses in a row changes no difference, so the least of a row is 0; and of
    all_pools that only name the candidates differently there is one.
    """
    rows = [row for row in product(values, repeat=k) if min(row) == 0.0]
    numbers = {row: number for number, row in enumerate(rows)}
    every = combinations_with_replacement(range(len(rows)), N)
    found = np.fromiter(chain.from_iterable(every), np.int16).reshape(-1, N)
    base = len(rows) ** np.arange(N, dtype=np.int64)[::-1]
    first = np.ones(len(found), bool)
    for names in permutations(range(k)):
        renamed = np.array([numbers[tuple(row[a] for a in names)] for row in rows], np.int16)
        first &= found @ base <= np.sort(renamed[found], axis=1) @ base
    return np.array(rows), found[first]


def drops(
    memory: Any, start: Any, rows: Any, all_pools: Any, best: Any, row: Any, stack: Any, count: Any
) -> None:
    """Write into `count` the share of orders in which a best candidate is dropped, for every pool
    and candidate.

    Goes through the different orders of a pool as through a tree, and leaves a branch when nothing
    can change.
    """
    state = view(memory)  # type: ignore[name-defined]  # noqa: F821
    N, k = all_pools.shape[1], row.size
    left, chosen = np.zeros(rows.shape[0], np.int64), np.zeros(N, np.int64)
    for p in range(all_pools.shape[0]):
        left[:] = 0
        for i in range(N):
            left[all_pools[p, i]] += 1
        everything, depth, at = completions(left, all_pools[p], N), 0, -1
        stack[0, :] = start
        while depth >= 0:
            at += 1
            if at == N:  # back to the row before
                depth -= 1
                if depth >= 0:
                    at = chosen[depth]
                    left[all_pools[p, at]] += 1
                continue
            which = all_pools[p, at]
            if left[which] == 0 or (at > 0 and all_pools[p, at - 1] == which):
                continue
            left[which] -= 1
            memory[:] = stack[depth]
            row[:] = rows[which]
            step(state, row)  # type: ignore[name-defined]  # noqa: F821
            standing = False
            for a in range(k):
                standing = standing or (best[p, a] and state.active[a] > 0.0)
            if depth == N - 1 or state.done[0] > 0.0 or not standing:
                share = completions(left, all_pools[p], N - depth - 1) / everything
                for a in range(k):
                    if best[p, a] and state.active[a] == 0.0:
                        count[p, a] += share
                left[which] += 1
            else:
                stack[depth + 1, :] = memory
                chosen[depth] = at
                depth, at = depth + 1, -1


def completions(left: Any, pool: Any, size: int) -> float:
    """Return in how many different orders the rows that are left can come."""
    ways = 1.0
    for i in range(1, size + 1):
        ways *= i
    for i in range(pool.size):
        if i == 0 or pool[i] != pool[i - 1]:
            for j in range(2, left[pool[i]] + 1):
                ways /= j
    return ways


def worst_drop(level: float, rows: Any, all_pools: Any) -> float:
    """Return the largest probability, over all_pools and their best candidates, that one is
    dropped.

    Two candidates are three of which one is dropped at the start: the tree is compiled once.
    """
    k, N = rows.shape[1], all_pools.shape[1]
    rule = Best(candidates=3, rows=N, population=N, level=level)
    rule.state.active[k:] = 0.0
    rows = np.pad(rows, ((0, 0), (0, 3 - k)))
    totals = np.zeros((len(all_pools), 3))
    for place in range(N):
        totals += rows[all_pools[:, place]]
    totals[:, k:] = math.inf
    best = totals <= totals.min(axis=1, keepdims=True) + 1e-9
    stack, count = np.zeros((N, rule.memory.size)), np.zeros(totals.shape)
    arguments = (rule.memory, rule.memory.copy(), rows, all_pools, best, np.zeros(3), stack, count)
    compile_loop(drops, arguments, **rule.kernels, completions=completions)(*arguments)
    return float(count.max())


def check_all_pools(values: tuple[float, ...], N: int, k: int) -> None:
    rows, found = distinct_pools(values, N, k)
    for level in LEVELS:
        worst = worst_drop(level, rows, found)
        print(
            f"N = {N}, k = {k}, {len(values)} values, {len(found):,} all_pools, level {level}: "
            f"at most {worst:.6f}"
        )
        assert worst <= level + 1e-12, (N, k, level)


@pytest.mark.parametrize("N", range(1, 7))
def test_theorem_1_exactly(N: int) -> None:
    """All 0/1 pools of two and three candidates, and thirds, exact over all orders; no false alarm is possible."""
    for values, k in ((BITS, 2), (BITS, 3), (THIRDS, 2), *([(THIRDS, 3)] if N <= 3 else [])):
        check_all_pools(values, N, k)


@pytest.mark.full
@pytest.mark.parametrize(
    ("values", "N", "k"), [(THIRDS, 4, 3), (THIRDS, 5, 3), (THIRDS, 6, 3), (BITS, 8, 2)]
)
def test_theorem_1_exactly_larger_pools(values: tuple[float, ...], N: int, k: int) -> None:
    check_all_pools(values, N, k)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.usefixtures("short_work")
def test_tree_of_orders_matches_enumeration(k: int) -> None:
    """All orders of all all_pools of four rows, one by one, against the tree; with clones and ties."""
    rows, found = distinct_pools(BITS, 4, k)
    for level in (0.2, 0.9):
        rule, worst = Best(candidates=k, rows=4, population=4, level=level), 0.0
        for pool in found:
            table, gone = rows[pool], np.zeros(k)
            for order in permutations(range(4)):
                rule.play(table, np.array(order, np.uint32))
                gone += rule.state.active == 0.0
            totals = table.sum(axis=0)
            worst = max(worst, (gone[totals == totals.min()] / 24).max())
        assert worst_drop(level, rows, found) == pytest.approx(worst, abs=1e-12)


def test_exact_check_has_power() -> None:
    """With a level of 1/2, some best candidate of some pool of six rows is dropped in a tenth of the orders."""
    assert worst_drop(0.5, *distinct_pools(BITS, 6, 2)) > 0.09


class OpponentAfterTheRow(Best):
    """Fault: the opponent is the best candidate of the current row, not of the past."""

    @staticmethod
    def step(state: Any, losses: Any) -> None:
        leader, runner = best_two(state.active, state.total_loss)
        for b in range(losses.size):
            if state.active[b] > 0.0:
                o = leader if b != leader else runner
                for c in range(losses.size):
                    if c != b and state.active[c] > 0.0 and losses[c] < losses[o]:
                        o = c
                state.current_wealth[b] = update_wealth(
                    state, b, state.total_loss[b] - state.total_loss[o], losses[b] - losses[o], 0.0
                )
        count_row(state, losses)
        for b in range(losses.size):
            if state.active[b] > 0.0 and state.current_wealth[b] >= state.threshold and b != leader:
                drop(state, b, leader, state.current_wealth[b])
        drop_hopeless(state)
        finish(state, 1.0)


def three_close(N: int) -> Any:
    """Candidate 0 is best by one row of three; on every row one of them loses."""
    table = np.zeros((N, 3))
    for i in range(N):
        table[i, 1 + i % 2 if i % 3 else 0] = 1.0
    table[0] = (0.0, 1.0, 0.0)
    return table


@pytest.mark.parametrize(
    ("fault", "level", "table"),
    [(OpponentAfterTheRow, 0.2, three_close(60)), (Best, 0.8, three_close(200))],
)
def test_faults_are_detected(fault: type[Best], level: float, table: Any) -> None:
    """The honest race is below the level of 0.2 by more than 4 standard errors, the fault above it
    by as many.

    The second fault is a quarter of the threshold.
    """
    N, k = table.shape
    error = 4 * math.sqrt(0.2 * 0.8 / 2000)
    assert (
        error_rate(Best(candidates=k, rows=N, population=N, level=0.2), table, 2000) < 0.2 - error
    )
    assert (
        error_rate(fault(candidates=k, rows=N, population=N, level=level), table, 2000)
        > 0.2 + error
    )


def test_best_is_dropped_without_shuffle() -> None:
    rule = Best(candidates=2, rows=200, population=200, level=0.05)
    rule.play(by_one_row(200, 0.6)[::-1].copy(), np.arange(200, dtype=np.uint32))
    assert rule.active == [0]


def test_skipping_rows_ruins_guarantee() -> None:
    """Fault: half of the rows that the best candidate wins are skipped."""
    table = by_one_row(400, 0.5)
    rng, wrong = np.random.default_rng(2), 0
    rule = Best(candidates=2, rows=400, population=400, level=0.05)
    for _ in range(50):
        order = [row for row in rng.permutation(400) if not (table[row, 0] == 1.0 and row % 2)]
        rule.play(table, np.array(order, np.uint32))
        wrong += rule.leader != 1
    assert wrong > 40


def expected_wealth(rule: Elimination, table: Any) -> float:
    """Return the largest expected wealth against a best candidate, over all orders."""
    totals = table.sum(axis=0)
    wealth = np.zeros(totals.size)
    orders = list(permutations(range(len(table))))
    for order in orders:
        rule.reset()
        for row in order:
            if not rule.done:
                rule.update(table[row].copy())
        wealth += rule.state.wealth.sum(axis=1)
    return float((wealth / len(orders))[totals <= totals.min() + 1e-9].max())


def mean_pools() -> Any:
    """Yield lists of 3 to 5 rows with 4 or 5 candidates; every second has a tie of the best."""
    rng = np.random.default_rng(11)
    for number in range(24):
        table = rng.choice(THIRDS, (int(rng.integers(3, 6)), int(rng.integers(4, 6))))
        if number % 2:
            table[:, -1] = rng.permutation(table[:, np.argmin(table.sum(axis=0))])
        yield table


class OpponentsOfPresentRow(Best):
    """Fault: the opponents are the best candidates of the row to bet on."""

    @staticmethod
    def step(state: Any, losses: Any) -> None:
        rank_candidates(state.ranked, state.active, losses, MOST_OPPONENTS + 1)
        for b in range(losses.size):
            state.current_wealth[b] = bet_against(state, None, state.products, losses, b, -1)
        add_products(state.products, state.active, losses)
        count_row(state, losses)
        finish(state, 1.0)


@pytest.mark.usefixtures("plainly")
def test_mean_opponents_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wealth against a best candidate has expectation at most 1, exact over all orders; and a fault exceeds it."""
    sizes: Counter[int] = Counter()

    def counted(*arguments: Any) -> tuple[int, float]:
        count, variance = count_opponents(*arguments)
        sizes[count] += 1
        return count, variance

    monkeypatch.setattr("tombola.racing.rules.opponents.count_opponents", counted)
    # No candidate is dropped at this level by its wealth.
    largest = [expected_wealth(Best(t.shape[1], len(t), len(t), 1e-9), t) for t in mean_pools()]
    assert max(largest) <= 1.0 + 1e-12
    assert sizes[2] + sizes[3] > 500, "too few opponents are means"
    largest = [
        expected_wealth(OpponentsOfPresentRow(t.shape[1], len(t), len(t), 1e-9), t)
        for t in mean_pools()
    ]
    assert max(largest) > 1.2
