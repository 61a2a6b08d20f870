"""Empirical-Bayes prior over the means of all actions, from the actions tried.

The mean losses of the actions count as draws from one distribution; its centre and spread are estimated from those
tried (Robbins 1956), the spread by moments as in DerSimonian and Laird 1986. A loss is as noisy as a coin of the same
mean, times the share of that noise seen in all losses so far. The mean is taken a third of the way from the lowest of
the actions tried to the action's own: there the second-order form of kl(own, lowest) is closest to it.
"""

from typing import Any

from tombola.learners.bandit.counts import update_mean

CENTRE, SPREAD, TRIED = 0, 1, 2
PASSES = 3
WEIGHT = 0.05
UNIFORM = 1.0 / 3.0  # variance of a uniform mean over that of a coin: 1/12 against 1/4
LEAST = 1e-8


def notice(state: Any, action: int, loss: float) -> None:
    """Take in one loss of an action."""
    off = loss - state.means[action]
    update_mean(state.seen, state.means, action, loss)
    state.within[0] += off * (loss - state.means[action])


def believe(state: Any, first: float, tried: float) -> None:
    """Estimate the prior, and the posterior mean and variance of every action.

    Before differences are seen the spread is `first` times the variance c (1 - c) of a coin. An action that was tried
    has a prior of at least `tried` times that variance: shrinking it by the spread of the others would hide the one
    that is unlike them.
    """
    estimate_noises(state)
    prior = state.prior
    coin = prior[CENTRE] * (1.0 - prior[CENTRE])
    prior[SPREAD] = first * coin
    if prior[TRIED] > 0.0:
        for _ in range(PASSES):
            estimate_spread(state, first * coin)
    wide = max(tried * coin, prior[SPREAD])
    for action in range(state.seen.size):
        state.posterior_mean[action], state.posterior_var[action] = prior[CENTRE], prior[SPREAD]
        if state.seen[action] > 0.0:
            kept = wide / (wide + state.errors[action])
            state.posterior_mean[action] += kept * (state.means[action] - prior[CENTRE])
            state.posterior_var[action] = kept * state.errors[action]


def estimate_noises(state: Any) -> None:
    """Estimate the first centre, and the variances of losses and of means."""
    tried, total, possible = 0.0, 0.5, 1.0
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
            lowest = min(lowest, damped(state, action, centre))
    for action in range(state.seen.size):
        mean = (2.0 * lowest + damped(state, action, centre)) / 3.0
        state.noise_var[action] = share * mean * (1.0 - mean)
        state.errors[action] = state.noise_var[action] / max(1.0, state.seen[action])
    state.prior[CENTRE], state.prior[TRIED] = centre, tried


def damped(state: Any, action: int, centre: float) -> float:
    """Return the mean with two pseudo-losses at the centre, never 0 or 1."""
    seen = state.seen[action]
    return float((seen * state.means[action] + 2.0 * centre) / (seen + 2.0))


def estimate_spread(state: Any, widest: float) -> None:
    """Estimate spread and centre by moments, weighted by the last spread.

    `widest` counts as WEIGHT of an action.
    """
    spread, tried = state.prior[SPREAD], state.prior[TRIED]
    weights, squares, noise, own, total = 0.0, 0.0, 0.0, 0.0, 0.0
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
    extra = WEIGHT * weights / tried
    spread = max(LEAST, (surplus + extra * widest) / (weights - squares / weights + extra))
    vague = 1.0 / (spread + 1.0 / 12.0)
    state.prior[SPREAD] = spread
    state.prior[CENTRE] = (total + 0.5 * vague) / (weights + vague)
