"""Learners for a price on switches: they see the loss of the action they played, and change it seldom."""

from typing import TYPE_CHECKING

from tombola.learners.switching.batched_exp3 import BatchedExp3 as BatchedExp3
from tombola.learners.switching.bernstein_elimination import BernsteinElimination as BernsteinElimination
from tombola.learners.switching.betting_elimination import BettingElimination as BettingElimination
from tombola.learners.switching.block_ucb import BlockUCB as BlockUCB
from tombola.learners.switching.frugal_ucb import FrugalUCB as FrugalUCB
from tombola.learners.switching.serfling_elimination import SerflingElimination as SerflingElimination
from tombola.learners.switching.simulation_elimination import (
    SimulationSuccessiveElimination as SimulationSuccessiveElimination,
)
from tombola.learners.switching.thrifty import Thrifty as Thrifty
from tombola.learners.switching.tsallis_switching import TsallisSwitching as TsallisSwitching
from tombola.learners.switching.ucb2_without_replacement import UCB2WithoutReplacement as UCB2WithoutReplacement

if not TYPE_CHECKING:  # type checkers read the imports: each name is written once
    __all__ = sorted(name for name in dir() if name[0].isupper() and name != "TYPE_CHECKING")
