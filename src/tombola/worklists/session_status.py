"""Status of a session file: progress, and confidence intervals of mean losses."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._formatting import nan_to_none, plural
from tombola._types import Floats, Integers
from tombola.budget.budget import Balance
from tombola.engine.tickets import ACTION, ANSWER_INDEX, OUTCOME_START, PROBABILITY, Ticket
from tombola.evidence.certificate import Certificate
from tombola.evidence.monitors import RowMonitor, certify_plays
from tombola.evidence.pending import betting_level, narrowed_by_pending
from tombola.policies.live import RouterState
from tombola.statements import (
    Conclusion,
    Counts,
    Quantity,
    Standing,
    Statement,
    Verdict,
)
from tombola.units import UNIT_LOSSES, Units
from tombola.worklists.work_file import Assignment

if TYPE_CHECKING:
    from tombola.session import Session

# Numbers of a router's decision that a log has: stake, choice, safe choice, capital.
_N_LOGGED = 4
# Smaller shares of a mix are not reported: they would be printed as 0 %.
_MIN_SHARE = 0.005
# Bounds of a status, which are infinite without any outcome.
_BOUNDS = ("within", "regret", "worst_regret")
# Largest distance to the best action that is worth a sentence, as a share of the range of values.
_LARGEST_SHARE = 0.25
# Means and bounds that differ by less are equal: sums are rounded.
_ROUNDING = 1e-9
# Open tickets that the advice names at most.
_MAX_ADVICE = 3


class TicketView:
    """Read-only snapshot of a session's tickets and outcomes, by `SessionFile.view`.

    Later tickets and outcomes do not appear in it. An amended ticket has its new outcome. Its
    amended and cancelled are numbers of tickets, n_actions counts the actions without an added null
    action, issued the tickets; target is the mean loss to reach under a budget, or None.
    """

    def __init__(
        self, session: "Session", seed: int, amended: frozenset[int], cancelled: frozenset[int]
    ) -> None:
        self.learner = session.learner
        self.names = session.names
        self.seed = seed
        self.feedback_model = session.feedback_model
        self.target = None if session.budget is None else session.budget.target
        self.horizon = session.horizon
        self.n_actions = self.feedback_model.n_listed_actions
        self.issued = session.round
        self.amended = amended
        self.cancelled = cancelled
        # Rows of a table never change once answered, so copying the flags makes a snapshot.
        self._cells = session.ticket_table.cells[1 : self.issued + 1]
        self._answered = self._cells[:, ANSWER_INDEX] > 0

    @property
    def answered(self) -> int:
        """Number of tickets with an outcome."""
        return int(np.count_nonzero(self._answered))

    @property
    def actions(self) -> Integers:
        """The actions of all tickets as indices from 0, shape (tickets,)."""
        return self._cells[:, ACTION].astype(np.int64)

    @property
    def probabilities(self) -> Floats:
        """Probability with which each action was chosen, shape (tickets,); NaN if unknown."""
        return self._cells[:, PROBABILITY]

    @property
    def tickets(self) -> list[Ticket]:
        """All tickets issued, in order: number, action index and probability of each."""
        return list(
            map(
                Ticket,
                range(1, self.issued + 1),
                self.actions.tolist(),
                self.probabilities.tolist(),
            )
        )

    @property
    def outcomes(self) -> list[Any]:
        """Loss in [0, 1] by ticket, a tuple with full feedback; None without an outcome."""
        encoded = self.outcomes_of(np.arange(1, self.issued + 1))
        return [
            losses if known else None
            for losses, known in zip(encoded, self._answered.tolist(), strict=True)
        ]

    def outcomes_of(self, tickets: Integers) -> list[Any]:
        """Return the losses of these tickets, which have an outcome, as in `outcomes`."""
        rows = self._cells[tickets - 1, OUTCOME_START : OUTCOME_START + self._row_width].tolist()
        is_full = self.feedback_model.full_feedback
        return [tuple(row) for row in rows] if is_full else [row[0] for row in rows]

    @property
    def answered_tickets(self) -> Integers:
        """The numbers, from 1, of the tickets with an outcome, ascending."""
        return np.flatnonzero(self._answered) + 1

    @property
    def losses(self) -> Floats:
        """Losses in [0, 1] of the actions played, one per ticket of `answered_tickets`."""
        return self.losses_of(self.answered_tickets)

    def losses_of(self, tickets: Integers) -> Floats:
        """Return the losses of the actions played of these tickets, which have an outcome."""
        model = self.feedback_model
        losses: Floats = self._per_action(
            tickets, lambda action, outcome: (model.loss(action, outcome),)
        )[0]
        return losses

    @property
    def costs(self) -> Floats:
        """Costs of the actions played, shape (resources, tickets with an outcome)."""
        return self._per_action(self.answered_tickets, self.feedback_model.costs)

    @property
    def rows(self) -> Floats:
        """Losses, one row per answered ticket; with full feedback one column per action."""
        return self._cells[self._answered, OUTCOME_START : OUTCOME_START + self._row_width]

    @property
    def plays(self) -> list[Floats]:
        """Losses of each listed action in the order of play, NaN where an outcome is missing."""
        known = np.full((self.issued, self._row_width), math.nan)
        known[self._answered] = self.rows
        if self.feedback_model.full_feedback:
            return list(known.T)
        return [known[self.actions == action, 0] for action in range(self.n_actions)]

    @property
    def decisions(self) -> Floats:
        """Decisions of a router, shape (tickets, 4); (tickets, 0) without a router.

        Columns: stake (probability that the router's choice is played), action of the router (-1:
            none), action of the
        safe learner, and capital (loss that the guard may still risk, in rows).
        """
        start = OUTCOME_START + self.feedback_model.outcome_width
        return self._cells[:, start : start + min(self.feedback_model.n_decision, _N_LOGGED)]

    @property
    def switches(self) -> int:
        """Number of tickets whose action differs from that of the ticket before."""
        actions = self.actions
        return int((actions[1:] != actions[:-1]).sum())

    def _until_unanswered(self, rounds: Integers) -> Integers:
        """Return the ticket numbers before the first one without an outcome."""
        missing = np.flatnonzero(~self._answered[rounds - 1])
        return rounds[: missing[0]] if missing.size else rounds

    @property
    def _row_width(self) -> int:
        return self.n_actions if self.feedback_model.full_feedback else 1

    def _per_action(self, rounds: Integers, pick: Callable[[int, Any], Sequence[Any]]) -> Floats:
        """Apply `pick(action, outcome)` to the outcomes of each action, as columns."""
        actions = self.actions[rounds - 1]
        table = np.empty((len(pick(0, np.zeros(self.feedback_model.outcome_width))), len(rounds)))
        for action in np.flatnonzero(np.bincount(actions)).tolist():
            mine = actions == action
            outcomes = self._cells[
                rounds[mine] - 1, OUTCOME_START : OUTCOME_START + self.feedback_model.outcome_width
            ].T
            for column, numbers in zip(table, pick(action, outcomes), strict=True):
                column[mine] = numbers
        return table


class ActionStatus(NamedTuple):
    """Plays and outcomes of one action; confidence interval of its mean over all rows.

    plays, known: numbers of its tickets, and of its known outcomes; `mean` is theirs, NaN without
        any. Mean and interval are in the unit of the status.
    used: outcomes before the first ticket without one. Later ones count less in the interval, and
        a ticket without an outcome counts as the worst case: late outcomes may differ from others.
    open_ticket: number of the first ticket without an outcome if `used` is less than `known`; else
        0.
    """

    name: str
    plays: int
    known: int
    used: int
    mean: float
    low: float
    high: float
    open_ticket: int

    def texts(self) -> tuple[str, ...]:
        """Return cells of a table: name, plays, known outcomes, mean and interval."""
        mean = f"{self.mean:.4g}" if self.known else "–"
        interval = f"{self.low:.4g} to {self.high:.4g}"
        return self.name, f"{self.plays:,}", f"{self.known:,}", mean, interval


@dataclass(frozen=True)
class Status:
    """Progress and estimates of a session at one moment, in the unit of its outcomes.

    With probability 1 - `level` all intervals hold, and so do the bounds `within` and `regret`.

    played, answered, cancelled, amended: numbers of tickets; `pending` has those without an
        outcome.
    switches: number of tickets whose action differs from that of the ticket before.
    total: sum of the outcomes of the answered tickets.
    best, within: best action so far, and a bound on how much worse its mean is than the best mean
        of any action.
    regret: bound on how much worse the total of the n answered tickets is than n times the mean of
        the best action over all rows.
    worst_regret: the same bound over all tickets, if those without an outcome have the worst one.
    balance: amounts spent, reserved and left of each resource; empty without a budget.
    mix: under a budget, (action, share of the rows) of the current plan, largest share first; else
        empty.
    left_out: number of tickets of the null action, which leaves a row alone.
    target: mean to reach under a budget; None without a target.
    units: unit of the numbers.
    router: sentence about the router of a session with features; "" without a router.
    """

    learner: str
    seed: int
    rows: int
    played: int
    answered: int
    cancelled: int
    amended: int
    switches: int
    total: float
    actions: tuple[ActionStatus, ...]
    pending: tuple[Assignment, ...]
    level: float
    best: str
    within: float
    regret: float
    worst_regret: float
    balance: Balance
    mix: tuple[tuple[str, float], ...]
    left_out: int
    target: float | None = None
    units: Units = UNIT_LOSSES
    router: str = ""

    @property
    def balance_text(self) -> str:
        """Spent, reserved and left amounts by resource, as text; "" without a budget."""
        amounts = zip(
            self.balance.amounts,
            self.balance.spent,
            self.balance.reserved,
            self.balance.left,
            strict=True,
        )
        parts = [
            f"{s:.6g} spent, {r:.6g} reserved, {left:.6g} left of {a:.6g}"
            for a, s, r, left in amounts
        ]
        if len(parts) > 1:
            parts = [f"resource {number}: {part}" for number, part in enumerate(parts, 1)]
        return "; ".join(parts)

    @property
    def target_text(self) -> str:
        """Mean so far and target as text; "" without either."""
        if self.target is None or not self.answered:
            return ""
        return (
            f"mean {self.units.quantity} {self.mean:.4g} so far, target {self.target:.4g} over all "
            "rows"
        )

    @property
    def mean(self) -> float:
        """Mean of the outcomes of the answered tickets; NaN without any."""
        return self.total / self.answered if self.answered else math.nan

    @property
    def leader(self) -> ActionStatus | None:
        """Action with the best mean of its known outcomes; None without any. It proves nothing."""
        known = [action for action in self.actions if action.known]
        best_of = max if self.units.scores else min
        return best_of(known, key=lambda action: action.mean, default=None)

    @property
    def leaders(self) -> list[ActionStatus]:
        """The leader, and the actions with the same mean."""
        first = self.leader
        return [
            action
            for action in self.actions
            if first is not None and action.known and abs(action.mean - first.mean) <= _ROUNDING
        ]

    @property
    def statement(self) -> Statement:
        """What is proved about the best action of the list."""
        k = len(self.actions)
        has_choice = k > 1
        tolerance = _ROUNDING * self.units.gap(1.0)
        is_complete = all(action.high - action.low <= tolerance for action in self.actions)
        is_best = has_choice and self.answered > 0 and self.within <= tolerance
        claims: tuple[Conclusion, ...] = ()
        if is_best:
            claims = (Conclusion("best", (self.best,), field=k),)
        elif self._is_leader_bounded:
            claims = (Conclusion("within", (self.best,), field=k, amount=self.within),)
        is_over = self.played == self.rows and not self.pending
        verdict: Verdict = "undecided" if is_over else "running"
        if is_best:
            verdict = "exact" if is_complete else "proved"
        names = tuple(action.name for action in self.actions)
        return Statement(
            verdict,
            "recorded",
            claims,
            (Conclusion("best", names, field=k),) if has_choice and not is_best else (),
            level=0.0 if is_complete else self.level,
            quantity=Quantity(
                self.units.quantity, higher_is_better=self.units.scores, noun="action"
            ),
            counts=Counts(rows=self.rows, counted=self.answered),
            standing=self._standing,
        )

    @property
    def _is_leader_bounded(self) -> bool:
        """Whether the action ahead is the one with the best bound, and the bound says something.

        The bound of another action would confuse.
        """
        leader = self.leader
        if leader is None or leader.name != self.best or len(self.actions) < 2:
            return False
        return self.within <= self.units.gap(1.0) * _LARGEST_SHARE

    @property
    def _standing(self) -> Standing | None:
        """The action ahead so far, and the distance to the next one; None without two means."""
        means = sorted(
            (-action.mean if self.units.scores else action.mean)
            for action in self.actions
            if action.known
        )
        if len(means) < 2:
            return None
        best = -means[0] if self.units.scores else means[0]
        leaders = tuple(
            action.name
            for action in self.actions
            if action.known and abs(action.mean - best) <= _ROUNDING
        )
        return Standing(leaders, means[1] - means[0])

    @property
    def mix_text(self) -> str:
        """Share of the rows by action in the current plan, as text; "" without a budget."""
        shares = [f"{name} on {share:.0%}".replace("%", " %") for name, share in self.mix]
        return f"current plan: {', '.join(shares)} of the rows" if shares else ""

    @property
    def advice(self) -> str:
        """Sentence on tickets without an outcome that make an interval wide; "" if none."""
        waiting: dict[int, list[ActionStatus]] = {}
        for action in self.actions:
            if action.open_ticket:
                waiting.setdefault(action.open_ticket, []).append(action)
        pending = {assignment.ticket for assignment in self.pending}
        parts = []
        for ticket, actions in sorted(waiting.items())[:_MAX_ADVICE]:
            later = max(action.known - action.used for action in actions)
            # With full feedback a ticket is one of every action.
            name = f" of {actions[0].name}" if len(actions) == 1 else ""
            state = "is pending" if ticket in pending else "was cancelled"
            count = f"{plural(later, 'later outcome')} {'counts' if later == 1 else 'count'}"
            parts.append(f"ticket {ticket}{name} {state}, so {count} less in the interval")
        if not parts:
            return ""
        # A missing outcome may differ from the others, for example if failures are reported late or
        # never.
        record = "record the pending outcomes; " if waiting.keys() & pending else ""
        return (
            f"{'; '.join(parts)}; {record}if an action failed, record the worst outcome, do "
            "not cancel"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data; None for a number that is not finite.

        The total has the key "loss", "score" or the unit, which is also the value of "quantity".
        Further keys are "statement" (`Statement.to_json`) and the sentence "advice".
        """
        fields = dict(vars(self))
        total = fields.pop("total")
        quantity = fields.pop("units").quantity
        bounds = {name: fields[name] for name in _BOUNDS}
        return {
            **fields,
            **{name: bound if math.isfinite(bound) else None for name, bound in bounds.items()},
            quantity: total,
            "quantity": quantity,
            "balance": {**vars(self.balance), "left": self.balance.left},
            "mix": dict(self.mix),
            "actions": [nan_to_none(action._asdict()) for action in self.actions],
            "pending": [assignment.to_json() for assignment in self.pending],
            "statement": self.statement.to_json(),
            "advice": self.advice,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], units: Units) -> "Status":
        """Return the status that `to_json` wrote in these units; other keys are ignored."""
        fields = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        fields |= {name: math.inf if data[name] is None else data[name] for name in _BOUNDS}
        fields["total"] = data[data["quantity"]]
        fields["units"] = units
        fields["mix"] = tuple(data["mix"].items())
        amounts = (tuple(data["balance"][name]) for name in ("amounts", "spent", "reserved"))
        fields["balance"] = Balance(*amounts)
        fields["pending"] = tuple(map(Assignment.from_json, data["pending"]))
        fields["actions"] = tuple(
            ActionStatus(
                **{**action, "mean": math.nan if action["mean"] is None else action["mean"]}
            )
            for action in data["actions"]
        )
        return cls(**fields)


class Moment(NamedTuple):
    """What a status needs of a session that goes on: copies of what changes.

    balance: as of `Session.balance`. mix: of the last ticket; None without one. router: sentence
    about the router; "" without one.
    """

    balance: Balance
    mix: Floats | None
    router: str


def moment_of(session: "Session", level: float) -> Moment:
    """Return the present balance, mix and router of a session."""
    mix = session.mix
    return Moment(
        session.balance, None if mix is None else mix.copy(), _router_text(session, level)
    )


def status_of(
    moment: Moment,
    view: TicketView,
    pending: Sequence[Assignment],
    level: float,
    units: Units,
) -> Status:
    """Compute the status of a session from a snapshot of its tickets.

    moment: taken together with `view`.
    pending: the tickets without an outcome.
    level: probability that any interval or bound is wrong.
    """
    balance = moment.balance
    mix = moment.mix
    certificate = _certificate_of(view, level)
    plays = np.bincount(view.actions, minlength=len(view.names))
    losses = _losses_by_action(view)
    used = certificate.counts
    certificate = certificate.narrowed(losses)
    # Here, and only here, losses in [0, 1] become numbers of the user.
    actions = tuple(
        ActionStatus(
            name,
            int(plays[a]),
            len(losses[a]),
            int(used[a]),
            units.number(math.fsum(losses[a]) / len(losses[a])) if losses[a] else math.nan,
            *units.interval(*certificate.interval(a)),
            _first_open(view, a, int(used[a])) if used[a] < len(losses[a]) else 0,
        )
        for a, name in enumerate(view.names[: view.n_actions])
    )
    best = certificate.best
    answered = view.answered
    lost = units.gap(math.fsum(view.losses.tolist()))
    return Status(
        learner=repr(view.learner),
        seed=view.seed,
        rows=view.horizon,
        played=view.issued,
        answered=answered,
        cancelled=len(view.cancelled),
        amended=len(view.amended),
        switches=view.switches,
        total=answered * units.high - lost if units.scores else answered * units.low + lost,
        actions=actions,
        pending=tuple(pending),
        level=level,
        best=view.names[best],
        within=units.gap(certificate.within(best)),
        regret=units.gap(certificate.regret),
        worst_regret=units.gap(certificate.worst_regret),
        balance=balance,
        mix=_reported_shares(view.names, mix) if balance.amounts and mix is not None else (),
        left_out=int(plays[view.n_actions :].sum()),
        target=None if view.target is None else units.number(view.target),
        units=units,
        router=moment.router,
    )


def _router_text(session: "Session", level: float) -> str:
    """Return guard and certificate of a router in one sentence, or ""."""
    if not isinstance(session.state, RouterState):
        return ""
    from tombola.policies.certificate import certify_session

    now = session.state
    certificate = certify_session(session, level)
    if now.model is None and certificate is None:
        used = (
            "no router is in use yet"
            if not now.trained_on
            else "features do not help so far: no router is in use"
        )
        return f"{used}, {plural(now.answered, 'row')} answered"
    more = "" if certificate is None else f"; {certificate.text}"
    return f"router in use, capital {now.capital:.4g} rows on average over the guard's draws{more}"


def _reported_shares(names: Sequence[str], mix: Floats) -> tuple[tuple[str, float], ...]:
    """Return (action, share) for shares of at least 0.5 %, largest first."""
    shares = [
        (name, share)
        for name, share in zip(names, mix.tolist(), strict=True)
        if share >= _MIN_SHARE
    ]
    return tuple(sorted(shares, key=lambda pair: -pair[1]))


def _certificate_of(view: TicketView, level: float) -> Certificate:
    """Return the certificate of a view; a monitor of the session has the same."""
    names = view.names[: view.n_actions]
    totals = (view.issued, view.answered, _running_sum(view.losses))
    part = betting_level(level)
    if view.feedback_model.full_feedback:
        monitor = RowMonitor(names, view.horizon, part)
        monitor.extend(view.rows[: len(view._until_unanswered(np.arange(1, view.issued + 1)))])
        return narrowed_by_pending(monitor.certificate(*totals), view.plays, level)
    actions = view.actions
    used = np.concatenate(
        [view._until_unanswered(np.flatnonzero(actions == a) + 1) for a in range(view.n_actions)]
    )
    if view.feedback_model.n_features:
        # Rows on which an action was chosen by features are no sample of the list: no interval.
        return replace(
            certify_plays([], [], actions=view.n_actions, population=view.horizon, level=level),
            names=names,
            rounds=totals[0],
            answered=totals[1],
            loss=totals[2],
        )
    certificate = certify_plays(
        actions[used - 1],
        view.losses_of(used),
        actions=view.n_actions,
        population=view.horizon,
        level=part,
    )
    certificate = replace(
        certificate, names=names, rounds=totals[0], answered=totals[1], loss=totals[2]
    )
    return narrowed_by_pending(certificate, view.plays, level)


def _first_open(view: TicketView, action: int, used: int) -> int:
    """Return the ticket of an action after the first `used` ones."""
    mine = (
        np.arange(view.issued)
        if view.feedback_model.full_feedback
        else np.flatnonzero(view.actions == action)
    )
    return int(mine[used]) + 1


def _losses_by_action(view: TicketView) -> list[list[float]]:
    """Return the known losses of every listed action."""
    rows = view.rows
    if view.feedback_model.full_feedback:
        return [column.tolist() for column in rows.T]
    actions = view.actions[view.answered_tickets - 1]
    return [rows[actions == action, 0].tolist() for action in range(view.n_actions)]


def _running_sum(losses: Floats) -> float:
    """Return the sum in the order of rounds, as a monitor adds it up."""
    return 0.0 + float(np.cumsum(losses)[-1]) if losses.size else 0.0
