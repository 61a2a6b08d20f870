"""The speed targets of tombola, measured side by side in one run: `make bench`.

To add a row, write a function that returns rows (measure.py has the shapes) and list it here. Machines are noisy and
differ, so what counts are the ratios; names given as arguments choose parts of the table.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter

from bandits import against_c, against_peers, order_of, pool_of
from classes import erm_rounds
from footprint import memory
from full import against_gather, simulation_against_gathers
from measure import Row, below, faster, left_out, race, table
from peers import LossRows, peers
from tombola import UCB1, Session

# Rounds of a session, turns of all that is timed here, and the limit of a round in microseconds.
ROUNDS, TURNS, LIMIT = 10_000, 7, 4.0
IMPORTS = {"import tombola": 150, "import numpy": None, "from tombola import Pool, UCB1, compare, play": None}
IMPORT = """
from time import perf_counter
start = perf_counter()
{statement}
seconds = perf_counter() - start
import sys
print(seconds, "numba" in sys.modules)
"""
HELP = "import sys; sys.argv = ['tombola', '--help']; from tombola.cli.app import main; main()"


def live(session: Session, rows: LossRows) -> float:
    """Play the rows through a session, as one would by hand."""
    total = 0.0
    for row in rows:
        ticket = session.act()
        loss = row[ticket.action]
        total += loss
        session.observe(ticket, loss=loss)
    return total


def next_live(sessions: Iterator[Session], rows: LossRows) -> float:
    """Play the rows through the next of the sessions."""
    return live(next(sessions), rows)


def session_rounds() -> list[Row]:
    """Time act and observe of UCB1, alone and against river."""
    found, missing = peers()
    river = [peer for peer in found if (peer.library, peer.algorithm) == ("river", "UCB1")]
    rows = []
    for actions in (2, 10):
        work = f"Session act + observe, UCB1, k = {actions}"
        pool = pool_of(ROUNDS, actions)
        lists: LossRows = pool.losses[order_of(ROUNDS)].tolist()
        fresh = iter([Session(UCB1(), actions, ROUNDS, seed=0) for _ in range(TURNS)])  # made before the clock starts
        rivals = {peer.library: partial(peer.play, lists) for peer in river}
        best = race({"tombola": partial(next_live, fresh, lists), **rivals}, TURNS)
        ours = best["tombola"] / ROUNDS
        rows.append(below(work, ours * 1e6, LIMIT, "us"))
        rows += [faster(work, ours, peer.library, best[peer.library] / ROUNDS, 1) for peer in river]
    if not river:
        rows.append(left_out("Session act + observe", f"river: {missing['river']}"))
    return rows


def start_up() -> list[Row]:
    """Time imports from inside a fresh process, and the help from outside, with Python's own start."""
    rows = []
    for statement, limit in IMPORTS.items():
        seconds, numba = zip(*(imported(statement) for _ in range(TURNS)), strict=True)
        note = "loads Numba" if any(numba) else "no Numba"
        rows.append(below(statement, 1e3 * median(seconds), limit, "ms", note, also=not any(numba)))
    rows.append(below("tombola --help", 1e3 * median(helped() for _ in range(TURNS)), 300, "ms", "the whole process"))
    return rows


def imported(statement: str) -> tuple[float, bool]:
    """Return the seconds a statement takes in a fresh process, and whether it loads Numba."""
    seconds, numba = python(IMPORT.format(statement=statement)).split()
    return float(seconds), numba == "True"


def helped() -> float:
    """Return the seconds from the command to the end of its help."""
    start = perf_counter()
    python(HELP)
    return perf_counter() - start


def python(source: str) -> str:
    """Run some Python in a fresh process, and return what it prints."""
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout


PARTS: list[Callable[[], list[Row]]] = [
    against_c,
    against_peers,
    against_gather,
    simulation_against_gathers,
    erm_rounds,
    session_rounds,
    start_up,
    memory,
]


def main(names: list[str]) -> None:
    """Measure the parts that are named, all if none is, and print the table."""
    known = {part.__name__: part for part in PARTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"run.py: expected names of {', '.join(known)}, got {unknown[0]!r}; write one of those.")
    rows: list[Row] = []
    start = perf_counter()
    for name in names or known:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        rows += known[name]()
    print(table(rows))
    reached = [row.reached for row in rows if row.reached is not None]
    print(f"{sum(reached)} of {len(reached)} targets reached, in {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
