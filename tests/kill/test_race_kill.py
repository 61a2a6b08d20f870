"""`tombola race run` with two workers, killed (-9) at random moments; as a script, this file is the
driver.

`PYTHONPATH=src:tests python tests/kill/test_race_kill.py 300 [known]` prints the counts. A call is
answered when its answer is in the file. A call in flight at the time of a kill has no answer and is
made again. The pilot calls some cells twice, under two tickets; any other call of an answered cell
is a repeated one. Every command writes which run has started it: a command that outlives its run
may be slow to write its line.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import HANGS, SOURCE
from kill.test_session_kill import run_script

NAMES = ("one", "two", "three", "four")
# Enough for about 300 kills; if a race ends before, the rest hits another one.
ROWS = 1800
CALL = """import os, sys, time
name, row = sys.argv[1:]
place = int(row)
time.sleep(0.001)
value = (place * 7919 + 104729 * len(name)) % 1000 / 1000
print(round(0.5 * value + {"one": 0.01, "two": 0.0, "three": 0.25, "four": 0.02}[name], 4))
with open("asked.log", "a") as log:
    log.write(f"{os.environ['RUN']} {name} {row}\\n")
"""

# Number of the run of the undisturbed race, in the log of commands; above those of the killed ones.
_UNDISTURBED = 10**6


def command(file: str, seed: int, *options: str) -> list[str]:
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
    return [*start, "--workers", "2", "--seed", str(seed), "--json", "--quiet", *options]


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


def environment(run: int) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "OPENBLAS_NUM_THREADS": "1",
        "RUN": str(run),
    }


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


def asked(folder: Path) -> Counter[tuple[int, str]]:
    """Return how often each run has asked each cell, by the lines that the commands wrote."""
    log = folder / "asked.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter((int(line.split()[0]), line.partition(" ")[2]) for line in lines)


def count_repeated(
    calls: Counter[tuple[int, str]], answered: list[Counter[str]], twice: set[str]
) -> int:
    """Return the number of calls that a run has made although their answers were in the file.

    answered: for each run, the answers of each cell in the file when it started. twice: cells of
    the pilot, which have two tickets.
    """
    return sum(
        max(0, count - (1 + (cell in twice) - answered[run][cell]))
        for (run, cell), count in calls.items()
        if run < len(answered)
    )


def test_checker_counts_repeated_calls() -> None:
    calls = Counter({(0, "one 1"): 2, (0, "two 2"): 1, (1, "one 1"): 1, (1, "two 2"): 1})
    assert count_repeated(calls, [Counter(), Counter({"one 1": 1})], {"one 1"}) == 0
    assert count_repeated(calls, [Counter(), Counter({"one 1": 2})], {"one 1"}) == 1
    assert count_repeated(calls, [Counter(), Counter({"two 2": 1})], {"one 1"}) == 1
    assert count_repeated(calls, [Counter(), Counter()], set()) == 1, "asked twice by one run"


def drive(folder: Path, kills: int, seed: int = 1, *, known: bool = False) -> dict[str, Any]:
    """Kill races `kills` times in all, and add up their counts."""
    total: dict[str, Any] = {}
    while total.get("kills", 0) < kills:
        place = folder / str(total.get("races", 0))
        place.mkdir()
        left = kills - total.get("kills", 0)
        counts = drive_race(place, left, seed + total.get("races", 0), known=known)
        for name, value in counts.items():
            before = total.setdefault(name, name.startswith("same") * 1)
            total[name] = bool(before and value) if name.startswith("same") else before + value
    return total


def drive_race(folder: Path, kills: int, seed: int, *, known: bool) -> dict[str, Any]:
    """Run a race, kill it at most `kills` times, let it end; compare with an undisturbed one."""
    from tombola.worklists.race_file import RaceFile

    (folder / "rows.txt").write_text("\n".join(str(row) for row in range(ROWS)))
    (folder / "call.py").write_text(CALL)
    options = write_known(folder) if known else ()
    rng, path = np.random.default_rng(seed), folder / "killed.race"
    done = lost = 0
    before: dict[int, Any] = {}
    # Answers of each cell when each run began.
    answered = [Counter[str]()]
    twice: set[str] = set()
    over = False
    while done < kills and not over:
        options_: Any = {
            "cwd": folder,
            "env": environment(len(answered) - 1),
            "stdout": subprocess.PIPE,
            "start_new_session": True,
        }
        process = subprocess.Popen(command(path.name, seed, *options), **options_)
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
        now = answers(path)
        lost += sum(now.get(ticket) != value for ticket, value in before.items())
        before = now
        if path.exists():
            with RaceFile.open(path) as file:
                race = file.race
                twice = {f"{NAMES[cell.candidate]} {race.rows[cell.row]}" for cell in race.pilot}
                answered.append(Counter(_name(race.call(ticket)) for ticket in now))
        done += not over
        if done % 20 == 0:
            repeated = count_repeated(asked(folder), answered, twice)
            counts = f"{done} kills, {len(now)} answers, {repeated} repeated, {lost} lost"
            print(counts, file=sys.stderr, flush=True)
    first, second = (
        json.loads(
            subprocess.run(
                command(name, seed, *options),
                cwd=folder,
                env=environment(run),
                capture_output=True,
            ).stdout
        )
        for name, run in ((path.name, len(answered) - 1), ("undisturbed.race", _UNDISTURBED))
    )
    calls = asked(folder)
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
        "races": 1,
        "calls": sum(calls.values()),
        "repeated": count_repeated(calls, answered, twice),
        "lost": lost,
        "same_verdict": same,
        "same_answers": agree,
        "on_file_asked": sum(_is_on_file(cell) for _, cell in calls) if known else 0,
    }


def _is_on_file(cell: str) -> bool:
    name, row = cell.split()
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
