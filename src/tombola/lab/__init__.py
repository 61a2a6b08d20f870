"""For theorists: exact regret, minimax values, hardest pools."""

from tombola.lab.batch import BatchToOnline, Ridge
from tombola.lab.exact import (
    Regrets,
    expected_loss,
    random_order,
    worst_case,
    worst_pool,
    zero_one,
)
from tombola.lab.games import Minimax, adversarial_minimax, iid_minimax, minimax
from tombola.lab.hard_pools import HardPool, hardest_pool
from tombola.report.latex import table_to_latex

__all__ = [
    "BatchToOnline",
    "HardPool",
    "Minimax",
    "Regrets",
    "Ridge",
    "adversarial_minimax",
    "expected_loss",
    "hardest_pool",
    "iid_minimax",
    "minimax",
    "random_order",
    "table_to_latex",
    "worst_case",
    "worst_pool",
    "zero_one",
]
