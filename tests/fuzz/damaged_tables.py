"""Damaged tables of every format: a reader must return the original, another valid table, or an
error.

`table_files` holds the same rows in every format, wide and long, with ids, costs and delays, and as
logs of other programs. Formats in `CHECKSUMMED` have checksums over all numbers and names: there,
reading anything but the original is wrong. The others have none, so that a changed digit makes
another valid table.
"""

import contextlib
import gzip
import io
import json
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from fuzz.driver import damage
from tombola.tables import read_table
from tombola.tables.formats import delimited
from tombola.tables.formats.logs import read_logs
from tombola.tables.options import ReadOptions
from tombola.tables.summary import summarise_table
from tombola.tables.to_pool import to_pool

NAMES = ("a", "b", "c")
IDS = tuple(f"row {number}" for number in range(60))
CHECKSUMMED = (
    "csv.gz",
    "json.gz",
    "wide.npz",
    "packed.npz",
    "xlsx",
    "sums.parquet",
    "packed.parquet",
)
Content = tuple[Any, ...]


def tables(path: Path, seed: int) -> str:
    """Damage a table and read it; return "same", "other", or "wrong" if a checksum was ignored."""
    kind = sorted(table_files())[seed % len(table_files())]
    file = write_file(path, kind, damage(table_files()[kind], seed))
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
        _small_blocks("blocks" in kind),
    ):
        warnings.simplefilter("ignore")
        now = read_back(file)
    if now == expected(kind):
        return "same"
    return "wrong" if kind in CHECKSUMMED else "other"


@contextlib.contextmanager
def _small_blocks(small: bool) -> Iterator[None]:
    """Read a text table in blocks as if it were large."""
    sizes = {"_CHUNK_ROWS": 4, "_BLOCK_BYTES": 300} if small else {}
    with contextlib.ExitStack() as patches:
        for name, size in sizes.items():
            patches.enter_context(mock.patch.object(delimited, name, size))
        yield


def read_back(file: Path) -> Content:
    """Return the content of a file, after a summary of it."""
    if ".log." in file.name:
        parsed = read_logs([file])
        pool, delays = to_pool(parsed, missing="error", limits=None, rescale=False).pool, None
    else:
        # Arrays name their own roles.
        is_array = file.suffix in (".npy", ".npz")
        stated: dict[str, Any] = {} if is_array else {"costs": "cost", "delay": "delay"}
        summary = summarise_table(file, ReadOptions(kind="losses", **stated))
        summary.facts(), summary.sample(), summary.needed_options("losses")
        table = read_table(file, kind="losses", **stated)
        pool, delays = table.pool, table.delays
    costs = None if pool.costs is None else pool.costs.tolist()
    return (
        pool.actions,
        pool.ids,
        np.asarray(pool.losses, float).tolist(),
        costs,
        None if delays is None else delays.tolist(),
    )


@lru_cache
def expected(kind: str) -> Content:
    """Return the content of the undamaged file of a format."""
    with tempfile.TemporaryDirectory() as folder:
        found = read_back(write_file(Path(folder), kind, table_files()[kind]))
    assert found[2] == losses()[:, : len(found[0])].tolist(), (
        f"{kind} is not read as it was written"
    )
    return found


def write_file(path: Path, kind: str, content: bytes) -> Path:
    """Write a file into an empty folder, and return its path."""
    folder = path / "table"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / f"t.{kind}"
    file.write_bytes(content)
    return file


def losses() -> Any:
    """Return the losses in the files."""
    return np.random.default_rng(4).integers(0, 5, (60, 3)) / 4


def costs() -> Any:
    """Return the costs in the files."""
    return np.random.default_rng(5).integers(0, 100, (60, 3)) / 10


def wide() -> dict[str, list[Any]]:
    """Return a wide table by its columns: ids, losses, costs and delays."""
    columns: dict[str, list[Any]] = {"id": list(IDS)}
    columns |= {name: losses()[:, place].tolist() for place, name in enumerate(NAMES)}
    columns |= {f"cost:{name}": costs()[:, place].tolist() for place, name in enumerate(NAMES)}
    return columns | {"delay": [number % 7 for number in range(60)]}


def long() -> dict[str, list[Any]]:
    """Return the same as a long table: a line for each row and action."""
    cells = [(row, place) for row in range(60) for place in range(3)]
    return {
        "id": [IDS[row] for row, _ in cells],
        "action": [NAMES[place] for _, place in cells],
        "loss": [float(losses()[cell]) for cell in cells],
        "cost": [float(costs()[cell]) for cell in cells],
        "delay": [row % 7 for row, _ in cells],
    }


@lru_cache
def table_files() -> dict[str, bytes]:
    """Return the same table as bytes in every format."""
    return {**_texts(), **_arrow_files(), **_arrays(), **_bases(), **_logs()}


def _records(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _text(columns: dict[str, list[Any]], mark: str = ",") -> bytes:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(mark.join(map(str, row)) + "\n" for row in rows).encode()


def _markdown(columns: dict[str, list[Any]]) -> bytes:
    rows = [list(columns), ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows).encode()


def _texts() -> dict[str, bytes]:
    by_column = {
        name: dict(zip(IDS, column, strict=True)) for name, column in wide().items() if name != "id"
    }
    lines = {
        name: "".join(json.dumps(one) + "\n" for one in _records(table)).encode()
        for name, table in (("wide", wide()), ("long", long()))
    }
    return {
        "wide.csv": _text(wide()),
        "long.csv": _text(long()),
        "wide.tsv": _text(wide(), "\t"),
        "blocks.csv": _text(wide()),
        "blocks.crlf.csv": _text(long()).replace(b"\n", b"\r\n"),
        "semicolons.txt": _text(long(), ";"),
        "utf16.csv": _text(wide()).decode().encode("utf-16"),
        "titled.csv": b"Results of May\n\n" + _text(wide()),
        "wide.md": _markdown(wide()),
        "csv.gz": gzip.compress(_text(wide())),
        "wide.jsonl": lines["wide"],
        "long.ndjson": lines["long"],
        "json.gz": gzip.compress(lines["long"]),
        "list.json": json.dumps(_records(wide()), indent=1).encode(),
        "lists.json": json.dumps(long()).encode(),
        "pandas.json": json.dumps(by_column).encode(),
    }


def _into(write: Callable[[Any], object]) -> bytes:
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


def _arrow_files() -> dict[str, bytes]:
    arrow, feather, parquet = (
        import_module(f"pyarrow{part}") for part in ("", ".feather", ".parquet")
    )
    table, tall = arrow.table(wide()), arrow.table(long())
    words = tall.set_column(1, "action", tall["action"].dictionary_encode())
    plain: dict[str, Any] = {
        "compression": "none",
        "use_dictionary": False,
        "write_page_checksum": True,
    }

    def batches(make: Any, what: Any) -> bytes:
        def write(sink: Any) -> None:
            with make(sink, what.schema) as writer:
                writer.write_table(what, max_chunksize=25)

        return _into(write)

    return {
        "wide.parquet": _into(lambda sink: parquet.write_table(table, sink)),
        "long.pq": _into(lambda sink: parquet.write_table(words, sink, row_group_size=50)),
        "sums.parquet": _into(lambda sink: parquet.write_table(table, sink, **plain)),
        "packed.parquet": _into(
            lambda sink: parquet.write_table(tall, sink, **{**plain, "compression": "zstd"})
        ),
        "wide.feather": _into(lambda sink: feather.write_feather(table, sink)),
        "zstd.feather": _into(lambda sink: feather.write_feather(words, sink, compression="zstd")),
        "wide.arrow": batches(arrow.ipc.new_file, table),
        "long.ipc": batches(arrow.ipc.new_stream, words),
    }


def _arrays() -> dict[str, bytes]:
    parts: dict[str, Any] = {
        "losses": losses(),
        "actions": np.array(NAMES),
        "ids": np.array(IDS),
        "costs": costs(),
        "delays": np.arange(60) % 7,
    }
    return {
        "npy": _into(lambda sink: np.save(sink, losses())),
        "columns.npy": _into(lambda sink: np.save(sink, np.asfortranarray(losses().astype(">f4")))),
        "wide.npz": _into(lambda sink: np.savez(sink, **parts)),
        "packed.npz": _into(lambda sink: np.savez_compressed(sink, **parts)),
    }


def _bases() -> dict[str, bytes]:
    found = {}
    for kind, columns in (("wide.db", wide()), ("long.sqlite", long())):
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.closing(sqlite3.connect(f"{folder}/t.db")) as base, base:
                base.execute(
                    "CREATE TABLE t ({})".format(", ".join(f'"{name}"' for name in columns))
                )
                marks = ", ".join("?" * len(columns))
                base.executemany(
                    f"INSERT INTO t VALUES ({marks})", zip(*columns.values(), strict=True)
                )
            found[kind] = Path(folder, "t.db").read_bytes()
    book = import_module("openpyxl").Workbook()
    for row in [list(wide()), *zip(*wide().values(), strict=True)]:
        book.active.append(row)
    return found | {"xlsx": _into(book.save)}


def _inspect_logs(values: list[float]) -> dict[str, bytes]:
    """Return a log of inspect_ai in both of its formats; none without the package."""
    if find_spec("inspect_ai") is None:
        return {}
    log, scorer = import_module("inspect_ai.log"), import_module("inspect_ai.scorer")
    samples = [
        log.EvalSample(
            # The package sorts by these.
            id=f"row {place:02}",
            epoch=1,
            input=f"input {place}",
            target="",
            scores={"acc": scorer.Score(value=1 - loss)},
        )
        for place, loss in enumerate(values)
    ]
    spec = log.EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="task",
        dataset=log.EvalDataset(),
        model="a",
        config=log.EvalConfig(),
    )
    whole = log.EvalLog(eval=spec, status="success", samples=samples)
    contents = {}
    for kind in ("eval", "json"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"log.{kind}"
            log.write_eval_log(whole, str(path))
            contents[f"inspect.log.{kind}"] = path.read_bytes()
    return contents


def _logs() -> dict[str, bytes]:
    table = long()
    answers = list(zip(table["id"], table["action"], table["loss"], strict=True))
    results = [
        {"provider": {"id": name}, "testIdx": IDS.index(row), "score": 1 - loss}
        for row, name, loss in answers
    ]
    samples = [
        {"doc_id": row, "acc": 1 - loss, "metrics": ["acc"]}
        for row, name, loss in answers
        if name == "a"
    ]
    instances = [
        {
            "evaluation_id": "e",
            "model_id": "a",
            "evaluation_name": "task",
            "sample_id": row,
            "input": {"raw": row, "reference": []},
            "evaluation": {"score": 1 - loss, "is_correct": False},
            "metadata": {"lm_eval_metrics": json.dumps({"acc": 1 - loss})},
        }
        for row, name, loss in answers
        if name == "a"
    ]
    return {
        **_inspect_logs([loss for _, name, loss in answers if name == "a"]),
        "instances.log.jsonl": "".join(map("{}\n".format, map(json.dumps, instances))).encode(),
        "log.csv": _text({"candidate": table["action"], "row": table["id"], "loss": table["loss"]}),
        "log.json": json.dumps({"results": {"results": results}}).encode(),
        "log.jsonl": "".join(json.dumps(sample) + "\n" for sample in samples).encode(),
    }
