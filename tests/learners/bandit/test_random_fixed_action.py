"""The random fixed action."""

import numpy as np

from tombola import Pool, play
from tombola.learners import (
    RandomFixedAction,
)


def test_blind_action_is_any_action_and_stays() -> None:
    """800 draws of 4 actions: five standard deviations, false alarm below 1e-5."""
    pool = Pool(np.tile([0.0, 0.2, 0.5, 1.0], (6, 1)))
    traces = [play(RandomFixedAction(), pool, switching_price=100.0, seed=seed) for seed in range(800)]
    assert all(trace.switches == 0 and len(set(trace.actions)) == 1 for trace in traces)
    assert all(trace.probabilities.tolist() == [0.25] + [1.0] * 5 for trace in traces)
    counts = np.bincount([trace.actions[0] for trace in traces], minlength=4)
    assert abs(counts - 200).max() < 5 * np.sqrt(800 * 0.25 * 0.75)
