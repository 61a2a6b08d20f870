"""Bets: the wealth of one gambler against one statement about the difference of two candidates (docs/theory/race.md).

The statement is "the mean of d over the list is at most `shift`", d = loss of one candidate - loss of its opponent.
With `lead` the sum of the n rows seen, the rows left have a mean of at most m = (N shift - lead) / (N - n) if it is
true, so 1 + bet (d - m) has a mean of at most 1 for every bet in [0, 1 / (1 + m)] that is chosen from the past. A
wealth is an average of products of such factors; it reaches 1 / level with probability at most `level` if it is true.

Which bets are made decides only how soon that happens if it is false. A gambler has four purses, its row of `wealth`.
Two bet on the edge that they believe in, with the odds of Kelly: one starts from the belief of a cautious newcomer, one
from that of somebody who knows how long the list is. Two always bet the same. All are in the scale of the rows left.
"""

import math
from typing import Any

import numpy as np

from tombola.engine.intrinsics import no_inline

STAKE = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])  # what a gambler starts with, by tracker
NEWCOMER = 20.0  # the rows that the first belief counts for
SHARE = 0.03  # of the list: what the second belief counts for
STEADY = (0.8, 0.3)  # the bets of the other two
SAFE = 0.95  # of the wealth that one bet may lose
SLACK = 1e-9  # of the list: what rounding may add to a sum of losses


@no_inline
def gamble(state: Any, who: int, lead: float, d: float, shift: float) -> float:
    """Let a gambler bet on the difference in the next row, and return the wealth it has then."""
    n, population, wealth = state.seen[0], state.population, state.wealth[who]
    gain = 1.0 if population == math.inf else population / (population - n)
    m = shift if population == math.inf else (population * shift - lead) / (population - n)
    if m < 1.0:
        cap = SAFE / (1.0 + m) if m > -1.0 else math.inf
        variance = (0.5 + state.squares[who]) / (state.bets[who] + 2.0)
        excess = gain * (lead - n * shift)
        first = gain * belief(excess, gain * n + NEWCOMER, variance)
        second = gain * belief(excess, gain * n + SHARE * state.rows, variance)
        wealth[0] *= 1.0 + min(kelly(first, variance), cap) * (d - m)
        wealth[1] *= 1.0 + min(kelly(second, variance), cap) * (d - m)
        wealth[2] *= 1.0 + min(gain * STEADY[0], cap) * (d - m)
        wealth[3] *= 1.0 + min(gain * STEADY[1], cap) * (d - m)
        off = d - lead / (n + 10.0)
        state.squares[who] += off * off
        state.bets[who] += 1.0
    return total(wealth)


def belief(excess: float, count: float, variance: float) -> float:
    """Return the edge to believe in: about the mean of a normal law, excess / count with variance / count, above 0.

    Exact at 0, and in the limit of large edges; what it is precisely has no bearing on the guarantee.
    """
    mean = excess / count
    return 0.5 * (mean + math.sqrt(mean * mean + 2.55 * variance / count))


def kelly(edge: float, variance: float) -> float:
    """Return the bet that makes wealth grow fastest, to second order."""
    return edge / (variance + edge * edge)


def total(wealth: Any) -> float:
    """Return the wealth of a gambler: what is in all its purses."""
    amount = 0.0
    for j in range(wealth.size):
        amount += wealth[j]
    return amount


def certain(lead: float, shift: float, population: float, seen: float) -> bool:
    """Tell whether the statement is false whatever the rows left say: even -1 in each would not do."""
    if population == math.inf:
        return False
    return bool(lead - population * shift > population - seen + SLACK * population)
