"""Routed: choose the action by features, guarded by a safe learner.

On average it is at most `risk` rows worse than the safe learner.

At block starts (growth 1.5) models are fitted to the rows answered, and the one with the least
out-of-bag loss becomes the router of the block, or no router if none beats the best fixed action.
This is the template of the paper: train on the past at block starts, play in the block. In random
order the loss of a block is the learning curve (Theorem C1). The guard decides with which
probability the router is played (`tombola.policies.guard`). `policies.routed_feedback` has the
loop, `policies.live` the session.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tombola import _validate
from tombola.errors import ParameterError
from tombola.learners import FollowTheLeader
from tombola.policies.base import FIRST_BLOCK, Router
from tombola.policies.guard import Guard
from tombola.policies.models import Model, Ridge, Trees, as_models
from tombola.policies.routed_feedback import RoutedFeedback

# Models that compete in each block: trees with small and with large leaves, and a linear model.
# Large leaves pay where the best action depends little on features, as in long lists of prompts,
# and take less time.
_DEFAULT_MODELS: tuple[Model, ...] = (Trees(3), Trees(80), Ridge())
# Until the first answer all actions tie: the lowest would be played d + 1 times with delay d.
_DEFAULT_SAFE = FollowTheLeader(ties="random")


@dataclass(frozen=True, repr=False)
class Routed(Router):
    """Choose the action of each row by its features, guarded by a safe learner.

    The losses of all actions are seen after each row: routing needs full outcomes, or a table in
    which every action was tried on every row. Models are trained at the starts of growing blocks,
    and the best one is the router; a `Guard` limits its cost against the safe learner. It is a
    learner: give it to `play` or `compare` with a pool that has features, or to `Session`.

    safe: the learner over fixed actions that the guarantee compares with.
    models: of row-centred losses: those of this package, or regressors of scikit-learn such as
        `Lasso()`.
    risk: largest loss of routing above that of the safe learner, in rows (one row is a loss of 1),
        on average over the guard's draws; with delay, also over orders.
    worst: the same limit on every single order, which matters with delay; None for no such limit.
    growth: the length of a block as a multiple of the one before.
    delays: in a session, "any" kind of delay, or "independent" of the rows: then `risk` is about
        the mean over orders, and more rows in flight can be routed (`tombola.policies.live`). In
        `play` the delays are known: a constant one is independent, others are of any kind.

    >>> import numpy as np
    >>> from tombola import Pool, play
    >>> side = np.arange(400) % 2
    >>> pool = Pool(np.stack([side, 1 - side], axis=1), features=side)
    >>> trace = play(Routed(models=(Ridge(),)), pool, seed=1)
    >>> trace.expected_loss < 40 < trace.router.safe_loss
    True
    """

    feedback: ClassVar[type[RoutedFeedback]] = RoutedFeedback
    mixes: ClassVar[bool] = False

    safe: Any = _DEFAULT_SAFE
    models: Sequence[Any] = _DEFAULT_MODELS
    risk: float = 3.0
    worst: float | None = None
    growth: float = 1.5
    delays: Literal["any", "independent"] = "any"

    def __post_init__(self) -> None:
        _validate.real("Routed", "growth", self.growth, above=1)
        if self.delays not in ("any", "independent"):
            raise ParameterError(
                f"Routed: expected delays='any' or delays='independent', got {self.delays!r}; "
                "write one of them."
            )
        object.__setattr__(self, "models", as_models("Routed", self.models))
        Guard(self.risk, self.worst)

    def block_starts(self, rounds: int) -> list[int]:
        """Return the numbers of rows with known losses at which models are trained.

        >>> Routed().block_starts(60)
        [16, 24, 36, 54]
        """
        starts = []
        start = FIRST_BLOCK
        while start < rounds:
            starts.append(start)
            start = max(start + 1, int(start * self.growth))
        return starts
