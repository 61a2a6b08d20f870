"""Practical learners: what nobody should lose to, what thrift saves, and what guards it."""

import numpy as np
import pytest

from tombola import Pool, check_learner, compare, instances, play
from tombola.learners.bandit import BlindAction, EpsilonGreedy
from tombola.learners.switching import FrugalUCB, Thrifty
from tombola.learners.switching.prior import believe, notice


@pytest.mark.parametrize("learner", [BlindAction(), EpsilonGreedy()], ids=repr)
def test_obeys_the_laws(learner: BlindAction | EpsilonGreedy) -> None:
    assert len(check_learner(learner)) >= 12


def test_the_blind_action_is_any_action_and_stays() -> None:
    """800 draws of 4 actions: five standard deviations, false alarm below 1e-5."""
    pool = Pool(np.tile([0.0, 0.2, 0.5, 1.0], (6, 1)))
    traces = [play(BlindAction(), pool, switching_price=100.0, seed=seed) for seed in range(800)]
    assert all(trace.switches == 0 and len(set(trace.actions)) == 1 for trace in traces)
    assert all(trace.chances.tolist() == [0.25] + [1.0] * 5 for trace in traces)
    counts = np.bincount([trace.actions[0] for trace in traces], minlength=4)
    assert abs(counts - 200).max() < 5 * np.sqrt(800 * 0.25 * 0.75)


# Thrift: a table of many actions has the first few tried, and what they show decides on the others


def total(pool: Pool, learner: FrugalUCB | Thrifty | BlindAction, price: float, repetitions: int = 40) -> float:
    """Return the mean regret with switches."""
    runs = compare(pool, {"one": learner}, repetitions=repetitions, switching_price=price, seed=0)
    return float(runs.regret("one").value)


@pytest.mark.parametrize("price", [1.0, 10.0])
def test_many_actions_few_rows(price: float) -> None:
    """600 rows, 60 actions: at most .7 of FrugalUCB's total; a fifth of it is missing at both prices."""
    pool = Pool((np.random.default_rng(1).random((600, 60)) < np.random.default_rng(2).random(60)).astype(float))
    assert total(pool, Thrifty(price), price) < 0.7 * total(pool, FrugalUCB(price), price)


def test_equal_actions_are_not_all_tried() -> None:
    """Where all are the same, few of 40 actions are looked at, and fewer the dearer a switch is."""
    pool = Pool(np.random.default_rng(0).random((1000, 40)) * 0.2)
    cheap, dear = (
        np.mean([len(set(play(Thrifty(price), pool, seed=seed).actions)) for seed in range(10)])
        for price in (1.0, 10.0)
    )
    assert dear < 0.7 * cheap < 10


def test_the_one_good_action_among_bad_ones_is_found() -> None:
    """30 actions at .9, one at .2: in 30 of 30 plays most rounds go to it; blindly it would be in one of 31."""
    rng = np.random.default_rng(3)
    losses = (rng.random((3000, 31)) < np.where(np.arange(31) == 20, 0.2, 0.9)).astype(float)
    for seed in range(30):
        assert np.mean(play(Thrifty(), Pool(losses), seed=seed).actions == 20) > 0.5


def test_the_prior_learns_centre_and_spread() -> None:
    """Forty actions with means of standard deviation .1 around .4, each with 50 losses: both within a fifth."""
    rng = np.random.default_rng(4)
    means = np.clip(0.4 + 0.1 * rng.standard_normal(40), 0, 1)
    state = Thrifty().init(41, 10_000)
    for action, mean in enumerate(means):
        for loss in rng.random(50) < mean:
            notice(state, action, float(loss))
    believe(state)
    centre, spread, tried = state.prior
    assert centre == pytest.approx(0.4, abs=0.05)
    assert np.sqrt(spread) == pytest.approx(means.std(), rel=0.25)
    assert tried == 40
    assert state.guesses[40] == centre
    assert state.doubts[40] == spread
    assert abs(state.guesses[:40] - means).mean() < abs(state.means[:40] - means).mean()


def test_thrift_costs_little_where_there_are_two_actions() -> None:
    pool = instances.gap(2**12, 2, 0.2, seed=0)
    assert total(pool, Thrifty(), 1.0) < 1.15 * total(pool, FrugalUCB(), 1.0)
