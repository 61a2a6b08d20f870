"""Progress: run many independent pieces of work, in order, with a bar and the time left when it takes long."""

import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Result = TypeVar("Result")

PATIENCE = 2.0  # seconds before a bar appears


def parallel_map(
    work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]], *, workers: int, label: str
) -> Generator[Result]:
    """Yield work(*piece) in the order of the pieces; threads share them, since compiled loops release the GIL.

    Close it if not everything is wanted: threads go on working for an iterator that is merely forgotten.
    Inside `joblib.parallel_config(backend=...)` the pieces go to that backend instead: processes, or a Dask cluster.

    >>> list(parallel_map(pow, [(1, 2), (2, 2), (3, 2)], workers=2, label="squares"))
    [1, 4, 9]
    """
    with closing(_results(work, pieces, workers)) as results:
        yield from _shown(results, len(pieces), label)


def _results(work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]], workers: int) -> Generator[Result]:
    backend, jobs = _configured()
    if hasattr(backend, "client"):
        from tombola._cluster import each

        return each(backend.client, work, pieces)
    if workers == jobs == 1:
        return (work(*piece) for piece in pieces)
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=None if workers == 1 else workers, prefer="threads", return_as="generator")
    return _stopping(parallel(delayed(work)(*piece) for piece in pieces))


def _stopping(results: Generator[Result]) -> Generator[Result]:
    """Yield results; when no more are wanted, stop those who work on them, without joblib's remark on it."""
    try:
        for result in results:  # noqa: UP028 - closing must not be passed on: it is done below, quietly
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _configured() -> tuple[Any, int]:
    """Return the backend that joblib is configured for, and how many jobs; one without joblib, which loads slowly."""
    joblib = sys.modules.get("joblib")
    return (None, 1) if joblib is None else joblib.parallel.get_active_backend()


def is_interactive() -> bool:
    """Tell whether standard error is a terminal; it may be closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def _shown(results: Iterable[Result], total: int, label: str) -> Generator[Result]:
    if not is_interactive():
        yield from results
        return
    begun = time.monotonic()
    bar = None
    try:
        for done, result in enumerate(results, start=1):
            if bar is None and time.monotonic() - begun > PATIENCE:
                bar = _bar()
                task = bar.add_task(label, total=total)
                bar.start()
            if bar is not None:
                bar.update(task, completed=done)
            yield result
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
