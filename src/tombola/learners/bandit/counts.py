"""Kernels on counts, means and sums of losses that several learners share."""

import math
from typing import Any

from tombola._types import Floats, RngState
from tombola.learners.base import Kernel

# Absolute error of `kl_lower_bound`.
_TOLERANCE = 1e-12
# Largest number of Newton steps of `kl_lower_bound`; far above the steps that occur.
_MAX_NEWTON_STEPS = 100


def update_mean(seen: Floats, means: Floats, action: int, loss: float) -> None:
    """Count one more loss of an action in `seen`, and update its mean in `means`; a kernel."""
    seen[action] += 1.0
    means[action] += (loss - means[action]) / seen[action]


def observe_mean(state: Any, action: int, probability: float, loss: float) -> None:
    """Add a loss to count and mean of its action; a kernel."""
    update_mean(state.seen, state.means, action, loss)


def least_tried_action(seen: Floats, chosen: Floats) -> int:
    """Return the least chosen action without feedback; -1 if all have feedback.

    A kernel. Without delay it tries every action once, in turn; with delay it goes round in turn
    until feedback comes.
    """
    best = -1
    for action in range(seen.size):
        if seen[action] == 0.0 and (best < 0 or chosen[action] < chosen[best]):
            best = action
    return best


def argmin(values: Floats) -> int:
    """Return the index of the smallest value, the lowest among equals; a kernel."""
    best = 0
    for action in range(1, values.size):
        if values[action] < values[best]:
            best = action
    return best


def kl_lower_bound(mean: float, divergence: float) -> float:
    """Return the smallest q with kl(mean, q) <= divergence, to 1e-12; a kernel.

    kl is the relative entropy of two Bernoulli distributions, in nats. q is in [0, mean].

    Newton's method for u = ln q. kl is convex in u, and both starting points are left of the root
    (Pinsker's inequality; leaving out the term -(1 - mean) ln(1 - q) >= 0 of kl), so u climbs to
    the root and never passes it.
    """
    if mean <= _TOLERANCE or divergence <= 0.0:
        return mean if divergence <= 0.0 else 0.0
    if mean >= 1.0:
        return math.exp(-divergence)
    fixed = mean * math.log(mean) + (1.0 - mean) * math.log(1.0 - mean) - divergence
    u = fixed / mean
    pinsker = mean - math.sqrt(0.5 * divergence)
    if pinsker > 0.0:
        u = max(u, math.log(pinsker))
    for _ in range(_MAX_NEWTON_STEPS):
        q = math.exp(u)
        if q >= mean:
            break
        step = (fixed - mean * u - (1.0 - mean) * math.log(1.0 - q)) * (1.0 - q) / (mean - q)
        if step <= _TOLERANCE:
            break
        u += step
    return min(mean, math.exp(u))


def drop_inferior(left: Floats, active: Floats, seen: Floats, means: Floats, radii: Floats) -> None:
    """Drop active actions with mean - radius > min (mean + radius), in place.

    A kernel. The first `left[0]` entries of `active` are the active actions. The minimum is over
    those with feedback; actions without feedback are kept.
    """
    ceiling = math.inf
    for place in range(int(left[0])):
        action = int(active[place])
        if seen[action] > 0.0:
            ceiling = min(ceiling, means[action] + radii[action])
    n_kept = 0
    for place in range(int(left[0])):
        action = int(active[place])
        if seen[action] == 0.0 or means[action] - radii[action] <= ceiling:
            active[n_kept] = action
            n_kept += 1
    left[0] = n_kept


def make_block_act(most_promising: Kernel, next_block: Kernel) -> Kernel:
    """Return the kernel `act` of a learner that plays one action for a whole block.

    While an action has no feedback, such an action is played for one round. Then
    `most_promising(state)` returns the action of the next block, and `next_block(state, action)`
    its number of rounds. The state has the fields `current` and `left`, action and rounds left of
    the block, shape (1,), and the counts `chosen` and `seen`, plays and observed losses of each
    action.
    """

    def act(state: Any, rng: RngState) -> tuple[int, float]:
        """Return the action of the current block, and probability 1; a kernel."""
        if state.left[0] == 0.0:
            action = least_tried_action(state.seen, state.chosen)
            state.left[0] = 1.0
            if action < 0:
                action = most_promising(state)
                state.left[0] = next_block(state, action)
            state.current[0] = action
        action = int(state.current[0])
        state.left[0] -= 1.0
        state.chosen[action] += 1.0
        return action, 1.0

    return act
