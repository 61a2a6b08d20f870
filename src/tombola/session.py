"""Session: a learner in live use, one round at a time.

`act()` issues a ticket, and `observe(ticket, ...)` takes its feedback; `tombola.engine.tickets`
defines the rules for late, repeated, unknown and missing feedback. After the horizon `act` raises
SessionError; pending feedback is still accepted. Threads may share a session. Processes may not,
and it cannot be pickled: save it and load it there.

Under a budget, `act` returns only actions whose worst cost still fits beside all costs spent and
reserved, and the null action if no other one does. The worst cost of a ticket stays reserved until
its feedback arrives.
"""

import math
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from weakref import WeakSet

import numpy as np

from tombola import _validate
from tombola._formatting import HtmlTable, format_number, html_block, short_learner, short_repr
from tombola._types import AnyLearner, Floats, RngState, Seed
from tombola.budget.budget import NO_BALANCE, Balance, Budget, BudgetRun, Stop
from tombola.engine.compiler import expected_rounds
from tombola.engine.runner import Runner, reject_invalid_action
from tombola.engine.tickets import Ticket, TicketTable, new_ticket
from tombola.errors import ParameterError, SessionError
from tombola.feedback import make_feedback_model
from tombola.feedback.base import NEEDS_PLAN
from tombola.parallel.process_bound import ProcessBound
from tombola.rng import RngStreams

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More actions than fit into memory with their names are a mistake, which would never end.
_MAX_ACTIONS = 10_000_000
# Sessions of this process: a forked child must not issue the tickets of its parent again.
_sessions: WeakSet["Session"] = WeakSet()


def _after_fork_in_child() -> None:
    for session in _sessions:
        session._lock = threading.Lock()
        session._acquire = session._reject_fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class Session(ProcessBound):
    """Run a learner live: `act` issues tickets, `observe` takes their feedback.

    A ticket is the record of one action: round, action and its probability. Feedback may come late
    and in any order.

    - `learner`: any learner.
    - `actions`: the number of actions, or their names; None only for learners of labels, which have
      two.
    - `horizon`: the number of rounds, at least 1; required.
    - `budget`: for a learner with a budget: amounts with worst costs; with `null="add"` the null
      action is the last one. None without a budget.
    - `stop`: "fits" plays any action with a worst cost that fits the budget; "strict" plays only
      the null action once less than one largest cost of a resource is left.
    - `features`: for `policies.Routed` and learners of labels: the number of features per row
      (labels: 1 if None).
    - `seed`: determines all random choices; drawn if None. `Session.seed` has it.

    >>> from tombola import UCB1
    >>> session = Session(UCB1(), actions=2, horizon=100, seed=0)
    >>> ticket = session.act()
    >>> ticket
    Ticket(round=1, action=0, probability=1.0)
    >>> session.observe(ticket, loss=0.25)
    True

    >>> from tombola.budget.budget import Budget
    >>> from tombola.learners import ThriftyLP
    >>> budget = Budget(10.0, worst=[0.5, 3.0], null="add")
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
        learner: AnyLearner,
        actions: int | Sequence[str] | None = None,
        horizon: int | None = None,
        *,
        budget: Budget | None = None,
        stop: Stop = "fits",
        features: int | None = None,
        seed: Seed | None = None,
    ) -> None:
        # A learner of labels has its own feedback model, which names its two actions.
        prescribed = getattr(getattr(learner, "feedback", None), "default_actions", None)
        action_names = range(prescribed) if actions is None and prescribed is not None else actions
        _validate.not_text("Session", "actions", action_names)
        count = len(action_names) if isinstance(action_names, Sequence) else action_names
        n_listed = _validate.integer("Session", "actions", count, least=1)
        if n_listed > _MAX_ACTIONS:
            raise ParameterError(
                f"Session: expected at most {_MAX_ACTIONS:,} actions, got {n_listed:,}; the number "
                "of actions comes before that of rounds, so write Session(learner, actions, horizon)."
            )
        self.learner = learner
        self.budget = budget
        self.stop = stop
        self.horizon = _validate.integer("Session", "horizon", horizon, least=1)
        limits = (
            None
            if budget is None
            else budget.resolve(n_listed, budget.per_resource.size, horizon=self.horizon)
        )
        self.feedback_model = make_feedback_model(
            learner,
            self.horizon,
            actions=n_listed,
            budget_run=None if limits is None else BudgetRun(limits, stop),
            features=features,
        )
        names = [
            str(name)
            for name in (action_names if isinstance(action_names, Sequence) else range(n_listed))
        ]
        self.names = self.feedback_model.names or tuple(
            [*names, "null"] if limits is not None and limits.added else names
        )
        self.actions = n_listed
        self.seed: Seed = secrets.randbits(32) if seed is None else seed
        self._lock = threading.Lock()
        # Bound methods: `with` takes twice as long, and `act` takes about a microsecond.
        self._acquire: Callable[[], object] = self._lock.acquire
        self._release = self._lock.release
        _sessions.add(self)
        with expected_rounds(self.horizon, self.feedback_model.actions):
            self._start(RngStreams(self.seed).learner(learner))

    def _start(self, rng: RngState) -> None:
        """Begin with this random generator and no tickets."""
        self._initial_rng = [int(word) for word in rng]
        model = self.feedback_model
        self.ticket_table = TicketTable(
            self.horizon, model.outcome_width, model.n_decision + model.n_features
        )
        self._live = model.live_kernels(self.learner, rng)
        self._choose = self._live.act
        self._observe_fast = self._live.observe_fast
        self._encode_features = model.encode_features
        self._has_features = bool(model.n_features)

    def act(self, features: Any = None) -> Ticket:
        """Choose the action of the next round and return its ticket.

        SessionError after the last round. The ticket has round (from 1), action (index from 0) and
        probability (NaN if the learner does not know it).

        features: of the row, a number or one per feature, for routers (`policies.Routed`) and
            learners of labels; else None.
        """
        self._acquire()
        try:
            table = self.ticket_table
            if features is None and not self._has_features:
                choice = self._choose(table.cells)
                if choice[0] <= 0:
                    choice = self._choose_after_plan()
            else:
                encoded = self._encode_features(features)
                choice = self._choose(table.cells, encoded)
                if choice[0] <= 0:
                    choice = self._choose_after_plan(encoded)
            table.last = ticket = new_ticket(Ticket, choice)
            return ticket
        except IndexError as error:
            # Routers and learners of labels have no state vector; their errors are their own.
            if isinstance(runner := self._live.runner, Runner):
                reject_invalid_action(self.learner, runner.memory, error)
            raise
        finally:
            self._release()

    def _repeat(self, features: Any, decision: list[float], *, force: bool) -> Ticket:
        """Issue the ticket of a recorded decision; see `LiveKernels.repeat`."""
        assert self._live.repeat is not None
        row = self._encode_features(features)
        while (choice := self._live.repeat(self.ticket_table.cells, row, decision, force=force))[
            0
        ] <= 0:
            if len(self.ticket_table) >= self.horizon:
                self._reject_more()
            self.ticket_table.reserve()
        self.ticket_table.last = ticket = new_ticket(Ticket, choice)
        return ticket

    def decision_of(self, round: int) -> list[float] | None:
        """Return a router's decision in a round (from 1); None without a router.

        The list has the stake (probability that the router acts), the action of the router (-1 if
        it is that of the safe learner), the action of the safe learner, and the capital (rows that
        the guard may still risk). Further numbers are the actions that models trained in this round
        choose for the rows without feedback yet.
        """
        return (
            None
            if self._live.decision is None
            else self._live.decision(self.ticket_table.cells, round)
        )

    def _choose_after_plan(self, *features: Any) -> tuple[int, int, float]:
        """Enlarge the ticket table, or let the learner plan, until it chooses."""
        while (choice := self._choose(self.ticket_table.cells, *features))[0] <= 0:
            if len(self.ticket_table) >= self.horizon:
                self._reject_more()
            if choice[0] == NEEDS_PLAN:
                self._live.runner.plan(len(self.ticket_table))
            else:
                self.ticket_table.reserve()
        return choice

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
        """Pass the feedback of a ticket to the learner; return whether it is new.

        False means that the same feedback was recorded before. FeedbackError is raised, and nothing
        changes, for an unknown ticket, invalid feedback, or feedback that differs from the recorded
        one.

        - `ticket`: a ticket that `act` has returned.
        - `loss`: in [0, 1]; one number for bandit learners, one per action for full-information
          learners.
        - `reward`: 1 - loss, instead of the loss.
        - `cost`: under a budget: of the action played (a number, or one per resource), or actions x
          resources with full feedback. Costs that the budget lists may be left out, and so may all
          feedback of an added null action.
        - `label`: for learners of labels: the true label, 0 or 1.
        - `weight`: for learners of labels: the loss of a wrong prediction, in (0, 1].
        """
        self._acquire()
        try:
            if reward is weight is None and self._observe_fast(
                self.ticket_table.cells, ticket, loss, cost, label
            ):
                return True
            round_ = self.ticket_table.round_of(ticket)
            feedback = {
                "loss": loss,
                "reward": reward,
                "cost": cost,
                "label": label,
                "weight": weight,
            }
            outcome = self.feedback_model.encode(round_, int(ticket.action), feedback)
            is_new = self.ticket_table.is_new(round_, outcome)
            if is_new:
                self._live.learn(self.ticket_table.cells, round_, round_, outcome)
            return is_new
        except OverflowError:
            # A round beyond 64 bits was never issued: raises FeedbackError.
            self.ticket_table.round_of(ticket)
            raise
        finally:
            self._release()

    @property
    def round(self) -> int:
        """The number of rounds played so far, which is that of the tickets issued."""
        return len(self.ticket_table)

    @property
    def answered(self) -> int:
        """The number of tickets (issued actions) with feedback."""
        return self.ticket_table.answered

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """All tickets issued so far, in the order of rounds."""
        return tuple(self.ticket_table.tickets)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """The outcome of each ticket, in the order of rounds; None while it is pending.

        Bandit feedback: the loss. Full feedback: the losses of all actions. Under a budget: the
        pair (either of these, tuple of its costs, action by action). Labels: the pair (label,
        weight).
        """
        encoded = (self.ticket_table.outcome(round_) for round_ in range(1, self.round + 1))
        return tuple(
            None if outcome is None else self.feedback_model.decode(outcome) for outcome in encoded
        )

    @property
    def pending(self) -> list[Ticket]:
        """The tickets (issued actions) without feedback, in the order of rounds."""
        return self.ticket_table.pending

    @property
    def balance(self) -> Balance:
        """Amounts spent, reserved and left of each resource; empty without a budget.

        Reserved are the worst costs of the actions without feedback yet.
        """
        return (
            self.feedback_model.balance(self._live.runner.workspace)
            if self._live.runner
            else NO_BALANCE
        )

    @property
    def state(self) -> Any:
        """The state of the learner, a named tuple; None for learners of labels.

        Its arrays may be views on the state in use: do not change them.
        """
        return self._live.runner.state if self._live.runner else None

    @property
    def mix(self) -> Floats | None:
        """The probability of each action in the last `act`, shape (actions,).

        None for a learner without mixes. The array may be in use: do not change it.
        """
        return self._live.runner.mix if self._live.runner else None

    @property
    def loss(self) -> float:
        """The total loss of the actions played, over the rounds with feedback."""
        return math.fsum(self._losses())

    @property
    def mistakes(self) -> int:
        """Number of rounds with feedback and loss above 0: wrong predictions of labels."""
        return sum(loss > 0 for loss in self._losses())

    def _losses(self) -> list[float]:
        pairs = (
            (ticket.action, self.ticket_table.outcome(ticket.round))
            for ticket in self.ticket_table.tickets
        )
        return [
            self.feedback_model.loss(action, outcome)
            for action, outcome in pairs
            if outcome is not None
        ]

    @property
    def switches(self) -> int:
        """The number of changes of the action from one round to the next."""
        actions = self.ticket_table.actions
        return int(np.count_nonzero(actions[1:] != actions[:-1]))

    def plot(
        self,
        curve: Literal["shares", "loss"] = "shares",
        *,
        ax: "Axes | None" = None,
        size: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the share of each action, or the mean loss, over rounds; return the figure.

        `figure.save("x.pdf")` writes it. ParameterError if there is nothing to draw yet.

        ax: Matplotlib axes to draw into; None for a new figure, of `size` in inches.

        >>> from tombola import UCB1
        >>> session = Session(UCB1(), ["call", "write"], horizon=10, seed=0)
        >>> _ = session.observe(session.act(), loss=0.5)
        >>> [text.get_text() for text in session.plot().axes[0].texts]
        ['call', 'write']
        """
        from tombola.worklists.session_page import plot_view
        from tombola.worklists.session_status import TicketView

        with self._lock:
            view = TicketView(self, 0, frozenset(), frozenset())  # the chart has no seed
        return plot_view(view, curve, axes=ax, size=size)

    def __repr__(self) -> str:
        return short_repr(
            f"Session({short_learner(self.learner)}, round {self.round} of {self.horizon}, "
            f"{self.round - self.answered} pending)"
        )

    def _repr_html_(self) -> str:
        answered = self.answered
        facts = [
            ("round", f"{self.round:,} of {self.horizon:,}"),
            ("answered", f"{answered:,}"),
            ("pending", f"{self.round - answered:,}"),
        ]
        facts += [("mean loss", format_number(self.loss / answered))] if answered else []
        for number, (amount, left) in enumerate(
            zip(self.balance.amounts, self.balance.left, strict=True), 1
        ):
            which = f" of resource {number}" if len(self.balance.amounts) > 1 else ""
            facts.append((f"left{which}", f"{format_number(left)} of {format_number(amount)}"))
        plays = np.bincount(self.ticket_table.actions.astype(np.int64), minlength=len(self.names))
        rows = [
            (name, f"{count:,}") for name, count in zip(self.names, plays.tolist(), strict=True)
        ]
        return html_block(
            f"Session of {short_learner(self.learner)}",
            facts,
            [HtmlTable(("action", "plays"), rows)],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the configuration and all events to a JSON file, atomically.

        `Session.load` reads it.
        """
        from tombola.worklists.session_json import save

        with self._lock:
            save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: AnyLearner | None = None) -> "Session":
        """Return the session of a file that `Session.save` wrote, by replaying its events.

        SessionError if it is not a session, or the learner is another one.

        learner: needed, with the same parameters, if it is not a learner of tombola; None: restored
            from the file.
        """
        from tombola.worklists.session_json import load

        return load(path, learner, cls)

    def _reject_more(self) -> NoReturn:
        raise SessionError(
            f"Session: all {self.horizon} rounds have been played; start another Session, or one "
            "with a larger horizon."
        )
