"""Odd tables of other domains: none is read with a column that is no candidate."""

from pathlib import Path

import pytest

from tables.blind_tables import BlindTable, blind_tables
from tombola.errors import QuestionError
from tombola.tables import read_table

RANGES = {"points": (0.0, 100.0), "stars": (1.0, 5.0), "seconds": (0.0, 1e4)}


def test_there_are_one_hundred() -> None:
    assert len(list(blind_tables())) == 100


@pytest.mark.parametrize("table", [*blind_tables()], ids=lambda table: table.name)
def test_odd_column_is_asked_about(table: BlindTable, tmp_path: Path) -> None:
    """Stated candidates are read without a question. Eight of them were misread at first."""
    path = tmp_path / "t.csv"
    path.write_text(table.content, encoding="utf-8")
    limits = RANGES.get(table.scale)
    with pytest.raises(QuestionError) as asked:
        read_table(path, kind="scores", range=limits)
    assert table.other in asked.value.columns
    stated = read_table(path, kind="scores", range=limits, actions=list(table.candidates))
    assert stated.pool.actions == table.candidates
