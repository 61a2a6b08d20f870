"""The real pools: each reads with no option but its file, and its best fixed action is the one on its card."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tombola.errors import TableError
from tombola.readers import read_table

POOLS = Path(__file__).resolve().parents[2] / "shared" / "pools"
FULL = sorted(path.stem for path in POOLS.glob("*.npz") if "logged" not in path.stem)

pytestmark = pytest.mark.skipif(not POOLS.is_dir(), reason="the real pools are not beside this copy of the project")


@pytest.mark.parametrize("name", FULL)
def test_the_best_fixed_action_is_the_one_on_the_card(name: str) -> None:
    card = json.loads((POOLS / f"{name}.json").read_text())
    table = read_table(POOLS / f"{name}.npz")
    pool = table.pool
    assert (pool.rows, pool.k) == (card["T"], card["k"])
    assert pool.actions[pool.best] == card["best_fixed_action"]
    assert pool.means[pool.best] == pytest.approx(card["best_fixed_mean_loss"], abs=6e-6)
    assert (pool.costs is not None) == ("cost" in card["arrays"])
    assert any(note.startswith("best fixed action: ") for note in table.notes)


def test_the_logged_table_is_explained(one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(TableError, match="got a logged table, with one action a row") as caught:
        read_table(POOLS / "hillstrom_email_logged.npz")
    one_sentence(caught.value)
