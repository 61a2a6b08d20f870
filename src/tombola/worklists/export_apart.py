"""Export a long list in a process of its own, so that a server goes on at full speed.

An export of a million tickets computes for seconds. A thread that computes holds up the others of
its process, and more so when the machine has other work. The other process opens the file beside
the server, by its snapshot, and has a lower priority.
"""

import os
import subprocess
import sys
from pathlib import Path

from tombola.worklists.work_file import open_work_file

# Added to the niceness of the other process, where there is one.
_NICENESS = 10


def export_apart(source: Path, target: Path) -> bool:
    """Export the list in a file to a table, by another process; return whether it succeeded."""
    command = [sys.executable, "-m", __name__, str(source.absolute()), str(target.absolute())]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _main() -> None:
    source, target = map(Path, sys.argv[1:])
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    with open_work_file(source, only_reads=True) as file:
        file.export(target)


if __name__ == "__main__":
    _main()
