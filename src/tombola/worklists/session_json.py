"""`Session.save` and `Session.load`: configuration and events as JSON, with a digest.

The file has no learner state. Loading replays the events (`tombola.worklists.session_events`),
and every ticket must be repeated to the bit.
"""

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._files import read_bytes, write_atomic
from tombola._types import AnyLearner, RngState
from tombola.budget.budget import Budget
from tombola.errors import MALFORMED_DATA_ERRORS, FeedbackError, FileError, SessionError
from tombola.learners.spec import from_spec, to_spec
from tombola.worklists.session_events import (
    ReplayError,
    replay_outcome,
    replay_ticket,
    ticket_value,
)

if TYPE_CHECKING:
    from tombola.session import Session

# Version of the file; SessionError for others.
_FORMAT = 3


def save(session: "Session", path: str | os.PathLike[str]) -> None:
    """Write configuration and events of a session to a JSON file, atomically."""
    budget = session.budget
    about: dict[str, Any] = {
        "tombola session": "written by tombola.Session.save",
        "format": _FORMAT,
        "learner": to_spec(session.learner),
        "actions": list(session.names[: session.actions]),
        "horizon": session.horizon,
        "features": session.feedback_model.n_features or None,
        "budget": None if budget is None else budget.to_json(),
        "stop": session.stop,
        "rng": session._initial_rng,
    }
    events = _session_events(session)
    head = json.dumps(
        {**about, "digest": _digest({**about, "events": events})}, indent=1
    ).removesuffix("\n}")
    # One line per event: readable, and smaller than an indented list.
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    write_atomic(path, f'{head},\n "events": [\n{lines}\n ]\n}}\n')


def _session_events(session: "Session") -> list[tuple[str, int, list[Any]]]:
    """Return the events of a session in order of time, as (kind, round, value)."""
    table = session.ticket_table
    width = session.feedback_model.outcome_width
    columns = table.columns()
    outcomes = columns["outcomes"].reshape(-1, width)
    features = columns["features"]
    tickets = table.tickets
    events = []
    issued = 0
    n_decision = session.feedback_model.n_decision
    n_shown = table.n_features
    for answered in columns["history"].tolist():
        if answered:
            events.append(("outcome", answered, outcomes[answered - 1].tolist()))
        else:
            seen = features[issued * n_shown + n_decision : (issued + 1) * n_shown].tolist()
            decision = session.decision_of(issued + 1)
            events.append(("ticket", issued + 1, ticket_value(tickets[issued], seen, decision)))
            issued += 1
    return events


def load(
    path: str | os.PathLike[str], learner: AnyLearner | None, session_class: "type[Session]"
) -> "Session":
    """Start a session with the saved configuration, and replay its events.

    SessionError if the file is damaged, of another format, or the learner does not repeat its
    tickets.

    learner: needed if it is not a learner of tombola; None: restored from the file.
    session_class: `Session`, which imports this module.
    """
    try:
        data = json.loads(read_bytes(path).decode("utf-8"))
        if data["format"] != _FORMAT:
            raise SessionError(
                f"Session.load: {path} has format {data['format']!r}, this version of tombola "
                f"reads {_FORMAT}; "
                "use the version that wrote it."
            )
        if data.pop("digest") != _digest(data):
            raise SessionError(
                f"Session.load: {path} was changed after it was written, or damaged; take the "
                "last copy that loads."
            )
        return _replayed(data, from_spec(data["learner"], learner), session_class)
    except ReplayError:
        raise SessionError(
            f"Session.load: expected the learner to repeat the tickets of {path}, got others; "
            "load it with the learner and the version that saved it."
        ) from None
    except MALFORMED_DATA_ERRORS as error:
        if isinstance(error, FileError | SessionError) and not isinstance(error, FeedbackError):
            raise
        raise SessionError(
            f"Session.load: expected a session written by Session.save, got {path}, which is not "
            "one "
            f"({' '.join(str(error).split())}); give the file that was saved."
        ) from None


def _replayed(data: dict[str, Any], learner: AnyLearner, start: "type[Session]") -> "Session":
    budget = data["budget"]
    prescribed = getattr(learner.feedback, "default_actions", None)
    session = start(
        learner,
        [str(name) for name in data["actions"]] if prescribed is None else None,
        data["horizon"],
        budget=None if budget is None else Budget(*budget),
        stop=data["stop"],
        features=data["features"],
        seed=0,
    )
    session._start(_rng_state(data["rng"]))
    if not isinstance(data["events"], list):
        raise TypeError("events are not a list")
    for kind, round_, value in data["events"]:
        if kind == "ticket":
            replay_ticket(session, round_, value)
        elif kind == "outcome":
            replay_outcome(session, round_, value)
        else:
            raise ValueError("unknown kind of event")
    return session


def _rng_state(words: Any) -> RngState:
    """Return the four words of a generator; four zeros are not a valid state."""
    if not (len(words) == 4 and all(type(word) is int for word in words) and any(words)):
        raise ValueError("malformed rng state")
    return np.array(words, np.uint64)


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
