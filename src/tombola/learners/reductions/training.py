"""Training on i.i.d. draws from past rows, of a learner or of any Python object."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.arrivals import from_delays
from tombola.engine.compiler import compile_loop
from tombola.engine.loop import ROUND, RowStream, new_accumulators
from tombola.engine.runner import Runner
from tombola.errors import LearnerError
from tombola.feedback import FeedbackModel
from tombola.rng import choice, iid_indices, integers

# Draws per compiled call. A constant bounds the memory for the row indices (64 KB), and is large
# enough that the time of the call itself does not count.
_CHUNK = 1 << 14


def train(
    base: Any,
    feedback_model: FeedbackModel,
    losses: Floats,
    rng: RngState,
    costs: Floats | None = None,
) -> Floats:
    """Return the play counts of `base` on i.i.d. draws from past rows, shape (k,).

    In each round one row is drawn, the base plays, and gets its feedback at once. Under a budget
    with `mixed` play, counts are sums of probabilities.

    feedback_model: of the base; its horizon is the number of draws.
    losses, costs: of the past rows, shapes (n, k) and (n, k m) for m resources; None without a
        budget.
    """
    rounds = feedback_model.horizon
    past, prices = (
        _read_only(part) for part in (losses, np.zeros((0, 0)) if costs is None else costs)
    )
    runner = Runner(base, feedback_model, rng)
    resources = prices.shape[1] // feedback_model.actions
    accumulators = new_accumulators(
        feedback_model.actions,
        0,
        np.zeros(0, np.int64),
        resources=resources,
        per_round=False,
        expects=False,
    )
    order = np.zeros(min(rounds, _CHUNK), np.uint32)
    draw_rows = compile_loop(iid_indices, (order, past.shape[0], rng))
    for begun in range(0, rounds, _CHUNK):
        chunk = order[: rounds - begun]
        draw_rows(chunk, past.shape[0], rng)
        accumulators.cursor[ROUND] = 0
        runner.play(
            RowStream(past, prices, np.arange(feedback_model.actions), chunk, 0),
            from_delays(0),
            accumulators,
        )
    return accumulators.plays


def _read_only(array: Floats) -> Floats:
    """Return a read-only view, which has the same compiled type as a pool's arrays."""
    view = array.view()
    view.flags.writeable = False
    return view


def _call_predict(subject: Any) -> Any:
    """Return `subject.predict()`; the default of the parameter `predict`."""
    return subject.predict()


def _call_update(subject: Any, losses: Floats) -> Any:
    """Call `subject.update(losses)`; the default of the parameter `update`."""
    return subject.update(losses)


@dataclass(frozen=True)
class PythonLearner:
    """Wrap plain Python objects as the base learner of `Simulation`.

    They learn with full information: in each round of a training, `predict` is called, then
    `update`.

    make: `make(actions, rounds)` returns a new object for each training, given the number of
        actions and of rounds.
    predict: `predict(object)` returns its action, from 0, or its mix, the probability of each
        action; by default `object.predict()`. Anything else raises LearnerError in the training.
    update: `update(object, losses)` passes it the losses of all actions, shape (actions,); by
        default `object.update(losses)`. Its result is ignored.

    >>> from tombola import Simulation
    >>> class Counter:
    ...     def __init__(self, actions): self.totals = [0.0] * actions
    ...     def predict(self): return self.totals.index(min(self.totals))
    ...     def update(self, losses): self.totals = [a + b for a, b in zip(self.totals, losses)]
    >>> learner = Simulation(PythonLearner(lambda actions, rounds: Counter(actions)))
    """

    make: Callable[[int, int], Any]
    predict: Callable[[Any], Any] = _call_predict
    update: Callable[[Any, Floats], Any] = _call_update

    def train(self, past: Floats, rounds: int, rng: RngState) -> Floats:
        """Return how often a new object plays each action on draws from past rows.

        Rows of `past`, shape (n, k), are drawn independently; if the object returns a mix, its
        action is drawn. The result has shape (k,) and the sum `rounds`. Raises LearnerError for an
        invalid action or mix.
        """
        rows, actions = past.shape
        subject = self.make(actions, rounds)
        plays = np.zeros(actions)
        for _ in range(rounds):
            row = integers(rng, rows)
            plays[self._action(self.predict(subject), actions, rng)] += 1
            self.update(subject, past[row].copy())
        return plays

    def _action(self, answer: Any, actions: int, rng: RngState) -> int:
        if np.ndim(answer) == 1 and np.size(answer) == actions:
            mix = np.asarray(answer, dtype=np.float64)
            if (mix >= 0).all() and abs(float(mix.sum()) - 1) < 1e-6:
                return choice(mix, rng)
        elif np.ndim(answer) == 0 and int(answer) == answer and 0 <= int(answer) < actions:
            return int(answer)
        raise LearnerError(
            f"PythonLearner: predict must return an action in 0..{actions - 1}, or a mix of "
            f"{actions} probabilities "
            f"that sum to 1, got {answer!r}; write PythonLearner(make, predict=lambda subject: "
            "...)."
        )
