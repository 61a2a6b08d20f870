"""Twins of claims: equal to the learners on random rows, and different from learners with a moderate fault."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tombola import Pool, learners, play
from tombola.learners.base import Learner
from tombola.paper import twins
from tombola.paper.source_faults import SourceFault, injected
from tombola.rng import RngStreams

TWINS: dict[str, tuple[Learner, Callable[[int, int], twins.Twin]]] = {
    "successive": (learners.SuccessiveElimination(), twins.SuccessiveEliminationTwin),
    "serfling": (
        learners.SerflingElimination(delta=0.1),
        lambda k, T: twins.SerflingEliminationTwin(k, T, 0.1),
    ),
    "serfling, 1/T": (learners.SerflingElimination(), twins.SerflingEliminationTwin),
    "simulation": (learners.SimulationSuccessiveElimination(), twins.SimulationEliminationTwin),
    "frugal": (learners.FrugalUCB(), twins.FrugalUCBTwin),
    "frugal, no price": (
        learners.FrugalUCB(price=0.0),
        lambda k, T: twins.FrugalUCBTwin(k, T, 0.0),
    ),
}


def noisy_rows(T: int, k: int, seed: int) -> np.ndarray:
    """Return 0/1 rows, the first action best by 0.6."""
    return (
        np.random.default_rng(seed).random((T, k)) < np.where(np.arange(k) == 0, 0.2, 0.8)
    ).astype(np.float64)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_learner_plays_as_its_twin(name: str, k: int) -> None:
    learner, twin = TWINS[name]
    for T in (7, 300, 1000):
        for delay in (0, 1, 10, 200) if name == "successive" else (0,):
            assert twins.rounds_agreed(learner, noisy_rows(T, k, seed=T), twin(k, T), delay) == T


@pytest.mark.usefixtures("plainly")
def test_simulation_elimination_plays_as_its_twin_where_it_drops() -> None:
    """Its radius divided by 100 in both, so that it drops at this horizon."""
    T, width = 256, "math.sqrt(10 * actions)"
    fault = SourceFault(
        "learners.switching.simulation_elimination:SimulationSuccessiveElimination.init",
        width,
        f"0.01 * {width}",
    )
    rows = noisy_rows(T, 2, seed=0)
    with injected(fault):
        plays = play(
            learners.SimulationSuccessiveElimination(), Pool(rows), order="given", seed=0
        ).plays
        assert (
            twins.rounds_agreed(
                learners.SimulationSuccessiveElimination(),
                rows,
                twins.SimulationEliminationTwin(2, T),
            )
            < T
        )
    assert min(plays) < T / 4


def test_hedge_regret_is_that_of_hedge() -> None:
    rows = np.random.default_rng(0).random((50, 3))
    for delay in (0, 4, 60):
        trace = play(learners.Hedge(), Pool(rows), order="given", delay=delay, seed=0)
        rate = math.sqrt(8 * math.log(3) / 50)
        assert twins.hedge_regret(rows, rate, delay) == pytest.approx(
            trace.expected_regret, abs=1e-9
        )
        if delay < 50:
            assert twins.hedge_regret(rows, 1.1 * rate, delay) != pytest.approx(
                trace.expected_regret, abs=1e-4
            )


@pytest.mark.usefixtures("plainly")
def test_optimistic_simulation_plays_as_its_twin() -> None:
    learner, rows = learners.OptimisticSimulation(learners.UCB1()), noisy_rows(40, 3, seed=2)
    same, other = (
        twins.OptimisticSimulationTwin(3, 40, learners.UCB1(), RngStreams(seed).learner(learner))
        for seed in (5, 6)
    )
    assert twins.rounds_agreed(learner, rows, same, seed=5) == 40
    assert twins.rounds_agreed(learner, rows, other, seed=5) < 40, (
        "another generator simulates other rounds"
    )
