"""Practical learners: baselines, what thrift saves, and what repairs a learner for i.i.d. rows."""

import math

import numpy as np
import pytest

from tombola import Pool, Session, compare, instances, play
from tombola.advice.default_learners import Conditions, default_learners
from tombola.learners import FrugalUCB, RandomFixedAction, Thrifty
from tombola.learners.switching.prior import UNIFORM_VARIANCE, add_loss, update_posterior

# Thrift: a table of many actions has the first few tried, and what they show decides on the others


def total(
    pool: Pool,
    learner: FrugalUCB | Thrifty | RandomFixedAction,
    price: float,
    repetitions: int = 40,
) -> float:
    """Return the mean regret with switches."""
    runs = compare(pool, {"one": learner}, repetitions=repetitions, switching_price=price, seed=0)
    return float(runs.regret("one").value)


@pytest.mark.parametrize("price", [1.0, pytest.param(10.0, marks=pytest.mark.full)])
def test_many_actions_few_rows(price: float) -> None:
    """600 rows, 60 actions: at most .7 of FrugalUCB's total; a fifth of it is missing at both prices."""
    pool = Pool(
        (np.random.default_rng(1).random((600, 60)) < np.random.default_rng(2).random(60)).astype(
            float
        )
    )
    # The ratio is .4 with a standard error of .08: 8 repetitions suffice, and take less time than
    # compiling.
    assert total(pool, Thrifty(price), price, 8) < 0.7 * total(pool, FrugalUCB(price), price, 8)


def test_equal_actions_are_not_all_tried() -> None:
    """Where all are the same, few of 40 actions are looked at, and fewer the dearer a switch is."""
    pool = Pool(np.random.default_rng(0).random((1000, 40)) * 0.2)
    cheap, dear = (
        np.mean([len(set(play(Thrifty(price), pool, seed=seed).actions)) for seed in range(10)])
        for price in (1.0, 10.0)
    )
    assert dear < 0.7 * cheap < 10


def test_the_one_good_action_among_bad_ones_is_found() -> None:
    """30 actions at .9, one at .2: in 10 of 10 plays most rounds go to it; a random action finds it in one of 31."""
    generator = np.random.default_rng(3)
    losses = (generator.random((1500, 31)) < np.where(np.arange(31) == 20, 0.2, 0.9)).astype(float)
    for seed in range(10):
        assert np.mean(play(Thrifty(price=1.0), Pool(losses), seed=seed).actions == 20) > 0.5


def test_the_prior_learns_centre_and_spread() -> None:
    """Forty actions with means of standard deviation .1 around .4, each with 50 losses: both within a fifth."""
    generator = np.random.default_rng(4)
    means = np.clip(0.4 + 0.1 * generator.standard_normal(40), 0, 1)
    state = Thrifty().init(41, 10_000)
    for action, mean in enumerate(means):
        for loss in generator.random(50) < mean:
            add_loss(state, action, float(loss))
    update_posterior(state, UNIFORM_VARIANCE, 0.0, UNIFORM_VARIANCE, math.inf)
    centre, spread, tried = state.prior
    assert centre == pytest.approx(0.4, abs=0.05)
    assert np.sqrt(spread) == pytest.approx(means.std(), rel=0.25)
    assert tried == 40
    assert state.posterior_mean[40] == centre
    assert state.posterior_var[40] == spread
    assert abs(state.posterior_mean[:40] - means).mean() < abs(state.means[:40] - means).mean()


def test_thrifty_rarely_stays_with_the_worse_of_two_close_actions() -> None:
    """Losses .5 and .45, 3,000 rows: at most 1 of 200 plays above five times the mean; 3 without the index of two."""
    losses = (np.random.default_rng(11).random((3000, 2)) < [0.5, 0.45]).astype(float)
    regrets = compare(Pool(losses), [Thrifty(price=0.0)], repetitions=200, seed=5).regrets(
        "Thrifty"
    )
    assert (regrets > 5 * regrets.mean()).sum() <= 1


def test_thrift_costs_little_where_there_are_two_actions() -> None:
    """1.02 times FrugalUCB: the cost of the rule for two actions, with which runs far above the mean are rare."""
    pool = instances.gap(2**12, 2, 0.2, seed=0)
    assert total(pool, Thrifty(price=1.0), 1.0) < 1.15 * total(pool, FrugalUCB(), 1.0)


@pytest.mark.parametrize(("price", "share"), [(0.0, 0.36), (1.0, 0.6), (10.0, 0.6)])
def test_thrifty_spreads_a_list_without_answers(price: float, share: float) -> None:
    """200 of 400 rows, three actions, no outcome: .68 and .83 in one action at prices 1 and 10 without the rule."""
    session = Session(Thrifty(price), 3, 400, seed=0)
    plays = np.bincount([session.act().action for _ in range(200)], minlength=3)
    assert plays.max() <= share * 200


def test_thrifty_without_price_goes_round_the_actions_of_a_first_list() -> None:
    session = Session(Thrifty(), 8, 1000, seed=0)
    assert sorted(np.bincount([session.act().action for _ in range(40)])) == [5] * 8


def test_compare_tells_learners_what_a_switch_costs() -> None:
    """Where switches are free FrugalUCB and Thrifty are told so: the price decides how long a first block is."""
    for price in (0.0, 3.0):
        named = default_learners(Conditions("bandit", switching_price=price))
        assert named["FrugalUCB"] == FrugalUCB(price=price)
        assert named["Thrifty"] == Thrifty(price=price)
    assert default_learners(Conditions("bandit"))["FrugalUCB"] == FrugalUCB(price=0.0)
