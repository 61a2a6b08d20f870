"""Dask clusters through joblib's Dask backend, with bit-identical results.

The work (table and learners) travels once to every worker; a table that is mapped from a file
travels as its path (`mapped_arrays`). A piece whose worker dies is computed again by another one.
"""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import cloudpickle
from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError
from joblib import Parallel, delayed, parallel_config

from tombola._formatting import option_text
from tombola.engine.provenance import environment
from tombola.errors import ParameterError
from tombola.parallel import mapped_arrays

_Result = TypeVar("_Result")

_CONNECT_SECONDS = 30  # to reach the scheduler, and again for its first worker
_USER_MODULE_PREFIX = "tombola_user_"  # of modules loaded from FILE.py:LEARNER
_MAX_FAILURES = 3  # in a row, without a result in between


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """Use a Dask cluster for joblib inside a `with` block; yield its client.

    Raises ParameterError if there is no scheduler at the address, such as "tcp://127.0.0.1:8786",
    or it has no worker.
    """
    with _client(address) as client, parallel_config("dask", client=client):
        yield client


def _client(address: str) -> Client:
    name = option_text("cluster")
    # Made in two steps, so that it can be closed if it does not start: one that is left to the
    # garbage collector can wait for a lock that its own thread holds.
    client = Client.__new__(Client)
    try:
        client.__init__(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        client.close()
        raise ParameterError(
            f"{name}: expected the address of a Dask scheduler, got {address!r} "
            f"({str(error) or 'no answer'}); start "
            f"one with 'dask scheduler', and write {option_text('cluster', 'tcp://HOST:8786')}."
        ) from None
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except TimeoutError:
        client.close()
        raise ParameterError(
            f"{name}: expected a scheduler with workers, got none at {address} in "
            f"{_CONNECT_SECONDS} seconds; start "
            f"some with 'dask worker {address}'."
        ) from None
    return client


def cluster_map(
    client: Client, work: Callable[..., _Result], pieces: Sequence[tuple[Any, ...]]
) -> Generator[_Result]:
    """Yield work(*piece) in order, computed by the workers of a Dask cluster.

    Raises ParameterError if the same piece fails three times because its workers die.
    """
    shared = _SharedWork(work)
    done = 0
    failures = 0
    while done < len(pieces):
        try:
            with parallel_config("dask", client=client, scatter=[shared]):
                for result in Parallel(return_as="generator")(
                    delayed(_call)(shared, *piece) for piece in pieces[done:]
                ):
                    done = done + 1
                    failures = 0
                    yield result
        except (KilledWorker, FutureCancelledError):
            # Every worker that held the shared work has died: scatter it again, to those that run
            # now.
            failures += 1
            if failures == _MAX_FAILURES:
                raise ParameterError(
                    f"{option_text('cluster')}: expected workers that keep running, got "
                    f"{failures} failures at the "
                    "same piece of work; give them more memory, or fewer threads each."
                ) from None


def _call(shared: "_SharedWork", *piece: Any) -> Any:
    return shared(*piece)


class _SharedWork:
    """The work of all pieces, serialised; a worker unpacks it at the first call."""

    def __init__(self, work: Callable[..., Any]) -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith(
                _USER_MODULE_PREFIX
            ):  # workers cannot import a user's file: send its classes by value
                cloudpickle.register_pickle_by_value(module)
        self.packed = mapped_arrays.dumps(work)
        self.environment = environment()
        self._work: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_work": None}

    def __call__(self, *piece: Any) -> Any:
        if self._work is None:
            _check_environment(self.environment)
            self._work = cloudpickle.loads(self.packed)
        return self._work(*piece)


def _check_environment(expected: dict[str, str]) -> None:
    """Raise if the versions of packages here differ: they may compute other numbers."""
    here = environment()
    other = [
        f"{name} {here.get(name)} instead of {version}"
        for name, version in expected.items()
        if here.get(name) != version
    ]
    if other:
        raise ParameterError(
            f"cluster: expected the same code on every worker, got {', '.join(other)} on one of "
            "them, which may "
            "compute other numbers; install the same versions there."
        )
