"""Recipe: a learner of labels as plain data, and back. Nothing is imported or run by what a file says."""

from dataclasses import fields
from typing import Any

from tombola import recipe
from tombola.classes.all_labellings import AllLabellings
from tombola.classes.erm import ERM
from tombola.classes.experts import Experts
from tombola.classes.finite import FiniteClass
from tombola.classes.halfplanes import Halfplanes
from tombola.classes.halving import Halving
from tombola.classes.hypotheses import Hypotheses
from tombola.classes.learner import LabelLearner
from tombola.classes.line import Intervals, Thresholds, Unions
from tombola.classes.optimal import StandardOptimal
from tombola.classes.rectangles import Rectangles
from tombola.classes.stumps import Stumps
from tombola.errors import SessionError
from tombola.learners.base import Learner

_LEARNERS: tuple[type[LabelLearner], ...] = (ERM, Experts, Halving, StandardOptimal)
_ON_LINES: tuple[type[Hypotheses], ...] = (Intervals, Stumps, Thresholds, Unions)
_OTHERS: tuple[type[Hypotheses], ...] = (AllLabellings, FiniteClass, Halfplanes, Rectangles)
_OURS: dict[str, Any] = {kind.__name__: kind for kinds in (_LEARNERS, _ON_LINES, _OTHERS) for kind in kinds}


def recipe_of(thing: Any) -> dict[str, Any]:
    """Return the name and the parameters of a learner of labels, or of a class of hypotheses.

    >>> recipe_of(ERM(Thresholds()))
    {'name': 'ERM', 'parameters': {'hypotheses': {'name': 'Thresholds', 'parameters': {}}, 'ties': 'first'}}
    """
    parameters = {field.name: _out(getattr(thing, field.name)) for field in fields(thing)}
    return {"name": type(thing).__name__, "parameters": parameters}


def learner_from(data: dict[str, Any], given: LabelLearner | None = None) -> LabelLearner:
    """Return the learner of a recipe: `given`, if it has this recipe, or one of tombola's own."""
    if given is not None:
        if recipe_of(given) != data:
            raise SessionError(
                f"LabelSession.load: the session was saved with {data['name']} and other parameters, got {given!r}; "
                "give the same learner."
            )
        return given
    learner = _make(data)
    if not isinstance(learner, LabelLearner):
        raise SessionError(
            f"LabelSession.load: {data['name']!r} is not a learner; give LabelSession.load the learner that was saved."
        )
    return learner


def _out(value: Any) -> Any:
    if isinstance(value, Learner):
        return recipe.recipe_of(value)
    if isinstance(value, Hypotheses):
        return recipe_of(value)
    if isinstance(value, tuple):
        return [_out(part) for part in value]
    return value if value is None or isinstance(value, int | float | str) else repr(value)


def _make(data: dict[str, Any]) -> Any:
    kind = _OURS.get(data["name"])
    if kind is None:
        raise SessionError(
            f"LabelSession.load: {data['name']!r} is not one of tombola's own; "
            "write LabelSession.load(path, learner=...) with the learner that was saved."
        )
    parameters = {
        name: value if not isinstance(value, dict) else recipe.learner_from(value) if name == "base" else _make(value)
        for name, value in data["parameters"].items()
    }
    return kind(**parameters)
