"""Learners for a price on switches: they see the loss of the action they played, and change it seldom."""

from tombola.learners.switching.batched_exp3 import BatchedExp3
from tombola.learners.switching.bernstein_elimination import BernsteinElimination
from tombola.learners.switching.betting_elimination import BettingElimination
from tombola.learners.switching.block_ucb import BlockUCB
from tombola.learners.switching.frugal_ucb import FrugalUCB
from tombola.learners.switching.serfling_elimination import SerflingElimination
from tombola.learners.switching.simulation_elimination import SimulationSuccessiveElimination
from tombola.learners.switching.thrifty import Thrifty
from tombola.learners.switching.tsallis_switching import TsallisSwitching
from tombola.learners.switching.ucb2_without_replacement import UCB2WithoutReplacement

__all__ = [
    "BatchedExp3",
    "BernsteinElimination",
    "BettingElimination",
    "BlockUCB",
    "FrugalUCB",
    "SerflingElimination",
    "SimulationSuccessiveElimination",
    "Thrifty",
    "TsallisSwitching",
    "UCB2WithoutReplacement",
]
