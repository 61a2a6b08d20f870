"""Losses of power at random places of the recorded writes of a process: `power_losses.py`."""

import os
import shutil

import pytest

from kill.power_losses import main

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace records the writes"),
]


def test_power_losses_lose_nothing() -> None:
    losses = int(os.environ.get("TOMBOLA_POWER_LOSSES", "300"))
    counts = main(losses)
    print(dict(counts))
    assert counts.total() == losses
    assert min(counts["log"], counts["journal"], counts["at rest"]) > losses // 10


@pytest.mark.parametrize("fault", ["PRAGMA synchronous = NORMAL", "PRAGMA synchronous = OFF"])
def test_a_missing_sync_is_found(fault: str) -> None:
    """False alarm: none; each of 300 losses finds a missing sync with probability above .1."""
    with pytest.raises(AssertionError):
        main(300, fault=fault)
