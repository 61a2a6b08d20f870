"""Certificate: what the losses seen so far say about the pool, with a stated probability over the shuffle.

Valid for adaptive play by the predictable-sampling lemma (docs/theory/confidence.md), at any time and at all times at
once. An action's losses are taken in the order in which it was played, up to the first one not yet answered: so it does
not matter whether bad news takes longer.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola import validate
from tombola.confidence.base import Confidence, Interval
from tombola.confidence.betting import Betting
from tombola.errors import ParameterError
from tombola.types import Floats, Rounds

if TYPE_CHECKING:
    from tombola.pool import Pool
    from tombola.session import Session
    from tombola.trace import Trace


@dataclass(frozen=True, eq=False)
class Certificate:
    """Intervals for the mean losses of all actions, which hold all at once with probability 1 - level.

    >>> first, second = [0.0] * 60, [1.0] * 60
    >>> certificate = certify([0] * 60 + [1] * 60, first + second, actions=2, population=1000, level=0.05)
    >>> certificate.best, certificate.within(0), certificate.certified(within=0.01)
    (0, 0.0, True)
    """

    names: tuple[str, ...]
    population: float
    level: float
    rounds: int
    loss: float
    counts: Rounds
    means: Floats
    lows: Floats
    highs: Floats

    def interval(self, action: int) -> Interval:
        """Return the interval that holds the mean loss of this action."""
        return Interval(float(self.lows[action]), float(self.highs[action]))

    def within(self, action: int) -> float:
        """Return by how much, at most, the mean loss of this action exceeds that of the best action."""
        return _within(self.lows, self.highs, action)

    @property
    def best(self) -> int:
        """The action that is certified to be nearest to the best, the lowest index among equals."""
        return min(range(self.lows.size), key=self.within)

    @property
    def regret(self) -> float:
        """At most this much was lost so far against the best action at its mean loss (switches not counted).

        Rounds not yet answered count with a loss of 1.
        """
        return self.loss - self.rounds * float(self.lows.min())

    def certified(self, within: float) -> bool:
        """Tell whether some action is within this much of the best: a rule to stop by."""
        return self.within(self.best) <= validate.number("Certificate.certified", "within", within, least=0)

    def forecast(self, within: float) -> int | None:
        """Return about how many more rounds it takes to be certified, or None if the pool does not suffice.

        A guess, not a guarantee: the means stay as they are, and every action gets its share of rounds as so far.
        """
        goal = validate.number("Certificate.forecast", "within", within, least=0)
        left = int(self.population - self.rounds) if math.isfinite(self.population) else 1 << 40
        if left < 0 or self._after(left) > goal:
            return None
        low, high = -1, left
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._after(middle) <= goal else (middle, high)
        return high

    def _after(self, more: int) -> float:
        """Return the certified distance of the best action after `more` rounds, if intervals shrink as roots do."""
        if more == 0:
            return self.within(self.best)
        counts = self.counts + more * self.counts / max(self.rounds, 1)
        before, after = _root(self.counts, self.population), _root(counts, self.population)
        shrink = np.where(before > 0, after / np.where(before > 0, before, 1.0), 1.0)
        lows = self.means - (self.means - self.lows) * shrink
        highs = self.means + (self.highs - self.means) * shrink
        return min(_within(lows, highs, action) for action in range(lows.size))

    def __str__(self) -> str:
        best = self.best
        return (
            f"after {self.rounds} rounds, with probability {1 - self.level:g}: action {self.names[best]} is within "
            f"{self.within(best):.4g} of the best, and the regret so far is at most {self.regret:.4g}"
        )


def _within(lows: Floats, highs: Floats, action: int) -> float:
    others = np.delete(lows, action)
    return max(0.0, float(highs[action] - others.min())) if others.size else 0.0


def _root(counts: Any, population: float) -> Floats:
    """Return sqrt(1/n - 1/N), to which the widths are about proportional; 0 for an action never or fully seen."""
    inverse = np.where(counts > 0, 1.0 / np.where(counts > 0, counts, 1.0), 0.0)
    return np.sqrt(np.maximum(inverse - 1.0 / population, 0.0))


class Watch:
    """A certificate that follows a session: each call takes in what has been answered since the last one.

    `population` is the number of rows of the pool that the rounds are drawn from: the horizon, unless told.

    >>> from tombola import Session
    >>> from tombola.bandit import SuccessiveElimination
    >>> session = Session(SuccessiveElimination(), actions=["a", "b"], horizon=1000, seed=0)
    >>> watch = Watch(session)
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
        self.session = session
        self._size = float(session.horizon if population is None else population)
        if self._size < session.horizon:
            raise ParameterError(
                f"Watch: population must be at least the horizon, {session.horizon} rounds, got {population!r}; "
                "give the number of rows of the pool."
            )
        self._full = session.setting.whole_rows
        self.level = level
        self._confidence = _method("Watch", method, self._size, level, session.actions)
        self._waiting: list[deque[int]] = [deque() for _ in range(1 if self._full else session.actions)]
        self._scanned, self._taken, self._loss = 0, 0, 0.0

    def certificate(self) -> Certificate:
        """Return the certificate for what is known now."""
        self._catch_up()
        rounds = self.session.round
        return _certificate(
            self.session.names, self._confidence, self.level, rounds, self._loss + (rounds - self._taken)
        )

    def _catch_up(self) -> None:
        book, setting = self.session.book, self.session.setting
        for index in range(self._scanned, len(book)):
            self._waiting[0 if self._full else book.actions[index]].append(index)
        self._scanned = len(book)
        for action, queue in enumerate(self._waiting):
            while queue and (outcome := book.outcome(queue[0])) is not None:
                loss = setting.loss(book.actions[queue.popleft()], outcome)
                self._taken += 1
                self._loss += loss
                if self._full:
                    self._confidence.extend([outcome[: self.session.actions]])
                else:
                    self._confidence.update(loss, action)


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
    played = np.asarray(actions_played, np.int64).ravel()
    values = np.asarray(losses, np.float64).ravel()
    confidence = _method("certify", method, population, level, actions)
    if played.size > population:
        raise ParameterError(
            f"certify: a pool of {population} rows has at most as many rounds, got {played.size}; "
            "give the size of the whole pool, or math.inf if rows come back."
        )
    confidence.extend(values, played)
    names = tuple(str(action) for action in range(actions))
    return _certificate(names, confidence, level, played.size, math.fsum(values))


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
    >>> str(certify_trace(play(FollowTheLeader(), pool, seed=0), pool, rounds=100))
    'after 100 rounds, with probability 0.95: action 0 is within 0 of the best, and the regret so far is at most 0'
    """
    if not trace.model.exchangeable:
        raise ParameterError(
            f"certify_trace: expected an order that is exchangeable, got {trace.model} order, of which a sample "
            "says nothing about the rest; play the pool with order='random'."
        )
    count = trace.horizon if rounds is None else validate.whole("certify_trace", "rounds", rounds, least=0)
    count = min(count, trace.horizon)
    population = trace.model.population(pool.rows)
    confidence = _method("certify_trace", method, population, level, pool.k)
    if trace.whole_rows:
        confidence.extend(np.asarray(pool.losses[trace.order[:count]], np.float64).reshape(count, pool.k))
    else:
        confidence.extend(trace.losses[:count], trace.actions[:count])
    return _certificate(pool.actions, confidence, level, count, math.fsum(trace.losses[:count]))


def _method(owner: str, method: type[Confidence], population: float, level: float, actions: int) -> Confidence:
    """Return the intervals, each with its share of the level."""
    if not method.uniform:
        raise ParameterError(
            f"{owner}: method must hold at all counts at once, since a learner chooses the counts from what it sees, "
            f"got {method.__name__}; take Betting, BernsteinSequence or HoeffdingSequence."
        )
    share = validate.number(owner, "level", level, above=0, below=1) / validate.whole(
        owner, "actions", actions, least=1
    )
    return method(population=population, level=share, actions=actions)


def _certificate(names: tuple[str, ...], seen: Confidence, level: float, rounds: int, loss: float) -> Certificate:
    return Certificate(
        names=names,
        population=seen.population,
        level=level,
        rounds=rounds,
        loss=loss,
        counts=seen.counts,
        means=seen.means,
        lows=seen.lows,
        highs=seen.highs,
    )
