"""Every learner with bandit feedback against its naive twin, round by round, also when feedback is late or lost."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tombola.errors import ParameterError
from tombola.learners import (
    KLUCB,
    UCB1,
    UCB2,
    Exp3,
    ExploreThenCommit,
    ThompsonSampling,
    TsallisInf,
)
from tombola.learners.base import Learner
from twin_cases import BANDIT, Case, after, anyhow, each_case, follow, new_live, steps, ugly_tables


@each_case(BANDIT)
def test_does_what_source_says(case: Case) -> None:
    for losses in ugly_tables():
        follow(case, losses, after(len(losses)))


@each_case(BANDIT)
@pytest.mark.parametrize("delay", [1, 17, 1000])
def test_late_feedback(case: Case, delay: int) -> None:
    losses = (np.random.default_rng(3).random((120, 4)) < [0.9, 0.5, 0.1, 0.2]).astype(float)
    follow(case, losses, after(len(losses), delay))


@each_case(BANDIT)
@pytest.mark.parametrize("seed", range(4))
def test_lost_and_disordered_feedback(case: Case, seed: int) -> None:
    losses = np.random.default_rng(seed).random((110, 3)) * [1.0, 0.7, 0.2]
    follow(case, losses, anyhow(len(losses), seed), seed)


@pytest.mark.parametrize("learner", [Exp3(), Exp3(rate=0.2), TsallisInf(), ExploreThenCommit(), ExploreThenCommit(5)])
def test_regret_in_random_order_stays_below_bound(learner: Learner) -> None:
    """Mean regret over 60 orders of a pool with a small and a large gap, plus four standard errors."""
    generator = np.random.default_rng(5)
    pool = (generator.random((200, 3)) < [0.5, 0.4, 0.8]).astype(float)
    regrets = []
    for seed in range(60):
        losses = generator.permutation(pool)
        loss = sum(losses[t, a] for t, (a, _) in enumerate(steps(new_live(learner, losses, seed), losses, after(200))))
        regrets.append(loss - pool.sum(axis=0).min())
    bound = learner.bound(3, 200)
    assert bound is not None
    assert np.mean(regrets) + 4 * np.std(regrets) / math.sqrt(60) < bound


@pytest.mark.parametrize("learner", [UCB1(scale=0.5), KLUCB(), KLUCB(c=3), ThompsonSampling()])
def test_no_bound_is_claimed_where_none_is_proved(learner: Learner) -> None:
    assert learner.bound(3, 100) is None


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (UCB1, {"scale": -1}),
        (UCB2, {"alpha": 0}),
        (UCB2, {"alpha": 1}),
        (KLUCB, {"c": -0.5}),
        (Exp3, {"rate": 0}),
        (Exp3, {"rate": math.nan}),
        (ExploreThenCommit, {"rounds": 0}),
        (ExploreThenCommit, {"rounds": 1.5}),
    ],
)
def test_wrong_parameters_are_rejected(kind: Callable[..., Learner], parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=kind.__name__):
        kind(**parameters)
