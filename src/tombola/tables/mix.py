"""The best fixed mix within a budget, in words: what to play how often, and what a little more money buys."""

import numpy as np

from tombola.budget import Budget
from tombola.optimum import mean_costs, optimum
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
    spent = pool.rows * (mean_costs(pool).T @ best.mix[: pool.k])
    return f"play {listed(shares)}: mean loss {1 - best.value:.4g}, spends {listed([short(x) for x in spent.tolist()])}"


def price_words(pool: Pool, budget: Budget) -> str:
    """Return what a tenth more of each resource would buy, at the price of the moment.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> price_words(pool, Budget(5.0, null="add"))
    'a tenth more budget (0.5) would save up to 0.3571 losses'
    >>> price_words(pool, Budget(50.0, null="add"))
    'more budget would save nothing: the best action is affordable on every row'
    """
    found = []
    for number, (amount, price) in enumerate(zip(budget.per_resource, optimum(pool, budget).prices, strict=True), 1):
        which = f" of resource {number}" if budget.per_resource.size > 1 else ""
        if price > 0 and np.isfinite(price):
            more, saved = short(amount / 10), short(price * amount / 10)
            found.append(f"a tenth more budget{which} ({more}) would save up to {saved} losses")
    return "; ".join(found) or "more budget would save nothing: the best action is affordable on every row"
