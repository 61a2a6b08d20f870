"""Trace the main flows: functions, files, changes of file and SQLite transactions.

    python tools/flows.py                 all flows, as a Markdown table
    python tools/flows.py race session    some of them

Kernels are interpreted, and all work is done in one thread, so that every call is seen. Imports,
and calls outside of the package, are not counted. A change of file is a call from one file of the
package into another one.
"""

import contextlib
import io
import os
import sqlite3
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

import tombola
from tombola.cli.app import app
from tombola.engine.compiler import interpreted
from tombola.racing.rules.base import Elimination
from tombola.worklists import SessionFile

PACKAGE = str(Path(tombola.__file__).parent)
ROWS, ACTIONS = 60, ("a", "b", "c")
RACE_ROWS = 14


@dataclass
class Trace:
    """Count the calls of a flow.

    functions: calls by file and first line.
    changes: calls from one of our files into another one.
    transactions: of SQLite that write.
    updates: rows that an elimination rule has processed.
    """

    functions: Counter[tuple[str, int]] = field(default_factory=Counter)
    changes: int = 0
    transactions: int = 0
    updates: int = 0

    def on_call(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count one call; a function for `sys.setprofile`."""
        code = frame.f_code
        # Comprehensions and lambdas are parts of a function, the body of a module is an import.
        if event != "call" or code.co_name[0] == "<" or not code.co_filename.startswith(PACKAGE):
            return
        self.functions[code.co_filename, code.co_firstlineno] += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        self.changes += caller is not None and caller.f_code.co_filename != code.co_filename

    def on_statement(self, statement: str) -> None:
        """Count a statement that begins a transaction; a function for SQLite."""
        self.transactions += statement.lstrip().upper().startswith("BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Count what happens in this block."""
        connect, update = sqlite3.connect, Elimination.update

        def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*arguments, **options)
            connection.set_trace_callback(self.on_statement)
            return connection

        def counted(rule: Elimination, losses: Any) -> None:
            self.updates += 1
            update(rule, losses)

        with (
            mock.patch("sqlite3.connect", traced),
            mock.patch.object(Elimination, "update", counted),
        ):
            threading.setprofile(self.on_call)
            sys.setprofile(self.on_call)
            try:
                yield
            finally:
                sys.setprofile(None)
                threading.setprofile(None)


def run(*arguments: str) -> None:
    """Run a command of tombola in this process, without its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        app(arguments, standalone_mode=False)


def compare() -> None:
    """`tombola compare` with a page, on 60 x 3."""
    settings = ("--repetitions", "4", "--workers", "1", "--seed", "1")
    run("compare", "losses.csv", "--losses", *settings, "--out", "page.html")


def race() -> None:
    """`tombola race run` with two commands on 14 rows."""
    candidates = [
        f"{name}={sys.executable} -c print({loss}) {{row}}"
        for name, loss in (("a", 0.1), ("b", 0.9))
    ]
    options = [part for candidate in candidates for part in ("--candidate", candidate)]
    settings = ("--workers", "1", "--seed", "1", "--level", "1e-9", "--quiet")
    run("race", "run", "rows.txt", "--losses", "--file", "x.race", *options, *settings)


def session_file() -> None:
    """A session file: 20 tickets, 20 outcomes, closed and opened again."""
    ids = map(str, range(ROWS))
    with SessionFile.start("x.run", ids, list(ACTIONS), tombola.UCB1(), seed=1) as session:
        for ticket in session.next(20):
            session.record(ticket.ticket, loss=0.5)
    with SessionFile.open("x.run") as session:
        session.status()


def session() -> None:
    """A session: 20 times act and observe."""
    live = tombola.Session(tombola.UCB2(), 3, ROWS, seed=1)
    for _ in range(20):
        live.observe(live.act(), loss=0.5)


def reproduce() -> None:
    """`tombola reproduce` of one claim, with its page."""
    run(
        "reproduce",
        "--claims",
        "de-finetti",
        "--out",
        "reproduction",
        "--workers",
        "1",
        "--seed",
        "1",
    )


def certify() -> None:
    """`tombola audit --best` of a table, with its page."""
    run("audit", "losses.csv", "--best", "--losses", "--out", "certificate.html", "--seed", "1")


FLOWS: dict[str, Callable[[], None]] = {
    "compare": compare,
    "race run": race,
    "SessionFile": session_file,
    "Session": session,
    "reproduce": reproduce,
    "certify": certify,
}


def traced(flow: Callable[[], None]) -> Trace:
    """Run a flow in an empty folder, once for its imports, and then traced."""
    for trace in (None, Trace()):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), interpreted():
            os.environ["TOMBOLA_CACHE"] = folder
            losses = np.random.default_rng(0).random((ROWS, len(ACTIONS))) * [0.3, 0.6, 0.9]
            np.savetxt("losses.csv", losses, "%.3f", ",", header=",".join(ACTIONS), comments="")
            Path("rows.txt").write_text(
                "\n".join(f"row {number}" for number in range(RACE_ROWS)) + "\n"
            )
            with (
                contextlib.nullcontext() if trace is None else trace.active(),
                contextlib.suppress(SystemExit),
            ):
                flow()
    assert trace is not None
    return trace


def main(names: list[str]) -> None:
    """Print the table of the flows that are named, or of all."""
    print("| flow | functions | calls | files | changes of file | transactions | rows of a race |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in names or FLOWS:
        trace = traced(FLOWS[name])
        files = len({file for file, _ in trace.functions})
        counts = (len(trace.functions), trace.functions.total(), files)
        numbers = (*counts, trace.changes, trace.transactions, trace.updates)
        print(f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
