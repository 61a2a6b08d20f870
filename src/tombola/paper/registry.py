"""The claims of `tombola reproduce`, by module, then as defined there."""

from types import ModuleType

from tombola.paper.base import Claim, Extension
from tombola.paper.claims import (
    birthday,
    classification,
    constraints,
    delay,
    errata,
    input_models,
    switching,
)
from tombola.paper.extensions import (
    bandit_repair,
    batch_to_online,
    context,
    convex,
    empirical_lp,
    lower_bounds,
    pending,
    racing,
    random_answers,
    ranks,
    transfer,
)
from tombola.paper.extensions import delay as late
from tombola.paper.extensions import switching as frugal


def _claims_of(*modules: ModuleType) -> list[type[Claim]]:
    """Return the claims that modules define; base classes of claims have no name."""
    values = [(module.__name__, value) for module in modules for value in vars(module).values()]
    classes = [
        value for home, value in values if isinstance(value, type) and value.__module__ == home
    ]
    return [kind for kind in classes if issubclass(kind, Claim) and hasattr(kind, "name")]


# Classes of claims that are not in the paper.
EXTENSIONS: tuple[type[Extension], ...] = tuple(
    kind
    for kind in _claims_of(
        transfer,
        frugal,
        bandit_repair,
        late,
        empirical_lp,
        lower_bounds,
        ranks,
        context,
        racing,
        random_answers,
        pending,
        batch_to_online,
        convex,
    )
    if issubclass(kind, Extension)
)
# Classes of all claims: those of the paper in its order, then the extensions.
CLAIMS: tuple[type[Claim], ...] = (
    *_claims_of(birthday, delay, constraints, switching, classification, input_models, errata),
    *EXTENSIONS,
)
