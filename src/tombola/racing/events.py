"""Events: what a race hands out and takes in; its settings and these events are all that there is to keep.

A ticket is a number that says which candidate and which place of the shuffled list it stands for, so that a race can be
made again from its settings, its rows and its events, in the order in which they happened (`Race.restore`). An answer
says that its call was handed out, so that answers alone will do where one process makes all the calls.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol


class Call(NamedTuple):
    """One candidate to be asked about one row; `place` is where the row is in the list as given."""

    ticket: int
    candidate: str
    row: str
    place: int


class Event(NamedTuple):
    """A call handed out, or an answer taken in: its loss, or that it failed, and its cost."""

    kind: Literal["call", "answer"]
    ticket: int
    loss: float | None = None
    cost: float = 0.0
    failed: bool = False


class EventSink(Protocol):
    """Where the events of a race are kept; when `append` returns, the event is safe."""

    def append(self, event: Event) -> None:
        """Keep one more event."""

    def replay(self) -> Iterable[Event]:
        """Return the events kept so far, in the order in which they happened."""


class MemoryLog:
    """A journal in memory.

    >>> notes = MemoryLog([Event("call", 3)])
    >>> notes.append(Event("answer", 3, loss=0.5))
    >>> len(list(notes.replay()))
    2
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)

    def append(self, event: Event) -> None:
        """Keep one more event."""
        self._events.append(event)

    def replay(self) -> Iterable[Event]:
        """Return the events kept so far, in the order in which they happened."""
        return tuple(self._events)


class Dropped(NamedTuple):
    """A candidate that is out: after how many rows, against whom, and with which wealth (infinite: it is certain)."""

    candidate: str
    row: int
    against: str
    wealth: float
