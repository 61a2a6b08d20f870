"""ERM in the plane finds the least error, and keeps it."""

import itertools
from typing import Any

import numpy as np
import pytest

from naive import classes as naive
from tombola.classification import Halfplanes, HypothesisClass, LabelledPool, Rectangles


def test_growth_in_plane_bounds_what_is_found() -> None:
    """No three points of a parabola are on a line, so half-planes must find exactly n^2 - n + 2 labellings (Cover)."""
    for points in range(1, 6):
        table = np.array([[x, x * x] for x in range(points)], float)
        boxes, planes = set(), set()
        for labels in itertools.product((0, 1), repeat=points):
            boxes.add(tuple(Rectangles().best_labels(LabelledPool(table, labels)).tolist()))
            planes.add(tuple(Halfplanes().best_labels(LabelledPool(table, labels)).tolist()))
        assert len(boxes) <= (Rectangles().growth(points) or 0)
        assert len(planes) == Halfplanes().growth(points)


BOTH = [(Rectangles(), naive.rectangle_error), (Halfplanes(), naive.halfplane_error)]


@pytest.mark.parametrize(("hypotheses", "truth"), BOTH, ids=["rectangles", "halfplanes"])
def test_plane_finds_least_error(hypotheses: HypothesisClass, truth: Any) -> None:
    generator = np.random.default_rng(5)
    trials, most = (40, 12) if hypotheses == Rectangles() else (12, 8)
    for trial in range(trials):
        rows = int(generator.integers(1, most))
        table = generator.integers(0, 3, (rows, 2)).astype(float)
        labels, weights = generator.integers(0, 2, rows), generator.choice([0.25, 0.5, 1.0], rows)
        pool = LabelledPool(table, labels, weights)
        expected = truth(table.tolist(), labels.tolist(), weights.tolist())
        got = naive.error_of(
            hypotheses.best_labels(pool).tolist(), labels.tolist(), weights.tolist()
        )
        assert got == expected, trial


def test_plane_keeps_minimiser_round_by_round() -> None:
    """After every row the hypothesis in force has least error on what was seen, also where no search is done."""
    generator = np.random.default_rng(6)
    for hypotheses, truth in BOTH:
        table, labels = generator.integers(0, 3, (9, 2)).astype(float), generator.integers(0, 2, 9)
        searcher = hypotheses.online_erm("first", 9, 2)
        rng = np.zeros(4, np.uint64)
        for t in range(9):
            given = [searcher.predict(row, rng) for row in table[:t]]
            seen = labels[:t].tolist(), [1.0] * t
            assert t == 0 or naive.error_of(given, *seen) == truth(table[:t].tolist(), *seen)
            searcher.predict(table[t], rng)
            searcher.learn(table[t], int(labels[t]), 1.0)
