"""Empirical-Bayes prior over the means of all actions, from the actions tried.

The mean losses of the actions count as draws from one distribution; its centre and spread are
estimated from those tried (Robbins 1956), the spread by moments as in DerSimonian and Laird 1986. A
loss is as noisy as a coin of the same mean, times the share of that noise seen in all losses so
far. The mean is taken a third of the way from the lowest of the actions tried to the action's own:
there the second-order form of kl(own, lowest) is closest to it.
"""

import math
from typing import Any

from tombola.learners.bandit.counts import update_mean

# Positions in `state.prior`: estimated mean and variance of the mean losses of all actions; number
# of actions tried.
CENTRE, SPREAD, TRIED = range(3)
# Iterations of `_estimate_spread`, in which each spread weights the next one.
_PASSES = 3
# Weight of the widest spread in the estimate, in actions. It keeps the spread from collapsing while
# few actions are tried.
_WEIGHT = 0.05
# Prior variance of a mean of which nothing is known, over that of a fair coin: 1/12 (uniform on [0,
# 1]) over 1/4.
UNIFORM_VARIANCE = 1.0 / 3.0
# Smallest spread, so that no weight is infinite.
_LEAST = 1e-8


def add_loss(state: Any, action: int, loss: float) -> None:
    """Add one loss of an action to its count and mean, in `seen` and `means`; a kernel.

    `within` is the sum of squared deviations of all losses from the means of their actions.
    """
    off = loss - state.means[action]
    update_mean(state.seen, state.means, action, loss)
    state.within[0] += off * (loss - state.means[action])


def update_posterior(
    state: Any,
    initial_spread: float,
    noise_exponent: float,
    least_spread: float,
    one_sided_from: float,
) -> float:
    """Estimate prior and posterior of every action; return the noise ratio.

    A kernel. The noise ratio is the noise of all losses relative to that of coins, at most 1.

    It writes the estimates into `state`: `prior` (shape (3,): mean and variance of the mean losses
    of all actions, at CENTRE and SPREAD, and the number of actions with feedback, at TRIED), and
    for each action `noise_var` (variance of one loss), `errors` (variance of the observed mean),
    `posterior_mean` and `posterior_var`. The two spreads below are multiples of c (1 - c), the
    variance of a coin with the centre c as its mean.

    state: with these fields, and `seen`, `means` and `within` as for `add_loss`; changed in place.
    initial_spread: variance of the mean losses before any difference between actions is observed.
    noise_exponent: power of the noise ratio by which the initial spread is multiplied; 0 for none.
    least_spread: smallest prior variance of an action with feedback. A smaller one would shrink an
        action that is unlike the others too close to them.
    one_sided_from: number of actions with feedback from which on the prior variance of an action
        without feedback is estimated only from the actions better than the centre; infinite for
        never.
    """
    share = _estimate_noises(state)
    prior = state.prior
    coin = prior[CENTRE] * (1.0 - prior[CENTRE])
    widest = initial_spread * math.pow(share, noise_exponent) * coin
    prior[SPREAD] = widest
    if prior[TRIED] > 0.0:
        for _ in range(_PASSES):
            _estimate_spread(state, widest)
    wide = max(least_spread * coin, prior[SPREAD])
    if prior[TRIED] >= one_sided_from:
        _narrow_spread(state, widest)
    for action in range(state.seen.size):
        state.posterior_mean[action] = prior[CENTRE]
        state.posterior_var[action] = prior[SPREAD]
        if state.seen[action] > 0.0:
            weight = wide / (wide + state.errors[action])
            state.posterior_mean[action] += weight * (state.means[action] - prior[CENTRE])
            state.posterior_var[action] = weight * state.errors[action]
    return share


def _estimate_noises(state: Any) -> float:
    """Estimate the first centre, and the variances of losses and of means; a kernel.

    They are written into `prior`, `noise_var` (of one loss of each action) and `errors` (of its
    mean). The noise ratio is returned.
    """
    tried = 0.0
    total = 0.5
    possible = 1.0
    for action in range(state.seen.size):
        if state.seen[action] > 0.0:
            tried += 1.0
            total += state.means[action]
            possible += state.seen[action] * state.means[action] * (1.0 - state.means[action])
    centre = total / (tried + 1.0)
    share = min(1.0, (state.within[0] + 1.0) / possible)
    lowest = centre if tried == 0.0 else 1.0
    for action in range(state.seen.size):
        if state.seen[action] > 0.0:
            lowest = min(lowest, _damped_mean(state, action, centre))
    for action in range(state.seen.size):
        mean = (2.0 * lowest + _damped_mean(state, action, centre)) / 3.0
        state.noise_var[action] = share * mean * (1.0 - mean)
        state.errors[action] = state.noise_var[action] / max(1.0, state.seen[action])
    state.prior[CENTRE] = centre
    state.prior[TRIED] = tried
    return float(share)


def _damped_mean(state: Any, action: int, centre: float) -> float:
    """Return the mean with two pseudo-losses at the centre, so never 0 or 1; a kernel."""
    seen = state.seen[action]
    return float((seen * state.means[action] + 2.0 * centre) / (seen + 2.0))


def _estimate_spread(state: Any, widest: float) -> None:
    """Estimate spread and centre by moments, weighted by the last spread; a kernel.

    Both are written into `prior`. At least one action must have answers. `widest` counts as
    `_WEIGHT` of an action.
    """
    spread = state.prior[SPREAD]
    tried = state.prior[TRIED]
    weights = 0.0
    squares = 0.0
    noise = 0.0
    own = 0.0
    total = 0.0
    for action in range(state.seen.size):
        if state.seen[action] > 0.0:
            weight = 1.0 / (spread + state.errors[action])
            weights += weight
            squares += weight * weight
            noise += weight * state.errors[action]
            own += weight * weight * state.errors[action]
            total += weight * state.means[action]
    scatter = 0.0
    for action in range(state.seen.size):
        if state.seen[action] > 0.0:
            off = state.means[action] - total / weights
            scatter += off * off / (spread + state.errors[action])
    surplus = max(0.0, scatter - noise + own / weights)
    extra = _WEIGHT * weights / tried
    spread = max(_LEAST, (surplus + extra * widest) / (weights - squares / weights + extra))
    vague = 1.0 / (spread + 1.0 / 12.0)
    state.prior[SPREAD] = spread
    state.prior[CENTRE] = (total + 0.5 * vague) / (weights + vague)


def _narrow_spread(state: Any, widest: float) -> None:
    """Lower the spread to that of the actions better than the centre; a kernel.

    A few bad actions say nothing about how good a new one may be. `widest` counts as one action
    with the mean error.
    """
    spread = state.prior[SPREAD]
    tried = state.prior[TRIED]
    weights = 0.0
    surplus = 0.0
    errors = 0.0
    for action in range(state.seen.size):
        if state.seen[action] > 0.0:
            errors += state.errors[action]
            off = state.means[action] - state.prior[CENTRE]
            if off < 0.0:
                weight = 1.0 / (spread + state.errors[action])
                weights += weight
                surplus += weight * (off * off - state.errors[action])
    if weights > 0.0:
        own = 1.0 / (spread + errors / tried)
        state.prior[SPREAD] = min(
            spread, max(_LEAST, (max(0.0, surplus) + own * widest) / (weights + own))
        )
