"""Littlestone adversary: contradict every prediction (Littlestone 1988).

It shows the power of the order: the labels stay consistent with some hypothesis.
"""

from dataclasses import dataclass

import numpy as np

from tombola import _validate
from tombola._types import Integers, Seed
from tombola.classification.classes.finite import FiniteClass
from tombola.classification.dimension import MistakeTrees
from tombola.classification.learner import LabelLearner, Predictor
from tombola.classification.pool import LabelledPool
from tombola.errors import ParameterError
from tombola.rng import RngStreams


@dataclass(frozen=True, eq=False)
class Attack:
    """Hold the result of an attack: labels chosen against a learner's predictions.

    pool: the rows in their order, with labels that contradict the learner.
    predictions: label that the learner predicted for each row, shape (rows,).
    """

    pool: LabelledPool
    predictions: Integers

    @property
    def mistakes(self) -> int:
        """The number of rows on which the learner's prediction differs from the label."""
        return int(np.count_nonzero(self.predictions != self.pool.labels))


def attack(learner: LabelLearner, hypotheses: FiniteClass, *, seed: Seed) -> Attack:
    """Play the Littlestone adversary: force a mistake in every round.

    The number of rounds is the Littlestone dimension of the class, and the labels of all rounds
    agree with one of its hypotheses. The learner must be deterministic, given its `seed`.

    >>> from tombola.classification import ERM
    >>> chain = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> attack(ERM(chain), chain, seed=0).mistakes
    2
    """
    array = hypotheses.array
    columns = tuple(sum(1 << int(h) for h in np.flatnonzero(column)) for column in array.T)
    distinct = {tuple(row): index for index, row in reversed(list(enumerate(array.tolist())))}
    trees = MistakeTrees(columns)
    alive = sum(1 << index for index in distinct.values())
    rounds = trees.depth(alive)
    if rounds == 0:
        raise ParameterError(
            f"attack: a class of Littlestone dimension 0 forces no mistake, got {hypotheses!r}; "
            "give a class with two different hypotheses."
        )
    predictor = learner.start(rounds, 1, RngStreams(seed).learner(learner))
    record: list[tuple[float, int, int]] = []
    for _ in range(rounds):
        point = trees.question(alive)
        label = _contradict(predictor, float(point), record)
        alive = trees.split(alive, point)[label]
    return _attack_of(record)


def attack_thresholds(learner: LabelLearner, rounds: int, *, seed: Seed) -> Attack:
    """Force a mistake in every round on a deterministic learner of thresholds.

    Each round asks for the label of a whole number between the largest one labelled 0 and the
    smallest one labelled 1, and answers the opposite of the prediction. A number next to one of
    these ends is chosen if the learner is wrong there (`ERM` with ties="first" or "last"), which
    uses up one number per round. Else it is the middle, which uses up half of the numbers left:
    2^53 of them last 52 rounds, and ParameterError is raised after them.

    rounds: number of rows, one label each.

    >>> from tombola.classification import ERM, Thresholds
    >>> attack_thresholds(ERM(Thresholds()), 100, seed=0).mistakes
    100
    """
    _validate.integer("attack_thresholds", "rounds", rounds, least=1)
    predictor = learner.start(rounds, 1, RngStreams(seed).learner(learner))
    low, high = 0, 1 << 53
    record: list[tuple[float, int, int]] = []
    for played in range(rounds):
        if high - low < 2:
            raise ParameterError(
                f"attack_thresholds: the whole numbers below 2^53 were used up after {played} "
                "rounds, got rounds="
                f"{rounds}; write rounds={played}, or attack ties='first' or 'last'."
            )
        if _predicted_label(predictor, low + 1) == 1:
            point = low + 1
        elif _predicted_label(predictor, high - 1) == 0:
            point = high - 1
        else:
            point = (low + high) // 2
        if _contradict(predictor, float(point), record) == 0:
            low = point
        else:
            high = point
    return _attack_of(record)


def _predicted_label(predictor: Predictor, point: int) -> int:
    return predictor.predict(np.array([float(point)]))[0]


def _contradict(predictor: Predictor, point: float, record: list[tuple[float, int, int]]) -> int:
    """Ask for a label, call the other one true, and write it down."""
    row = np.array([point])
    predicted, _ = predictor.predict(row)
    predictor.learn(row, 1 - predicted, 1.0)
    record.append((point, 1 - predicted, predicted))
    return 1 - predicted


def _attack_of(record: list[tuple[float, int, int]]) -> Attack:
    points, labels, predictions = zip(*record, strict=True)
    return Attack(LabelledPool(points, labels), np.array(predictions, np.int64))
