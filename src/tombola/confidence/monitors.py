"""Certificates that follow rows as they come, a session, a trace or a record.

Valid for adaptive play by the predictable-sampling lemma (docs/theory/confidence.md), at any time and at all times at
once. An action's losses are taken in the order in which it was played, up to the first one not yet answered: so it does
not matter whether bad news takes longer.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola import _validate
from tombola.confidence.base import Confidence
from tombola.confidence.betting import Betting
from tombola.confidence.certificate import Certificate
from tombola.confidence.paired import PairedDifferences
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.pool import Pool
    from tombola.session import Session
    from tombola.trace import Trace


class RowMonitor:
    """A certificate that follows whole rows of losses, one for every action, in random order.

    >>> watch = RowMonitor(["a", "b"], population=1000)
    >>> watch.extend([[0.0, 1.0], [0.4, 0.5]] * 20)
    >>> print(watch.certificate())
    after 40 rows, with probability 0.95: action a is within 0 of the least mean loss over all 1,000 rows (paired)
    """

    def __init__(
        self, actions: Sequence[str], population: float, level: float = 0.05, method: type[Confidence] = Betting
    ) -> None:
        self.names = tuple(actions)
        self.level = level
        self._confidence = _method("RowMonitor", method, population, level, len(self.names), whole=True)
        self._pairs = PairedDifferences(self._confidence.population, level / 2.0, len(self.names))
        self.rows = 0

    def extend(self, rows: Any) -> None:
        """Take in whole rows of losses in [0, 1]."""
        table = np.asarray(rows, np.float64)
        self._confidence.extend(table)
        self._pairs.extend(table)
        self.rows += table.shape[0]

    def certificate(
        self, rounds: int | None = None, answered: int | None = None, loss: float = math.nan
    ) -> Certificate:
        """Return the certificate for what is known now; of rounds that were played too, if their loss is told."""
        seen, k = self._confidence, len(self.names)
        paired = np.full(k, np.inf)
        leader = int(np.argmin(seen.means))
        paired[leader] = self._pairs.distance(leader)
        rounds = self.rows if rounds is None else rounds
        return _certificate(
            self.names, seen, self.level, rounds, rounds if answered is None else answered, loss, paired
        )


class ActionMonitor:
    """A certificate that follows a session: each call takes in what has been answered since the last one.

    `population` is the number of rows of the pool that the rounds are drawn from: the horizon, unless told.

    >>> from tombola import Session
    >>> from tombola.learners import SuccessiveElimination
    >>> session = Session(SuccessiveElimination(), actions=["a", "b"], horizon=1000, seed=0)
    >>> watch = ActionMonitor(session)
    >>> while not watch.certificate().certified(within=0.1):
    ...     ticket = session.act()
    ...     _ = session.observe(ticket, loss=0.1 if ticket.action == 0 else 0.9)
    >>> session.round < 100, watch.certificate().names[watch.certificate().best]
    (True, 'a')
    """

    def __init__(
        self,
        session: "Session",
        population: float | None = None,
        level: float = 0.05,
        method: type[Confidence] = Betting,
    ) -> None:
        if session.feedback_model.n_features:
            raise _of_labels("ActionMonitor", session.learner)
        self.session = session
        size = float(session.horizon if population is None else population)
        if size < session.horizon:
            raise ParameterError(
                f"ActionMonitor: population must be at least the horizon, {session.horizon} rounds, got {population!r}; "
                "give the number of rows of the pool."
            )
        self.level = level
        full = session.feedback_model.full_feedback
        self._seen: RowMonitor | Confidence = (
            RowMonitor(session.names[: session.actions], size, level, method)
            if full
            else _method("ActionMonitor", method, size, level, session.actions)
        )
        self._waiting: list[deque[int]] = [deque() for _ in range(1 if full else session.actions)]
        self._pending: set[int] = set()
        self._scanned, self._loss = 0, 0.0

    def certificate(self) -> Certificate:
        """Return the certificate for what is known now."""
        self._catch_up()
        played = self._scanned, self._scanned - len(self._pending), self._loss
        if isinstance(self._seen, RowMonitor):
            return self._seen.certificate(*played)
        return _certificate(self.session.names[: self.session.actions], self._seen, self.level, *played)

    def _catch_up(self) -> None:
        book, setting = self.session.book, self.session.feedback_model
        for round_ in range(self._scanned + 1, len(book) + 1):
            place = 0 if setting.full_feedback else book.ticket(round_).action
            if place < len(self._waiting):  # an added null action has no mean that is worth watching
                self._waiting[place].append(round_)
            self._pending.add(round_)
        self._scanned = len(book)
        for round_ in sorted(self._pending):
            outcome = book.outcome(round_)
            if outcome is not None:
                self._loss += setting.loss(book.ticket(round_).action, outcome)
                self._pending.remove(round_)
        for action, arrivals in enumerate(self._waiting):
            known = []
            while arrivals and (outcome := book.outcome(arrivals[0])) is not None:
                known.append((arrivals.popleft(), outcome))
            if known and isinstance(self._seen, Confidence):
                self._seen.extend([setting.loss(action, outcome) for _, outcome in known], [action] * len(known))
            elif known:
                self._seen.extend([outcome[: self.session.actions] for _, outcome in known])


def certify(
    actions_played: Any,
    losses: Any,
    *,
    actions: int,
    population: float,
    level: float = 0.05,
    method: type[Confidence] = Betting,
) -> Certificate:
    """Return the certificate of a record: the action played in every round, and its loss."""
    played = _validate.integer_array("certify", "actions_played", actions_played)
    values = np.asarray(losses, np.float64).ravel()
    confidence = _method("certify", method, population, level, actions)
    if played.size > population:
        raise ParameterError(
            f"certify: a pool of {population} rows has at most as many rounds, got {played.size}; "
            "give the size of the whole pool, or math.inf if rows come back."
        )
    confidence.extend(values, played)
    names = tuple(str(action) for action in range(actions))
    return _certificate(names, confidence, level, played.size, played.size, math.fsum(values))


def certify_trace(
    trace: "Trace",
    pool: "Pool",
    *,
    rounds: int | None = None,
    level: float = 0.05,
    method: type[Confidence] = Betting,
) -> Certificate:
    """Return the certificate of the first `rounds` of a trace, from the feedback that its learner was entitled to.

    >>> from tombola import FollowTheLeader, Pool, play
    >>> pool = Pool([[0.0, 1.0]] * 500)
    >>> certify_trace(play(FollowTheLeader(), pool, seed=0), pool, rounds=100).within(0)
    0.0
    """
    if not trace.model.exchangeable:
        raise ParameterError(
            f"certify_trace: expected an order that is exchangeable, got {trace.model} order, of which a sample "
            "says nothing about the rest; play the pool with order='random'."
        )
    if not hasattr(pool, "losses"):
        raise _of_labels("certify_trace", trace.learner)
    count = trace.horizon if rounds is None else _validate.integer("certify_trace", "rounds", rounds, least=0)
    count = min(count, trace.horizon)
    population = trace.model.population(pool.rows)
    loss = math.fsum(trace.losses[:count])
    if trace.full_feedback:
        watch = RowMonitor(pool.actions, population, level, method)
        watch.extend(np.asarray(pool.losses[trace.order[:count]], np.float64).reshape(count, pool.k))
        return watch.certificate(loss=loss)
    confidence = _method("certify_trace", method, population, level, pool.k)
    listed = trace.actions[:count] < pool.k  # an added null action has no mean that is worth watching
    confidence.extend(trace.losses[:count][listed], trace.actions[:count][listed])
    return _certificate(pool.actions, confidence, level, count, count, loss)


def _of_labels(owner: str, learner: Any) -> ParameterError:
    return ParameterError(
        f"{owner}: expected a learner of losses, got {learner!r}, which plays a label where the features say so, so "
        "that its rounds are no random rows; write compare(...) for its regret against the best hypothesis."
    )


def _method(
    owner: str, method: type[Confidence], population: float, level: float, actions: int, *, whole: bool = False
) -> Confidence:
    """Return the intervals, each with its share of the level; half of it goes to the pairs where rows are whole."""
    if not method.uniform:
        raise ParameterError(
            f"{owner}: method must hold at all counts at once, since a learner chooses the counts from what it sees, "
            f"got {method.__name__}; take Betting, BernsteinSequence or HoeffdingSequence."
        )
    whole_level = _validate.real(owner, "level", level, above=0, below=1) / (2.0 if whole else 1.0)
    share = whole_level / _validate.integer(owner, "actions", actions, least=1)
    return method(population=population, level=share, actions=actions)


def _certificate(
    names: Sequence[str], seen: Confidence, level: float, rounds: int, answered: int, loss: float, paired: Any = None
) -> Certificate:
    return Certificate(
        names=tuple(names),
        population=seen.population,
        level=level,
        rounds=rounds,
        answered=answered,
        loss=loss,
        counts=seen.counts,
        means=seen.means,
        lows=seen.lows,
        highs=seen.highs,
        paired=np.full(len(names), np.inf) if paired is None else paired,
    )
