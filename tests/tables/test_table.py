"""Tables in all their forms: the same numbers give the same pool, and what was done is said."""

import gzip
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tombola.errors import TableError, TombolaError
from tombola.pool import Pool
from tombola.tables import Table, read_pool
from tombola.tables import costs as cost_columns
from tombola.tables import read_table as read_any_table
from tombola.tables.formats.delimited import _MAX_LINE_LENGTH
from tombola.tables.names import action_stem

Refused = Callable[..., str]
pd: Any = import_module("pandas")  # neither has types
pa: Any = import_module("pyarrow")
feather: Any = import_module("pyarrow.feather")


def read_table(source: Any, **options: Any) -> Table:
    """Read a table of losses, whose columns have plain names in most tests."""
    return read_any_table(source, **{"kind": "losses", **options})


LOSSES = [[0.0, 1.0, 0.5], [0.25, 0.5, 0.75], [1.0, 0.0, 0.125], [0.5, 0.5, 0.5]]
COSTS = [[1.0, 2.0, 3.0], [1.5, 2.5, 3.5], [0.0, 0.0, 9.0], [4.0, 5.0, 6.0]]
NAMES, IDS = ["a", "b", "c"], ["w", "x", "y", "z"]


def wide() -> Any:
    frame = pd.DataFrame(LOSSES, columns=NAMES)
    frame.insert(0, "id", IDS)
    for action, name in enumerate(NAMES):
        frame[f"cost:{name}"] = [row[action] for row in COSTS]
    frame["delay"] = [0, 3, 1, 2]
    return frame


def long() -> Any:
    lines = [
        (IDS[row], NAMES[action], LOSSES[row][action], COSTS[row][action], [0, 3, 1, 2][row])
        for row in range(4)
        for action in range(3)
    ]
    return pd.DataFrame(lines, columns=["row", "action", "loss", "cost", "delay"])


# Roles that are asked about if they are not stated.
STATED: dict[str, Any] = {"costs": "cost", "delay": "delay"}


def same(table: Table) -> bool:
    pool, costs = table.pool, np.asarray(table.pool.costs)[:, :, 0].tolist()
    found = (
        pool.losses.tolist(),
        list(pool.actions),
        list(pool.ids or ()),
        costs,
        np.asarray(table.delays).tolist(),
    )
    return found == (LOSSES, NAMES, IDS, COSTS, [0, 3, 1, 2])


def write_stream(frame: Any, path: Path) -> None:
    table = pa.Table.from_pandas(frame)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


WRITERS: dict[str, Callable[[Any, Path], object]] = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.parquet": lambda frame, path: pl.DataFrame(frame.to_dict(orient="list")).write_parquet(path),
    "t.feather": lambda frame, path: feather.write_feather(pa.Table.from_pandas(frame), str(path)),
    "t.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("frame", [wide, long])
def test_all_formats_give_same_pool(name: str, frame: Callable[[], Any], tmp_path: Path) -> None:
    WRITERS[name](frame(), tmp_path / name)
    assert same(read_table(tmp_path / name, **STATED))


@pytest.mark.parametrize("frame", [wide, long])
def test_all_frames_give_same_pool(frame: Callable[[], Any]) -> None:
    columns = frame().to_dict(orient="list")
    for one in (frame(), pl.DataFrame(columns), pl.DataFrame(columns).lazy(), pa.table(columns)):
        assert same(read_table(one, **STATED))


def test_long_table_in_any_order() -> None:
    pool = read_table(long().sample(frac=1, random_state=5), **STATED).pool
    order = [list(pool.ids or ()).index(name) for name in IDS]
    assert (
        pool.losses[np.ix_(order, [pool.actions.index(name) for name in NAMES])].tolist() == LOSSES
    )


def test_archives_and_arrays(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "t.npz",
        losses=LOSSES,
        actions=NAMES,
        ids=IDS,
        costs=COSTS,
        delay=[0, 3, 1, 2],
        X=[[1]] * 4,
    )
    table = read_table(tmp_path / "t.npz")
    assert same(table)
    assert "ignored: X" in table.notes
    np.savez(tmp_path / "r.npz", rewards=1 - np.array(LOSSES))
    assert read_table(tmp_path / "r.npz", kind=None).pool.losses.tolist() == LOSSES
    assert read_table(LOSSES, actions=NAMES, costs=np.array(COSTS)).pool.costs is not None
    # Numbers select columns of an array, other names are new ones.
    for actions, columns in (
        (["2", "0"], [2, 0]),
        (["2", "0", "1"], [2, 0, 1]),
        (["1", "2", "3"], [0, 1, 2]),
    ):
        pool = read_table(np.array(LOSSES), actions=actions).pool
        assert (pool.actions, pool.losses.tolist()) == (
            tuple(actions),
            np.array(LOSSES)[:, columns].tolist(),
        )


def test_npy_stays_memory_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.zeros((1000, 1000), dtype=np.float32))
    tracemalloc.start()
    pool = read_table(tmp_path / "t.npy").pool
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    base: Any = pool.losses
    while not isinstance(base, np.memmap):
        base = base.base
    assert pool.losses.dtype == np.float32
    assert peak < 10 * (1 << 20)  # chunks for the checks, not the 4 MB many times


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1" + bytes(100), bytes(range(256)) * 9])
def test_bad_arrow_is_rejected(name: str, content: bytes, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / name).write_bytes(content)
    assert "got something else" in refused(tmp_path / name)


REWARDS = [[10.0, 30.0], [20.0, 10.0]]


@pytest.mark.parametrize(
    ("values", "options", "losses"),
    [
        (REWARDS, {"kind": "scores", "rescale": True}, [[1.0, 0.0], [0.5, 1.0]]),
        (REWARDS, {"kind": "scores", "range": (0, 40)}, [[0.75, 0.25], [0.5, 0.75]]),
        (REWARDS, {"range": (0, 40)}, [[0.25, 0.75], [0.5, 0.25]]),
        ([[7, 7]], {"kind": "scores", "rescale": True}, [[0.0, 0.0]]),
        (np.array([[0.1, 0.0]], dtype=np.float32), {"range": (0, 0.1)}, [[1.0, 0.0]]),
    ],
)
def test_scores_and_ranges(values: Any, options: dict[str, Any], losses: Any) -> None:
    assert read_table(np.array(values), **options).pool.losses.tolist() == losses


def test_values_beyond_the_range_are_rejected(refused: Refused) -> None:
    assert "got numbers from 10 to 30; write the smallest and the" in refused(
        np.array(REWARDS), range=(0, 20)
    )
    assert "scores must be in" in refused(np.array(REWARDS), kind="scores")


def test_read_pool_is_the_pool_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "losses.csv").write_text("a,b\n-10,30\n10,0\n")
    assert read_pool(tmp_path / "losses.csv", kind="losses", rescale=True).losses.tolist() == [
        [0.0, 1.0],
        [0.5, 0.25],
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2), min_size=1, max_size=5),
    st.booleans(),
)
def test_rescale_keeps_order(numbers: list[list[float]], rewards: bool) -> None:
    values = np.array(numbers)
    # Named candidates are never asked about, also if one cell sets the scale.
    kind: Any = "scores" if rewards else "losses"
    losses = read_table(values, kind=kind, rescale=True, actions=["a", "b"]).pool.losses
    assert losses.min() == 0
    assert losses.max() == (1 if values.min() < values.max() else 0)
    ranked = np.argsort(-values if rewards else values, axis=None, kind="stable")
    assert (np.diff(losses.reshape(-1)[ranked]) >= 0).all()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    head=st.sampled_from(["a,b\n", "id,action,loss\n1,a,0\n", "a,b,delay,cost:a,cost:b\n", ""]),
    body=st.text(alphabet='ab01,;\t\n\r"\u00e9?x:-\0', max_size=40),
    missing=st.sampled_from(["error", "drop", "worst"]),
)
def test_random_text_is_read_or_rejected(
    head: str, body: str, missing: Any, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes((head + body).encode())
    try:
        pool = read_table(tmp_path / "t.csv", missing=missing, rescale=True).pool
    except TombolaError as error:
        message = str(error)
    else:
        message = "; " if np.isfinite(pool.losses).all() else "a pool with missing cells"
    assert "\n" not in message
    assert "; " in message


GAPS = "id,a,b,cost:a,cost:b,delay\nw,0.5,,1,1,0\nx,0.25,1,2,,1\ny,NA,0,3,3,\nz,0,1,1,1,2\n"


def test_missing_error_drop_and_worst(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(GAPS)
    with pytest.raises(
        TableError, match=r"line 2, column 'b', got '', and cells are missing in 3 of 4 rows"
    ):
        read_table(path, delay="delay")
    dropped = read_table(path, missing="drop", delay="delay")
    assert dropped.pool.ids == ("z",)
    assert "dropped 3 of 4 rows, which have missing cells" in dropped.notes
    worst = read_table(path, missing="worst", delay="delay")
    assert worst.pool.losses.tolist() == [[0.5, 1.0], [0.25, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert np.asarray(worst.pool.costs)[:, :, 0].tolist() == [[1, 1], [2, 3], [3, 3], [1, 1]]
    assert np.asarray(worst.delays).tolist() == [0, 1, 4, 2]
    path.write_text("a,b\n10,\n20,40\n")
    assert read_table(path, missing="worst", rescale=True).pool.losses.tolist() == [
        [0, 1],
        [1 / 3, 1],
    ]
    frame = pl.DataFrame({"a": [0.5, None], "b": [0, 1]})
    assert read_table(frame, missing="drop").pool.losses.tolist() == [[0.5, 0.0]]
    with pytest.raises(TableError, match="row 1, column 'a'"):
        read_table(frame)


def test_options_name_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "prompt": ["p", "q"],
            "big": [0, 1],
            "small": [1, 1],
            "usd:big": [5.0, 6.0],
            "usd:small": [1.0, 2.0],
            "s:big": [9.0, 8.0],
            "s:small": [7.0, 6.0],
            "wait": [4, 5],
            "remark": ["none yet", "fine"],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        table = read_table(
            source, ids="prompt", actions=["small", "big"], costs=["usd", "s"], delay="wait"
        )
        assert (table.pool.actions, table.pool.ids) == (("small", "big"), ("p", "q"))
        assert np.asarray(table.pool.costs).tolist() == [[[1, 7], [5, 9]], [[2, 6], [6, 8]]]
        assert np.asarray(table.delays).tolist() == [4, 5]
        assert "ignored: remark (not selected)" in table.notes
        with pytest.raises(TableError, match="called 'huge' as actions states"):
            read_table(source, actions=["huge"])
    renamed = long().rename(columns={"row": "case", "action": "who", "loss": "points"})
    table = read_table(renamed, ids="case", action="who", value="points", kind="losses", **STATED)
    assert same(table)
    assert read_table(
        renamed, ids="case", action="who", value="points", actions=["c"]
    ).pool.losses.shape == (4, 1)


def test_costs_from_second_table(tmp_path: Path) -> None:
    losses = pd.DataFrame(LOSSES, columns=NAMES)
    losses.insert(0, "id", IDS)
    prices = pd.DataFrame(COSTS, columns=NAMES)[["c", "a", "b"]]
    prices.insert(0, "id", IDS)
    prices.iloc[::-1].to_csv(tmp_path / "costs.csv", index=False)
    for costs in (tmp_path / "costs.csv", prices, np.array(COSTS)):
        assert np.asarray(read_table(losses, costs=costs).pool.costs)[:, :, 0].tolist() == COSTS
    same_price = read_table(losses, costs={"a": 1, "b": 2, "c": 3.5}).pool.costs
    assert np.asarray(same_price)[3, :, 0].tolist() == [1, 2, 3.5]
    for wrong in (
        {"a": 1},
        {"a": -1, "b": 2, "c": 3},
        prices[:2],
        np.zeros((4, 2)),
        Path("nowhere.csv"),
    ):
        with pytest.raises(TombolaError):
            read_table(losses, costs=wrong)


@pytest.mark.full
def test_too_long_line_is_rejected_early(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n" + b"9" * (_MAX_LINE_LENGTH + 10))
        file.truncate(2 << 30)  # sparse: the rest takes no place on disk
    with gzip.open(tmp_path / "t.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a,b\n" + b"9" * (8 * _MAX_LINE_LENGTH))
    for name in ("t.csv", "t.csv.gz"):
        tracemalloc.start()
        assert "got a longer one at line 2" in refused(tmp_path / name)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * _MAX_LINE_LENGTH


def test_table_of_several_chunks(tmp_path: Path) -> None:
    losses = np.random.default_rng(1).random((10_000, 3))
    pd.DataFrame(losses, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    assert (read_table(tmp_path / "t.csv").pool.losses == losses).all()
    lines = (tmp_path / "t.csv").read_text().splitlines()
    lines[9000] = "0,x,1"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(TableError, match="line 9001, column 'b', got 'x'"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "points"},
        {"missing": "skip"},
        {"rescale": 5},
        {"range": (1, 1)},
        {"range": 5},
        {"range": (0, 1), "rescale": True},
    ],
)
def test_bad_options_are_rejected(wrong: dict[str, Any], refused: Refused) -> None:
    refused(LOSSES, **wrong)


BAD_SOURCES: list[tuple[Any, str, dict[str, Any]]] = [
    (5, "", {}),
    (None, "", {}),
    ({"a": [1]}, "", {}),
    (Pool([[0.0]]), "", {}),
    (pd.DataFrame(), "", {}),
    (pd.DataFrame({"a": []}), "", {}),
    ([[0.1, 0.2], [0.3]], "got rows of different lengths", {}),
    (
        pd.DataFrame([[0.1, 0.2]], columns=["a", "a"]),
        "columns must have different names, got 'a' twice",
        {},
    ),
    (
        [[1e308, -1e308], [0.0, 1.0]],
        "must be nearer to each other to be rescaled",
        {"rescale": True},
    ),
    ([[0.0, 1.0]], "must be nearer to each other", {"range": (-1e308, 1e308)}),
]


@pytest.mark.parametrize(("source", "reason", "options"), BAD_SOURCES)
def test_bad_source_is_rejected(
    source: Any, reason: str, options: dict[str, Any], refused: Refused
) -> None:
    assert reason in refused(source, **options)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    assert "tombola[tables]" in refused(wide())


def test_float_ids_and_names() -> None:
    """With six digits 1000001 and 1000002 would be one id; 0.1 is not called 0.10000000000000001."""
    ids, names = [1000001.0, 1000001.0, 1000002.0, 1000002.0], [0.1, 2.5] * 2
    pool = read_table(pd.DataFrame({"id": ids, "model": names, "loss": [0.0, 0.25, 0.5, 1.0]})).pool
    assert (pool.ids, pool.actions) == (("1000001", "1000002"), ("0.1", "2.5"))
    assert pool.losses.tolist() == [[0.0, 0.25], [0.5, 1.0]]
    wide = pd.DataFrame({"id": [0.1, 0.3, 1e15], "a": [0.0, 1.0, 0.5], "b": [1.0, 0.0, 0.5]})
    assert read_table(wide).pool.ids == ("0.1", "0.3", "1000000000000000")


def test_cost_detection_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: comparing every action with every column of costs took 87 s of 4,000 of each."""
    calls, k = 0, 300

    def counted(name: str) -> str:
        nonlocal calls
        calls += 1
        return action_stem(name)

    monkeypatch.setattr(cost_columns, "action_stem", counted)
    header = [*(f"m{i}" for i in range(k)), *(f"m{i}_cost" for i in range(k))]
    cells = [
        ["0.5"] * k + [f"{i}" for i in range(k)],
        ["0.25"] * k + [f"{2 * i}" for i in range(k)],
    ]
    (tmp_path / "t.csv").write_text("\n".join(",".join(line) for line in [header, *cells]))
    costs = np.asarray(read_table(tmp_path / "t.csv").pool.costs)
    assert costs[:, :, 0].tolist() == [list(range(k)), list(range(0, 2 * k, 2))]
    assert calls <= 6 * k


def test_options_of_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", losses=np.eye(2), costs=np.ones((2, 2)), delays=np.array([0, 4]))
    assert "delays from array 'delays'" in read_table(tmp_path / "t.npz").notes
    table = read_table(tmp_path / "t.npz", ignore=["costs", "delays"])
    assert (table.pool.costs, table.delays) == (None, None)
    with pytest.raises(TableError, match="expected an array called 'prices' as ignore states"):
        read_table(tmp_path / "t.npz", ignore=["prices"])


@pytest.mark.parametrize("said", ["ids", "delay", "value", "action", "ignore", "costs"])
def test_column_options_of_array_are_rejected(said: str) -> None:
    """What was said was passed over."""
    words: dict[str, Any] = {said: ["1"] if said in ("ignore", "costs") else "1"}
    with pytest.raises(TableError, match=f"an array has no column names, got {said}"):
        read_table([[0.0, 1.0]], **words)


def test_object_that_is_no_table_is_named() -> None:
    with pytest.raises(
        TableError, match=r"expected a path, an array or a data frame, got dict; write read_table"
    ):
        read_any_table({"a": [0.5]})
