"""Pilot of a race: call a few cells twice to see whether answers change.

Its cells are drawn independently of the order of the race, and its answers are no evidence. Given
the pilot every reading keeps its level, so the choice of the reading may depend on it
(docs/theory/random_answers.md). A pilot without a change proves nothing, so the words stay "on the
answers recorded here".
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.racing.settings import RaceSettings
from tombola.rng import RngStreams, integers

# Two answers to one cell that differ by more than this have changed; it is far above rounding.
_SAME_ANSWER = 1e-9
# Run times change with every call. Noise below this share of their variance is no reason to give up
# the gain of a finite list.
_NEGLIGIBLE_NOISE = 0.05


class Cell(NamedTuple):
    """A cell of the pilot: row of the list and candidate, as indices."""

    row: int
    candidate: int


def pilot_cells(settings: RaceSettings, known: Floats) -> tuple[Cell, ...]:
    """Return the cells that the pilot calls twice; none unless `answers` is "auto".

    known: losses on file, shape (rows, k), NaN where unknown; cells on file are not called.

    >>> settings = RaceSettings(("a", "b"), seed=1, answers="auto").with_pilot(100)
    >>> cells = pilot_cells(settings, np.full((100, 2), np.nan))
    >>> len(cells), len({cell.row for cell in cells})
    (2, 2)
    """
    if not settings.pilot:
        return ()
    rng = RngStreams(settings.seed or 0).pilot()
    free = np.flatnonzero(np.isnan(known).any(axis=1)).tolist()
    cells: list[Cell] = []
    # The generator computes modulo 2^64, of which NumPy warns in plain Python.
    with np.errstate(over="ignore"):
        while free and len(cells) < settings.pilot:
            row = free.pop(int(integers(rng, len(free))))
            unknown = np.flatnonzero(np.isnan(known[row]))
            cells.append(Cell(row, int(unknown[int(integers(rng, unknown.size))])))
    return tuple(cells)


def answers_change(pairs: Sequence[tuple[float, float]], *, run_times: bool) -> bool:
    """Return whether repeated answers to the same cells differ, so that calls are random.

    pairs: two losses for each cell. run_times: the answers are times; then the noise must matter
    against the differences between rows.

    >>> answers_change([(0.0, 0.0), (1.0, 0.0)], run_times=False)
    True
    >>> answers_change([(0.1, 0.101), (0.9, 0.899)], run_times=True)
    False
    """
    answers = np.array(pairs).reshape(-1, 2)
    changed = np.abs(answers[:, 0] - answers[:, 1]) > _SAME_ANSWER
    if not run_times or not changed.any():
        return bool(changed.any())
    noise = float(np.mean((answers[:, 0] - answers[:, 1]) ** 2) / 2.0)
    return noise > _NEGLIGIBLE_NOISE * float(answers.var())
