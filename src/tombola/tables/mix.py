"""The best fixed mix within a budget, or for a target, in words: what to play how often, and what a little more is."""

from dataclasses import replace

import numpy as np

from tombola.budget import Budget
from tombola.optimum import UnreachableError, optimum
from tombola.pool import Pool
from tombola.tables.words import listed, short

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
    return f"play {listed(shares)}: mean loss {1 - best.value:.4g}, spends {listed([short(x) for x in spent.tolist()])}"


def price_words(pool: Pool, budget: Budget) -> str:
    """Return what a tenth more of each resource would buy, at the price of the moment; or what a stricter target costs.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> price_words(pool, Budget(5.0, null="add"))
    'a tenth more budget (0.5) would save up to 0.3571 losses'
    >>> price_words(pool, Budget(50.0, null="add"))
    'more budget would save nothing: the best action is affordable on every row'
    """
    if budget.target is not None:
        return target_words(pool, budget)
    found = []
    for number, (amount, price) in enumerate(zip(budget.per_resource, optimum(pool, budget).prices, strict=True), 1):
        which = f" of resource {number}" if budget.per_resource.size > 1 else ""
        if price == np.inf:
            found.append(f"any budget{which} above 0 could save losses")
        elif price > 0:
            more, saved = short(amount / 10), short(price * amount / 10)
            found.append(f"a tenth more budget{which} ({more}) would save up to {saved} losses")
    return "; ".join(found) or "more budget would save nothing: the best action is affordable on every row"


def target_words(pool: Pool, budget: Budget) -> str:
    """Return what one loss less costs, and what a target costs that is a tenth stricter.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> target_words(pool, Budget(target=0.3, null="add"))
    'one loss less costs 1.4 at first, and a target a tenth stricter (0.27) 0.42 more'
    >>> target_words(pool, Budget(target=0.1, null="add"))
    'one loss less costs 1.4 at first, but no mix reaches a target a tenth stricter (0.09)'
    >>> target_words(pool, Budget(target=0.7, null="add"))
    'a target a tenth stricter (0.63) costs nothing more'
    """
    assert budget.target is not None
    best, stricter = optimum(pool, budget), 0.9 * budget.target
    price, called = float(best.prices[0]), f"a target a tenth stricter ({short(stricter)})"
    dear = f"one loss less costs {short(price)} at first" if 0 < price < np.inf else ""
    if budget.target == 0:
        return "no target is stricter"
    try:
        more = float(optimum(pool, replace(budget, target=stricter)).cost[0] - best.cost[0]) * pool.rows
    except UnreachableError:
        within = " within the budget" if budget.amounts is not None else ""
        return f"{dear}{', but ' if dear else ''}no mix reaches {called}{within}"
    if not dear:
        return f"{called} costs {short(more)} more" if more > 0 else f"{called} costs nothing more"
    return f"{dear}, and {called} {short(more)} more"
