"""Sessions, numbers and models that several tests of classification share."""

from typing import Any

import numpy as np

from tombola import Session, Ticket
from tombola.classification import ERM, LabelledPool
from tombola.classification.classes.base import Ties
from tombola.delay import resolve_delays

TIES: tuple[Ties, ...] = ("first", "last", "middle", "random")
# Signed zeros, denormal, neighbouring and huge numbers.
EXTREME_NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-300,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    1.0 + 2**-52,
    0.1,
    0.1 + 2**-56,
)


class Majority:
    """The smallest model in the style of scikit-learn: the heavier label for all."""

    def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> "Majority":
        weights = np.ones(len(labels)) if sample_weight is None else sample_weight
        self.label = int(weights[labels == 1].sum() > weights[labels == 0].sum())
        return self

    def predict(self, rows: Any) -> Any:
        return np.full(len(rows), self.label)


def arrivals(pool: LabelledPool, delay: Any) -> list[list[int]]:
    """Return the rounds whose labels arrive before each round, with labels as late as the delay says."""
    lags = resolve_delays(delay, pool.rows)
    due = [s + (lags if isinstance(lags, int) else int(lags[s])) + 1 for s in range(pool.rows)]
    return [[s for s in range(pool.rows) if due[s] == t] for t in range(pool.rows)]


def predict_live(learner: ERM, pool: LabelledPool, order: Any, delay: Any, seed: int) -> list[int]:
    """Predict through a session, with labels as late as the delay says."""
    session = Session(learner, horizon=pool.rows, features=pool.dimensions, seed=seed)
    tickets: list[Ticket] = []
    for t, arrived in enumerate(arrivals(pool, delay)):
        for s in arrived:
            session.observe(tickets[s], label=pool.labels[order[s]], weight=pool.weights[order[s]])
        tickets.append(session.act(pool.features[order[t]]))
    return [ticket.action for ticket in tickets]
