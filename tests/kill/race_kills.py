"""Kill `tombola race run` (-9) with two workers, again and again: nothing answered is repeated, nothing is lost.

`python tests/kill/race_kills.py 300` prints what was tried and what failed. A call is answered when its answer is in
the file; one that was running when the process died was not, and is made again.
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

SOURCE = Path(__file__).parent.parent.parent / "src"
NAMES = ("one", "two", "three", "four")
ROWS = 900  # of which a race of hundreds of lives needs about half
CALL = """import sys, time
name, row = sys.argv[1:]
place = int(row)
time.sleep(0.001)
value = (place * 7919 + 104729 * len(name)) % 1000 / 1000
print(round(0.5 * value + {"one": 0.01, "two": 0.0, "three": 0.25, "four": 0.02}[name], 4))
with open("asked.log", "a") as log:
    log.write(f"{name} {row}\\n")
"""


def command(file: str) -> list[str]:
    """Return the command line of the race; a tie of two keeps it long."""
    candidates = [
        part for name in NAMES for part in ("--candidate", f"{name}={sys.executable} -I -S call.py {name} {{row}}")
    ]
    start = [sys.executable, "-m", "tombola", "race", "run", "rows.txt", "--file", file, *candidates]
    return [*start, "--workers", "2", "--seed", "5", "--json", "--quiet"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}


def answers(path: Path) -> dict[int, Any]:
    """Return the answers in the file, by ticket, as SQLite itself reads them."""
    if not path.exists():
        return {}
    connection = sqlite3.connect(path, timeout=60)
    try:
        return dict(connection.execute("SELECT key, value FROM events WHERE kind = 'answer'").fetchall())
    except sqlite3.OperationalError:  # the tables are not there yet
        return {}
    finally:
        connection.close()


def asked(folder: Path) -> list[str]:
    log = folder / "asked.log"
    return log.read_text().splitlines() if log.exists() else []


def drive(folder: Path, kills: int, seed: int = 1) -> dict[str, Any]:
    """Run the race, kill it so often, let it end, and compare with one that was left in peace."""
    from tombola.persistence.race_file import RaceFile

    (folder / "rows.txt").write_text("\n".join(str(row) for row in range(ROWS)))
    (folder / "call.py").write_text(CALL)
    rng, path = np.random.default_rng(seed), folder / "killed.race"
    done = repeated = lost = 0
    before: dict[int, Any] = {}
    names: dict[int, str] = {}
    while done < kills:
        marks = len(asked(folder))
        process = subprocess.Popen(
            command(path.name), cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        start = time.monotonic()
        while process.poll() is None and len(answers(path)) == len(before) and time.monotonic() - start < 60:
            time.sleep(0.01)  # until something happens in this life
        time.sleep(0.12 * rng.random())
        over = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.1)  # calls that were running end by themselves
        now = answers(path)
        lost += sum(now.get(ticket) != value for ticket, value in before.items())
        answered = {names[ticket] for ticket in before}
        repeated += sum(line in answered for line in asked(folder)[marks:])
        before = now
        with RaceFile.open(path) as file:
            names = {event.ticket: _name(file.race.call(event.ticket)) for event in file.events}
        if over:
            break
        done += 1
        if done % 20 == 0:
            print(
                done, "kills,", len(now), "answers,", repeated, "repeated,", lost, "lost", file=sys.stderr, flush=True
            )
    end = subprocess.run(command(path.name), cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    peace = subprocess.run(
        command("peace.race"), cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    first, second = json.loads(end.stdout), json.loads(peace.stdout)
    for said in (first, second):
        said["verdict"] = said["verdict"].split(";")[0]  # how many calls were under way at the end is probability
    same = {name for name in first if first[name] == second[name]} >= {"verdict", "candidates", "answer", "proved"}
    left = answers(path)
    agree = all(answers(folder / "peace.race").get(ticket, value) == value for ticket, value in left.items())
    return {
        "kills": done, "answers": len(left), "repeated": repeated, "lost": lost, "same verdict": same,
        "same answers": agree, "verdict": first["verdict"],
    }  # fmt: skip


def _name(call: Any) -> str:
    return f"{call.candidate} {call.row}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(drive(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else 300), indent=1))
