"""Certificates: right by arithmetic, the same from a session, a trace and a record, valid under adaptive play."""

import math

import numpy as np
import pytest

from evidence_cases import bernoulli_pool, certificate_with
from tombola import FollowTheLeader, play
from tombola.evidence import certify_plays, certify_trace


def test_certificate_arithmetic() -> None:
    certificate = certificate_with([0.1, 0.3, 0.5], [0.35, 0.4, 0.9])
    assert certificate.within(0) == pytest.approx(0.05)
    assert certificate.within(1) == pytest.approx(0.3)
    assert certificate.within(2) == pytest.approx(0.8)
    assert certificate.best == 0
    assert certificate.regret == pytest.approx(4.0 - 10 * 0.1)
    assert certificate.certified(within=0.051)
    assert not certificate.certified(within=0.049)
    assert certificate.interval(1) == (0.3, 0.4)
    assert str(certificate).startswith(
        "open: a is within 0.05 of the best of 3 candidates, the regret"
    )
    nearer = certificate_with(
        [0.1, 0.3, 0.5], [0.35, 0.4, 0.9], paired=np.array([0.01, np.inf, np.inf])
    )
    assert (nearer.best, nearer.within(0), nearer.method) == (0, 0.01, "paired")
    assert nearer.to_json()["method"] == "paired"
    # Where one action never fails and others do, intervals can be the sooner.
    tiny = certificate_with([0.0, 0.2], [0.01, 0.3], paired=np.array([0.3, np.inf]))
    assert (tiny.method, tiny.within(0)) == ("unpaired", 0.0)
    assert (
        certificate_with([0.2], [0.9]).within(0)
        == certificate_with([0.2], [0.9]).forecast(within=0.0)
        == 0
    )
    assert certificate_with([0.2, 0.2], [0.4, 0.4]).best == 0, "the lowest index among equals"


def test_certificate_with_pending_rounds() -> None:
    certificate = certificate_with([0.1, 0.3], [0.35, 0.4], rounds=10, answered=6, loss=2.0)
    assert certificate.regret == pytest.approx(2.0 - 6 * 0.1)
    assert certificate.worst_regret == pytest.approx(2.0 + 4 - 10 * 0.1)
    assert (
        "the regret of the 6 rows answered is at most 1.4, the regret of all 10 rows, the pending "
        "ones with loss 1, is at most 5 on the answers"
    ) in str(certificate)
    assert "pending" not in str(certificate_with([0.1, 0.3], [0.35, 0.4]))


def test_forecast_under_constant_play() -> None:
    """Full feedback, so shares stay the same: within a factor of two of what it takes."""
    pool = bernoulli_pool(20_000, [0.4, 0.5])
    trace = play(FollowTheLeader(), pool, seed=0)
    needed = next(
        t
        for t in range(100, 20_001, 50)
        if certify_trace(trace, pool, rounds=t).certified(within=0.02)
    )
    early = certify_trace(trace, pool, rounds=needed // 3).forecast(within=0.02)
    assert early is not None
    assert 0.5 < (early + needed // 3) / needed < 2.0
    assert certify_trace(trace, pool, rounds=needed).forecast(within=0.02) == 0


def test_forecast_is_none_for_small_pool() -> None:
    endless = certify_plays([0, 1] * 20, [0.4, 0.6] * 20, actions=2, population=math.inf).forecast(
        within=0.05
    )
    assert endless is not None
    assert endless > 0
    record = certify_plays([0] * 30 + [1], [0.5] * 31, actions=2, population=40)
    assert record.forecast(within=0.001) is None
    assert certify_plays([], [], actions=2, population=40).forecast(within=0.1) is None
