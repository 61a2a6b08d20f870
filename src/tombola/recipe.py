"""Recipe: a learner as plain data, and back. Nothing is imported or run by what a file says."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tombola import budgets, labels, reductions
from tombola.errors import SessionError
from tombola.learners import bandit, full, switching
from tombola.settings import kind_of

_ROOMS = (full, bandit, switching, budgets, reductions, labels)
_OURS: dict[str, Any] = {
    name: kind
    for room in _ROOMS
    for name in room.__all__
    if is_dataclass(kind := getattr(room, name)) and isinstance(kind, type)
}
_PLAIN = (type(None), bool, int, float, str)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # where a thing lies in memory is no part of what it is


def recipe_of(learner: Any) -> dict[str, Any]:
    """Return the name and the parameters of a learner, or of a part of one.

    >>> from tombola import Hedge
    >>> recipe_of(Hedge(rate=0.5))
    {'name': 'Hedge', 'parameters': {'rate': 0.5, 'order': 'random', 'delay': 0}}
    """
    kind, parameters = type(learner), {field.name: _out(getattr(learner, field.name)) for field in fields(learner)}
    name = kind.__name__ if _OURS.get(kind.__name__) is kind else f"own {kind.__name__}"
    return {"name": name, "parameters": parameters}


def learner_from(recipe: dict[str, Any], given: Any = None) -> Any:
    """Return the learner of a recipe: `given`, if it has this recipe, or one of tombola's own."""
    if given is not None:
        if recipe_of(given) != recipe:
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
    kind_of(learner)  # refuses what is not a learner
    return learner


def _out(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return recipe_of(value)
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
    return _OURS[recipe["name"]](**parameters)
