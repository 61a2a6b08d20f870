"""Noise of answers: shares by explicit loops, and how many runs or rows would decide."""

import itertools
import math

import numpy as np
import pytest

from tombola.evidence.run_noise import more_evidence, run_noise


def test_shares_agree_with_explicit_loops() -> None:
    rng = np.random.default_rng(1)
    runs = rng.integers(0, 2, (4, 12, 3)).astype(float)
    noise = run_noise(runs)
    assert noise is not None
    for a in range(3):
        changed = [len({*runs[:, row, a]}) > 1 for row in range(12)]
        assert noise.changed[a] == pytest.approx(np.mean(changed))
        both = [
            np.mean(
                [
                    all(1 - runs[list(chosen), row, a])
                    for chosen in itertools.combinations(range(4), 4)
                ]
            )
            for row in range(12)
        ]
        assert noise.all_succeed[a].value == pytest.approx(np.mean(both))
        within = np.mean([runs[:, row, a].var(ddof=1) for row in range(12)])
        assert noise.noise[a] == pytest.approx(within)
    assert (noise.noise_share >= 0).all()
    assert (noise.noise_share <= 1).all()


def test_uneven_runs_average_over_subsets() -> None:
    """Three and two runs: pass^2 of the first row is the mean over pairs of its runs."""
    runs = np.array([[[0.0], [0.0]], [[0.0], [1.0]], [[1.0], [math.nan]]])
    noise = run_noise(runs)
    assert noise is not None
    assert noise.runs == (2, 3)
    assert noise.all_succeed[0].value == pytest.approx((1 / 3 + 0) / 2)
    assert noise.any_succeeds[0].value == pytest.approx((1 + 1) / 2)


def test_no_runs_and_scores_that_are_not_right_or_wrong() -> None:
    assert run_noise(np.zeros((1, 5, 2))) is None
    noise = run_noise(np.full((2, 5, 2), 0.5))
    assert noise is not None
    assert noise.all_succeed == ()
    assert noise.changed_rows == 0
    assert noise.noise_share.tolist() == [0.0, 0.0]


def test_intervals_cover_the_probability_that_all_runs_succeed() -> None:
    """200 tables, level .1: more than 37 misses have probability below 1e-4."""
    rng = np.random.default_rng(2)
    misses = 0
    for _ in range(200):
        p = rng.beta(0.6, 0.4, 50)
        noise = run_noise((rng.random((3, 50, 1)) >= p[:, None]).astype(np.float64), 0.1)
        assert noise is not None
        misses += not noise.all_succeed[0].low <= np.mean(p**3) <= noise.all_succeed[0].high
    assert misses <= 37


def test_more_runs_do_not_help_beyond_the_list_without_noise() -> None:
    """Differences between rows only: rows decide, runs never do."""
    d = np.tile([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], (3, 4))
    runs = np.stack([d, 1 - d], axis=2)
    needed = more_evidence(runs, 0, 1, 40.0, beyond=True)
    assert needed.runs is None
    assert needed.cheaper == "rows"


def test_runs_needed_are_about_right() -> None:
    """Pure noise: needed differences 2 ln(40) v / D^2 split over the rows."""
    rng = np.random.default_rng(3)
    runs = (rng.random((2, 400, 2)) < np.array([0.5, 0.4])).astype(np.float64)
    gap = abs((runs[:, :, 0] - runs[:, :, 1]).mean())
    needed = more_evidence(runs, 0, 1, 40.0, beyond=False)
    whole = 2 * math.log(40) * 0.49 / gap**2
    assert needed.runs is not None
    assert 0.5 * whole <= 400 * (needed.runs + 2) <= 2 * whole + 800
    assert more_evidence(runs * 0, 0, 1, 40.0, beyond=False).cheaper == ""


def test_open_question_always_gets_an_advice() -> None:
    """The rule of thumb may find that the evidence suffices already: one more run is the least."""
    rng = np.random.default_rng(1)
    runs = (rng.random((4, 200, 2)) < [0.1, 0.9]).astype(np.float64)
    for beyond in (False, True):
        needed = more_evidence(runs, 0, 1, 1.5, beyond=beyond)
        assert (needed.runs, needed.runs_calls) == (1, 400)
        assert (needed.rows, needed.rows_calls) == (1, 2)
