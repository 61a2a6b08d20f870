"""Recipe: a learner as plain data, and back. Nothing is imported or run by what a file says."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from tombola import reductions
from tombola.errors import ParameterError, SessionError
from tombola.learners import bandit, full, switching
from tombola.learners.base import Learner

_OURS: dict[str, Any] = {
    name: getattr(module, name) for module in (full, bandit, switching, reductions) for name in module.__all__
}
_PLAIN = (type(None), bool, int, float, str)


def recipe_of(learner: Any) -> dict[str, Any]:
    """Return the name and the parameters of a learner, or of a part of one.

    >>> from tombola import Hedge
    >>> recipe_of(Hedge(rate=0.5))
    {'name': 'Hedge', 'parameters': {'rate': 0.5, 'delay': 0}}
    """
    kind, parameters = type(learner), {field.name: _out(getattr(learner, field.name)) for field in fields(learner)}
    name = kind.__name__ if _OURS.get(kind.__name__) is kind else f"own {kind.__name__}"
    return {"name": name, "parameters": parameters}


def learner_from(recipe: dict[str, Any], given: Learner | None = None) -> Learner:
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
        raise SessionError(
            f"Session.load: {foreign} is not a part of tombola; "
            f"write Session.load(path, learner={str(recipe['name']).removeprefix('own ')}(...))."
        ) from None
    if not isinstance(learner, Learner):
        raise SessionError(f"Session.load: expected a learner, got {recipe['name']}; give the file that was saved.")
    return learner


def learner_called(name: str) -> Learner:
    """Return a learner of tombola with its default parameters.

    >>> learner_called("UCB2")
    UCB2(alpha=0.5)
    """
    kind = _OURS.get(name)
    ready = [word for word, other in _OURS.items() if issubclass(other, Learner) and _needs_nothing(other)]
    if name not in ready or kind is None:
        raise ParameterError(f"learner: expected one of {', '.join(sorted(ready))}, got {name!r}; write one of those.")
    learner: Learner = kind()
    return learner


def _needs_nothing(kind: Any) -> bool:
    return all(f.default is not MISSING or f.default_factory is not MISSING for f in fields(kind))


def _out(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return recipe_of(value)
    if isinstance(value, np.generic):
        value = value.item()
    return (
        value if isinstance(value, _PLAIN) else f"{type(value).__name__} {getattr(value, '__qualname__', repr(value))}"
    )


def _make(recipe: dict[str, Any]) -> Any:
    """Return the part of tombola that a recipe describes; KeyError if it is somebody else's."""
    parameters = {
        name: _make(value) if isinstance(value, dict) else value for name, value in recipe["parameters"].items()
    }
    return _OURS[recipe["name"]](**parameters)
