"""The Standard Optimal Algorithm never errs more often than the dimension."""

import itertools

from tombola import play
from tombola.classification import FiniteClass, LabelledPool, StandardOptimal, Thresholds


def test_optimal_mistakes_at_most_dimension() -> None:
    matrix = Thresholds().on_points(4)
    chain = FiniteClass(matrix)
    for truth in matrix:
        for order in itertools.permutations(range(4)):
            pool = LabelledPool(list(order), truth[list(order)])
            assert play(StandardOptimal(chain), pool, order="given", seed=0).mistakes <= 2
