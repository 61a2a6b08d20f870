"""Naive twin of `TicketView` and `Status`: reads the events one by one into lists and dictionaries."""

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from tombola.engine.tickets import (
    OUTCOME_START,
    TicketTable,
    has_capacity,
    mark_answered,
    write_ticket,
)
from tombola.evidence import ActionMonitor
from tombola.worklists import ActionStatus, Assignment, SessionFile, Status
from tombola.worklists.session_file import cost_columns
from tombola.worklists.session_status import _reported_shares


def issue(table: TicketTable, action: int, probability: float) -> int:
    """Issue a ticket and return its round."""
    if not has_capacity(table.cells):
        table.reserve()
    return write_ticket(table.cells, action, probability)


def answer(table: TicketTable, round_: int, outcome: tuple[float, ...]) -> None:
    """Write an encoded outcome."""
    table.cells[round_, OUTCOME_START : OUTCOME_START + table.outcome_width] = outcome
    mark_answered(table.cells, round_)


class Run:
    """All tickets and outcomes of a session file."""

    def __init__(self, run: SessionFile) -> None:
        self.run = run
        self.tickets: list[tuple[int, float]] = []
        self.outcomes: dict[int, tuple[float, ...]] = {}
        self.amended: set[int] = set()
        self.cancelled: set[int] = set()
        with run._reading() as session:
            self.balance, self.mix = session.balance, session.mix
            run._log.rewind()
            for event in run._log.unread():
                self._apply(event)
        self.ids = run.ids()

    def _apply(self, event: Any) -> None:
        if event.kind == "ticket":
            action, probability = event.value
            self.tickets.append((action, math.nan if probability is None else probability))
        elif event.kind == "cancel":
            self.cancelled.add(event.key)
        else:
            self.outcomes[event.key] = tuple(event.value)
            if event.kind == "amend":
                self.amended.add(event.key)

    def known(self, action: int) -> list[float]:
        """Return the known losses of an action."""
        if self.run.feedback_model.full_feedback:
            return [outcome[action] for _, outcome in sorted(self.outcomes.items())]
        mine = [round_ for round_, (played, _) in enumerate(self.tickets, 1) if played == action]
        return [self.outcomes[round_][0] for round_ in mine if round_ in self.outcomes]

    def open_ticket(self, action: int, waiting: int) -> int:
        """Return the first open ticket of an action that `waiting` later outcomes wait for, 0 without any."""
        full = self.run.feedback_model.full_feedback
        mine = [
            round_ for round_, (played, _) in enumerate(self.tickets, 1) if full or played == action
        ]
        return next(round_ for round_ in mine if round_ not in self.outcomes) if waiting else 0

    def loss(self, round_: int) -> float:
        return self.run.feedback_model.loss(self.tickets[round_ - 1][0], self.outcomes[round_])

    def certificate(self, level: float) -> Any:
        """Return the certificate of an `ActionMonitor` that has followed every ticket."""
        setting, table = (
            self.run.feedback_model,
            TicketTable(self.run.horizon, self.run.feedback_model.outcome_width),
        )
        for ticket in self.tickets:
            issue(table, *ticket)
        for round_, outcome in self.outcomes.items():
            answer(table, round_, outcome)
        facts = {
            "names": self.run.names,
            "actions": setting.n_listed_actions,
            "horizon": setting.horizon,
        }
        session: Any = SimpleNamespace(
            feedback_model=setting, ticket_table=table, learner=self.run.learner, **facts
        )
        return ActionMonitor(session, level=level).certificate()

    def status(self, level: float = 0.05) -> Status:
        run, seen = self.run, self.certificate(level)
        played = [action for action, _ in self.tickets]
        listed = run.feedback_model.n_listed_actions
        gone = {*self.outcomes, *self.cancelled}
        return Status(
            learner=repr(run.learner),
            seed=run.seed,
            rows=run.horizon,
            played=len(played),
            answered=len(self.outcomes),
            cancelled=len(self.cancelled),
            amended=len(self.amended),
            switches=sum(one != other for one, other in pairwise(played)),
            total=math.fsum(self.loss(round_) for round_ in self.outcomes),
            actions=tuple(
                ActionStatus(
                    name,
                    played.count(a),
                    len(known),
                    int(seen.counts[a]),
                    math.fsum(known) / len(known) if known else math.nan,
                    seen.interval(a).low,
                    seen.interval(a).high,
                    self.open_ticket(a, len(known) - int(seen.counts[a])),
                )
                for a, name in enumerate(run.names[:listed])
                for known in [self.known(a)]
            ),
            pending=tuple(
                Assignment(round_, self.ids[round_ - 1], run.names[action], probability)
                for round_, (action, probability) in enumerate(self.tickets, 1)
                if round_ not in gone
            ),
            level=level,
            best=run.names[seen.best],
            within=seen.within(seen.best),
            regret=seen.regret,
            worst_regret=seen.worst_regret,
            balance=self.balance,
            mix=_reported_shares(run.names, self.mix)
            if self.balance.amounts and self.mix is not None
            else (),
            left_out=sum(action >= listed for action in played),
            target=None if run.budget is None else run.budget.target,
        )

    def table(self) -> list[list[Any]]:
        """Return the rows of the table that `export` writes, the names of the columns first."""
        whole, listed = (
            self.run.feedback_model.full_feedback,
            self.run.feedback_model.n_listed_actions,
        )
        prices = cost_columns(self.run.budget)
        names = ["ticket", "id", "action", "probability", "loss", "amended", "cancelled", *prices]
        rows: list[list[Any]] = [
            names + [f"loss:{name}" for name in self.run.names[:listed] if whole]
        ]
        for round_, (action, probability) in enumerate(self.tickets, 1):
            row = [
                round_,
                self.ids[round_ - 1],
                self.run.names[action],
                None if math.isnan(probability) else probability,
            ]
            numbers: list[Any] = [None] * (len(prices) + listed * whole)
            if round_ in self.outcomes:
                outcome = self.outcomes[round_]
                numbers = [
                    *self.run.feedback_model.costs(action, outcome),
                    *(outcome[:listed] if whole else ()),
                ]
            loss = self.loss(round_) if round_ in self.outcomes else None
            rows.append([*row, loss, round_ in self.amended, round_ in self.cancelled, *numbers])
        return rows
