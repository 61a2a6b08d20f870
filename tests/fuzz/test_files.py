"""Damaged, changed and forged files: no wrong content, traceback, crash or hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SOURCE
from fuzz.files import KINDS

TRIES = int(os.environ.get("FUZZ_TRIES", "150"))


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_fuzz(kind: str) -> None:
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{tests}"}
    program = str(tests / "fuzz" / "files.py")
    done = subprocess.run(
        [sys.executable, program, kind, str(TRIES)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    print(done.stdout)
    for bad in ("wrong", "traceback", "crash", "hang"):
        assert bad not in done.stdout, done.stdout + done.stderr
