"""The budgeted learners against their naive twins, without the compiler, and the paper's Simulation step by step."""

from typing import Any

import pytest

from pools import pool_with_costs
from tombola import instances, play
from tombola.bounds import budget as bounds
from tombola.budget.budget import Budget
from tombola.learners import DualDescent, EmpiricalLP, PrimalDual, SerflingLP
from twin_cases import BUDGET_SIMULATIONS, BUDGETED, check_budget_twin

SIZES = ((1, 1, 1), (1, 3, 2), (2, 2, 1), (23, 3, 1), (37, 4, 2), (64, 3, 3))


@pytest.mark.parametrize("delay", [0, 3, 100])
@pytest.mark.parametrize("stop", ["strict", "fits"])
@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("name", BUDGETED)
def test_learner_agrees_with_its_twin(name: str, mixed: bool, stop: Any, delay: int) -> None:
    for T, k, m in SIZES:
        for share in (0.0, 0.2, 0.6):
            check_budget_twin(BUDGETED[name], pool_with_costs(T, k, m, 1), share, mixed=mixed, stop=stop, delay=delay)


@pytest.mark.parametrize("delay", [0, 3, 100])
@pytest.mark.parametrize("stop", ["strict", "fits"])
@pytest.mark.parametrize("name", BUDGET_SIMULATIONS)
@pytest.mark.filterwarnings("ignore:BudgetSimulation")
def test_simulation_agrees_with_its_twin(name: str, stop: Any, delay: int) -> None:
    """All its blocks, trainings and margins, with fewer rows than blocks and with a delay it does not know."""
    for T, k, m in SIZES:
        for share in (0.3, 0.9):
            pool = pool_with_costs(T, k, m, 1)
            check_budget_twin(BUDGET_SIMULATIONS[name], pool, share, mixed=True, stop=stop, delay=delay)


@pytest.mark.full
def test_given_order_costs_a_sixteenth() -> None:
    """In the given order one of the two pools costs any learner T/16 (exactly proved); shuffled neither does.

    The shuffled regret of these learners is below 20 sqrt(T) with room to spare; seeds are fixed.
    """
    T = 4096
    for learner in (PrimalDual(), DualDescent(), EmpiricalLP(), SerflingLP()):
        regrets = {}
        half = Budget(T / 2, worst=1.0, null=0)
        for order in ("given", "random"):
            traces = [
                play(learner, instances.hindsight(T, then), order, budget=half, mixed=True, seed=1)
                for then in ("rich", "poor")
            ]
            assert not any(any(trace.overspent) for trace in traces)
            regrets[order] = max(trace.regret for trace in traces)
        assert regrets["given"] >= bounds.budget_given_order(T) - 1
        assert regrets["random"] < (20 if learner != SerflingLP() else 30) * T**0.5
        assert regrets["random"] < regrets["given"] or learner == SerflingLP()
