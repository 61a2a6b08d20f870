"""Learners with bandit feedback: their bounds, and single properties; `test_twins` compares them with their twins."""

import math

import numpy as np
import pytest

from naive import bandit as naive
from tombola import Pool, play
from tombola.learners import (
    Exp3,
    ExploreThenCommit,
    RandomFixedAction,
    ThompsonSampling,
    TsallisInf,
)
from tombola.learners.bandit.counts import kl_lower_bound
from tombola.learners.base import Learner
from twin_cases import Case, after, follow, new_live, steps


@pytest.mark.parametrize(
    "learner", [Exp3(), Exp3(rate=0.2), TsallisInf(), ExploreThenCommit(), ExploreThenCommit(5)]
)
def test_regret_in_random_order_stays_below_bound(learner: Learner) -> None:
    """Mean regret over 60 orders of a pool with a small and a large gap, plus four standard errors."""
    generator = np.random.default_rng(5)
    pool = (generator.random((200, 3)) < [0.5, 0.4, 0.8]).astype(float)
    regrets = []
    for seed in range(60):
        losses = generator.permutation(pool)
        loss = sum(
            losses[t, a]
            for t, (a, _) in enumerate(steps(new_live(learner, losses, seed), losses, after(200)))
        )
        regrets.append(loss - pool.sum(axis=0).min())
    bound = learner.bound(3, 200)
    assert bound is not None
    assert np.mean(regrets) + 4 * np.std(regrets) / math.sqrt(60) < bound


@pytest.mark.parametrize(
    "mean", [0.0, 1e-300, 1e-13, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1 - 1e-16, 1.0]
)
@pytest.mark.parametrize("far", [0.0, 1e-12, 1e-6, 0.01, 0.5, 3.0, 40.0])
def test_kl_lower_bound_solves_its_equation(mean: float, far: float) -> None:
    low, high = 0.0, mean
    for _ in range(200):
        q = (low + high) / 2
        low, high = (q, high) if 0 < q < mean and naive.kl(mean, q) > far else (low, q)
    slack = (
        2e-12 if far >= 1e-6 else 1e-6
    )  # for a tiny distance the equation itself is only known to rounding
    assert 0.0 <= kl_lower_bound(mean, far) <= mean
    assert kl_lower_bound(mean, far) == pytest.approx(high, abs=slack)


def test_exp3_survives_weights_that_vanish() -> None:
    """A rate so high that every weight falls below the smallest float many times over."""
    losses = np.ones((150, 2))
    runner = follow(Case(Exp3(rate=200.0), naive.Exp3, {"rate": 200.0}), losses, after(150))
    assert runner.state.base[0] > 1000


def test_blind_action_is_any_action_and_stays() -> None:
    """800 draws of 4 actions: five standard deviations, false alarm below 1e-5."""
    pool = Pool(np.tile([0.0, 0.2, 0.5, 1.0], (6, 1)))
    traces = [
        play(RandomFixedAction(), pool, switching_price=100.0, seed=seed) for seed in range(800)
    ]
    assert all(trace.switches == 0 and len(set(trace.actions)) == 1 for trace in traces)
    assert all(trace.probabilities.tolist() == [0.25] + [1.0] * 5 for trace in traces)
    counts = np.bincount([trace.actions[0] for trace in traces], minlength=4)
    assert abs(counts - 200).max() < 5 * np.sqrt(800 * 0.25 * 0.75)


def test_thompson_sampling_has_right_distribution() -> None:
    """The probability that Beta(3, 2) < Beta(2, 4), by summing densities; false alarm below 1e-6."""
    live = new_live(ThompsonSampling(), np.zeros((1, 2)))
    for action, loss in [(0, 1.0), (0, 1.0), (0, 0.0), (1, 1.0), (1, 0.0), (1, 0.0), (1, 0.0)]:
        live.learn(1, action, math.nan, (loss,))
    count, first = 20_000, 0
    for _ in range(count):
        first += live.act(7)[0] == 0
    x = (np.arange(20_000) + 0.5) / 20_000
    density_0, density_1 = x**2 * (1 - x), x * (1 - x) ** 3
    above = 1 - np.cumsum(density_1) / density_1.sum()
    probability = float((density_0 * above).sum() / density_0.sum())
    assert abs(first - count * probability) < 5 * math.sqrt(count * probability * (1 - probability))


def test_tsallis_inf_with_huge_estimates() -> None:
    """Late answers to rare actions make estimates that differ by orders of magnitude."""
    losses = np.random.default_rng(0).random((150, 40))
    runner = follow(Case(TsallisInf(), naive.TsallisInf), losses, after(150, 20))
    assert runner.state.totals.max() > 40
