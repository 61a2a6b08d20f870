"""Choice of the format by suffix and content."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tombola.errors import TableError
from tombola.readers import read_pool as read_any_pool
from tombola.readers import read_table

Sentence = Callable[[object], str]
Write = Callable[..., Path]
read_pool = partial(read_any_pool, kind="losses")


def refused(source: Any, one_sentence: Sentence) -> str:
    with pytest.raises(TableError) as caught:
        read_table(source, kind="losses")
    return one_sentence(caught.value)


def test_closed_or_endless_standard_input_is_rejected(one_sentence: Sentence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: expected a table, got 'none'" in refused("-", one_sentence)
    monkeypatch.setattr("tombola.readers.input_checks._machine_memory", lambda: 8_000_000)
    with open("/dev/zero") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert "half of this machine's memory" in refused("-", one_sentence)


@pytest.mark.parametrize("name", ["t.docx", "t.zip", "t.pdf"])
def test_unknown_suffix_is_rejected(name: str, write: Write, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(TableError, match="ends in") as caught:
        read_pool(write(b"PK\x03\x04\0\0", name))
    one_sentence(caught.value)


def test_missing_file_and_folder_are_rejected(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("nowhere.csv", "folder.csv"):
        with pytest.raises(TableError, match="found") as caught:
            read_pool(tmp_path / name)
        one_sentence(caught.value)
