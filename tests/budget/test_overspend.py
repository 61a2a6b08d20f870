"""Nothing is ever overspent: random pools, budgets, delays, stop rules and learners, checked in exact arithmetic."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hostile import remembered, ugly_costs
from tombola import play
from tombola.budget.budget import Budget
from tombola.engine.runner import Runner
from tombola.learners import BudgetSimulation, DualDescent, EmpiricalLP, OptimisticLP, PrimalDual, SerflingLP, ThriftyLP
from tombola.pool import Pool

LEARNERS: list[Any] = [
    PrimalDual(),
    DualDescent(),
    EmpiricalLP(),
    EmpiricalLP(growth=3.0),
    SerflingLP(delta=0.99),
    OptimisticLP(delta=0.99),
    ThriftyLP(),
    BudgetSimulation(delta=0.9, margin=0.0),
    BudgetSimulation(DualDescent(), delta=0.9, margin=0.0, delay=2),
]


def pool_of(rng: np.random.Generator) -> Pool:
    """Return a small pool with costs of some ugly kind."""
    T, k, m = int(rng.integers(1, 40)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    costs = ugly_costs(rng, (T, k, m), far=12)
    return Pool(rng.integers(0, 3, (T, k)) / 2, costs=costs)


def budget_of(pool: Pool, rng: np.random.Generator) -> Budget:
    """Return amounts from nothing to plenty, some of them exact sums of costs."""
    costs: Any = pool.costs
    m = costs.shape[2]
    some = costs[rng.integers(0, pool.rows, 3), rng.integers(0, pool.k, 3)].astype(np.float64).sum(axis=0)
    totals = costs.max(axis=1).sum(axis=0, dtype=np.float64)
    choices = [np.zeros(m), some, totals * rng.random(), totals * 2, np.full(m, 0.3), np.ceil(totals / 4)]
    return Budget([float(choices[rng.integers(6)][j]) for j in range(m)], null="add")


def delay_of(horizon: int, rng: np.random.Generator) -> Any:
    """Return no delay, a fixed one, one longer than the horizon, or one for every round."""
    return [0, 0, 2, horizon + 5, rng.integers(0, 6, horizon)][int(rng.integers(5))]


def run_once(number: int) -> None:
    rng = np.random.default_rng([2026, number])
    pool = pool_of(rng)
    budget = budget_of(pool, rng)
    learner = LEARNERS[number % len(LEARNERS)]
    stop: Any = ["strict", "fits"][int(rng.integers(2))]
    mixed = bool(rng.integers(2)) and not isinstance(learner, OptimisticLP | ThriftyLP)
    order = ["random", "iid", "given"][int(rng.integers(3))]
    trace = play(learner, pool, order, delay_of(pool.rows, rng), budget=budget, stop=stop, mixed=mixed, seed=number)
    amounts = [Fraction(amount) for amount in trace.balance.amounts]
    if not mixed:
        costs: Any = pool.costs
        for j, amount in enumerate(amounts):
            rounds = zip(trace.order.tolist(), trace.actions.tolist(), strict=True)
            assert sum(Fraction(float(costs[row, a, j])) for row, a in rounds if a < pool.k) <= amount
    assert not any(trace.overspent)
    for amount, spent, reserved in zip(amounts, trace.balance.spent, trace.balance.reserved, strict=True):
        assert Fraction(spent) + Fraction(reserved) <= amount
        assert spent >= 0
        assert reserved >= 0


def run_many(first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run, with every loop looked up once: the compiler's fingerprint of a learner takes longer than these plays."""
    monkeypatch.setattr(Runner, "step", remembered)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a horizon is too short for Simulation
        for number in range(first, first + count):
            run_once(number)


def test_no_run_overspends(monkeypatch: pytest.MonkeyPatch) -> None:
    run_many(0, 600, monkeypatch)


@pytest.mark.full
def test_no_run_of_hundred_thousand_overspends(monkeypatch: pytest.MonkeyPatch) -> None:
    run_many(10_000, 100_000, monkeypatch)


def test_plays_in_flight_reserve_their_worst_cost() -> None:
    """Ten units, each play may cost 4 and costs 1: with feedback that never comes only two plays are made."""
    costs = np.tile([0.0, 1.0], (50, 1))
    costs[-1, 1] = 4.0
    pool = Pool.from_rewards(np.tile([0.0, 1.0], (50, 1)), costs=costs)
    late = play(PrimalDual(), pool, "given", 100, budget=Budget(10.0), seed=0)
    assert late.plays[1] == 2
    assert late.balance.reserved == (8.0,)
    assert late.balance.left == (2.0,)
    soon = play(PrimalDual(), pool, "given", 3, budget=Budget(10.0), seed=0)
    assert soon.plays[1] > 5
