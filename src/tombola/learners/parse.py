"""Naming: a learner as it is written on the command line, such as UCB2 or Hedge(rate=0.1); nothing is evaluated."""

import ast
from typing import TYPE_CHECKING, Any

from tombola.errors import ParameterError, SessionError
from tombola.learners.spec import from_spec

if TYPE_CHECKING:
    from tombola.learners.base import Learner


def parse_learner(text: str) -> "Learner":
    """Return the learner that is written as Python prints it.

    >>> parse_learner("UCB2(alpha=0.25)")
    UCB2(alpha=0.25)
    >>> parse_learner("Simulation(base=FollowTheLeader(), trainings=2)").trainings
    2
    """
    try:
        recipe = _part(ast.parse(text.strip(), mode="eval").body)
        if not isinstance(recipe, dict):
            raise ValueError("a value, not a learner")
        learner: Learner = from_spec(recipe)
        return learner
    except ParameterError:
        raise
    except SessionError:
        reason = "no learner of tombola that can be saved has this name"
    except (RecursionError, SyntaxError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise ParameterError(
        f"--learner: expected a learner such as UCB2 or Hedge(rate=0.1), got {text!r} ({reason}); "
        "write its name, and parameters by name."
    )


def _part(node: ast.expr) -> Any:
    """Return the recipe of a name or a call, or the value of a constant."""
    if isinstance(node, ast.Name):
        return {"name": node.id, "parameters": {}}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.args or any(word.arg is None for word in node.keywords):
            raise ValueError("a parameter without its name")
        return {"name": node.func.id, "parameters": {str(word.arg): _part(word.value) for word in node.keywords}}
    return ast.literal_eval(node)
