"""Time and memory of large session files and saved sessions.

    python benchmarks/reopening.py run 1000000 100000 FOLDER    tickets of a session file, pending
                                                                ones
    python benchmarks/reopening.py session 5000000 FOLDER       rounds of a session

Times are processor seconds of a process of its own; memory is its peak.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tombola import Session
from tombola.learners import UCB1
from tombola.worklists import Outcome, SessionFile

# Tickets written in one transaction, and different losses of a session.
BATCH = 20_000
# Rows that are left in a session file, for benchmarks that go on with it.
_MORE = 200_000


def write_run(tickets: int, pending: int, file: Path) -> None:
    """Write a session file ; pending tickets are equally spaced."""
    began, every = time.process_time(), tickets // pending
    with SessionFile.start(
        file, (str(i) for i in range(tickets + _MORE)), ["a", "b", "c"], UCB1(), seed=1
    ) as run:
        for first in range(0, tickets, BATCH):
            with run.writing():
                issued = [task.ticket for task in run.next(min(BATCH, tickets - first))]
                run.record_all(
                    [
                        Outcome(ticket, (ticket * 7919 % 101) / 100)
                        for ticket in issued
                        if ticket % every
                    ]
                )
    print(
        f"{tickets:,} tickets, {pending:,} pending: written in {time.process_time() - began:.1f} s",
        flush=True,
    )


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
import resource, sys, time  # processor time includes the imports
from pathlib import Path
from tombola.worklists import SessionFile
from tombola.worklists.ticket_tables import export_tickets
from tombola.worklists.session_page import session_page
with SessionFile.open(sys.argv[1]) as run:
    {work}
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def measure_run(tickets: int, pending: int, folder: Path) -> None:
    """Open a file in new processes for each kind of work; the first one compiles."""
    file = folder / f"{tickets}.run"
    # In a process of its own, because children inherit the peak of their parent.
    if not file.exists():
        subprocess.run(
            [sys.executable, __file__, "make", str(tickets), str(pending), file], check=True
        )
    print(f"{file.stat().st_size / 2**20:.0f} MB", flush=True)
    for words, work in WORK.items():
        child = CHILD.format(work=work.format(every=tickets // pending))
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", child, file], capture_output=True, text=True, check=True
            )
            seconds, memory = map(float, done.stdout.split())
            print(f"{words}: {seconds:.2f} s, {memory:.0f} MB", flush=True)
    subprocess.run([sys.executable, "-c", WAITS, file], check=True)


# What the next caller waits for, one after the other, in a session that is open: a correction of
# the first ticket (the first one also loads the compiler, as a server does when it starts), and a
# batch with one conflict.
WAITS = """
import sys, time
from contextlib import suppress
from tombola.errors import ConflictError
from tombola.worklists import Outcome, SessionFile
with SessionFile.open(sys.argv[1]) as run:
    run.prepare()
    run.issued
    new = run.next(2)[0].ticket
    tries = {
        "correct ticket 2 in the first use": lambda: run.amend(2, loss=0.25),
        "correct ticket 2": lambda: run.amend(2, loss=0.75),
        "correct the last ticket but 9": lambda: run.amend(new - 9, loss=0.25),
        "reject a batch": lambda: run.record_all([Outcome(new, 0.5), Outcome(3, 0.123)]),
        "next": lambda: run.next(1),
    }
    for words, call in tries.items():
        began, cpu = time.perf_counter(), time.process_time()
        with suppress(ConflictError):
            call()
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(f"{words}: {wall:.3f} s, {cpu:.3f} s of processor", flush=True)
"""


def measure_session(rounds: int, folder: Path) -> None:
    """Play, save and load a session; print memory per ticket, times and peaks."""
    session = Session(UCB1(), 3, rounds, seed=1)
    before = _peak_memory()
    losses = np.random.default_rng(1).random(BATCH).tolist()
    for round_ in range(rounds):
        session.observe(session.act(), loss=losses[round_ % BATCH])
    played = _peak_memory()
    print(f"{rounds:,} rounds: {(played - before) * 2**20 / rounds:.0f} bytes a ticket", flush=True)
    began = time.process_time()
    session.save(folder / "session.json")
    seconds, peak = time.process_time() - began, _peak_memory()
    print(f"saved in {seconds:.1f} s, at most {peak:.0f} MB, {peak - played:.0f} more")
    print(f"{(folder / 'session.json').stat().st_size / 2**20:.0f} MB on the disk", flush=True)
    del session
    began = time.process_time()
    Session.load(folder / "session.json")
    print(f"loaded in {time.process_time() - began:.1f} s, at most {_peak_memory():.0f} MB")


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1] in ("run", "make"):
        work = measure_run if sys.argv[1] == "run" else write_run
        work(int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    else:
        measure_session(int(sys.argv[2]), Path(sys.argv[3]))
