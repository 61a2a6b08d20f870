"""Entry point of `tombola` and `python -m tombola`, with Ctrl-C during import."""

import os
import sys
from _thread import interrupt_main
from contextlib import suppress
from threading import Timer
from typing import Any

from tombola.cli.waiting_notice import LoadingLine
from tombola.errors import EXIT_SIGINT, EXIT_SIGTERM

# Seconds until a dropped Ctrl-C is raised again; by then Python has left the code that drops
# exceptions.
_RETRY_DELAY = 0.05


def main() -> None:
    """Import and run the command line; after an interrupt, exit without waiting.

    The exit status is `EXIT_SIGINT` or `EXIT_SIGTERM` then.
    """
    sys.unraisablehook = _reraise_interrupt
    loading = LoadingLine()
    loading.start()
    try:
        from tombola.cli.app import main as run

        run()
    except KeyboardInterrupt:  # during the import; later the command line handles it
        loading.stop()
        os.write(2, b"tombola: stopped.\n")
        os._exit(EXIT_SIGINT)
    except SystemExit as ended:
        if ended.code not in (EXIT_SIGINT, EXIT_SIGTERM):
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # the reader has closed the pipe
                stream.flush()
        # At a normal exit Python waits for threads, and a solver that loses its thread aborts the
        # process.
        os._exit(EXIT_SIGINT if ended.code == EXIT_SIGINT else EXIT_SIGTERM)
    finally:
        loading.stop()


def _reraise_interrupt(unraisable: Any) -> None:
    """Raise Ctrl-C again, if it came where Python drops exceptions (in __del__)."""
    if unraisable.exc_type is not None and issubclass(unraisable.exc_type, KeyboardInterrupt):
        timer = Timer(_RETRY_DELAY, interrupt_main)
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
