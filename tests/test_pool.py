"""The pool keeps what it is given, cannot be written to, and refuses what is not a table of losses."""

import pickle
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tombola import FollowTheLeader, Pool, compare, play
from tombola.errors import PoolError
from tombola.pool import as_pool

OK = [[0.0, 1.0], [0.5, 0.25]]


@pytest.mark.parametrize("kind", ["C", "F", "part", "memory map"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_kept_without_copy(dtype: Any, kind: str, tmp_path: Path) -> None:
    table = np.array(OK, dtype=dtype, order="F" if kind == "F" else "C")
    if kind == "part":
        table = np.zeros((8, 6), dtype)[::2, 1::2]
    elif kind == "memory map":
        np.save(tmp_path / "losses.npy", table)
        table = np.load(tmp_path / "losses.npy", mmap_mode="r")
    pool = Pool(table)
    assert np.shares_memory(pool.losses, table)
    assert pool.losses.dtype == dtype
    assert pool.losses.strides == table.strides
    assert isinstance(pool.losses, np.memmap) == (kind == "memory map")
    assert pool.best == 0


@pytest.mark.parametrize("dtype", [bool, np.int64, np.uint8, np.float16, ">f8", np.longdouble])
def test_other_numbers_become_float64(dtype: Any) -> None:
    pool = Pool(np.array([[0, 1], [1, 1]], dtype=dtype))
    assert pool.losses.dtype == np.float64
    assert pool.losses.tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_pool_is_read_only() -> None:
    table, costs = np.array(OK), np.ones((2, 2))
    pool = Pool(table, costs=costs)
    assert pool.costs is not None
    for array in (pool.losses, pool.costs):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0.5
    table[0, 0] = costs[0, 0] = 0.5
    assert pool.losses[0, 0] == pool.costs[0, 0, 0] == 0.5


def test_from_rewards_turns_rewards_round() -> None:
    rewards = np.array([[1.0, 0.25]], dtype=np.float32)
    pool = Pool.from_rewards(rewards, actions=["a", "b"], ids=["x"], costs=[[2.0, 3.0]])
    assert pool.losses.tolist() == [[0.0, 0.75]]
    assert pool.losses.dtype == np.float32
    assert (pool.actions, pool.ids) == (("a", "b"), ("x",))
    assert np.asarray(pool.costs).tolist() == [[[2.0], [3.0]]]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    table=arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(1, 5)), elements=st.floats(0, 1)
    )
)
def test_totals_means_and_best(table: Any) -> None:
    pool = Pool(table)
    totals = [sum(row[a] for row in table.tolist()) for a in range(table.shape[1])]
    assert (len(pool), pool.rows, pool.k) == (len(table), len(table), table.shape[1])
    assert pool.totals.tolist() == pytest.approx(totals)
    assert pool.means.tolist() == pytest.approx([total / len(table) for total in totals])
    assert totals[pool.best] == pytest.approx(min(totals))
    assert Pool(np.column_stack([table, table])).best < table.shape[1], "the lowest of equals"


def test_totals_and_checks_over_many_chunks() -> None:
    table = np.full((3_000_000, 1), 0.1, dtype=np.float32)
    assert Pool(table).totals[0] == pytest.approx(3_000_000 * float(np.float32(0.1)), rel=1e-12)
    table[2_900_000] = 1.5
    with pytest.raises(PoolError, match=r"got 1\.5 in row 2900000, action 0;"):
        Pool(table)


BAD: dict[str, Callable[[], object]] = {
    **{
        f"losses: {name}": partial(Pool, losses)
        for name, losses in {
            "a number": 0.5,
            "nothing": None,
            "a list": [0.0, 1.0],
            "three dimensions": np.zeros((2, 2, 2)),
            "NaN": [[0.0, np.nan]],
            "infinite": [[0.0, np.inf]],
            "below 0": [[0.0, -1e-9]],
            "above 1": [[1 + 1e-9]],
            "minus infinity": np.array([[-np.inf]], np.float32),
            "no action": np.zeros((3, 0)),
            "no row": np.zeros((0, 3)),
            "empty": [],
            "ragged": [[0.0, 1.0], [0.0]],
            "text": [["0.1", "good"]],
            "objects": np.array([[None, 1]]),
            "complex": np.zeros((2, 2), complex),
            "dates": np.zeros((2, 2), "M8[s]"),
            "masked": np.ma.array([[0.5, 0.5]], mask=[[False, True]]),
        }.items()
    },
    **{
        f"costs: {name}": partial(Pool, OK, costs=costs)
        for name, costs in {
            "negative": [[0.0, -1.0], [0.0, 0.0]],
            "NaN": [[0.0, np.nan], [0.0, 0.0]],
            "infinite": [[0.0, np.inf], [0.0, 0.0]],
            "another shape": np.zeros((2, 3)),
            "rows only": [1.0, 2.0],
            "four dimensions": np.zeros((2, 2, 2, 2)),
            "ragged": [[0.0, 1.0], [0.0]],
            "text": [["a", "b"], ["c", "d"]],
        }.items()
    },
    "actions twice": lambda: Pool(OK, actions=["a", "a"]),
    "too few actions": lambda: Pool(OK, actions=["a"]),
    "too many actions": lambda: Pool(OK, actions=["a", "b", "c"]),
    "ids twice": lambda: Pool(OK, ids=[7, 7]),
    "too few ids": lambda: Pool(OK, ids=[7]),
    "ids that are lists": lambda: Pool(OK, ids=[[1], [2]]),
    "unknown kind": lambda: Pool(OK, kind="rewards"),  # type: ignore[arg-type]
    "features of other rows": lambda: Pool(OK, features=np.zeros((3, 1))),
    "infinite features": lambda: Pool(OK, features=[0.0, np.inf]),
    "rewards above 1": lambda: Pool.from_rewards([[2.0]]),
    "NaN rewards": lambda: Pool.from_rewards([[np.nan]]),
    "ragged rewards": lambda: Pool.from_rewards([[0.0, 1.0], [0.0]]),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_not_pool_is_rejected(what: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(PoolError) as caught:
        BAD[what]()
    assert one_sentence(caught.value).startswith("Pool: ")


def test_late_duplicate_id_is_rejected_quickly() -> None:
    ids = [*range(99_999), 99_998]
    with pytest.raises(PoolError, match="got 99998 twice"):
        Pool(np.zeros((100_000, 1)), ids=ids)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frame_keeps_names_and_needs_kind(
    library: str, one_sentence: Callable[[object], str]
) -> None:
    module: Any = import_module(library)
    columns = {"a": [1.0, 0.5], "b": [0.25, 0.0]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    with pytest.raises(PoolError) as caught:
        Pool(frame)
    one_sentence(caught.value)
    pool = as_pool(frame, kind="scores")
    assert (pool.actions, pool.ids, pool.losses.tolist()) == (
        ("a", "b"),
        None,
        [[0.0, 0.75], [0.5, 1.0]],
    )
    assert Pool(frame, kind="losses").losses.tolist() == [[1.0, 0.25], [0.5, 0.0]]
    if library == "pandas":
        assert Pool(frame.set_axis(["x", "y"]), kind="losses").ids == ("x", "y")


def test_features_and_resources_are_kept() -> None:
    pool = Pool(np.eye(2), costs=np.ones((2, 2, 3)), features=[[1.0, np.nan], [2.0, 3.0]])
    assert repr(pool) == "Pool(2 rows, 2 actions, 3 resources, 2 features)"
    assert pool.feature_names == ("0", "1")
    copied = pickle.loads(
        pickle.dumps(Pool(np.eye(2), features=np.arange(2), feature_names=["size"]))
    )
    assert (copied.feature_names, copied.features.tolist()) == (("size",), [[0.0], [1.0]])


def test_range_maps_losses_and_scores() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"a": [8, 5], "b": [10, 0]})
    pool = Pool(frame, kind="scores", range=(0, 10))
    assert pool.losses == pytest.approx(np.array([[0.2, 0.0], [0.5, 1.0]]))
    assert Pool([[1.0, 5.0]], range=(1, 5)).losses.tolist() == [[0.0, 1.0]]
    assert as_pool(frame, kind="losses", range=(0, 10)).best == 1
    assert play(FollowTheLeader(), frame, kind="scores", range=(0, 10), seed=1).actions.size == 2
    runs = compare(frame, [FollowTheLeader()], kind="scores", range=(0, 10), repetitions=2, seed=1)
    assert runs.ranking() == ["FollowTheLeader"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((0, 1), r"in the range 0 to 1, got 8\.?0? in row 0, action 0; state the whole range"),
        ((5, 5), "the smallest and the largest possible number"),
        ((0, float("inf")), "the smallest and the largest possible number"),
        (10, "must be two numbers, got 10"),
        (("0", "10"), "must be two numbers"),
    ],
)
def test_wrong_range_is_rejected(limits: Any, message: str) -> None:
    with pytest.raises(PoolError, match=message):
        Pool([[8.0, 5.0]], kind="scores", range=limits)
    with pytest.raises(PoolError, match="no range with a pool"):
        as_pool(Pool([[0.5, 0.5]]), range=(0, 10))
