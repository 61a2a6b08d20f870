"""One planned look: its size by enumeration of all samples, a twin in fractions, faults."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from tombola.evidence import single_look
from tombola.evidence.single_look import (
    Stratum,
    labels_needed,
    single_look_p_value,
    split_by_judge,
)

# Rows and labels of the two strata of small lists.
SHAPES = [*product((6, 9), (3, 7), (0, 3, 5), (2, 3)), (9, 3, 5, 0)]
# p-value of ones of the two strata.
PValues = dict[tuple[int, int], float]


def mass(rows: int, ones: int, labels: int, drawn: int) -> Fraction:
    """Return the hypergeometric probability."""
    if not (0 <= drawn <= ones and 0 <= labels - drawn <= rows - ones):
        return Fraction(0)
    return Fraction(comb(ones, drawn) * comb(rows - ones, labels - drawn), comb(rows, labels))


def strata_of(shape: tuple[int, int, int, int], ones: tuple[int, int]) -> list[Stratum]:
    rows, other_rows, labels, other_labels = shape
    return [Stratum(rows, labels, ones[0]), Stratum(other_rows, other_labels, ones[1])]


def p_values(shape: tuple[int, int, int, int], most: int) -> PValues:
    samples = product(range(shape[2] + 1), range(shape[3] + 1))
    return {ones: single_look_p_value(strata_of(shape, ones), most, level=0.2) for ones in samples}


def lists_of(shape: tuple[int, int, int, int], most: int) -> Iterator[tuple[int, int]]:
    """Yield the ones of both strata of every list inside the hypothesis."""
    for first in range(shape[0] + 1):
        for second in range(min(shape[1], most - first) + 1):
            yield first, second


def largest_size(p_values_of: Callable[[tuple[int, int, int, int], int], PValues]) -> float:
    """Return the largest P(p <= t) / t over small lists inside the hypothesis, and all t."""
    largest = 0.0
    for shape in SHAPES:
        for most in range(1, shape[0] + shape[1]):
            p_value = p_values_of(shape, most)
            for first, second in lists_of(shape, most):
                weights = {
                    ones: float(
                        mass(shape[0], first, shape[2], ones[0])
                        * mass(shape[1], second, shape[3], ones[1])
                    )
                    for ones in p_value
                }
                # Errors at p = 0 are checked apart: they must not occur at all.
                assert not any(weights[ones] for ones in p_value if p_value[ones] == 0.0)
                for level in {p for p in p_value.values() if 0.0 < p < 1.0}:
                    size = sum(weights[ones] for ones in p_value if p_value[ones] <= level)
                    largest = max(largest, size / level)
    return largest


@pytest.mark.parametrize(("share", "ways"), [(0.02, 2000), (0.5, 2000), (0.5, 3)])
def test_size_over_all_samples_of_small_lists(
    share: float, ways: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_look, "_IMPLAUSIBLE_SHARE", share)
    monkeypatch.setattr(single_look, "_MAX_WAYS", ways)
    assert 0.8 < largest_size(p_values) <= 1.0 + 1e-9


def most_likely_way(stratum: Stratum, most: int, level: float) -> tuple[int, int]:
    """Return one way only to divide the ones: that of the labels."""
    share = stratum.ones / stratum.labels if stratum.labels else 0.5
    way = min(round(share * stratum.rows), most)
    return way, way


def test_fault_of_one_way_to_divide_the_ones_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_look, "_plausible", most_likely_way)
    assert largest_size(p_values) > 1.2


def test_fault_of_ways_left_out_for_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_look, "_IMPLAUSIBLE_SHARE", 1.0)

    def without_charge(shape: tuple[int, int, int, int], most: int) -> PValues:
        return {
            ones: p if p in (0.0, 1.0) else max(p - 0.2, 1e-12)
            for ones, p in p_values(shape, most).items()
        }

    assert largest_size(without_charge) > 1.2


def test_p_value_equals_its_definition_in_fractions() -> None:
    """The twin takes every list inside the hypothesis, not only those at its edge."""
    shape = (9, 7, 5, 3)
    most = 9
    implausible = 0.02 * 0.2
    samples = [*product(range(6), range(4))]
    for observed in samples:
        first, second = strata_of(shape, observed)
        statistic = single_look._statistic(first, second, most)
        extreme = [ones for ones in samples if statistic[ones] >= statistic[observed] - 1e-9]
        tails = []
        for ones, other_ones in lists_of(shape, most):
            more = sum(mass(9, ones, 5, drawn) for drawn in range(observed[0], 6))
            fewer = sum(mass(9, ones, 5, drawn) for drawn in range(observed[0] + 1))
            if 2 * min(more, fewer) > implausible:
                tail = sum(mass(9, ones, 5, a) * mass(7, other_ones, 3, b) for a, b in extreme)
                tails.append(float(tail))
        expected = min(1.0, max(tails) + implausible)
        assert single_look_p_value([first, second], most, 0.2) == pytest.approx(expected)


def test_intervals_of_ways_only_raise_the_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = [Stratum(3000, 60, 55), Stratum(1000, 20, 4)]
    exact = single_look_p_value(strata, 2700, 0.05)
    monkeypatch.setattr(single_look, "_MAX_WAYS", 50)
    coarse = single_look_p_value(strata, 2700, 0.05)
    assert exact <= coarse < 1.2 * exact


def test_large_list_is_answered() -> None:
    strata = [Stratum(700_000, 150, 145), Stratum(300_000, 60, 5)]
    assert single_look_p_value(strata, 600_000, 0.05) < 0.01


def test_judge_with_one_score_makes_one_stratum() -> None:
    assert split_by_judge(np.full(5, 0.3)).tolist() == [0] * 5
    assert split_by_judge(np.array([0.3])).tolist() == [0]
    assert split_by_judge(np.array([0, 1, 1, 0.0])).tolist() == [0, 1, 1, 0]


def test_single_stratum_is_the_hypergeometric_test() -> None:
    expected = float(sum(mass(30, 20, 8, drawn) for drawn in (7, 8)))
    assert single_look_p_value([Stratum(30, 8, 7)], 20, 0.05) == pytest.approx(expected)
    assert single_look_p_value([Stratum(30, 8, 7)], 6, 0.05) == 0.0


def test_labels_needed_is_the_same_in_both_directions() -> None:
    assert labels_needed([(2000, 0.95)], 0.9, 0.05) == labels_needed([(2000, 0.05)], 0.1, 0.05)


def test_good_judge_halves_the_labels_needed() -> None:
    """Strata with shares .02 and .96 against one list with their mean, .6."""
    alone = labels_needed([(2000, 0.584)], 0.5, 0.05)
    assert labels_needed([(800, 0.02), (1200, 0.96)], 0.5, 0.05) < 0.5 * alone
