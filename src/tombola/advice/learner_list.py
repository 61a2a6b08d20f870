"""Learners by what is written: a name, a name with parameters, or one in a file of your own; and the list of ours."""

import importlib.util
import re
import sys
from dataclasses import MISSING, fields
from inspect import isabstract
from pathlib import Path
from typing import Any, NamedTuple

from tombola import learners
from tombola.errors import ParameterError
from tombola.learners import BudgetedBase
from tombola.learners.base import Learner
from tombola.learners.parse import parse_learner


def parted(text: str) -> tuple[str, ...]:
    """Return what stands between commas, other than those inside of brackets.

    >>> parted("UCB2(alpha=.3), Simulation(base=Hedge(rate=1, delay=2)),UCB1")
    ('UCB2(alpha=.3)', 'Simulation(base=Hedge(rate=1, delay=2))', 'UCB1')
    """
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(part.strip() for part in parts if part.strip())


def learner_written(text: str) -> Learner:
    """Return the learner that is written: UCB2, UCB2(alpha=.3), or mine.py:MyLearner for one of your own.

    >>> learner_written("UCB2(alpha=.3)")
    UCB2(alpha=0.3)
    """
    path, colon, name = text.rpartition(":")
    return _own(Path(path), name, text) if colon and path.endswith(".py") else parse_learner(text)


def _own(path: Path, written: str, text: str) -> Learner:
    """Load a file that somebody named, and make the learner in it."""
    name = written.partition("(")[0]
    kind = getattr(_module(path), name, None)
    if not (isinstance(kind, type) and issubclass(kind, Learner)):
        raise ParameterError(
            f"--learners: expected a subclass of Learner called {name!r} in {path}, found none; "
            "write FILE.py:NAME, as the class is called there."
        )
    parameters = learner_named_parameters(written)
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ParameterError(f"--learners: {text!r} cannot be made ({error}); write its parameters by name.") from None


def learner_named_parameters(written: str) -> dict[str, Any]:
    """Return the parameters in a call such as MyLearner(rate=2); nothing is evaluated.

    >>> learner_named_parameters("MyLearner(rate=2)"), learner_named_parameters("MyLearner")
    ({'rate': 2}, {})
    """
    import ast

    try:
        node = ast.parse(written.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return {}
        if isinstance(node, ast.Call) and not node.args:
            return {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
    except (SyntaxError, ValueError):
        pass
    raise ParameterError(f"--learners: expected NAME or NAME(parameter=1), got {written!r}; write it so.")


def _module(path: Path) -> Any:
    if not path.is_file():
        raise ParameterError(f"--learners: expected a Python file, found none at {path}; check the path.")
    name = f"tombola_user_{path.stem}"  # this prefix lets a cluster send its classes
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ParameterError(
            f"--learners: {path} cannot be loaded ({type(error).__name__}: {error}); run it with python to see where."
        ) from None
    return module


class Listed(NamedTuple):
    """A learner of ours, for the list: its name, what it sees, its parameters, and what it is."""

    name: str
    sees: str
    parameters: str
    proved: bool
    what: str

    @property
    def written(self) -> str:
        """The learner as it is written with its parameters."""
        return f"{self.name}({self.parameters})" if self.parameters else self.name


def listing() -> list[Listed]:
    """Return all learners that have a name, in the order in which they are kept.

    >>> [one for one in listing() if one.name == "UCB2"]
    [Listed(name='UCB2', sees='the loss played', parameters='alpha=0.5', proved=True, what=...)]
    """
    found = []
    for name in learners.__all__:
        kind = getattr(learners, name)
        if isinstance(kind, type) and issubclass(kind, Learner | BudgetedBase) and not isabstract(kind):
            found.append(_listed(name, kind))
    return found


_SEES = {
    "full": "whole rows",
    "bandit": "the loss played",
    "budgeted": "rows and costs",
    "budgeted-bandit": "loss and costs played",
}


def _listed(name: str, kind: Any) -> Listed:
    base = Learner if issubclass(kind, Learner) else BudgetedBase
    sees = _SEES.get(getattr(kind, "feedback", ""), "what its base sees")
    parameters = ", ".join(_parameter(field) for field in fields(kind))
    return Listed(name, sees, parameters, kind.bound is not base.bound, _sentence(kind))


def _sentence(kind: Any) -> str:
    """Return the first sentence of what it is; a point before a small letter ends none, as in i.i.d. order."""
    text = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return re.split(r"\.\s(?=[A-Z])", text)[0].rstrip(".:")


def _parameter(field: Any) -> str:
    if field.default is not MISSING:
        return f"{field.name}={field.default!r}"
    return f"{field.name}={field.default_factory()!r}" if field.default_factory is not MISSING else field.name
