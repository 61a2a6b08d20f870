"""Rank sets: against a naive twin, and exactly over all orders of small pools."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import ranks as naive
from tombola.racing.rules import ranks
from tombola.racing.rules.ranks import Place, Ranks, close_transitively

pytestmark = pytest.mark.usefixtures("plainly")
GRID = (0.0, 1 / 3, 2 / 3, 1.0)


def tables(values: tuple[float, ...], most_rows: int) -> st.SearchStrategy[list[list[float]]]:
    """Return small tables of losses with up to three candidates, ties included."""
    cell = st.sampled_from(values)
    return st.integers(2, 3).flatmap(
        lambda k: st.lists(st.lists(cell, min_size=k, max_size=k), min_size=1, max_size=most_rows)
    )


@given(tables(GRID, 8), st.sampled_from([0.05, 0.2, 0.5]))
@settings(max_examples=150, deadline=None)
def test_ranks_equals_naive_twin(losses: list[list[float]], level: float) -> None:
    rule = Ranks(candidates=len(losses[0]), rows=len(losses), population=len(losses), level=level)
    expected = naive.claims_of(losses, len(losses), level, naive.wealth)  # type: ignore[no-untyped-call]
    for n, row in enumerate(losses):
        if rule.done:
            break
        rule.update(np.array(row))
        proved = {(int(a), int(b)) for a, b in zip(*np.nonzero(rule.before), strict=True)}
        # A settled candidate is asked no more; its further claims would be repeats of the closed
        # order.
        assert proved <= expected[n]
        if all(rule.state.active):
            assert proved == expected[n]


def error_rates(losses: np.ndarray, make: Callable[[], Any]) -> tuple[float, float]:
    """Return P(some claim contradicts the true order), and P(some rank set misses), over all orders."""
    order, _ = naive.order_of(losses.tolist())  # type: ignore[no-untyped-call]
    place = {a: r for r, a in enumerate(order)}
    wrong = missed = count = 0
    for arrangement in itertools.permutations(range(len(losses))):
        rule, bad = make(), False
        for i in arrangement:
            if rule.done:
                break
            rule.update(losses[i])
            claims = [] if isinstance(rule, Place) else zip(*np.nonzero(rule.before), strict=True)
            bad |= any(place[int(a)] > place[int(b)] for a, b in claims)
        sets = (
            {rule.candidate: rule.rank_set()}
            if isinstance(rule, Place)
            else dict(enumerate(rule.rank_sets()))
        )
        missed += any(not first <= place[a] + 1 <= last for a, (first, last) in sets.items())
        wrong += bad
        count += 1
    return wrong / count, missed / count


POOLS = [
    np.array([[1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0]], float),
    np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]], float),
    np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]], float),
    np.array([[2, 0, 1], [0, 2, 1], [3, 1, 2], [1, 3, 2], [0, 0, 3]], float) / 3,
    np.full((5, 3), 0.5),
]


@pytest.mark.parametrize("losses", POOLS, ids=range(len(POOLS)))
@pytest.mark.parametrize("level", [0.05, 0.2, 0.5])
def test_ranks_error_is_below_level_over_all_orders(losses: np.ndarray, level: float) -> None:
    rows, k = losses.shape
    assert max(error_rates(losses, lambda: Ranks(k, rows, rows, level))) <= level + 1e-12


def test_threshold_without_union_is_caught() -> None:
    """The fault: every pair at 1 / level, as if there were one hypothesis. Some pool must exceed the level."""

    class NoUnion(Ranks):
        def init(self) -> Any:
            return super().init()._replace(threshold=1.0 / self.level)

    generator, worst = np.random.default_rng(5), 0.0
    for _ in range(12):
        half = generator.integers(0, 2, (3, 4)).astype(float)
        losses = np.concatenate(
            [half, half[:, ::-1]]
        )  # all candidates tied: any claim against file order is an error
        losses = losses[:5] if len(losses) > 5 else losses
        rows, k = losses.shape
        for level in (0.5, 0.77):
            worst = max(
                worst,
                error_rates(losses, lambda: NoUnion(k, rows, rows, level))[0] / level,  # noqa: B023
            )
    assert worst > 1.0


@pytest.mark.parametrize("losses", POOLS[:4], ids=range(4))
@pytest.mark.parametrize("level", [0.2, 0.5])
def test_place_error_is_below_level_over_all_orders(losses: np.ndarray, level: float) -> None:
    rows, k = losses.shape
    for candidate in range(k):
        rates = error_rates(losses, lambda: Place(k, rows, rows, level, candidate=candidate))  # noqa: B023
        assert max(rates) <= level + 1e-12


def test_candidates_of_an_infinite_population_are_never_certain() -> None:
    rule = Ranks(2, 10, math.inf, 1e-9)
    for _ in range(10):
        rule.update(np.array([0.0, 1.0]))
    assert not rule.before.any()


def test_incremental_closure_equals_warshall() -> None:
    generator = np.random.default_rng(3)
    for _ in range(30):
        k = 6
        rule = Ranks(k, 5, 5, 0.05)
        order = generator.permutation(k)
        pairs = [
            (order[i], order[j])
            for i in range(k)
            for j in range(i + 1, k)
            if generator.random() < 0.3
        ]
        direct = np.zeros((k, k), bool)
        for a, b in generator.permutation(np.array(pairs)).tolist() if pairs else []:
            ranks._add_order(rule.state, a, b)
            direct[a, b] = True
        assert (rule.before == close_transitively(direct)).all()
