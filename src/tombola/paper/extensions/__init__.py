"""Beyond the paper: theorems of our own, and lower bounds that say how much better one could do, as claims."""

from tombola.paper.extensions.better_of_two import BetterOfTwo
from tombola.paper.extensions.delay_floor import DelayFloor
from tombola.paper.extensions.delay_shift import DelayShift
from tombola.paper.extensions.empirical_lp import PracticalLP
from tombola.paper.extensions.fixed_sample import FixedSample
from tombola.paper.extensions.frugal import Frugal
from tombola.paper.extensions.late_elimination import LateElimination
from tombola.paper.extensions.minimax import Minimax
from tombola.paper.extensions.optimistic import Optimistic
from tombola.paper.extensions.thrifty import BudgetTracker
from tombola.paper.extensions.transfer import Deviations, Drift

BEYOND = (
    Deviations,
    Drift,
    Frugal,
    BudgetTracker,
    Optimistic,
    DelayShift,
    LateElimination,
    PracticalLP,
    Minimax,
    DelayFloor,
    BetterOfTwo,
    FixedSample,
)

__all__ = [
    "BEYOND",
    "BetterOfTwo",
    "BudgetTracker",
    "DelayFloor",
    "DelayShift",
    "Deviations",
    "Drift",
    "FixedSample",
    "Frugal",
    "LateElimination",
    "Minimax",
    "Optimistic",
    "PracticalLP",
]
