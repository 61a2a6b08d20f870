"""Standard input. Files that are recognised by suffix and content: `test_corpus`."""

import sys
from collections.abc import Callable

import pytest

Refused = Callable[..., str]


def test_closed_or_endless_standard_input_is_rejected(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: expected a table, got 'none'" in refused("-")
    monkeypatch.setattr("tombola.tables.input_checks._machine_memory", lambda: 8_000_000)
    with open("/dev/zero") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert "half of this machine's memory" in refused("-")
