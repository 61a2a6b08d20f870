"""Training on i.i.d. draws from past rows; only play counts are returned."""

from typing import Any

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.arrivals import from_delays
from tombola.engine.compiler import compile_loop
from tombola.engine.loop import ROUND, RowStream, new_accumulators
from tombola.engine.runner import Runner
from tombola.feedback import FeedbackModel
from tombola.rng import iid_indices

# Draws per compiled call. A constant bounds the memory for the row indices (64 KB), and is large enough that the time
# of the call itself does not count.
_CHUNK = 1 << 14


def train(
    base: Any, feedback_model: FeedbackModel, losses: Floats, rng: RngState, costs: Floats | None = None
) -> Floats:
    """Return the play counts of `base` on i.i.d. draws from past rows, shape (k,).

    base: learner to train; it starts from its first state.
    feedback_model: of the base; its horizon is the number of draws.
    losses: past rows, shape (n, k).
    rng: random generator of draws and learner.
    costs: shape (n, k m), or None without a budget.
    """
    rounds = feedback_model.horizon
    past, prices = (_read_only(part) for part in (losses, np.zeros((0, 0)) if costs is None else costs))
    runner = Runner(base, feedback_model, rng)
    resources = prices.shape[1] // feedback_model.actions
    accumulators = new_accumulators(
        feedback_model.actions, 0, np.zeros(0, np.int64), resources=resources, per_round=False, expects=False
    )
    order = np.zeros(min(rounds, _CHUNK), np.uint32)
    draw_rows = compile_loop(iid_indices, (order, past.shape[0], rng))
    for begun in range(0, rounds, _CHUNK):
        chunk = order[: rounds - begun]
        draw_rows(chunk, past.shape[0], rng)
        accumulators.cursor[ROUND] = 0
        runner.play(RowStream(past, prices, np.arange(feedback_model.actions), chunk, 0), from_delays(0), accumulators)
    return accumulators.plays


def _read_only(array: Floats) -> Floats:
    """Return a read-only view, which has the same compiled type as a pool's arrays."""
    view = array.view()
    view.flags.writeable = False
    return view
