"""Events of a race: calls, answers, and the interface of an event log.

A race is a function of its settings, its rows and its events in order, so `Race.restore` rebuilds
it from them. A ticket encodes the candidate and the position in the shuffled list. An answer
implies that its call was issued, so a log of answers is enough where one process makes all calls.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol


class Call(NamedTuple):
    """One evaluation to make: `candidate` on `row`, by name.

    `ticket` counts from 1, and is passed to `Race.record`; `row_index` is the position in the list
    as given, from 0. `run` numbers the calls of the candidate on this row from 1; only races on
    random answers and pilots have a second one, which must be a fresh call.
    """

    ticket: int
    candidate: str
    row: str
    row_index: int
    run: int = 1


class Event(NamedTuple):
    """One entry of an event log: a call that was issued, or an answer.

    Only answers have a loss, in [0, 1] (None if the call failed), a cost and `failed`. `others`
    has the losses by further metrics of a gate, in their order.
    """

    kind: Literal["call", "answer"]
    ticket: int
    loss: float | None = None
    cost: float = 0.0
    failed: bool = False
    others: tuple[float, ...] = ()


class EventSink(Protocol):
    """Protocol of an append-only event log of a race, as `MemoryLog` and `RaceFile`.

    `race` replays the log when it starts, and appends every answer. A log need not inherit from
    this class.
    """

    def append(self, event: Event) -> None:
        """Store one event after all others; a log on disk has written it on return."""

    def replay(self) -> Iterable[Event]:
        """Return the stored events in the order in which they were appended."""


class MemoryLog:
    """Event log of a race in memory; it is lost when the process ends."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)

    def append(self, event: Event) -> None:
        """Store one event after all others."""
        self._events.append(event)

    def replay(self) -> Iterable[Event]:
        """Return the stored events in the order in which they were appended."""
        return tuple(self._events)


class Dropped(NamedTuple):
    """A candidate that was dropped from a race, with row and reason.

    row: number of rows counted when it was dropped. against: the opponent that it lost to; "" with
        question="ranks".
    wealth: of the bet that dropped it; infinite if no outcome of the rows left could have saved it.
    """

    candidate: str
    row: int
    against: str
    wealth: float
