"""Delays, and the whole loop of play against a naive one: feedback of round s is seen from round s + d + 1 on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import bandit as naive_bandit
from naive import full as naive_full
from tombola import UCB1, FixedAction, FollowTheLeader, Learner, Pool, play
from tombola._types import Floats
from tombola.delay import RowDelays, resolve_delays
from tombola.errors import DelayError
from tombola.trace import Trace

T, K = 40, 3


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        *((delay, 3) for delay in (3, np.int64(3), np.uint8(3), 4, 2**70)),
        *((delay, [1, 0, 2]) for delay in ([1, 0, 2], (1, 0, 2), np.array([1, 0, 2], np.uint16))),
        (lambda t: [1, 0, 2][t - 1], [1, 0, 2]),
        ([9, 0, 10**9], [3, 0, 3]),
    ],
)
def test_delays_are_cut_at_the_horizon(delay: Any, expected: Any) -> None:
    """One number stays one number; others become an array with one per round."""
    found = resolve_delays(delay, 3)
    assert type(found) is (int if expected == 3 else np.ndarray)
    assert np.asarray(found).tolist() == expected


@pytest.mark.parametrize(
    "delay",
    [
        *(-1, np.int64(-3), 2.0, np.float64(1), True, None, "3"),
        *(
            [1, 2],
            [1, 2, 3, 4],
            [[1, 2, 3]],
            [0, -1, 0],
            [0.0, 1.0, 2.0],
            [[1], [2, 3]],
            [True, False, True],
        ),
        *(np.zeros((3, 1), int), [0, 1, 2**70], lambda t: t / 2, lambda t: -t, lambda _: None),
    ],
)
def test_what_is_not_delay_is_rejected(delay: Any, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(DelayError) as caught:
        play(FixedAction(0), Pool([[0.0]] * 3), delay=delay, seed=0)
    one_sentence(caught.value)


def naive_play(twin: Any, table: Floats, trace: Trace, waits: list[int], *, full: bool) -> None:
    """Go through the rounds of a trace with the twin, and check that every action is one the twin could have played."""
    for t in range(len(trace.order)):
        for s in range(t):
            if s + waits[s] + 1 == t:
                row = table[trace.order[s]]
                action = int(trace.actions[s])
                if full:
                    twin.observe(row)
                else:
                    twin.observe(action, 1.0, float(row[action]))
        action = int(trace.actions[t])
        best = twin.best()
        assert action == min(best) if full else action in best
        assert trace.losses[t] == table[trace.order[t], action]
        twin.acted(action)


def check(learner: Learner, table: Floats, delay: Any) -> None:
    """Play a deterministic learner, and compare with the naive loop."""
    waits = np.broadcast_to(np.asarray(delay), len(table)).tolist()
    full = learner.feedback == "full"
    kind = naive_full.FollowTheLeader if full else naive_bandit.UCB1
    trace = play(learner, Pool(table), delay=delay, seed=3)
    naive_play(kind(table.shape[1], len(table)), table, trace, waits, full=full)


def table_of(seed: int, rows: int = T, k: int = K) -> Floats:
    """Return losses whose sums are exact, with ties."""
    return np.random.default_rng(seed).integers(0, 9, (rows, k)) / 8


@pytest.mark.parametrize("learner", [FollowTheLeader(), UCB1()], ids=["full", "bandit"])
@pytest.mark.parametrize("delay", [0, 1, 7, T - 1, T, 3 * T])
def test_play_is_naive_loop_for_every_delay(learner: Learner, delay: int) -> None:
    for seed in range(3):
        check(learner, table_of(seed), delay)


@pytest.mark.parametrize("learner", [FollowTheLeader(), UCB1()], ids=["full", "bandit"])
@settings(max_examples=25, derandomize=True, deadline=None)
@given(data=st.data())
def test_play_equals_naive_loop_with_delays(learner: Learner, data: st.DataObject) -> None:
    rows, k = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 4))
    waits = data.draw(st.lists(st.integers(0, 2 * rows), min_size=rows, max_size=rows))
    check(learner, table_of(data.draw(st.integers(0, 100)), rows, k), np.array(waits))


def test_naive_loop_detects_shifted_feedback() -> None:
    table = table_of(0)
    for learner, kind in (
        (FollowTheLeader(), naive_full.FollowTheLeader),
        (UCB1(), naive_bandit.UCB1),
    ):
        trace = play(learner, Pool(table), delay=3, seed=3)
        for wrong in (2, 4):
            with pytest.raises(AssertionError):
                naive_play(kind(K, T), table, trace, [wrong] * T, full=learner.feedback == "full")


def test_delays_of_rows_travel_with_their_rows() -> None:
    """A row with no delay is heard of at once and one with a long delay never, wherever the shuffle puts them."""
    rng = np.random.default_rng(0)
    losses, lags = rng.random((40, 2)), rng.integers(0, 60, 40)
    by_rows = play(FollowTheLeader(), Pool(losses), delay=RowDelays(lags), seed=3)
    by_rounds = play(FollowTheLeader(), Pool(losses), delay=lags[by_rows.order], seed=3)
    assert by_rows.actions.tolist() == by_rounds.actions.tolist()
    with pytest.raises(DelayError, match="one number a row"):
        play(FollowTheLeader(), Pool(losses), delay=RowDelays(lags[:3]), seed=3)
