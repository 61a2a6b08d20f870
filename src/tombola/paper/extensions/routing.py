"""Theorems C1 and C3 (docs/theory/context.md): learning curve, and guard.

The progressive loss is the learning curve; the guard costs at most `risk` rows.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, Seed
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions.delay_shift import one_early
from tombola.paper.orders import Orders, all_orders, as_listed
from tombola.paper.pvalues import ROUNDING, exact
from tombola.policies.guard import Guard
from tombola.report.chart import Chart

# Rows trained on in each round, before the delay: after every row, and at block starts.
_SCHEDULES = {"every row": (0, 1, 2, 3, 4), "blocks": (0, 0, 2, 2, 2)}
# Behaviours of a router that the guard must survive; see `StakeGuard`.
_HOSTILE = ("always bad", "good then bad", "alternating", "random")
# Rounds of a play with a hostile router.
_ROUNDS = 200
# Function from the rows at risk and the differences of the losses to the probability of playing the router, per
# round.
_Stakes = Callable[[float, Floats], Floats]


@dataclass(frozen=True)
class LearningCurve(Extension, name="learning-curve", expected="holds"):
    """Progressive loss of a nearest-neighbour policy against its learning curve.

    All orders of five rows are played.

    Fields, which faults replace: orders (function from the number of rows to the orders to average over), played_delay
    (delay of the plays as a function of d), training_rows (rows that train the policy, by rows answered and row).

    Title: The progressive loss of a router is its learning curve
    Source: our Theorem C1 (docs/theory/context.md)
    Statement: In random order, the policy of round t, trained on the first n(t) rows, has expected total loss Σ c(n(t))
        for every training method and every fixed schedule n, where c(n) is the expected loss on a new row after
        training on n random rows; a delay shifts n(t).
    Meaning: One pass over the list measures the learning curve without a test set.
    Limits: Passes if the expected total loss equals Σ c(n(t)) within 1e-9, for three random pools of five rows and
        delays of 0 to 2 rounds. Nothing is sampled.
    """

    orders: Orders = all_orders
    played_delay: Callable[[int], int] = unchanged
    training_rows: Callable[[tuple[int, ...], int], tuple[int, ...]] = lambda seen, _: seen

    def units(self, *, full: bool) -> list[Unit]:
        return [{"pool": pool, "schedule": name} for pool in range(3) for name in _SCHEDULES]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        # The pool is fixed: the identity is exact on each, so that no seed is needed.
        generator = np.random.default_rng(unit["pool"])
        losses, features = generator.random((5, 3)), generator.random(5)
        schedule = _SCHEDULES[unit["schedule"]]
        found: list[Row] = []
        for d in range(3):
            played = [max(0, n - self.played_delay(d)) for n in schedule]
            orders = self.orders(5)
            total = sum(
                self._loss(losses, features, order[: played[t]], order[t]) for order in orders for t in range(5)
            )
            curve = sum(_curve(losses, features, max(0, n - d)) for n in schedule)
            found.append({**unit, "d": d, "loss": total / len(orders), "curve": curve})
        return found

    def _loss(self, losses: Floats, features: Floats, seen: tuple[int, ...], row: int) -> float:
        return _nearest_loss(losses, features, self.training_rows(seen, row), row)

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["loss"] - row["curve"]) for row in rows)
        measured = f"identity off by at most {off:.0e} in {len(rows)} cases"
        return self.verdict_from([exact(off < ROUNDING)], measured, "E ℓ = Σ c(n(t))")

    def chart(self, rows: Rows) -> Chart:
        bands = (
            exact_column(rows, name, "d", "loss", schedule=name, pool=0)
            for name in _SCHEDULES
            if any(row["schedule"] == name and row["pool"] == 0 for row in rows)
        )
        return Chart(
            title=self.title, x_label="delay d", y_label="expected loss of five rows, exact", bands=tuple(bands),
            log_x=False, log_y=False, alt="The loss grows with the delay as the learning curve says.",
        )  # fmt: skip

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "feedback one round early": {"played_delay": one_early},
            "trained on the row it is played on": {"training_rows": lambda seen, row: (*seen, row)},
        }


def _nearest_loss(losses: Floats, features: Floats, seen: tuple[int, ...], row: int) -> float:
    """Return the loss on a row of the best action of its nearest neighbour.

    Without any neighbour, that of action 0.
    """
    if not seen:
        return float(losses[row, 0])
    nearest = min(seen, key=lambda other: abs(float(features[other] - features[row])))
    return float(losses[row, int(losses[nearest].argmin())])


def _curve(losses: Floats, features: Floats, n: int) -> float:
    """Return c(n): the mean over ordered samples of n rows and one other row."""
    samples = list(itertools.permutations(range(len(losses)), n + 1))
    return sum(_nearest_loss(losses, features, sample[:n], sample[n]) for sample in samples) / len(samples)


def _guard_stakes(risk: float, differences: Floats) -> Floats:
    """Return the probability of playing the router in every round, by our guard.

    The guard bets a capital, `risk` at the start, on the router against the safe learner.
    """
    return Guard(risk).stakes(differences, differences).probabilities


@dataclass(frozen=True)
class StakeGuard(Extension, name="stake-guard", expected="holds", verdict_only=("allowed",)):
    """Loss of a guarded router above the safe learner, for hostile routers.

    A router chooses actions by features. The loss is checked after every round.

    Fields, which faults replace: stakes (probability of the router in every round, by risk and differences of the
    losses), allowed (limit of the excess loss as a function of the risk).

    Title: The stake guard costs at most `risk` rows, for every router
    Source: our Theorem C3 (1) (docs/theory/context.md)
    Statement: A guard plays the router with probability p = min(1, r C), r being its rate of betting and C = ε plus the
        winnings so far, else the safe learner. The router then costs at most ε rows more than the safe learner,
        averaged over the draws of the guard, at every time and on every order.
    Meaning: Routing by features can be tried without a test set. If the features are useless, the price is ε rows on
        average over the guard's draws.
    Limits: Passes if, in every play, at every round and for risks ε of 0.5, 1 and 3, the expected loss above that of
        the safe learner is at most ε + 1e-9.
    """

    stakes: _Stakes = _guard_stakes
    allowed: Callable[[float], float] = unchanged

    def units(self, *, full: bool) -> list[Unit]:
        return [{"router": router, "repetitions": 200 if full else 20} for router in _HOSTILE]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        generator = np.random.default_rng(seed)
        found: list[Row] = []
        for risk in (0.5, 1.0, 3.0):
            excess = 0.0
            for _ in range(unit["repetitions"]):
                differences = _hostile(unit["router"], generator)
                lost = -np.cumsum(self.stakes(risk, differences) * differences)
                excess = max(excess, float(lost.max()))
            found.append({**unit, "risk": risk, "excess": excess})
        return found

    def verdict(self, rows: Rows) -> Verdict:
        above = max(row["excess"] - self.allowed(row["risk"]) for row in rows)
        most = max(row["excess"] / row["risk"] for row in rows)
        measured = f"at most {most:.2f} of the risk, in {self.sample_size(rows):,} plays of {_ROUNDS} rows"
        return self.verdict_from([exact(above <= ROUNDING)], measured, "Σ p a + (1 − p) b ≤ Σ b + ε")

    def sample_size(self, rows: Rows) -> int:
        return sum(row["repetitions"] for row in rows)

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title, x_label="risk ε", y_label="rows lost to the safe learner, at most",
            bands=tuple(exact_column(rows, name, "risk", "excess", router=name) for name in levels(rows, "router")),
            lines=reference_lines(levels(rows, "risk"), {"ε": lambda risk: risk}), log_x=False, log_y=False,
            alt="No hostile router costs more than the risk.",
        )  # fmt: skip

    def faults(self) -> dict[str, Overrides]:
        return {
            "stakes above the capital": {"stakes": lambda *play: np.minimum(1.0, 3.0 * _guard_stakes(*play))},
            "no guard": {"stakes": lambda _, differences: np.full(differences.size, 0.5)},
            "one row more at risk": {"stakes": lambda risk, differences: _guard_stakes(risk + 1.0, differences)},
            "half the risk promised": {"allowed": lambda risk: risk / 2},
        }


def _hostile(router: str, generator: np.random.Generator) -> Floats:
    """Return safe loss minus router loss in every round."""
    if router == "always bad":
        return np.full(_ROUNDS, -1.0)
    if router == "good then bad":
        turn = int(generator.integers(1, _ROUNDS))
        return np.where(np.arange(_ROUNDS) < turn, 1.0, -1.0)
    if router == "alternating":
        return np.where((np.arange(_ROUNDS) + int(generator.integers(0, 2))) % 2 == 0, 1.0, -1.0)
    return generator.uniform(-1.0, 1.0, _ROUNDS)
