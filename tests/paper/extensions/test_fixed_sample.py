"""Claim `fixed-sample`."""

import itertools

import pytest

from tombola.paper.extensions.fixed_sample import _without_replacement


def test_probability_without_replacement_equals_all_subsets() -> None:
    subsets = list(itertools.combinations([1, 1, 1, -1, -1, 0], 3))
    for i, j in itertools.product(range(4), repeat=2):
        hits = sum(s.count(1) == i and s.count(-1) == j for s in subsets)
        assert i + j > 3 or _without_replacement(6, 3, 2, 3, i, j) == pytest.approx(hits / len(subsets))
