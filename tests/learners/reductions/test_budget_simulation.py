"""BudgetSimulation: blocks, and its warning; training of the base of a reduction."""

import warnings
from typing import Any

import numpy as np
import pytest

from pools import pool_with_costs
from tombola import play
from tombola.bounds import budget as bounds
from tombola.budget.budget import Budget, BudgetTerms
from tombola.feedback import make_feedback_model
from tombola.learners import BudgetSimulation, FollowTheLeader
from tombola.learners.reductions.training import _CHUNK, train
from tombola.rng import RngStreams


def test_simulation_plays_one_mix_per_block() -> None:
    pool = pool_with_costs(600, 3, 1, 4)
    learner = BudgetSimulation(delta=0.9, margin=0.5)
    budget = Budget(180.0, worst=1.0, null=0)
    trace = play(learner, pool, "given", budget=budget, stop="strict", mixed=True, seed=0)
    first = bounds.budget_first_play(600, 3, 1, 0.3, 0.9, 0.5)
    assert 17 <= first <= 257
    assert not trace.costs[: first - 1].any()
    assert trace.costs[first - 1 : 300].all()
    assert pool.costs is not None
    for start in (2**i for i in range(4, 9) if 2**i >= first - 1):
        rows = slice(start, min(2 * start, 300))
        table: Any = np.column_stack([pool.costs[rows, 1, 0], pool.costs[rows, 2, 0]])
        mix, residue, *_ = np.linalg.lstsq(table, trace.costs[rows, 0], rcond=None)
        assert residue.sum() < 1e-18
        assert (mix > 0).all()


def test_simulation_with_delay_waits() -> None:
    pool = pool_with_costs(300, 2, 1, 4)
    learner = BudgetSimulation(delta=0.9, margin=0.0, delay=7)
    trace = play(learner, pool, "given", 7, budget=Budget(150.0), stop="strict", mixed=True, seed=0)
    plays = (trace.costs[:100, 0] > 0).tolist()
    blocks = [
        (2**i + 1 + (i + 1) * 7, 2**i) for i in range(1, 7)
    ]  # one round of training has less than 1 to spend
    assert plays == [any(s <= t < s + n for s, n in blocks) for t in range(1, 101)]


def test_simulation_warns_if_it_never_plays() -> None:
    with pytest.warns(UserWarning, match=r"131,073, and there are 65,536 rounds"):
        BudgetSimulation().init(BudgetTerms(3, 1, 2**16, 0.1, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BudgetSimulation().init(BudgetTerms(3, 1, 2**16, 0.5, 0))


@pytest.mark.parametrize("rounds", [_CHUNK - 1, _CHUNK, _CHUNK + 5, 2 * _CHUNK])
def test_training_plays_requested_rounds(rounds: int) -> None:
    """With a last chunk that is too long, the frequencies of the actions sum to more than 1."""
    learner = FollowTheLeader()
    setting = make_feedback_model(learner, rounds, actions=2)
    plays = train(
        learner, setting, np.array([[0.0, 1.0], [1.0, 0.0]]), RngStreams(1).learner(learner)
    )
    assert plays.sum() == rounds
