"""Play: run a learner over a whole order, compiled, and return what happened."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola import validate
from tombola.delay import DelayLike, RowDelays, delays_of
from tombola.order import Model, OrderLike, model_of, rows_in
from tombola.pool import Pool
from tombola.regret import Comparator, best_action
from tombola.streams import Streams
from tombola.types import Floats, Order, Rounds, Seed

if TYPE_CHECKING:
    from tombola.engine.loops import Tally, Waiting
    from tombola.learners.base import Learner


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in one play, round by round.

    `losses` are those of the actions played, `expected_losses` the same averaged over the learner's own coin in that
    round (they are equal when it throws none), `chances` what the chosen actions had.
    """

    learner: "Learner"
    model: Model
    order: Order
    actions: Rounds
    chances: Floats
    losses: Floats
    expected_losses: Floats
    comparator_losses: Floats
    switches: int
    switching_price: float

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.actions.size)

    @property
    def loss(self) -> float:
        """The total loss of the actions played, switches not included."""
        return float(self.losses.sum())

    @property
    def expected_loss(self) -> float:
        """The total loss, averaged over the learner's coin in every round."""
        return float(self.expected_losses.sum())

    @property
    def regret(self) -> float:
        """Loss and price of the switches, minus the loss of the best fixed action."""
        return self.loss + self.switching_price * self.switches - self.comparator_loss

    @property
    def expected_regret(self) -> float:
        """The regret with `expected_loss` in the place of `loss`."""
        return self.expected_loss + self.switching_price * self.switches - self.comparator_loss

    @cached_property
    def comparator_loss(self) -> float:
        """The total loss of the best fixed action on the rows that came."""
        return float(self.comparator_losses.sum())

    def regret_against(self, pool: Pool, comparator: Comparator) -> float:
        """Return the regret against another comparator, a function of the pool and the order."""
        against = float(comparator(pool, self.order).sum())
        return self.loss + self.switching_price * self.switches - against

    def __repr__(self) -> str:
        return (
            f"Trace({self.learner!r}, {self.model} order, {self.horizon} rounds, loss {self.loss:.6g}, "
            f"regret {self.regret:.6g}, {self.switches} switches)"
        )


@dataclass(frozen=True, eq=False)
class Curve:
    """The sums of one play at a few rounds only: what `compare` keeps."""

    rounds: Rounds
    loss: Floats
    expected_loss: Floats
    comparator_loss: Floats
    switches: Floats
    plays: Floats


def play(
    learner: "Learner",
    pool: Pool,
    order: OrderLike = "random",
    delay: DelayLike | RowDelays = 0,
    switching_price: float = 0.0,
    *,
    seed: Seed,
) -> Trace:
    """Play `learner` over the rows of `pool` in this order, and return the trace.

    >>> from tombola import FollowTheLeader
    >>> trace = play(FollowTheLeader(), Pool([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), order="given", seed=0)
    >>> trace.actions.tolist(), trace.loss, trace.regret
    ([0, 0, 0], 1.0, 0.0)
    """
    price = validate.number("play", "switching_price", switching_price, least=0)
    streams = Streams(seed)
    rows = rows_in(order, pool.rows, streams.order())
    labels = np.arange(pool.k)
    tally = run(learner, pool, rows, labels, delay, streams, marks=np.zeros(0, np.int64), record="full")
    return Trace(
        learner=learner,
        model=model_of(order),
        order=rows,
        actions=tally.actions,
        chances=tally.chances,
        losses=tally.losses,
        expected_losses=tally.expected,
        comparator_losses=best_action(pool, rows),
        switches=int(tally.sums[3]),
        switching_price=price,
    )


def run(
    learner: "Learner",
    pool: Pool,
    rows: Order,
    labels: Rounds,
    delay: DelayLike | RowDelays,
    streams: Streams,
    *,
    marks: Rounds,
    record: Literal["full", "curve"],
) -> "Tally":
    """Play through the compiled loop; `labels[action]` is the column that the learner knows as `action`."""
    from tombola.engine.loops import Table, new_tally
    from tombola.engine.player import Player

    best = int(np.flatnonzero(labels == pool.best)[0])
    losses: Any = np.asarray(pool.losses)  # a memory map as the plain array that Numba knows
    table = Table(losses, labels, rows, best)
    tally = new_tally(pool.k, rows.size, marks, full=record == "full", expects=learner.mixes)
    player = Player(learner, pool.k, rows.size, streams.learner(learner))
    player.play(table, waiting(delays_of(delay, rows)), tally)
    return tally


def waiting(delay: int | Rounds) -> "Waiting":
    """Return the queue of feedback for these delays: the rounds by time of arrival, and room for the tickets out."""
    from tombola.engine.loops import Waiting

    none = np.zeros(0, np.int64)
    constant = isinstance(delay, int)
    longest = int(delay) if isinstance(delay, int) else int(delay.max(initial=0))
    arrivals = none if isinstance(delay, int) else np.arange(delay.size) + delay + 1
    rounds = np.argsort(arrivals, kind="stable")
    ring = longest + 1
    return Waiting(
        delay=longest if constant else -1,
        rounds=rounds,
        arrivals=arrivals[rounds],
        actions=np.zeros(ring, np.int64),
        chances=np.zeros(ring),
        losses=np.zeros(ring),
    )


def log_spaced(horizon: int, per_decade: int = 12) -> Rounds:
    """Return about `per_decade` rounds in every power of ten, the first and the last among them.

    >>> log_spaced(10, per_decade=4).tolist()
    [1, 2, 3, 6, 10]
    """
    count = max(1, int(np.ceil(np.log10(max(horizon, 1)) * per_decade)) + 1)
    points = np.unique(np.round(np.logspace(0, np.log10(horizon), count)).astype(np.int64))
    return np.unique(np.append(points, horizon))
