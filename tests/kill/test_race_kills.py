"""`tombola race run` with two workers, killed (-9) again and again; the driver is tests/kill/race_kills.py."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import HANGS

ROOT = Path(__file__).parent.parent.parent


def killed(count: int, timeout: float) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "race_kills.py"), str(count)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = dict(json.loads(done.stdout))
    assert (said["repeated"], said["lost"]) == (0, 0)
    assert said["same verdict"]
    assert said["same answers"]
    return said


@pytest.mark.full
def test_a_race_killed_twice_repeats_nothing_and_loses_nothing() -> None:
    assert killed(2, timeout=HANGS)["kills"] == 2


@pytest.mark.full
def test_a_race_killed_three_hundred_times_repeats_nothing_and_loses_nothing() -> None:
    said = killed(300, timeout=4 * HANGS)
    print(said)
    assert said["kills"] == 300
