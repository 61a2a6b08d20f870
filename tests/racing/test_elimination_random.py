"""The race on pools made against it, too large to enumerate: errors over many shuffles stay below the level.

If the guarantee holds, an assertion here fails with probability below 1e-5 each: the limit is five standard errors
above the level, and the rates measured are far below it.
"""

import math
from typing import Any

import numpy as np
import pytest

from tombola.racing.best import Best
from tombola.racing.elimination import Elimination
from tombola.racing.gate import Gate
from tombola.racing.top import Top
from tombola.racing.verdict import is_wrong
from tombola.racing.within import Within


def by_one_row(N: int, share: float) -> Any:
    """Two candidates that disagree on a share of the rows; candidate 1 is best by one row."""
    wins = int(N * share / 2)
    table = np.zeros((N, 2))
    table[: wins + 1, 0] = 1.0
    table[wins + 1 : 2 * wins + 1, 1] = 1.0
    return table


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


def error_rate(rule: Elimination, table: Any, repetitions: int) -> float:
    rng, totals, wrong = np.random.default_rng(7), table.sum(axis=0), 0
    for _ in range(repetitions):
        rule.play(table, rng.permutation(len(table)).astype(np.uint32))
        wrong += is_wrong(rule, totals)
    return wrong / repetitions


def limit(level: float, repetitions: int) -> float:
    return level + 5 * math.sqrt(level * (1 - level) / repetitions)


@pytest.mark.parametrize(
    "table",
    [by_one_row(50, 0.5), by_one_row(1000, 0.1), clones(300, 10), independent(300, 10)],
    ids=["short", "rare", "clones", "independent"],
)
def test_the_best_by_one_row_is_missed_no_more_often_than_the_level_allows(table: Any) -> None:
    N, k = table.shape
    for level in (0.05, 0.2):
        rule = Best(candidates=k, rows=N, population=N, level=level)
        assert error_rate(rule, table, 400) <= limit(level, 400)


@pytest.mark.full
@pytest.mark.parametrize(
    "table",
    [by_one_row(5000, 0.2), clones(2000, 10), independent(2000, 10)],
    ids=["long", "clones", "independent"],
)
def test_the_same_of_long_lists(table: Any) -> None:
    N, k = table.shape
    for level in (0.05, 0.2):
        rule = Best(candidates=k, rows=N, population=N, level=level)
        assert error_rate(rule, table, 4000) <= limit(level, 4000)


def just_too_bad(N: int, k: int, within: float) -> Any:
    """Candidate 0 is best; the others are worse by the tolerance and one row, on rows of their own."""
    rng = np.random.default_rng(9)
    table = np.zeros((N, k))
    table[rng.permutation(N)[: N // 4], 0] = 1.0
    for a in range(1, k):
        table[rng.permutation(N)[: N // 4 + int(within * N) + 1], a] = 1.0
    return table


@pytest.mark.full
def test_the_other_questions_on_pools_made_against_them() -> None:
    table = just_too_bad(400, 5, 0.05)
    start: dict[str, Any] = {"candidates": 5, "rows": 400, "population": 400, "level": 0.1}
    ties = independent(400, 5)
    assert error_rate(Within(**start, within=0.05), table, 2000) <= limit(0.1, 2000)
    assert error_rate(Gate(**start, baseline=0, margin=0.05), table, 2000) <= limit(0.1, 2000)
    assert error_rate(Gate(**start, baseline=1, margin=0.0), ties, 2000) <= limit(0.1, 2000)
    assert error_rate(Top(**start, top=2), ties, 2000) <= limit(0.1, 2000)
