"""Record: all tickets of a run and what came of each, as the file has them."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tombola import book
from tombola.book import Ticket
from tombola.errors import SessionError
from tombola.journal import Happening
from tombola.live.outcome import Losses, outcome_from
from tombola.settings import Setting
from tombola.settings.base import Numbers

if TYPE_CHECKING:
    from tombola.learners.base import Learner


class Fact(NamedTuple):
    """What a run is: who plays which actions, in which setting, from which seed."""

    learner: "Learner"
    names: tuple[str, ...]
    setting: Setting
    seed: int


class Record:
    """Tickets and outcomes in the order of rounds; an outcome that was amended is the amended one."""

    def __init__(self, about: Fact, events: Iterable[Happening]) -> None:
        self.learner, self.names, self.setting, self.seed = about
        self.horizon, self.actions = self.setting.horizon, self.setting.listed
        self.book = book.Book(self.horizon, self.setting.width)
        self.amended: set[int] = set()
        self.cancelled: set[int] = set()
        told: dict[int, Numbers] = {}
        for event in events:
            self._enter(event, told)
        for round_, outcome in told.items():
            self.book.answer(round_, outcome)

    def _enter(self, event: Happening, told: dict[int, Numbers]) -> None:
        if event.kind == "ticket":
            action, chance = event.value
            self.book.hand_out(action, math.nan if chance is None else chance)
        elif event.kind == "cancel":
            self.cancelled.add(event.key)
        elif event.kind in ("outcome", "amend"):
            outcome = outcome_from(event.key, event.value)
            told[event.key] = outcome.numbers(self.setting, self.book.ticket(event.key).action)
            if event.kind == "amend":
                self.amended.add(event.key)
        else:
            raise SessionError(f"SessionFile: expected an event of a session, got {event.kind!r}; use a later version.")

    @property
    def round(self) -> int:
        """The number of tickets handed out."""
        return len(self.book)

    @property
    def answered(self) -> int:
        """The number of tickets with an outcome."""
        return self.book.answered

    @property
    def tickets(self) -> list[Ticket]:
        """All tickets handed out."""
        return self.book.tickets

    @property
    def outcomes(self) -> list[Losses | None]:
        """The loss of each ticket, or the losses of all actions if feedback is full; None if it has none."""
        full, listed = self.setting.whole_rows, self.actions
        found = [self.book.outcome(round_) for round_ in range(1, self.round + 1)]
        return [None if outcome is None else outcome[:listed] if full else outcome[0] for outcome in found]

    @property
    def pending(self) -> list[Ticket]:
        """The tickets that wait for an outcome."""
        return [ticket for ticket in self.book.pending if ticket.round not in self.cancelled]

    @property
    def losses(self) -> list[tuple[Ticket, float]]:
        """Every answered ticket with the loss of its action."""
        return [(ticket, self.setting.loss(ticket.action, outcome)) for ticket, outcome in self._answers()]

    @property
    def costs(self) -> dict[int, Numbers]:
        """What every answered ticket cost, by its round: one number for each resource."""
        return {ticket.round: self.setting.costs(ticket.action, outcome) for ticket, outcome in self._answers()}

    def _answers(self) -> list[tuple[Ticket, Numbers]]:
        pairs = ((ticket, self.book.outcome(ticket.round)) for ticket in self.tickets)
        return [(ticket, outcome) for ticket, outcome in pairs if outcome is not None]

    @property
    def switches(self) -> int:
        """How often the action changed from one round to the next."""
        actions = self.book.actions
        return int((actions[1:] != actions[:-1]).sum())
