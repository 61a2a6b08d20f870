"""Offline algorithms online: the identity of Theorem B1, and the closed form of ridge regression."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.lab import BatchToOnline, Ridge


def diabetes(rows: int, columns: int = 3) -> Floats:
    """The first rows of a real data set, with the target in [0, 1]."""
    inputs, target = load_diabetes(return_X_y=True)
    table = np.column_stack([10 * inputs[:, 2 : 2 + columns], target / target.max()])
    return np.asarray(table[:rows], dtype=np.float64)


def two_centres(rows: Floats) -> Floats:
    """The best two centres among the rows, by trying all pairs: an offline 2-median."""
    if len(rows) == 0:
        return np.array([0.0, 1.0])
    points = rows[:, 0]
    pairs = itertools.combinations_with_replacement(sorted(points), 2)
    best = min(pairs, key=lambda pair: np.abs(points[:, None] - np.array(pair)).min(axis=1).sum())
    return np.array(best)


def distance(centres: Floats, rows: Floats) -> Floats:
    distances: Floats = np.abs(rows[:, :1] - centres).min(axis=1)
    return distances


LEARNERS = {
    "ridge": Ridge(0.3).online,
    "two centres": BatchToOnline(two_centres, distance),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_loss_in_random_order_is_fit_plus_stability(name: str) -> None:
    learner = LEARNERS[name]
    table = diabetes(6)[:, -1:] if name == "two centres" else diabetes(6)
    orders = list(itertools.permutations(range(6)))
    mean = np.mean([learner.losses(table[list(order)]).sum() for order in orders])
    total = 0.0
    for size in range(1, 7):
        for chosen in itertools.combinations(range(6), size):
            part = table[list(chosen)]
            fit = float(np.mean(learner.loss(learner.offline(part), part)))
            subsets = len(list(itertools.combinations(range(6), size)))
            total += (fit + learner.stability(part)) / subsets
    assert mean == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (2, 3), (3, 3), (40, 3), (40, 8)])
def test_stability_of_ridge_in_closed_form(rows: int, columns: int) -> None:
    table = diabetes(rows, columns)
    ridge = Ridge(0.7)
    assert ridge.stability(table) == pytest.approx(ridge.online.stability(table), abs=1e-10)


def test_bound_holds_on_a_real_data_set() -> None:
    """200 rows, 20 orders; the bound is in expectation, and far above the standard error."""
    table = diabetes(200)
    ridge = Ridge(0.5)
    totals = [ridge.online.play(table, seed=seed).sum() for seed in range(20)]
    best: Floats = np.asarray(np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=None)[0], float)
    optimum = Ridge.squared_errors(best, table).sum()
    generator = np.random.default_rng(1)
    stability = sum(
        ridge.stability(table[generator.permutation(200)[:size]]) for size in range(1, 201)
    )
    penalty = 0.5 * float(best @ best) * (1 + np.log(200))
    assert optimum < np.mean(totals) < optimum + penalty + stability


def test_a_shuffle_keeps_the_rows() -> None:
    learner = BatchToOnline(
        lambda rows: float(len(rows)), lambda count, rows: rows[:, 0] + 0 * count
    )
    played = learner.play(np.arange(5.0)[:, None], seed=3)
    assert sorted(played.tolist()) == [0, 1, 2, 3, 4]
    assert played.tolist() != [0, 1, 2, 3, 4]


def test_wrong_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="shape"):
        Ridge().online.losses(np.zeros(3))
    with pytest.raises(ParameterError, match="penalty"):
        Ridge(penalty=0.0)
