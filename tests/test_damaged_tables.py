"""What the fuzz of tables covers: every ending that is read, each as it was written, and check sums that count."""

import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import damaged_tables
from tombola.readers.formats import FORMATS, suffix_of
from tombola.readers.formats.aslib import RUNS


def test_every_kind_is_among_them_and_is_read_as_it_was_written() -> None:
    kinds = damaged_tables.written()
    found = {suffix_of(Path(f"t.{kind}")) for kind in kinds if kind not in ("semicolons.txt", RUNS)}
    assert all(found & {*one.suffixes} for one in FORMATS)
    assert {*damaged_tables.SEALED} <= {*kinds}
    for kind in kinds:
        damaged_tables.told(kind)


def test_a_reading_that_check_sums_had_to_refuse_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check sums of zip, the fuzz must find what they would have found."""
    place = sorted(damaged_tables.written()).index("wide.npz")
    content = damaged_tables.written()["wide.npz"]
    number = damaged_tables.losses()[:1].tobytes()
    assert any(number)
    monkeypatch.setattr(damaged_tables, "damage", lambda *_: content.replace(number, bytes(len(number)), 1))
    with pytest.raises(ValueError, match="NumPy archive"):
        damaged_tables.tables(tmp_path, place)
    monkeypatch.setattr(zipfile.ZipExtFile, "_update_crc", lambda *_: None)
    assert damaged_tables.tables(tmp_path, place) == "wrong"
