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

__all__ = [
    "BatchToOnline",
    "Minimax",
    "Regrets",
    "Ridge",
    "adversarial_minimax",
    "expected_loss",
    "iid_minimax",
    "minimax",
    "random_order",
    "worst_case",
    "worst_pool",
    "zero_one",
]
