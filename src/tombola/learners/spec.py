"""Recipe: a learner as plain data, and back. Nothing is imported or run by what a file says."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tombola import learners
from tombola.errors import SessionError
from tombola.feedback import feedback_type

_PLAIN = (type(None), bool, int, float, str)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # where a thing lies in memory is no part of what it is


def to_spec(learner: Any) -> dict[str, Any]:
    """Return the name and the parameters of a learner, or of a part of one.

    >>> from tombola import Hedge
    >>> to_spec(Hedge(rate=0.5))
    {'name': 'Hedge', 'parameters': {'rate': 0.5, 'order': 'random', 'delay': 0}}
    """
    kind, parameters = type(learner), {field.name: _out(getattr(learner, field.name)) for field in fields(learner)}
    name = kind.__name__ if find_class(kind.__name__) is kind else f"own {kind.__name__}"
    return {"name": name, "parameters": parameters}


def from_spec(recipe: dict[str, Any], given: Any = None) -> Any:
    """Return the learner of a recipe: `given`, if it has this recipe, or one of tombola's own."""
    if given is not None:
        if to_spec(given) != recipe:
            raise SessionError(
                f"Session.load: the session was saved with {recipe['name']} and the parameters {recipe['parameters']}, "
                f"got {given!r}; give the same learner."
            )
        return given
    try:
        learner = _make(recipe)
    except KeyError as foreign:
        name = " ".join(str(recipe["name"]).removeprefix("own ").split())
        raise SessionError(
            f"Session.load: {foreign} is not a part of tombola; write Session.load(path, learner={name}(...))."
        ) from None
    feedback_type(learner)  # refuses what is not a learner
    return learner


def _out(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_spec(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_out(part) for part in value]
    if isinstance(value, _PLAIN):
        return value
    words = _ADDRESS.sub("", f"{type(value).__name__} {getattr(value, '__qualname__', repr(value))}")
    return {"name": f"own {words}", "parameters": {}}


def _make(recipe: dict[str, Any]) -> Any:
    """Return the part of tombola that a recipe describes; KeyError if it is somebody else's."""
    parameters = {
        name: _make(value) if isinstance(value, dict) else value for name, value in recipe["parameters"].items()
    }
    kind = find_class(recipe["name"])
    if kind is None:
        raise KeyError(recipe["name"])
    return kind(**parameters)


def find_class(name: str) -> Any:
    """Return the dataclass of tombola with this name, a learner or a class of hypotheses, or None.

    >>> find_class("UCB2").__name__, find_class("os.system")
    ('UCB2', None)
    """
    if name in learners.__all__:
        kind = getattr(learners, name)
    else:
        from tombola import classification  # only for its own classes, which take longer to import

        kind = getattr(classification, name, None) if name in classification.__all__ else None
    return kind if isinstance(kind, type) and is_dataclass(kind) else None
