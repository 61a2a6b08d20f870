"""The best fixed mix within a budget, or for a target, in words: what to play how often, and what a little more is."""

import sys
from dataclasses import replace

import numpy as np

from tombola._formatting import format_number, join_names
from tombola.budget.budget import Budget
from tombola.budget.optimum import UnreachableError, optimum
from tombola.pool import Pool

NOISE = 1e-9  # of a loss a row: what two solutions of the same program may differ by
SEEN = 0.005  # smaller shares are not worth a word


def mix_words(pool: Pool, budget: Budget) -> str:
    """Return the best fixed mix: its shares, its loss and what it spends.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> mix_words(pool, Budget(5.0, null="add"))
    'play small on 57 % of the rows and large on 43 %: mean loss 0.3857, spends 5'
    """
    best = optimum(pool, budget)
    names = [*pool.actions, "none of them"][: best.mix.size]
    order = [action for action in np.argsort(-best.mix, kind="stable").tolist() if best.mix[action] >= SEEN]
    shares = [f"{names[a]} on {best.mix[a]:.0%}".replace("%", " %") for a in order]
    shares[0] += " of the rows"
    spent = pool.rows * best.cost
    amounts = join_names([format_number(x) for x in spent.tolist()], limit=None, last=" and ")
    mix = join_names(shares, limit=None, last=" and ")
    return f"play {mix}: mean loss {1 - best.value:.4g}, spends {amounts}"


def price_words(pool: Pool, budget: Budget) -> str:
    """Return what a tenth more of each resource would save; or what a stricter target costs.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> price_words(pool, Budget(5.0, null="add"))
    'a tenth more budget (0.5) would save 0.3571 losses'
    >>> price_words(pool, Budget(50.0, null="add"))
    'more budget would save nothing: the best action is affordable on every row'
    """
    if budget.target is not None:
        return target_words(pool, budget)
    found, amounts = [], budget.per_resource
    for number, amount in enumerate(amounts, 1):
        which = f" of resource {number}" if amounts.size > 1 else ""
        saved = _saved(pool, budget, number - 1)
        if amount == 0 and optimum(pool, budget).prices[number - 1] > 0:
            found.append(f"any budget{which} above 0 could save losses")
        elif saved > 0:
            found.append(
                f"a tenth more budget{which} ({format_number(amount / 10)}) would save {format_number(saved)} losses"
            )
    if not found and _saved(pool, budget, None) > 0:
        return "a tenth more of one resource alone would save nothing"
    return "; ".join(found) or "more budget would save nothing: the best action is affordable on every row"


def _saved(pool: Pool, budget: Budget, resource: int | None) -> float:
    """Return the losses on all rows that a tenth more of a resource saves, or any amount of all; noise is nothing."""
    amounts = budget.per_resource.copy()
    if resource is not None:
        amounts[resource] = min(1.1 * amounts[resource], sys.float_info.max)
    best = (
        1.0 - float(pool.means.min())
        if resource is None
        else optimum(pool, replace(budget, amounts=amounts.tolist())).value
    )
    saved = pool.rows * (best - optimum(pool, budget).value)
    return saved if saved > NOISE * pool.rows else 0.0


def target_words(pool: Pool, budget: Budget) -> str:
    """Return what one loss less costs, and what a target costs that is a tenth stricter.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> target_words(pool, Budget(target=0.3, null="add"))
    'one loss less costs 1.4, and a target a tenth stricter (0.27) 0.42 more'
    >>> target_words(pool, Budget(target=0.1, null="add"))
    'no mix reaches a target a tenth stricter (0.09)'
    >>> target_words(pool, Budget(target=0.7, null="add"))
    'a target a tenth stricter (0.63) costs nothing more'
    """
    assert budget.target is not None
    stricter = 0.9 * budget.target
    called = f"a target a tenth stricter ({format_number(stricter)})"
    if budget.target == 0:
        return "no target is stricter"
    fewer, more = (_dearer(pool, budget, target) for target in (budget.target - 1 / pool.rows, stricter))
    dear = f"one loss less costs {format_number(fewer)}" if fewer else ""
    if more is None:
        within = " within the budget" if budget.amounts is not None else ""
        return f"{dear}{', but ' if dear else ''}no mix reaches {called}{within}"
    if not dear:
        return f"{called} costs {format_number(more)} more" if more > 0 else f"{called} costs nothing more"
    return f"{dear}, and {called} {format_number(more)} more"


def _dearer(pool: Pool, budget: Budget, target: float) -> float | None:
    """Return what a stricter target costs more on all rows; None where no mix reaches it."""
    if target < 0:
        return None
    try:
        cost = optimum(pool, replace(budget, target=target)).cost[0]
    except UnreachableError:
        return None
    return pool.rows * max(0.0, float(cost - optimum(pool, budget).cost[0]))
