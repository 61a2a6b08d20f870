"""Play and its trace: seeds, kinds of arrays, switches, and the regret as each input model defines it."""

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import UCB1, Exp3, FixedAction, FollowTheLeader, Hedge, Learner, Pool, compare, play
from tombola._play import log_spaced
from tombola._types import Floats
from tombola.errors import ParameterError, PoolError
from tombola.learners import Uniform
from tombola.tables import read_table
from tombola.trace import Trace

LEARNERS = [FollowTheLeader(), Hedge(), UCB1(), Exp3()]
ROWS, K = 50, 3


def table(seed: int = 0, rows: int = ROWS) -> Floats:
    """Return losses that float32 has exactly, with a best action that is neither the first nor the last."""
    losses = np.random.default_rng(seed).integers(0, 257, (rows, K)) / 256
    losses[:, 1] *= 0.75  # action 1 is the best, so that nothing is right by being 0
    return losses


def same(one: Trace, two: Trace) -> bool:
    names = ("order", "actions", "probabilities", "losses", "expected_losses", "comparator_losses")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_trace_depends_on_seed(learner: Learner) -> None:
    pool, seed = Pool(table()), np.random.SeedSequence(5)
    one = play(learner, pool, seed=5)
    assert same(one, play(learner, pool, seed=5))
    seed.spawn(3)
    assert same(one, play(learner, pool, seed=seed)), "a sequence is not used up"
    assert not same(one, play(learner, pool, seed=6))


def test_order_and_rng_are_separate_streams() -> None:
    pool = Pool(table())
    orders = {tuple(play(learner, pool, seed=1).order.tolist()) for learner in LEARNERS}
    assert len(orders) == 1
    one, two = (play(Uniform(), pool, order=order, seed=1) for order in ("random", "given"))
    assert np.array_equal(one.actions, two.actions)
    assert not np.array_equal(one.order, two.order)


@pytest.mark.parametrize(
    "learner",
    [LEARNERS[0], *(pytest.param(one, marks=pytest.mark.full) for one in LEARNERS[1:])],
    ids=repr,
)
def test_array_kinds_play_like_plain_copy(learner: Learner, tmp_path: Path) -> None:
    losses = table()
    wide = np.ones((2 * ROWS, 2 * K))
    wide[::2, ::2] = losses
    np.save(tmp_path / "losses.npy", losses)
    others = {
        "float32": losses.astype(np.float32),
        "F order": np.asfortranarray(losses),
        "strided": wide[::2, ::2],
        "reversed": losses[::-1].copy()[::-1],
        "memory map": np.load(tmp_path / "losses.npy", mmap_mode="r"),
        "big endian": losses.astype(">f8"),
    }
    plain = play(learner, Pool(losses), delay=2, seed=4)
    for name, other in others.items():
        assert same(play(learner, Pool(other), delay=2, seed=4), plain), name


@pytest.mark.parametrize("order", ["random", "iid", "given"])
def test_trace_says_what_happened(order: Any) -> None:
    losses = table(1)
    trace = play(Exp3(), Pool(losses), order=order, switching_price=0.5, seed=2)
    assert trace.horizon == ROWS
    assert trace.losses.tolist() == losses[trace.order, trace.actions].tolist()
    changes = sum(a != b for a, b in zip(trace.actions[1:], trace.actions[:-1], strict=True))
    assert trace.switches == changes > 0
    total = math.fsum(trace.losses)
    best = int(np.argmin(losses.sum(axis=0)))
    against = math.fsum(losses[trace.order, best])
    assert trace.loss == pytest.approx(total)
    assert trace.comparator_loss == pytest.approx(against)
    assert trace.regret == pytest.approx(total + 0.5 * changes - against)
    assert trace.expected_regret == pytest.approx(
        math.fsum(trace.expected_losses) + 0.5 * changes - against
    )
    assert "Exp3" in repr(trace)
    assert f"{changes} switches" in repr(trace)


@pytest.mark.parametrize("action", [0, 1])
def test_first_action_is_no_switch(action: int) -> None:
    assert (
        play(FixedAction(action), Pool([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), seed=1).switches == 0
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seed must be a whole number", {"seed": seed}) for seed in (-1, 1.5, None, "1", True)),
        *(
            ("switching_price must be a number", {"switching_price": p})
            for p in (-1, math.nan, math.inf, "1", None)
        ),
    ],
)
def test_invalid_seed_or_price_is_rejected(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        play(UCB1(), Pool(table()), **{"seed": 0, **value})


def test_expected_losses_are_mix_of_row() -> None:
    losses = table(2)
    trace = play(Uniform(), Pool(losses), seed=3)
    assert trace.expected_losses == pytest.approx(losses[trace.order].mean(axis=1))
    assert trace.probabilities.tolist() == [1 / K] * ROWS
    trace = play(FollowTheLeader(), Pool(losses), seed=3)
    assert trace.expected_losses.tolist() == trace.losses.tolist()


def test_expected_losses_are_means_over_rng() -> None:
    """The first mix of Exp3 is uniform; a later mean would leave 5 standard errors with probability below 1e-6."""
    losses = table(2)
    trace = play(Exp3(), Pool(losses), seed=3)
    assert trace.expected_losses[0] == pytest.approx(losses[trace.order[0]].mean())
    ends = [play(Exp3(), Pool(losses), order="given", seed=seed) for seed in range(400)]
    apart = np.array([end.loss - end.expected_loss for end in ends])
    assert abs(apart.mean()) < 5 * apart.std() / math.sqrt(apart.size)
    assert apart.std() > 0.5


def test_regret_on_iid_rows() -> None:
    """max_a E[sum_t loss_t(a_t) - loss_t(a)], exactly: the gap of the means times T, and 0 for the
    best action.

    The mean of 600 plays leaves 5 standard errors with probability below 1e-6.
    """
    losses = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 1.0], [0.5, 0.25, 0.75], [0.5, 0.0, 1.0]])
    means = losses.mean(axis=0)
    exact = [max(4 * (means[action] - means[a]) for a in range(3)) for action in range(3)]
    assert exact == [0.75, 0.0, 2.0]
    for action in range(3):
        regrets = np.array(
            [play(FixedAction(action), Pool(losses), "iid", seed=s).regret for s in range(600)]
        )
        error = regrets.std() / math.sqrt(regrets.size)
        assert abs(regrets.mean() - exact[action]) <= 5 * error
        assert (error > 0.02) == (action != 1)


@pytest.mark.parametrize("horizon", [1, 2, 9, 10, 11, 1000, 12345])
def test_marks_rise_from_1_to_horizon(horizon: int) -> None:
    marks = log_spaced(horizon)
    assert (marks[0], marks[-1]) == (1, horizon)
    assert (np.diff(marks) > 0).all()
    assert len(marks) <= 12 * math.log10(horizon) + 3


@pytest.mark.usefixtures("plainly")
def test_frame_keeps_names_and_index() -> None:
    pandas: Any = import_module("pandas")
    frame = pandas.DataFrame({"weak": [0.0, 0.25], "strong": [1.0, 0.75]}, index=["Ann", "Bob"])
    trace = play(FollowTheLeader(), frame, order="given", kind="scores", seed=0)
    assert trace.loss == pytest.approx(1.0 + 0.25), "the first of equals, then the higher score"
    shown = trace.to_frame()
    assert [shown[name].tolist() for name in ("row", "action")] == [
        ["Ann", "Bob"],
        ["weak", "strong"],
    ]
    assert shown["loss"].sum() == pytest.approx(trace.loss)


def test_table_is_played_as_its_pool() -> None:
    table = read_table([[0.0, 1.0], [1.0, 0.0], [0.5, 1.0]], kind="scores")
    played = play(FollowTheLeader(), table, seed=1)
    assert played.losses.tolist() == play(FollowTheLeader(), table.pool, seed=1).losses.tolist()
    with pytest.raises(
        PoolError, match="expected kind='scores' as in the table, got 'losses'; leave it out"
    ):
        play(FollowTheLeader(), table, kind="losses", seed=1)


def test_swapped_arguments_are_named() -> None:
    with pytest.raises(
        PoolError,
        match=r"got FollowTheLeader; .* play\(learner, pool\), but compare\(pool, learners\)",
    ):
        play(Pool([[0.0, 1.0]]), FollowTheLeader(), seed=1)  # type: ignore[arg-type]
    with pytest.raises(PoolError):
        compare([FollowTheLeader()], Pool([[0.0, 1.0]]), seed=1)  # type: ignore[arg-type]
