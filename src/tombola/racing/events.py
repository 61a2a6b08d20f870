"""Events of a race: calls, answers, and the interface of an event log.

A race is a function of its settings, its rows and its events in order, so `Race.restore` rebuilds it from them. A
ticket encodes the candidate and the position in the shuffled list. An answer implies that its call was issued, so a
log of answers is enough where one process makes all calls.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol


class Call(NamedTuple):
    """One evaluation to make: `candidate` on `row`.

    Tickets count from 1. `row_index` is the position in the list as given, from 0.
    """

    ticket: int
    candidate: str
    row: str
    row_index: int


class Event(NamedTuple):
    """A call issued, or an answer: loss in [0, 1] or failed, and the cost."""

    kind: Literal["call", "answer"]
    ticket: int
    loss: float | None = None
    cost: float = 0.0
    failed: bool = False


class EventSink(Protocol):
    """Append-only event log of a race. When `append` returns, the event is stored."""

    def append(self, event: Event) -> None:
        """Store one event."""

    def replay(self) -> Iterable[Event]:
        """Return the stored events in order."""


class MemoryLog:
    """Event log in memory.

    >>> log = MemoryLog([Event("call", 3)])
    >>> log.append(Event("answer", 3, loss=0.5))
    >>> len(list(log.replay()))
    2
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)

    def append(self, event: Event) -> None:
        """Store one event."""
        self._events.append(event)

    def replay(self) -> Iterable[Event]:
        """Return the stored events in order."""
        return tuple(self._events)


class Dropped(NamedTuple):
    """A dropped candidate: row of the drop, opponent, wealth (infinite: certain)."""

    candidate: str
    row: int
    against: str
    wealth: float
