"""BudgetSession: a budgeted learner in live use, one round at a time, with the ledger in its saved state.

What can go wrong has the same meaning as in `Session`. In addition: `act` returns only an action whose worst cost still
fits beside all that is spent and reserved, the null action if no other does; the worst cost of a ticket stays reserved
until its feedback comes, also if it never comes; a cost above the declared worst is refused, and stays reserved.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from tombola import validate
from tombola.budget import Budget, Ledger
from tombola.budgeted.base import BudgetedLearner
from tombola.budgeted.dual_descent import DualDescent
from tombola.budgeted.empirical_lp import EmpiricalLP
from tombola.budgeted.loop import step_decide, step_due, step_observe
from tombola.budgeted.player import BudgetPlayer
from tombola.budgeted.primal_dual import PrimalDual
from tombola.budgeted.purse import Purse, Stop, ledger_of
from tombola.budgeted.serfling_lp import SerflingLP
from tombola.budgeted.simulation import BudgetSimulation
from tombola.errors import FeedbackError, SessionError
from tombola.files import write_whole
from tombola.session import Ticket
from tombola.streams import Streams
from tombola.types import Floats, Seed

FORMAT = 1
_OURS: dict[str, Any] = {
    kind.__name__: kind for kind in (BudgetSimulation, DualDescent, EmpiricalLP, PrimalDual, SerflingLP)
}


class BudgetSession:
    """A budgeted learner that is asked for actions, and told of the losses and costs of all actions, live.

    The budget must say its worst costs, for they are what is reserved. With `null="add"` the null action is the
    last one; its names say so.

    >>> budget = Budget(10.0, worst=[0.5, 3.0], null="add")
    >>> session = BudgetSession(EmpiricalLP(), ["weak", "strong"], budget, horizon=100, seed=0)
    >>> ticket = session.act()
    >>> session.names[ticket.action]
    'null'
    >>> session.observe(ticket, reward=[0.0, 1.0], cost=[0.1, 0.7])
    True
    """

    def __init__(
        self,
        learner: BudgetedLearner,
        actions: int | Sequence[str],
        budget: Budget,
        horizon: int,
        stop: Stop = "fits",
        *,
        seed: Seed,
    ) -> None:
        count = len(actions) if isinstance(actions, Sequence) else actions
        self.actions = validate.whole("BudgetSession", "actions", count, least=1)
        self.horizon = validate.whole("BudgetSession", "horizon", horizon, least=1)
        self.learner, self.budget, self.stop = learner, budget, stop
        limits = budget.limits(self.actions, budget.per_resource.size)
        given = [str(a) for a in (actions if isinstance(actions, Sequence) else range(self.actions))]
        self.names = tuple([*given, "null"] if limits.added else given)
        coins = Streams(seed).learner(learner)
        self._player = BudgetPlayer(learner, limits, self.horizon, coins, stop=stop, mixed=False)
        self._tickets: list[Ticket] = []
        self._outcomes: list[list[Any] | None] = []
        self._ready()

    def _ready(self) -> None:
        """Get the kernels ready."""
        player = self._player
        self._memory, self._purse = player.memory, player.purse
        k, m = player.terms.actions, player.terms.resources
        self._plays, self._reserved = np.zeros(k), np.zeros(m)
        table = np.zeros((k, m))
        self._due = player.step(step_due, self._memory, self._purse)
        self._decide = player.step(step_decide, self._memory, player.coins, self._purse, self._plays, self._reserved)
        self._learn = player.step(
            step_observe, self._memory, self._purse, 1, self._plays, self._reserved, np.zeros(k), table, table
        )

    def act(self) -> Ticket:
        """Choose the action of the next round, reserve its worst cost, and return its ticket."""
        if self.round >= self.horizon:
            raise SessionError(
                f"BudgetSession: all {self.horizon} rounds have been played; start another BudgetSession, "
                "or one with a larger horizon."
            )
        if self._due(self._memory, self._purse):
            self._player.plan()
        action, chance = self._decide(self._memory, self._player.coins, self._purse, self._plays, self._reserved)
        ticket = Ticket(self.round + 1, int(action), float(chance))
        self._tickets.append(ticket)
        self._outcomes.append(None)
        return ticket

    def observe(self, ticket: Ticket, *, cost: Any, loss: Any = None, reward: Any = None) -> bool:
        """Tell the learner what came of a ticket: the losses (or rewards) and the costs of all actions; True if news.

        `cost` is one number for each action, or actions x resources. An added null action is not listed.
        """
        index = self._known(ticket)
        losses, costs = self._losses(ticket, loss, reward), self._costs(cost)
        outcome = [losses.tolist(), costs.tolist()]
        before = self._outcomes[index]
        if before is not None:
            if before == outcome:
                return False
            raise FeedbackError(
                f"BudgetSession.observe: round {ticket.round} has been answered with {before!r}, got {outcome!r} now; "
                "the first answer stands."
            )
        if len(self.names) > self.actions:
            losses, costs = np.append(losses, 1.0), np.vstack([costs, np.zeros(costs.shape[1])])
        plays = np.eye(len(self.names))[ticket.action]
        reserved = self._purse.worst[ticket.action].copy()
        scaled = costs * self._purse.scale
        self._learn(self._memory, self._purse, ticket.round, plays, reserved, losses, costs, scaled)
        self._outcomes[index] = outcome
        return True

    @property
    def round(self) -> int:
        """The number of rounds played so far."""
        return len(self._tickets)

    @property
    def pending(self) -> list[Ticket]:
        """The tickets whose feedback has not come yet."""
        return [t for t, outcome in zip(self._tickets, self._outcomes, strict=True) if outcome is None]

    @property
    def ledger(self) -> Ledger:
        """What is spent, reserved and left."""
        return ledger_of(self._purse, self._player.limits.amounts)

    @property
    def state(self) -> Any:
        """The state of the learner, by name: read it, do not write it."""
        return self._player.state

    def __repr__(self) -> str:
        return f"BudgetSession({self.learner!r}, round {self.round} of {self.horizon}, left {self.ledger.left})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, all of it or nothing: readable JSON that `BudgetSession.load` takes up again."""
        write_whole(path, json.dumps(self._to_json(), indent=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: BudgetedLearner | None = None) -> "BudgetSession":
        """Take up a saved session where it was, to the bit; a learner of your own must be given."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT or "ledger" not in data:
                raise KeyError("ledger")
            return cls._from_json(data, _learner(data["learner"], learner))
        except (AttributeError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise SessionError(
                f"BudgetSession.load: expected a session written by BudgetSession.save, got {path}, which is not one "
                f"({error}); give the file that was saved."
            ) from None

    def _to_json(self) -> dict[str, Any]:
        worst, ledger = self.budget.worst, self.ledger
        return {
            "tombola session": "written by tombola.BudgetSession.save",
            "format": FORMAT,
            "learner": _recipe(self.learner),
            "actions": list(self.names[: self.actions]),
            "horizon": self.horizon,
            "stop": self.stop,
            "budget": [self.budget.per_resource.tolist(), np.asarray(worst).tolist(), self.budget.null],
            "ledger": {"spent": ledger.spent, "reserved": ledger.reserved, "left": ledger.left},
            "ticks": {name: getattr(self._purse, name).tolist() for name in ("spent", "reserved", "fits", "flags")},
            "coins": [int(word) for word in self._player.coins],
            "memory": self._memory.tolist(),
            "tickets": [[t.action, t.chance] for t in self._tickets],
            "outcomes": self._outcomes,
        }

    @classmethod
    def _from_json(cls, data: dict[str, Any], learner: BudgetedLearner) -> "BudgetSession":
        session = cls(learner, data["actions"], Budget(*data["budget"]), data["horizon"], data["stop"], seed=0)
        if len(data["memory"]) != session._memory.size or len(data["tickets"]) != len(data["outcomes"]):
            raise SessionError(
                f"BudgetSession.load: expected a state of {session._memory.size} numbers for {learner!r}, got "
                f"{len(data['memory'])}; load it with the learner that was saved."
            )
        session._memory[:] = data["memory"]
        session._player.coins[:] = np.array(data["coins"], np.uint64)
        _refill(session._purse, data["ticks"])
        session._tickets = [Ticket(i + 1, int(a), float(c)) for i, (a, c) in enumerate(data["tickets"])]
        session._outcomes = data["outcomes"]
        return session

    def _known(self, ticket: Ticket) -> int:
        given: Any = ticket
        index = given.round - 1 if isinstance(given, Ticket) else -1
        if 0 <= index < self.round and self._tickets[index][:2] == ticket[:2]:
            return index
        raise FeedbackError(
            f"BudgetSession.observe: expected a ticket that act() has handed out (rounds 1..{self.round}), got "
            f"{ticket!r}; give back the ticket itself."
        )

    def _losses(self, ticket: Ticket, loss: Any, reward: Any) -> Floats:
        if (loss is None) == (reward is None):
            raise FeedbackError(
                f"BudgetSession.observe: expected either losses or rewards for round {ticket.round}, got "
                f"{'neither' if loss is None else 'both'}; write observe(ticket, loss=..., cost=...)."
            )
        given, name = (loss, "loss") if reward is None else (reward, "reward")
        row = _floats(given)
        if row.shape != (self.actions,) or not ((row >= 0) & (row <= 1)).all():
            raise FeedbackError(
                f"BudgetSession.observe: {name} must be {self.actions} numbers in [0, 1], one for every action, got "
                f"{_short(given)}; give the whole row."
            )
        return row if reward is None else 1.0 - row

    def _costs(self, cost: Any) -> Floats:
        table = _floats(cost)
        table = table[:, None] if table.ndim == 1 else table
        worst = self._player.limits.worst[: self.actions]
        if table.shape != worst.shape or not ((table >= 0) & (table <= worst)).all():
            raise FeedbackError(
                f"BudgetSession.observe: cost must be {worst.shape[0]} actions x {worst.shape[1]} resources, from 0 to "
                f"the worst cost declared, got {_short(cost)}; declare a larger Budget(worst=...) from the start."
            )
        return table


def _floats(values: Any) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(0, np.nan)


def _short(values: Any) -> str:
    return " ".join(repr(values).split())


def _refill(purse: Purse, ticks: dict[str, list[float]]) -> None:
    for name, values in ticks.items():
        if name in ("spent", "reserved", "fits", "flags"):
            getattr(purse, name)[:] = values


def _recipe(learner: BudgetedLearner) -> dict[str, Any]:
    values = {field.name: getattr(learner, field.name) for field in fields(learner)}
    plain = {name: _recipe(value) if isinstance(value, BudgetedLearner) else value for name, value in values.items()}
    return {"name": type(learner).__name__, "parameters": plain}


def _learner(recipe: dict[str, Any], given: BudgetedLearner | None) -> BudgetedLearner:
    if given is not None and _recipe(given) == recipe:
        return given
    if given is not None or recipe["name"] not in _OURS:
        raise SessionError(
            f"BudgetSession.load: the session was saved with {recipe['name']} and the parameters "
            f"{recipe['parameters']}, got {given!r}; give the same learner."
        )
    parameters = {
        name: _learner(value, None) if isinstance(value, dict) else value
        for name, value in recipe["parameters"].items()
    }
    learner: BudgetedLearner = _OURS[recipe["name"]](**parameters)
    return learner
