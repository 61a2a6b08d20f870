"""Choice of the format by suffix and content."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Refused = Callable[..., str]


def test_closed_or_endless_standard_input_is_rejected(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: expected a table, got 'none'" in refused("-")
    monkeypatch.setattr("tombola.readers.input_checks._machine_memory", lambda: 8_000_000)
    with open("/dev/zero") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert "half of this machine's memory" in refused("-")


@pytest.mark.parametrize("name", ["t.docx", "t.zip", "t.pdf"])
def test_unknown_suffix_is_rejected(name: str, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04\0\0")
    assert "ends in" in refused(tmp_path / name)
