"""Label session: a learner of labels in live use; features come in, a label is predicted, the true one comes later.

Late, missing, repeated and unknown feedback means what it means in `tombola.session`.
"""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from tombola import validate
from tombola.classes.labelled_pool import round_weight
from tombola.classes.learner import LabelLearner, comparator
from tombola.classes.recipe import learner_from, recipe_of
from tombola.errors import FeedbackError, SessionError
from tombola.files import write_whole
from tombola.session import Ticket
from tombola.streams import Streams
from tombola.types import Coins, Floats, Seed

FORMAT = 1


class LabelSession:
    """A learner that is asked for labels and told the true ones, live. `features` is the number of numbers in a row.

    >>> from tombola.classes import ERM, Thresholds
    >>> session = LabelSession(ERM(Thresholds()), horizon=100, seed=0)
    >>> ticket = session.predict(0.3)
    >>> ticket
    Ticket(round=1, action=0, chance=1.0)
    >>> session.observe(ticket, label=1)
    True
    >>> session.predict(0.4).action
    1
    """

    def __init__(self, learner: LabelLearner, horizon: int, features: int = 1, *, seed: Seed) -> None:
        self._start(learner, horizon, features, Streams(seed).learner(learner))

    def _start(self, learner: LabelLearner, horizon: int, features: int, coins: Coins) -> None:
        self.learner = learner
        self.horizon = validate.whole("LabelSession", "horizon", horizon, least=1)
        self.features = validate.whole("LabelSession", "features", features, least=1)
        comparator(learner).check(self.features)
        self._coins = [int(word) for word in coins]
        self._predictor = learner.start(self.horizon, self.features, coins)
        self._tickets: list[Ticket] = []
        self._rows: list[Floats] = []
        self._outcomes: list[tuple[int, float] | None] = []
        self._events: list[int] = []  # 0 for a prediction, else the round that was answered

    def predict(self, features: Any) -> Ticket:
        """Predict the label of the next row; the label is the action of the ticket."""
        if self.round >= self.horizon:
            raise SessionError(
                f"LabelSession: all {self.horizon} rounds have been played; start another LabelSession, "
                f"or one with a larger horizon."
            )
        row = self._row(features)
        label, chance = self._predictor.predict(row)
        ticket = Ticket(self.round + 1, label, chance)
        self._tickets.append(ticket)
        self._rows.append(row)
        self._outcomes.append(None)
        self._events.append(0)
        return ticket

    def observe(self, ticket: Ticket, *, label: Any, weight: float = 1.0) -> bool:
        """Tell the learner the true label of a ticket's row; True if that is news."""
        index = self._known(ticket)
        quick = type(label) is int and 0 <= label <= 1  # asking NumPy takes microseconds
        if not quick and (isinstance(label, str) or np.ndim(label) != 0 or label not in (0, 1)):
            raise FeedbackError(f"LabelSession.observe: label must be 0 or 1, got {label!r}; write label=0 or label=1.")
        outcome = (int(label), weight if type(weight) is float and weight == 1.0 else self._weight(weight))
        before = self._outcomes[index]
        if before is not None:
            if before == outcome:
                return False
            raise FeedbackError(
                f"LabelSession.observe: round {ticket.round} has been answered with {before!r}, got {outcome!r} now; "
                "the first answer stands."
            )
        self._predictor.learn(self._rows[index], *outcome)
        self._outcomes[index] = outcome
        self._events.append(ticket.round)
        return True

    @property
    def round(self) -> int:
        """The number of rounds played so far."""
        return len(self._tickets)

    @property
    def pending(self) -> list[Ticket]:
        """The tickets whose label has not come yet."""
        return [t for t, outcome in zip(self._tickets, self._outcomes, strict=True) if outcome is None]

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions among those answered so far."""
        pairs = zip(self._tickets, self._outcomes, strict=True)
        return sum(outcome is not None and outcome[0] != ticket.action for ticket, outcome in pairs)

    def __repr__(self) -> str:
        return f"LabelSession({self.learner!r}, round {self.round} of {self.horizon}, {len(self.pending)} pending)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, all of it or nothing: its history, as readable JSON."""
        data = {
            "tombola label session": "written by tombola.classes.LabelSession.save",
            "format": FORMAT,
            "learner": recipe_of(self.learner),
            "horizon": self.horizon,
            "features": self.features,
            "coins": self._coins,
            "rows": [row.tolist() for row in self._rows],
            "predictions": [ticket.action for ticket in self._tickets],
            "outcomes": self._outcomes,
            "events": self._events,
        }
        write_whole(path, json.dumps(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: LabelLearner | None = None) -> "LabelSession":
        """Take up a saved session where it was, by going through its history again.

        A learner of tombola is made again from the file; one of your own must be given, and must be the same.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise SessionError(
                    f"LabelSession.load: {path} has format {data['format']!r}, this version of tombola reads {FORMAT}; "
                    "use the version that wrote it."
                )
            return cls._from_json(data, learner_from(data["learner"], learner))
        except (KeyError, TypeError, IndexError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise SessionError(
                f"LabelSession.load: expected a session written by LabelSession.save, got {path}, which is not one "
                f"({error}); give the file that was saved."
            ) from None

    @classmethod
    def _from_json(cls, data: dict[str, Any], learner: LabelLearner) -> "LabelSession":
        session = cls.__new__(cls)
        session._start(learner, data["horizon"], data["features"], np.array(data["coins"], np.uint64))
        for event in data["events"]:
            if event == 0:
                session.predict(data["rows"][session.round])
            else:
                label, weight = data["outcomes"][event - 1]
                session.observe(session._tickets[event - 1], label=label, weight=weight)
        if [ticket.action for ticket in session._tickets] != data["predictions"]:
            raise SessionError(
                f"LabelSession.load: expected {learner!r} to predict what it did before, got other labels; "
                "load it with the learner and the version that saved it."
            )
        return session

    def _weight(self, weight: Any) -> float:
        number = validate.number("LabelSession.observe", "weight", weight, above=0, most=1)
        return float(round_weight(np.array([number]))[0])

    def _row(self, features: Any) -> Floats:
        if type(features) is float and self.features == 1 and math.isfinite(features):
            return np.array([features + 0.0])  # the common case, several times quicker than what follows
        try:
            row = np.atleast_1d(np.array(features, dtype=np.float64)) + 0.0
        except (TypeError, ValueError):
            row = np.full(self.features, np.nan)
        if row.shape != (self.features,) or not np.isfinite(row).all():
            raise FeedbackError(
                f"LabelSession.predict: features must be {self.features} finite number{'s' * (self.features > 1)}, "
                f"got {features!r}; fill in what is missing, or give LabelSession the number of features."
            )
        return row

    def _known(self, ticket: Ticket) -> int:
        try:
            if ticket.round >= 1 and self._tickets[ticket.round - 1][:2] == ticket[:2]:
                return ticket.round - 1
        except (AttributeError, IndexError, TypeError):
            pass
        raise FeedbackError(
            f"LabelSession.observe: expected a ticket that predict() has handed out (rounds 1..{self.round}), "
            f"got {ticket!r}; give back the ticket itself."
        )
