"""Text tables: chunks, and blank lines. Tables that are read or rejected: `test_corpus`."""

from pathlib import Path

from tombola.tables import read_table
from tombola.tables.formats import delimited


def test_chunks_of_long_rows_are_short() -> None:
    rows = iter([(number, ["x" * 1000] * 1000) for number in range(40)])
    assert (
        len(list(delimited._next_chunk(rows, 1000))) == 1 + delimited._CHUNK_CHARACTERS // 1_008_000
    )
    assert len(list(delimited._next_chunk(iter([(0, ["0"])] * 5000), 1))) == delimited._CHUNK_ROWS


def test_blank_lines_give_one_note(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n" + " ,\n" * 10_000)
    notes = read_table(tmp_path / "t.csv", kind="losses").notes
    assert [note for note in notes if "left out" in note] == ["left out 10,000 blank lines"]
