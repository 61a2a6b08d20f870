"""What the paper's section on classification says, measured: mistakes, regret and bounds."""

import math

import numpy as np
import pytest

from tombola import play
from tombola.bounds import classification as bounds
from tombola.classification import (
    ERM,
    AllLabellings,
    Intervals,
    LabelledPool,
    Thresholds,
    attack_thresholds,
)
from tombola.classification.classes.base import Ties


def realizable(rows: int, seed: int) -> LabelledPool:
    """Uniform features, and a uniformly random threshold that is always right."""
    generator = np.random.default_rng([rows, seed])
    features = generator.random(rows)
    return LabelledPool(features, features >= generator.random())


@pytest.mark.parametrize(
    ("ties", "T", "plays", "low", "high"),
    [
        ("first", 1 << 12, 200, 0.83, 1.07),
        ("middle", 1 << 12, 200, 0.355, 0.595),
        pytest.param("first", 1 << 20, 24, 0.79, 1.15, marks=pytest.mark.full),
        pytest.param("middle", 1 << 20, 24, 0.36, 0.65, marks=pytest.mark.full),
    ],
)
def test_realizable_thresholds_have_logarithmic_mistakes(
    ties: Ties, T: int, plays: int, low: float, high: float
) -> None:
    """Mistakes per ln T: records, ln T - 1 + gamma on average, with ties first; half as many with
    ties in the middle.

    The standard error of the mean is about sqrt(ln T / plays) / ln T, .024 and .055: limits are 3.5
    of them away.
    """
    mean = np.mean(
        [play(ERM(Thresholds(), ties), realizable(T, s), seed=s).mistakes for s in range(plays)]
    )
    assert low < mean / math.log(T) < high


@pytest.mark.parametrize("ties", ["first", "last"])
def test_littlestone_order_is_a_mistake_every_round(ties: Ties) -> None:
    T = 2000
    met = attack_thresholds(ERM(Thresholds(), ties), T, seed=0)
    assert met.mistakes == T
    again = play(ERM(Thresholds(), ties), met.pool, order="given", seed=0)
    assert (again.mistakes, again.regret) == (T, T)
    shuffled = play(ERM(Thresholds(), ties), met.pool, seed=0)
    assert shuffled.mistakes < 5 * math.log(T)
    # To the precision of floats.
    assert attack_thresholds(ERM(Thresholds(), "middle"), 45, seed=0).mistakes == 45


@pytest.mark.parametrize(
    ("T", "plays", "low", "high"),
    [(1 << 12, 100, 0.6, 1.0), pytest.param(1 << 20, 24, 0.45, 1.15, marks=pytest.mark.full)],
)
def test_random_labels_have_root_regret(T: int, plays: int, low: float, high: float) -> None:
    """Labels are fair rng: a play has a standard deviation of about sqrt(T) / 2; limits are 3.5 or more errors off."""
    generator = np.random.default_rng(0)
    regrets = [
        play(
            ERM(Thresholds()),
            LabelledPool(generator.random(T), generator.integers(0, 2, T)),
            seed=s,
        ).regret
        for s in range(plays)
    ]
    mean = float(np.mean(regrets))
    assert low < mean / math.sqrt(T) < high
    assert mean < bounds.erm_by_growth(T, T + 1) < bounds.erm(T, 1) < bounds.erm_corrected(T, 1)


def test_printed_bound_fails_near_full_dimension() -> None:
    """All labellings of 99 points, one of them twice, all labels 1: ERM errs on each point once, in every order."""
    pool = LabelledPool([*range(99), 98], np.ones(100))
    for seed in range(5):
        regret = play(ERM(AllLabellings(99)), pool, seed=seed).regret
        assert regret == 99
        assert regret > bounds.erm_printed(100, 99)
        assert regret <= bounds.erm(100, 99) <= bounds.erm_corrected(100, 99)
    full = play(ERM(AllLabellings(100)), LabelledPool(range(100), np.ones(100)), seed=0)
    assert full.regret == 100 > bounds.erm_printed(100, 100) == 0


def test_delay_adds_at_most_d() -> None:
    for delay in (0, 10, 100, 5000):
        pool = realizable(2000, delay)
        trace = play(ERM(Thresholds()), pool, delay=delay, seed=1)
        assert trace.regret <= bounds.erm(2000, 1, delay)
        if delay >= 2000:
            assert (trace.actions == 0).all()


def test_bounds_at_the_edges() -> None:
    assert bounds.erm(1, 1) == 1.0
    assert bounds.erm(10, 0) == 1.0
    assert bounds.erm(10, 50) == 10.0
    assert bounds.erm_printed(10, 50) == 0.0
    assert bounds.uniform_convergence(10, 10, 0, 0.5) > 0
    assert ERM(Intervals()).bound(10**6) == bounds.erm(10**6, 2)


def test_curve_ends_in_regret() -> None:
    trace = play(ERM(Intervals()), realizable(300, 5), seed=2)
    assert trace.curve[-1] == trace.regret
    assert trace.curve.shape == (300,)
    assert "mistakes" in repr(trace)
    for model in ("iid", "given"):
        assert (
            play(ERM(Intervals()), realizable(50, 5), order=model, seed=2).order_model.name == model
        )
