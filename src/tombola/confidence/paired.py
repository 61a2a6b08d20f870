"""PairedDifferences: how far an action may be from the best, from differences of losses on the same rows."""

from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.confidence.betting import Betting


class PairedDifferences:
    """Takes in whole rows, and says of any action by how much, at most, its mean loss exceeds that of the best one.

    All that it ever says of any action holds at once with probability 1 - level. For b, a best action, the differences
    a - b of the k - 1 others are bounded above, each but with probability level / (k - 1); which b is the best need not
    be known (docs/theory/confidence.md). An action is only compared when it is asked about.

    >>> rows = [[0.0, 0.1], [0.8, 0.9]] * 100
    >>> pairs = PairedDifferences(population=1000, level=0.05, actions=2)
    >>> pairs.extend(rows)
    >>> pairs.distance(0), round(pairs.distance(1), 2)
    (0.0, 0.12)
    """

    def __init__(self, population: float, level: float, actions: int) -> None:
        self.actions = actions
        self._population = population
        self._share = min(2.0 * level / max(actions - 1, 1), 1 - 1e-9)  # each side of an interval has half of it
        self._rows: list[Floats] = []
        self._asked: dict[int, tuple[Betting, int]] = {}

    def extend(self, rows: Any) -> None:
        """Take in whole rows of losses in [0, 1]."""
        self._rows.append(np.asarray(rows, np.float64).reshape(-1, self.actions))

    def distance(self, action: int) -> float:
        """Return by how much, at most, the mean loss of this action exceeds that of a best one."""
        if self.actions == 1:
            return 0.0
        betting, known = self._asked.get(action) or (self._betting(), 0)
        if known < len(self._rows):
            rows = np.concatenate(self._rows[known:])
            betting.extend((1.0 + rows[:, [action]] - np.delete(rows, action, axis=1)) / 2.0)
        self._asked[action] = betting, len(self._rows)
        return max(0.0, float(2.0 * betting.highs.max() - 1.0))

    def _betting(self) -> Betting:
        return Betting(population=self._population, level=self._share, actions=self.actions - 1)
