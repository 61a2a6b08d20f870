"""Claims about switching costs: the theorems on FrugalUCB and Thrifty.

Theorem 2 (docs/theory/frugal.md): FrugalUCB has regret about sqrt(kT) and switches rarely.

Theorem on Thrifty (docs/theory/frugal.md): exploration within a budget. The loss of plays of
another action than the one with the smallest index of FrugalUCB, a lower confidence bound, is
computed from the recorded actions alone. On a pool without noise a few losses identify an action,
but the indices demand more plays: the learner spends its exploration budget on ignoring them.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola import bounds
from tombola._compare import compare
from tombola._play import play
from tombola._types import Floats, Integers, Seed
from tombola.bounds.frugal import (
    THRIFTY_GROWTH_DIVISOR,
    THRIFTY_SCALE,
    THRIFTY_TOLL,
    growing_block_switches,
)
from tombola.engine.loop import SWITCHES
from tombola.learners import Exp3, ExploreThenCommit, FrugalUCB, Thrifty
from tombola.learners.base import Learner
from tombola.learners.switching.frugal_ucb import lower_index
from tombola.order import OrderLike
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid, unchanged
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.pvalues import ROUNDING, exact, means_at_most
from tombola.paper.rows import Row, Rows, levels, matching, select
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import FrugalUCBTwin, rounds_agreed
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Gaps of the pools; -1 stands for the hard gap 2 sqrt(k/T).
_GAPS = {"tie": 0.0, "hard": -1.0, "clear": 0.4, "constant": 1.0}
# Cost of a switch, in losses.
_PRICE = 1.0
# Rounds of the comparison with the twin, a second implementation of the learner.
_TWIN_ROUNDS = 512
# Source fault of claims on FrugalUCB: the index is the observed mean, without exploration.
NO_OPTIMISM = SourceFault(
    "learners.switching.frugal_ucb:lower_index", "return kl", "return mean + 0.0 * kl"
)
# Source fault of claims on FrugalUCB: the learner chooses as if switches had no price.
NO_PRICE = SourceFault(
    "learners.switching.frugal_ucb:most_promising", "toll = times", "toll = 0.0 * times"
)


def trap_pool(T: int, k: int, gap: float, *, best: int = 0) -> Pool:
    """Return a 0/1 pool in which the best action has its losses at the start.

    It has loss 1 in the first (1 - gap)/2 T rows, the others in the last (1 + gap)/2 T rows.
    Without a shuffle the best action looks worst.

    T, k: numbers of rows and actions.
    gap: difference of the mean losses, in [0, 1].
    best: index of the best action.

    >>> trap_pool(4, 2, 0.5).losses.tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    least, most = round(T * (1 - gap) / 2), round(T * (1 + gap) / 2)
    losses = np.zeros((T, k))
    losses[T - most :] = 1.0
    losses[:, best] = 0.0
    losses[:least, best] = 1.0
    return Pool(losses)


class FrugalUCBRegret(
    Extension, name="frugal-ucb", expected="holds", alpha=1e-5, verdict_only=("bound",)
):
    """Regret with switching costs and number of switches against their bounds.

    Title: √(kT) with few switches
    Source: our Theorem 2 (docs/theory/frugal.md)
    Statement: FrugalUCB has, on every pool in random order, a regret with switches of at most C
        √(kT) + O(price k ln T), without the logarithm under the root that the paper has to the
        power 3.
    Meaning: If switching has a price, this learner switches a few dozen times in a hundred thousand
        rows, and still finds the best action at the optimal rate, up to a constant.
    Limits: Passes if the mean regret is at most the bound of the theorem (t-test), and the switches
        are at most their bound in every play. The bound is more than ten times the regret, so
        FrugalUCB must also choose the same action as a second, naive implementation in every round
        of 512.
    Alt: The regret is far below the bound and grows no faster.
    """

    learner: Callable[[int], Learner] = component(lambda _: FrugalUCB(price=_PRICE))
    order: str = "random"
    bound: Callable[[float], float] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**12, 2**14, 2**16, 2**18), 100) if full else ((2**12, 2**14), 10)
        twins = grid(pool="twin", T=_TWIN_ROUNDS, k=(2, 5), plays=6)
        return twins + grid(pool=_GAPS, T=horizons, k=(2, 5), plays=plays)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        name = unit["pool"]
        T = unit["T"]
        k = unit["k"]
        about = {"pool": name, "T": T, "k": k}
        if name == "twin":
            generator = np.random.default_rng(seed)
            means = np.where(
                np.arange(k) % 2, 0.5, 0.5 + 2 * (k / T) ** 0.5
            )  # half of the actions are nearly best
            for r in range(unit["plays"]):
                losses = (generator.random((T, k)) < means).astype(np.float64)
                agreed = rounds_agreed(self.learner(T), losses, FrugalUCBTwin(k, T, _PRICE))
                yield {**about, "play": r, "regret": T - agreed, "switches": 0}
            return
        gap = _GAPS[name] if _GAPS[name] >= 0 else 2 * (k / T) ** 0.5
        pool = trap_pool(T, k, gap, best=k - 1 if name == "constant" else 0)
        runs = compare(
            pool,
            {"it": self.learner(T)},
            [self.order],
            repetitions=unit["plays"],
            switching_price=_PRICE,
            relabel=False,
            seed=seed,
        )
        switches = next(iter(runs.cells.values())).sums[:, -1, SWITCHES]
        for r, regret in enumerate(runs.regrets("it", self.order)):
            yield {**about, "play": r, "regret": float(regret), "switches": int(switches[r])}

    def verdict(self, rows: Rows) -> Verdict:
        differ = int(select(rows, "regret", pool="twin").astype(bool).sum())
        rows = [row for row in rows if row["pool"] != "twin"]
        checks, share = means_at_most(
            rows, ("pool", "T", "k"), lambda _, T, k: self.bound(bounds.frugal_ucb(T, k, _PRICE))
        )
        switches = [
            row["switches"] / bounds.frugal_switches(row["T"], row["k"], _PRICE) for row in rows
        ]
        measured = f"at most {share:.2f} of the bound, {max(switches):.2f} of that on switches"
        measured += f"; {differ} plays differ from the twin"
        checks += [exact(differ == 0), exact(max(switches) <= 1)]
        return self.verdict_from(checks, measured, "C √(kT) + O(price k ln T)")

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["pool"] != "twin"]
        pools = [pool for pool in _GAPS if matching(rows, pool=pool)]
        bands = [mean_band(rows, f"{pool}, k = 2", "T", "regret", pool=pool, k=2) for pool in pools]
        lines = reference_lines(
            levels(rows, "T"), {"bound, k = 2": lambda T: bounds.frugal_ucb(T, 2, _PRICE)}
        )
        return self.make_chart("regret with switches", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "all actions in turn, for ever": {"learner": lambda T: ExploreThenCommit(rounds=T)},
            "a new draw in every round": {"learner": lambda _: Exp3()},
            "bound divided by 50": {"bound": lambda bound: bound / 50},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        blocks = "bounds.frugal:frugal_first_block"
        return {
            "no optimism": NO_OPTIMISM,
            "no price in the index": NO_PRICE,
            "no price in the blocks": SourceFault(blocks, "min(_STRETCH", "min(0 * _STRETCH"),
        }


# Gaps of the pools, by name.
_THRIFTY_GAPS = {"tie": 0.0, "clear": 0.4, "constant": 1.0}


def _exploration_loss(actions: Integers, losses: Floats, k: int, price: float) -> float:
    """Return losses and switching costs of plays without the smallest index."""
    # They are counted by stretches. A stretch has an eighth of the earlier plays of its action,
    # rounded up; indices are computed at its start.
    T = actions.size
    t = 0
    lost = 0.0
    current = -1
    seen = np.zeros(k)
    totals = np.zeros(k)
    while t < T:
        action = int(actions[t])
        toll = THRIFTY_TOLL * price / (T - t)
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
        t = end
        current = action
    return lost


@dataclass(frozen=True)
class _ScaledBudget(Thrifty):
    """Thrifty with its exploration budget multiplied: a fault."""

    times: float = math.inf

    def init(self, actions: int, horizon: int) -> Any:
        state = super().init(actions, horizon)
        return state._replace(exploration_budget=state.exploration_budget * self.times)


class ThriftyRegret(
    Extension, name="thrifty", expected="holds", alpha=1e-5, verdict_only=("bound",)
):
    """Regret with switching costs, switches, and exploration loss of Thrifty.

    Title: Exploration within a budget
    Source: our theorem on Thrifty (docs/theory/frugal.md)
    Statement: On every pool of T rows and k actions in random order Thrifty has regret with
        switches of at most 2 B + O(price k ln T), where its exploration budget B is of order √(kT);
        in every order it loses at most B against the actions that FrugalUCB's indices prefer.
    Meaning: Explore only actions that can pay off in the remaining rows, by a prior for untried
        actions. The prior can be wrong, so the total cost of relying on it is limited beforehand.
    Limits: Passes if the mean regret is at most the bound (t-test), on pools with gaps 0, 0.4 and 1
        and on one without noise, and no play exceeds the bound on switches or the exploration
        budget B.
    Alt: The regret is far below the bound and grows no faster.
    """

    learner: Callable[[float], Learner] = component(Thrifty)  # from the price of a switch
    order: OrderLike = "random"
    bound: Callable[[int, int, float], float] = component(bounds.thrifty)

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**14, 2**16, 2**18), 50) if full else ((2**14, 2**16), 4)
        noisy = grid(pool=_THRIFTY_GAPS, T=horizons, k=(2, 5), price=1.0, plays=plays)
        quiet = [(6000, 2, 1.0), (3000, 3, 10.0)]
        return noisy + [
            {"pool": "quiet", "T": T, "k": k, "price": price, "plays": plays}
            for T, k, price in quiet
        ]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        T = unit["T"]
        k = unit["k"]
        price = unit["price"]
        if unit["pool"] == "quiet":  # without noise: action 0 loses 0.6, the others 0.9
            pool = Pool(np.column_stack([np.full(T, 0.6), *np.full((k - 1, T), 0.9)]))
        else:
            pool = trap_pool(
                T, k, _THRIFTY_GAPS[unit["pool"]], best=k - 1 if unit["pool"] == "constant" else 0
            )
        learner = self.learner(price)
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            trace = play(learner, pool, order=self.order, switching_price=price, seed=child)
            own = {"regret": trace.regret, "switches": trace.switches}
            own["exploration"] = _exploration_loss(trace.actions, trace.losses, k, price)
            yield {"pool": unit["pool"], "T": T, "k": k, "price": price, "play": r, **own}

    def verdict(self, rows: Rows) -> Verdict:
        checks, share = means_at_most(
            rows, ("pool", "T", "k", "price"), lambda _, *size: self.bound(*size)
        )
        switches = 0.0
        spent = 0.0
        for row in rows:
            T = row["T"]
            k = row["k"]
            switches = max(
                switches, row["switches"] / growing_block_switches(T, k, 1, THRIFTY_GROWTH_DIVISOR)
            )
            spent = max(spent, row["exploration"] / bounds.thrifty_exploration_budget(T, k))
        measured = f"at most {share:.2f} of the bound, {switches:.2f} of that on switches, " + (
            f"{spent:.2f} of the exploration budget spent"
        )
        return self.verdict_from(
            [*checks, exact(max(switches, spent) <= 1)], measured, "2 B + O(price k ln T)"
        )

    def chart(self, rows: Rows) -> Chart:
        bands = [
            mean_band(rows, f"{pool}, k = 2", "T", "regret", pool=pool, k=2)
            for pool in _THRIFTY_GAPS
        ]
        lines = reference_lines(
            levels(rows, "T", pool="tie"), {"bound, k = 2": lambda T: bounds.thrifty(T, 2)}
        )
        return self.make_chart("regret with switches", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "an unlimited exploration budget": {"learner": _ScaledBudget},
            "twice the exploration budget": {
                "learner": lambda price: _ScaledBudget(price, times=2.0)
            },
            "all actions in turn, for ever": {"learner": lambda _: ExploreThenCommit(rounds=2**20)},
            "a new draw in every round": {"learner": lambda _: Exp3()},
            "bound divided by 200": {"bound": lambda *size: bounds.thrifty(*size) / 200},
        }
