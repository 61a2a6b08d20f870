"""Permutation test: against its naive twin, exact on small lists, power."""

import math
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from naive.evidence import order_statistic, rank_among
from tombola.evidence.permutation_test import _EXCEEDING_LIMIT, _standardise, permutation_test
from tombola.rng import integers, new_rng


def test_permutation_test_equals_naive_twin() -> None:
    generator = np.random.default_rng(3)
    for values in (
        generator.random(40),
        (generator.random(30) < 0.4).astype(float),
        np.ones(12),
        np.arange(25) / 24,
        generator.random(3),
    ):
        for level in (0.3, 0.05):
            rng, order, shuffled = new_rng(np.random.SeedSequence(8)), list(range(len(values))), []
            for _ in range(math.ceil(_EXCEEDING_LIMIT / level) - 1):
                for i in range(len(order) - 1, 0, -1):
                    with np.errstate(over="ignore"):
                        j = integers(rng, i + 1)
                    order[i], order[j] = order[j], order[i]
                shuffled.append(order_statistic(values[order].tolist()))
            expected = rank_among(order_statistic(values.tolist()), shuffled, _EXCEEDING_LIMIT)
            assert permutation_test(values.reshape(-1, 1), level, np.random.SeedSequence(8))[
                0
            ] == pytest.approx(expected)


@pytest.mark.parametrize("kept", [1, 2, 5])
def test_permutation_p_value_exact(kept: int) -> None:
    """All orders of three rows, all ways to shuffle them three times: P(p-value <= c) is at most c."""
    for values in ((0.0, 0.3, 1.0), (0.0, 1.0, 1.0), (0.5, 0.5, 0.5)):
        exponents = [order_statistic(order) for order in permutations(values)]
        probabilities = Counter(
            rank_among(own, others, kept) for own, *others in product(exponents, repeat=4)
        )
        total = 0
        for probability, count in sorted(probabilities.items()):
            total += count
            assert total / 6**4 <= probability + 1e-12
    assert rank_among(1.0, [0.0] * 3, kept) == 0.25


def test_p_value_of_zero_is_detected() -> None:
    exponents = [order_statistic(order) for order in permutations((0.0, 0.3, 1.0))]
    wrong = [
        sum(other >= own for other in others) / 3 == 0.0
        for own, *others in product(exponents, repeat=4)
    ]
    assert np.mean(wrong) > 0.0  # a probability of 0 came out, which must never happen
    assert min(rank_among(own, others, 4) for own, *others in product(exponents, repeat=4)) == 0.25


def test_long_list_is_reduced_to_block_means() -> None:
    table = np.random.default_rng(0).random((25_001, 2))
    table[12_000:, 1] += 0.05
    short = _standardise(table)
    assert short.shape == (8333, 2)
    assert short.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    probability, column = permutation_test(table, 0.01, np.random.SeedSequence(0))
    assert (probability <= 0.01, column) == (True, 1)
    assert permutation_test(np.zeros((5, 1)), 1e-9, np.random.SeedSequence(0)) == (1.0, 0)


def test_tiny_level_is_not_tested() -> None:
    assert permutation_test(
        np.repeat([[0.0], [1.0]], 50, axis=0), 1e-12, np.random.SeedSequence(0)
    ) == (1.0, 0)
