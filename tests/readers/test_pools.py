"""Whole tables: each reads with no option but its file, and its best fixed action is the one on its card."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pools import OWN, REAL, SHARED, npz_of
from tombola.errors import TableError
from tombola.readers import read_table


@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_best_fixed_action_of_shared_tables(name: str, tmp_path: Path) -> None:
    path = npz_of(name, tmp_path)
    card = json.loads(path.with_suffix(".json").read_text())
    table = read_table(path)
    pool = table.pool
    assert (pool.rows, pool.k) == (card["T"], card["k"])
    assert pool.actions[pool.best] == card["best_fixed_action"]
    assert pool.means[pool.best] == pytest.approx(card["best_fixed_mean_loss"], abs=6e-6)
    assert (pool.costs is not None) == ("cost" in card["arrays"])
    assert any(note.startswith("best fixed action: ") for note in table.notes)


@pytest.mark.skipif(not REAL, reason="the real logged table is not here; others are in test_table")
def test_shared_logged_table_is_rejected(one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(TableError, match="got a logged table, with one action a row") as caught:
        read_table(SHARED / "hillstrom_email_logged.npz")
    one_sentence(caught.value)
