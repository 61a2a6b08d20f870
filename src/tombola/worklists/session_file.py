"""SessionFile: a `Session` with row ids on an event log, safe under `kill -9`.

The file holds the configuration (learner, actions, budget, seed), the row ids in random order, and
every ticket and outcome as an event. The learner state is rebuilt by replaying the events; every
ticket must be repeated to the bit. Feedback rules are those of `tombola.session`; in addition:

killed               a call that returned is on the disk; any other call happened completely, or not
                     at all
ticket not received  the process was killed before it could pass the ticket on; `pending` lists it
features             stored with the rows; the log of a router has its choices, so that opening it
                     trains once
two processes        each call holds the lock of the file; no ticket is issued twice
damaged, replaced    SessionError
"""

import math
import os
import secrets
import shlex
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola import __version__, _validate
from tombola._formatting import (
    HtmlTable,
    confidence_text,
    html_block,
    is_cli_style,
    is_encodable,
    plural,
    short_learner,
    short_repr,
)
from tombola._types import AnyLearner, Floats
from tombola.budget.budget import Budget
from tombola.engine.compiler import Workload, compiled, expected_rounds, interpreted
from tombola.engine.runner import Runner
from tombola.engine.tickets import (
    ACTION,
    ANSWER_INDEX,
    OUTCOME_START,
    Ticket,
)
from tombola.errors import (
    MALFORMED_DATA_ERRORS,
    ConflictError,
    ExhaustedError,
    FeedbackError,
    LearnerError,
    ParameterError,
    SessionError,
)
from tombola.learners.spec import from_spec, to_spec
from tombola.order import draw_order
from tombola.rng import RngStreams
from tombola.session import Session
from tombola.units import Kind, Units
from tombola.worklists.event_log import EventLog, LogEvent
from tombola.worklists.learner_marks import (
    LearnerState,
    Marks,
    history_after,
    is_of_package,
    issued_at,
)
from tombola.worklists.leases import Leases
from tombola.worklists.session_events import (
    Losses,
    ReplayError,
    encode_outcome,
    replay_outcome,
    replay_ticket,
    stored_outcome,
    ticket_value,
)
from tombola.worklists.snapshot import read_snapshot, snapshot_path, write_snapshot
from tombola.worklists.work_file import (
    Assignment,
    Description,
    Outcome,
    WorkFile,
    check_session_only,
    errors_at,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.learners.base import Learner
    from tombola.worklists.session_status import Status, TicketView

# Seconds to load Numba and cached kernels: a shorter replay is faster in plain Python.
_COMPILER_LOAD_SECONDS = 0.7
# Rows whose features are read from the file at a time: few queries, little memory.
_FEATURE_ROWS = 400
# Row ids that are read in one transaction.
_IDS_AT_A_TIME = 4000
# Least number of new events for a snapshot: fewer are replayed in less than a second.
_SNAPSHOT_EVENTS = 20_000
# Events between two looks at whether to mark the state of the learner.
_MARK_INTERVAL = 1024
# Most corrections by another process that are replayed one by one; more are replayed together.
_MAX_CORRECTIONS = 20
# Name of the null action that a budget adds: it leaves the row alone, costs nothing and has loss 1.
_NULL = "null"

# SQL statements that create the views of a session file, for people who open it with SQLite. The
# only view, `tickets`, has one line per ticket: number, row id, action, probability, and kind and
# value of its outcome.
VIEWS = (
    """CREATE VIEW tickets AS
        SELECT ticket.key AS ticket, pool.id, names.value AS action, json_extract(ticket.value, '$[1]') AS probability,
            feedback.kind, feedback.value
        FROM events AS ticket JOIN pool ON pool.place = ticket.key JOIN about ON about.name = 'actions'
        JOIN json_each(about.value) AS names ON names.key = json_extract(ticket.value, '$[0]')
        LEFT JOIN events AS feedback ON feedback.key = ticket.key AND feedback.kind NOT IN ('ticket', 'lease')
        WHERE ticket.kind = 'ticket'""",
)


class SessionFile(WorkFile[Session]):
    """A session on a list of rows, in a file that several processes may open.

    Made by `SessionFile.start` or `SessionFile.open`; a context manager that closes the file.
    `next` issues tickets, `record` takes their outcomes. Attributes beside the parameters of
    `start`: direction (its parameter kind), names and horizon (actions, with an added null action
    last, and number of rows), units
    (conversion between outcomes and losses), feedback_model (encodes and checks outcomes), and
    interpreted (whether a short file is replayed without loading the compiler; False, and set by
    commands).

    >>> import tempfile
    >>> from tombola import UCB1
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/calls.run"
    >>> file = SessionFile.start(path, ["Ann", "Bob", "Cem"], ["call", "write"], UCB1(), seed=1)
    >>> [(task.id, task.action) for task in file.next(2)]
    [('Bob', 'call'), ('Cem', 'write')]
    >>> file.record(2, loss=0.25), file.record(2, loss=0.25)
    (True, False)
    >>> file.amend(2, loss=0.75)
    0.25
    >>> file.close()
    >>> with SessionFile.open(path) as file:
    ...     file.pending
    [Assignment(ticket=1, id='Bob', action='call', probability=1.0, since=None, run=1)]
    >>> folder.cleanup()
    """

    kind = "session"
    _alternative = "SessionFile.open(path) there"

    def __init__(self, log: EventLog, learner: AnyLearner) -> None:
        super().__init__(log)
        self.learner = learner
        self.names = tuple(str(name) for name in log.about["actions"])
        self.horizon = log.length
        self.seed = int(log.about["seed"])
        self.columns = tuple(str(name) for name in log.about["columns"])
        self.id_column = str(log.about["id_column"])
        self.delimiter = str(log.about["delimiter"])
        direction, low, high = log.about["outcome"]
        self.direction: Kind | None = direction if direction in ("losses", "scores") else None
        self.range = float(low), float(high)
        self.units = Units(*self.range, scores=self.direction == "scores")
        budget = log.about.get("budget")
        self.budget = None if budget is None else Budget(*budget)
        self.interpreted = False
        self._ignores_snapshot = False
        self.feature_names = tuple(str(name) for name in log.about.get("features") or ())
        # Features of the first rows in the order of play, read from the file when they are needed.
        self._features: list[list[float]] = []
        count = len(self.feature_names)
        self._new_session = partial(
            _new_session, learner, self.names, self.horizon, self.budget, self.seed, count
        )
        with interpreted():
            self.feedback_model = self._new_session().feedback_model

    @classmethod
    def start(
        cls,
        path: str | Path,
        ids: Iterable[str],
        actions: Sequence[str],
        learner: AnyLearner,
        *,
        budget: Budget | None = None,
        seed: int | None = None,
        features: Any = None,
        feature_names: Sequence[str] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        id_column: str = "id",
        kind: Kind | None = None,
        range: tuple[float, float] = (0.0, 1.0),
        delimiter: str = ",",
    ) -> "SessionFile":
        """Shuffle the rows and write a new file; SessionError if it exists already.

        ids: one per row, all different.
        learner: any learner but one of labels.
        budget: for a learner with a budget: amounts with worst costs, or prices; else None.
        seed: determines the order of the rows and the learner's random choices; drawn and stored if
            None.
        features, feature_names: for a router: table (rows, features), NaN for a missing value;
            None: no features.
        columns, id_column: columns of the user's list by name, one text per row, which tables of
            tickets show.
        kind, range: outcomes in tables, texts and pages are "losses" or "scores" from `range`;
            None: losses in texts, and in tables by the name of the column.
        delimiter: character between the cells of CSV tables of tickets.
        """
        _validate.not_text("SessionFile.start", "ids", ids)
        _validate.not_text("SessionFile.start", "actions", actions)
        rows = [str(id_) for id_ in ids]
        names = [str(name) for name in actions]
        if seed is None:
            seed = secrets.randbits(32)
        seed = _validate.integer("SessionFile.start", "seed", seed, least=0)
        _check_names("rows", rows)
        names = [*names, _NULL] if budget is not None and budget.null == "add" else names
        _check_names("actions", names)
        table, listed_features = _feature_table(features, feature_names, len(rows))
        with interpreted():
            # Rejects a bad configuration before a file exists.
            _new_session(learner, names, len(rows), budget, seed, len(listed_features))
        own = {str(name): [str(cell) for cell in cells] for name, cells in (columns or {}).items()}
        if wrong := next((name for name, cells in own.items() if len(cells) != len(rows)), None):
            raise ParameterError(
                f"SessionFile.start: expected {len(rows)} cells in column {wrong!r}, got "
                f"{len(own[wrong])}; give one "
                "for each row."
            )
        order = draw_order("random", len(rows), RngStreams(seed).order()).tolist()
        # The ids are stored once, in the pool itself.
        stored = [cells for name, cells in own.items() if name != id_column]
        about = {
            "kind": "session",
            "tombola": __version__,
            "learner": to_spec(learner),
            "actions": names,
            "budget": None if budget is None else budget.to_json(),
            "seed": seed,
            "columns": list(own if id_column in own else [id_column, *own]),
            "id_column": id_column,
            "outcome": [kind, *map(float, range)],
            "delimiter": delimiter,
            **({"features": listed_features} if listed_features else {}),
        }
        # Features follow the list's own cells; repr keeps every bit.
        cells = (
            [*(column[row] for column in stored), *map(repr, table[row].tolist())] for row in order
        )
        ids_in_order = [rows[row] for row in order]
        return cls(
            EventLog.create(Path(path), "SessionFile", about, ids_in_order, VIEWS, cells), learner
        )

    @classmethod
    def open(cls, path: str | Path, learner: "Learner | None" = None) -> "SessionFile":
        """Open an existing session file; SessionError if it is missing or damaged.

        learner: needed if it is not a learner of tombola; None: restored from the file.
        """
        return cls.of_log(EventLog.open(Path(path), "SessionFile", "session"), learner)

    @classmethod
    def of_log(cls, log: EventLog, learner: "Learner | None" = None) -> "SessionFile":
        """Return the session of an open event log, as `open`."""
        with log.closed_on_error(), log.malformed_data_as_error():
            return cls(log, from_spec(log.about["learner"], learner))

    def describe(self) -> Description:
        """Return the settings that do not change."""
        model = self.feedback_model
        return Description(
            kind="session",
            rows=self.horizon,
            actions=self.names,
            n_listed=int(model.n_listed_actions),
            full_feedback=bool(model.full_feedback),
            columns=self.columns,
            id_column=self.id_column,
            delimiter=self.delimiter,
            direction=self.direction,
            range=self.range,
            cost_columns=cost_columns(self.budget),
            learner=repr(self.learner),
        )

    def _issue(self, count: int | None, *, is_optional: bool = False) -> list[int]:
        session = self._current()
        if session.round == self.horizon and not is_optional:
            raise ExhaustedError(
                "SessionFile.next: expected rows that are left, got none of "
                f"{plural(self.horizon, 'row')}, and "
                f"{plural(len(self._pending_numbers()), 'pending ticket')}; record outcomes, or "
                "start another session."
            )
        last = min(session.round + (count or self._lease_size), self.horizon)
        rounds = list(range(session.round + 1, last + 1))
        for round_ in rounds:
            ticket = session.act(self._features_of(round_))
            self._log.append(
                "ticket", round_, ticket_value(ticket, decision=session.decision_of(round_))
            )
            if self._is_null(ticket):
                owner = "SessionFile.next"
                self._store(session, round_, encode_outcome(session, Outcome(round_), owner))
        return rounds

    def _pending_numbers(self) -> list[int]:
        return [
            ticket.round
            for ticket in self._current().pending
            if ticket.round not in self._cancelled
        ]

    def _items(self, numbers: Iterable[int]) -> list[Assignment]:
        table = self._current().ticket_table
        tickets = [table.ticket(number) for number in numbers]
        ids = self._log.ids_of([ticket.round for ticket in tickets])
        return [
            Assignment(
                ticket.round,
                id_,
                self.names[ticket.action],
                # One NaN object for all, so that equal assignments compare equal.
                math.nan if math.isnan(ticket.probability) else ticket.probability,
                self._since(ticket.round),
            )
            for ticket, id_ in zip(tickets, ids, strict=True)
        ]

    @property
    def _lease_size(self) -> int:
        return 1

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none, as `record`; return how many are new."""
        with self._writing() as session:
            # All are checked before the first one is stored: a rejected batch changes nothing.
            encoded: dict[int, tuple[float, ...]] = {}
            for outcome in outcomes:
                with errors_at(outcome.source):
                    ticket, numbers = self._checked(session, outcome, encoded)
                if numbers is not None:
                    encoded[ticket] = numbers
            for ticket, numbers in encoded.items():
                self._store(session, ticket, numbers)
            return len(encoded)

    def amend(self, ticket: int, *, loss: Any = None, reward: Any = None) -> Losses:
        """Replace a wrong outcome; return the wrong loss, or losses with full feedback.

        The learner replays the session with the new outcome, given as to `record`. Tickets issued
        since stay as they are, and the wrong outcome stays in the log. FeedbackError under a
        budget, ConflictError if the ticket has no outcome yet.
        """
        with self._writing() as session:
            if not self.feedback_model.supports_amend:
                raise FeedbackError(
                    "SessionFile.amend: expected a session without a budget, got one with a "
                    "budget, and money spent "
                    "stays spent; record the next outcomes as they are."
                )
            number = self._issued(session, "SessionFile.amend", ticket)
            before = session.ticket_table.outcome(number)
            if before is None:
                raise ConflictError(
                    f"SessionFile.amend: expected a ticket with an outcome, got {number}, which "
                    "has none; "
                    "record it first."
                )
            outcome = encode_outcome(session, Outcome(number, loss, reward), "SessionFile.amend")
            self._log.append("amend", number, list(outcome))
            # Replay before the transaction ends: a learner that fails leaves the file as it was.
            if session._live.replay is not None:
                self._learn_again(session, number, outcome)
            else:
                self._log.flush()
                self._replay_amended()
            losses: Losses = self.feedback_model.decode(before)
            return losses

    def cancel(self, ticket: int) -> bool:
        """Cancel a ticket that never gets an outcome; return False if already cancelled.

        ConflictError if it has an outcome. Its row is not issued again, and the interval of its
        action uses no loss of later tickets. If the action failed, record the worst loss instead.
        """
        with self._writing() as session:
            number = self._issued(session, "SessionFile.cancel", ticket)
            if session.ticket_table.outcome(number) is not None:
                raise ConflictError(
                    f"SessionFile.cancel: ticket {number} has an outcome; amend it instead."
                )
            if number in self._cancelled:
                return False
            self._log.append("cancel", number, None)
            self._cancelled.add(number)
            return True

    @property
    def issued(self) -> int:
        """The number of tickets issued so far, by all processes."""
        with self._reading() as session:
            return session.round

    @property
    def done(self) -> bool:
        """Whether all rows have a ticket."""
        return self.issued == self.horizon

    def ticket_of(self, id: str, action: str = "", run: int | None = None) -> int:
        """Return the number of the ticket of a row; FeedbackError if there is none."""
        name = str(id)
        with self._reading() as session:
            place = self._log.place_of(name) if is_encodable(name) else None
            issued = session.round
        if place is None:
            raise FeedbackError(
                f"SessionFile: expected the id of one of the {plural(self.horizon, 'row')}, got "
                f"{id!r}; check its name."
            )
        if place > issued:
            raise FeedbackError(
                f"SessionFile: expected a row with a ticket, got {id!r}, which has no ticket yet; "
                "issue it with tombola session next, or leave its outcome blank."
            )
        return place

    def assignment(self, ticket: int) -> Assignment:
        """Return the ticket with this number, from 1; FeedbackError if it was not issued."""
        with self._reading() as session:
            number = self._issued(session, "SessionFile.assignment", ticket)
            return self._items([number])[0]

    def rows_of(self, assignments: Sequence[Assignment]) -> list[tuple[str, ...]]:
        """Return the row of each ticket: cells of the user's list, in `columns` order."""
        with self._reading():
            cells = [iter(row) for row in self._log.cells_of([task.ticket for task in assignments])]
        return [
            tuple(task.id if name == self.id_column else next(row, "") for name in self.columns)
            for task, row in zip(assignments, cells, strict=True)
        ]

    def status(self, level: float = 0.05, units: Units | None = None) -> "Status":
        """Return progress, pending tickets, and mean outcomes with intervals at this level.

        units: unit of its numbers; None: that of the outcomes.
        """
        from tombola.worklists.session_status import moment_of, status_of

        with self._reading() as session:
            pending = self._items(self._pending_numbers())
            view = self._view(session)
            moment = moment_of(session, level)
        # Writers go on while the intervals are computed.
        return status_of(moment, view, pending, level, units or self.units)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `Status.to_json`, kind, done and summary."""
        status = self.status()
        left = len(status.pending)
        more = {
            "kind": self.kind,
            "done": status.played == status.rows,
            "summary": _summary(status.answered, status.rows, left),
        }
        return status.to_json() | more

    def summary(self) -> str:
        """Return one line on the state."""
        counts = self.counts()
        return _summary(counts["answered"], counts["rows"], counts["pending"])

    def counts(self) -> dict[str, Any]:
        """Return the numbers of rows, and of tickets by state."""
        view = self.view()
        n_cancelled = len(view.cancelled)
        return {
            "rows": view.horizon,
            "issued": view.issued,
            "answered": view.answered,
            "cancelled": n_cancelled,
            "pending": view.issued - view.answered - n_cancelled,
            "done": view.issued == view.horizon,
        }

    def export(self, path: str | PathLike[str]) -> int:
        """Write all tickets, in the session's unit, to .csv or .parquet; return how many."""
        from tombola.worklists.ticket_tables import export_tickets

        return export_tickets(self, Path(path))

    def view(self) -> "TicketView":
        """Return a read-only snapshot of all tickets and outcomes, as arrays."""
        with self._reading() as session:
            return self._view(session)

    def ids(self) -> list[str]:
        """Return all row ids in the order of play: ticket n is for the n-th id."""
        return list(self.each_id())

    def each_id(self) -> Generator[str, None, None]:
        """Yield the row ids in the order of play, without a list of all in memory.

        They never change, so they are read by a connection of their own, a few in a transaction:
        writers go on.
        """
        with closing(EventLog.open(self.path, "SessionFile", "session")) as log:
            log.only_reads = True
            for first in range(1, self.horizon + 1, _IDS_AT_A_TIME):
                places = range(first, min(self.horizon, first + _IDS_AT_A_TIME - 1) + 1)
                with log.reading():
                    ids = list(log.ids_of(places))
                yield from ids

    @property
    def state(self) -> Any:
        """The learner's state, a named tuple of numbers and arrays; do not change it."""
        with self._reading() as session:
            return session.state

    def plot(
        self,
        curve: Literal["shares", "loss"] = "shares",
        *,
        ax: "Axes | None" = None,
        size: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the share of each action, or the mean loss, over rounds, as `Session.plot`."""
        from tombola.worklists.session_page import plot_view

        return plot_view(self.view(), curve, axes=ax, size=size, units=self.units)

    def __repr__(self) -> str:
        return short_repr(
            f"SessionFile({self.path.name!r}, {short_learner(self.learner)}, {self.horizon} rows)"
        )

    def _repr_html_(self) -> str | None:
        try:
            now = self.status()
        except SessionError:
            return None  # a closed, moved or damaged file: a notebook then shows `__repr__`
        facts = [
            ("issued", f"{now.played:,} of {now.rows:,}"),
            ("answered", f"{now.answered:,}"),
            ("pending", f"{len(now.pending):,}"),
        ]
        heads = (
            "action",
            "plays",
            "answered",
            f"mean {self.units.quantity}",
            f"{confidence_text(now.level, percent=True)} interval",
        )
        table = HtmlTable(heads, [action.texts() for action in now.actions])
        notes = [now.balance_text, now.router, now.statement.full]
        return html_block(
            f"SessionFile {self.path.name}: {short_learner(self.learner)}", facts, [table], notes
        )

    def _forget(self) -> None:
        super()._forget()
        self._session: Session | None = None
        self._marks = Marks()
        self._saved = 0
        self._cancelled: set[int] = set()
        self._amended: set[int] = set()

    def _restart(self) -> Session:
        """Return a session at its start; all events are unread."""
        self._forget()
        session = self._session = self._new_session()
        # Memory for all rounds, which the system provides page by page: no copies while the table
        # grows.
        session.ticket_table.cells = np.zeros(
            (1 + self.horizon, session.ticket_table.cells.shape[1])
        )
        return session

    def _kernels_for(self, events: int) -> AbstractContextManager[None]:
        """Return the context in which a session is made that replays so many events."""
        replay = Workload.of_rounds(events / 2, len(self.names)).seconds
        is_short = self.interpreted and not self.learner.plans and replay < _COMPILER_LOAD_SECONDS
        return interpreted() if is_short else nullcontext()

    def _features_of(self, round_: Any) -> list[float] | None:
        """Return the features of the row of a round; None without any."""
        if not self.feature_names or type(round_) is not int or not 1 <= round_ <= self.horizon:
            return None
        while len(self._features) < round_:
            first = len(self._features) + 1
            places = range(first, min(self.horizon, first + _FEATURE_ROWS - 1) + 1)
            for cells in self._log.cells_of(places):
                with self._log.malformed_data_as_error():
                    self._features.append(
                        [float(cell) for cell in cells[-len(self.feature_names) :]]
                    )
        return self._features[round_ - 1]

    def _current(self) -> Session:
        """Return the session with all unread events applied."""
        session = self._session
        is_new = session is None
        if session is None:
            snapshot = None if self._ignores_snapshot else self._read_snapshot()
            with self._kernels_for(self._log.unread_count):
                session = self._restart()
            if snapshot is not None:
                self._restore(session, *snapshot)
                is_new = False
        before = session.round
        table = session.ticket_table
        corrections = 0
        for event in self._log.unread():
            if event.kind == "amend":
                corrections += 1
                # Few corrections of a state that is here: the learner alone goes back.
                if is_new or session._live.replay is None or corrections > _MAX_CORRECTIONS:
                    return self._replay_amended()
                session = self._correct(session, event)
                table = session.ticket_table
                continue
            self._apply(session, event)
            if event.number % _MARK_INTERVAL == 0:
                self._note(session)
        self._note(session)
        # `next` writes the ticket of an added null action together with its outcome.
        for round_ in range(before + 1, session.round + 1) if self.budget is not None else ():
            if self._is_null(table.ticket(round_)) and table.outcome(round_) is None:
                raise self._log.damage_error(f"ticket {round_} of the null action has no outcome")
        return session

    def _is_null(self, ticket: Ticket) -> bool:
        """Return whether a ticket is of an added null action, whose outcome is known."""
        return (
            ticket.action >= self.feedback_model.n_listed_actions
            and not self.feedback_model.full_feedback
        )

    def _replay_amended(self) -> Session:
        """Replay all events, each outcome with its last amendment."""
        self._log.rewind()
        amendments = {event.key: event for event in self._log.unread() if event.kind == "amend"}
        last = max(event.number for event in amendments.values())
        session = self._restart()
        check = True
        for event in self._log.unread():
            if event.kind == "outcome" and event.key in amendments:
                # From here to the last amendment the learner knew another outcome when it acted.
                check = False
                event = event._replace(value=amendments[event.key].value)
            self._apply(session, event, check=check or event.number > last)
        return session

    def _correct(self, session: Session, event: LogEvent) -> Session:
        """Replay a correction of another process; SessionError if it is malformed."""
        with self._malformed_event_as_error(event):
            if _outcome_at(session, event.key) is None:
                raise ValueError("ticket has no outcome to amend")
            outcome = stored_outcome(session, event.key, event.value)
            action = int(session.ticket_table.cells[event.key, ACTION])
            if self.feedback_model.validate(action, outcome) != outcome:
                raise ValueError("malformed outcome")
        return self._learn_again(session, event.key, outcome)

    def prepare(self) -> None:
        """Compile now what a correction of a long session needs, so that it waits for nothing.

        It may run in a thread of its own. A short list needs no compiler.
        """
        longest = Workload.of_rounds(self.horizon, len(self.names)).seconds
        if self.learner.plans or longest < _COMPILER_LOAD_SECONDS:
            return
        with compiled():
            session = self._new_session()
            if session._live.replay is not None:
                session._live.replay()
        self.interpreted = False

    def _learn_again(self, session: Session, number: int, outcome: tuple[float, ...]) -> Session:
        """Replay the learner from the first mark before an outcome that was wrong.

        Tickets stay as they were issued. It gives the bits of `_replay_amended`.
        """
        # A view of the tickets before the correction keeps its own.
        cells = session.ticket_table.cells.copy()
        end = OUTCOME_START + self.feedback_model.outcome_width
        cells[number, OUTCOME_START:end] = outcome
        position, state = self._marks.back_to(int(cells[number, ANSWER_INDEX]) - 1)
        history = history_after(cells, position)
        with self._kernels_for(len(history)), expected_rounds(len(history) / 2, len(self.names)):
            again = self._session = self._new_session()
            assert again._live.replay is not None
            replay = again._live.replay()
        again.ticket_table.cells = cells
        runner = again._live.runner
        if state is not None:
            state.put(runner)
        done = 0
        while done < len(history):
            # To the next place of a mark.
            part = history[: done + _MARK_INTERVAL - (position + done) % _MARK_INTERVAL]
            while (done := replay(cells, part, done)) < len(part):
                runner.plan(issued_at(cells, position + done))
            if (position + done) % _MARK_INTERVAL == 0:
                self._marks.note(position + done, runner)
        self._amended.add(number)
        return again

    def _note(self, session: Session) -> None:
        """Keep the state of the learner from time to time, for corrections."""
        table = session.ticket_table
        self._marks.note(len(table) + table.answered, session._live.runner)

    def save_state(self) -> None:
        """Write a snapshot beside the file if that saves much replay; it is only a cache."""
        with self._locked():
            session = self._session
            position = self._log.position
            new = position - self._saved
            if session is None or new < max(_SNAPSHOT_EVENTS, position // 5):
                return
            parts = self._state_parts(session)
            if parts is not None:
                write_snapshot(self.path, position, self._log.digest, parts)
            self._saved = position

    def close(self) -> None:
        """Close the file; everything recorded is on the disk already."""
        if os.getpid() == self._process:
            self.save_state()
        super().close()

    def _state_parts(self, session: Session) -> dict[str, Any] | None:
        """Return the state as arrays and texts by name; None if it is not only arrays."""
        runner = session._live.runner
        if not (isinstance(runner, Runner) and is_of_package(self.learner)):
            return None
        return {
            "cells": session.ticket_table.cells[: session.round + 1],
            "cancelled": np.array(sorted(self._cancelled), np.int64),
            "amended": np.array(sorted(self._amended), np.int64),
            **LearnerState.of(runner)._asdict(),
            **self._marks.to_columns(),
            **self._leases.to_columns(),
        }

    def _read_snapshot(self) -> tuple[int, bytes, dict[str, Any]] | None:
        """Return the snapshot beside the file if it fits the log, which then starts behind it."""
        if self._log.unread_count < _SNAPSHOT_EVENTS or not is_of_package(self.learner):
            return None
        snapshot = read_snapshot(self.path)
        if snapshot is None or not self._log.skip_to(*snapshot[:2]):
            return None
        return snapshot

    def _restore(self, session: Session, number: int, digest: bytes, parts: dict[str, Any]) -> None:
        cells = parts["cells"]
        session.ticket_table.cells[: len(cells)] = cells
        state = [parts[name] for name in LearnerState._fields]
        LearnerState(*state).put(session._live.runner)
        self._cancelled = set(parts["cancelled"].tolist())
        self._amended = set(parts["amended"].tolist())
        self._marks = Marks.from_columns(parts)
        self._leases = Leases.from_columns(parts)
        self._log.skip_to(number, digest)
        self._saved = number

    def verify(self) -> int:
        """Replay every event from the first one; return their number.

        SessionError if a digest does not fit, a ticket is not repeated, or the state in use, such
        as that of a snapshot, differs in any bit.
        """
        with self._reading() as session:
            before = self._state_parts(session)
            for _ in self._log.ids():
                pass
            self._ignores_snapshot = True
            try:
                self._forget()
                after = self._state_parts(self._current())
            finally:
                self._ignores_snapshot = False
            same = before is after is None or all(
                _same_bits(before[name], part)
                for name, part in (after or {}).items()
                if before is not None and not name.startswith("mark_")
            )
            if not same:
                raise SessionError(
                    f"SessionFile: the snapshot of {self.path} has another state than its events; "
                    f"remove {snapshot_path(self.path)}."
                )
            return self._log.position

    def _apply(self, session: Session, event: LogEvent, *, check: bool = True) -> None:
        """Apply one event; SessionError if it is malformed or not repeated."""
        _, kind, round_, value = event
        with self._malformed_event_as_error(event):
            if kind == "ticket":
                replay_ticket(session, round_, value, self._features_of(round_), check=check)
            elif kind == "outcome" and round_ not in self._cancelled:
                replay_outcome(session, round_, value)
            elif kind == "cancel" and value is None:
                if round_ in self._cancelled or _outcome_at(session, round_) is not None:
                    raise ValueError("ticket is not pending")
                self._cancelled.add(round_)
            elif kind == "amend":
                if _outcome_at(session, round_) is None or not self.feedback_model.supports_amend:
                    raise ValueError("ticket has no outcome to amend")
                self._amended.add(round_)
            elif kind == "lease":
                self._replay_lease(round_, value, range(1, session.round + 1))
            else:
                raise ValueError("unknown kind of event")

    @contextmanager
    def _malformed_event_as_error(self, event: LogEvent) -> Iterator[None]:
        """Convert errors of an event in the block to SessionError."""
        try:
            yield
        except ReplayError:
            raise SessionError(
                f"SessionFile: {self.path} has the ticket {event.key} with {event.value}, which "
                f"{self.learner!r} does not "
                "repeat, so the file or tombola was changed; use the version that wrote it."
            ) from None
        except LearnerError:
            raise
        except MALFORMED_DATA_ERRORS as error:
            reason = " ".join(str(error).split())
            raise self._log.damage_error(f"event {event.number} does not fit: {reason}") from None

    def _checked(
        self, session: Session, outcome: Outcome, new: Mapping[int, tuple[float, ...]]
    ) -> tuple[int, tuple[float, ...] | None]:
        """Return the ticket of an outcome, and its numbers; None if it was recorded before.

        new: numbers of the tickets before it in the same batch.
        """
        owner = "SessionFile.record"
        check_session_only(outcome, owner)
        ticket = self._issued(session, owner, outcome.ticket)
        left_alone = FeedbackError(
            f"{owner}: expected a ticket with an action, got {ticket}, which leaves its row alone, "
            "so its outcome is recorded already; leave it out."
        )
        is_null = self._is_null(session.ticket_table.ticket(ticket))
        try:
            encoded = encode_outcome(session, outcome._replace(ticket=ticket), owner)
        except FeedbackError:
            if is_null:
                raise left_alone from None
            raise
        if ticket in self._cancelled:
            raise ConflictError(
                f"{owner}: ticket {ticket} was cancelled; record only pending tickets."
            )
        before = new.get(ticket) or session.ticket_table.outcome(ticket)
        if before is None:
            return ticket, encoded
        if not _validate.same_numbers(before, encoded):
            if is_null:
                raise left_alone
            raise self._conflict(ticket, before, encoded, outcome.units or self.units)
        return ticket, None

    def _store(self, session: Session, ticket: int, encoded: tuple[float, ...]) -> None:
        self._log.append("outcome", ticket, list(encoded))
        session._live.learn(session.ticket_table.cells, ticket, ticket, encoded)

    def _conflict(
        self, round_: int, before: tuple[float, ...], encoded: tuple[float, ...], units: Units
    ) -> ConflictError:
        first, now = (self._outcome_text(numbers, units) for numbers in (before, encoded))
        advice = "record the next outcome"
        if self.feedback_model.supports_amend:
            advice = "amend it if it was wrong"
        if self.feedback_model.supports_amend and is_cli_style():
            option = "--score" if units.scores else "--loss"
            values = units.text(self.feedback_model.decode(encoded)).replace(" ", "")
            advice += (
                f": tombola session amend {shlex.quote(str(self.path))} {round_} {option} {values}"
            )
        return ConflictError(
            f"SessionFile.record: ticket {round_} has been answered with {first}, got {now} now, "
            f"and the first answer stands; {advice}."
        )

    def _outcome_text(self, encoded: tuple[float, ...], units: Units) -> str:
        """Return an outcome in the unit of the user, such as "score 7.5, cost 0.02"."""
        decoded = self.feedback_model.decode(encoded)
        losses, costs = (decoded, ()) if self.budget is None else decoded
        cost = f", cost {', '.join(f'{amount:g}' for amount in costs)}" if costs else ""
        return f"{units.quantity} {units.text(losses)}{cost}"

    def _issued(self, session: Session, owner: str, round_: Any) -> int:
        """Return the number of an issued ticket."""
        number = _validate.integer(owner, "ticket", round_, least=1)
        if number > session.round:
            raise FeedbackError(
                f"{owner}: expected one of {plural(session.round, 'issued ticket')}, got {number}; "
                "take the number that `next` returned, or find it in the status."
            )
        return number

    def _view(self, session: Session) -> "TicketView":
        from tombola.worklists.session_status import TicketView

        return TicketView(session, self.seed, frozenset(self._amended), frozenset(self._cancelled))


def cost_columns(budget: Budget | None) -> tuple[str, ...]:
    """Return the cost columns of tables of outcomes: none, `cost`, or `cost:1`, ...

    >>> cost_columns(Budget([5.0, 2.0], worst=1.0))
    ('cost:1', 'cost:2')
    """
    resources = 0 if budget is None else budget.per_resource.size
    if resources == 1:
        return ("cost",)
    return tuple(f"cost:{number}" for number in range(1, resources + 1))


def _new_session(
    learner: AnyLearner,
    names: Sequence[str],
    horizon: int,
    budget: Budget | None,
    seed: int,
    n_features: int,
) -> Session:
    """Return a new session; an added null action is the last of the names."""
    listed_actions = (
        names[: len(names) - 1] if budget is not None and budget.null == "add" else names
    )
    if getattr(getattr(learner, "feedback", None), "default_actions", None) is not None:
        raise LearnerError(
            f"SessionFile: expected a learner of losses, got {learner!r}, which predicts labels; "
            "use tombola.Session."
        )
    return Session(
        learner, listed_actions, horizon, budget=budget, features=n_features or None, seed=seed
    )


def _feature_table(
    features: Any, names: Sequence[str] | None, rows: int
) -> tuple[Floats, list[str]]:
    """Return features as rows x numbers and their names; no columns without features."""
    if features is None:
        return np.zeros((rows, 0)), []
    table = np.asarray(features, np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    feature_names = (
        [f"feature {i}" for i in range(table.shape[-1])]
        if names is None
        else [str(name) for name in names]
    )
    if table.ndim != 2 or table.shape != (rows, len(feature_names)) or np.isinf(table).any():
        raise ParameterError(
            f"SessionFile.start: expected finite features of {rows} rows, with a name for each "
            "column, got shape "
            f"{table.shape} and {len(feature_names)} names; give one row of numbers for each row, NaN "
            "for a missing one."
        )
    return table, feature_names


def _outcome_at(session: Session, round_: Any) -> tuple[float, ...] | None:
    """Return the outcome of an issued ticket, None if pending; ValueError if unknown."""
    if type(round_) is not int or not 1 <= round_ <= session.round:
        raise ValueError("unknown ticket")
    return session.ticket_table.outcome(round_)


def _summary(answered: int, rows: int, pending: int) -> str:
    return f"{answered:,} of {plural(rows, 'row')} answered, {pending or 'no'} pending"


def _same_bits(one: Any, other: Any) -> bool:
    if isinstance(one, str):
        return bool(one == other)
    return bool(one.shape == other.shape and one.tobytes() == other.tobytes())


def _check_names(what: str, names: list[str]) -> None:
    """Raise ParameterError unless names are distinct and valid; "..." stands for others."""
    counts = Counter(names)
    malformed = [
        name
        for name, count in counts.items()
        if count > 1 or name.strip() in ("", "...") or not is_encodable(name)
    ]
    if malformed or not names:
        got = f"{malformed[0]!r} {plural(counts[malformed[0]], 'time')}" if malformed else "none"
        raise ParameterError(
            "SessionFile.start: expected a different name, of valid text, for each of the "
            f"{what}, got {got}; "
            "rename them."
        )
