"""Feature columns: encoding, roles, missing values, and every format that can hold them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.errors import QuestionError, TableError
from tombola.tables import read_table
from tombola.tables.columns import CellRef, Column, Columns
from tombola.tables.features import _MAX_LEVELS, encode_features
from tombola.tables.options import ReadOptions
from tombola.tables.summary import summarise_table
from tombola.tables.to_pool import Table

WIDE = "id,a_loss,b_loss,f_size,f_depth,kind\n" + "".join(
    f"r{i},{i % 2},{1 - i % 2},{i},{'' if i == 3 else i * i},{'sat' if i % 2 else 'unsat'}\n"
    for i in range(12)
)


def read_text(content: str, folder: Path, **options: Any) -> Table:
    (folder / "t.csv").write_text(content)
    return read_table(folder / "t.csv", **options)


def test_feature_columns_are_never_actions(tmp_path: Path) -> None:
    """Columns in [0, 1] would be actions without the option; a pattern does not match ignored columns."""
    text = "a,b,share,some\n" + "0,1,0.5,1\n1,0,0.25,1\n" * 4
    with pytest.raises(QuestionError, match="usual for a summary"):
        read_text(text, tmp_path, kind="losses")
    table = read_text(text, tmp_path, kind="losses", features=["s*"], ignore=["some"])
    assert (table.pool.actions, table.pool.feature_names) == (("a", "b"), ("share",))
    assert np.asarray(table.pool.features).ravel().tolist() == [0.5, 0.25] * 4
    assert "features: share" in table.notes


def test_missing_features_stay_missing_and_are_reported(tmp_path: Path) -> None:
    """A missing feature never drops a row, also where missing losses do."""
    table = read_text(
        WIDE.replace("r5,1", "r5,"),
        tmp_path,
        features=["f_depth"],
        ignore=["f_size"],
        missing="drop",
    )
    assert table.pool.rows == 11
    depth = np.asarray(table.pool.features)[:, 0]
    assert np.flatnonzero(np.isnan(depth)).tolist() == [3]
    assert depth[5] == 36.0  # row r5 is dropped from the features too
    assert any("feature 'f_depth': 1 of 12 values missing" in note for note in table.notes)


def test_rare_levels_share_row_of_zeros() -> None:
    cells = [f"level{i % 30:02}" for i in range(300)] + ["rare", "", "NA", "", "", ""]
    numbers = np.full(len(cells), np.nan)
    column = Column("c", numbers, cells, first_invalid=CellRef(0, cells[0]))
    encoded = encode_features(Columns("t", [column]), [column])
    assert encoded.values.shape == (306, _MAX_LEVELS)
    assert encoded.values[300].sum() == 0.0
    assert any("5 of 306 values missing, a category of its own" in note for note in encoded.notes)


def test_categories_are_one_hot_in_any_order(tmp_path: Path) -> None:
    """Otherwise the names of columns would carry the order of the rows."""
    head, *lines = WIDE.splitlines()
    one = read_text(WIDE, tmp_path, features=["kind", "f_*"]).pool
    other = read_text("\n".join([head, *lines[::-1]]), tmp_path, features=["kind", "f_*"]).pool
    np.testing.assert_array_equal(np.asarray(one.features)[::-1], np.asarray(other.features))
    assert (
        one.feature_names == other.feature_names == ("kind=sat", "kind=unsat", "f_size", "f_depth")
    )
    assert np.asarray(one.features)[:2, :2].tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_long_tables_take_feature_per_row(tmp_path: Path) -> None:
    text = "id,solver,loss,size\nx,a,0,3\nx,b,1,3\ny,a,1,8\ny,b,0,8\n"
    pool = read_text(text, tmp_path, features=["size"]).pool
    assert np.asarray(pool.features).ravel().tolist() == [3.0, 8.0]


def test_archives_name_arrays(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    features = np.array([[1.0, np.inf], [2.0, 3.0]])
    np.savez(path, losses=np.eye(2), X=features, more=np.array([7, 8]))
    table = read_table(path, features=["X", "more"])
    assert table.pool.feature_names == ("X:0", "X:1", "more")
    assert np.isnan(np.asarray(table.pool.features)[0, 1])
    assert any("1 of 6 values missing or infinite" in note for note in table.notes)
    with pytest.raises(TableError, match="arrays without another role as features, got 'losses'"):
        read_table(path, features=["losses"])
    np.savez(path, losses=np.eye(2), X=np.ones((3, 1)))
    with pytest.raises(TableError, match="features must be numbers for each of the 2 rows"):
        read_table(path, features=["X"])


def test_text_separates_topics(tmp_path: Path) -> None:
    """Rows of one topic are nearer to each other than to the other topic."""
    pytest.importorskip("sklearn")
    topics = ["prove that the integral converges", "translate this sentence into French"]
    lines = [f'"{topics[i % 2]} number {i}",{i % 2},{1 - i % 2}' for i in range(40)]
    table = read_text("prompt,a,b\n" + "\n".join(lines), tmp_path, kind="losses", text=["prompt"])
    values = np.asarray(table.pool.features)[:, :-1]
    values = values / np.linalg.norm(values, axis=1, keepdims=True)
    similarity = values @ values.T
    assert similarity[::2, ::2].mean() > similarity[::2, 1::2].mean() + 0.3
    assert any("TF-IDF of hashed words" in note for note in table.notes)
    assert table.pool.actions == ("a", "b")


def test_describe_lists_possible_features(tmp_path: Path) -> None:
    """Outcomes, ids, constants, summaries and actions in another unit are not proposed."""
    lines = [
        f"{i},{i % 2},{i % 3 / 2},{60 + i},{60 + i},{100 * i},{i},{i},3\n" for i in range(1, 30)
    ]
    (tmp_path / "t.csv").write_text(
        "id,gpt,llama,claude,Max,x1,b_seconds,gold,same_feature\n" + "".join(lines)
    )
    with pytest.raises(QuestionError) as asked:
        summarise_table(tmp_path / "t.csv", ReadOptions())
    assert {"claude", "Max", "x1", "b_seconds", "gold", "same_feature"} == {*asked.value.columns}
    summary = summarise_table(tmp_path / "t.csv", ReadOptions(actions=["gpt", "llama"]))
    assert "x1" in summary.parsed.possible_features
    assert "x1" in dict(summary.facts())["could be features"]
    chosen = summarise_table(
        tmp_path / "t.csv", ReadOptions(actions=["gpt", "llama"], features=["x1"])
    )
    assert "Max" not in chosen.parsed.possible_features
    assert dict(chosen.facts())["features"] == "1: x1"
