"""Whole tables: each reads with no option but its file, and its best fixed action is the one on its card."""

import json
from pathlib import Path

import pytest

from pools import OWN, REAL, SHARED, npz_of
from tombola.errors import TableError
from tombola.tables import read_table


@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_best_fixed_action_of_shared_tables(name: str, tmp_path: Path) -> None:
    path = npz_of(name, tmp_path)
    card = json.loads(path.with_suffix(".json").read_text())
    pool = read_table(path).pool
    assert (pool.rows, pool.k) == (card["T"], card["k"])
    assert pool.actions[pool.best] == card["best_fixed_action"]
    assert pool.means[pool.best] == pytest.approx(card["best_fixed_mean_loss"], abs=6e-6)
    assert (pool.costs is not None) == ("cost" in card["arrays"])


@pytest.mark.skipif(not REAL, reason="the real logged table is not here; others are in test_table")
def test_shared_logged_table_is_rejected() -> None:
    with pytest.raises(TableError, match="got a logged table, with one action a row"):
        read_table(SHARED / "hillstrom_email_logged.npz")
