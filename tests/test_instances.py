"""The instances are what their docstrings say; seeds are fixed, false alarms stated where there can be any."""

import itertools
import math

import numpy as np
import pytest

from tombola import instances
from tombola.errors import ParameterError
from tombola.lab import exact
from tombola.learners.full_information.follow_the_leader import FollowTheLeader


def follow(losses, delay=0):
    """Naive follow-the-leader: the loss of every round, on what is revealed by then."""
    paid = []
    for t, row in enumerate(losses):
        totals = losses[: max(0, t - delay)].sum(axis=0)
        paid.append(row[int(np.argmin(totals))])
    return sum(paid)


@pytest.mark.parametrize(
    ("horizon", "actions", "best"), [(1, 1, -1), (97, 4, 1), (200, 3, -1), (50, 2, -2)]
)
def test_gap_counts_are_exact(horizon, actions, best):
    losses = instances.gap(horizon, actions, 0.2, mean=0.6, best=best, seed=1).losses
    wanted = [round(horizon * 0.6)] * actions
    wanted[best] = round(horizon * 0.4)
    assert losses.sum(axis=0).tolist() == wanted
    assert set(np.unique(losses)) <= {0.0, 1.0}


def test_columns_are_shuffled_independently():
    losses = instances.gap(2000, 3, 0.0, seed=2).losses
    correlations = np.corrcoef(losses.T)[np.triu_indices(3, 1)]
    assert abs(correlations).max() < 0.12  # standard deviation 0.022: beyond 5 sigma
    assert np.corrcoef(losses[1:, 0], losses[:-1, 0])[0, 1] < 0.12


@pytest.mark.parametrize(
    ("horizon", "share"), [(1, 1.0), (10, 0.5), (101, 0.55), (100, 0.3), (9, 0.0)]
)
def test_split_is_worst_order_for_leader(horizon, share):
    losses = instances.split(horizon, share).losses
    first = round(horizon * share)
    assert losses.sum(axis=0).tolist() == [first, horizon - first]
    rarer = min(first, horizon - first)
    assert follow(losses) == 2 * rarer + (first > rarer)
    if horizon <= 10:
        worst = max(
            follow(losses[list(order)])
            for order in itertools.islice(itertools.permutations(range(horizon)), 5000)
        )
        assert follow(losses) >= worst


def test_correlated_differences_are_constant():
    losses = instances.correlated(100, 4, gap=0.1, seed=4).losses
    np.testing.assert_allclose(losses[:, 0] - losses[:, -1], 0.1, atol=1e-12)
    assert (losses[:, 0] == losses[:, 2]).all()
    assert losses.var(axis=0).min() > 0.2
    assert instances.correlated(1, 1, gap=0.0, seed=4).losses.shape == (1, 1)


@pytest.mark.parametrize(
    ("horizon", "actions", "equals"), [(100, 6, 3), (101, 3, 2), (60, 2, 2), (5, 1, 1), (1, 2, 2)]
)
def test_heavy_ties_ties_heavily(horizon, actions, equals):
    losses = instances.heavy_ties(horizon, actions, seed=5).losses
    totals = losses.sum(axis=0)
    assert losses.shape == (horizon, actions)
    assert set(np.unique(losses)) <= {0.0, 0.5, 1.0}
    assert (losses.max(axis=1) == losses.min(axis=1)).sum() >= 0.8 * horizon
    assert (totals == totals.min()).sum() == equals


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_in_mistake_tree_nothing_can_be_learned(depth):
    """Given the rows so far, every action has an expected loss of exactly 1/2, over the labels still to come."""
    trees = {
        labels: instances.mistake_tree(list(labels))
        for labels in itertools.product([0, 1], repeat=depth)
    }
    for t in range(depth):
        for past in itertools.product([0, 1], repeat=t):
            future = [rows for labels, rows in trees.items() if labels[:t] == past]
            assert all((rows[:t] == future[0][:t]).all() for rows in future)
            assert (np.mean([rows[t] for rows in future], axis=0) == 0.5).all()
    assert all(rows.sum(axis=0).min() == 0.0 for rows in trees.values())


def test_littlestone_is_easy_in_random_order():
    for seed in range(6):
        pool = instances.littlestone(5, seed=seed)
        assert pool.losses.shape == (5, 32)
        assert exact.random_order(FollowTheLeader(), pool) <= sum(1 / t for t in range(1, 6)) + 1e-9


@pytest.mark.parametrize("actions", [2, 5])
def test_random_walk_is_one_of_source(actions):
    T = 1024
    losses = instances.random_walk(T, actions, seed=6).losses
    sigma, epsilon = 1 / (9 * math.log2(T)), actions ** (1 / 3) * T ** (-1 / 3) / (9 * math.log2(T))
    best = int(np.argmin(losses.sum(axis=0)))
    walk = np.concatenate([[0.0], losses[:, best - 1] - 0.5])
    inside = (losses[:, best] > 0) & (losses[:, best - 1] < 1)
    assert inside.mean() > 0.9
    np.testing.assert_allclose((losses[:, best - 1] - losses[:, best])[inside], epsilon, rtol=1e-9)
    steps = [
        walk[t] - walk[t - max(2**i for i in range(11) if t % 2**i == 0)] for t in range(1, T + 1)
    ]
    assert 0.85 < np.std(steps) / sigma < 1.15  # standard deviation 0.022
    assert (
        np.std(np.diff(walk)) > 1.2 * sigma
    )  # sqrt(2) sigma, since the parent is not the round before


def test_random_walk_draws_its_best_action():
    bests = [
        int(np.argmin(instances.random_walk(16, 2, seed=seed).losses.sum(axis=0)))
        for seed in range(40)
    ]
    assert 5 <= sum(bests) <= 35  # false alarm below 1e-6


@pytest.mark.parametrize(("horizon", "delay"), [(1, 0), (120, 2), (133, 2), (5, 9)])
def test_delay_trap_has_equal_blocks(horizon, delay):
    losses = instances.delay_trap(horizon, delay, seed=7).losses
    assert losses.shape == (horizon, 2)
    assert (losses.sum(axis=1) == 1).all()
    assert all(losses[t].tolist() == losses[t - t % (delay + 1)].tolist() for t in range(horizon))
    assert horizon < 100 or any(
        (losses[t] != losses[t - 1]).all() for t in range(delay + 1, horizon, delay + 1)
    )


def test_delay_trap_leaves_delayed_leader_with_half():
    T, delay = 60, 4
    paid = [follow(instances.delay_trap(T, delay, seed=seed).losses, delay) for seed in range(300)]
    error = (delay + 1) * math.sqrt(T / (delay + 1)) / 2 / math.sqrt(300)
    assert abs(np.mean(paid) - T / 2) < 5 * error


RANDOM = [
    lambda seed: instances.gap(20, 3, 0.1, seed=seed),
    lambda seed: instances.balanced(20, 3, seed=seed),
    lambda seed: instances.correlated(20, 3, gap=0.1, seed=seed),
    lambda seed: instances.heavy_ties(20, 3, seed=seed),
    lambda seed: instances.littlestone(8, seed=seed),
    lambda seed: instances.random_walk(20, seed=seed),
    lambda seed: instances.delay_trap(20, 1, seed=seed),
]


@pytest.mark.parametrize("make", RANDOM)
def test_seed_is_only_randomness(make):
    assert (make(1).losses == make(1).losses).all()
    assert (make(1).losses == make(np.random.SeedSequence(1)).losses).all()
    assert any((make(1).losses != make(seed).losses).any() for seed in (2, 3, 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda: instances.birthday(0),
        lambda: instances.gap(10, 2, 0.6, seed=0),
        lambda: instances.gap(10, 2, 0.1, best=2, seed=0),
        lambda: instances.gap(10, 2, 0.1, best=-3, seed=0),
        lambda: instances.split(10, 1.1),
        lambda: instances.balanced(10, 0, seed=0),
        lambda: instances.correlated(10, 2, gap=-0.1, seed=0),
        lambda: instances.littlestone(21, seed=0),
        lambda: instances.random_walk(1, seed=0),
        lambda: instances.delay_trap(10, -1, seed=0),
        lambda: instances.balanced(10, 2, seed=-1),
    ],
)
def test_nonsense_is_rejected(make):
    with pytest.raises(ParameterError, match="write for example"):
        make()
