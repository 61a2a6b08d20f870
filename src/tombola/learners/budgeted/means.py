"""What the learners share that go by empirical means: the sums of the rows seen."""

from typing import Any

from tombola.types import Floats


def add_row(seen: Floats, losses_sum: Floats, costs_sum: Floats, losses: Floats, costs: Floats) -> None:
    """Add a row to the sums."""
    seen[0] += 1.0
    for action in range(losses.size):
        losses_sum[action] += losses[action]
        for j in range(costs.shape[1]):
            costs_sum[action, j] += costs[action, j]


def means_of(state: Any) -> tuple[Floats, Floats]:
    """Return the mean rewards and the mean costs of the rows seen."""
    seen = float(state.seen[0])
    return 1.0 - state.losses / seen, state.costs / seen
