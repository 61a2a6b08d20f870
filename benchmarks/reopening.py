"""Measure large session files and sessions: opening a file again, and saving a session.

    python benchmarks/reopening.py run 1000000 100000 FOLDER    tickets of a session, of them pending
    python benchmarks/reopening.py session 5000000 FOLDER       rounds of a session

Times are processor seconds of one process that does nothing else; memory is the most that it ever had.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tombola import Session
from tombola.learners import UCB1
from tombola.persistence import Outcome, SessionFile

PIECE = 20_000


def make_run(tickets: int, pending: int, file: Path) -> None:
    """Write a run in which every so many-th ticket is pending, by the inner calls: rows need not be looked up."""
    began, every = time.process_time(), tickets // pending
    with SessionFile.start(file, (str(i) for i in range(tickets + 10)), ["a", "b", "c"], UCB1(), seed=1) as run:
        for begun in range(0, tickets, PIECE):
            with run._writing() as session:
                for round_ in run._issue(min(PIECE, tickets - begun)):
                    if round_ % every:
                        run._record(session, Outcome(round_, (round_ * 7919 % 101) / 100))
    print(f"{tickets:,} tickets, {pending:,} pending: written in {time.process_time() - began:.1f} s", flush=True)


WORK = {
    "open and read one state": "run.state",
    "open and hand out a ticket": "run.next(1)",
    "open and record an outcome": "run.record({every}, loss=0.5)",
    "open and list what is pending": "run.pending",
    "open and show the status": "run.status()",
    "open and write the page": "session_page(run)",
    "open and export a CSV": "export_tickets(run, Path(sys.argv[1] + '.csv'))",
}
CHILD = """
import resource, sys, time  # processor time counts from the start of the process, imports included
from pathlib import Path
from tombola.persistence import SessionFile
from tombola.persistence.session_csv import export_tickets
from tombola.persistence.session_page import session_page
with SessionFile.open(sys.argv[1]) as run:
    {work}
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def measure_run(tickets: int, pending: int, folder: Path) -> None:
    """Open a run in a new process for every kind of work, twice: with nothing compiled before the first."""
    file = folder / f"{tickets}.run"
    if not file.exists():  # in a process of its own: what a process had at most counts for its children too
        subprocess.run([sys.executable, __file__, "make", str(tickets), str(pending), file], check=True)
    print(f"{file.stat().st_size / 2**20:.0f} MB", flush=True)
    for words, work in WORK.items():
        child = CHILD.format(work=work.format(every=tickets // pending))
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", child, file], capture_output=True, text=True, check=True)
            seconds, memory = map(float, done.stdout.split())
            print(f"{words}: {seconds:.2f} s, {memory:.0f} MB", flush=True)


def measure_session(rounds: int, folder: Path) -> None:
    """Play a session, save it, and print what a ticket takes and what saving needs on top."""
    session = Session(UCB1(), 3, rounds, seed=1)
    before = _memory()
    losses = np.random.default_rng(1).random(PIECE).tolist()
    for round_ in range(rounds):
        session.observe(session.act(), loss=losses[round_ % PIECE])
    played = _memory()
    print(f"{rounds:,} rounds: {(played - before) * 2**20 / rounds:.0f} bytes a ticket", flush=True)
    began = time.process_time()
    session.save(folder / "session.json")
    print(f"saved in {time.process_time() - began:.1f} s, at most {_memory():.0f} MB, {_memory() - played:.0f} more")
    print(f"{(folder / 'session.json').stat().st_size / 2**20:.0f} MB on the disk", flush=True)
    del session
    began = time.process_time()
    Session.load(folder / "session.json")
    print(f"loaded in {time.process_time() - began:.1f} s, at most {_memory():.0f} MB")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1] in ("run", "make"):
        work = measure_run if sys.argv[1] == "run" else make_run
        work(int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    else:
        measure_session(int(sys.argv[2]), Path(sys.argv[3]))
