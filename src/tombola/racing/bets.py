"""Bets: the wealth of one gambler against one statement about the difference of two candidates (docs/theory/race.md).

The statement is "the mean of d over the list is at most `shift`", d = loss of one candidate - loss of its opponent.
With `lead` the sum of the rows seen, the rows left have a mean of at most m = (N shift - lead) / left if it is true, so
1 + bet (d - m) has a mean of at most 1 for every bet in [0, 1 / (1 + m)] that is chosen from the past. A wealth is
an average of products of such factors; it reaches 1 / level with probability at most `level` if the statement is true.

A gambler is a row of `wealth`: six that always bet the same, in the scale of the rows that are left, and one that bets
what the rows seen so far make look best.
"""

import math
from typing import Any

import numpy as np

FIXED = 6
STAKE = np.array([0.5 / FIXED] * FIXED + [0.5])  # what a gambler starts with, in parts
SAFE = 0.95  # of the wealth that one bet may lose
SLACK = 1e-9  # of the list: what rounding may add to a sum of losses


def gamble(state: Any, who: int, lead: float, d: float, shift: float) -> float:
    """Let a gambler bet on the difference in the next row, and return the wealth it has then."""
    n, population = state.seen[0], state.population
    left = population - n
    m = shift if population == math.inf else (population * shift - lead) / left
    wealth = state.wealth[who]
    if m < 1.0:
        gain = 1.0 if population == math.inf else population / left
        cap = SAFE / (1.0 + m) if m > -1.0 else math.inf
        for j in range(FIXED):
            wealth[j] *= 1.0 + min(gain * 0.9 / 2.0**j, cap) * (d - m)
        edge = gain * max(0.0, (lead - n * shift) / (n + 10.0))
        spread = (0.5 + state.squares[who]) / (state.bets[who] + 2.0)
        wealth[FIXED] *= 1.0 + min(edge / (spread + edge * edge), cap) * (d - m)
        guess = lead / (n + 10.0)
        state.squares[who] += (d - guess) * (d - guess)
        state.bets[who] += 1.0
    return total(wealth)


def total(wealth: Any) -> float:
    """Return the wealth of a gambler: what all its parts have."""
    amount = 0.0
    for j in range(wealth.size):
        amount += wealth[j]
    return amount


def certain(lead: float, shift: float, population: float, seen: float) -> bool:
    """Tell whether the statement is false whatever the rows left say: even -1 in each would not do."""
    if population == math.inf:
        return False
    return bool(lead - population * shift > population - seen + SLACK * population)
