"""Progress: a bar on a terminal, a line in a notebook, nothing elsewhere.

rich draws its bars in notebooks with ipywidgets, which many of them lack; the display protocol of
IPython is always there.
"""

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tombola._formatting import escape_control

_Result = TypeVar("_Result")

# Quick work needs no bar; a command without a sign of life for half a second looks stuck.
_BAR_DELAY_SECONDS = 0.4
# Seconds between two updates in a notebook, each of which is a message to the browser.
_NOTEBOOK_INTERVAL = 0.2


def in_notebook() -> bool:
    """Return whether this process is a notebook kernel; does not import IPython."""
    ipython = sys.modules.get("IPython")
    shell = (
        ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    )
    # A terminal IPython has no kernel; its stderr is a terminal, where rich draws.
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookLine:
    """A line of text below a notebook cell; needs the kernel of a notebook."""

    def __init__(self) -> None:
        self._handle: Any = None

    def update(self, text: str) -> None:
        """Show this text below the notebook cell, in place of the last one."""
        self._show({"text/plain": escape_control(text, line=True)})

    def stop(self) -> None:
        """Remove the line from the notebook; do nothing if `update` was not called."""
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


def is_interactive() -> bool:
    """Return whether standard error is a terminal; False if it is closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def with_progress(results: Iterable[_Result], total: int, label: str) -> Generator[_Result]:
    """Yield the results, with a progress bar on a terminal or in a notebook.

    The bar appears after 0.4 seconds; without terminal and notebook there is none. `total` is the
    number of results.
    """
    if in_notebook():
        yield from _with_notebook_line(results, total, label)
        return
    if not is_interactive():
        yield from results
        return
    with _progress_bar(label, total) as advance:
        for result in results:
            advance()
            yield result


def with_status_label(compute: Callable[[], _Result], label: str) -> _Result:
    """Return `compute()`; after 0.4 seconds, show `label` on a terminal or notebook."""
    (result,) = with_progress((compute() for _ in range(1)), 1, label)
    return result


def _with_notebook_line(results: Iterable[_Result], total: int, label: str) -> Generator[_Result]:
    """Yield results, with a line below the cell from the delay of the bar on."""
    line = NotebookLine()
    timer = threading.Timer(
        _BAR_DELAY_SECONDS, line.update, (f"{label}: compiling (once on this machine)",)
    )
    timer.daemon = True
    start = last_shown = time.monotonic()
    timer.start()
    try:
        for done, result in enumerate(results, 1):
            timer.cancel()
            now = time.monotonic()
            if now - start > _BAR_DELAY_SECONDS and now - last_shown > _NOTEBOOK_INTERVAL:
                last_shown = now
                line.update(f"{label}: {done:,} of {total:,}")
            yield result
    finally:
        timer.cancel()
        timer.join()
        line.stop()


class _Display:
    """The progress display of this process: nested work adds lines to it.

    Two displays on one terminal would overwrite each other and leave torn lines.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._progress: Any = None
        self._n_tasks = 0

    def add(self, label: str, total: int) -> Any:
        """Add a line to the display, which appears with the first one; return its number."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        with self._lock:
            is_first = self._progress is None
            if is_first:
                self._progress = Progress(
                    TextColumn("{task.description}"),
                    BarColumn(),
                    MofNCompleteColumn(),
                    TimeRemainingColumn(),
                    console=Console(stderr=True),
                    transient=True,
                    # Output to a file must stay there; on a terminal it goes above the bars.
                    redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
                )
            self._n_tasks += 1
            task = self._progress.add_task(label, total=total)
            if is_first:
                self._progress.start()
            return task

    def update(self, task: Any, done: int, label: str) -> None:
        """Show how much of a line is done; nothing happens after its removal."""
        with self._lock:
            if self._progress is not None:
                self._progress.update(task, completed=done, description=label)

    def remove(self, task: Any) -> None:
        """Remove a line; the display vanishes with the last one."""
        with self._lock:
            self._progress.remove_task(task)
            self._n_tasks -= 1
            if not self._n_tasks:
                self._progress.stop()
                self._progress = None


_display = _Display()


@contextmanager
def _progress_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar after a short delay; yield the function that advances it."""
    lock = threading.Lock()
    done = 0
    task: Any = None
    is_over = False

    def appear() -> None:
        nonlocal task
        with lock:
            if not is_over:
                task = _display.add(f"{label}: compiling (once on this machine)", total)
                if done:
                    _display.update(task, done, label)

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            if task is not None:
                _display.update(task, done, label)

    # A timer, since the first result may take many seconds and the bar must appear before it.
    timer = threading.Timer(_BAR_DELAY_SECONDS, appear)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        with lock:
            is_over = True
            if task is not None:
                _display.remove(task)
