"""Speed targets of tombola, measured in one run: `make bench`.

Arguments are names of parts; default: all. To add a part, write a function that returns rows
(measure.py builds them) and list it in PARTS. Machines differ and are noisy, so the targets are
mostly ratios.
"""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from statistics import median
from time import perf_counter

from bandits import against_c, against_peers, random_order, random_pool
from classes import erm_rounds
from footprint import memory
from full import full_against_c
from measure import Row, best_times, format_table, limit_row, skipped_row, speedup_row
from peers import LossRows, installed_peers
from tombola import UCB1, Session

SESSION_ROUNDS, TURNS = 10_000, 7
# Largest time of one round, in microseconds.
ROUND_LIMIT = 4.0
# Statement -> largest time in milliseconds; None: no target.
IMPORTS = {
    "import tombola": 150,
    "import numpy": None,
    "from tombola import Pool, UCB1, compare, play": None,
}
IMPORT_SCRIPT = """
from time import perf_counter
start = perf_counter()
{statement}
seconds = perf_counter() - start
import sys
print(seconds, "numba" in sys.modules)
"""
HELP_SCRIPT = (
    "import sys; sys.argv = ['tombola', '--help']; from tombola.cli.app import main; main()"
)


def play_next_session(sessions: Iterator[Session], rows: LossRows) -> float:
    """Play the rows with the next session; return the total loss."""
    session, total = next(sessions), 0.0
    for row in rows:
        ticket = session.act()
        loss = row[ticket.action]
        total += loss
        session.observe(ticket, loss=loss)
    return total


def session_rounds() -> list[Row]:
    """Time act and observe of UCB1, alone and against river."""
    peers, missing = installed_peers()
    river = [peer for peer in peers if (peer.library, peer.algorithm) == ("river", "UCB1")]
    rows = []
    for actions in (2, 10):
        work = f"Session act + observe, UCB1, k = {actions}"
        losses: LossRows = (
            random_pool(SESSION_ROUNDS, actions).losses[random_order(SESSION_ROUNDS)].tolist()
        )
        # Built before the clock starts.
        sessions = iter([Session(UCB1(), actions, SESSION_ROUNDS, seed=0) for _ in range(TURNS)])
        others = {peer.library: partial(peer.play, losses) for peer in river}
        best = best_times(
            {"tombola": partial(play_next_session, sessions, losses), **others}, TURNS
        )
        ours = best["tombola"] / SESSION_ROUNDS
        rows.append(limit_row(work, ours * 1e6, ROUND_LIMIT, "us"))
        rows += [
            speedup_row(work, ours, peer.library, best[peer.library] / SESSION_ROUNDS, 1)
            for peer in river
        ]
    if not river:
        rows.append(skipped_row("Session act + observe", f"river: {missing['river']}"))
    return rows


def start_up() -> list[Row]:
    """Time imports in a new process, and `tombola --help` as a whole."""
    rows = []
    for statement, limit in IMPORTS.items():
        outputs = [
            run_python(IMPORT_SCRIPT.format(statement=statement)).split() for _ in range(TURNS)
        ]
        seconds, numba = (
            [float(one) for one, _ in outputs],
            any(loaded == "True" for _, loaded in outputs),
        )
        note = "loads Numba" if numba else "no Numba"
        rows.append(
            limit_row(statement, 1e3 * median(seconds), limit, "ms", note, condition=not numba)
        )
    rows.append(
        limit_row(
            "tombola --help",
            1e3 * median(map(help_seconds, range(TURNS))),
            300,
            "ms",
            "the whole process",
        )
    )
    return rows


def help_seconds(_: int) -> float:
    """Return the seconds of `tombola --help`."""
    start = perf_counter()
    run_python(HELP_SCRIPT)
    return perf_counter() - start


def run_python(source: str) -> str:
    """Run Python code in a new process; return its output."""
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    ).stdout


PARTS = {
    part.__name__: part
    for part in (
        against_c,
        against_peers,
        full_against_c,
        erm_rounds,
        session_rounds,
        start_up,
        memory,
    )
}


def main(names: list[str]) -> None:
    """Measure the named parts, or all, and print the table."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(
            f"run.py: expected names of {', '.join(PARTS)}, got {unknown[0]!r}; write one of those."
        )
    rows: list[Row] = []
    start = perf_counter()
    for name in names or PARTS:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        rows += PARTS[name]()
    print(format_table(rows))
    reached = [row.reached for row in rows if row.reached is not None]
    print(f"{sum(reached)} of {len(reached)} targets reached, in {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
