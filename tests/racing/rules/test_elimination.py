"""Guarantees of all rules: exact enumeration of small pools, error rates on adversarial ones.

If a guarantee holds, each assertion on an error rate fails with probability below 1e-5: the limit
is five standard errors above the level, and the measured rates are far below it.
"""

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from race_cases import BITS, THIRDS, all_pools, by_one_row, error_rate
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.best import Best
from tombola.racing.rules.gate import Gate
from tombola.racing.rules.top import Top
from tombola.racing.rules.within import Within


def rules(N: int, k: int, level: float) -> Iterator[Elimination]:
    for within in (0.1, 1 / 3):
        yield Within(candidates=k, rows=N, population=N, level=level, within=within)
        yield Gate(candidates=k, rows=N, population=N, level=level, baseline=0, margin=within)
    yield Gate(candidates=k, rows=N, population=N, level=level, baseline=k - 1, margin=0.0)
    if k > 2:
        yield Top(candidates=k, rows=N, population=N, level=level, top=2)


def worst_answer(rule: Elimination, tables: Any) -> float:
    """Return the largest probability, over all_pools, of a wrong answer."""
    everything, worst = np.array(list(permutations(range(tables.shape[1]))), np.uint32), 0
    for table in tables:
        totals, wrong = table.sum(axis=0), 0
        for order in everything:
            rule.play(table, order)
            wrong += rule.is_wrong(totals)
        worst = max(worst, wrong)
    return worst / len(everything)


@pytest.mark.parametrize(("N", "k"), [(1, 2), (2, 3), (3, 3), (4, 2)])
@pytest.mark.usefixtures("short_work")
def test_theorems_2_to_4_exactly(N: int, k: int) -> None:
    check_all_rules(BITS, N, k, (0.2, 0.6))


@pytest.mark.full
@pytest.mark.parametrize(
    ("values", "N", "k"), [(BITS, 4, 3), (BITS, 6, 2), (THIRDS, 4, 2), (BITS, 3, 4)]
)
def test_theorems_2_to_4_exactly_larger_pools(values: Any, N: int, k: int) -> None:
    check_all_rules(values, N, k, (0.05, 0.2, 0.6, 0.9))


def check_all_rules(values: Any, N: int, k: int, levels: tuple[float, ...]) -> None:
    for level in levels:
        for rule in rules(N, k, level):
            assert worst_answer(rule, all_pools(values, N, k)) <= level, (rule, N, k, level)


def clones(N: int, k: int) -> Any:
    """Candidate 0 is best by one row; all others are the same one."""
    pair = by_one_row(N, 0.4)
    return np.ascontiguousarray(np.hstack([pair[:, 1:], np.repeat(pair[:, :1], k - 1, axis=1)]))


def independent(N: int, k: int) -> Any:
    """As many losses in every column, at random places; one fewer in the first."""
    rng = np.random.default_rng(5)
    table = np.zeros((N, k))
    for a in range(k):
        table[rng.permutation(N)[: N // 3 - (a == 0)], a] = 1.0
    return table


def max_error_rate(level: float, repetitions: int) -> float:
    return level + 5 * math.sqrt(level * (1 - level) / repetitions)


@pytest.mark.parametrize(
    ("table", "repetitions"),
    [
        (by_one_row(50, 0.5), 400),
        (by_one_row(1000, 0.1), 400),
        (clones(300, 10), 400),
        (independent(300, 10), 400),
        *(
            pytest.param(table, 4000, marks=pytest.mark.full)
            for table in (by_one_row(5000, 0.2), clones(2000, 10), independent(2000, 10))
        ),
    ],
)
def test_best_by_one_row_error_rate(table: Any, repetitions: int) -> None:
    N, k = table.shape
    for level in (0.05, 0.2):
        rule = Best(candidates=k, rows=N, population=N, level=level)
        assert error_rate(rule, table, repetitions) <= max_error_rate(level, repetitions)


def just_outside_tolerance(N: int, k: int, within: float) -> Any:
    """Candidate 0 is best; the others are worse by the tolerance and one row, on rows of their own."""
    rng = np.random.default_rng(9)
    table = np.zeros((N, k))
    table[rng.permutation(N)[: N // 4], 0] = 1.0
    for a in range(1, k):
        table[rng.permutation(N)[: N // 4 + int(within * N) + 1], a] = 1.0
    return table


@pytest.mark.full
def test_error_rates_on_adversarial_pools() -> None:
    table = just_outside_tolerance(400, 5, 0.05)
    start: dict[str, Any] = {"candidates": 5, "rows": 400, "population": 400, "level": 0.1}
    ties = independent(400, 5)
    assert error_rate(Within(**start, within=0.05), table, 2000) <= max_error_rate(0.1, 2000)
    assert error_rate(Gate(**start, baseline=0, margin=0.05), table, 2000) <= max_error_rate(
        0.1, 2000
    )
    assert error_rate(Gate(**start, baseline=1, margin=0.0), ties, 2000) <= max_error_rate(
        0.1, 2000
    )
    assert error_rate(Top(**start, top=2), ties, 2000) <= max_error_rate(0.1, 2000)
