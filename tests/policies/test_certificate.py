"""Certificate of a router (C7): rare false claims, and claims where routing pays."""

import numpy as np
import pytest

from tombola import Pool, Session, play
from tombola.policies import Ridge, Routed, certify_rows, certify_session, certify_trace
from tombola.policies import certificate as module


def false_claims(orders: int = 120, *, late: str = "") -> int:
    """Return how often a certificate is wrong at some time: the policy is no better than action 0 on the list.

    late: "pending", rows on which the policy is not the best are pending; "left out", they are
    left out, which is the fault.
    """
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
            seen = table[:n].copy()
            is_late = (gains[:n].min(axis=1) < 0.0) & bool(late)
            seen[is_late] = np.nan
            shown = np.flatnonzero(~is_late) if late == "left out" else np.arange(n)
            found = certify_rows(seen[shown], choices[shown], population=120, block=1)
            unanswered = np.concatenate([gains[:n][is_late], gains[n:]])
            # Against what really is left, and against the whole block.
            if (
                found.gain_left > unanswered.mean(axis=0).min()
                or found.gain > gains.mean(axis=0).min()
            ):
                wrong += 1
                break
    return wrong


def test_false_claims_are_rare() -> None:
    """Level .05 x 6/pi^2: more than 10 of 120 has a probability below .002."""
    assert false_claims() <= 10


@pytest.mark.parametrize("late", ["pending", "left out"])
def test_rows_that_are_late_because_of_their_losses(late: str) -> None:
    """Pending rows count as the worst; leaving them out, the fault, claims a gain that does not exist."""
    assert (false_claims(late=late) <= 10) is (late == "pending")


def test_means_without_margin_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: the mean of the rows seen stands for a lower bound."""

    class Mean:
        def __init__(self, population: int, level: float, actions: int) -> None:
            self.lows = np.zeros(actions)

        def extend(self, values: np.ndarray) -> None:
            self.lows[:] = values.mean(axis=0)

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
    assert found.text.startswith("the present router is better than any single action by more than")
    assert "for the 500 rows left, with probability 0.95 or more" in found.text
    assert certify_trace(trace, 10) is None
