"""Exact regret of Simulation: its trainings enumerated draw by draw, with naive bases."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from tombola import FollowTheLeader, Simulation
from tombola.errors import ParameterError
from tombola.lab import expected_loss, hardest_pool, random_order, training
from tombola.learners import Hedge, LemmaSchedule
from tombola.learners.base import Learner

Rows: TypeAlias = Sequence[tuple[float, float]]
ROWS = [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]


def leader(rows: Rows, rounds: int) -> list[float]:
    """Frequencies of following the leader on these rows."""
    plays = [0, 0]
    for t in range(rounds):
        totals = [sum(row[a] for row in rows[:t]) for a in (0, 1)]
        plays[totals.index(min(totals))] += 1
    return [count / rounds for count in plays]


def weights(rows: Rows, rounds: int) -> list[float]:
    """Mean mix of exponential weights with rate .7 on these rows."""
    mixes = []
    for t in range(rounds):
        own = [math.exp(-0.7 * sum(row[a] for row in rows[:t])) for a in (0, 1)]
        mixes.append([weight / sum(own) for weight in own])
    return [sum(mix[a] for mix in mixes) / rounds for a in (0, 1)]


def naive_loss(base: Callable[[Rows, int], list[float]], rows: Rows) -> float:
    """Expected loss of Simulation: it trains when 1, 2 and 4 rows are known."""
    mix = [1.0, 0.0]
    loss = 0.0
    for t, row in enumerate(rows):
        if t in (1, 2, 4):
            draws = list(itertools.product(rows[:t], repeat=t))
            shares = [base(sample, t) for sample in draws]
            mix = [sum(share[a] for share in shares) / len(draws) for a in (0, 1)]
        loss += sum(p * x for p, x in zip(mix, row, strict=True))
    return loss


@pytest.mark.parametrize(
    ("base", "naive"), [(FollowTheLeader(), leader), (Hedge(rate=0.7), weights)]
)
@pytest.mark.usefixtures("plainly")
def test_trainings_are_enumerated(base: Learner, naive: Callable[[Rows, int], list[float]]) -> None:
    for short in itertools.product(ROWS, repeat=3):
        assert expected_loss(Simulation(base), short) == pytest.approx(naive_loss(naive, short))
    rows = [ROWS[1], ROWS[0], ROWS[2], ROWS[1], ROWS[0], ROWS[1]]
    assert expected_loss(Simulation(base), rows) == pytest.approx(naive_loss(naive, rows))
    orders = [naive_loss(naive, order) for order in itertools.permutations(rows[1:])]
    expected = sum(orders) / len(orders) - 3.0  # each action loses in three of the rows
    assert random_order(Simulation(base), rows[1:]) == pytest.approx(expected)


@pytest.mark.usefixtures("plainly")
def test_without_delay_the_template_is_the_default_at_powers_of_two() -> None:
    """Both train on all rows when 1, 2, 4, .. are known, and play until the rows have doubled."""
    rows = [ROWS[0], ROWS[1], ROWS[1], ROWS[0], ROWS[1]]
    default = random_order(Simulation(FollowTheLeader()), rows)
    assert default == pytest.approx(
        random_order(Simulation(FollowTheLeader(), LemmaSchedule()), rows), abs=1e-12
    )
    assert default == random_order(Simulation(FollowTheLeader(), trainings=3), rows)


@pytest.mark.usefixtures("plainly")
def test_orders_of_the_past_are_merged() -> None:
    """On equal rows the base doubts longest: 1 + log2 T rounds of loss."""
    worst = hardest_pool(Simulation(FollowTheLeader()), 8)
    assert worst.is_worst
    assert worst.regret == pytest.approx(4.0)
    assert worst.pool.losses.sum(axis=0).tolist() == [8.0, 0.0]


def test_training_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_MAX_CHOICES", 3)
    training._mean_frequencies.cache_clear()
    with pytest.raises(ParameterError, match="a training with at most 3 choices"):
        expected_loss(Simulation(FollowTheLeader()), [(0.0, 1.0), (1.0, 0.0)] * 4)
