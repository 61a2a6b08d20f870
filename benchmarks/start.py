"""What it takes to start: importing tombola, and the command line's help, each in a fresh process."""

import subprocess
import sys
from statistics import median
from time import perf_counter

from measure import Row, below

TURNS = 7
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
