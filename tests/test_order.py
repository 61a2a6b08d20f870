"""Orders: permutations that are uniform, draws that are independent, and lists that name every row once."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from tombola import FixedAction, Pool, play
from tombola._types import RngState
from tombola.errors import OrderError
from tombola.order import as_order_model, draw_order
from tombola.rng import RngStreams, new_rng

FALSE_ALARM = 1e-6


def rng(seed: int = 0) -> RngState:
    return new_rng(np.random.SeedSequence(seed))


def too_far(counts: Counter[Any], cells: list[Any]) -> bool:
    """Tell whether Pearson's statistic for equal shares is above its 1 - FALSE_ALARM quantile."""
    expected = counts.total() / len(cells)
    statistic = sum((counts[cell] - expected) ** 2 / expected for cell in cells)
    return counts.total() != sum(counts[cell] for cell in cells) or statistic > chi2.isf(
        FALSE_ALARM, len(cells) - 1
    )


@settings(max_examples=40, derandomize=True, deadline=None)
@given(rows=st.integers(1, 300), seed=st.integers(0, 2**64))
def test_random_is_permutation(rows: int, seed: int) -> None:
    order = draw_order("random", rows, rng(seed))
    assert order.dtype == np.uint32
    assert sorted(order.tolist()) == list(range(rows))


def orders(model: str, rows: int, count: int) -> Counter[Any]:
    """Count the orders of many seeds."""
    return Counter(
        tuple(draw_order(model, rows, RngStreams(seed).order()).tolist()) for seed in range(count)
    )


def test_random_order_is_uniform() -> None:
    """By seeds, and along one stream; a right shuffle fails with probability 1e-6 (seeds are fixed)."""
    assert not too_far(orders("random", 3, 3000), list(permutations(range(3))))
    stream = rng(5)
    counts = Counter(tuple(draw_order("random", 4, stream).tolist()) for _ in range(4800))
    assert not too_far(counts, list(permutations(range(4))))


def test_iid_draws_are_uniform_and_independent() -> None:
    """All 27 sequences of three draws, and pairs along one stream; right draws fail with probability 1e-6."""
    assert not too_far(orders("iid", 3, 2700), list(product(range(3), repeat=3)))
    order = draw_order("iid", 10_000, rng(1)) % 5
    pairs = Counter(zip(order[0::2].tolist(), order[1::2].tolist(), strict=True))
    assert not too_far(pairs, list(product(range(5), repeat=2)))


def test_check_for_equal_shares_can_fail() -> None:
    assert too_far(Counter({0: 600, 1: 400}), [0, 1])
    assert too_far(Counter({0: 500, 1: 500, 2: 1}), [0, 1])


def test_given_and_array_orders() -> None:
    assert draw_order("given", 4, rng()).tolist() == [0, 1, 2, 3]
    for order in ([2, 0, 1], np.array([2, 0, 1]), np.array([2, 0, 1], dtype=np.uint8)):
        assert draw_order(order, 3, rng()).tolist() == [2, 0, 1]
        assert str(as_order_model(order)) == "given"
    pool = Pool([[0.1], [0.2], [0.3]])
    assert play(FixedAction(0), pool, order=[2, 0, 1], seed=0).losses.tolist() == [0.3, 0.1, 0.2]
    for word in ("random", "iid", "given"):
        assert str(play(FixedAction(0), pool, order=word, seed=0).order_model) == word


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ([0, 1, 1], "no row 2"),
        ([0, 0, 0], "no row 1"),
        ([0, 1, 3], "no row 2"),
        ([-1, 1, 2], "no row 0"),
        ([0, 1], "each of the 3 rows"),
        ([0, 1, 2, 2], "each of the 3 rows"),
        ([], "each of the 3 rows"),
        ([0.0, 1.0, 2.0], "float64"),
        ([True, False, True], "bool"),
        ([[0, 1, 2]], "shape (1, 3)"),
        ([[0], [1, 2]], "each of the 3 rows"),
        ([0, 1, 2**70], "each of the 3 rows"),
        (None, "each of the 3 rows"),
        ("shuffled", "'shuffled'"),
        ("", "''"),
    ],
)
def test_what_is_not_order_is_rejected(
    order: Any, says: str, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(OrderError) as caught:
        play(FixedAction(0), Pool([[0.0]] * 3), order=order, seed=0)
    assert says in one_sentence(caught.value)
