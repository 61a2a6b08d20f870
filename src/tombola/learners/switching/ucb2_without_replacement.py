"""UCB2 with Serfling's factor (1974) for sampling without replacement."""

from dataclasses import dataclass
from typing import Any

from tombola.learners.bandit.ucb2 import UCB2


@dataclass(frozen=True)
class UCB2WithoutReplacement(UCB2):
    """Play as `UCB2` with a smaller radius, for sampling without replacement.

    The radius of action a is sqrt(f (1 + alpha) ln(e n / n(a)) / (2 n(a))), where n(a) of the n losses seen are of
    action a, T is the horizon, e is Euler's number, and f = 1 - (n(a) - 1) / T is Serfling's factor (1974): rows of the
    pool that were seen cannot differ any more. It matters late in a pool. UCB2's bound is for i.i.d. rows and depends
    on the gaps, so `bound` is None.

    alpha: growth of the blocks, in (0, 1); a larger one switches less.
    feedback: "bandit", the learner observes the loss of the action played.

    >>> from tombola import Pool, play
    >>> play(UCB2WithoutReplacement(), Pool([[1.0, 0.0]] * 12), seed=0).actions.tolist()
    [0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1]
    """

    def init(self, actions: int, horizon: int) -> Any:
        """Return the first state for `actions` actions; the pool has `horizon` rows."""
        return super().init(actions, horizon)._replace(population=float(horizon))

    def bound(self, actions: int, horizon: int, delay: int = 0) -> None:
        """Return None for all `actions`, `horizon` and `delay`: no bound is proved."""
