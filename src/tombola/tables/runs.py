"""Several answers per cell: runs of one candidate on one row, as numbers (runs, rows, candidates)."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from tombola._formatting import join_names, option_text
from tombola._types import Floats, Integers
from tombola.errors import TableError
from tombola.tables.columns import Column, Columns
from tombola.tables.names import is_run_name
from tombola.tables.options import ReadOptions

# Labels up to this many times the runs of a cell number the runs of the whole table. With more,
# such as a new seed for every answer, runs are numbered in each cell.
_MAX_LABELS_PER_RUN = 2
# Answers of one row that differ by more than this have changed; it is far above rounding.
_SAME_ANSWER = 1e-9


def find_runs(
    table: Columns, options: ReadOptions, cells: Integers, taken: Collection[str]
) -> Column | None:
    """Return the column that tells the answers of a cell apart; None if a cell has one answer.

    It is the column of the option `run`, or the only one with a name such as run or epoch.
    TableError if answers repeat and no column, or more than one, tells them apart, or if the caller
    takes one answer per cell only.

    cells: the cell (row and candidate) of each line.
    taken: names of columns with another role.
    """
    counts = np.bincount(cells)
    if counts.max() < 2:
        return None
    second = int(np.flatnonzero(counts[cells] > 1)[1])
    if options.run is not None:
        candidates = [table.find(options.run, "run")]
    else:
        candidates = [c for c in table.columns if is_run_name(c.name) and c.name not in taken]
    telling = [column for column in candidates if _tells_apart(column, cells)]
    if len(telling) == 1 and options.runs:
        return telling[0]
    if len(telling) == 1:
        raise TableError(
            f"{table.source}: expected one answer for each row and action, got several runs (column "
            f"{telling[0].name!r}), which this command does not take; leave one run, or average "
            "them."
        )
    got = f"a second one in {table.place(second)} or before"
    fix = f"drop it, or name the column that numbers the runs with {option_text('run', 'NAME')}"
    if candidates:
        got += (
            f", and {join_names([column.name for column in candidates])} does not tell them apart"
        )
    if len(telling) > 1:
        got = f"runs numbered by {join_names([column.name for column in telling])}"
        fix = f"name one of them with {option_text('run', telling[0].name)}"
    raise TableError(
        f"{table.source}: expected one line for each row and action, got {got}; {fix}."
    )


def run_numbers(run: Column, cells: Integers) -> Integers:
    """Return the run, from 0, of each line; lines of one cell have different runs.

    The same label is the same run in all cells, unless most labels occur in few cells.

    >>> run_numbers(Column("run", np.array([7.0, 8.0, 7.0])), np.array([0, 0, 1])).tolist()
    [0, 1, 0]
    """
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in run.labels], np.int64)
    if len(numbers) <= _MAX_LABELS_PER_RUN * int(np.bincount(cells).max()):
        return codes
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    lengths = np.diff(starts, append=len(order))
    within = np.empty(len(order), np.int64)
    within[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return within


def cube_of(numbers: Floats, runs: Integers, cells: Integers, shape: tuple[int, int]) -> Floats:
    """Return numbers of lines as (runs, rows, candidates), NaN where there is no line."""
    cube = np.full((int(runs.max()) + 1, shape[0] * shape[1]), np.nan)
    cube[runs, cells] = numbers
    return cube.reshape(-1, *shape)


def mean_of_runs(cube: Floats) -> Floats:
    """Return the mean over the runs of each cell, NaN for a cell without answers."""
    known = ~np.isnan(cube)
    counts = known.sum(axis=0)
    sums = np.where(known, cube, 0.0).sum(axis=0)
    means: Floats = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means


def runs_note(run: Column, cube: Floats) -> str:
    """Return the note on the number of runs of a cell."""
    counts = (~np.isnan(cube)).sum(axis=0)
    few = int(counts.min())
    many = int(counts.max())
    number = f"{many}" if few == many else f"{few} to {many}"
    return f"{number} runs of each row and action (column {run.name!r})"


def _tells_apart(run: Column, cells: Integers) -> bool:
    labels = run.labels
    return "" not in labels and len(set(zip(cells.tolist(), labels, strict=True))) == len(labels)


class RunSpread(NamedTuple):
    """How much answers change from run to run; shares and variances by action.

    runs: least and largest number of runs of a cell. changed: share of the rows on which the
    answers of an action differ. changed_rows: number of rows on which those of some action differ.
    noise: variance of an answer around the mean of its row. between: variance of these means
    between rows, at least 0.
    """

    runs: tuple[int, int]
    changed: Floats
    changed_rows: int
    noise: Floats
    between: Floats

    @property
    def noise_share(self) -> Floats:
        """Noise as a share of the variance of one answer, in [0, 1]; 0 if nothing varies."""
        whole = self.noise + self.between
        return np.divide(self.noise, whole, out=np.zeros_like(whole), where=whole > 0.0)


def run_spread(runs: Floats) -> RunSpread | None:
    """Return how answers of shape (runs, rows, actions) change; NaN where there is no run.

    None if no cell has two runs, or a cell has none.

    >>> spread = run_spread(np.array([[[0.0], [1.0]], [[0.0], [0.0]]]))
    >>> spread.changed.tolist(), spread.noise.tolist()
    ([0.5], [0.25])
    """
    counts = (~np.isnan(runs)).sum(axis=0)
    if counts.size == 0 or counts.min() < 1 or counts.max() < 2:
        return None
    spread = np.nanmax(runs, axis=0) - np.nanmin(runs, axis=0) > _SAME_ANSWER
    mean = np.nanmean(runs, axis=0)
    freedom = (counts - 1).sum(axis=0)
    noise = np.nansum((runs - mean) ** 2, axis=(0, 1)) / np.maximum(freedom, 1)
    # The mean over the runs of a row has a part of the noise in it.
    between = mean.var(axis=0) - noise * (1.0 / counts).mean(axis=0)
    return RunSpread(
        (int(counts.min()), int(counts.max())),
        spread.mean(axis=0),
        int(spread.any(axis=1).sum()),
        noise,
        np.maximum(between, 0.0),
    )
