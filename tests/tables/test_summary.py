"""Summaries of tables: detected columns, missing values, and the commands to run next."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola._formatting import cli_style
from tombola.errors import TableError
from tombola.tables import read_table
from tombola.tables.options import ReadOptions
from tombola.tables.summary import TableSummary, summarise_table


def summary_of(text: str, folder: Path, name: str = "t.csv", **options: Any) -> TableSummary:
    (folder / name).write_text(text)
    return summarise_table(folder / name, ReadOptions(**options))


# Heading -> part of the text, of each table.
FACTS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    (
        "id,model,loss\nx,a,1\nx,b,1\nx,c,\ny,a,1\ny,b,\ny,c,1\n",
        {"actions": ["a", "b"]},
        {"missing": "the first in row 'y', action 'b'"},
    ),
    (  # incomplete costs are not summed up as if they were 0
        "id,a,b,cost:a,cost:b,delay\nx,0.5,0.25,1,,\ny,0.5,1,3,,\n",
        {"delay": "delay"},
        {
            "costs": "from 1 to 3 a row, 2 missing",
            "delays": "unknown rounds, 2 missing",
            "missing": "half-finished",
        },
    ),
    (
        "id,category,a,b,remark\nw,law,0,1,x\nx,law,1,0,y\ny,tax,1,1,z\nz,tax,0,0,z\n",
        {},
        {"groups": "category (2 groups)", "ignored": "remark: text"},
    ),
    (
        "a score,b score\n1,\n,1\n,\n1,1\n,\n",
        {},
        {"missing": "needs a column id to be finished as a race"},
    ),
]


@pytest.mark.parametrize(("text", "options", "expected"), FACTS)
def test_facts(
    text: str, options: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    summary = summary_of(text, tmp_path, **options)
    facts = dict(summary.facts())
    assert all(part in facts[heading] for heading, part in expected.items()), facts
    # A race command that `race start` would reject, because it needs ids, is not printed.
    assert summary.parsed.id_column or not summary.race_steps("t.csv")


def test_first_missing_cell_of_array(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([[0.1, 0.9], [0.2, np.nan]]))
    facts = dict(summarise_table(tmp_path / "t.npy", ReadOptions()).facts())
    assert "1 cell (25 %), the first in row 1, action '1'" in facts["missing"]


def test_both_directions_are_offered(tmp_path: Path) -> None:
    with cli_style():
        steps = summary_of("a,b\n7,10\n9.5,3\n", tmp_path).next_steps(
            "tombola compare t.csv", "t.csv"
        )
    assert steps == [
        ("if higher is better", "tombola compare t.csv --scores --range 0,10"),
        ("if lower is better", "tombola compare t.csv --losses --rescale"),
    ]


def test_half_finished_table_is_continued_as_race(tmp_path: Path) -> None:
    """Counting missing cells as the worst value would rank the actions by how much of them is filled in."""
    summary = summary_of("id,a score,b score\nx,1,\ny,,2\nz,2,3\nw,,\n", tmp_path)
    steps = summary.next_steps("tombola compare t.csv", "t.csv")
    start = (
        "tombola race start t.csv --candidates a,b --known t.csv --scores --range 0,5 --file t.race"
    )
    assert [command for _, command in steps] == [start]
    assert "a half-finished table" in dict(summary.facts())["missing"]


@pytest.mark.parametrize(("blanks", "offered"), [(0, False), (4, False), (5, True), (40, True)])
def test_race_is_offered_from_five_per_cent_of_incomplete_rows(
    blanks: int, offered: bool, tmp_path: Path
) -> None:
    lines = "".join(f"c{i},{'' if i < blanks else 1},0\n" for i in range(100))
    summary = summary_of(f"customer,a score,b score\n{lines}", tmp_path)
    start = (
        "tombola race start t.csv --candidates a,b --known t.csv --scores --id customer "
        "--file t.race"
    )
    assert [command for _, command in summary.race_steps("t.csv")] == [start] * offered
    compare = [command for _, command in summary.next_steps("tombola compare t.csv", "t.csv")]
    assert compare == [
        "tombola compare t.csv missing='drop'" if blanks else "tombola compare t.csv"
    ]
    effect = f"without the {blanks} incomplete rows the answer is about the other {100 - blanks}"
    assert (effect in dict(summary.facts())["missing"]) == (blanks > 0)


def test_describe_prints_next_command_alone(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    (tmp_path / "a table.csv").write_text("id,a_accuracy,b_accuracy\nx,1,0\ny,0.5,0.75\n")
    command = "from tombola.cli.app import main; main()"
    done = run_python(
        "-c", command, "describe", "a table.csv", "--ignore", "id", cwd=tmp_path, COLUMNS="40"
    )
    assert "  tombola compare 'a table.csv' --ignore id" in done.stdout.splitlines(), done.stderr
    done = run_python("-c", command, "describe", "a table.csv", "--json", cwd=tmp_path)
    facts = json.loads(done.stdout)
    assert (facts["kind"], facts["unit"]) == ("scores", "accuracy")
    assert facts["next"] == ["tombola compare 'a table.csv'"]


def test_timeouts_are_missing_cells_and_offer_par10(tmp_path: Path) -> None:
    """Run times are losses, a timeout the worst value of a range; with ten limits as the range, the mean is PAR10."""
    path = tmp_path / "runtimes.csv"
    path.write_text(
        "instance,a,b\ni1,30,TO\ni2,30,1\ni3,30,>60\ni4,30,1\ni5,30,1\ni6,30,1\ni7,30,1\ni8,30,1\n"
    )
    summary = summarise_table(path, ReadOptions())
    assert (summary.parsed.names, summary.n_missing, summary.is_unfinished) == (
        ("a", "b"),
        2,
        False,
    )
    with cli_style():
        steps = summary.next_steps("tombola compare runtimes.csv", "runtimes.csv")
    assert [command for _, command in steps] == [
        "tombola compare runtimes.csv --losses --range 0,LIMIT --missing worst",
        "tombola compare runtimes.csv --losses --range 0,TEN_TIMES_LIMIT --missing worst",
    ]
    assert (
        "your time limit for LIMIT below, and ten times it for TEN_TIMES_LIMIT"
        in dict(summary.facts())["missing"]
    )
    with pytest.raises(TableError, match="with timeouts write missing='worst' and the time limit"):
        read_table(path, kind="losses", range=(0, 60))
    by_limit = read_table(path, kind="losses", range=(0, 60), missing="worst").pool
    by_par10 = read_table(path, kind="losses", range=(0, 600), missing="worst")
    assert by_limit.losses[:, 1].tolist() == [1.0, 1 / 60, 1.0] + [1 / 60] * 5
    assert by_limit.actions[by_limit.best] == "b"
    assert by_par10.pool.actions[by_par10.pool.best] == "a"
    assert by_par10.units.number(by_par10.pool.means[1]) == pytest.approx((2 * 600 + 6) / 8)
