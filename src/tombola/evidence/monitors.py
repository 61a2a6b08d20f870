"""Monitors: certificates of rows, a session, a trace or a record.

Valid under adaptive play by the predictable-sampling lemma (docs/theory/confidence.md), at all
times simultaneously. The losses of an action are used in the order of play, so a delay that depends
on the loss introduces no bias: with bets that adapt up to the first unknown one, and with constant
bets beyond it, where an unknown loss counts as the worst (`tombola.evidence.pending`).
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.evidence.base import Confidence
from tombola.evidence.betting import Betting
from tombola.evidence.certificate import Certificate
from tombola.evidence.pending import betting_level, narrowed_by_pending

if TYPE_CHECKING:
    from tombola.pool import Pool
    from tombola.session import Session
    from tombola.trace import Trace


class PairedDifferences:
    """Bound the distance of actions from the best, by paired differences.

    These are differences of the losses of two actions on the same row; the best has the least mean
    loss. All bounds for all actions hold simultaneously with probability 1 - level. If b is a best
    action, the mean of the differences a - b is bounded above for each of the k - 1 others, at
    level / (k - 1); b need not be known (docs/theory/confidence.md). The differences of an action
    are computed when its distance is requested.

    >>> rows = [[0.0, 0.1], [0.8, 0.9]] * 100
    >>> pairs = PairedDifferences(population=1000, level=0.05, actions=2)
    >>> pairs.extend(rows)
    >>> pairs.distance(0), round(pairs.distance(1), 2)
    (0.0, 0.12)
    """

    def __init__(self, population: float, level: float, actions: int) -> None:
        self.actions = actions
        self._population = population
        # Only the upper bound of each two-sided interval is used: twice the level.
        self._share = min(2.0 * level / max(actions - 1, 1), 1 - 1e-9)
        self._batches: list[Floats] = []
        # Per requested action: its confidence sequence, and the number of batches it has read.
        self._sequences: dict[int, tuple[Betting, int]] = {}

    def extend(self, rows: Any) -> None:
        """Add whole rows of losses, shape (rows, actions); the caller has checked them."""
        self._batches.append(np.asarray(rows, np.float64).reshape(-1, self.actions))

    def distance(self, action: int) -> float:
        """Return an upper bound, at least 0, on mean loss of this action minus the best."""
        if self.actions == 1:
            return 0.0
        if action not in self._sequences:
            sequence = Betting(
                population=self._population, level=self._share, actions=self.actions - 1
            )
            self._sequences[action] = sequence, 0
        sequence, n_read = self._sequences[action]
        if n_read < len(self._batches):
            rows = np.concatenate(self._batches[n_read:])
            sequence.extend((1.0 + rows[:, [action]] - np.delete(rows, action, axis=1)) / 2.0)
        self._sequences[action] = sequence, len(self._batches)
        return max(0.0, float(2.0 * sequence.highs.max() - 1.0))


class RowMonitor:
    """Certify how close actions are to the best of a pool, from rows of all losses.

    Rows are in random order. The best action has the least mean loss over the pool; `certificate`
    bounds the distance of each action from it, and its mean loss.

    population: number of rows of the pool, or math.inf.
    level: error probability of the certificate, at all times simultaneously.
    method: class of the intervals; ParameterError unless it is anytime-valid.

    >>> monitor = RowMonitor(["a", "b"], population=1000)
    >>> monitor.extend([[0.0, 1.0], [0.4, 0.5]] * 20)
    >>> print(monitor.certificate())
    a is the best of 2 candidates (another may be equal) on the answers recorded here for these
    1,000 rows, with probability 0.95 or more; 40 rows
    """

    def __init__(
        self,
        actions: Sequence[str],
        population: float,
        level: float = 0.05,
        method: type[Confidence] = Betting,
    ) -> None:
        self.names = tuple(actions)
        self.level = level
        self._confidence = _new_confidence(
            "RowMonitor", method, population, level, len(self.names), full_feedback=True
        )
        self._pairs = PairedDifferences(self._confidence.population, level / 2.0, len(self.names))
        self.rows = 0

    def extend(self, rows: Any) -> None:
        """Add rows of losses, shape (rows, actions); if one is invalid, none is added."""
        table = np.asarray(rows, np.float64)
        self._confidence.extend(table)
        self._pairs.extend(table)
        self.rows += table.shape[0]

    def certificate(
        self, rounds: int | None = None, answered: int | None = None, loss: float = math.nan
    ) -> Certificate:
        """Return the certificate of all actions from the rows so far.

        For a session, which has a regret: `rounds` played, `answered` ones (with a known loss), and
        their total `loss`. Leave them out for a table, in which all rows are known.
        """
        paired = np.full(len(self.names), np.inf)
        # Only the leader is compared: k - 1 sequences instead of k (k - 1).
        leader = int(np.argmin(self._confidence.means))
        paired[leader] = self._pairs.distance(leader)
        rounds = self.rows if rounds is None else rounds
        return _certificate(
            self.names,
            self._confidence,
            self.level,
            rounds,
            rounds if answered is None else answered,
            loss,
            paired,
        )


class ActionMonitor:
    """Certify how close actions are to the best one, from outcomes of a session.

    The best action has the least mean loss over the pool. Each call of `certificate` reads the
    outcomes since the last call. ParameterError for learners of labels.

    population: number of rows of the pool that the rounds are drawn from, at least the horizon;
        None: the horizon.
    level, method: as in `RowMonitor`.

    >>> from tombola import Session
    >>> from tombola.learners import SuccessiveElimination
    >>> session = Session(SuccessiveElimination(), actions=["a", "b"], horizon=1000, seed=0)
    >>> monitor = ActionMonitor(session)
    >>> while not monitor.certificate().certified(within=0.1):
    ...     ticket = session.act()
    ...     _ = session.observe(ticket, loss=0.1 if ticket.action == 0 else 0.9)
    >>> session.round < 100, monitor.certificate().names[monitor.certificate().best]
    (True, 'a')
    """

    def __init__(
        self,
        session: "Session",
        population: float | None = None,
        level: float = 0.05,
        method: type[Confidence] = Betting,
    ) -> None:
        # Rows on which an action was chosen by features are no sample of the list.
        if session.feedback_model.n_features and not session.feedback_model.full_feedback:
            raise _labels_error("ActionMonitor", session.learner)
        self.session = session
        size = float(session.horizon if population is None else population)
        if size < session.horizon:
            raise ParameterError(
                f"ActionMonitor: population must be at least the horizon, {session.horizon} "
                "rounds, got "
                f"{population!r}; give the number of rows of the pool."
            )
        self.level = level
        full = session.feedback_model.full_feedback
        part = betting_level(level)
        self._statistic: RowMonitor | Confidence = (
            RowMonitor(session.names[: session.actions], size, part, method)
            if full
            else _new_confidence("ActionMonitor", method, size, part, session.actions)
        )
        self._waiting: list[deque[int]] = [deque() for _ in range(1 if full else session.actions)]
        self._pending: set[int] = set()
        # All known losses of every action, also those after a pending one.
        self._known: list[list[float]] = [[] for _ in range(session.actions)]
        self._scanned = 0
        self._loss = 0.0

    def certificate(self) -> Certificate:
        """Return bounds on the mean losses of all actions, from the outcomes so far."""
        self._catch_up()
        played = self._scanned, self._scanned - len(self._pending), self._loss
        certificate = (
            self._statistic.certificate(*played)
            if isinstance(self._statistic, RowMonitor)
            else _certificate(
                self.session.names[: self.session.actions], self._statistic, self.level, *played
            )
        )
        certificate = narrowed_by_pending(certificate, self._plays(), self.level)
        return certificate.narrowed(self._known)

    def _plays(self) -> list[Floats]:
        """Return the losses of every action in the order of play, NaN where pending."""
        model = self.session.feedback_model
        table = self.session.ticket_table
        plays: list[list[float]] = [[] for _ in range(self.session.actions)]
        for round_ in range(1, self._scanned + 1):
            outcome = table.outcome(round_)
            action = table.ticket(round_).action
            for column in range(len(plays)) if model.full_feedback else (action,):
                if column < len(plays):
                    plays[column].append(
                        math.nan if outcome is None else model.loss(column, outcome)
                    )
        return [np.array(losses) for losses in plays]

    def _catch_up(self) -> None:
        table = self.session.ticket_table
        feedback_model = self.session.feedback_model
        for round_ in range(self._scanned + 1, len(table) + 1):
            place = 0 if feedback_model.full_feedback else table.ticket(round_).action
            # The null action of a budget has no mean to estimate.
            if place < len(self._waiting):
                self._waiting[place].append(round_)
            self._pending.add(round_)
        self._scanned = len(table)
        for round_ in sorted(self._pending):
            outcome = table.outcome(round_)
            if outcome is not None:
                action = table.ticket(round_).action
                self._loss += feedback_model.loss(action, outcome)
                self._pending.remove(round_)
                for column in (
                    range(self.session.actions) if feedback_model.full_feedback else (action,)
                ):
                    if column < len(self._known):
                        self._known[column].append(feedback_model.loss(column, outcome))
        for action, arrivals in enumerate(self._waiting):
            known = []
            while arrivals and (outcome := table.outcome(arrivals[0])) is not None:
                known.append((arrivals.popleft(), outcome))
            if known and isinstance(self._statistic, Confidence):
                self._statistic.extend(
                    [feedback_model.loss(action, outcome) for _, outcome in known],
                    [action] * len(known),
                )
            elif known:
                self._statistic.extend([outcome[: self.session.actions] for _, outcome in known])


def certify_plays(
    actions_played: Any,
    losses: Any,
    *,
    actions: int,
    population: float,
    level: float = 0.05,
    method: type[Confidence] = Betting,
) -> Certificate:
    """Return the certificate of all actions, from a record of rounds.

    It bounds their mean losses, and their distances from the least one. Rows must have been played
    in random order, without replacement if the population is finite.

    actions_played, losses: the action of every round, and its loss in [0, 1], shape (rounds,).
    actions: the number of actions.
    population, level, method: as in `RowMonitor`.
    """
    played = _validate.integer_array("certify_plays", "actions_played", actions_played)
    values = np.asarray(losses, np.float64).ravel()
    confidence = _new_confidence("certify_plays", method, population, level, actions)
    if played.size > population:
        raise ParameterError(
            f"certify_plays: a pool of {population} rows has at most as many rounds, got {played.size}; "
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
    """Return the certificate of a trace, from the feedback of its learner only.

    ParameterError if the order was not random. `rounds` is the number of first rounds to use; None:
    all of them. `level` and `method` are as in `RowMonitor`.

    >>> from tombola import FollowTheLeader, Pool, play
    >>> pool = Pool([[0.0, 1.0]] * 500)
    >>> certify_trace(play(FollowTheLeader(), pool, seed=0), pool, rounds=100).within(0)
    0.0
    """
    if not trace.order_model.exchangeable:
        raise ParameterError(
            f"certify_trace: expected an exchangeable order, got {trace.order_model} order, in "
            "which a sample is "
            "not representative of the rest; play the pool with order='random'."
        )
    if not hasattr(pool, "losses"):
        raise _labels_error("certify_trace", trace.learner)
    count = (
        trace.horizon
        if rounds is None
        else _validate.integer("certify_trace", "rounds", rounds, least=0)
    )
    count = min(count, trace.horizon)
    population = trace.order_model.population(pool.rows)
    loss = math.fsum(trace.losses[:count])
    if trace.full_feedback:
        monitor = RowMonitor(pool.actions, population, level, method)
        monitor.extend(
            np.asarray(pool.losses[trace.order[:count]], np.float64).reshape(count, pool.k)
        )
        return monitor.certificate(loss=loss)
    confidence = _new_confidence("certify_trace", method, population, level, pool.k)
    # The null action of a budget has no mean to estimate.
    in_pool = trace.actions[:count] < pool.k
    confidence.extend(trace.losses[:count][in_pool], trace.actions[:count][in_pool])
    return _certificate(pool.actions, confidence, level, count, count, loss)


def _labels_error(owner: str, learner: Any) -> ParameterError:
    return ParameterError(
        f"{owner}: expected a learner of losses, got {learner!r}, which chooses labels by "
        "features, so that "
        "its rounds are not random rows; write compare(...) for its regret against the best "
        "hypothesis."
    )


def _new_confidence(
    owner: str,
    method: type[Confidence],
    population: float,
    level: float,
    actions: int,
    *,
    full_feedback: bool = False,
) -> Confidence:
    """Return intervals at level / k each; half of that if pairs get the other half."""
    if not method.anytime_valid:
        raise ParameterError(
            f"{owner}: method must hold at all sample sizes, since a learner chooses them "
            "adaptively, "
            f"got {method.__name__}; take Betting, BernsteinSequence or HoeffdingSequence."
        )
    total_level = _validate.real(owner, "level", level, above=0, below=1) / (
        2.0 if full_feedback else 1.0
    )
    share = total_level / _validate.integer(owner, "actions", actions, least=1)
    return method(population=population, level=share, actions=actions)


def _certificate(
    names: Sequence[str],
    confidence: Confidence,
    level: float,
    rounds: int,
    answered: int,
    loss: float,
    paired: Any = None,
) -> Certificate:
    return Certificate(
        tuple(names),
        confidence.population,
        level,
        rounds,
        answered,
        loss,
        confidence.counts,
        confidence.means,
        confidence.lows,
        confidence.highs,
        np.full(len(names), np.inf) if paired is None else paired,
    )
