"""Theorem on Thrifty (docs/theory/thrifty.md): exploration within a budget.

The index of an action is the lower confidence bound of FrugalUCB on its mean loss. The loss of plays of another action
than the one with the smallest index is computed from the recorded actions alone. On a pool without noise a few losses
identify an action, but the indices demand more plays: the learner spends its exploration budget on ignoring them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola import bounds
from tombola._play import play
from tombola._types import Floats, Integers, Seed
from tombola.bounds.frugal import THRIFTY_GROWTH_DIVISOR, THRIFTY_SCALE, THRIFTY_TOLL, growing_block_switches
from tombola.learners import Exp3, ExploreThenCommit, Thrifty
from tombola.learners.base import Learner
from tombola.learners.switching.frugal_ucb import lower_index
from tombola.order import OrderLike
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.extensions.frugal import trap_pool
from tombola.paper.pvalues import ROUNDING, exact, mean_at_most
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Gaps of the pools, by name.
_GAPS = {"tie": 0.0, "clear": 0.4, "constant": 1.0}


def _pool_of(name: str, T: int, k: int) -> Pool:
    """Return a trap, or a pool without noise.

    Losses without noise are 0.6 for the first action, 0.9 for the others.
    """
    if name == "quiet":
        return Pool(np.column_stack([np.full(T, 0.6), *np.full((k - 1, T), 0.9)]))
    return trap_pool(T, k, _GAPS[name], best=k - 1 if name == "constant" else 0)


def _exploration_loss(actions: Integers, losses: Floats, k: int, price: float) -> float:
    """Return losses and switching costs of plays without the smallest index.

    They are counted by stretches. A stretch has an eighth of the earlier plays of its action, rounded up; indices are
    computed at its start.

    actions, losses: of every round.
    k: number of actions.
    price: cost of a switch, in losses.

    >>> _exploration_loss(np.array([0, 0, 1, 1]), np.array([1.0, 0.5, 1.0, 1.0]), k=2, price=0.0)
    1.5
    """
    T, t, lost, current = actions.size, 0, 0.0, -1
    seen, totals = np.zeros(k), np.zeros(k)
    while t < T:
        action, toll = int(actions[t]), THRIFTY_TOLL * price / (T - t)
        values = [toll * (a != current) for a in range(k)]
        for a in range(k):
            if seen[a] > 0:
                values[a] += lower_index(totals[a] / seen[a], seen[a], T - t, k, T, THRIFTY_SCALE)
        end = t + max(1, math.ceil(seen[action] / THRIFTY_GROWTH_DIVISOR))
        suffered = float(losses[t:end].sum())
        if values[action] > min(values) + ROUNDING:
            lost += suffered + price * (current not in (-1, action))
        seen[action] += min(end, T) - t
        totals[action] += suffered
        t, current = end, action
    return lost


@dataclass(frozen=True)
class _ScaledBudget(Thrifty):
    """Thrifty with its exploration budget multiplied: a fault."""

    times: float = math.inf

    def init(self, actions: int, horizon: int) -> Any:
        state = super().init(actions, horizon)
        return state._replace(exploration_budget=state.exploration_budget * self.times)


@dataclass(frozen=True)
class ThriftyRegret(Extension, name="thrifty", expected="holds", alpha=1e-5, verdict_only=("bound",)):
    """Regret with switching costs, switches, and exploration loss of Thrifty.

    Fields, which faults replace: learner (function from the price of a switch to the learner), order (order of the
    rows, argument of `play`), bound (function from T, k and price to the limit of the mean regret).

    Title: Exploration within a budget
    Source: our theorem on Thrifty (docs/theory/thrifty.md)
    Statement: On every pool of T rows and k actions in random order Thrifty has regret with switches of at most 2 B +
        O(price k ln T), where its exploration budget B is of order √(kT); in every order it loses at most B against the
        actions that FrugalUCB's indices prefer.
    Meaning: Explore only actions that can pay off in the remaining rows, by a prior for untried actions. The prior can
        be wrong, so the total cost of relying on it is limited beforehand.
    Limits: Passes if the mean regret is at most the bound (t-test), on pools with gaps 0, 0.4 and 1 and on one without
        noise, and no play exceeds the bound on switches or the exploration budget B.
    """

    learner: Callable[[float], Learner] = component(Thrifty)
    order: OrderLike = "random"
    bound: Callable[[int, int, float], float] = component(bounds.thrifty)

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**14, 2**16, 2**18), 50) if full else ((2**14, 2**16), 4)
        kinds = [(name, T, k, 1.0) for name in _GAPS for T in horizons for k in (2, 5)]
        settings = [*kinds, ("quiet", 6000, 2, 1.0), ("quiet", 3000, 3, 10.0)]
        return [{"pool": pool, "T": T, "k": k, "price": price, "plays": plays} for pool, T, k, price in settings]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, k, price = unit["T"], unit["k"], unit["price"]
        pool, learner = _pool_of(unit["pool"], T, k), self.learner(price)
        rows: list[Row] = []
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            trace = play(learner, pool, order=self.order, switching_price=price, seed=child)
            own = {"regret": trace.regret, "switches": trace.switches}
            own["exploration"] = _exploration_loss(trace.actions, trace.losses, k, price)
            rows.append({"pool": unit["pool"], "T": T, "k": k, "price": price, "play": r, **own})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        probabilities, shares, switches, spent = [], [], [], []
        for pool, T, k, price in sorted({(row["pool"], row["T"], row["k"], row["price"]) for row in rows}):
            where = {"pool": pool, "T": T, "k": k}
            values, limit = select(rows, "regret", **where), self.bound(T, k, price)
            probabilities.append(mean_at_most(values, limit))
            shares.append(float(values.mean()) / limit)
            switches.append(
                float(select(rows, "switches", **where).max()) / growing_block_switches(T, k, 1, THRIFTY_GROWTH_DIVISOR)
            )
            spent.append(float(select(rows, "exploration", **where).max()) / bounds.thrifty_exploration_budget(T, k))
        kept = exact(max(*switches, *spent) <= 1)
        measured = f"at most {max(shares):.2f} of the bound, {max(switches):.2f} of that on switches, " + (
            f"{max(spent):.2f} of the exploration budget spent"
        )
        return self.verdict_from([*probabilities, kept], measured, "2 B + O(price k ln T)")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret with switches",
            bands=tuple(mean_band(rows, f"{pool}, k = 2", "T", "regret", pool=pool, k=2) for pool in _GAPS),
            lines=reference_lines(levels(rows, "T", pool="tie"), {"bound, k = 2": lambda T: bounds.thrifty(T, 2)}),
            alt="The regret is far below the bound and grows no faster.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "an unlimited exploration budget": {"learner": _ScaledBudget},
            "twice the exploration budget": {"learner": lambda price: _ScaledBudget(price, times=2.0)},
            "all actions in turn, for ever": {"learner": lambda _: ExploreThenCommit(rounds=2**20)},
            "a new draw in every round": {"learner": lambda _: Exp3()},
            "bound divided by 200": {"bound": lambda *size: bounds.thrifty(*size) / 200},
        }
