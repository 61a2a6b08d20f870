"""Certificate of a router (C7): rare false claims, and claims where routing pays."""

import numpy as np
import pytest

from tombola import Pool, Session, play
from tombola.policies import Ridge, Routed, certify_rows, certify_session, certify_trace
from tombola.policies import certificate as module


def false_claims(orders: int = 120) -> int:
    """Return how often a certificate is wrong at some time: the policy is no better than action 0 on the list."""
    losses = np.random.default_rng(0).random((120, 3))
    policy = np.random.default_rng(1).integers(0, 3, 120)
    # The policy has exactly the mean loss of action 0.
    losses[:, 0] += (losses[np.arange(120), policy] - losses[:, 0]).mean()
    losses = np.clip(losses, 0, 1)
    wrong = 0
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(120)
        table, choices = losses[order], policy[order]
        gains = table - table[np.arange(120), choices][:, None]
        for n in (5, 20, 90):
            found = certify_rows(table[:n], choices[:n], population=120, block=1)
            # Against what really is left, and against the whole block.
            if (
                found.gain_left > gains[n:].mean(axis=0).min()
                or found.gain > gains.mean(axis=0).min()
            ):
                wrong += 1
                break
    return wrong


def test_false_claims_are_rare() -> None:
    """Level .05 x 6/pi^2: more than 10 of 120 has a probability below .002."""
    assert false_claims() <= 10


def test_means_without_margin_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: the mean of the rows seen stands for a lower bound."""

    class Mean:
        def __init__(self, population: int, level: float, actions: int) -> None:
            self.lows = np.zeros(actions)

        def extend(self, values: np.ndarray, actions: np.ndarray) -> None:
            self.lows[actions[0]] = values.mean()

    monkeypatch.setattr(module, "Betting", Mean)
    assert false_claims() > 10


def test_later_blocks_have_smaller_levels() -> None:
    losses = np.tile([[0.0, 1.0], [1.0, 0.0]], (60, 1))
    first, later = (
        certify_rows(losses, losses.argmin(axis=1), population=500, block=block).gain
        for block in (1, 30)
    )
    assert later < first


def test_session_and_trace_have_the_same_certificate() -> None:
    side = np.random.default_rng(1).integers(0, 2, 900)
    losses = np.stack([side, 1 - side], axis=1).astype(float)
    routed = Routed(models=(Ridge(),))
    trace = play(routed, Pool(losses, features=side), order="given", seed=1)
    session = Session(routed, 2, 900, features=1, seed=1)
    assert certify_session(session) is None
    for t in range(400):
        session.observe(session.act([side[t]]), loss=losses[t])
    found = certify_session(session)
    assert found == certify_trace(trace, 400)
    assert found is not None
    assert found.gain_left > 0.1
    assert (
        "what is left (500 rows) is answered better by the present router than by any single action"
        in found.text
    )
    assert certify_trace(trace, 10) is None
