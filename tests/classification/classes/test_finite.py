"""ERM over a finite class."""

import numpy as np

from tombola import play
from tombola.classification import ERM, FiniteClass, LabelledPool


def test_finite_erm_is_first_least_row() -> None:
    generator = np.random.default_rng(8)
    for ties in ("first", "last", "middle"):
        matrix, points = generator.integers(0, 2, (9, 5)), generator.integers(0, 5, 40)
        labels = generator.integers(0, 2, 40)
        trace = play(
            ERM(FiniteClass(matrix), ties), LabelledPool(points, labels), order="given", seed=0
        )
        for t in range(40):
            errors = (matrix[:, points[:t]] != labels[:t]).sum(axis=1)
            best = np.flatnonzero(errors == errors.min())
            pick = {"first": best[0], "last": best[-1], "middle": best[(best.size - 1) // 2]}[ties]
            assert trace.actions[t] == matrix[pick, points[t]]
        assert trace.comparator_losses.sum() == (matrix[:, points] != labels).sum(axis=1).min()
