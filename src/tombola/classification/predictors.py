"""Predict all rows of an order, compiled where possible."""

from typing import Any

import numpy as np

from tombola._types import Floats, Integers, Order, RngState
from tombola.classification.classes.line import LineClass
from tombola.classification.learner import ERM, LabelLearner
from tombola.classification.pool import LabelledPool
from tombola.engine.arrivals import ArrivalSchedule, has_arrived, next_round
from tombola.engine.loop import COMPARATOR, EXPECTED, LOSS, Accumulators, new_accumulators
from tombola.errors import LearnerError


def predict_all(
    learner: Any,
    pool: LabelledPool,
    rows: Order,
    arrivals: ArrivalSchedule,
    rng: RngState,
    marks: Integers,
    *,
    per_round: bool,
) -> Accumulators:
    """Predict every row of an order with delayed labels; return totals of the play.

    The accumulators hold losses of learner and best hypothesis, and counts of both labels.
    LearnerError for anything but a learner of labels.

    marks: rounds, from 1, at which totals are recorded.
    per_round: whether to record prediction, probability and loss of every round too.
    """
    if not isinstance(learner, LabelLearner):
        raise LearnerError(
            f"play: expected a learner of labels for a LabelledPool, got {learner!r}; write for "
            "example "
            "ERM(Thresholds())."
        )
    learner.hypotheses.check(pool.dimensions)
    predictions, probabilities = _predictions(learner, pool, rows, arrivals, rng)
    losses = (predictions != pool.labels[rows]) * pool.weights[rows]
    accumulators = new_accumulators(
        2, rows.size, marks, resources=0, per_round=per_round, expects=False
    )
    sums = np.zeros((rows.size, accumulators.sums.size))
    sums[:, LOSS] = sums[:, EXPECTED] = np.cumsum(losses)
    sums[:, COMPARATOR] = np.cumsum(best_losses(learner, pool, rows)) if marks.size else 0.0
    accumulators.sums[:] = sums[-1]
    accumulators.curve[:] = sums[marks - 1]
    accumulators.plays[:] = np.bincount(predictions, minlength=2)
    accumulators.shares[:, 1] = np.cumsum(predictions)[marks - 1]
    accumulators.shares[:, 0] = marks - accumulators.shares[:, 1]
    return (
        accumulators._replace(
            actions=predictions, probabilities=probabilities, losses=losses, expected=losses
        )
        if per_round
        else accumulators
    )


def best_losses(learner: LabelLearner, pool: LabelledPool, rows: Order) -> Floats:
    """Return the losses of the best hypothesis on the whole pool, shape (rounds,)."""
    best: Floats = (learner.hypotheses.best_labels(pool) != pool.labels) * pool.weights
    return best[rows]


def _predictions(
    learner: LabelLearner, pool: LabelledPool, rows: Order, arrivals: ArrivalSchedule, rng: RngState
) -> tuple[Integers, Floats]:
    """Return labels and probabilities, from the compiled loop where there is one."""
    if isinstance(learner, ERM) and isinstance(learner.hypotheses, LineClass):
        predicted = learner.hypotheses.play(learner.ties, pool, rows, arrivals, rng)
        return predicted, np.full(rows.size, learner.probability)
    predictor = learner.start(rows.size, pool.dimensions, rng)
    predictions = np.zeros(rows.size, np.int64)
    probabilities = np.zeros(rows.size)
    revealed = 0
    for t in range(rows.size):
        while has_arrived(arrivals, revealed, t):
            row = rows[next_round(arrivals, revealed)]
            predictor.learn(pool.features[row], int(pool.labels[row]), float(pool.weights[row]))
            revealed += 1
        with np.errstate(over="ignore"):  # 64-bit rng overflow by design
            predictions[t], probabilities[t] = predictor.predict(pool.features[rows[t]])
    return predictions, probabilities
