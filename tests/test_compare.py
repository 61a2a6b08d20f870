"""compare: independent of the number of workers, paired orders, relabelled actions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import pytest

from tombola import (
    UCB1,
    Exp3,
    FixedAction,
    FollowTheLeader,
    Hedge,
    Pool,
    Runs,
    Session,
    check_learner,
    compare,
    play,
)
from tombola.classification import ERM, FiniteClass, Halving, LabelledPool, Thresholds
from tombola.errors import LearnerError, OrderError, ParameterError, PoolError
from tombola.learners import Uniform
from tombola.rng import RngStreams, repetition_seeds

ROWS, K = 30, 3
TWO = [FollowTheLeader(), Exp3()]


def pool(seed: int = 0, rows: int = ROWS) -> Pool:
    return Pool(np.random.default_rng(seed).integers(0, 9, (rows, K)) / 8)


def same(one: Runs, two: Runs) -> bool:
    if one.cells.keys() != two.cells.keys():
        return False
    pairs = [(one.cells[s], two.cells[s]) for s in one.cells]
    return all(np.array_equal(a, b) for x, y in pairs for a, b in zip(x, y, strict=True))


def test_workers_do_not_change_bit() -> None:
    alone, together = (
        compare(pool(), TWO, ["random", "iid", "given"], repetitions=5, delay=2, workers=w, seed=3)
        for w in (1, 2)
    )
    assert same(alone, together)
    assert not same(
        alone, compare(pool(), TWO, ["random", "iid", "given"], repetitions=5, delay=2, seed=4)
    )


def test_repetitions_do_not_depend_on_count() -> None:
    few, many = (compare(pool(), TWO, repetitions=r, seed=3) for r in (3, 8))
    for name in few.learners:
        assert np.array_equal(few.cell(name).sums, many.cell(name).sums[:3])
        assert np.array_equal(few.cell(name).plays, many.cell(name).plays[:3])


def test_runs_do_not_depend_on_other_learners() -> None:
    learners = {"a": Exp3(), "b": Uniform(), "c": FollowTheLeader(ties="random")}
    together = compare(pool(), learners, repetitions=4, seed=3)
    for name, learner in learners.items():
        alone = compare(pool(), {"another name": learner}, repetitions=4, seed=3)
        assert np.array_equal(alone.cell("another name").sums, together.cell(name).sums)


def test_compare_without_relabelling_equals_play() -> None:
    runs = compare(pool(), TWO, repetitions=3, switching_price=0.5, delay=1, relabel=False, seed=8)
    for name, learner in zip(runs.learners, TWO, strict=True):
        traces = [
            play(learner, pool(), delay=1, switching_price=0.5, seed=s)
            for s in repetition_seeds(8, 3)
        ]
        assert runs.regrets(name).tolist() == pytest.approx([trace.regret for trace in traces])
        assert runs.cell(name).sums[:, -1, 3].tolist() == [trace.switches for trace in traces]
        plays = [np.bincount(trace.actions, minlength=K).tolist() for trace in traces]
        assert runs.cell(name).plays.tolist() == plays
        rounds, losses = runs.cell(name).rounds, runs.cell(name).sums[:, :, 0]
        assert losses == pytest.approx(
            np.array([np.cumsum(trace.losses)[rounds - 1] for trace in traces])
        )


@dataclass(frozen=True)
class FirstLabel(FixedAction):
    """Plays the action with label 0, whichever column that is."""

    action: int = 0
    names_actions: ClassVar[bool] = False


def test_relabelling_hides_first_action() -> None:
    first_is_best = Pool([[0.0, 0.5, 1.0]] * 10)
    unrelabelled = compare(first_is_best, [FirstLabel()], repetitions=20, relabel=False, seed=0)
    assert unrelabelled.regrets("FirstLabel").tolist() == [0.0] * 20
    hidden = compare(first_is_best, [FirstLabel()], repetitions=20, seed=0)
    assert set(hidden.regrets("FirstLabel").tolist()) == {0.0, 5.0, 10.0}
    plays = hidden.cell("FirstLabel").plays
    assert plays @ [0.0, 0.5, 1.0] == pytest.approx(hidden.regrets("FirstLabel")), (
        "plays are those of columns"
    )


def test_fixed_action_is_column_of_table() -> None:
    """A learner whose parameter names an action is not relabelled."""
    runs = compare(Pool([[1.0, 0.0, 1.0]] * 10), [FixedAction(1)], repetitions=20, seed=0)
    assert runs.regrets("FixedAction").tolist() == [0.0] * 20
    assert (runs.cell("FixedAction").plays == [0, 10, 0]).all()


def test_labels_are_uniform() -> None:
    """The share of 1/3 is left by 5 standard deviations with probability below 1e-6."""
    runs = compare(Pool([[0.0, 1.0, 1.0]]), [FirstLabel()], repetitions=900, seed=1)
    counts = runs.cell("FirstLabel").plays.sum(axis=0)
    assert np.abs(counts - 300).max() < 5 * math.sqrt(900 * 2 / 9)


def test_comparator_does_not_depend_on_labels() -> None:
    runs = compare(pool(), TWO, repetitions=5, seed=0)
    assert runs.cell("Exp3").sums[:, -1, 2].tolist() == pytest.approx([pool().totals.min()] * 5)


def test_names_and_functions_of_learners() -> None:
    pools = [pool(rows=rows) for rows in (10, 20)]
    runs = compare(pools, {"hedge": lambda T: Hedge(rate=1 / T)}, repetitions=2, seed=0)
    fixed = compare(pools[1], [Hedge(), Hedge(rate=1 / 20), UCB1()], repetitions=2, seed=0)
    assert runs.horizons == [10, 20]
    assert fixed.learners[2] == "UCB1"
    assert "rate=0.05" in fixed.learners[1]
    assert np.array_equal(runs.cell("hedge", horizon=20).sums, fixed.cell(fixed.learners[1]).sums)


BAD: dict[str, Callable[[], object]] = {
    "no learner": lambda: compare(pool(), [], seed=0),
    "no learner by name": lambda: compare(pool(), {}, seed=0),
    "the same learner twice": lambda: compare(pool(), [UCB1(), UCB1()], seed=0),
    "not a learner": lambda: compare(pool(), {"a": 3}, seed=0),  # type: ignore[dict-item]
    "no pool": lambda: compare([], TWO, seed=0),
    "pools of one size": lambda: compare([pool(0), pool(1)], TWO, seed=0),
    "no repetition": lambda: compare(pool(), TWO, repetitions=0, seed=0),
    "half a repetition": lambda: compare(pool(), TWO, repetitions=1.5, seed=0),  # type: ignore[arg-type]
    "no worker": lambda: compare(pool(), TWO, workers=0, seed=0),
    "a negative price": lambda: compare(pool(), TWO, switching_price=-1, seed=0),
    "an order twice": lambda: compare(pool(), TWO, ["random", "random"], seed=0),
    "no order": lambda: compare(pool(), TWO, [], seed=0),
    "an order that is none": lambda: compare(pool(), TWO, "shuffled", seed=0),
    "an unknown learner": lambda: compare(pool(), TWO, repetitions=1, seed=0).regret("Hedge"),
    "an unknown order": lambda: compare(pool(), TWO, repetitions=1, seed=0).regret(
        "Exp3", order="iid"
    ),
    "an unknown horizon": lambda: compare(pool(), TWO, repetitions=1, seed=0).regret(
        "Exp3", horizon=7
    ),
    "a slope of two points": lambda: compare(
        [pool(0, 9), pool()], [Uniform()], repetitions=1, seed=0
    ).slope("Uniform"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments_are_rejected(what: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises((ParameterError, OrderError)) as caught:
        BAD[what]()
    one_sentence(caught.value)


def test_rng_depends_on_learner_parameters() -> None:
    streams = RngStreams(3)
    words: list[Any] = [
        tuple(rng.tolist())
        for rng in (
            streams.order(),
            streams.labels(),
            streams.learner(UCB1()),
            streams.learner(UCB1(scale=1)),
        )
    ]
    assert len(set(words)) == 4
    assert tuple(RngStreams(3).learner(UCB1(scale=2.0)).tolist()) == words[2]


@pytest.mark.usefixtures("plainly")
def test_arrays_and_frames_as_pools() -> None:
    losses, options = (
        np.random.default_rng(0).random((12, 2)),
        dict[str, Any](repetitions=2, seed=1),
    )
    frame: Any = import_module("pandas").DataFrame(losses, columns=["a", "b"])
    expected = compare(Pool(losses), [UCB1()], **options).columns()
    for given in (losses, losses.tolist()):
        assert play(UCB1(), given, seed=1).loss == play(UCB1(), Pool(losses), seed=1).loss
        assert compare(given, UCB1(), **options).columns() == expected
    assert compare([losses, losses[:5]], [UCB1()], **options).horizons == [5, 12]
    assert compare([frame, frame[:5]], [UCB1()], kind="losses", **options).horizons == [5, 12]
    scores = compare(1 - frame, [UCB1()], kind="scores", **options)
    assert (scores.actions, scores.columns()["learner"]) == (("a", "b"), expected["learner"])
    assert scores.columns()["loss"] == pytest.approx(expected["loss"])
    wrong: dict[str, tuple[Any, Any]] = {
        r"got int; write tombola\.Pool": (5, None),
        "expected kind='losses'": (frame, None),
        "which has losses already": (Pool(losses), "scores"),
    }
    for message, (given, kind) in wrong.items():
        with pytest.raises(PoolError, match=message):
            compare(given, UCB1(), kind=kind, **options)


@pytest.mark.parametrize("given", [UCB1, "UCB1"])
def test_class_or_name_instead_of_learner_is_rejected(
    given: Any, one_sentence: Callable[[object], str]
) -> None:
    for use in (
        lambda: play(given, [[0.0, 1.0]], seed=1),
        lambda: compare([[0.0, 1.0]], [given], seed=1),
        lambda: compare([[0.0, 1.0]], given, seed=1),
        lambda: Session(given, actions=2, horizon=3, seed=1),
        lambda: check_learner(given),
    ):
        with pytest.raises(LearnerError, match=r"write for example UCB1\(\)") as caught:
            use()
        one_sentence(caught.value)


def test_marks() -> None:
    losses = np.random.default_rng(0).random((1000, 2))
    rounds, _ = compare(losses, UCB1(), repetitions=2, marks=[7, 33, 5000], seed=1).curve("UCB1")
    evenly = np.arange(25, 1001, 25)
    assert rounds.tolist() == np.union1d([7, 33], evenly).tolist()
    with pytest.raises(ParameterError, match="marks"):
        compare(losses, UCB1(), marks=[0], seed=1)


@pytest.mark.usefixtures("plainly")
def test_labels_curve_equals_play() -> None:
    pool = LabelledPool(np.arange(60), [0] * 30 + [1] * 30)
    chain = FiniteClass(Thresholds().on_points(60))
    runs = compare(
        pool, {"erm": ERM(Thresholds()), "halving": Halving(chain)}, repetitions=3, delay=2, seed=4
    )
    assert set(runs.ranking()) == {"erm", "halving"}
    rounds, curves = runs.curve("erm")
    for curve, seed in zip(curves, repetition_seeds(4, 3), strict=True):
        trace = play(ERM(Thresholds()), pool, delay=2, seed=seed)
        assert curve.tolist() == trace.curve[rounds - 1].tolist()
    assert runs.actions == ("0", "1")
