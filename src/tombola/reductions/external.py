"""External: an object of another library as the base of Simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola.engine.coins import below, draw
from tombola.errors import LearnerError
from tombola.types import Coins, Floats


@dataclass(frozen=True)
class External:
    """A full-information learner that lives in plain Python objects.

    `make(actions, rounds)` gives a fresh object for each training; `predict(object)` its action, or its mix;
    `update(object, losses)` shows it a row. By default these are the object's own methods of that name.

    >>> from tombola import Simulation
    >>> class Counter:
    ...     def __init__(self, actions): self.totals = [0.0] * actions
    ...     def predict(self): return self.totals.index(min(self.totals))
    ...     def update(self, losses): self.totals = [a + b for a, b in zip(self.totals, losses)]
    >>> learner = Simulation(External(lambda actions, rounds: Counter(actions)))
    """

    make: Callable[[int, int], Any]
    predict: Callable[[Any], Any] = lambda subject: subject.predict()
    update: Callable[[Any, Floats], Any] = lambda subject, losses: subject.update(losses)

    def train(self, past: Floats, rounds: int, coins: Coins) -> Floats:
        """Return how often the object plays each action in independent uniform draws from the rows of `past`."""
        rows, actions = past.shape
        subject = self.make(actions, rounds)
        plays = np.zeros(actions)
        for _ in range(rounds):
            row = below(coins, rows)
            plays[self._action(self.predict(subject), actions, coins)] += 1
            self.update(subject, past[row].copy())
        return plays

    def _action(self, answer: Any, actions: int, coins: Coins) -> int:
        if np.ndim(answer) == 1 and np.size(answer) == actions:
            mix = np.asarray(answer, dtype=np.float64)
            if (mix >= 0).all() and abs(float(mix.sum()) - 1) < 1e-6:
                return draw(mix, coins)
        elif np.ndim(answer) == 0 and int(answer) == answer and 0 <= int(answer) < actions:
            return int(answer)
        raise LearnerError(
            f"External: predict must give an action in 0..{actions - 1}, or a mix of {actions} chances that sum to 1, "
            f"got {answer!r}; write External(make, predict=lambda subject: ...)."
        )
