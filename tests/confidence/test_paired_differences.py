"""Paired differences by enumeration: all lists, all orders, at all times."""

from typing import Any

import numpy as np
import pytest

from confidence_cases import Values, enumerated_ends, sequences
from tombola.confidence import Betting, PairedDifferences


def worst_share(lists: Any, wrong: Any) -> float:
    """Return the largest share of the orders of a list that are wrong; `lists` says which list a sequence is of."""
    _, which = np.unique(np.sort(lists, axis=1), axis=0, return_inverse=True)
    return float((np.bincount(which.ravel(), wrong) / np.bincount(which.ravel())).max())


def too_near(rows: int, level: float, *, shrink: float = 1.0) -> float:
    """Return how often, in the worst list of differences -1, 0, 1, an action is ever said to be nearer than it is."""
    differences = sequences((-1.0, 0.0, 1.0), rows)
    _, highs = enumerated_ends((1 + differences) / 2, 2 * level)
    seen = np.cumsum(np.column_stack([np.zeros(len(differences)), differences]), axis=1)
    means = seen / np.maximum(np.arange(rows + 1), 1)
    said = means + shrink * (2 * highs - 1 - means)
    truth = differences.mean(axis=1, keepdims=True)
    return worst_share(differences, (np.maximum(said, 0) < np.maximum(truth, 0) - 1e-9)[:, 1:].any(axis=1))


@pytest.mark.parametrize("level", [0.05, 0.4])
def test_paired_exact_coverage(level: float) -> None:
    """All lists of at most eight differences -1, 0, 1."""
    assert max(too_near(rows, level) for rows in range(1, 9)) <= level


@pytest.mark.full
@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("rows", [9, 10, 11, 12])
def test_paired_exact_coverage_up_to_12_rows(rows: int, level: float) -> None:
    assert too_near(rows, level) <= level


def test_distance_equals_upper_bounds() -> None:
    """The distance is the upper end of the differences, each with its share of the level, at every look."""
    rng = np.random.default_rng(0)
    for k in (2, 3):
        for _ in range(5):
            rows = rng.choice([0.0, 0.5, 1.0], (9, k))
            pairs, alone = (
                PairedDifferences(9, 0.3, k),
                [Betting(population=9, level=0.6 / (k - 1)) for _ in range(k - 1)],
            )
            for row in rows:
                pairs.extend(row)
                for b in range(1, k):
                    alone[b - 1].update(float((1 + row[0] - row[b]) / 2))
                assert pairs.distance(0) == max(0.0, *(2 * one.interval().high - 1 for one in alone))


class ChosenAfter(PairedDifferences):
    """Compares with the action that came out worst in the row itself."""

    def extend(self, rows: Any) -> None:
        table = np.asarray(rows, np.float64).reshape(-1, self.actions)
        super().extend(np.column_stack([table[:, 0], *[table[:, 1:].max(axis=1)] * (self.actions - 1)]))


class SkipsBad(PairedDifferences):
    """Leaves out rows in which the first action does badly."""

    def extend(self, rows: Any) -> None:
        if np.asarray(rows)[0] == 0.0:  # and nothing tells that a row is missing
            super().extend(rows)


def said_too_near(kind: type[PairedDifferences], table: Values, level: float, population: int = 0) -> float:
    """Return in which share of all orders of a table any action is ever said to be nearer to the best than it is."""
    orders = list(_orders(tuple(map(tuple, table.tolist()))))
    means, wrong = table.mean(axis=0), 0
    for order in orders:
        pairs, failed = kind(population or len(table), level, table.shape[1]), False
        for row in order[: population or None]:
            pairs.extend(np.array(row))
            failed |= any(pairs.distance(a) < means[a] - means.min() - 1e-9 for a in range(table.shape[1]))
        wrong += failed
    return wrong / len(orders)


def _orders(rows: tuple[Any, ...]) -> Any:
    """Yield every order of the rows once; orders of equal rows are equally likely, so each has the same weight."""
    if not rows:
        yield ()
    for row in dict.fromkeys(rows):
        rest = list(rows)
        rest.remove(row)
        yield from ((row, *order) for order in _orders(tuple(rest)))


BAD = np.array([[1.0, 0, 1], [1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]])  # the first is the worst, by 1/3

EVEN = np.array([[0.0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 1, 1]])  # two are worse than the first


@pytest.mark.parametrize("table", [BAD, EVEN])
def test_paired_exact_coverage_of_three_actions(table: Values) -> None:
    assert said_too_near(PairedDifferences, table, 0.3) <= 0.3


def test_paired_faults_are_detected() -> None:
    level = 0.3
    assert said_too_near(ChosenAfter, BAD, level) > level
    assert said_too_near(SkipsBad, np.array([[0.0, 0.0]] * 9 + [[1.0, 0.0]] * 2), level) > level
    assert said_too_near(PairedDifferences, np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0]] * 3), level, population=3) > level
    assert too_near(8, 0.4, shrink=0.5) > 0.4
