"""Fuzzing of table readers: every format is covered, and ignored checksums are detected."""

import zipfile
from collections import Counter
from pathlib import Path

import pytest

from fuzz import damaged_tables
from tombola.errors import TombolaError
from tombola.tables.formats import FORMATS, suffix_of


def test_every_format_is_covered() -> None:
    kinds = damaged_tables.table_files()
    suffixes = {suffix_of(Path(f"t.{kind}")) for kind in kinds if kind != "semicolons.txt"}
    assert all(suffixes & {*one.suffixes} for one in FORMATS)
    assert {*damaged_tables.CHECKSUMMED} <= {*kinds}
    for kind in kinds:
        damaged_tables.expected(kind)


def test_ignored_checksum_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = sorted(damaged_tables.table_files()).index("wide.npz")
    content = damaged_tables.table_files()["wide.npz"]
    number = damaged_tables.losses()[:1].tobytes()
    assert any(number)
    monkeypatch.setattr(
        damaged_tables, "damage", lambda *_: content.replace(number, bytes(len(number)), 1)
    )
    with pytest.raises(ValueError, match="NumPy archive"):
        damaged_tables.tables(tmp_path, place)
    monkeypatch.setattr(zipfile.ZipExtFile, "_update_crc", lambda *_: None)
    assert damaged_tables.tables(tmp_path, place) == "wrong"


@pytest.mark.full
def test_damaged_tables_are_read_or_rejected(tmp_path: Path) -> None:
    """No damage leads to a wrong table, or to an error other than one of ours."""
    results: Counter[str] = Counter()
    for seed in range(1000):
        try:
            results[damaged_tables.tables(tmp_path, seed)] += 1
        except TombolaError as error:
            results["rejected" if "\n" not in str(error) else "several lines"] += 1
    assert (results["wrong"], results["several lines"]) == (0, 0)
    assert min(results["rejected"], results["same"], results["other"]) > 0
