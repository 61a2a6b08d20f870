"""Saved sessions: one readable file with a digest over everything, loaded by going through the history again.

The file has no state of a learner, only what happened; so a file that loads is one that a session could have written,
and no number in it reaches compiled code unchecked. Long columns are base64 of little-endian numbers.
"""

import base64
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._files import read_bytes, write_atomic
from tombola._types import RngState
from tombola.budget.budget import Budget
from tombola.engine.tickets import ACTION
from tombola.errors import MALFORMED_DATA_ERRORS, FileError, SessionError
from tombola.learners.spec import from_spec, to_spec

if TYPE_CHECKING:
    from tombola.session import Session

FORMAT = 2
COLUMNS = {"actions": "q", "probabilities": "d", "outcomes": "d", "shown": "d", "history": "q"}


def save(session: "Session", path: str | os.PathLike[str]) -> None:
    """Write a session to a file, all of it or nothing."""
    columns, budget = session.book.columns(), session.budget
    about: dict[str, Any] = {
        "tombola session": "written by tombola.Session.save",
        "format": FORMAT,
        "learner": to_spec(session.learner),
        "actions": list(session.names[: session.actions]),
        "horizon": session.horizon,
        "features": session.feedback_model.n_features or None,
        "budget": None if budget is None else budget.to_json(),
        "stop": session.stop,
        **_summary(session),
        "rng": session._first_coins,
        "book": {name: _out(columns[name]) for name in COLUMNS},
    }
    write_atomic(path, json.dumps({**about, "digest": _digest(about)}, indent=1))


def _summary(session: "Session") -> dict[str, Any]:
    """Return what all that happened comes to: said for the reader of the file, and compared when it is loaded."""
    balance = session.balance
    tracker = None if session.budget is None else {name: getattr(balance, name) for name in _LEDGER}
    return {"balance": tracker, "rounds": session.round, "answered": session.answered}


_LEDGER = ("spent", "reserved", "left")


def load(path: str | os.PathLike[str], learner: Any, start: "type[Session]") -> "Session":
    """Start a session as the saved one was started, and let everything happen again."""
    try:
        data = json.loads(read_bytes(path).decode("utf-8"))
        if data["format"] != FORMAT:
            raise SessionError(
                f"Session.load: {path} has format {data['format']!r}, this version of tombola reads {FORMAT}; "
                "use the version that wrote it."
            )
        if data.pop("digest") != _digest(data):
            raise SessionError(
                f"Session.load: {path} was changed after it was written, or damaged; take the last copy that loads."
            )
        return _replayed(data, from_spec(data["learner"], learner), start)
    except (FileError, SessionError):
        raise
    except MALFORMED_DATA_ERRORS as error:
        raise SessionError(
            f"Session.load: expected a session written by Session.save, got {path}, which is not one "
            f"({' '.join(str(error).split())}); give the file that was saved."
        ) from None


def _replayed(data: dict[str, Any], learner: Any, start: "type[Session]") -> "Session":
    budget = data["budget"]
    session = start(
        learner,
        None if data["features"] else [str(name) for name in data["actions"]],
        data["horizon"],
        budget=None if budget is None else Budget(*budget),
        stop=data["stop"],
        features=data["features"],
        seed=0,
    )
    session._start(_coins(data["rng"]))
    columns = {name: _in(data["book"][name], kind) for name, kind in COLUMNS.items()}
    _go_through(session, columns)
    now = session.book.columns()
    same = all(now[name].tobytes() == columns[name].tobytes() for name in COLUMNS)
    said = _summary(session)
    if not same or _digest(said) != _digest({name: data[name] for name in said}):
        raise SessionError(
            f"Session.load: expected {learner!r} to do what it did before, got something else; "
            "load it with the learner and the version that saved it."
        )
    return session


def _go_through(session: "Session", columns: dict[str, Any]) -> None:
    """Let everything happen again, in the order in which it happened."""
    width, context = session.feedback_model.outcome_width, session.feedback_model.n_features
    outcomes, shown = columns["outcomes"], columns["shown"]
    for event in columns["history"].tolist():
        if event == 0:
            at = session.round * context
            session.act(shown[at : at + context] if context else None)
        else:
            at = (event - 1) * width
            if not 1 <= event <= session.round:
                raise ValueError("an answer before its ticket")
            action = int(session.book.cells[event, ACTION])
            outcome = session.feedback_model.validate(action, tuple(outcomes[at : at + width].tolist()))
            session._observe(event, outcome)


def _coins(words: Any) -> RngState:
    """Return four words that rng can start from: four zeros would stay zeros for ever."""
    if not (len(words) == 4 and all(type(word) is int for word in words) and any(words)):
        raise ValueError("its rng are none")
    return np.array(words, np.uint64)


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _out(column: Any) -> str:
    numbers = np.asarray(column)
    return base64.b64encode(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def _in(text: str, kind: str) -> Any:
    stored = np.dtype(kind).newbyteorder("<")
    return np.frombuffer(base64.b64decode(text, validate=True), stored).astype(kind)
