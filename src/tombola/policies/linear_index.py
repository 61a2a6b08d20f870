"""LinearIndex: choose by features from bandit feedback.

It has one ridge regression for each action, with optimism.

The index of an action is its predicted loss minus `bonus` standard errors, sqrt(z' A^-1 z) (LinUCB: Li, Chu, Langford
and Schapire 2010). Slopes have a heavy penalty, so that features count only where many rows agree; the intercept has a
light one. Features are standardised by the rows answered before a block (growth 1.5). It has no guarantee of its own.

With `risk` it is guarded (Theorem C5): a learner over fixed actions, which learns on its own turns only, gives a lower
bound `low` of the best fixed action's mean loss; the index plays a row only if its losses so far, with this row and all
rows in flight counted as 1, are at most risk + (its turns) x low. With probability 1 - `level` its turns then cost at
most `risk` rows more than the best fixed action on as many average rows. That takes long lists: the index waits until
the lower bound is closer to the best mean than its own gain.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers, Order, RngState, Seed
from tombola.confidence import Betting
from tombola.delay import DelayLike, RowDelays, round_delays, rounds_due
from tombola.engine.compiler import Workload, compile_step
from tombola.engine.tickets import OUTCOME_START, ROUNDS, is_pending, mark_answered, read_ticket, write_ticket
from tombola.errors import ParameterError
from tombola.feedback import BanditFeedback, make_feedback_model
from tombola.feedback.base import TABLE_FULL, EncodedOutcome, LiveKernels
from tombola.learners import UCB1
from tombola.policies.live import FeatureRows
from tombola.policies.routed import arrange, short_repr_of
from tombola.pool import Pool
from tombola.rng import RngStreams

# Penalty of the intercept, in rows. Two pseudo-rows with loss 0: an action with few rows looks good. With one, an
# unlucky first row can end an action.
_INTERCEPT_PENALTY = 2.0
# Answered rows before features are standardised for the first time: fewer give no spread.
_FIRST_BLOCK = 4
# Standardised features are clipped to [-3, 3]: run times and sizes have long tails.
_MAX_SCORE = 3.0
# Interpreted seconds of a round for each entry of a matrix.
_ENTRY_SECONDS = 1.5e-6


class _Ridges(NamedTuple):
    """One ridge regression for each of k actions, with p features and an intercept."""

    inverse: Floats  # of the penalised Gram matrix, shape (k, p + 1, p + 1)
    target: Floats  # sums of z x loss, where z is 1 and the standardised features; shape (k, p + 1)
    weights: Floats  # inverse x target, shape (k, p + 1)
    counts: Floats  # answered rows of each action, shape (k,)


@dataclass(frozen=True, eq=False)
class _IndexFeedback(FeatureRows, BanditFeedback):
    """Features before the decision, the loss of the action played after the delay."""

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        index = LiveIndex(learner, self.actions, self.horizon, self.features, rng)
        return LiveKernels(index.act, lambda *_: False, index.observe, index)  # there is no fast path


@dataclass(frozen=True, repr=False)
class LinearIndex:
    """Play the action of the lowest optimistic prediction from the row's features.

    For bandit feedback: each action has a ridge regression of its losses, and its index is the prediction minus
        `bonus` standard errors. Play a list with `play`, or give it to `Session` as learner.

    penalty: ridge penalty of the slopes, in rows: 100 is as strong as 100 rows of slope 0.
    bonus: standard errors by which an index is below the prediction.
    growth: factor of the number of losses seen, after which features are standardised again.
    risk: largest loss of the rounds it plays itself (its turns) above that of the best fixed action on as many
        average rows, in rows (one row is a loss of 1); None for no guard.
    safe: with `risk`, the learner over fixed actions that plays the other rounds.
    level: probability that the promise of `risk` fails.

    >>> import numpy as np
    >>> side = np.arange(600) % 2
    >>> pool = Pool(np.stack([side, 1 - side], axis=1), features=side)
    >>> LinearIndex().play(pool, seed=1).loss < 60
    True
    """

    feedback: ClassVar[type[_IndexFeedback]] = _IndexFeedback
    plans: ClassVar[bool] = True  # sessions never interpret the kernels: k p^2 numbers a round
    learns: ClassVar[bool] = True
    mixes: ClassVar[bool] = False

    penalty: float = 100.0
    bonus: float = 0.2
    growth: float = 1.5
    risk: float | None = None
    safe: Any = field(default_factory=UCB1)
    level: float = 0.05

    def __post_init__(self) -> None:
        _validate.real("LinearIndex", "penalty", self.penalty, above=0)
        _validate.real("LinearIndex", "bonus", self.bonus, least=0)
        _validate.real("LinearIndex", "growth", self.growth, above=1)
        _validate.real("LinearIndex", "level", self.level, above=0, below=1)
        if self.risk is not None:
            _validate.real("LinearIndex", "risk", self.risk, least=0)

    def __repr__(self) -> str:
        return short_repr_of(self)

    def play(
        self, pool: Pool, features: Any = None, *, order: str = "random", delay: DelayLike | RowDelays = 0, seed: Seed
    ) -> "IndexTrace":
        """Play the whole list once, and return its trace.

        features: shape (rows, features); None for those of the pool.
        order: "random" (each row once, shuffled), "iid" (rows drawn with replacement) or "given".
        delay: rounds until the loss of an action is seen; 0: before the next round.
        """
        streams = RngStreams(seed)
        rows, losses, table = arrange("LinearIndex", pool, features, order, streams)
        index = LiveIndex(self, pool.k, pool.rows, table.shape[1], streams.learner(self))
        actions = np.zeros(pool.rows, np.int64)
        for t, arrived in enumerate(rounds_due(round_delays(delay, rows), pool.rows)):
            for past in arrived:
                index.learn(past + 1, int(actions[past]), table[past], float(losses[past, actions[past]]))
            actions[t], _ = index.choose(table[t])
        return IndexTrace(rows, losses, actions, np.array(index.own[1:], bool))


@dataclass(frozen=True, eq=False)
class IndexTrace:
    """Trace of one pass of `LinearIndex` over a list.

    order: row number of each round, from 0.
    losses: of all actions, in the order of play, rounds x actions.
    actions: the action played in each round, from 0.
    own: True in the rounds that the index played, False in those of the safe learner; all True without `risk`.
    """

    order: Order
    losses: Floats
    actions: Integers
    own: "np.typing.NDArray[np.bool_]"

    @property
    def loss(self) -> float:
        """The total loss of the actions played, by the index and by the safe learner."""
        return float(self.losses[np.arange(len(self.losses)), self.actions].sum())

    @property
    def excess(self) -> float:
        """Excess loss over the best fixed action, in rows that the index played.

        The sum of its losses in n such rounds, minus n times the least mean loss of an action over the list. With
        `LinearIndex(risk=r, level=p)` and a random order it is above r with probability at most p.
        """
        own = self.losses[self.own, self.actions[self.own]]
        return float(own.sum() - own.size * self.losses.mean(axis=0).min())

    def __repr__(self) -> str:
        return f"IndexTrace({len(self.losses)} rows, loss {self.loss:.4g}, {int(self.own.sum())} by the index)"


class _IndexState(NamedTuple):
    """Hold the guard of an index."""

    answered: int  # rows with a loss
    turns: int  # rounds played by the index
    loss: float  # their total loss so far
    low: float  # lower bound of the mean loss of the best fixed action


class LiveIndex:
    """A `LinearIndex` in play, with its safe learner and its guard.

    The index plays a round only if its losses stay within `risk` above its number of turns times `low`, a lower bound
    on the smallest mean loss of an action; the safe learner plays the others. Plays of a whole list call `choose` for
    each round and `learn` for each loss; sessions call `act` and `observe`, which use a ticket table. `rng` is that of
    the safe learner; the index itself draws nothing.
    """

    mix, workspace = None, None

    def __init__(self, index: LinearIndex, actions: int, horizon: int, n_features: int, rng: RngState) -> None:
        self.index, self.k = index, actions
        self.rows: list[tuple[int, Floats, float]] = []  # answered: action, features, loss
        self.next_block, self.shift, self.scale = _FIRST_BLOCK, np.zeros(n_features), np.zeros(n_features)
        self.scores = np.zeros(n_features + 1)
        self.ridges = self._new_ridges()
        # Each round adds to, and multiplies by, a matrix per action.
        with Workload(horizon * actions * self.scores.size**2 * _ENTRY_SECONDS).active():
            self._choose = compile_step(_least_index, (self.ridges, self.scores, float(index.bonus)))
            self._update = compile_step(_add_row, (self.ridges, self.scores, 0, 0.0))
        self.own: list[bool] = [False]  # by round, whether the turn is the index's; round 0 does not exist
        self.turns, self.pending, self.loss, self.low = 0, 0, 0.0, 0.0
        self.safe: Any = None
        if index.risk is not None:
            model = make_feedback_model(index.safe, horizon, actions=actions)
            if not isinstance(model, BanditFeedback):
                raise ParameterError(
                    f"LinearIndex: expected a safe learner for bandit feedback, got {index.safe!r}; write UCB1()."
                )
            self.safe = model.step_runner(index.safe, rng)
            # No union over actions: the least of the lower bounds is at most that of the best action (Theorem C5).
            self.bounds = Betting(population=horizon, level=index.level, actions=actions)
            self.probabilities: dict[int, float] = {}

    @property
    def state(self) -> _IndexState:
        """Rows answered, turns and loss of the index, and the lower bound of the guard."""
        return _IndexState(len(self.rows), self.turns, self.loss, self.low)

    def choose(self, features: Floats) -> tuple[int, float]:
        """Start a round; return its action, from 0, and the probability.

        The index or the safe learner plays; the guard decides which before it reads the features, shape (features,),
        NaN where missing. The probability is 1.0 for the index.
        """
        own = self._is_own_turn()
        self.own.append(own)
        if not own:
            action, probability = self.safe.act(len(self.own) - 2)
            self.probabilities[len(self.own) - 1] = probability
            return int(action), float(probability)
        self.turns += 1
        self.pending += 1
        self._standardise(features)
        return int(self._choose(self.ridges, self.scores, float(self.index.bonus))), 1.0

    def learn(self, round: int, action: int, features: Floats, loss: float) -> None:
        """Learn from the loss of a round that `choose` started; call it once per round.

        The regressions use every round; the safe learner and the guard's bound only rounds that the safe learner
        played.
        """
        if self.own[round]:
            self.pending -= 1
            self.loss += loss
        else:
            self.safe.learn(round, action, self.probabilities.pop(round), (loss,))
            self.bounds.extend([loss], [action])
            self.low = max(self.low, float(self.bounds.lows.min()))
        self.rows.append((action, features, loss))
        if len(self.rows) >= self.next_block:
            self._start_block()
        else:
            self._standardise(features)
            self._update(self.ridges, self.scores, action, loss)

    def act(self, cells: Floats, features: Floats) -> tuple[int, int, float]:
        """Choose an action and write its ticket to `cells`, as `LiveKernels.act`.

        Returns round, action and probability; the round is `TABLE_FULL` if there is no room.

        cells: matrix of the ticket table.
        """
        if cells[0, ROUNDS] >= len(cells) - 1:
            return TABLE_FULL, 0, 0.0
        action, probability = self.choose(features)
        round_ = write_ticket(cells, action, probability)
        cells[round_, OUTCOME_START + 1 :] = features
        return round_, action, probability

    def observe(self, cells: Floats, index: int, round: int, outcome: EncodedOutcome) -> bool:
        """Learn the loss of a pending ticket, as `LiveKernels.observe`; False if invalid.

        cells, index: matrix of the ticket table, and the row of the ticket in it.
        outcome: the loss, a tuple of one number.
        """
        action, probability = read_ticket(cells, index)
        if not is_pending(cells, index, action, probability) or not 0.0 <= outcome[0] <= 1.0:
            return False
        cells[index, OUTCOME_START] = outcome[0]
        mark_answered(cells, index)
        self.learn(index, action, cells[index, OUTCOME_START + 1 :].copy(), outcome[0])
        return True

    def _is_own_turn(self) -> bool:
        risk = self.index.risk
        # Rows in flight count as loss 1, and so does the row to come.
        return risk is None or self.loss + self.pending + 1.0 <= risk + (self.turns + 1) * self.low

    def _start_block(self) -> None:
        """Standardise by the rows answered so far, and fit all regressions again."""
        self.next_block = max(len(self.rows) + 1, int(self.index.growth * len(self.rows)))
        table = np.array([features for _, features, _ in self.rows])
        known = np.isfinite(table)
        count = np.maximum(known.sum(axis=0), 1)
        self.shift = np.where(known, table, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, table - self.shift, 0.0) ** 2).sum(axis=0) / count)
        self.scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
        self.ridges = self._new_ridges()
        for action, features, loss in self.rows:
            self._standardise(features)
            self._update(self.ridges, self.scores, action, loss)

    def _new_ridges(self) -> _Ridges:
        size = self.scores.size
        prior = np.full(size, 1.0 / self.index.penalty)
        prior[0] = 1.0 / _INTERCEPT_PENALTY
        inverse = np.zeros((self.k, size, size))
        inverse[:, np.arange(size), np.arange(size)] = prior
        return _Ridges(inverse, np.zeros((self.k, size)), np.zeros((self.k, size)), np.zeros(self.k))

    def _standardise(self, features: Floats) -> None:
        """Write 1 and the standardised features, 0 if missing, into `scores`."""
        self.scores[0] = 1.0
        scores = (features - self.shift) * self.scale
        self.scores[1:] = np.where(np.isfinite(scores), np.clip(scores, -_MAX_SCORE, _MAX_SCORE), 0.0)


def _least_index(ridges: Any, scores: Floats, bonus: float) -> int:
    """Return the action with the least index; one without an answered row first."""
    best, least = 0, math.inf
    for action in range(ridges.counts.size):
        if ridges.counts[action] == 0.0:
            return action
        mean, square = 0.0, 0.0
        for i in range(scores.size):
            row = 0.0
            for j in range(scores.size):
                row += ridges.inverse[action, i, j] * scores[j]
            square += scores[i] * row
            mean += ridges.weights[action, i] * scores[i]
        index = mean - bonus * math.sqrt(max(square, 0.0))
        if index < least:
            best, least = action, index
    return best


def _add_row(ridges: Any, scores: Floats, action: int, loss: float) -> None:
    """Update the regression of an action by one row (Sherman and Morrison 1950)."""
    inverse, target, weights = ridges.inverse[action], ridges.target[action], ridges.weights[action]
    scale = 1.0
    for i in range(scores.size):
        row = 0.0
        for j in range(scores.size):
            row += inverse[i, j] * scores[j]
        weights[i] = row  # scratch: the weights are written below
        scale += scores[i] * row
    for i in range(scores.size):
        target[i] += loss * scores[i]
        for j in range(scores.size):
            inverse[i, j] -= weights[i] * weights[j] / scale
    for i in range(scores.size):
        row = 0.0
        for j in range(scores.size):
            row += inverse[i, j] * target[j]
        weights[i] = row
    ridges.counts[action] += 1.0
