"""Theorem 2 (docs/theory/frugal.md): FrugalUCB has regret of order sqrt(kT) with few switches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola import bounds
from tombola._compare import compare
from tombola._types import Seed
from tombola.engine.loop import SWITCHES
from tombola.learners import Exp3, ExploreThenCommit, FrugalUCB
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels, select, unchanged
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.pvalues import exact, mean_at_most
from tombola.pool import Pool
from tombola.report.chart import Chart

# Gaps of the pools; -1 stands for the hard gap 2 sqrt(k/T).
GAPS = {"tie": 0.0, "hard": -1.0, "clear": 0.4, "constant": 1.0}
PRICE = 1.0


def frugal_ucb_learner(T: int) -> Learner:
    """Return the learner of the theorem."""
    return FrugalUCB(price=PRICE)


def exp3_learner(T: int) -> Learner:
    """Return a learner that draws an action in every round: a fault."""
    return Exp3()


def trap(T: int, k: int, gap: float, *, best: int = 0) -> Pool:
    """Return T rows: the best action loses (1 - gap)/2 of them, at the start; the others (1 + gap)/2.

    >>> trap(4, 2, 0.5).losses.tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    least, most = round(T * (1 - gap) / 2), round(T * (1 + gap) / 2)
    losses = np.zeros((T, k))
    losses[T - most :] = 1.0
    losses[:, best] = 0.0
    losses[:least, best] = 1.0
    return Pool(losses)


@dataclass(frozen=True)
class FrugalUCBRegret(Extension, name="frugal-ucb", expected="holds", alpha=1e-5, verdict_only=("bound",)):
    """Regret with switching costs and number of switches against their bounds.

    Title: √(kT) with few switches
    Source: our Theorem 2 (docs/theory/frugal.md)
    Statement: FrugalUCB has, on every pool in random order, a regret with switches of at most C √(kT) + O(price k
        ln T), without the logarithm under the root that the paper has to the power 3.
    Meaning: If switching has a price, this learner switches a few dozen times in a hundred thousand rows, and still
        finds the best action at the optimal rate, up to a constant.
    Limits: the bounds of the theorem, as computed
    """

    learner: Callable[[int], Learner] = frugal_ucb_learner
    order: str = "random"
    bound: Callable[[float], float] = unchanged

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**12, 2**14, 2**16, 2**18), 100) if full else ((2**12, 2**14), 10)
        return [{"pool": pool, "T": T, "k": k, "plays": plays} for pool in GAPS for T in horizons for k in (2, 5)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, k = unit["T"], unit["k"]
        gap = GAPS[unit["pool"]] if GAPS[unit["pool"]] >= 0 else 2 * (k / T) ** 0.5
        runs = compare(
            trap(T, k, gap, best=k - 1 if unit["pool"] == "constant" else 0),
            {"it": self.learner(T)},
            [self.order],
            repetitions=unit["plays"],
            switching_price=PRICE,
            relabel=False,
            seed=seed,
        )
        cell = next(iter(runs.cells.values()))
        regrets = runs.regrets("it", self.order)
        return [
            {"pool": unit["pool"], "T": T, "k": k, "play": r, "regret": float(regret), "switches": int(switches)}
            for r, (regret, switches) in enumerate(zip(regrets, cell.sums[:, -1, SWITCHES], strict=True))
        ]

    def verdict(self, rows: Rows) -> Verdict:
        probabilities, shares, switches = [], [], []
        for pool, T, k in sorted({(row["pool"], row["T"], row["k"]) for row in rows}):
            limit = self.bound(bounds.frugal_ucb(T, k, PRICE))
            values = select(rows, "regret", pool=pool, T=T, k=k)
            most = float(select(rows, "switches", pool=pool, T=T, k=k).max()) / bounds.frugal_switches(T, k, PRICE)
            probabilities += [mean_at_most(values, limit), exact(most <= 1)]
            shares.append(float(values.mean()) / limit)
            switches.append(most)
        measured = f"at most {max(shares):.2f} of the bound, {max(switches):.2f} of that on switches"
        return self.verdict_from(probabilities, measured, "C √(kT) + O(price k ln T)")

    def chart(self, rows: Rows) -> Chart:
        pools = [pool for pool in GAPS if any(row["pool"] == pool for row in rows)]
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret with switches",
            bands=tuple(mean_band(rows, f"{pool}, k = 2", "T", "regret", pool=pool, k=2) for pool in pools),
            lines=reference_lines(levels(rows, "T"), {"bound, k = 2": lambda T: bounds.frugal_ucb(T, 2, PRICE)}),
            alt="The regret is far below the bound and grows no faster.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "all actions in turn, for ever": {"learner": lambda T: ExploreThenCommit(rounds=T)},
            "a new draw in every round": {"learner": exp3_learner},
            "bound divided by 50": {"bound": lambda bound: bound / 50},
        }
