"""Budget tracker: rounding in fluid play, balance."""

from fractions import Fraction

import numpy as np
import pytest

from hostile import Hostile
from tombola import Pool, play
from tombola.budget.budget import Budget, BudgetRun
from tombola.budget.tracker import (
    _cost_in_ticks,
    draw_and_reserve,
    mask_unaffordable,
    new_tracker,
    update_affordable,
)
from tombola.learners import PrimalDual


def overspent_by_rounding(slack: float | None) -> int:
    """Count mixes whose exact cost is above the ticks that cover them."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(2000):
        k = int(rng.integers(2, 7))
        costs = rng.random((k, 1)) * 10.0 ** rng.integers(-3, 3)
        costs[0] = 0.0
        limits = Budget(float(costs.max()) * 2, worst=costs, null=0).resolve(k, 1)
        tracker, _ = new_tracker(BudgetRun(limits, mixed=True), 100)
        tracker = tracker if slack is None else tracker._replace(slack=slack)
        mix = rng.dirichlet(np.ones(k))
        exact = sum(
            Fraction(float(p)) * Fraction(float(c)) for p, c in zip(mix, costs[:, 0], strict=True)
        )
        found += Fraction(_cost_in_ticks(tracker, mix, costs, 0)) < exact * Fraction(
            float(tracker.unit_ticks[0])
        )
    return found


def test_fluid_slack_covers_rounding() -> None:
    assert overspent_by_rounding(None) == 0
    assert overspent_by_rounding(0.0) > 100


def test_fluid_mix_at_limit_is_scaled() -> None:
    """Half and half of two actions that cost all there is: with the slack that is a bit more than all."""
    limits = Budget(1.0, worst=[1.0, 1.0, 0.0], null=2).resolve(3, 1)
    tracker, _ = new_tracker(BudgetRun(limits, mixed=True), 10)
    mix, played = np.array([0.5, 0.5, 0.0]), np.zeros(3)
    update_affordable(tracker)
    mask_unaffordable(tracker, mix)
    draw_and_reserve(tracker, mix, np.zeros(4, np.uint64), played, np.zeros(1))
    assert played.tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-9)
    assert played[2] > 0.0


def test_single_round_cost_is_recorded() -> None:
    pool = Pool([[0.0, 1.0]], costs=[[0.75, 0.0]])
    trace = play(Hostile(6), pool, "given", budget=Budget(3.0), mixed=True, seed=0)
    assert trace.costs.tolist() == [[pytest.approx(0.75 * trace.plays[0])]]
    assert trace.plays[0] > 0.0


def test_plays_in_flight_reserve_their_worst_cost() -> None:
    """Ten units, each play may cost 4 and costs 1: with feedback that never comes only two plays are made."""
    costs = np.tile([0.0, 1.0], (50, 1))
    costs[-1, 1] = 4.0
    pool = Pool.from_rewards(np.tile([0.0, 1.0], (50, 1)), costs=costs)
    late = play(PrimalDual(), pool, "given", 100, budget=Budget(10.0), seed=0)
    assert late.plays[1] == 2
    assert late.balance.reserved == (8.0,)
    assert late.balance.left == (2.0,)
    soon = play(PrimalDual(), pool, "given", 3, budget=Budget(10.0), seed=0)
    assert soon.plays[1] > 5
