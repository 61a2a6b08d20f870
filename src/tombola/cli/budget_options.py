"""Parse the budget options of `session start`: amounts, worst costs and prices."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import Budget
from tombola.errors import ParameterError


def parse_budget(
    names: Sequence[str],
    amounts: Sequence[float],
    worst: Sequence[str],
    prices: Sequence[str],
    null: str,
    target: float | None = None,
) -> Budget | None:
    """Build a `Budget` from the options of `session start`; None without an amount.

    ParameterError if the largest cost of an action is missing, a name is unknown, or another option
    comes without an amount.

    names: names of the actions.
    amounts: budget of each resource.
    worst, prices: largest, or fixed, cost of one play, one text per resource: a number for all
        actions, or by name.
    null: name of the action without cost; "" adds such an action.
    target: mean loss in [0, 1] to reach at the least cost; None: minimise the loss instead.

    >>> parse_budget(["gpt", "small"], [25.0], ["gpt=0.03,small=0.001"], [], "")
    Budget(amounts=[25.0], worst=[[0.03], [0.001]], null='add', prices=None, target=None)
    >>> parse_budget(["gpt", "cache"], [25.0], ["0.03"], ["cache=0"], "cache").null
    1
    """
    if not amounts:
        others = [null] if null else [], [] if target is None else [target]
        for option, text in zip(
            ("--worst", "--prices", "--null", "--target"), (worst, prices, *others), strict=True
        ):
            if text:
                raise ParameterError(
                    f"{option}: expected a budget with it, got none; write for example --budget 25."
                )
        return None
    price_table = _table("--prices", names, prices, len(amounts))
    most = _table("--worst", names, worst, len(amounts))
    known = np.where(np.isnan(most), price_table, most)
    if null and null in names:
        known[list(names).index(null)] = 0.0
    if np.isnan(known).any():
        name = names[int(np.argwhere(np.isnan(known))[0, 0])]
        raise ParameterError(
            f"--worst: expected the most that one play of {name} can cost, got nothing; write "
            f"--worst {name}=0.03, or "
            f"--prices {name}=0.03 if it always costs that."
        )
    fixed = [
        [None if math.isnan(price) else price for price in row] for row in price_table.tolist()
    ]
    place: int | Literal["add"] = _index("--null", names, null) if null else "add"
    return Budget(
        list(amounts), known.tolist(), place, None if np.isnan(price_table).all() else fixed, target
    )


def _table(option: str, names: Sequence[str], texts: Sequence[str], resources: int) -> Floats:
    """Return actions x resources, NaN where nothing is given."""
    if texts and len(texts) != resources:
        raise ParameterError(
            f"{option}: expected one for each of the {resources} amounts of --budget, got "
            f"{len(texts)}; write {option} "
            "again for each resource."
        )
    table = np.full((len(names), resources), math.nan)
    for resource, text in enumerate(texts):
        seen_names: set[str] = set()
        for part in text.split(","):
            name, equals, number = (piece.strip() for piece in part.rpartition("="))
            if name in seen_names or (seen_names and not equals):
                raise ParameterError(
                    f"{option}: expected one number, or one for each action by its name, got "
                    f"{text!r}; write for "
                    f"example {option} {names[0]}=0.03."
                )
            seen_names.add(name)
            which = range(len(names)) if not equals else [_index(option, names, name)]
            table[list(which), resource] = _number(option, number)
    return table


def _index(option: str, names: Sequence[str], name: str) -> int:
    if name not in names:
        raise ParameterError(
            f"{option}: expected one of {', '.join(names)}, got {name!r}; write its name."
        )
    return list(names).index(name)


def _number(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ParameterError(
            f"{option}: expected a cost of 0 or more, got {text.strip()!r}; write for example "
            f"{option} gpt=0.03."
        )
    return number
