"""Session: a learner in live use, in any setting, one round at a time, with feedback whenever it comes.

`act()` hands out a ticket, which goes back with the feedback, however late; `tombola.engine.tickets` says what late, repeated,
unknown and missing feedback means. After the horizon `act` raises SessionError; feedback still out is welcome. Threads
may share a session; another process may not, nor may it be pickled: it is saved, and loaded again.

Under a budget, `act` returns only an action whose worst cost still fits beside all that is spent and reserved, the null
action if no other does; the worst cost of a ticket stays reserved until its feedback comes, also if it never comes.
"""

import math
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from tombola import _validate
from tombola._process_bound import ProcessBound
from tombola._types import Floats, RngState, Seed
from tombola.budget.budget import NO_BALANCE, Balance, Budget, BudgetRun, Stop
from tombola.classification.learner import LabelLearner
from tombola.engine.compiler import expected_rounds
from tombola.engine.tickets import Ticket, TicketTable, new_ticket
from tombola.errors import SessionError
from tombola.feedback import make_feedback_model
from tombola.feedback.base import NEEDS_PLAN
from tombola.persistence.session_json import load, save
from tombola.rng import RngStreams

_sessions: WeakSet["Session"] = WeakSet()  # of this process: a child must not hand out its parent's tickets


def _in_child() -> None:
    for session in _sessions:
        session._lock, session._acquire = threading.Lock(), session._refuse_fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class Session(ProcessBound):
    """A learner that is asked for actions and told what came of them, live.

    `actions` is their number, or their names; `horizon` the number of rounds that will be played. A learner under a
    budget gets a `budget` that says its worst costs, for they are what is reserved; with `null="add"` the null action
    is the last one. A learner of labels gets the number of `features` instead of actions, and acts on features.

    >>> from tombola import UCB1
    >>> session = Session(UCB1(), actions=2, horizon=100, seed=0)
    >>> ticket = session.act()
    >>> ticket
    Ticket(round=1, action=0, probability=1.0)
    >>> session.observe(ticket, loss=0.25)
    True

    >>> from tombola.budget.budget import Budget
    >>> from tombola.learners import EmpiricalLP
    >>> budget = Budget(10.0, worst=[0.5, 3.0], null="add")
    >>> session = Session(EmpiricalLP(), ["weak", "strong"], horizon=100, budget=budget, seed=0)
    >>> session.names[session.act().action], session.balance.left
    ('null', (10.0,))

    >>> from tombola.learners import ThriftyLP
    >>> session = Session(ThriftyLP(), ["weak", "strong"], horizon=100, budget=budget, seed=0)
    >>> session.observe(session.act(), loss=0.25, cost=0.125), session.balance.left
    (True, (9.875,))

    >>> from tombola.classification import ERM, Thresholds
    >>> session = Session(ERM(Thresholds()), horizon=100, seed=0)
    >>> session.observe(session.act(0.3), label=1), session.act(0.4).action
    (True, 1)
    """

    _alternative = "session.save(path), and Session.load(path) there"

    def __init__(
        self,
        learner: Any,
        actions: int | Sequence[str] | None = None,
        horizon: int | None = None,
        *,
        budget: Budget | None = None,
        stop: Stop = "fits",
        features: int | None = None,
        seed: Seed,
    ) -> None:
        given = range(2) if actions is None and _names_its_actions(learner) else actions
        count = len(given) if isinstance(given, Sequence) else given
        listed = _validate.integer("Session", "actions", count, least=1)
        self.learner, self.budget, self.stop = learner, budget, stop
        self.horizon = _validate.integer("Session", "horizon", horizon, least=1)
        limits = None if budget is None else budget.resolve(listed, budget.per_resource.size, horizon=self.horizon)
        self.feedback_model = make_feedback_model(
            learner,
            self.horizon,
            actions=listed,
            budget_run=None if limits is None else BudgetRun(limits, stop),
            features=features,
        )
        names = [str(name) for name in (given if isinstance(given, Sequence) else range(listed))]
        self.names = self.feedback_model.names or tuple(
            [*names, "null"] if limits is not None and limits.added else names
        )
        self.actions = listed
        self._lock = threading.Lock()
        self._acquire: Callable[[], object] = self._lock.acquire  # `with` takes twice as long
        self._release = self._lock.release
        _sessions.add(self)
        with expected_rounds(self.horizon, self.feedback_model.actions):
            self._start(RngStreams(seed).learner(learner))

    def _start(self, rng: RngState) -> None:
        """Begin with these rng and an empty book."""
        self._first_coins = [int(word) for word in rng]
        self.book = TicketTable(self.horizon, self.feedback_model.outcome_width, self.feedback_model.n_features)
        self._live = self.feedback_model.live_kernels(self.learner, rng)
        self._choose, self._quick = self._live.act, self._live.observe_fast
        self._show, self._blind = self.feedback_model.encode_features, not self.feedback_model.n_features

    def act(self, features: Any = None) -> Ticket:
        """Choose the action of the next round, and return its ticket; a learner of labels is shown the features."""
        self._acquire()
        try:
            book = self.book
            if features is None and self._blind:
                found = self._choose(book.cells)
                if found[0] <= 0:
                    found = self._choose_after_all()
            else:
                shown = self._show(features)
                found = self._choose(book.cells, shown)
                if found[0] <= 0:
                    found = self._choose_after_all(shown)
            book.last = ticket = new_ticket(Ticket, found)
            return ticket
        finally:
            self._release()

    def _choose_after_all(self, *shown: Any) -> tuple[int, int, float]:
        """Make room in the book, or let the learner plan, until it chooses."""
        while (found := self._choose(self.book.cells, *shown))[0] <= 0:
            if len(self.book) >= self.horizon:
                self._refuse_more()
            if found[0] == NEEDS_PLAN:
                self._live.runner.plan(len(self.book))
            else:
                self.book.reserve()
        return found

    def observe(
        self,
        ticket: Ticket,
        *,
        loss: Any = None,
        reward: Any = None,
        cost: Any = None,
        label: Any = None,
        weight: Any = None,
    ) -> bool:
        """Tell the learner what came of a ticket; True if that is news.

        Bandit learners take one loss (or reward, 1 - loss), full-information learners one for every action; under a
        budget also the costs: of the action played, a number or one for each resource, or one for each action, or
        actions x resources. An added null action is not listed, and a ticket of it goes back as it is; costs on the
        price list may be left out.
        Learners of labels take the true label, and what a mistake weighs.
        """
        self._acquire()
        try:
            if reward is weight is None and self._quick(self.book.cells, ticket, loss, cost, label):
                return True
            round_ = self.book.round_of(ticket)
            given = {"loss": loss, "reward": reward, "cost": cost, "label": label, "weight": weight}
            return self._observe(round_, self.feedback_model.encode(round_, int(ticket.action), given))
        except OverflowError:
            self.book.round_of(ticket)  # a round that no machine word holds was never handed out
            raise
        finally:
            self._release()

    def _observe(self, round: int, outcome: tuple[float, ...]) -> bool:
        news = self.book.is_new(round, outcome)
        if news:
            self._live.learn(self.book.cells, round, round, outcome)
        return news

    @property
    def round(self) -> int:
        """The number of rounds played so far."""
        return len(self.book)

    @property
    def answered(self) -> int:
        """The number of tickets whose feedback has come."""
        return self.book.answered

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """All tickets handed out so far."""
        return tuple(self.book.tickets)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """What came of each ticket, or None as long as it is pending.

        Its loss, the losses of all actions, these and the costs, or the label and its weight.
        """
        found = (self.book.outcome(round_) for round_ in range(1, self.round + 1))
        return tuple(None if outcome is None else self.feedback_model.decode(outcome) for outcome in found)

    @property
    def pending(self) -> list[Ticket]:
        """The tickets whose feedback has not come yet."""
        return self.book.pending

    @property
    def balance(self) -> Balance:
        """What is spent, reserved and left, under a budget."""
        return self.feedback_model.balance(self._live.runner.workspace) if self._live.runner else NO_BALANCE

    @property
    def state(self) -> Any:
        """The state of the learner, by name: read it, do not write it."""
        return self._live.runner.state if self._live.runner else None

    @property
    def mix(self) -> Floats | None:
        """The mix of the last `act` of a learner that mixes, else None."""
        return self._live.runner.mix if self._live.runner else None

    @property
    def loss(self) -> float:
        """The loss of the plays answered so far."""
        return math.fsum(self._losses())

    @property
    def mistakes(self) -> int:
        """The number of plays answered so far that lost anything: for labels, the wrong predictions."""
        return sum(loss > 0 for loss in self._losses())

    def _losses(self) -> list[float]:
        pairs = ((ticket.action, self.book.outcome(ticket.round)) for ticket in self.book.tickets)
        return [self.feedback_model.loss(action, outcome) for action, outcome in pairs if outcome is not None]

    @property
    def switches(self) -> int:
        """How often the action changed from one round to the next."""
        actions = self.book.actions
        return int(np.count_nonzero(actions[1:] != actions[:-1]))

    def __repr__(self) -> str:
        return f"Session({self.learner!r}, round {self.round} of {self.horizon}, {self.round - self.answered} pending)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, all of it or nothing; `Session.load` takes it up again."""
        with self._lock:
            save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Any = None) -> "Session":
        """Take up a saved session where it was, to the bit, by going through its history again.

        A learner of tombola is made again from the file; one of your own must be given, and must be the same.
        """
        return load(path, learner, cls)

    def _refuse_more(self) -> NoReturn:
        raise SessionError(
            f"Session: all {self.horizon} rounds have been played; start another Session, or one with a larger horizon."
        )

    def _refuse_fork(self) -> NoReturn:
        raise SessionError(
            "Session: expected the process that started it, got a fork, which would hand out the same tickets; "
            "write session.save(path) before, and Session.load(path) there."
        )


def _names_its_actions(learner: Any) -> bool:
    return isinstance(learner, LabelLearner)
