"""Distribution of Thompson sampling."""

import math

import numpy as np

from tombola.learners import (
    ThompsonSampling,
)
from twin_cases import new_live


def test_thompson_sampling_has_right_distribution() -> None:
    """The probability that Beta(3, 2) < Beta(2, 4), by summing densities; false alarm below 1e-6."""
    live = new_live(ThompsonSampling(), np.zeros((1, 2)))
    for action, loss in [(0, 1.0), (0, 1.0), (0, 0.0), (1, 1.0), (1, 0.0), (1, 0.0), (1, 0.0)]:
        live.learn(1, action, math.nan, (loss,))
    count, first = 20_000, 0
    for _ in range(count):
        first += live.act(7)[0] == 0
    x = (np.arange(20_000) + 0.5) / 20_000
    density_0, density_1 = x**2 * (1 - x), x * (1 - x) ** 3
    above = 1 - np.cumsum(density_1) / density_1.sum()
    probability = float((density_0 * above).sum() / density_0.sum())
    assert abs(first - count * probability) < 5 * math.sqrt(count * probability * (1 - probability))
