"""Learning with features (docs/theory/context.md): theorems C1, C2, C3 and C6.

A router is a policy, from features to actions, that is trained on the rows seen. A guard plays
either the router or a safe learner, by the evidence so far.

C1: the progressive loss of a router (each row is played before it is trained on) is its learning
curve. C2: regret of empirical risk minimisation (ERM) over policies. C3: the router costs at most
`risk` rows more than the safe learner; `risk` is the parameter of the guard. C6: the best choice
per row within a budget.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tombola._types import Floats, Seed
from tombola.bounds.classification import erm_policies
from tombola.bounds.common import growing_counts
from tombola.budget.budget import Budget
from tombola.budget.optimum import best_per_row
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions import Orders, all_orders, as_listed
from tombola.paper.extensions.delay import one_early
from tombola.paper.pvalues import ROUNDING, exact, means_at_most
from tombola.paper.rows import Row, Rows, levels, matching
from tombola.policies.guard import Guard
from tombola.pool import Pool
from tombola.report.chart import Chart

# Rows trained on in each round, before the delay: after every row, and at block starts.
_SCHEDULES = {"every row": (0, 1, 2, 3, 4), "blocks": (0, 0, 2, 2, 2)}
# Behaviours of a router that the guard must survive; see `StakeGuard`.
_HOSTILE = ("always bad", "good then bad", "alternating", "random")
# Rounds of a play with a hostile router.
_ROUNDS = 200
# Factor of the rows between two trainings of the minimiser.
_GROWTH = 1.5
# Probability that a label is random: from noise-free to pure noise.
_NOISES = (0.0, 0.5, 1.0)
# Rows and actions of the tables whose choices are all enumerated.
_TABLE_ROWS = 6
_TABLE_ACTIONS = 3


class LearningCurve(Extension, name="learning-curve", expected="holds"):
    """Progressive loss of a nearest-neighbour policy against its learning curve.

    Title: The progressive loss of a router is its learning curve
    Source: our Theorem C1 (docs/theory/context.md)
    Statement: In random order, the policy of round t, trained on the first n(t) rows, has expected
        total loss Σ c(n(t)) for every training method and every fixed schedule n, where c(n) is the
        expected loss on a new row after training on n random rows; a delay shifts n(t).
    Meaning: One pass over the list measures the learning curve without a test set.
    Limits: Passes if the expected total loss equals Σ c(n(t)) within 1e-9, for three random pools
        of five rows and delays of 0 to 2 rounds. Nothing is sampled.
    Alt: The loss grows with the delay as the learning curve says.
    """

    orders: Orders = component(all_orders)
    played_delay: Callable[[int], int] = component(unchanged)
    # From the rows seen and the row to be played to the rows that train the policy.
    training_rows: Callable[[tuple[int, ...], int], tuple[int, ...]] = component(
        lambda seen, _: seen
    )

    def units(self, *, full: bool) -> list[Unit]:
        return grid(pool=range(3), schedule=_SCHEDULES)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        # The pool is fixed: the identity is exact on each, so that no seed is needed.
        generator = np.random.default_rng(unit["pool"])
        losses = generator.random((5, 3))
        features = generator.random(5)
        schedule = _SCHEDULES[unit["schedule"]]
        orders = self.orders(5)
        for d in range(3):
            total = 0.0
            for order in orders:
                for n, row in zip(schedule, order, strict=True):
                    seen = self.training_rows(order[: max(0, n - self.played_delay(d))], row)
                    total += _nearest_loss(losses, features, seen, row)
            curve = sum(_curve(losses, features, max(0, n - d)) for n in schedule)
            yield {**unit, "d": d, "loss": total / len(orders), "curve": curve}

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["loss"] - row["curve"]) for row in rows)
        measured = f"identity off by at most {off:.0e} in {len(rows)} cases"
        return self.verdict_from([exact(off < ROUNDING)], measured, "E ℓ = Σ c(n(t))")

    def chart(self, rows: Rows) -> Chart:
        first = matching(rows, pool=0)
        bands = [
            exact_column(first, name, "d", "loss", schedule=name)
            for name in levels(first, "schedule")[::-1]
        ]
        return self.make_chart(
            "expected loss of five rows, exact", bands, x_label="delay d", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "feedback one round early": {"played_delay": one_early},
            "trained on the row it is played on": {"training_rows": lambda seen, row: (*seen, row)},
        }


def _nearest_loss(losses: Floats, features: Floats, seen: tuple[int, ...], row: int) -> float:
    """Return the loss of the nearest neighbour's best action, or of action 0."""
    if not seen:
        return float(losses[row, 0])
    nearest = min(seen, key=lambda other: abs(float(features[other] - features[row])))
    return float(losses[row, int(losses[nearest].argmin())])


def _curve(losses: Floats, features: Floats, n: int) -> float:
    """Return c(n): the mean over ordered samples of n rows and one other row."""
    samples = list(itertools.permutations(range(len(losses)), n + 1))
    return sum(_nearest_loss(losses, features, sample[:n], sample[n]) for sample in samples) / len(
        samples
    )


def _guard_stakes(risk: float, differences: Floats) -> Floats:
    """Return the probability of playing the router in every round, by our guard.

    differences: loss of the safe learner minus that of the router, per round.
    """
    return Guard(risk).stakes(differences, differences).probabilities


def _twin_stakes(risk: float, differences: Floats) -> Floats:
    """Return the stakes by their formula in docs/theory/context.md, row by row."""
    capital = risk
    gain, squares = 5.0, 10.0
    stakes = []
    for difference in differences:
        stake = min(1.0, min(max(gain / squares, 0.02), 0.5) * capital)
        stakes.append(max(stake, 0.0))
        capital += stakes[-1] * difference
        gain += difference
        squares += difference * difference
    return np.array(stakes)


class StakeGuard(Extension, name="stake-guard", expected="holds", verdict_only=("allowed",)):
    """Loss of a guarded router above the safe learner, for hostile routers.

    Title: The stake guard costs at most `risk` rows, for every router
    Source: our Theorem C3 (1) (docs/theory/context.md)
    Statement: A guard plays the router with probability p = min(1, r C), r being its rate of
        betting and C = ε plus the winnings so far, else the safe learner. The router then costs at
        most ε rows more than the safe learner, averaged over the draws of the guard, at every time
        and on every order.
    Meaning: Routing by features can be tried without a test set. If the features are useless, the
        price is ε rows on average over the guard's draws.
    Limits: Passes if, in every play, at every round and for risks ε of 0.5, 1 and 3, the expected
        loss above that of the safe learner is at most ε + 1e-9.
    Alt: No hostile router costs more than the risk.
    """

    stakes: Callable[[float, Floats], Floats] = component(_guard_stakes)
    allowed: Callable[[float], float] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(router=_HOSTILE, repetitions=200 if full else 20)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        generator = np.random.default_rng(seed)
        for risk in (0.5, 1.0, 3.0):
            excess = 0.0
            distance = 0.0
            for _ in range(unit["repetitions"]):
                differences = _hostile(unit["router"], generator)
                stakes = self.stakes(risk, differences)
                lost = -np.cumsum(stakes * differences)
                excess = max(excess, float(lost.max()))
                twin = _twin_stakes(risk, differences)
                distance = max(distance, float(np.abs(stakes - twin).max()))
            yield {**unit, "risk": risk, "excess": excess, "distance": distance}

    def verdict(self, rows: Rows) -> Verdict:
        above = max(row["excess"] - self.allowed(row["risk"]) for row in rows)
        most = max(row["excess"] / row["risk"] for row in rows)
        distance = max(row["distance"] for row in rows)
        measured = (
            f"at most {most:.2f} of the risk, in {self.sample_size(rows):,} plays of {_ROUNDS} rows; "
            f"stakes are those of the formula up to {distance:.1g}"
        )
        checks = [exact(above <= ROUNDING), exact(distance <= ROUNDING)]
        return self.verdict_from(checks, measured, "Σ p a + (1 − p) b ≤ Σ b + ε")

    def sample_size(self, rows: Rows) -> int:
        return sum(row["repetitions"] for row in rows)

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, name, "risk", "excess", router=name)
            for name in levels(rows, "router")
        ]
        lines = reference_lines(levels(rows, "risk"), {"ε": lambda risk: risk})
        return self.make_chart(
            "rows lost to the safe learner, at most", bands, lines, x_label="risk ε", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "stakes above the capital": {
                "stakes": lambda *play: np.minimum(1.0, 3.0 * _guard_stakes(*play))
            },
            "no guard": {"stakes": lambda _, differences: np.full(differences.size, 0.5)},
            "one row more at risk": {
                "stakes": lambda risk, differences: _guard_stakes(risk + 1.0, differences)
            },
            "half the risk promised": {"allowed": lambda risk: risk / 2},
            "stakes times 1.5": {
                "stakes": lambda *play: np.minimum(1.0, 1.5 * _guard_stakes(*play))
            },
            "risk times 2": {
                "stakes": lambda risk, differences: _guard_stakes(2.0 * risk, differences)
            },
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


def _policy_bound(T: int) -> float:
    return erm_policies(T, T + 1, _GROWTH)  # of T + 1 thresholds


class ThresholdRegret(
    Extension, name="threshold-regret", expected="holds", alpha=1e-5, verdict_only=("allowed",)
):
    """Regret of ERM over thresholds, rarely retrained, in random order.

    Title: Empirical risk minimisation over policies learns at block starts
    Source: our Theorem C2 (docs/theory/context.md)
    Statement: In random order on T rows, ERM over a class with N different policies on the list,
        retrained when the rows have grown by a factor, has regret at most 1 + Σ L √((1 + 1/n) T ln
        N / (2n(T − n))); the sum is over blocks, each of L rounds after n rows.
    Meaning: Rare training is enough, and the class may be infinite: only its policies on this list
        count.
    Limits: Passes if the mean regret over orders is at most the bound, for T = 64 and 256 (1,024 in
        a full run) and several shares of random labels (t-test).
    Alt: The regret of thresholds is far below the bound.
    """

    # From the mistakes of each threshold on the rows seen to the threshold to play.
    minimiser: Callable[[Floats], int] = component(lambda mistakes: int(mistakes.argmin()))
    allowed: Callable[[float], float] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(
            T=(64, 256, 1024) if full else (64, 256), noise=_NOISES, orders=100 if full else 20
        )

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        generator = np.random.default_rng(seed)
        T = unit["T"]
        starts = growing_counts(unit["T"], _GROWTH)
        features = generator.permutation(T)
        labels = np.where(
            generator.random(T) < unit["noise"], generator.integers(0, 2, T), features >= T // 2
        )
        # all_mistakes[t, j]: whether threshold j, which predicts 1 from feature j on, is wrong on
        # row t.
        all_mistakes = ((features[:, None] >= np.arange(T + 1)) != (labels[:, None] == 1)).astype(
            np.float64
        )
        for _ in range(unit["orders"]):
            mistakes = all_mistakes[generator.permutation(T)]
            lost = float(mistakes[: starts[0], 0].sum())
            for n, end in zip(starts, [*starts[1:], T], strict=True):
                lost += float(mistakes[n:end, self.minimiser(mistakes[:n].sum(axis=0))].sum())
            yield {**unit, "regret": lost - float(mistakes.sum(axis=0).min())}

    def verdict(self, rows: Rows) -> Verdict:
        checks, _ = means_at_most(rows, ("T", "noise"), lambda T, _: self.allowed(_policy_bound(T)))
        _, share = means_at_most(rows, ("T", "noise"), lambda T, _: _policy_bound(T))
        measured = f"mean regret at most {share:.2f} of the bound, in {len(rows):,} plays"
        return self.verdict_from(
            checks, measured, "regret ≤ 1 + Σ L √((1 + 1/n) T ln N / (2n(T − n)))"
        )

    def chart(self, rows: Rows) -> Chart:
        noises = levels(rows, "noise")
        bands = [
            exact_column(rows, f"noise {noise:g}", "T", "regret", noise=noise) for noise in noises
        ]
        lines = reference_lines(levels(rows, "T"), {"bound": _policy_bound})
        return self.make_chart("mean regret", bands, lines, x_label="rows T")

    def faults(self) -> dict[str, Overrides]:
        return {
            "the worst threshold": {"minimiser": lambda mistakes: int(mistakes.argmax())},
            "a threshold that ignores the rows": {"minimiser": lambda _: 0},
            "a hundredth of the bound promised": {"allowed": lambda bound: bound / 100},
        }


def _one_price(pool: Pool, amount: float) -> float:
    """Return the least loss at one price, with budget unspent: a fault."""
    losses = np.asarray(pool.losses)
    costs = np.asarray(pool.costs).reshape(pool.rows, pool.k)
    index = np.arange(pool.rows)
    least = float(losses.max())
    for price in (0.0, *np.geomspace(1e-4, 1e4, 200)):
        chosen = (losses + price * costs).argmin(axis=1)
        if costs[index, chosen].sum() <= amount:
            least = min(least, float(losses[index, chosen].mean()))
    return least


class RowOptimum(Extension, name="row-optimum", expected="holds"):
    """Best choice per row within a budget: by prices, by an LP, by enumeration.

    Title: The best choice per row within a budget is found by one price
    Source: our Theorem C6, by duality (docs/theory/context.md)
    Statement: The least mean loss of a choice of one action per row with mean cost at most ρ, rows
        divisible, is the maximum over prices p ≥ 0 of mean min_a (ℓ_a + p c_a) − p ρ, with ℓ_a and
        c_a the loss and the cost of action a on the row; no choice of whole rows within the budget
        is better.
    Meaning: Routers at two prices around the rate are enough to mix the best choice, so the
        comparator of a budget is exact.
    Limits: Passes if, on random tables and three budgets, the value differs from that of a linear
        program by less than 1e-7, and no choice of whole rows, all of them tried, has a smaller
        mean loss.
    Alt: The least loss falls with the budget.
    """

    # From a pool and a total budget to the least mean loss.
    value: Callable[[Pool, float], float] = component(
        lambda pool, amount: best_per_row(pool, Budget(amount))
    )

    def units(self, *, full: bool) -> list[Unit]:
        return grid(costs=("equal", "random"), tables=20 if full else 4)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        generator = np.random.default_rng(seed)
        shape = (_TABLE_ROWS, _TABLE_ACTIONS)
        for part in (0.2, 0.5, 0.8) * unit["tables"]:
            losses = generator.random(shape)
            costs = generator.random(shape)
            if unit["costs"] == "equal":
                costs = np.tile(np.arange(_TABLE_ACTIONS) / 2, (_TABLE_ROWS, 1))
            costs[:, 0] = 0.0  # the null action
            amount = part * float(costs[:, -1].sum())
            values = {
                "value": self.value(Pool(losses, costs=costs), amount),
                "program": _linear_program(losses, costs, amount),
                "whole_rows": _best_of_all(losses, costs, amount),
            }
            yield {**unit, "part": part, **values}

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["value"] - row["program"]) for row in rows)
        beaten = max(row["value"] - row["whole_rows"] for row in rows)
        measured = f"off by at most {off:.0e} from the linear program in {len(rows)} tables"
        fine = off < 1e-7 and beaten <= ROUNDING
        return self.verdict_from(
            [exact(fine)], measured, "max over p of mean min_a (ℓ + p c) − p ρ"
        )

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, f"{costs} costs", "part", "value", costs=costs)
            for costs in levels(rows, "costs")
        ]
        return self.make_chart(
            "mean loss", bands, x_label="budget, share of the last action's cost", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "one price, money left": {"value": _one_price},
            "budget ignored": {
                "value": lambda pool, _: float(np.asarray(pool.losses).min(axis=1).mean())
            },
            "a tenth more budget": {"value": lambda pool, amount: self.value(pool, 1.1 * amount)},
        }


def _linear_program(losses: Floats, costs: Floats, amount: float) -> float:
    """Return the optimum of the program with one mix for each row, by HiGHS."""
    rows, actions = losses.shape
    solution: Any = linprog(
        losses.ravel(),
        A_ub=costs.ravel()[None],
        b_ub=[amount],
        A_eq=np.kron(np.eye(rows), np.ones(actions)),
        b_eq=np.ones(rows),
        bounds=(0, 1),
        method="highs",
    )
    return float(solution.fun) / float(rows)


def _best_of_all(losses: Floats, costs: Floats, amount: float) -> float:
    """Return the least mean loss of all choices of whole rows within the amount."""
    choices = np.array(list(itertools.product(range(losses.shape[1]), repeat=len(losses))))
    index = np.arange(len(losses))
    spent = costs[index, choices].sum(axis=1)
    lost = losses[index, choices].mean(axis=1)
    return float(lost[spent <= amount].min())
