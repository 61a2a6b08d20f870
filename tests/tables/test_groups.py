"""Results by group: labels of rows in every format, and the best action of each group."""

from pathlib import Path

import numpy as np
import pytest

from tombola.errors import TableError
from tombola.tables import read_table
from tombola.tables.summary import group_rows

WIDE = "id,category,a,b\nq1,law,0.1,0.9\nq2,code,0.8,0.2\nq3,law,,0.4\nq4,,0.3,0.4\n"
LONG = "id,category,model,loss\nq1,law,a,0.1\nq1,law,b,0.9\nq2,code,a,0.8\nq2,code,b,0.2\n"


def test_labels_follow_rows(tmp_path: Path) -> None:
    """Also where rows are dropped, and in a long table; a blank cell is a group of its own."""
    path = tmp_path / "losses.csv"
    path.write_text(WIDE)
    assert read_table(path, kind="losses", by="category", missing="worst").strata == (
        "law",
        "code",
        "law",
        "(none)",
    )
    assert read_table(path, kind="losses", by="category", missing="drop").strata == (
        "law",
        "code",
        "(none)",
    )
    assert read_table(path, kind="losses", missing="drop").strata is None
    path.write_text(LONG)
    assert read_table(path, by="category").strata == ("law", "code")
    with pytest.raises(
        TableError, match="expected a table with named columns as by states, got an array"
    ):
        read_table([[0.0, 1.0]], kind="losses", by="topic")


def test_best_of_each_group_by_direction() -> None:
    values = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 5.0], [9.0, 2.0, 2.0]])
    expected = {
        "losses": [("a", 1.0, "b", 5), ("b", 2.0, "c", 3)],
        "scores": [("c", 4.0, "b", 5), ("a", 9.0, "b", 3)],
        None: [("c", 4.0, "a", 5), ("a", 9.0, "c", 3)],
    }
    for kind, rows in expected.items():
        found = group_rows(values, ["x", "x", "y"], ["a", "b", "c"], kind)  # type: ignore[arg-type]
        assert [(one.best, one.best_mean, one.second, one.cells) for one in found] == rows
