"""Learner specifications: a learner as plain data or as text, and back.

Only names of tombola and of installed packages are looked up; nothing in a file is imported or
evaluated.
"""

import ast
import re
import warnings
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola import learners
from tombola._formatting import closest_name
from tombola.budget.budget import BudgetTerms
from tombola.errors import ParameterError, SessionError
from tombola.feedback import feedback_type

if TYPE_CHECKING:
    from tombola.learners.base import Learner

# Group of entry points in which other packages register their learners: name =
# "package.module:Class".
ENTRY_POINT_GROUP = "tombola.learners"
# Packages of classes that learners are made of, imported when a name is not found before: most
# sessions need none.
_LAZY_PACKAGES = ("tombola.policies", "tombola.classification")
_PLAIN_TYPES = (type(None), bool, int, float, str)
# The repr of a function contains its address, which differs between processes.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def to_spec(learner: Any) -> dict[str, Any]:
    """Return the name and the parameters of a learner, as JSON values.

    The keys are "name", the name of the class, and "parameters", a dict of its dataclass fields.
    Nested learners, schedules and hypothesis classes become nested specifications. The name of a
    class that tombola cannot look up, or of any other object, begins with "own "; `from_spec`
    cannot build those.

    >>> from tombola import Hedge
    >>> to_spec(Hedge(rate=0.5))
    {'name': 'Hedge', 'parameters': {'rate': 0.5, 'order': 'random', 'delay': 0}}
    """
    kind = type(learner)
    parameters = {field.name: _plain(getattr(learner, field.name)) for field in fields(learner)}
    name = kind.__name__ if _find_class(kind.__name__) is kind else f"own {kind.__name__}"
    return {"name": name, "parameters": parameters}


def from_spec(spec: dict[str, Any], given: Any = None) -> Any:
    """Return the learner of a specification.

    If `given` is not None, it must have this specification and is returned. Raises SessionError if
    it differs, or if a class is neither of tombola nor of an installed package, and LearnerError if
    the class is not a learner.

    spec: dictionary of `to_spec`, with the keys "name" and "parameters".
    """
    if given is not None:
        if to_spec(given) != spec:
            raise SessionError(
                f"Session.load: the session was saved with {spec['name']} and the parameters "
                f"{spec['parameters']}, "
                f"got {given!r}; give the same learner."
            )
        return given
    try:
        learner = _build(spec)
    except KeyError as unknown:
        name = " ".join(str(spec["name"]).removeprefix("own ").split())
        raise SessionError(
            f"Session.load: {unknown} is not a part of tombola; write Session.load(path, "
            f"learner={name}(...))."
        ) from None
    feedback_type(learner)  # raises LearnerError for a class that is not a learner
    return learner


def parse_learner(text: str, option: str = "--learner") -> "Learner":
    """Return the learner of a text such as "UCB2" or "Hedge(rate=0.1)".

    The text is parsed, not evaluated as Python. Raises ParameterError for unknown names and for
    anything but constants, learners and keyword parameters.

    option: option of the command line that has the text, for messages.

    >>> parse_learner("UCB2(alpha=0.25)")
    UCB2(alpha=0.25)
    >>> parse_learner("Simulation(base=FollowTheLeader(), trainings=2)").trainings
    2
    """
    try:
        spec = _parse(ast.parse(text.strip(), mode="eval").body)
        if not isinstance(spec, dict):
            raise ValueError("a value, not a learner")
        learner: Learner = _build(spec)
        feedback_type(learner)  # raises LearnerError for a class that is not a learner
        return learner
    except ParameterError:
        raise
    except KeyError as unknown:
        similar = closest_name(
            str(unknown.args[0]), filter(_find_class, [*learners.__all__, *installed_learners()])
        )
        hint = f"did you mean {similar}?" if similar else "tombola learners lists them"
        reason = f"no learner of tombola that can be saved has this name, {hint}"
    except (RecursionError, SyntaxError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise ParameterError(
        f"{option}: expected a learner such as UCB2 or Hedge(rate=0.1), got {text!r} ({reason}); "
        "write its name, and parameters by name."
    )


def _find_class(name: str) -> Any:
    """Return the learner or hypothesis class with this name, or None.

    Only dataclasses of tombola and those of installed packages are found.

    >>> _find_class("UCB2").__name__, _find_class("os.system")
    ('UCB2', None)
    """
    if name in learners.__all__:
        kind = getattr(learners, name)
    elif name in installed_learners():
        kind = installed_learners()[name]
    else:
        packages = map(import_module, _LAZY_PACKAGES)
        kind = next(
            (getattr(package, name) for package in packages if name in package.__all__), None
        )
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


@lru_cache(maxsize=1)
def installed_learners() -> dict[str, type]:
    """Return the learner classes of other packages, by entry point name.

    Packages register them as entry points of the group "tombola.learners". An entry point that
    cannot be loaded, that is not a class, or that has the name of a learner of tombola, is ignored
    with a warning. The result is cached.
    """
    by_name: dict[str, type] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            kind = entry.load()
        except Exception as error:  # any package may be broken; the others must still work
            warnings.warn(
                f"{entry.value}: cannot be loaded ({error}); reinstall that package.", stacklevel=2
            )
            continue
        if entry.name in learners.__all__ or not isinstance(kind, type):
            warnings.warn(
                f"{entry.value}: {entry.name!r} is no new learner class; rename it.", stacklevel=2
            )
            continue
        by_name[entry.name] = kind
    return by_name


def has_bound(kind: Any) -> bool:
    """Return whether a learner class has a regret bound.

    It does if `bound` returns a number, not None, for an instance with default parameters, or with
    the base Hedge() or UCB1() if a base is required, for 2 actions and 1024 rounds without delay.

    >>> has_bound(learners.UCB1), has_bound(learners.Simulation), has_bound(learners.ThompsonSampling)
    (True, True, False)
    """
    full = {"base": learners.Hedge()}
    bandit = {"base": learners.UCB1()}
    for parameters in ({}, full, bandit, {**full, "delay": 0}):
        try:
            learner = kind(**parameters)
        except (ParameterError, TypeError):  # it needs other parameters
            continue
        if issubclass(kind, learners.BudgetedBase):
            terms = BudgetTerms(2, 1, 1024, 0.5, 0, np.full((2, 1), np.nan))
            return learner.bound(terms, 0.05) is not None
        return learners.base.bound_of(learner, actions=2, horizon=1024) is not None
    return False


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_spec(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, _PLAIN_TYPES):
        return value
    words = _ADDRESS.sub(
        "", f"{type(value).__name__} {getattr(value, '__qualname__', repr(value))}"
    )
    return {"name": f"own {words}", "parameters": {}}


def _build(spec: dict[str, Any]) -> Any:
    """Return the object of a specification; KeyError if its class is unknown."""
    parameters = {name: _build_value(value) for name, value in spec["parameters"].items()}
    kind = _find_class(spec["name"])
    if kind is None:
        raise KeyError(spec["name"])
    return kind(**parameters)


def _build_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_build_value(part) for part in value)
    return _build(value) if isinstance(value, dict) else value


def _parse(node: ast.expr) -> Any:
    """Return the specification of a name or a call, or the value of a constant."""
    if isinstance(node, ast.Name):
        return {"name": node.id, "parameters": {}}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.args or any(word.arg is None for word in node.keywords):
            raise ValueError("a parameter without its name")
        return {
            "name": node.func.id,
            "parameters": {str(word.arg): _parse(word.value) for word in node.keywords},
        }
    if isinstance(node, ast.Tuple | ast.List):
        return [_parse(part) for part in node.elts]
    return ast.literal_eval(node)
