"""Dimensions of classes against brute force, growth functions by counting, and the learners they govern."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from naive import classes as naive
from tombola import Hedge, play
from tombola.bounds import classification as bounds
from tombola.classification import (
    ERM,
    AllLabellings,
    Experts,
    FiniteClass,
    Halfplanes,
    Halving,
    Intervals,
    LabelledPool,
    Rectangles,
    StandardOptimal,
    Stumps,
    Thresholds,
    Unions,
    attack,
    attack_thresholds,
    littlestone_dimension,
    vc_dimension,
)
from tombola.errors import ParameterError, PoolError


def test_thresholds_on_points() -> None:
    for points in range(1, 40):
        matrix = Thresholds().on_points(points)
        assert littlestone_dimension(matrix) == (points + 1).bit_length() - 1 == Thresholds().littlestone(points)
        assert vc_dimension(matrix) == 1
        assert len(np.unique(matrix, axis=0)) == Thresholds().growth(points)


def test_intervals_and_unions_on_points() -> None:
    for points in range(1, 8):
        for hypotheses in (Intervals(), Unions(2)):
            matrix = hypotheses.on_points(points)
            distinct = {tuple(row) for row in matrix.tolist()}
            assert len(distinct) == hypotheses.growth(points)
            assert vc_dimension(matrix) == min(points, hypotheses.vc or 0) == naive.vc(sorted(distinct))
            if points <= 5:
                expected = naive.littlestone(frozenset(distinct))
                assert littlestone_dimension(matrix) == hypotheses.littlestone(points) == expected


def test_a_thousand_random_classes() -> None:
    generator = np.random.default_rng(0)
    seen = set()
    for _ in range(1000):
        size, points = generator.integers(1, 13), generator.integers(1, 6)
        matrix = (generator.random((size, points)) < generator.choice([0.2, 0.5])).astype(int)
        distinct = frozenset(tuple(row) for row in matrix.tolist())
        dimensions = vc_dimension(matrix), littlestone_dimension(matrix)
        assert dimensions == (naive.vc(sorted(distinct)), naive.littlestone(distinct))
        seen.add(dimensions)
    assert len(seen) >= 6, "the classes must be of many kinds"


def test_vc_of_stumps() -> None:
    """A set of v points is shattered by d features iff d orders of the points have all subsets as ends; tried out.

    The bound on the growth function is below 2^(v+1) at v + 1 points, so no larger set is shattered.
    """
    for features, vc in ((1, 2), (2, 3), (3, 4)):
        assert Stumps(features).vc == vc
        assert best_shattering(features, vc) == 2**vc
        assert (Stumps(features).growth(vc + 1) or 0) < 2 ** (vc + 1)
        for points in range(1, vc + 2 if features < 3 else 5):
            assert best_shattering(features, points) <= (Stumps(features).growth(points) or 0)


def best_shattering(features: int, points: int) -> int:
    orders = list(itertools.permutations(range(points)))
    most = 0
    for rest in itertools.combinations_with_replacement(orders, features - 1):
        sets = set()
        for order in (tuple(range(points)), *rest):
            for cut in range(points + 1):
                sets.add(frozenset(order[:cut]))
                sets.add(frozenset(order[cut:]))
        most = max(most, len(sets))
        if most == 2**points:
            break
    return most


def test_growth_in_the_plane_bounds_what_is_found() -> None:
    """No three points of a parabola are on a line, so half-planes must find exactly n^2 - n + 2 labellings (Cover)."""
    for points in range(1, 6):
        table = np.array([[x, x * x] for x in range(points)], float)
        boxes, planes = set(), set()
        for labels in itertools.product((0, 1), repeat=points):
            boxes.add(tuple(Rectangles().best(LabelledPool(table, labels)).tolist()))
            planes.add(tuple(Halfplanes().best(LabelledPool(table, labels)).tolist()))
        assert len(boxes) <= (Rectangles().growth(points) or 0)
        assert len(planes) == Halfplanes().growth(points)


@pytest.mark.parametrize("plain_class", ["rectangles", "halfplanes"])
def test_plane_finds_the_least_error(plain_class: str) -> None:
    generator = np.random.default_rng(5)
    hypotheses = Rectangles() if plain_class == "rectangles" else Halfplanes()
    for trial in range(40 if plain_class == "rectangles" else 12):
        rows = int(generator.integers(1, 12 if plain_class == "rectangles" else 8))
        table = generator.integers(0, 3, (rows, 2)).astype(float)
        labels, weights = generator.integers(0, 2, rows), generator.choice([0.25, 0.5, 1.0], rows)
        pool = LabelledPool(table, labels, weights)
        truth = naive.rectangle_error if plain_class == "rectangles" else naive.halfplane_error
        expected = truth(table.tolist(), labels.tolist(), weights.tolist())
        got = naive.error_of(hypotheses.best(pool).tolist(), labels.tolist(), weights.tolist())
        assert got == expected, trial


def test_plane_keeps_a_minimiser_round_by_round() -> None:
    """After every row the hypothesis in force has least error on what was seen, also where no search is done."""
    generator = np.random.default_rng(6)
    for hypotheses in (Rectangles(), Halfplanes()):
        table, labels = generator.integers(0, 3, (9, 2)).astype(float), generator.integers(0, 2, 9)
        searcher = hypotheses.online_erm("first", 9, 2)
        rng = np.zeros(4, np.uint64)
        for t in range(9):
            given = [searcher.predict(row, rng) for row in table[:t]]
            truth = naive.rectangle_error if isinstance(hypotheses, Rectangles) else naive.halfplane_error
            if t:
                assert naive.error_of(given, labels[:t].tolist(), [1.0] * t) == truth(
                    table[:t].tolist(), labels[:t].tolist(), [1.0] * t
                )
            searcher.predict(table[t], rng)
            searcher.learn(table[t], int(labels[t]), 1.0)


def test_finite_erm_is_the_first_least_row() -> None:
    generator = np.random.default_rng(8)
    for ties in ("first", "last", "middle"):
        matrix, points = generator.integers(0, 2, (9, 5)), generator.integers(0, 5, 40)
        labels = generator.integers(0, 2, 40)
        trace = play(ERM(FiniteClass(matrix), ties), LabelledPool(points, labels), order="given", seed=0)
        for t in range(40):
            errors = (matrix[:, points[:t]] != labels[:t]).sum(axis=1)
            best = np.flatnonzero(errors == errors.min())
            pick = {"first": best[0], "last": best[-1], "middle": best[(best.size - 1) // 2]}[ties]
            assert trace.actions[t] == matrix[pick, points[t]]
        assert trace.comparator_losses.sum() == (matrix[:, points] != labels).sum(axis=1).min()


def test_realizable_mistakes_stay_below_their_bounds_and_the_adversary_reaches_the_dimension() -> None:
    generator = np.random.default_rng(9)
    for trial in range(60):
        matrix = np.unique(generator.integers(0, 2, (int(generator.integers(2, 12)), 6)), axis=0)
        if len(matrix) < 2:
            continue
        chain = FiniteClass(matrix)
        depth = chain.littlestone()
        assert depth is not None
        for learner in (StandardOptimal(chain), Halving(chain), ERM(chain), Experts(chain, Hedge())):
            met = attack(learner, chain, seed=trial)
            assert met.mistakes == depth, learner
            assert play(ERM(chain), met.pool, seed=0).comparator_losses.sum() == 0, "labels stay realizable"
        truth = matrix[generator.integers(len(matrix))]
        points = generator.integers(0, 6, 30)
        pool = LabelledPool(points, truth[points])
        assert play(StandardOptimal(chain), pool, seed=trial).mistakes <= depth
        assert play(Halving(chain), pool, seed=trial).mistakes <= bounds.halving(len(matrix))


def test_optimal_never_errs_more_than_the_dimension_in_any_order() -> None:
    matrix = Thresholds().on_points(4)
    chain = FiniteClass(matrix)
    for truth in matrix:
        for order in itertools.permutations(range(4)):
            pool = LabelledPool(list(order), truth[list(order)])
            assert play(StandardOptimal(chain), pool, order="given", seed=0).mistakes <= 2


def test_learners_over_finite_classes_survive_labels_that_no_hypothesis_has() -> None:
    chain = FiniteClass([[0, 0], [0, 1]])
    pool = LabelledPool([0, 1, 0, 1, 0], [1, 1, 1, 0, 0])
    for learner in (StandardOptimal(chain), Halving(chain), Experts(chain, Hedge())):
        assert play(learner, pool, seed=0).horizon == 5


def test_hedge_over_a_class_has_small_regret_where_erm_has_not() -> None:
    """Littlestone order for ERM over thresholds, as places of 63 points: ERM errs every time, Hedge keeps its bound.

    The bound is on the expectation; 3 sqrt(T / 2) more has probability below exp(-9).
    """
    rows = attack_thresholds(ERM(Thresholds()), 63, seed=0).pool
    pool = LabelledPool(np.argsort(np.argsort(rows.features[:, 0])), rows.labels)
    assert play(ERM(Thresholds()), pool, order="given", seed=0).regret == 63
    learner = Experts(FiniteClass(Thresholds().on_points(63)), Hedge())
    limit = learner.bound(63)
    assert limit is not None
    assert play(learner, pool, order="given", seed=0).regret <= limit + 3 * np.sqrt(63 / 2)


def test_bad_classes_are_refused(one_sentence: Callable[[object], str]) -> None:
    cases: tuple[Any, ...] = ([], [[]], [[0, 2]], [[0], [0, 1]], "abc", [["a"]], [[float("nan")]])
    for bad in cases:
        for call in (FiniteClass, vc_dimension, littlestone_dimension):
            with pytest.raises(ParameterError) as error:
                call(bad)
            assert "matrix of 0 and 1" in one_sentence(error.value)
    big = (np.arange(5000)[:, None] >> np.arange(13)) & 1
    for call in (vc_dimension, littlestone_dimension):
        with pytest.raises(ParameterError, match="at most 4096") as error:
            call(big)
        one_sentence(error.value)
    with pytest.raises(PoolError, match=r"0\.\.1") as late:
        play(ERM(FiniteClass([[0, 1]])), LabelledPool([2.0], [0]), seed=0)
    one_sentence(late.value)
    for wrong in (
        lambda: AllLabellings(0),
        lambda: Stumps(0),
        lambda: Unions(21),
        lambda: attack_thresholds(ERM(Thresholds()), 0, seed=0),
    ):
        with pytest.raises(ParameterError) as error:
            wrong()
        one_sentence(error.value)
    with pytest.raises(ParameterError, match="used up") as error:
        attack_thresholds(ERM(Thresholds(), "middle"), 100, seed=0)
    one_sentence(error.value)
