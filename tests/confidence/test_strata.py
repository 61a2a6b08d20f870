"""PairedDifferences and strata by enumeration: every list, every order, every look; and what breaks them is caught.

A look may depend on all that was seen before, and so may the stratum that is drawn from next. So what is counted is
whether there is any look at all, at any counts, at which what is said is wrong: no way to look does worse.
"""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from tombola.confidence import Betting, PairedDifferences, Strata

Values = np.ndarray[Any, np.dtype[np.float64]]
CHUNK = 512  # sequences at once: each takes 20 KB


def sequences(symbols: tuple[float, ...], rows: int) -> Values:
    return np.array(list(product(symbols, repeat=rows)), np.float64).reshape(-1, rows)


def ends(values: Values, level: float) -> tuple[Values, Values]:
    """Return the lower and the upper ends after 0, 1, ... values of every sequence."""
    lows, highs = [], []
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        seen = Betting(population=values.shape[1], level=level, actions=len(part))
        found = [(seen.lows, seen.highs)]
        for column in part.T:
            seen.extend(column, np.arange(len(part)))
            found.append((seen.lows, seen.highs))
        lows.append(np.array([low for low, _ in found]).T)
        highs.append(np.array([high for _, high in found]).T)
    return np.concatenate(lows), np.concatenate(highs)


def worst_share(lists: Any, wrong: Any) -> float:
    """Return the largest share of the orders of a list that are wrong; `lists` says which list a sequence is of."""
    _, which = np.unique(np.sort(lists, axis=1), axis=0, return_inverse=True)
    return float((np.bincount(which.ravel(), wrong) / np.bincount(which.ravel())).max())


def too_near(rows: int, level: float, *, shrink: float = 1.0) -> float:
    """Return how often, in the worst list of differences -1, 0, 1, an action is ever said to be nearer than it is."""
    differences = sequences((-1.0, 0.0, 1.0), rows)
    _, highs = ends((1 + differences) / 2, 2 * level)
    seen = np.cumsum(np.column_stack([np.zeros(len(differences)), differences]), axis=1)
    means = seen / np.maximum(np.arange(rows + 1), 1)
    said = means + shrink * (2 * highs - 1 - means)
    truth = differences.mean(axis=1, keepdims=True)
    return worst_share(differences, (np.maximum(said, 0) < np.maximum(truth, 0) - 1e-9)[:, 1:].any(axis=1))


@pytest.mark.parametrize("level", [0.05, 0.4])
def test_two_actions_are_never_said_to_be_nearer_too_often(level: float) -> None:
    """All lists of at most eight differences -1, 0, 1."""
    assert max(too_near(rows, level) for rows in range(1, 9)) <= level


@pytest.mark.full
@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("rows", [9, 10, 11, 12])
def test_two_actions_are_never_said_to_be_nearer_too_often_up_to_twelve(rows: int, level: float) -> None:
    assert too_near(rows, level) <= level


def test_pairs_say_what_their_intervals_say() -> None:
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
def test_three_actions_at_once_on_all_orders(table: Values) -> None:
    assert said_too_near(PairedDifferences, table, 0.3) <= 0.3


def test_saboteurs_of_pairs_are_caught() -> None:
    level = 0.3
    assert said_too_near(ChosenAfter, BAD, level) > level
    assert said_too_near(SkipsBad, np.array([[0.0, 0.0]] * 9 + [[1.0, 0.0]] * 2), level) > level
    assert said_too_near(PairedDifferences, np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0]] * 3), level, population=3) > level
    assert too_near(8, 0.4, shrink=0.5) > 0.4


def ever_wrong(sizes: tuple[int, int], level: float, *, shrink: float = 1.0, told: int = 0) -> float:
    """Return how often, for the worst 0/1 values of two strata, their interval ever misses, at any two counts.

    Each has an interval at `level`; `told` is the size of both that they are told, if it is not theirs.
    """
    parts = [sequences((0.0, 1.0), size) for size in sizes]
    found = [ends(part[:, : told or None], level) for part in parts]
    weights = np.array(sizes) / sum(sizes)
    low, high = (
        weights[0] * found[0][end][:, None, :, None] + weights[1] * found[1][end][None, :, None, :] for end in (0, 1)
    )
    middle, half = (low + high) / 2, shrink * (high - low) / 2
    ones = [part.sum(axis=1).astype(int) for part in parts]
    truth = ((ones[0][:, None] + ones[1][None, :]) / sum(sizes))[:, :, None, None]
    missed = ((middle - half > truth + 1e-9) | (middle + half < truth - 1e-9))[:, :, 1:, 1:].any(axis=(2, 3))
    lists = (ones[0][:, None] * 100 + ones[1][None, :]).ravel()
    counts = np.bincount(lists)
    return float((np.bincount(lists, missed.ravel())[counts > 0] / counts[counts > 0]).max())


@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 11), (2, 3), (4, 8), (6, 6), (10, 2)])
def test_strata_hold_at_all_counts_however_they_are_drawn(sizes: tuple[int, int], level: float) -> None:
    assert ever_wrong(sizes, level / 2) <= level


@pytest.mark.full
@pytest.mark.parametrize("level", [0.05, 0.4, 0.9])
def test_strata_of_all_sizes_up_to_twelve_rows(level: float) -> None:
    for first in range(1, 12):
        for second in range(1, 13 - first):
            assert ever_wrong((first, second), level / 2) <= level


def test_strata_say_what_their_intervals_say() -> None:
    values = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.5]])
    alone = [ends(row[None, :], 0.3 / 2) for row in values]
    for i, j in product(range(4), repeat=2):
        strata = Strata({"x": 3, "y": 3}, level=0.3)
        strata.extend([*values[0, :i], *values[1, :j]], ["x"] * i + ["y"] * j)
        expected = [(alone[0][end][0, i] + alone[1][end][0, j]) / 2 for end in (0, 1)]
        assert strata.interval() == pytest.approx(expected, abs=1e-12)


def test_saboteurs_of_strata_are_caught() -> None:
    assert ever_wrong((6, 6), 0.2, shrink=0.5) > 0.4
    assert ever_wrong((6, 6), 0.2, told=3) > 0.4


def test_strata_that_do_not_share_the_level_are_caught() -> None:
    """1000 orders of two strata of 300: the one or the other is missed too often; false alarm below 1e-6."""
    rng, level, runs, wrong = np.random.default_rng(0), 0.3, 1000, {}
    for share in (level / 2, level):
        both = [ends(rng.permuted(np.tile(np.repeat([0.0, 1.0], 150), (runs, 1)), axis=1), share) for _ in range(2)]
        low = sum(lows.max(axis=1) for lows, _ in both) / 2
        high = sum(highs.min(axis=1) for _, highs in both) / 2
        wrong[share] = float(((low > 0.5 + 1e-9) | (high < 0.5 - 1e-9)).mean())
    slack = math.sqrt(2 * level * (1 - level) * math.log(1e6) / runs) + math.log(1e6) / runs
    assert wrong[level / 2] <= level + slack < wrong[level]
