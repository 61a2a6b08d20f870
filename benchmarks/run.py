"""The speed targets of tombola, measured side by side in one run: `make bench`.

To add a row, write a function that returns rows (measure.py has the shapes) and list it here. Machines are noisy and
differ, so what counts are the ratios; names given as arguments choose parts of the table.
"""

import sys
from collections.abc import Callable
from time import perf_counter

from bandits import against_c, against_peers
from classes import erm_rounds
from footprint import memory
from full import against_gather, simulation_against_gathers
from live import session_rounds
from measure import Row, table
from start import start_up

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
