"""LinearIndex: choose by features from bandit feedback.

A standard error is sqrt(z' A^-1 z) for the standardised features z (LinUCB: Li, Chu, Langford and
Schapire 2010). Slopes have a heavy penalty, so that features count only where many rows agree; the
intercept has a light one. Features are standardised by the rows answered before a block (growth
1.5). It has no guarantee of its own.

With `risk` it is guarded (Theorem C5): a learner over fixed actions, which learns on its own turns
only, gives a lower bound `low` of the best fixed action's mean loss; the index plays a row only if
its losses so far, with this row and all rows in flight counted as 1, are at most risk + (its turns)
x low. With probability 1 - `level` its turns then cost at most `risk` rows more than the best fixed
action on as many average rows. That takes long lists: the index waits until the lower bound is
closer to the best mean than its own gain.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, RngState, Seed
from tombola.delay import DelayLike, RowDelays, round_delays, rounds_due
from tombola.engine.compiler import Workload, compile_step
from tombola.engine.tickets import (
    ACTION,
    OUTCOME_START,
    ROUNDS,
    is_pending,
    mark_answered,
    read_ticket,
    write_ticket,
)
from tombola.errors import ParameterError
from tombola.evidence import Betting
from tombola.feedback import BanditFeedback, make_feedback_model
from tombola.feedback.base import TABLE_FULL, LiveKernels
from tombola.feedback.codec import EncodedOutcome
from tombola.learners import UCB1
from tombola.policies.live import FeaturePolicy, FeatureRows
from tombola.policies.models import losses_of
from tombola.policies.routed import PolicyTrace, arrange
from tombola.pool import Pool
from tombola.rng import RngStreams

# Penalty of the intercept, in rows. Two pseudo-rows with loss 0: an action with few rows looks
# good. With one, an unlucky first row can end an action.
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
        return LiveKernels(
            index.act, lambda *_: False, index.observe, index
        )  # there is no fast path


@dataclass(frozen=True, repr=False)
class LinearIndex(FeaturePolicy):
    """Play the action of the lowest optimistic prediction from the row's features.

    For bandit feedback: each action has a ridge regression of its losses, and its index is the
    prediction minus `bonus` standard errors. Play a list with `play`, or give it to `Session` as
    learner.

    penalty: ridge penalty of the slopes, in rows: 100 is as strong as 100 rows of slope 0.
    bonus: standard errors by which an index is below the prediction.
    growth: factor of the number of losses seen, after which features are standardised again.
    risk: largest loss of the rounds it plays itself (its turns) above that of the best fixed action
        on as many average rows, in rows (one row is a loss of 1); None for no guard.
    safe: with `risk`, the learner over fixed actions that plays the other rounds.
    level: probability that the promise of `risk` fails.

    >>> import numpy as np
    >>> side = np.arange(600) % 2
    >>> pool = Pool(np.stack([side, 1 - side], axis=1), features=side)
    >>> LinearIndex().play(pool, seed=1).loss < 60
    True
    """

    feedback: ClassVar[type[_IndexFeedback]] = _IndexFeedback

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

    def play(
        self,
        pool: Pool,
        features: Any = None,
        *,
        order: str = "random",
        delay: DelayLike | RowDelays = 0,
        seed: Seed,
    ) -> "IndexTrace":
        """Play the whole list once, and return its trace; parameters as in `Routed.play`."""
        streams = RngStreams(seed)
        rows, losses, table = arrange("LinearIndex", pool, features, order, streams)
        index = LiveIndex(self, pool.k, pool.rows, table.shape[1], streams.learner(self))
        cells = np.zeros((pool.rows + 1, OUTCOME_START + 1 + table.shape[1]))
        for t, arrived in enumerate(rounds_due(round_delays(delay, rows), pool.rows)):
            for past in arrived:
                index.observe(
                    cells, past + 1, past + 1, (losses[past, int(cells[past + 1, ACTION])],)
                )
            index.act(cells, table[t])
        return IndexTrace(
            rows, losses, cells[1:, ACTION].astype(np.int64), np.array(index.own[1:], bool)
        )


@dataclass(frozen=True, eq=False, repr=False)
class IndexTrace(PolicyTrace):
    """Trace of one pass of `LinearIndex` over a list.

    order, losses, actions: as in `PolicyTrace`.
    own: True in the rounds that the index played, False in those of the safe learner; all True
        without `risk`.
    """

    own: "np.typing.NDArray[np.bool_]"

    @property
    def excess(self) -> float:
        """Excess loss over the best fixed action, in rows that the index played.

        The sum of its losses in n such rounds, minus n times the least mean loss of an action over
        the list. With `LinearIndex(risk=r, level=p)` and a random order it is above r with
        probability at most p.
        """
        own = losses_of(self.losses, self.actions)[self.own]
        return float(own.sum() - own.size * self.losses.mean(axis=0).min())

    def __repr__(self) -> str:
        return (
            f"IndexTrace({len(self.losses)} rows, loss {self.loss:.4g}, "
            f"{int(self.own.sum())} by the index)"
        )


class LiveIndex:
    """A `LinearIndex` in play, with its safe learner and its guard; see `LiveKernels`.

    `rng` is that of the safe learner; the index itself draws nothing. `cells` is the matrix of the
    ticket table.
    """

    mix, workspace, state = None, None, None

    def __init__(
        self, index: LinearIndex, actions: int, horizon: int, n_features: int, rng: RngState
    ) -> None:
        self.index, self.k = index, actions
        self.rows: list[tuple[int, Floats, float]] = []  # answered: action, features, loss
        self.next_block, self.shift, self.scale = (
            _FIRST_BLOCK,
            np.zeros(n_features),
            np.zeros(n_features),
        )
        self.scores = np.zeros(n_features + 1)
        self.ridges = self._new_ridges()
        # Each round adds to, and multiplies by, a matrix per action.
        with Workload(horizon * actions * self.scores.size**2 * _ENTRY_SECONDS).active():
            self._choose = compile_step(
                _least_index, (self.ridges, self.scores, float(index.bonus))
            )
            self._update = compile_step(_add_row, (self.ridges, self.scores, 0, 0.0))
        self.own: list[bool] = [
            False
        ]  # by round, whether the turn is the index's; round 0 does not exist
        self.turns, self.pending, self.loss, self.low = 0, 0, 0.0, 0.0
        self.safe: Any = None
        if index.risk is not None:
            model = make_feedback_model(index.safe, horizon, actions=actions)
            if not isinstance(model, BanditFeedback):
                raise ParameterError(
                    "LinearIndex: expected a safe learner for bandit feedback, got "
                    f"{index.safe!r}; write UCB1()."
                )
            self.safe = model.step_runner(index.safe, rng)
            # No union over actions: the least of the lower bounds is at most that of the best
            # action (Theorem C5).
            self.bounds = Betting(population=horizon, level=index.level, actions=actions)

    def act(self, cells: Floats, features: Floats) -> tuple[int, int, float]:
        """Choose an action and write its ticket to `cells`, as `LiveKernels.act`.

        The guard decides whether the index or the safe learner plays, before it reads the features.
        The probability is 1.0 for the index.
        """
        if cells[0, ROUNDS] >= len(cells) - 1:
            return TABLE_FULL, 0, 0.0
        own = self._is_own_turn()
        if own:
            self.turns += 1
            self.pending += 1
            self._standardise(features)
            action, probability = (
                int(self._choose(self.ridges, self.scores, float(self.index.bonus))),
                1.0,
            )
        else:
            action, probability = self.safe.act(int(cells[0, ROUNDS]))
        self.own.append(own)
        round_ = write_ticket(cells, action, probability)
        cells[round_, OUTCOME_START + 1 :] = features
        return round_, int(action), float(probability)

    def observe(self, cells: Floats, index: int, round: int, outcome: EncodedOutcome) -> bool:
        """Learn the loss of a pending ticket, as `LiveKernels.observe`; False if invalid.

        The regressions use every round; the safe learner and the guard's bound only those of the
        safe learner.
        """
        (action, probability), loss = read_ticket(cells, index), float(outcome[0])
        if not is_pending(cells, index, action, probability) or not 0.0 <= loss <= 1.0:
            return False
        cells[index, OUTCOME_START] = loss
        mark_answered(cells, index)
        if self.own[index]:
            self.pending -= 1
            self.loss += loss
        else:
            self.safe.learn(index, action, probability, (loss,))
            self.bounds.extend([loss], [action])
            self.low = max(self.low, float(self.bounds.lows.min()))
        features = cells[index, OUTCOME_START + 1 :].copy()
        self.rows.append((action, features, loss))
        if len(self.rows) >= self.next_block:
            self._start_block()
        else:
            self._standardise(features)
            self._update(self.ridges, self.scores, action, loss)
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
        return _Ridges(
            inverse, np.zeros((self.k, size)), np.zeros((self.k, size)), np.zeros(self.k)
        )

    def _standardise(self, features: Floats) -> None:
        """Write 1 and the standardised features, 0 if missing, into `scores`."""
        self.scores[0] = 1.0
        scores = (features - self.shift) * self.scale
        self.scores[1:] = np.where(
            np.isfinite(scores), np.clip(scores, -_MAX_SCORE, _MAX_SCORE), 0.0
        )


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
