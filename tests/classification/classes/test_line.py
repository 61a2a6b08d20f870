"""Thresholds, intervals, unions and stumps: whole plays, sessions and plain Python against the naive twin."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_cases import EXTREME_NUMBERS, TIES, arrivals, predict_live
from naive.classes import LineTwin
from tombola import Session, play
from tombola.classification import ERM, Intervals, LabelledPool, Stumps, Thresholds, Unions
from tombola.classification.classes.line import LineClass
from tombola.engine.compiler import interpreted
from tombola.rng import RngStreams, uniform

CLASSES: dict[str, tuple[LineClass, int, int]] = {
    "thresholds": (Thresholds(), 1, 1),
    "intervals": (Intervals(), 2, 1),
    "unions of 2": (Unions(2), 4, 1),
    "stumps on 1": (Stumps(1), 1, 2),
    "stumps on 3": (Stumps(3), 1, 2),
}


def twin_predictions(
    learner: ERM, sizes: tuple[int, int], pool: LabelledPool, delay: Any, seed: int
) -> list[int]:
    """Play the twin in the order and with the rng that `play` uses."""
    order = play(learner, pool, delay=delay, seed=seed).order
    rng = RngStreams(seed).learner(learner)

    def toss() -> float:
        with np.errstate(over="ignore"):
            return uniform(rng)

    twin = LineTwin(*sizes, learner.ties, toss)
    predictions = []
    for t, arrived in enumerate(arrivals(pool, delay)):
        for row in order[arrived]:
            twin.learn(pool.features[row].tolist(), int(pool.labels[row]), float(pool.weights[row]))
        predictions.append(twin.predict(pool.features[order[t]].tolist()))
    return predictions


def pool_of(generator: np.random.Generator, rows: int, columns: int, kind: str) -> LabelledPool:
    """Return a pool with many ties, or with ugly numbers, or with weights."""
    values = {
        "few": generator.integers(0, 4, (rows, columns)).astype(float),
        "ugly": generator.choice(EXTREME_NUMBERS, (rows, columns)),
    }
    features = values.get(kind, generator.random((rows, columns)))
    labels = generator.integers(0, 2, rows)
    weights = generator.choice([0.25, 0.5, 1.0, 0.1], rows) if kind == "weighted" else None
    if kind == "clean":
        labels = (features[:, 0] > 0.5).astype(int)
    return LabelledPool(features, labels, weights)


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", CLASSES)
def test_whole_play_and_session_agree_with_twin(name: str, ties: Any) -> None:
    hypotheses, switches, entries = CLASSES[name]
    learner = ERM(hypotheses, ties)
    generator = np.random.default_rng(7)
    for trial, kind in enumerate(
        ("few", "ugly", "spread", "weighted", "clean", "few", "ugly", "few")
    ):
        rows = (1, 2, 9, 12, 13, 14, 10, 11)[trial]
        pool = pool_of(generator, rows, hypotheses.dimensions or 1, kind)
        for delay in (0, 3, rows + 1, generator.integers(0, 5, rows)):
            trace = play(learner, pool, delay=delay, seed=trial)
            expected = twin_predictions(learner, (switches, entries), pool, delay, trial)
            assert trace.actions.tolist() == expected, (kind, delay)
            assert predict_live(learner, pool, trace.order, delay, trial) == expected, (kind, delay)


@pytest.mark.parametrize("name", CLASSES)
@settings(max_examples=25, derandomize=True, deadline=None)
@given(data=st.data())
def test_best_hypothesis_is_brute_force_minimum(name: str, data: st.DataObject) -> None:
    hypotheses, switches, entries = CLASSES[name]
    rows = data.draw(st.integers(1, 12))
    columns = hypotheses.dimensions or 1
    number = st.sampled_from([*EXTREME_NUMBERS, 2.0, 3.0])
    features = data.draw(
        st.lists(st.lists(number, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    pool = LabelledPool(
        features, data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    )
    twin = LineTwin(switches, entries, "first", lambda: math.nan)
    for row, label in zip(pool.features.tolist(), pool.labels.tolist(), strict=True):
        twin.learn(row, label, 1.0)
    expected = [twin.predict(row) for row in pool.features.tolist()]
    assert hypotheses.best_labels(pool).tolist() == expected


@pytest.mark.parametrize("ties", TIES)
def test_plain_python_gives_same_bits(ties: Any) -> None:
    generator = np.random.default_rng(3)
    for hypotheses in (Thresholds(), Unions(2), Stumps(3)):
        pool = pool_of(generator, 60, hypotheses.dimensions or 1, "weighted")
        compiled = play(ERM(hypotheses, ties), pool, delay=2, seed=5)
        with interpreted():
            slow = play(ERM(hypotheses, ties), pool, delay=2, seed=5)
            assert (
                predict_live(ERM(hypotheses, ties), pool, slow.order, 2, 5) == slow.actions.tolist()
            )
        assert slow.actions.tolist() == compiled.actions.tolist()
        assert slow.regret == compiled.regret


def test_session_equals_play_on_longer_pool() -> None:
    generator = np.random.default_rng(1)
    for hypotheses in (Thresholds(), Intervals(), Stumps(2)):
        for ties in TIES:
            features = np.concatenate(
                [generator.random((300, 2)), generator.integers(-5, 5, (200, 2))]
            )
            pool = LabelledPool(features[:, : hypotheses.dimensions], generator.integers(0, 2, 500))
            learner = ERM(hypotheses, ties)
            trace = play(learner, pool, delay=1, seed=2)
            assert predict_live(learner, pool, trace.order, 1, 2) == trace.actions.tolist()


def test_prediction_depends_only_on_what_was_seen() -> None:
    """Changing all rows that come later must not change any earlier prediction, though ranks are computed up front."""
    generator = np.random.default_rng(4)
    features, labels = generator.random((200, 2)), generator.integers(0, 2, 200)
    other_features, other_labels = features.copy(), labels.copy()
    other_features[100:], other_labels[100:] = (
        generator.normal(size=(100, 2)) * 100,
        generator.integers(0, 2, 100),
    )
    for ties in TIES:
        learner = ERM(Stumps(2), ties)
        one = play(learner, LabelledPool(features, labels), order="given", seed=0).actions
        two = play(
            learner, LabelledPool(other_features, other_labels), order="given", seed=0
        ).actions
        assert (one[:100] == two[:100]).all()
        assert (one[101:] != two[101:]).any()


def test_random_ties_are_uniform() -> None:
    """A 0 and a 1 at the same place: all-0 and all-1 tie, so half of 2000 predictions are 1.

    A deviation of more than 4 standard deviations has probability 6e-5.
    """
    session = Session(ERM(Thresholds(), "random"), horizon=2000, seed=1)
    session.observe(session.act(1), label=0)
    session.observe(session.act(1), label=1)
    ones = sum(session.act(1).action for _ in range(1998))
    assert abs(ones - 999) < 4 * math.sqrt(1998 / 4)


def test_vc_of_stumps() -> None:
    """A set of v points is shattered by d features iff d orders of the points have all subsets as
    ends; tried out.

    The bound on the growth function is below 2^(v+1) at v + 1 points, so no larger set is
    shattered.
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
