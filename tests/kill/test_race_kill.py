"""`tombola race run` with two workers, killed (-9) at random moments; as a script, this file is the
driver.

`PYTHONPATH=src:tests python tests/kill/test_race_kill.py 300 [known]` prints the counts. A call is
answered when its answer is in the file. A call in flight at the time of a kill has no answer and is
made again.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import HANGS, SOURCE
from kill.test_session_kill import run_script

NAMES = ("one", "two", "three", "four")
# A race with 300 kills needs about half of them; with answers on file a row takes fewer calls.
ROWS = 1800
CALL = """import sys, time
name, row = sys.argv[1:]
place = int(row)
time.sleep(0.001)
value = (place * 7919 + 104729 * len(name)) % 1000 / 1000
print(round(0.5 * value + {"one": 0.01, "two": 0.0, "three": 0.25, "four": 0.02}[name], 4))
with open("asked.log", "a") as log:
    log.write(f"{name} {row}\\n")
"""


def command(file: str, *options: str) -> list[str]:
    """Return the command line of the race; two nearly equal candidates make it long."""
    candidates = [
        part
        for name in NAMES
        for part in ("--candidate", f"{name}={sys.executable} -I -S call.py {name} {{row}}")
    ]
    start = [
        sys.executable,
        "-m",
        "tombola",
        "race",
        "run",
        "rows.txt",
        "--losses",
        "--file",
        file,
        *candidates,
    ]
    return [*start, "--workers", "2", "--seed", "5", "--json", "--quiet", *options]


def write_known(folder: Path) -> tuple[str, ...]:
    """Write answers on file of candidate two, and of one on every third row; return the options of the command."""
    lines = [
        f"{row},{loss('two', row)},{loss('one', row) if row % 3 == 0 else ''}"
        for row in range(ROWS)
    ]
    (folder / "known.csv").write_text("\n".join(["id,two,one", *lines]))
    return ("--known", "known.csv")


def loss(name: str, row: int) -> float:
    """Return the loss that CALL prints."""
    value = (row * 7919 + 104729 * len(name)) % 1000 / 1000
    return round(0.5 * value + {"one": 0.01, "two": 0.0, "three": 0.25, "four": 0.02}[name], 4)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}


def answers(path: Path) -> dict[int, Any]:
    """Return the answers in the file by ticket, read with sqlite3."""
    if not path.exists():
        return {}
    connection = sqlite3.connect(path, timeout=60)
    try:
        return dict(
            connection.execute("SELECT key, value FROM events WHERE kind = 'answer'").fetchall()
        )
    except sqlite3.OperationalError:  # the tables are not there yet
        return {}
    finally:
        connection.close()


def asked(folder: Path) -> list[str]:
    log = folder / "asked.log"
    return log.read_text().splitlines() if log.exists() else []


def drive(folder: Path, kills: int, seed: int = 1, *, known: bool = False) -> dict[str, Any]:
    """Run the race, kill it `kills` times, let it end, and compare it with an undisturbed one."""
    from tombola.worklists.race_file import RaceFile

    (folder / "rows.txt").write_text("\n".join(str(row) for row in range(ROWS)))
    (folder / "call.py").write_text(CALL)
    options = write_known(folder) if known else ()
    rng, path = np.random.default_rng(seed), folder / "killed.race"
    done = repeated = lost = 0
    before: dict[int, Any] = {}
    names: dict[int, str] = {}
    while done < kills:
        marks = len(asked(folder))
        options_: Any = {
            "cwd": folder,
            "env": environment(),
            "stdout": subprocess.PIPE,
            "start_new_session": True,
        }
        process = subprocess.Popen(command(path.name, *options), **options_)
        start = time.monotonic()
        # Wait until this process has written an answer.
        while (
            process.poll() is None
            and len(answers(path)) == len(before)
            and time.monotonic() - start < 60
        ):
            time.sleep(0.01)
        time.sleep(0.12 * rng.random())
        over = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
        # Calls in flight end by themselves.
        time.sleep(0.1)
        now = answers(path)
        lost += sum(now.get(ticket) != value for ticket, value in before.items())
        answered = {names[ticket] for ticket in before}
        repeated += sum(line in answered for line in asked(folder)[marks:])
        before = now
        with RaceFile.open(path) as file:
            names = {event.ticket: _name(file.race.call(event.ticket)) for event in file.replay()}
        if over:
            break
        done += 1
        if done % 20 == 0:
            counts = f"{done} kills, {len(now)} answers, {repeated} repeated, {lost} lost"
            print(counts, file=sys.stderr, flush=True)
    first, second = (
        json.loads(
            subprocess.run(
                command(name, *options), cwd=folder, env=environment(), capture_output=True
            ).stdout
        )
        for name in (path.name, "undisturbed.race")
    )
    for report in (first, second):
        # The number of calls in flight at the end is random; their answers count in means, but in
        # no decision.
        report["verdict"] = report["verdict"].split(";")[0]
        for candidate in report["candidates"]:
            del candidate["mean"], candidate["rows"]
    same = {name for name in first if first[name] == second[name]} >= {
        "verdict",
        "candidates",
        "answer",
        "proved",
    }
    left = answers(path)
    agree = all(
        answers(folder / "undisturbed.race").get(ticket, value) == value
        for ticket, value in left.items()
    )
    return {
        "kills": done,
        "answers": len(left),
        "repeated": repeated,
        "lost": lost,
        "same_verdict": same,
        "same_answers": agree,
        "verdict": first["verdict"],
        "on_file_asked": known and sum(_is_on_file(line) for line in asked(folder)),
    }


def _is_on_file(line: str) -> bool:
    name, row = line.split()
    return name == "two" or (name == "one" and int(row) % 3 == 0)


def _name(call: Any) -> str:
    return f"{call.candidate} {call.row}"


def kill_race(count: int, timeout: float, *options: str) -> dict[str, Any]:
    """Run this file as a script, and check its counts."""
    counts = dict(json.loads(run_script(__file__, timeout, str(count), *options)))
    assert (counts["repeated"], counts["lost"]) == (0, 0)
    assert counts["on_file_asked"] == 0
    assert counts["same_verdict"]
    assert counts["same_answers"]
    return counts


@pytest.mark.full
@pytest.mark.parametrize("kills", [2, 300])
@pytest.mark.parametrize("options", [(), ("known",)])
def test_killed_race_repeats_and_loses_nothing(kills: int, options: tuple[str, ...]) -> None:
    assert kill_race(kills, 4 * HANGS, *options)["kills"] == kills


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
        print(json.dumps(drive(Path(folder), count, known="known" in sys.argv), indent=1))
