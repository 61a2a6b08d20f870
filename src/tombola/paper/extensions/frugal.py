"""Theorem 2 (docs/theory/frugal.md): FrugalUCB has regret about sqrt(kT).

It switches rarely.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola import bounds
from tombola._compare import compare
from tombola._types import Seed
from tombola.engine.loop import SWITCHES
from tombola.learners import Exp3, ExploreThenCommit, FrugalUCB
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, component, levels, select, unchanged
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.pvalues import exact, mean_at_most
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import FrugalUCBTwin, rounds_agreed
from tombola.pool import Pool
from tombola.report.chart import Chart

# Gaps of the pools; -1 stands for the hard gap 2 sqrt(k/T).
_GAPS = {"tie": 0.0, "hard": -1.0, "clear": 0.4, "constant": 1.0}
# Cost of a switch, in losses.
_PRICE = 1.0
# Rounds of the comparison with the twin, a second implementation of the learner.
_TWIN_ROUNDS = 512
# Source fault of claims on FrugalUCB: the index is the observed mean, without exploration.
NO_OPTIMISM = SourceFault("learners.switching.frugal_ucb:lower_index", "return kl", "return mean + 0.0 * kl")
# Source fault of claims on FrugalUCB: the learner chooses as if switches had no price.
NO_PRICE = SourceFault("learners.switching.frugal_ucb:most_promising", "toll = times", "toll = 0.0 * times")


def trap_pool(T: int, k: int, gap: float, *, best: int = 0) -> Pool:
    """Return a 0/1 pool in which the best action has its losses at the start.

    It loses (1 - gap)/2 of the rows, the others the last (1 + gap)/2, so that without a shuffle it looks worst.

    T, k: number of rows and of actions.
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


@dataclass(frozen=True)
class FrugalUCBRegret(Extension, name="frugal-ucb", expected="holds", alpha=1e-5, verdict_only=("bound",)):
    """Regret with switching costs and number of switches against their bounds.

    Pools of T = 4,096 and 16,384 rows with k = 2 and 5 actions and four gaps between the best and the other mean
    losses. A switch costs 1.

    Fields, which faults replace: learner (function from the horizon T to the learner), order (order of the rows,
    argument of `compare`), bound (function from the proved bound to the limit of the verdict).

    Title: √(kT) with few switches
    Source: our Theorem 2 (docs/theory/frugal.md)
    Statement: FrugalUCB has, on every pool in random order, a regret with switches of at most C √(kT) + O(price k
        ln T), without the logarithm under the root that the paper has to the power 3.
    Meaning: If switching has a price, this learner switches a few dozen times in a hundred thousand rows, and still
        finds the best action at the optimal rate, up to a constant.
    Limits: Passes if the mean regret is at most the bound of the theorem (t-test), and the switches are at most their
        bound in every play. The bound is more than ten times the regret, so FrugalUCB must also choose the same action
        as a second, naive implementation in every round of 512.
    """

    learner: Callable[[int], Learner] = component(lambda _: FrugalUCB(price=_PRICE))
    order: str = "random"
    bound: Callable[[float], float] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        horizons, plays = ((2**12, 2**14, 2**16, 2**18), 100) if full else ((2**12, 2**14), 10)
        twins: list[Unit] = [{"pool": "twin", "T": _TWIN_ROUNDS, "k": k, "plays": 6} for k in (2, 5)]
        return twins + [
            {"pool": pool, "T": T, "k": k, "plays": plays} for pool in _GAPS for T in horizons for k in (2, 5)
        ]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, k = unit["T"], unit["k"]
        if unit["pool"] == "twin":
            return self._twin_rows(unit, seed)
        gap = _GAPS[unit["pool"]] if _GAPS[unit["pool"]] >= 0 else 2 * (k / T) ** 0.5
        runs = compare(
            trap_pool(T, k, gap, best=k - 1 if unit["pool"] == "constant" else 0),
            {"it": self.learner(T)},
            [self.order],
            repetitions=unit["plays"],
            switching_price=_PRICE,
            relabel=False,
            seed=seed,
        )
        cell = next(iter(runs.cells.values()))
        regrets = runs.regrets("it", self.order)
        return [
            {"pool": unit["pool"], "T": T, "k": k, "play": r, "regret": float(regret), "switches": int(switches)}
            for r, (regret, switches) in enumerate(zip(regrets, cell.sums[:, -1, SWITCHES], strict=True))
        ]

    def _twin_rows(self, unit: Unit, seed: Seed) -> list[Row]:
        """Return the rounds that agree with the twin, on noisy losses.

        Half of the actions are nearly best.
        """
        T, k, generator = unit["T"], unit["k"], np.random.default_rng(seed)
        means = np.where(np.arange(k) % 2, 0.5, 0.5 + 2 * (k / T) ** 0.5)
        found: list[Row] = []
        for r in range(unit["plays"]):
            losses = (generator.random((T, k)) < means).astype(np.float64)
            agreed = rounds_agreed(self.learner(T), losses, FrugalUCBTwin(k, T, _PRICE))
            found.append({"pool": "twin", "T": T, "k": k, "play": r, "regret": T - agreed, "switches": 0})
        return found

    def verdict(self, rows: Rows) -> Verdict:
        differ = int(select(rows, "regret", pool="twin").astype(bool).sum())
        rows = [row for row in rows if row["pool"] != "twin"]
        probabilities, shares, switches = [exact(differ == 0)], [], []
        for pool, T, k in sorted({(row["pool"], row["T"], row["k"]) for row in rows}):
            limit = self.bound(bounds.frugal_ucb(T, k, _PRICE))
            values = select(rows, "regret", pool=pool, T=T, k=k)
            most = float(select(rows, "switches", pool=pool, T=T, k=k).max()) / bounds.frugal_switches(T, k, _PRICE)
            probabilities += [mean_at_most(values, limit), exact(most <= 1)]
            shares.append(float(values.mean()) / limit)
            switches.append(most)
        measured = f"at most {max(shares):.2f} of the bound, {max(switches):.2f} of that on switches"
        measured += f"; {differ} plays differ from the twin"
        return self.verdict_from(probabilities, measured, "C √(kT) + O(price k ln T)")

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["pool"] != "twin"]
        pools = [pool for pool in _GAPS if any(row["pool"] == pool for row in rows)]
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret with switches",
            bands=tuple(mean_band(rows, f"{pool}, k = 2", "T", "regret", pool=pool, k=2) for pool in pools),
            lines=reference_lines(levels(rows, "T"), {"bound, k = 2": lambda T: bounds.frugal_ucb(T, 2, _PRICE)}),
            alt="The regret is far below the bound and grows no faster.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "all actions in turn, for ever": {"learner": lambda T: ExploreThenCommit(rounds=T)},
            "a new draw in every round": {"learner": lambda _: Exp3()},
            "bound divided by 50": {"bound": lambda bound: bound / 50},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "no optimism": NO_OPTIMISM,
            "no price in the index": NO_PRICE,
            "no price in the blocks": SourceFault(
                "bounds.frugal:frugal_first_block", "min(_STRETCH", "min(0 * _STRETCH"
            ),
        }
