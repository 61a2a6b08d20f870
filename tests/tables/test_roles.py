"""Roles of columns: 102 odd tables, 100 ordinary ones, the pools, and questions as commands."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pools import REAL, SHARED
from tables.ordinary_tables import OrdinaryTable, ordinary_tables
from tombola._formatting import cli_style
from tombola.errors import QuestionError, TombolaError
from tombola.tables import read_table
from tombola.tables.names import without_kind_word
from tombola.tables.to_pool import Table

ODD = Path(__file__).with_name("odd_tables.txt")


class OddTable(NamedTuple):
    """A file, the options of `read_table`, and the outcome that it must have."""

    name: str
    content: bytes
    file: str
    options: dict[str, Any]
    outcome: str


def odd_tables() -> Iterator[OddTable]:
    """Yield the tables of odd_tables.txt, whose first lines explain it."""
    for block in re.split(r"^=== ", ODD.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, _, content = block.partition("\n")
        name, stated, outcome = (part.strip() for part in head.split("|"))
        options: dict[str, Any] = {"kind": "scores", "runs": outcome.startswith("runs")}
        given = dict(re.findall(r"(\w+)=((?:[^,]|,(?!\w+=[^,]*(?:,|$)(?<!0)))*)", stated))
        if "words" in given:
            given = {"words": stated.removeprefix("words=")}
        if "range" in given:
            given["range"] = tuple(float(end) for end in given["range"].split(","))
        for flag in {"rescale", "transpose"} & {*given}:
            given[flag] = True
        if "candidates" in given:
            given["actions"] = given.pop("candidates").split(",")
        file = given.pop("name", "t.csv")
        data = content.encode(given.pop("encoding", "utf-8"))
        yield OddTable(name, data, file, {**options, **given}, outcome)


ODD_TABLES = {table.name: table for table in odd_tables()}


def test_there_are_enough_tables() -> None:
    assert len(ODD_TABLES) >= 100
    assert len(list(ordinary_tables())) == 100


@pytest.mark.parametrize("name", ODD_TABLES)
def test_odd_table_is_read_right_asked_about_or_refused(name: str, tmp_path: Path) -> None:
    odd = ODD_TABLES[name]
    path = tmp_path / odd.file
    path.write_bytes(odd.content)
    result: Table | TombolaError
    try:
        with cli_style(["tombola", "rank", "t.csv"]):
            result = read_table(path, **odd.options)
    except TombolaError as error:
        result = error
    verb, _, rest = odd.outcome.partition(" ")
    if verb == "ask":
        assert isinstance(result, QuestionError), result
        assert all(word in str(result) for word in rest.split(", "))
        for _, command in result.answers:
            assert command.startswith("tombola rank t.csv --")
    elif verb == "refuse":
        assert isinstance(result, TombolaError), result
        assert rest.lower() in str(result).lower()
    else:
        assert isinstance(result, Table), result
        names, rows, best = re.fullmatch(r"(.*); rows (\d+); best (.*)", rest).groups()  # type: ignore[union-attr]
        pool = result.pool
        assert pool.actions == tuple(names.split(", "))
        assert (pool.rows, pool.actions[pool.best]) == (int(rows), best)
        assert (result.runs is not None) == (verb == "runs")


@pytest.mark.parametrize("table", [*ordinary_tables()], ids=lambda table: table.name)
def test_ordinary_table_raises_no_question(table: OrdinaryTable, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table.content)
    pool = read_table(path, **table.options).pool
    assert pool.rows == table.rows
    if "kind" in table.options:
        assert pool.actions == table.candidates
    else:
        assert {*pool.actions} <= {*table.candidates, *map(without_kind_word, table.candidates)}
        assert pool.k == len(table.candidates)


@pytest.mark.parametrize("name", REAL)
def test_pool_as_csv_raises_no_question(name: str, tmp_path: Path) -> None:
    """The names of its own actions, and its first 300 rows; no test without the shared pools."""
    arrays = np.load(SHARED / f"{name}.npz", allow_pickle=False)
    names = [str(name) for name in arrays["actions"]]
    for unit in ("loss", "raw") if "raw" in arrays.files else ("loss",):
        values = arrays[unit][:300]
        lines = ["\t".join(["id", *names])]
        lines += [
            "\t".join([f"row {row}", *map(repr, map(float, numbers))])
            for row, numbers in enumerate(values)
        ]
        path = tmp_path / f"{unit}.tsv"
        path.write_text("\n".join(lines) + "\n")
        high = float(max(1.0, np.nanmax(values)))
        low = float(min(0.0, np.nanmin(values)))
        pool = read_table(path, kind="losses", range=(low, high), missing="worst").pool
        assert pool.actions == tuple(names)


def test_answers_settle_the_question(tmp_path: Path) -> None:
    """Each answer, given as an option, is not asked about again."""
    path = tmp_path / "t.csv"
    path.write_text("id,m1,m2,difficulty\na,1,0,0.9\nb,0,1,0.8\nc,1,1,0.95\n")
    with pytest.raises(QuestionError) as asked:
        read_table(path, kind="scores")
    assert asked.value.columns == ("difficulty",)
    answers = [eval(f"dict({text})") for _, text in asked.value.answers]
    assert [[*answer] for answer in answers] == [["actions"], ["actions"], ["features", "actions"]]
    pools = [read_table(path, kind="scores", **answer).pool for answer in answers]
    assert [pool.k for pool in pools] == [2, 3, 2]
    assert pools[2].feature_names == ("difficulty",)


def test_command_line_prints_a_command_for_each_answer(
    tmp_path: Path, run_python: Callable[..., Any]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,m1,m2,difficulty\na,1,0,0.9\nb,0,1,0.8\nc,1,1,0.95\n")
    done = run_python("-m", "tombola", "rank", str(path), "--scores", "--ignore", "id")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    commands = [line.strip() for line in lines if line.startswith("  tombola ")]
    assert commands[0] == f"tombola rank {path} --scores --ignore id --candidates m1,m2"
    assert commands[1] == f"tombola rank {path} --scores --ignore id --candidates m1,m2,difficulty"
    assert len(commands) == 2  # rank has no option --features
