"""Parallel map over independent pieces of work.

It uses threads, or the backend that joblib is configured for.
"""

import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, TypeVar

from tombola.parallel.progress import with_progress

_Result = TypeVar("_Result")


def parallel_map(
    work: Callable[..., _Result], pieces: Sequence[tuple[Any, ...]], *, workers: int, label: str
) -> Generator[_Result]:
    """Yield work(*piece) in order, computed by threads (loops release the GIL).

    Close the generator if not all results are used; otherwise its threads continue. Inside
    `joblib.parallel_config(backend=...)` the pieces go to that backend: processes, or a Dask
    cluster.

    pieces: arguments of each call. label: text of the progress bar.

    >>> list(parallel_map(pow, [(1, 2), (2, 2), (3, 2)], workers=2, label="squares"))
    [1, 4, 9]
    """
    with closing(_results(work, pieces, workers)) as results:
        yield from with_progress(results, len(pieces), label)


def _results(
    work: Callable[..., _Result], pieces: Sequence[tuple[Any, ...]], workers: int
) -> Generator[_Result]:
    backend: Any
    joblib = sys.modules.get(
        "joblib"
    )  # not imported here: a backend is configured only if it is loaded
    backend, jobs = (None, 1) if joblib is None else joblib.parallel.get_active_backend()
    if hasattr(backend, "client"):  # joblib's Dask backend
        from tombola.parallel.cluster import cluster_map

        return cluster_map(backend.client, work, pieces)
    if workers == jobs == 1:
        return (work(*piece) for piece in pieces)
    from joblib import Parallel, delayed

    parallel = Parallel(
        n_jobs=None if workers == 1 else workers, prefer="threads", return_as="generator"
    )
    return _quietly_closed(parallel(delayed(work)(*piece) for piece in pieces))


def _quietly_closed(results: Generator[_Result]) -> Generator[_Result]:
    """Yield results; on close, stop the workers without joblib's warning."""
    try:
        for result in results:  # noqa: UP028 - close() must not be passed on: it is called below, without the warning
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()
