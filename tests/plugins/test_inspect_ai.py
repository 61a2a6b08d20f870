"""A race inside inspect_ai: the real package, its mock model, four samples at a time."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import HANGS
from tombola.errors import TombolaError
from tombola.tables.formats.logs import read_logs

# Not `importorskip`: every process of a test run would import the package, which takes a second.
pytestmark = pytest.mark.skipif(
    find_spec("inspect_ai") is None,
    reason="inspect_ai is not installed: pip install 'tombola[inspect]'",
)

HERE = Path(__file__).parent


def run(folder: Path, rows: int, answers: str = "fixed") -> dict[str, Any]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent.parent / "src"),
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "inspect_race.py"), str(folder), str(rows), answers],
        capture_output=True,
        text=True,
        env=environment,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.full
def test_dropped_candidates_are_not_evaluated(tmp_path: Path) -> None:
    said = run(tmp_path, 40)
    assert (said["status"], said["answer"], said["twice"]) == ("success", ["low"], 0)
    assert said["calls"] < 90
    assert said["stopped"] == 120 - said["calls"]
    assert said["summary"] == said["again"] == said["verdict"], "the file has the whole race"


@pytest.mark.parametrize(("answers", "samples"), [("random", 90), ("once", 60)])
def test_random_answers_are_read_as_expected_ones(
    answers: str, samples: int, tmp_path: Path
) -> None:
    """With "random" a row comes again as a sample of its own; with "once" it does not."""
    said = run(tmp_path, 20, answers)
    assert (said["status"], said["twice"]) == ("success", 0)
    assert "in expectation over repeated answers, on these 20 rows" in said["verdict"]
    assert said["summary"] == said["again"] == said["verdict"]
    assert said["samples"] == samples
    assert (said["most runs"] > 1) == (answers == "random")
    assert said["calls"] + said["stopped"] == samples
    if answers == "random":
        assert said["answer"] == ["low"]


def test_epochs_of_the_task_are_passes(tmp_path: Path) -> None:
    """The runs are epochs of inspect_ai: dropped candidates and further epochs are stopped.

    "high" loses with probability .9, "low" with .1 on 20 rows, so that one epoch drops "high"; up to
    4 samples are in flight, and those of the next epoch start before one has ended.
    """
    said = run(tmp_path, 20, "passes")
    assert (said["status"], said["answer"], said["twice"]) == ("success", ["low"], 0)
    assert "in expectation over repeated answers, on these 20 rows" in said["verdict"]
    assert said["summary"] == said["again"] == said["verdict"]
    assert (said["samples"], said["calls"] + said["stopped"]) == (60, 240)
    assert 4 not in said["epochs"], "decided in the second epoch, with some samples in flight"
    assert said["late"] <= 4, "a dropped candidate is not run in the next epoch"


def test_read_logs_of_inspect_ai(tmp_path: Path) -> None:
    result = run(tmp_path, 8)
    # The race stops the run early, with a status that says so only in its events.
    parsed = read_logs([Path(result["log"].removeprefix("file://"))])
    assert parsed.actions == ("mockllm/model",)
    assert len(parsed.values) == result["calls"]
    assert set(np.unique(parsed.values)) == {0.0, 1.0}


def test_foreign_samples_are_rejected(one_sentence: Callable[[object], str]) -> None:
    from inspect_ai.dataset import Sample

    from tombola.plugins.inspect_ai import EarlyStoppingRace

    samples = [Sample(input="x", id=f"q{i}") for i in range(5)]
    race = EarlyStoppingRace(["a", "b"], samples, seed=1)
    passes = EarlyStoppingRace(["a", "b"], samples, seed=1, passes=2)
    for early, given, epochs in (
        (race, samples, 1),
        (race, race.samples, 2),
        (passes, passes.samples, 1),
        (passes, passes.samples[:4], 2),
    ):
        with pytest.raises(TombolaError) as refused:
            asyncio.run(early.start_task(None, given, epochs))
        one_sentence(refused.value)
    assert asyncio.run(passes.start_task(None, passes.samples, 2))
    with pytest.raises(TombolaError, match="a pilot cannot choose"):
        EarlyStoppingRace(["a", "b"], samples, seed=1, answers="auto")
    with pytest.raises(TombolaError) as refused:
        race._score({})
    one_sentence(refused.value)
