"""Predictions of the cells of a large table, against a dense table of all cells."""

import numpy as np
import pytest

from tombola.racing import cell_predictions
from tombola.racing.cell_predictions import AnsweredCells, CellPredictions


def test_answered_cells_agree_with_a_dense_table() -> None:
    rng = np.random.default_rng(1)
    cells, dense = AnsweredCells(5, 2), np.zeros((40, 5, 2))
    for _ in range(200):
        row = int(rng.integers(40))
        candidates = np.flatnonzero(rng.random(5) < 0.5)
        amounts = rng.random(len(candidates))
        places = cells.places(row, candidates)
        cells.values[places, 1] += amounts
        dense[row, candidates, 1] += amounts
    rows, owners = np.divmod(cells.cells[: len(cells)], 5)
    np.testing.assert_array_equal(cells.column(1), dense[rows, owners, 1])
    assert len(cells) == np.count_nonzero(dense) == len({*cells.cells[: len(cells)].tolist()})
    np.testing.assert_allclose(cells.sums(1), dense[:, :, 1].sum(axis=0))


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_predictions_agree_with_a_dense_table(
    common: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_predictions, "_BLOCK_ROWS", 7)
    rng = np.random.default_rng(2)
    base = rng.random(4) if common else rng.random((50, 4))
    dense = np.array(np.broadcast_to(base, (50, 4)))
    cells = rng.permutation(200)[: int(200 * share)]
    values = rng.random(len(cells))
    dense[cells // 4, cells % 4] = values
    table = CellPredictions(50, base, cells, values)
    np.testing.assert_array_equal(np.asarray(table), dense)
    for row in range(50):
        np.testing.assert_array_equal(table[row], dense[row])
    np.testing.assert_allclose(table.mean(), dense.mean(axis=0), rtol=1e-12)
    blocks = np.concatenate(list(table.blocks()))
    np.testing.assert_array_equal(np.unique(blocks, axis=0), np.unique(dense, axis=0))
