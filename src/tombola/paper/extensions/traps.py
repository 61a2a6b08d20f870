"""Pools that are harmless when shuffled and a trap as listed: the best action loses first, the others last."""

import numpy as np

from tombola.pool import Pool


def trap(T: int, k: int, gap: float, *, best: int = 0) -> Pool:
    """Return T rows of which the best action loses a share (1 - gap)/2, all at the start, and the others gap more.

    >>> trap(4, 2, 0.5).losses.tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    least, most = round(T * (1 - gap) / 2), round(T * (1 + gap) / 2)
    losses = np.zeros((T, k))
    losses[T - most :] = 1.0
    losses[:, best] = 0.0
    losses[:least, best] = 1.0
    return Pool(losses)
