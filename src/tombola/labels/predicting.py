"""Predict a whole order: every label in turn, compiled where there is a loop for it."""

from typing import Any

import numpy as np

from tombola.engine.loop import COMPARATOR, EXPECTED, LOSS, Tally, new_tally
from tombola.engine.queue import Queue, arrived, round_of
from tombola.errors import LearnerError
from tombola.hypotheses.labelled_pool import LabelledPool
from tombola.hypotheses.line import LineHypotheses
from tombola.labels.erm import ERM
from tombola.labels.learner import LabelLearner, comparator
from tombola.types import Coins, Floats, Order, Rounds


def predict_all(
    learner: Any, pool: LabelledPool, rows: Order, queue: Queue, coins: Coins, marks: Rounds, *, kept: bool
) -> Tally:
    """Predict the label of every row of an order; true labels come when the queue says. Return what happened."""
    if not isinstance(learner, LabelLearner):
        raise LearnerError(
            f"play: expected a learner of labels for a LabelledPool, got {learner!r}; write for example "
            "ERM(Thresholds())."
        )
    comparator(learner).check(pool.dimensions)
    predictions, chances = _predictions(learner, pool, rows, queue, coins)
    losses = (predictions != pool.labels[rows]) * pool.weights[rows]
    tally = new_tally(2, rows.size, marks, resources=0, kept=kept, expects=False)
    sums = np.zeros((rows.size, tally.sums.size))
    sums[:, LOSS] = sums[:, EXPECTED] = np.cumsum(losses)
    sums[:, COMPARATOR] = np.cumsum(best_losses(learner, pool, rows)) if marks.size else 0.0
    tally.sums[:], tally.curve[:] = sums[-1], sums[marks - 1]
    tally.plays[:] = np.bincount(predictions, minlength=2)
    tally.shares[:, 1] = np.cumsum(predictions)[marks - 1]
    tally.shares[:, 0] = marks - tally.shares[:, 1]
    return tally._replace(actions=predictions, chances=chances, losses=losses, expected=losses) if kept else tally


def best_losses(learner: LabelLearner, pool: LabelledPool, rows: Order) -> Floats:
    """Return the loss of the best hypothesis on the whole pool, in every round."""
    best: Floats = (comparator(learner).best(pool) != pool.labels) * pool.weights
    return best[rows]


def _predictions(
    learner: LabelLearner, pool: LabelledPool, rows: Order, queue: Queue, coins: Coins
) -> tuple[Rounds, Floats]:
    """Predict, with the chances, in the compiled loop where there is one, else one round at a time."""
    if isinstance(learner, ERM) and isinstance(learner.hypotheses, LineHypotheses):
        predicted = learner.hypotheses.play(learner.ties, pool, rows, queue, coins)
        return predicted, np.full(rows.size, learner.chance)
    predictor = learner.start(rows.size, pool.dimensions, coins)
    predictions, chances, revealed = np.zeros(rows.size, np.int64), np.zeros(rows.size), 0
    for t in range(rows.size):
        while arrived(queue, revealed, t):
            row = rows[round_of(queue, revealed)]
            predictor.learn(pool.features[row], int(pool.labels[row]), float(pool.weights[row]))
            revealed += 1
        with np.errstate(over="ignore"):  # 64-bit coins overflow by design
            predictions[t], chances[t] = predictor.predict(pool.features[rows[t]])
    return predictions, chances
