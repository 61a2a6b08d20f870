"""Start: `tombola` and `python -m tombola`; loading the command line takes a moment, in which Ctrl-C is heard too."""

import os
import sys
from _thread import interrupt_main
from contextlib import suppress
from threading import Timer
from typing import Any

from tombola.errors import EXIT_SIGTERM, STOPPED

SOON = 0.05  # seconds


def main() -> None:
    """Load the command line, and run it; one that is stopped waits for no thread that is still at work."""
    sys.unraisablehook = reraise_interrupt
    try:
        from tombola.cli.app import main as run

        run()
    except KeyboardInterrupt:  # only while it is loaded: after that it is heard there
        os.write(2, b"tombola: stopped.\n")
        os._exit(STOPPED)
    except SystemExit as ended:
        if ended.code not in (STOPPED, EXIT_SIGTERM):
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # nobody reads on
                stream.flush()
        # As Python ends by itself it waits for threads, and a solver that is taken from under one aborts the process.
        os._exit(STOPPED if ended.code == STOPPED else EXIT_SIGTERM)


def reraise_interrupt(lost: Any) -> None:
    """Let Ctrl-C come again soon, if it came where Python drops what is raised: as an object is deleted."""
    if lost.exc_type is not None and issubclass(lost.exc_type, KeyboardInterrupt):
        timer = Timer(SOON, interrupt_main)
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
