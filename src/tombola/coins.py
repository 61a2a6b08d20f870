"""Coins of a learner: the functions that throw those it is given, the same compiled and in plain Python.

A learner that flips coins must take them from its own stream, never from Python's or NumPy's generators: then a seed
gives one play, a session can be saved, and no learner's luck depends on who else takes part. Import the functions by
name, since a compiled kernel knows functions and not modules; `new_coins` makes a stream, to try a kernel by hand.

>>> import numpy as np
>>> coins = new_coins(np.random.SeedSequence(1))
>>> with np.errstate(over="ignore"):  # 64 bits that wrap around are meant to
...     0 <= uniform(coins) < 1, below(coins, 6) in range(6)
(True, True)
"""

from tombola.engine.coins import below, draw, gamma, new_coins, normal, uniform

__all__ = ["below", "draw", "gamma", "new_coins", "normal", "uniform"]
