"""Reductions: learners made from learners."""

from tombola.reductions.external import External
from tombola.reductions.interleaved import Interleaved
from tombola.reductions.optimistic import LazyOptimisticSimulation, OptimisticSimulation
from tombola.reductions.schedule import Lemma, Paper, Revealed
from tombola.reductions.simulation import Simulation

__all__ = [
    "External",
    "Interleaved",
    "LazyOptimisticSimulation",
    "Lemma",
    "OptimisticSimulation",
    "Paper",
    "Revealed",
    "Simulation",
]
