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
# Share of cells with random answers for which the pilot states its chance to see none of them.
_SHARE_TO_MISS = 0.1


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


class Finding(NamedTuple):
    """What a pilot has found.

    changed: whether some answer differs from the other one to its cell.
    is_random: whether the race should be about expected answers.
    """

    changed: bool
    is_random: bool


def finding_of(pairs: Sequence[tuple[float, float]], *, run_times: bool) -> Finding:
    """Return what repeated answers show: whether they change, and whether calls are random.

    pairs: two losses for each cell. run_times: the answers are times, which always change; then
    calls are random if the noise matters against the differences between rows.

    >>> finding_of([(0.0, 0.0), (1.0, 0.0)], run_times=False)
    Finding(changed=True, is_random=True)
    >>> finding_of([(0.1, 0.101), (0.9, 0.899)], run_times=True)
    Finding(changed=True, is_random=False)
    """
    answers = np.array(pairs).reshape(-1, 2)
    difference = answers[:, 0] - answers[:, 1]
    changed = bool((np.abs(difference) > _SAME_ANSWER).any())
    if not run_times or not changed:
        return Finding(changed, changed)
    noise = float(np.mean(difference**2) / 2.0)
    return Finding(changed, noise > _NEGLIGIBLE_NOISE * float(answers.var()))


def chance_to_miss(cells: int) -> float:
    """Return the probability that no answer changes, if a tenth of the cells would.

    >>> round(chance_to_miss(8), 2), round(chance_to_miss(1), 2)
    (0.43, 0.9)
    """
    return (1.0 - _SHARE_TO_MISS) ** cells
