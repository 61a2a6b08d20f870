"""Race: ask and tell. Which candidate is best on a list, with as few calls as the level allows.

`calls()` says whom to ask about which row, `record(ticket, loss=...)` takes the answers. What can go wrong:

late, out of order   evidence counts rows in shuffled order, up to the first that not all in the race have answered
twice, the same      ignored, `record` returns False
twice, different     FeedbackError, and the race is as it was: the first answer stands
never                the race waits, and `pending` lists such calls; a row is never skipped, since a candidate that
                     gives no answer where it would fail would look better than it is
failed               counts as the worst loss, 1; or ends the race, with on_failure="stop"
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, Unpack

import numpy as np

from tombola import _validate
from tombola._process_bound import ProcessBound
from tombola.errors import FeedbackError
from tombola.order import draw_order
from tombola.racing.events import Call, Dropped, Event
from tombola.racing.forecast import rows_needed
from tombola.racing.options import Asked, Settings, asking, distinct
from tombola.racing.verdict import answer_of, proved_by, verdict_of
from tombola.rng import RngStreams

WORST = 1.0


class Race(ProcessBound):
    """The best of some candidates on a list of rows; the best is ever dropped with probability at most `level`.

    `rows` are the names of the rows, or their number; tombola shuffles them. Asked is for the best candidate; with
    `within` for one that is at most so much worse than the best; with `top` for the best so many; with a `baseline` for
    those that are better than it, or, with `within` too, not worse by more than that. `population` is this list, or
    math.inf for rows like these. After `max_calls` or `max_cost` no more calls are handed out, and the answer is who is
    still in the race.

    >>> race = Race(["small", "large"], rows=1000, seed=1)
    >>> while not race.done:
    ...     for call in race.calls():
    ...         _ = race.record(call, loss=0.9 if call.candidate == "small" else 0.1)
    >>> race.answer, race.calls_made < 60
    (('large',), True)
    """

    _alternative = "Race.restore(settings, rows, events) there"

    @asking
    def __init__(
        self, candidates: Sequence[str], rows: int | Sequence[Any], *, seed: int, **asked: Unpack[Asked]
    ) -> None:
        self._begin(Settings(tuple(candidates), seed, **asked), rows)

    @classmethod
    def restore(cls, settings: Settings, rows: int | Sequence[Any], events: Iterable[Event] = ()) -> "Race":
        """Return the race with these settings and rows to which these events happened."""
        race = cls.__new__(cls)
        race._begin(settings, rows)
        for event in events:
            race.repeat(event)
        return race

    def _begin(self, settings: Settings, rows: int | Sequence[Any]) -> None:
        self._bind_to_process()
        self.settings = settings
        self.candidates = settings.candidates
        names: Any = rows if hasattr(rows, "__len__") else range(_validate.integer("Race", "rows", rows, least=1))
        self.rows = distinct("rows", names)
        self._cells = len(self.rows) * len(self.candidates)
        self.field = settings.field(len(self.rows))
        self._order = draw_order("random", len(self.rows), RngStreams(settings.seed).order()).tolist()
        self._row = np.zeros(len(self.candidates))
        self._answers: dict[int, Event] = {}
        self._pending: dict[int, Call] = {}
        self._next = 0
        self._cost, self._failures = 0.0, 0
        self._failure: Call | None = None
        self._await_row()

    def calls(self, count: int | None = None) -> list[Call]:
        """Hand out the next calls: so many, or all that the next row needs; none when the race is over.

        More than the next row needs looks ahead, and some of it is for nothing if candidates drop out meanwhile.
        """
        if count is not None:
            _validate.integer("Race.calls", "count", count, least=1)
        handed: list[Call] = []
        with self._locked():
            for ticket in self._upcoming():
                ahead = ticket // len(self.candidates) > self.field.seen
                if (count is None and ahead) or len(handed) == count or self._limited:
                    break
                handed.append(self._hand_out(ticket))
        return handed

    def record(self, ticket: Call | int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False) -> bool:
        """Take in the answer to a call: its loss in [0, 1], or that it failed, and what it cost; True if it is news."""
        number = self._known(ticket.ticket if isinstance(ticket, Call) else ticket)
        with self._locked():
            event = self._answer(number, loss, cost, failed=failed)
            before = self._answers.get(number)
            if before is None:
                self._take_in(event)
        if before is not None and before != event:
            raise FeedbackError(
                f"Race.record: ticket {number} has been answered with {_said(before)}, got {_said(event)} now; "
                "the first answer stands."
            )
        return before is None

    def repeat(self, event: Event) -> None:
        """Let happen what has happened before: hand out this call, or take in this answer."""
        ticket = self._known(event.ticket)
        with self._locked():
            if not self._handed_out(ticket):
                self._hand_out(ticket)
        if event.kind == "answer":
            self.record(event.ticket, loss=event.loss, cost=event.cost, failed=event.failed)

    def call(self, ticket: int) -> Call:
        """Return what a ticket stands for."""
        ticket = self._known(ticket)
        place, candidate = divmod(ticket, len(self.candidates))
        row = self._order[place]
        return Call(ticket, self.candidates[candidate], self.rows[row], row)

    def answer_to(self, ticket: int) -> Event:
        """Return the answer to a call, as it counts."""
        return self._answers[self._known(ticket)]

    @property
    def pending(self) -> list[Call]:
        """The calls that were handed out, have no answer yet, and are still of use."""
        k = len(self.candidates)
        with self._locked():
            return [call for ticket, call in self._pending.items() if self._active[ticket % k] and not self.field.done]

    @property
    def done(self) -> bool:
        """Tell whether the race is over: the question is answered, no row is left, or a limit is reached."""
        return self.field.done or self._failure is not None or (self._limited and not self.pending)

    @property
    def active(self) -> tuple[str, ...]:
        """The candidates still in the race."""
        return tuple(name for name, active in zip(self.candidates, self._active, strict=True) if active)

    @property
    def dropped(self) -> list[Dropped]:
        """The candidates that are out, in the order in which they fell."""
        state = self.field.state
        gone = sorted((int(state.out[a]), a) for a in range(len(self.candidates)) if not self._active[a])
        names = self.candidates
        return [Dropped(names[a], row, names[int(state.against[a])], float(state.peak[a])) for row, a in gone]

    @property
    def rows_counted(self) -> int:
        """The number of rows that count as evidence: all before the first that is not fully answered."""
        return self.field.seen

    @property
    def calls_made(self) -> int:
        """The number of calls handed out."""
        return len(self._answers) + len(self._pending)

    @property
    def calls_saved(self) -> int:
        """The number of calls of the whole table that were not handed out."""
        return self._cells - self.calls_made

    @property
    def cost(self) -> float:
        """What the answers have cost."""
        return self._cost

    @property
    def answered(self) -> int:
        """The number of calls that have been answered, failures included."""
        return len(self._answers)

    @property
    def largest_loss(self) -> float:
        """The largest loss told so far."""
        with self._locked():
            return max((event.loss or 0.0 for event in self._answers.values()), default=0.0)

    @property
    def failures(self) -> int:
        """The number of calls that failed."""
        return self._failures

    @property
    def leader(self) -> str | None:
        """The candidate in the race with the least loss so far, the first among equals; None before the first row."""
        return self.candidates[self.field.leader] if self.field.seen else None

    @property
    def means(self) -> dict[str, float]:
        """The mean loss of every candidate in the rows that count, for one that is out up to the row where it fell."""
        state = self.field.state
        counts = np.where(state.active > 0, state.seen[0], state.out)
        return {
            name: float(total / count) if count else math.nan
            for name, total, count in zip(self.candidates, state.total, counts, strict=True)
        }

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer to what was asked, or, as long as it is open, the candidates it is among."""
        return tuple(self.candidates[a] for a in answer_of(self.field))

    @property
    def proved(self) -> bool | None:
        """True if what was asked is answered (of a gate: passed by all), False if a gate is not passed, else None."""
        return None if self._failure is not None else proved_by(self.field)

    @property
    def verdict(self) -> str:
        """The answer as a sentence."""
        return verdict_of(self)

    @property
    def forecast(self) -> int | None:
        """How many more rows it probably takes, if differences stay as they are: a guess, None before the first row."""
        return rows_needed(self.field)

    @property
    def failure(self) -> Call | None:
        """The call whose failure ended the race, if one did."""
        return self._failure

    def __repr__(self) -> str:
        return (
            f"Race({len(self.active)} of {len(self.candidates)} candidates, {self.field.seen} of {len(self.rows)} rows)"
        )

    @property
    def _limited(self) -> bool:
        calls, cost = self.settings.max_calls, self.settings.max_cost
        return (calls is not None and self.calls_made >= calls) or (cost is not None and self._cost >= cost)

    def _upcoming(self) -> Iterator[int]:
        """Yield the tickets that come next; who is out is not asked."""
        k = len(self.candidates)
        while self._next < self._cells and not (self.field.done or self._failure):
            if self._active[self._next % k] and not self._handed_out(self._next):
                yield self._next
            else:
                self._next += 1

    def _handed_out(self, ticket: int) -> bool:
        return ticket in self._answers or ticket in self._pending

    def _hand_out(self, ticket: int) -> Call:
        call = self._pending[ticket] = self.call(ticket)
        return call

    def _known(self, ticket: Any) -> int:
        whole = isinstance(ticket, Integral) and not isinstance(ticket, bool)
        if not (whole and 0 <= ticket < self._cells):
            raise FeedbackError(
                f"Race: expected a ticket, a whole number in 0..{self._cells - 1}, got {ticket!r}; "
                "take the number that came with the call."
            )
        return int(ticket)

    def _answer(self, ticket: int, loss: Any, cost: float, *, failed: bool) -> Event:
        """Return an answer, checked."""
        if not self._handed_out(ticket):
            raise FeedbackError(
                f"Race.record: expected a ticket that has been handed out, got {ticket}; ask for it with calls()."
            )
        if failed == (loss is not None):
            came = "both" if failed else "neither"
            raise FeedbackError(
                f"Race.record: expected either a loss or failed=True for ticket {ticket}, got {came}; "
                "write record(ticket, loss=...)."
            )
        real = isinstance(loss, Real)
        if loss is not None and not (real and 0.0 <= loss <= 1.0):
            raise FeedbackError(
                f"Race.record: expected a loss in [0, 1] for ticket {ticket}, got {loss!r}; "
                "rescale it, and give 1 - score if more is better."
            )
        spent = _validate.real("Race.record", "cost", cost, least=0)
        return Event("answer", ticket, None if loss is None else float(loss), spent, bool(failed))

    def _take_in(self, event: Event) -> None:
        self._answers[event.ticket] = event
        call = self._pending.pop(event.ticket)
        self._cost += event.cost
        self._failures += event.failed
        if event.failed and self.settings.on_failure == "stop":
            self._failure = self._failure or call
        self._awaited.discard(event.ticket)
        while not (self._awaited or self.field.done or self._failure):
            self._count_row()

    def _count_row(self) -> None:
        first = self.field.seen * len(self.candidates)
        for a, active in enumerate(self._active):
            if active:
                loss = self._answers[first + a].loss
                self._row[a] = WORST if loss is None else loss
        self.field.update(self._row)
        self._await_row()

    def _await_row(self) -> None:
        """Note who is in the race, and which answers the next row still lacks."""
        first = self.field.seen * len(self.candidates)
        self._active = (self.field.state.active > 0).tolist()
        needed = [first + a for a, active in enumerate(self._active) if active]
        self._awaited = {ticket for ticket in needed if ticket not in self._answers and ticket < self._cells}


def _said(event: Event) -> str:
    return "a failure" if event.failed else f"loss {event.loss!r} and cost {event.cost!r}"
