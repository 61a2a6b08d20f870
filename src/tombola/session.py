"""Session: a learner in live use, one round at a time, with feedback whenever it comes.

`act()` hands out a ticket, which goes back with the feedback, however late. What can go wrong has one meaning each:

late, out of order   taken in as it comes, with the chance that its own ticket had
missing              nothing happens; the learner just never hears of that round (`pending` lists such tickets)
twice, the same      ignored, `observe` returns False
twice, different     FeedbackError, and the session is as it was: the first answer stands
unknown ticket       FeedbackError, and the session is as it was
after the horizon    `act` raises SessionError; feedback still out is welcome
"""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import validate
from tombola.engine import loops
from tombola.engine.player import Player
from tombola.errors import FeedbackError, SessionError
from tombola.files import write_whole
from tombola.recipe import learner_from, recipe_of
from tombola.streams import Streams
from tombola.types import Floats, Seed

if TYPE_CHECKING:
    from tombola.learners.base import Learner

FORMAT = 1


class Ticket(NamedTuple):
    """One play: its round (from 1), the action, and the chance the action had (NaN where it has no formula)."""

    round: int
    action: int
    chance: float


class Session:
    """A learner that is asked for actions and told of losses, live.

    `actions` is their number, or their names; `horizon` the number of rounds that will be played.

    >>> from tombola import UCB1
    >>> session = Session(UCB1(), actions=2, horizon=100, seed=0)
    >>> ticket = session.act()
    >>> ticket
    Ticket(round=1, action=0, chance=1.0)
    >>> session.observe(ticket, loss=0.25)
    True
    """

    def __init__(self, learner: "Learner", actions: int | Sequence[str], horizon: int, *, seed: Seed) -> None:
        count = len(actions) if isinstance(actions, Sequence) else actions
        self.actions = validate.whole("Session", "actions", count, least=1)
        self.horizon = validate.whole("Session", "horizon", horizon, least=1)
        self.names = tuple(str(a) for a in (actions if isinstance(actions, Sequence) else range(self.actions)))
        self.learner = learner
        self._start(Player(learner, self.actions, self.horizon, Streams(seed).learner(learner)))

    def _start(self, player: Player) -> None:
        """Take up a player, and get its kernels ready."""
        self._player = player
        self._memory, self._coins = player.memory, player.coins
        self._tickets: list[Ticket] = []
        self._outcomes: list[float | tuple[float, ...] | None] = []
        self._answered = 0
        self._full = self.learner.feedback == "full"
        self._choose = player.step(loops.step_choose, self._memory, self._coins)
        self._due = player.step(loops.step_due, self._memory) if self.learner.plans else None
        if self._full:
            self._learn = player.step(loops.step_full, self._memory, 1, np.zeros(self.actions))
        else:
            self._learn = player.step(loops.step_bandit, self._memory, 0, 1.0, 0.0)

    def act(self) -> Ticket:
        """Choose the action of the next round, and return its ticket."""
        round_ = len(self._tickets) + 1
        if round_ > self.horizon:
            raise SessionError(
                f"Session: all {self.horizon} rounds have been played; start another Session, "
                f"or one with a larger horizon."
            )
        while self._due is not None and self._due(self._memory):
            self._player.plan(round_ - 1)
        action, chance = self._choose(self._memory, self._coins)
        ticket = Ticket(round_, action, chance)
        self._tickets.append(ticket)
        self._outcomes.append(None)
        return ticket

    def observe(self, ticket: Ticket, *, loss: Any = None, reward: Any = None) -> bool:
        """Tell the learner what came of a ticket; True if that is news.

        Bandit learners take one number, full-information learners one for every action. A reward is 1 - loss.
        """
        index = self._known(ticket)
        if (loss is None) == (reward is None):
            raise FeedbackError(
                f"Session.observe: expected either a loss or a reward for round {ticket.round}, got "
                f"{'neither' if loss is None else 'both'}; write observe(ticket, loss=...)."
            )
        outcome = self._row(loss, reward) if self._full else self._number(loss, reward)
        before = self._outcomes[index]
        if before is not None:
            if before == outcome:
                return False
            raise FeedbackError(
                f"Session.observe: round {ticket.round} has been answered with {before!r}, got {outcome!r} now; "
                "the first answer stands."
            )
        if self._full:
            self._learn(self._memory, ticket.round, np.array(outcome))
        else:
            self._learn(self._memory, ticket.action, ticket.chance, outcome)
        self._outcomes[index] = outcome
        self._answered += 1
        return True

    @property
    def round(self) -> int:
        """The number of rounds played so far."""
        return len(self._tickets)

    @property
    def answered(self) -> int:
        """The number of tickets whose feedback has come."""
        return self._answered

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """All tickets handed out so far."""
        return tuple(self._tickets)

    @property
    def outcomes(self) -> tuple[float | tuple[float, ...] | None, ...]:
        """What came of each ticket: its loss, or the losses of all actions, or None as long as it is pending."""
        return tuple(self._outcomes)

    @property
    def pending(self) -> list[Ticket]:
        """The tickets whose feedback has not come yet."""
        return [t for t, outcome in zip(self._tickets, self._outcomes, strict=True) if outcome is None]

    @property
    def state(self) -> Any:
        """The state of the learner, by name: read it, do not write it."""
        return self._player.state

    @property
    def mix(self) -> Floats | None:
        """The mix of the last `act` of a learner that mixes, else None."""
        return self._player.mix

    @property
    def loss(self) -> float:
        """The loss of the plays answered so far."""
        return math.fsum(
            outcome[ticket.action] if isinstance(outcome, tuple) else outcome
            for ticket, outcome in zip(self._tickets, self._outcomes, strict=True)
            if outcome is not None
        )

    @property
    def switches(self) -> int:
        """How often the action changed from one round to the next."""
        return sum(a.action != b.action for a, b in zip(self._tickets, self._tickets[1:], strict=False))

    def __repr__(self) -> str:
        return f"Session({self.learner!r}, round {self.round} of {self.horizon}, {self.round - self.answered} pending)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, all of it or nothing: readable JSON that `Session.load` takes up again."""
        write_whole(path, json.dumps(self._to_json(), indent=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: "Learner | None" = None) -> "Session":
        """Take up a saved session where it was, to the bit.

        A learner of tombola is made again from the file; one of your own must be given, and must be the same.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise SessionError(
                    f"Session.load: {path} has format {data['format']!r}, this version of tombola reads {FORMAT}; "
                    "use the version that wrote it."
                )
            return cls._from_json(data, learner_from(data["learner"], learner))
        except SessionError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise SessionError(
                f"Session.load: expected a session written by Session.save, got {path}, which is not one ({error}); "
                "give the file that was saved."
            ) from None

    def _to_json(self) -> dict[str, Any]:
        return {
            "tombola session": "written by tombola.Session.save",
            "format": FORMAT,
            "learner": recipe_of(self.learner),
            "actions": list(self.names),
            "horizon": self.horizon,
            "coins": [int(word) for word in self._coins],
            "memory": [_number_out(value) for value in self._memory.tolist()],
            "tickets": [[t.action, _number_out(t.chance)] for t in self._tickets],
            "outcomes": self._outcomes,
        }

    @classmethod
    def _from_json(cls, data: dict[str, Any], learner: "Learner") -> "Session":
        session = cls(learner, [str(name) for name in data["actions"]], data["horizon"], seed=0)
        memory, coins = np.array([_number_in(value) for value in data["memory"]]), np.array(data["coins"], np.uint64)
        head = 1 + 3 * len(session.state._fields)  # where the fields are: compiled code goes there unchecked
        if memory.shape != session._memory.shape or not np.array_equal(memory[:head], session._memory[:head]):
            raise SessionError(
                f"Session.load: expected a state of {session._memory.size} numbers for {learner!r}, got {memory.size}; "
                "load it with the learner that was saved."
            )
        tickets = [Ticket(i + 1, int(a), _number_in(c)) for i, (a, c) in enumerate(data["tickets"])]
        if len(tickets) > session.horizon or any(not 0 <= ticket.action < session.actions for ticket in tickets):
            raise ValueError("a ticket does not fit")
        if len(tickets) != len(data["outcomes"]) or coins.shape != session._coins.shape:
            raise ValueError("a part is missing")
        outcome = session._row if session._full else session._number
        session._memory[:] = memory
        session._coins[:] = coins
        session._tickets = tickets
        session._outcomes = [None if given is None else outcome(given, None) for given in data["outcomes"]]
        session._answered = sum(o is not None for o in session._outcomes)
        return session

    def _known(self, ticket: Ticket) -> int:
        try:
            index = ticket.round - 1
            if index >= 0:
                mine = self._tickets[index]
                if mine is ticket or mine == ticket:
                    return index
                if mine[:2] == ticket[:2] and math.isnan(mine[2]) and math.isnan(ticket[2]):
                    return index
        except (AttributeError, IndexError, TypeError):
            pass
        raise FeedbackError(
            f"Session.observe: expected a ticket that act() has handed out (rounds 1..{self.round}), got {ticket!r}; "
            "give back the ticket itself."
        )

    def _number(self, loss: Any, reward: Any) -> float:
        given, name = (loss, "loss") if reward is None else (reward, "reward")
        try:
            value = float(given)
        except (TypeError, ValueError):
            value = math.nan
        if not 0.0 <= value <= 1.0:
            raise FeedbackError(
                f"Session.observe: {name} must be one number in [0, 1], got {given!r}; rescale it before you observe."
            )
        return value if reward is None else 1.0 - value

    def _row(self, loss: Any, reward: Any) -> tuple[float, ...]:
        given, name = (loss, "loss") if reward is None else (reward, "reward")
        try:
            row = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            row = np.full(0, math.nan)
        if row.shape != (self.actions,) or not ((row >= 0) & (row <= 1)).all():
            raise FeedbackError(
                f"Session.observe: {name} must be {self.actions} numbers in [0, 1], one for every action (this learner "
                f"needs full feedback), got {given!r}; give the whole row."
            )
        return tuple((row if reward is None else 1.0 - row).tolist())


def _number_out(value: float) -> float | str:
    """Return a number as JSON has it; JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else repr(value)


def _number_in(value: float | str) -> float:
    return float(value)
