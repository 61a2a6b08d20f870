"""Parallel map over independent pieces of work, with a progress bar on a terminal."""

import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from tombola._progress import NotebookLine, in_notebook

if TYPE_CHECKING:
    from rich.progress import Progress

Result = TypeVar("Result")

# Work of less than a second needs no bar; after a second without a sign of life people press Ctrl-C.
BAR_DELAY_SECONDS = 0.8
# Seconds between two updates in a notebook, each of which is a message to the browser.
NOTEBOOK_INTERVAL = 0.2


def parallel_map(
    work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]], *, workers: int, label: str
) -> Generator[Result]:
    """Yield work(*piece) in order, computed by threads (loops release the GIL).

    Close the generator if not all results are used; otherwise its threads continue. Inside
    `joblib.parallel_config(backend=...)` the pieces go to that backend: processes, or a Dask cluster.

    >>> list(parallel_map(pow, [(1, 2), (2, 2), (3, 2)], workers=2, label="squares"))
    [1, 4, 9]
    """
    with closing(_results(work, pieces, workers)) as results:
        yield from _with_progress(results, len(pieces), label)


def _results(work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]], workers: int) -> Generator[Result]:
    backend, jobs = _configured_backend()
    if hasattr(backend, "client"):  # joblib's Dask backend
        from tombola._cluster import cluster_map

        return cluster_map(backend.client, work, pieces)
    if workers == jobs == 1:
        return (work(*piece) for piece in pieces)
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=None if workers == 1 else workers, prefer="threads", return_as="generator")
    return _quietly_closed(parallel(delayed(work)(*piece) for piece in pieces))


def _quietly_closed(results: Generator[Result]) -> Generator[Result]:
    """Yield results; on close, stop the workers without joblib's warning."""
    try:
        for result in results:  # noqa: UP028 - close() must not be passed on: it is called below, without the warning
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _configured_backend() -> tuple[Any, int]:
    """Return joblib's configured backend and jobs, without importing joblib."""
    joblib = sys.modules.get("joblib")
    return (None, 1) if joblib is None else joblib.parallel.get_active_backend()


def is_interactive() -> bool:
    """Return whether standard error is a terminal; a closed one is not."""
    return sys.stderr is not None and sys.stderr.isatty()


def _with_progress(results: Iterable[Result], total: int, label: str) -> Generator[Result]:
    if in_notebook():
        yield from _with_notebook_line(results, total, label)
        return
    if not is_interactive():
        yield from results
        return
    with progress_bar(label, total) as advance:
        for result in results:
            advance()
            yield result


def _with_notebook_line(results: Iterable[Result], total: int, label: str) -> Generator[Result]:
    """Yield results, with a line below the cell from the delay of the bar on."""
    line = NotebookLine()
    timer = threading.Timer(BAR_DELAY_SECONDS, line.update, (f"{label}: compiling (once on this machine)",))
    timer.daemon = True
    start = shown = time.monotonic()
    timer.start()
    try:
        for done, result in enumerate(results, 1):
            timer.cancel()
            now = time.monotonic()
            if now - start > BAR_DELAY_SECONDS and now - shown > NOTEBOOK_INTERVAL:
                shown = now
                line.update(f"{label}: {done:,} of {total:,}")
            yield result
    finally:
        timer.cancel()
        timer.join()
        line.stop()


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar after a short delay; yield the function that advances it.

    Until the first piece is done, the bar reads "compiling (once on this machine)": the first piece of a learner
    compiles it, and nothing else takes long before the first result.
    """
    bar = _bar()
    task = bar.add_task(f"{label}: compiling (once on this machine)", total=total)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        bar.update(task, completed=done, description=label)

    # A timer, since the first result may take many seconds and the bar must appear before it.
    timer = threading.Timer(BAR_DELAY_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
