"""Beyond the paper: theorems of our own, and lower bounds that say how much better one could do, as claims."""

from tombola.claims.beyond.better_of_two import BetterOfTwo
from tombola.claims.beyond.delay_floor import DelayFloor
from tombola.claims.beyond.delay_shift import DelayShift
from tombola.claims.beyond.empirical_lp import PracticalLP
from tombola.claims.beyond.fixed_sample import FixedSample
from tombola.claims.beyond.frugal import Frugal
from tombola.claims.beyond.late_elimination import LateElimination
from tombola.claims.beyond.minimax import Minimax
from tombola.claims.beyond.optimistic import Optimistic
from tombola.claims.beyond.thrifty import Purse
from tombola.claims.beyond.transfer import Deviations, Drift

BEYOND = (
    Deviations,
    Drift,
    Frugal,
    Purse,
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
    "Purse",
]
