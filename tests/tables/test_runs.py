"""Tables with several answers per cell."""

from pathlib import Path

import numpy as np
import pytest

from tombola.errors import TableError
from tombola.tables import read_table

LONG = "id,model,{run},score\n" + "".join(
    f"{row},{model},{run},{score}\n"
    for row, model, run, score in [
        ("x", "a", 1, 1), ("x", "a", 2, 0), ("x", "b", 1, 0), ("x", "b", 2, 0),
        ("y", "a", 1, 1), ("y", "a", 2, 1), ("y", "b", 1, 1), ("y", "b", 2, 0),
    ]
)  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["run", "Epoch", "trial", "seed", "attempt", "run_id"])
def test_runs_of_a_long_table(tmp_path: Path, name: str) -> None:
    table = read_table(written(tmp_path, LONG.format(run=name)), runs=True)
    assert table.runs is not None
    assert table.runs.shape == (2, 2, 2)
    assert table.runs.tolist() == [[[0, 1], [0, 0]], [[1, 1], [0, 1]]]
    assert table.pool.losses.tolist() == [[0.5, 1.0], [0.0, 0.5]]
    assert table.pool.ids == ("x", "y")
    assert table.pool.actions == ("a", "b")
    assert f"2 runs of each row and action (column {name!r})" in table.notes


def test_uneven_numbers_of_runs_are_not_filled_in(tmp_path: Path) -> None:
    lines = LONG.format(run="run").splitlines()
    table = read_table(written(tmp_path, "\n".join(lines[:-1]) + "\n"), runs=True)
    assert table.runs is not None
    assert np.isnan(table.runs[1, 1, 1])
    assert table.pool.losses.tolist() == [[0.5, 1.0], [0.0, 0.0]]
    assert any("1 to 2 runs" in note for note in table.notes)


def test_runs_of_a_wide_table(tmp_path: Path) -> None:
    text = "id,run,cost_a,a,cost_b,b\nx,1,1,1,2,0\ny,1,1,1,2,1\nx,2,3,0,2,0\ny,2,1,1,2,0\n"
    table = read_table(written(tmp_path, text), kind="scores", runs=True)
    assert table.runs is not None
    assert table.runs.tolist() == [[[0, 1], [0, 0]], [[1, 1], [0, 1]]]
    assert table.pool.ids == ("x", "y")
    assert table.pool.costs is not None
    assert table.pool.costs[:, :, 0].tolist() == [[2, 2], [1, 2]]


def test_a_new_seed_for_every_answer(tmp_path: Path) -> None:
    cells = [(row, model) for row in "xyz" for model in "ab" for _ in range(2)]
    lines = [f"{row},{model},{900 + at},{at % 2}" for at, (row, model) in enumerate(cells)]
    table = read_table(
        written(tmp_path, "id,model,seed,score\n" + "\n".join(lines) + "\n"), runs=True
    )
    assert table.runs is not None
    assert table.runs.tolist() == [[[1, 1]] * 3, [[0, 0]] * 3]


def test_commands_for_one_answer_per_cell_refuse_runs(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"got several runs \(column 'run'\)"):
        read_table(written(tmp_path, LONG.format(run="run")))


def test_a_column_that_does_not_tell_answers_apart(tmp_path: Path) -> None:
    text = "id,model,run,score\nx,a,1,1\nx,a,1,0\nx,b,1,0\ny,a,1,1\ny,b,1,1\n"
    with pytest.raises(TableError, match="run does not tell them apart"):
        read_table(written(tmp_path, text), runs=True)
    with pytest.raises(TableError, match="a second one in line 3 or before"):
        read_table(written(tmp_path, text.replace("run", "note")), runs=True)


def test_two_columns_that_tell_answers_apart(tmp_path: Path) -> None:
    text = "id,model,run,seed,score\nx,a,1,7,1\nx,a,2,8,0\nx,b,1,9,0\ny,a,1,7,1\ny,b,1,9,1\n"
    with pytest.raises(TableError, match="runs numbered by run, seed"):
        read_table(written(tmp_path, text), runs=True)
    table = read_table(written(tmp_path, text), runs=True, run="run")
    assert table.runs is not None
    assert table.runs.shape == (2, 2, 2)


def test_one_answer_per_cell_has_no_runs(tmp_path: Path) -> None:
    text = "id,model,seed,score\nx,a,7,1\nx,b,8,0\ny,a,9,1\ny,b,4,1\n"
    assert read_table(written(tmp_path, text), runs=True).runs is None


def test_missing_cells_and_dropped_rows(tmp_path: Path) -> None:
    lines = LONG.format(run="run").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("y,b")) + "\n"
    table = read_table(written(tmp_path, text), runs=True, missing="drop")
    assert table.runs is not None
    assert table.runs.shape == (2, 1, 2)
