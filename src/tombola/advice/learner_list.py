"""Parse learners given as text, and list all learners."""

import ast
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
from tombola.learners.spec import has_bound, installed_learners, parse_learner


def split_learners(text: str) -> tuple[str, ...]:
    """Split a list of learners as text at commas, except inside parentheses.

    >>> split_learners("UCB2(alpha=.3), Simulation(base=Hedge(rate=1, delay=2)),UCB1")
    ('UCB2(alpha=.3)', 'Simulation(base=Hedge(rate=1, delay=2))', 'UCB1')
    """
    parts = [""]
    depth = 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(part.strip() for part in parts if part.strip())


def parse_learner_text(text: str) -> Learner:
    """Return the learner that a text names: UCB2, UCB2(alpha=.3), mine.py:MyLearner.

    The last form is for a class in a Python file, which is executed.

    >>> parse_learner_text("UCB2(alpha=.3)")
    UCB2(alpha=0.3)
    """
    path, colon, name = text.rpartition(":")
    return (
        _load_learner(Path(path), name, text)
        if colon and path.endswith(".py")
        else parse_learner(text, "--learners")
    )


def _load_learner(path: Path, call: str, text: str) -> Learner:
    """Return the learner of a call as text, with a class in a file; parameters are literals, never evaluated."""
    try:
        node: Any = ast.parse(call.strip(), mode="eval").body
        parameters = {}
        if isinstance(node, ast.Call) and not node.args:
            parameters = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
            node = node.func
        name: str = node.id
    except (AttributeError, SyntaxError, ValueError):
        raise ParameterError(
            f"--learners: expected NAME or NAME(parameter=1), got {call!r}; write one of these."
        ) from None
    learner_class = getattr(_load_module(path), name, None)
    if not (isinstance(learner_class, type) and issubclass(learner_class, Learner)):
        raise ParameterError(
            f"--learners: expected a subclass of Learner called {name!r} in {path}, got none; "
            "write FILE.py:NAME, with the name of the class."
        )
    try:
        return learner_class(**parameters)
    except TypeError as error:
        raise ParameterError(
            f"--learners: {text!r} cannot be made ({error}); write its parameters by name."
        ) from None


def _load_module(path: Path) -> Any:
    if not path.is_file():
        raise ParameterError(
            f"--learners: expected a Python file, got none at {path}; check the path."
        )
    name = f"tombola_user_{path.stem}"  # a cluster sends the classes of modules with this prefix
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ParameterError(
            f"--learners: {path} cannot be loaded ({type(error).__name__}: {error}); run it with "
            "python to see where."
        ) from None
    return module


class LearnerInfo(NamedTuple):
    """One learner in the list of `list_learners`.

    feedback: losses that it needs, in words, such as "whole row".
    parameters: with their defaults, as text.
    proved: whether it has a proved bound on its regret.
    """

    name: str
    feedback: str
    parameters: str
    proved: bool
    summary: str

    @property
    def signature(self) -> str:
        """The name with the parameters and their defaults, such as UCB2(alpha=0.5)."""
        return f"{self.name}({self.parameters})" if self.parameters else self.name


def list_learners() -> list[LearnerInfo]:
    """Return all learners of the package and of installed plugins, one entry each.

    Plugins register learners under the entry point "tombola.learners".

    >>> [one for one in list_learners() if one.name == "UCB2"]
    [LearnerInfo(name='UCB2', feedback='loss of the played action', parameters='alpha=0.5', proved=True, summary=...)]
    """
    ours = {name: getattr(learners, name) for name in learners.__all__}
    return [
        _info(name, value)
        for name, value in (ours | installed_learners()).items()
        if isinstance(value, type)
        and issubclass(value, Learner | BudgetedBase)
        and not isabstract(value)
    ]


_FEEDBACK = {
    "full": "whole row",
    "bandit": "loss of the played action",
    "budgeted": "whole row and its costs",
    "budgeted-bandit": "loss and costs of the played action",
}


def _info(name: str, learner_class: Any) -> LearnerInfo:
    feedback = _FEEDBACK.get(getattr(learner_class, "feedback", ""), "as its base learner")
    parameters = ", ".join(_parameter(field) for field in fields(learner_class))
    return LearnerInfo(
        name, feedback, parameters, has_bound(learner_class), _summary(learner_class)
    )


def _summary(learner_class: Any) -> str:
    """Return the first sentence of the docstring; "i.i.d. order" does not end it."""
    text = " ".join((learner_class.__doc__ or "").split("\n\n")[0].split())
    return re.split(r"\.\s(?=[A-Z])", text)[0].rstrip(".:")


def _parameter(field: Any) -> str:
    if field.default is not MISSING:
        return f"{field.name}={field.default!r}"
    return (
        f"{field.name}={field.default_factory()!r}"
        if field.default_factory is not MISSING
        else field.name
    )
