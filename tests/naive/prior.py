"""Naive empirical-Bayes prior over mean losses: the formulas of docs/theory/frugal.md with numpy, from all losses."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Beliefs(NamedTuple):
    """Centre and spread of the means, actions tried, posterior mean, variance and noise by action, and noise ratio."""

    centre: float
    spread: float
    tried: int
    guess: Any
    doubt: Any
    noise: Any
    share: float


def beliefs(
    losses: Sequence[Sequence[float]],
    first: float = 1 / 3,
    least: float = 1 / 3,
    sided: float = math.inf,
    power: float = 0.0,
) -> Beliefs:
    """Estimate the prior from the losses of every action, and the posterior of every action.

    `first`, times the noise ratio to this `power`, is the first spread, and `least` the least
    variance of the prior of an action tried, both over c0 (1 - c0). With `sided` actions tried or
    more, the spread of the others is that of the actions below the centre.
    """
    k, tried = len(losses), [a for a, seen in enumerate(losses) if seen]
    n = np.array([len(losses[a]) for a in tried], dtype=float)
    m = np.array([math.fsum(losses[a]) / len(losses[a]) for a in tried])
    centre = (m.sum() + 0.5) / (len(tried) + 1)
    within = math.fsum((x - mean) ** 2 for a, mean in zip(tried, m, strict=True) for x in losses[a])
    share = min(1.0, (within + 1) / (float((n * m * (1 - m)).sum()) + 1))
    damped = np.full(k, centre)
    damped[tried] = (n * m + 2 * centre) / (n + 2)
    between = (2 * min(damped[tried], default=centre) + damped) / 3
    noise = share * between * (1 - between)
    error = noise[tried] / n
    widest = spread = first * share**power * centre * (1 - centre)
    prior_variance = least * centre * (1 - centre)
    for _ in range(3 if tried else 0):
        w = 1 / (spread + error)
        scatter = float((w * (m - np.average(m, weights=w)) ** 2).sum())
        surplus = max(0.0, scatter - float((w * error).sum() - (w**2 * error).sum() / w.sum()))
        spread = (surplus + 0.05 * w.mean() * widest) / (
            w.sum() - (w**2).sum() / w.sum() + 0.05 * w.mean()
        )
        spread = max(1e-8, float(spread))
        vague = 1 / (spread + 1 / 12)
        centre = float(((w * m).sum() + vague / 2) / (w.sum() + vague))
    kept = max(prior_variance, spread) / (max(prior_variance, spread) + error)
    if len(tried) >= sided and (m < centre).any():
        w, off = 1 / (spread + error), m < centre
        own = 1 / (spread + error.mean())
        surplus = max(0.0, float((w * ((m - centre) ** 2 - error))[off].sum()))
        spread = min(spread, max(1e-8, float((surplus + own * widest) / (w[off].sum() + own))))
    guess, doubt = np.full(k, centre), np.full(k, spread)
    guess[tried], doubt[tried] = centre + kept * (m - centre), kept * error
    return Beliefs(centre, spread, len(tried), guess, doubt, noise, share)


def beta_beliefs(losses: Sequence[Sequence[float]], least: float) -> Beliefs:
    """Return the posterior of a beta prior with the centre and the spread of `beliefs`, straight from all losses."""
    found = beliefs(losses)
    means = [math.fsum(seen) / len(seen) if seen else found.centre for seen in losses]
    within = math.fsum(
        (x - mean) ** 2 for seen, mean in zip(losses, means, strict=True) for x in seen
    )
    coins = math.fsum(
        len(seen) * mean * (1 - mean) for seen, mean in zip(losses, means, strict=True)
    )
    share, coin = min(1.0, (within + 1) / (coins + 1)), found.centre * (1 - found.centre)
    plays = share * min(1 / least, coin / found.spread)
    guess = [(plays * found.centre + math.fsum(seen)) / (plays + len(seen)) for seen in losses]
    noise = [share * mean * (1 - mean) for mean in guess]
    doubt = [
        x / (plays + len(seen)) if seen else found.spread
        for x, seen in zip(noise, losses, strict=True)
    ]
    return found._replace(guess=guess, doubt=doubt, noise=noise)
