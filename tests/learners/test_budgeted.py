"""The budgeted learners against their naive twins, without the compiler, and the paper's Simulation step by step."""

from typing import Any

import pytest

from pools import pool_with_costs
from twin_cases import BUDGET_SIMULATIONS, BUDGETED, check_budget_twin

SIZES = ((1, 1, 1), (1, 3, 2), (2, 2, 1), (23, 3, 1), (37, 4, 2), (64, 3, 3))


@pytest.mark.parametrize("delay", [0, 3, 100])
@pytest.mark.parametrize("stop", ["strict", "fits"])
@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("name", BUDGETED)
def test_learner_agrees_with_its_twin(name: str, mixed: bool, stop: Any, delay: int) -> None:
    for T, k, m in SIZES:
        for share in (0.0, 0.2, 0.6):
            check_budget_twin(
                BUDGETED[name],
                pool_with_costs(T, k, m, 1),
                share,
                mixed=mixed,
                stop=stop,
                delay=delay,
            )


@pytest.mark.parametrize("delay", [0, 3, 100])
@pytest.mark.parametrize("stop", ["strict", "fits"])
@pytest.mark.parametrize("name", BUDGET_SIMULATIONS)
@pytest.mark.filterwarnings("ignore:BudgetSimulation")
def test_simulation_agrees_with_its_twin(name: str, stop: Any, delay: int) -> None:
    """All its blocks, trainings and margins, with fewer rows than blocks and with a delay it does not know."""
    for T, k, m in SIZES:
        for share in (0.3, 0.9):
            pool = pool_with_costs(T, k, m, 1)
            check_budget_twin(
                BUDGET_SIMULATIONS[name], pool, share, mixed=True, stop=stop, delay=delay
            )
