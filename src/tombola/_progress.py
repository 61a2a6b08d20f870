"""Progress in notebooks: one line that is updated in place.

rich draws its bars with ipywidgets, which many notebooks lack; the display protocol of IPython is always there.
"""

import sys
from typing import Any

from tombola._formatting import escape_control


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook; IPython is not imported for it.

    >>> in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    # A terminal IPython has no kernel; its stderr is a terminal, where rich draws.
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookLine:
    """A line of text below the cell, updated in place, and removed at the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def update(self, text: str) -> None:
        """Show this text."""
        self._show({"text/plain": escape_control(text, line=True)})

    def stop(self) -> None:
        """Remove the line, if there is one."""
        if self._handle is not None:
            self._show({"text/plain": ""})

    def _show(self, data: dict[str, str]) -> None:
        from IPython import display

        if self._handle is None:
            handle: Any = display.DisplayHandle
            self._handle = handle()
            self._handle.display(data, raw=True)
        else:
            self._handle.update(data, raw=True)
