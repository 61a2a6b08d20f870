"""Routed: choose the action by features, guarded by a safe learner.

On average it is at most `risk` rows worse than the safe learner.

At block starts (growth 1.5) models are fitted to the rows answered, and the one with the least
out-of-bag loss becomes the router of the block, or no router if none beats the best fixed action.
This is the template of the paper: train on the past at block starts, play in the block. In random
order the loss of a block is the learning curve (Theorem C1). The guard decides with which
probability the router is played (`tombola.policies.guard`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from tombola import _validate
from tombola._play import play
from tombola._types import Floats, Integers, Order, RngState, Seed
from tombola.delay import DelayLike, RowDelays, round_delays, rounds_due
from tombola.engine.compiler import compile_loop, expected_rounds
from tombola.engine.tickets import ACTION, OUTCOME_START
from tombola.errors import ParameterError
from tombola.learners import FollowTheLeader
from tombola.order import as_order_model
from tombola.policies.guard import ACCOUNT, PENDING, Guard, Stakes
from tombola.policies.live import (
    CAPITAL_BEFORE,
    DECISION_WIDTH,
    ROUTER,
    SAFE,
    STAKE,
    FeaturePolicy,
    LiveRouter,
    RoutedFeedback,
    split_rng,
)
from tombola.policies.models import (
    Model,
    Ridge,
    Trees,
    actions_of,
    as_models,
    choose,
    fit_models,
    losses_of,
)
from tombola.pool import Pool
from tombola.rng import RngStreams, uniform

# Rows with known losses before the first training; fewer are too few to compare models of the
# features.
FIRST_BLOCK = 16
# Models that compete in each block: trees with small and with large leaves, and a linear model.
# Large leaves pay where the best action depends little on features, as in long lists of prompts,
# and take less time.
_DEFAULT_MODELS: tuple[Model, ...] = (Trees(3), Trees(80), Ridge())


@dataclass(frozen=True, repr=False)
class Routed(FeaturePolicy):
    """Choose the action of each row by its features, guarded by a safe learner.

    The losses of all actions are seen after each row. Models are trained at the starts of growing
    blocks, and the best one is the router; a `Guard` limits its cost against the safe learner.

    safe: the learner over fixed actions that the guarantee compares with.
    models: of row-centred losses: those of this package, or regressors of scikit-learn such as
        `Lasso()`.
    risk: largest loss of routing above that of the safe learner, in rows (one row is a loss of 1),
        on average over the guard's draws; with delay, also over orders.
    worst: the same limit on every single order, which matters with delay; None for no such limit.
    growth: the length of a block as a multiple of the one before.
    delays: in a session, "any" kind of delay, or "independent" of the rows: then `risk` is about
        the mean over orders, and more rows in flight can be routed (`tombola.policies.live`).

    >>> import numpy as np
    >>> side = np.arange(400) % 2
    >>> losses = np.stack([side, 1 - side], axis=1).astype(float)
    >>> trace = Routed(models=(Ridge(),)).play(Pool(losses), side[:, None], seed=1)
    >>> trace.expected_loss < 40 < trace.safe_loss
    True
    """

    feedback: ClassVar[type[RoutedFeedback]] = RoutedFeedback

    safe: Any = field(default_factory=FollowTheLeader)
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

    def play(
        self,
        pool: Pool,
        features: Any = None,
        *,
        order: str = "random",
        delay: DelayLike | RowDelays = 0,
        seed: Seed,
    ) -> "RoutedTrace":
        """Play the list once; return the trace of router, safe learner and guard.

        features: shape (rows, features); None for those of the pool.
        order: "random" (each row once, shuffled), "iid" (rows drawn with replacement) or "given".
        delay: rounds until the losses of a row are seen. Delays that are not constant are played as
            in a session with `delays="any"`: the stake of every row in flight is reserved, and
            `risk` holds on every order.
        """
        streams = RngStreams(seed)
        rows, losses, table = arrange("Routed", pool, features, order, streams)
        delay = round_delays(delay, rows)
        if not isinstance(delay, int):
            return self._play_late(rows, losses, table, delay, streams)
        safe_seed, guard_rng = split_rng(streams.learner(self))
        safe = play(self.safe, Pool(losses, pool.actions), order="given", seed=safe_seed)
        safe_actions = np.asarray(safe.actions, np.int64)
        settled, played, blocks = self._route(losses, table, safe_actions, delay)
        late_safe = safe_actions[np.maximum(np.arange(pool.rows) - delay, 0)]
        stakes = Guard(self.risk, self.worst).stakes(
            losses_of(losses, safe_actions) - losses_of(losses, settled),
            losses_of(losses, late_safe) - losses_of(losses, played),
            delay,
        )
        draws = np.zeros(pool.rows)
        with expected_rounds(pool.rows, actions=0):
            compile_loop(_fill_uniform, (draws, guard_rng))(draws, guard_rng)
        routed = draws < stakes.probabilities
        actions = np.where(routed, played, late_safe)
        return RoutedTrace(rows, losses, actions, late_safe, played, stakes, routed, blocks)

    def _play_late(
        self, order: Order, losses: Floats, features: Floats, delays: Integers, streams: RngStreams
    ) -> "RoutedTrace":
        """Play rows with delays of their own, by the router of sessions."""
        rounds, k = losses.shape
        model = RoutedFeedback(k, rounds, features=features.shape[1])
        router = LiveRouter(replace(self, delays="any"), model, streams.learner(self))
        shown = OUTCOME_START + k
        cells, reserve = (
            np.zeros((rounds + 1, shown + DECISION_WIDTH + features.shape[1])),
            np.zeros(rounds),
        )
        for t, arrived in enumerate(rounds_due(delays, rounds)):
            for past in arrived:
                router.observe(cells, past + 1, past + 1, tuple(losses[past]))
            router.act(cells, features[t])
            reserve[t] = router.account[ACCOUNT] - router.account[PENDING]
        decisions = cells[1:, shown:]
        safe = decisions[:, SAFE].astype(np.int64)
        played = np.where(decisions[:, ROUTER] < 0, safe, decisions[:, ROUTER]).astype(np.int64)
        stakes = Stakes(decisions[:, STAKE].copy(), decisions[:, CAPITAL_BEFORE].copy(), reserve)
        # Blocks start at answers, not at rounds, so that the trace has none.
        actions = cells[1:, ACTION].astype(np.int64)
        return RoutedTrace(order, losses, actions, safe, played, stakes, actions != safe, ())

    def block_starts(self, rounds: int) -> list[int]:
        """Return the numbers of rows with known losses at which models are trained.

        >>> Routed().block_starts(60)
        [16, 24, 36, 54]
        """
        found, start = [], FIRST_BLOCK
        while start < rounds:
            found.append(start)
            start = max(start + 1, int(start * self.growth))
        return found

    def _route(
        self, losses: Floats, features: Floats, safe: Integers, delay: int
    ) -> tuple[Integers, Integers, "tuple[Block, ...]"]:
        """Return the router's actions: on row n + 1 after n answers, and as played."""
        rounds = len(losses)
        late_safe = safe[np.maximum(np.arange(rounds) - delay, 0)]
        settled, played, blocks = safe.copy(), late_safe.copy(), []
        starts = self.block_starts(rounds)
        for number, start in enumerate(starts):
            end = starts[number + 1] if number + 1 < len(starts) else rounds
            model, loss = choose(
                fit_models(self.models, features[:start], losses[:start], seed=number),
                losses[:start],
            )
            blocks.append(Block(start, end, type(model).__name__ if model else None, loss))
            if model is None:
                continue
            # The policy after n answers settles row n and plays round n + delay.
            actions = actions_of(model.predict(features[start : min(end + delay, rounds)]))
            settled[start:end] = actions[: end - start]
            played[start + delay : end + delay] = actions[delay : delay + (end - start)]
        return settled, played, tuple(blocks)


@dataclass(frozen=True)
class Block:
    """Hold one training, and the rows for which its router is in use.

    start, end: number of rows with known losses at this training and at the next one.
    model: name of the best model; None if none beats the best fixed action, so that there is no
        router.
    out_of_bag_loss: mean loss of the model on its training rows, by parts that did not see them.
    """

    start: int
    end: int
    model: str | None
    out_of_bag_loss: float


@dataclass(frozen=True, eq=False)
class PolicyTrace:
    """Trace of one pass of a policy over a list.

    order: row number of each round, from 0.
    losses: of all actions, in the order of play, rounds x actions.
    actions: the action played in each round, from 0.
    """

    order: Order
    losses: Floats
    actions: Integers

    @property
    def loss(self) -> float:
        """The total loss of the actions really played."""
        return float(losses_of(self.losses, self.actions).sum())


@dataclass(frozen=True, eq=False, repr=False)
class RoutedTrace(PolicyTrace):
    """Trace of one pass of `Routed` over a list: safe learner, router and guard.

    The guard draws which of the two plays; the unguarded router is the router as if it played every
    round. `expected_loss` is averaged over the guard's draws: the guarantee is about it. `loss` is
    the realised one.

    order, losses, actions: as in `PolicyTrace`.
    safe_actions, router_actions: choices of the safe learner and of the unguarded router in each
        round.
    stakes: probability of playing the router in each round, and the accounts of the guard.
    routed: True in the rounds in which the router was played, shape (rounds,).
    blocks: the trainings; empty if the delay is not constant.
    """

    safe_actions: Integers
    router_actions: Integers
    stakes: Stakes
    routed: "np.typing.NDArray[np.bool_]"
    blocks: tuple[Block, ...]

    @cached_property
    def safe_losses(self) -> Floats:
        """The losses of the safe learner, round by round, shape (rounds,)."""
        return losses_of(self.losses, self.safe_actions)

    @cached_property
    def router_losses(self) -> Floats:
        """The losses of the router as if it played every round, shape (rounds,)."""
        return losses_of(self.losses, self.router_actions)

    @property
    def safe_loss(self) -> float:
        """The total loss of the safe learner, as if it played every round."""
        return float(self.safe_losses.sum())

    @property
    def router_loss(self) -> float:
        """The total loss of the router, as if it played every round."""
        return float(self.router_losses.sum())

    @property
    def expected_loss(self) -> float:
        """The total loss, averaged over the guard's draws; `risk` is about it."""
        p = self.stakes.probabilities
        return float((p * self.router_losses + (1.0 - p) * self.safe_losses).sum())

    @property
    def share_of_gap(self) -> float:
        """The part of the gap that `expected_loss` closes; 1 is perfect, 0 without a gap.

        (F - expected_loss) / (F - B), where F is the total loss of the best fixed action and B that
        of the best action of every row. Negative if the best fixed action is better than this play.
        """
        fixed, oracle = float(self.losses.sum(axis=0).min()), float(self.losses.min(axis=1).sum())
        return (fixed - self.expected_loss) / (fixed - oracle) if fixed > oracle else 0.0

    def __repr__(self) -> str:
        return (
            f"RoutedTrace({len(self.losses)} rows, loss {self.expected_loss:.4g} on average over "
            "the guard's draws, "
            f"safe learner {self.safe_loss:.4g})"
        )


def _fill_uniform(draws: Floats, rng: RngState) -> None:
    """Fill an array with uniform random numbers in [0, 1), in place."""
    for t in range(draws.size):
        draws[t] = uniform(rng)


def arrange(
    owner: str, pool: Pool, features: Any, order: str, streams: RngStreams
) -> tuple[Order, Floats, Floats]:
    """Return the row of each round, and losses and features in that order.

    ParameterError unless there are features of all rows. Parameters as in `Routed.play`; owner: for
    the message.
    """
    given, rows = pool.features if features is None else features, pool.rows
    if given is None:
        raise ParameterError(
            f"{owner}: expected features, got none; write Pool(losses, features=...)."
        )
    table = np.asarray(given, np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[0] != rows:
        raise ParameterError(
            f"{owner}: expected features of {rows} rows, got shape {table.shape}; give one row "
            "of numbers for each row."
        )
    arranged: Order = as_order_model(order).arrange(rows, streams.order())
    return arranged, np.asarray(pool.losses[arranged], np.float64), table[arranged]
