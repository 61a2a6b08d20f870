"""Notice on the terminal while imports and compilation delay the first output."""

import sys
import threading
from functools import partial
from typing import TextIO

# Seconds without output after which the line appears. Most commands have printed by then.
_DELAY = 0.5
_TEXT = "tombola: loading and compiling (slow only once on this machine)"
# Return to the start of the line and erase it.
_ERASE = "\r\x1b[K"


class LoadingLine:
    """Show "tombola: loading and compiling" on a terminal until the first output.

    delay: seconds after `start` at which the line appears, if nothing was printed before.
    """

    def __init__(self, delay: float = _DELAY) -> None:
        self._streams: list[TextIO] = [
            stream for stream in (sys.stdout, sys.stderr) if stream is not None
        ]
        self._lock = threading.Lock()
        self._visible = self._stopped = False
        self._timer = threading.Timer(delay, self._show)
        self._timer.daemon = True

    def start(self) -> None:
        """Print the loading line after `delay` seconds without output; return at once.

        The first write to standard output or standard error cancels the timer or erases the line.
        """
        if sys.stderr is None or not sys.stderr.isatty():
            return
        for stream in self._streams:
            # An attribute of the object hides the method of its class, for `print`, typer and rich
            # alike.
            setattr(stream, "write", partial(self._write, stream))  # noqa: B010 - mypy rejects the assignment
        self._timer.start()

    def stop(self) -> None:
        """Erase the loading line if it is visible, and never print it again."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self._timer.cancel()
            for stream in self._streams:
                vars(stream).pop("write", None)
            if self._visible:
                sys.stderr.write(_ERASE)
                sys.stderr.flush()

    def _write(self, stream: TextIO, text: str) -> int:
        self.stop()
        return stream.write(text)

    def _show(self) -> None:
        with self._lock:
            if not self._stopped:
                self._visible = True
                type(sys.stderr).write(sys.stderr, _TEXT)
                sys.stderr.flush()
