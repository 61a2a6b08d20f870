"""Play labels: run a learner of labels over a whole order, and return what happened."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tombola.classes.erm import ERM
from tombola.classes.labelled_pool import LabelledPool
from tombola.classes.learner import LabelLearner, comparator
from tombola.classes.line import LineHypotheses
from tombola.classes.loop import Arrivals
from tombola.delay import DelayLike, delays
from tombola.order import Model, OrderLike, model_of, rows_in
from tombola.streams import Streams
from tombola.types import Coins, Floats, Order, Rounds, Seed


@dataclass(frozen=True, eq=False)
class LabelTrace:
    """What happened in one play of labels, round by round; the comparator is the best hypothesis on the whole pool."""

    learner: LabelLearner
    model: Model
    order: Order
    predictions: Rounds
    labels: Rounds
    losses: Floats
    comparator_losses: Floats

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.predictions.size)

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions."""
        return int(np.count_nonzero(self.predictions != self.labels))

    @property
    def loss(self) -> float:
        """The weight of the wrong predictions."""
        return float(self.losses.sum())

    @property
    def regret(self) -> float:
        """The loss, minus that of the best hypothesis of the class on the whole pool."""
        return self.loss - float(self.comparator_losses.sum())

    @cached_property
    def curve(self) -> Floats:
        """The regret after every round."""
        return np.cumsum(self.losses - self.comparator_losses)

    def __repr__(self) -> str:
        return (
            f"LabelTrace({self.learner!r}, {self.model} order, {self.horizon} rounds, {self.mistakes} mistakes, "
            f"regret {self.regret:.6g})"
        )


def play_labels(
    learner: LabelLearner, pool: LabelledPool, order: OrderLike = "random", delay: DelayLike = 0, *, seed: Seed
) -> LabelTrace:
    """Let `learner` predict the label of every row of `pool` in this order; true labels come after the delay.

    >>> from tombola.classes import ERM, Intervals
    >>> pool = LabelledPool([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 0, 1])
    >>> play_labels(ERM(Intervals()), pool, seed=1).comparator_losses.sum()
    np.float64(1.0)
    """
    hypotheses = comparator(learner)
    hypotheses.check(pool.dimensions)
    streams = Streams(seed)
    rows = rows_in(order, pool.rows, streams.order())
    predictions = _predictions(learner, pool, rows, delays(delay, rows.size), streams.learner(learner))
    wrong = (predictions != pool.labels[rows]) * pool.weights[rows]
    best = (hypotheses.best(pool) != pool.labels) * pool.weights
    return LabelTrace(
        learner=learner,
        model=model_of(order),
        order=rows,
        predictions=predictions,
        labels=pool.labels[rows],
        losses=wrong,
        comparator_losses=best[rows],
    )


def _predictions(learner: LabelLearner, pool: LabelledPool, rows: Order, delay: int | Rounds, coins: Coins) -> Rounds:
    """Predict in the compiled loop where there is one, else one round at a time."""
    if isinstance(learner, ERM) and isinstance(learner.hypotheses, LineHypotheses):
        return learner.hypotheses.play(learner.ties, pool, rows, _arrivals(delay), coins)
    predictor = learner.start(rows.size, pool.dimensions, coins)
    times = np.arange(rows.size) + delay + 1
    coming = np.argsort(times, kind="stable")
    predictions, revealed = np.zeros(rows.size, np.int64), 0
    for t in range(rows.size):
        while revealed < rows.size and times[coming[revealed]] <= t:
            row = rows[coming[revealed]]
            predictor.learn(pool.features[row], int(pool.labels[row]), float(pool.weights[row]))
            revealed += 1
        predictions[t] = predictor.predict(pool.features[rows[t]])[0]
    return predictions


def _arrivals(delay: int | Rounds) -> Arrivals:
    if isinstance(delay, int):
        return Arrivals(delay, np.zeros(0, np.int64), np.zeros(0, np.int64))
    times = np.arange(delay.size) + delay + 1
    rounds = np.argsort(times, kind="stable")
    return Arrivals(-1, rounds, times[rounds])
