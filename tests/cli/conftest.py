"""The command line in this process, which saves the start of another one."""

import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tombola.cli.app import main

# Takes arguments; returns exit status, standard output and standard error.
Main: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_main(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Main:
    """Return a function that runs `main` with these arguments in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    # `main` belongs to a process of its own: it sets handlers.
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr("tombola.cli.app._discard_output", lambda: None)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tombola", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run
