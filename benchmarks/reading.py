"""Time and memory of reading a large table, beside pyarrow and pandas.

    python benchmarks/reading.py [MEGABYTES] [FOLDER]

Writes a table of uniform losses of ten candidates as CSV and as Parquet, 63 MB of CSV by default.
Each reader runs in a process of its own, all in turn, three times; the smallest of each is printed:
seconds, processor seconds of all threads, and the largest memory of the process. `columns` is the
parser alone, `table` also finds the roles of the columns and makes the pool.
"""

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

TURNS = 3
CANDIDATES = 10
# Bytes of a line of the CSV, about.
LINE = 203
READERS = {
    "pyarrow": "import pyarrow.csv as c; go(lambda: c.read_csv(path))",
    "pandas": "import pandas as c; go(lambda: c.read_csv(path))",
    "columns": "go(lambda: read_text(Path(path), ReadOptions()))",
    "columns, no pyarrow": (
        "delimited.cells_reader = lambda size: python_cells; "
        "go(lambda: read_text(Path(path), ReadOptions()))"
    ),
    "careful parser": (
        "delimited._size_of_lines = lambda *_: None; "
        "go(lambda: read_text(Path(path), ReadOptions()))"
    ),
    "table": "go(lambda: read_table(path, kind='losses'))",
}
PARQUET_READERS = {
    "pyarrow, Parquet": "import pyarrow.parquet as c; go(lambda: c.read_table(path))",
    "pandas, Parquet": "import pandas as c; go(lambda: c.read_parquet(path))",
    "table, Parquet": "import pandas; go(lambda: read_table(path, kind='losses'))",
}
PROGRAM = """
import json, resource, sys
from pathlib import Path
from time import perf_counter, process_time
from tombola.tables import read_table
from tombola.tables.formats import delimited
from tombola.tables.formats.delimited import read_text
from tombola.tables.formats.plain_lines import python_cells
from tombola.tables.options import ReadOptions
path = sys.argv[1]
def go(read):
    start, work = perf_counter(), process_time()
    kept = read()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([perf_counter() - start, process_time() - work, peak]))
"""


def write_tables(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """Write the table as CSV and as Parquet; return the paths."""
    # Without stubs.
    arrow: Any = import_module("pyarrow")
    arrow_csv: Any = import_module("pyarrow.csv")
    parquet: Any = import_module("pyarrow.parquet")
    rows = megabytes * 10**6 // LINE
    rng = np.random.default_rng(1)
    columns = {f"model{at}": rng.random(rows) for at in range(CANDIDATES)}
    table = arrow.table({"id": [f"row {row}" for row in range(rows)], **columns})
    paths = folder / "table.csv", folder / "table.parquet"
    with paths[0].open("wb") as file:
        file.write((",".join(table.column_names) + "\n").encode())
        plain = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
        arrow_csv.write_csv(table, file, plain)
    parquet.write_table(table, paths[1])
    return paths


def measure(program: str, path: Path) -> list[float]:
    """Return seconds, processor seconds and peak megabytes of a program in a new process."""
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM + program, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


def main() -> None:
    """Print one line for each reader, with the ratio to pyarrow."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 63
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        csv_path, parquet_path = write_tables(Path(folder), megabytes)
        print(f"{csv_path.stat().st_size / 1e6:.0f} MB of CSV, {CANDIDATES} candidates")
        for path, readers in ((csv_path, READERS), (parquet_path, PARQUET_READERS)):
            best: dict[str, list[float]] = {}
            for _ in range(TURNS):
                for name, program in readers.items():
                    numbers = measure(program, path)
                    best[name] = list(map(min, best.get(name, numbers), numbers))
            first = next(iter(best.values()))
            for name, (seconds, work, peak) in best.items():
                ratios = f"{seconds / first[0]:5.1f} and {work / first[1]:5.1f} times"
                print(f"{name:20s} {seconds:7.2f} s {work:7.2f} s {ratios} {peak:7.0f} MB")


if __name__ == "__main__":
    main()
