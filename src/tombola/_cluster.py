"""Cluster: pieces of work on the workers of a Dask cluster, the same to the bit; what they share travels once to each.

What all pieces share (the table, the learners) is a plugin of the workers: the scheduler keeps it and hands it to every
worker once, also to one that comes later in the place of one that died. A table that is mapped from disk travels as its
path and a hash of its bytes. A piece whose worker dies is played again by another.
"""

import hashlib
import io
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, TypeVar
from uuid import uuid4

import cloudpickle
import numpy as np
from distributed import Client, Future, KilledWorker, WorkerPlugin, get_worker

from tombola._formatting import option_text
from tombola._provenance import environment
from tombola._types import Rows
from tombola.errors import ParameterError

Result = TypeVar("Result")

PREFETCH_ROUNDS = 1000  # pieces that are with the scheduler at a time
PATIENCE = 30  # seconds to wait for a scheduler, and for its first worker
_LOADED: dict[str, str] = {}  # files of one's own that came from elsewhere, by the names of their modules


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Let the Dask cluster at this address do what is done inside, by the configuration of joblib."""
    from joblib import parallel_config

    with _client(address) as client, parallel_config("dask", client=client):
        yield client


def _client(address: str) -> Client:
    name = option_text("cluster")
    client = Client.__new__(Client)  # at hand if it does not start: one that is left to be collected can lock up others
    try:
        client.__init__(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        client.close()
        raise ParameterError(
            f"{name}: expected the address of a Dask scheduler, got {address!r} ({str(error) or 'no answer'}); start "
            f"one with 'dask scheduler', and write {option_text('cluster', 'tcp://HOST:8786')}."
        ) from None
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        client.close()
        raise ParameterError(
            f"{name}: expected a scheduler with workers, but none came to {address} in {PATIENCE} seconds; start some "
            f"with 'dask worker {address}'."
        ) from None
    return client


def each(client: Client, work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]]) -> Generator[Result]:
    """Yield work(*piece) in the order of the pieces; what `work` carries travels once to each worker."""
    name = f"tombola-{uuid4().hex}"
    waiting: deque[Future] = deque()
    client.register_plugin(Shared(_packed(work), environment()), name=name)
    try:
        for number, piece in enumerate(pieces):
            waiting.append(client.submit(_play, name, piece, key=f"{name}-{number}", pure=False))
            if len(waiting) == PREFETCH_ROUNDS:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        client.cancel(list(waiting))
        with suppress(OSError):
            client.unregister_worker_plugin(name)


def _result(future: Future) -> Any:
    try:
        return future.result()
    except KilledWorker as killed:
        raise ParameterError(
            f"{option_text('cluster')}: expected workers that live, but several died at the same piece of work "
            f"({killed.last_worker.address} was the last); give them more memory, or fewer threads each."
        ) from None


class Shared(WorkerPlugin):  # type: ignore[misc]  # distributed has no types
    """What all pieces share: packed as it travels, and unpacked when a worker first needs it."""

    def __init__(self, packed: bytes, made_by: dict[str, str]) -> None:
        self.packed, self.made_by = packed, made_by
        self.work: Callable[..., Any] | None = None

    def setup(self, worker: Any) -> None:
        """Get ready on a worker; nothing is unpacked yet, since that takes long for a large table."""
        self.lock, self.address = Lock(), worker.address

    def ready(self) -> Callable[..., Any]:
        """Return the work; refuse to work where other code would give other numbers."""
        with self.lock:
            if self.work is None:
                self._check()
                self.work, self.packed = _unpacked(self.packed), b""
            return self.work

    def _check(self) -> None:
        here = environment()
        other = [name for name, made in self.made_by.items() if here.get(name) != made]
        if other:
            told = ", ".join(f"{name} {here.get(name)} instead of {self.made_by[name]}" for name in other)
            raise ParameterError(
                f"cluster: expected the same code on every worker, but {self.address} has {told}, which may give other "
                "numbers; install the same versions there."
            )


def _play(name: str, piece: tuple[Any, ...]) -> Any:
    shared: Shared = get_worker().plugins[name]
    return shared.ready()(*piece)


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """Packs as cloudpickle does; an array that is mapped from a file travels as the path and a hash of the file."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.memmap) and _is_whole_file(value):
            path = str(value.filename)
            return _mapped, (path, _file_hash(path), value.offset, str(value.dtype), value.shape)
        return super().reducer_override(value)


def _packed(work: Callable[..., Any]) -> bytes:
    """Return the work as it travels, after the files of one's own that it may need: no worker can import those."""
    own = [(name, str(module.__file__)) for name, module in sys.modules.items() if name.startswith("own_")]
    files = [(name, path, Path(path).read_text(encoding="utf-8")) for name, path in own]
    buffer = io.BytesIO()
    cloudpickle.dump(files, buffer)
    _Packer(buffer).dump(work)
    return buffer.getvalue()


def _unpacked(packed: bytes) -> Callable[..., Any]:
    buffer = io.BytesIO(packed)
    for name, path, text in cloudpickle.load(buffer):
        if _LOADED.get(name) != text:
            sys.modules[name] = module = ModuleType(name)
            module.__file__ = path
            exec(compile(text, path, "exec"), module.__dict__)
            _LOADED[name] = text
    work: Callable[..., Any] = cloudpickle.load(buffer)
    return work


def _is_whole_file(array: Any) -> bool:
    """Say whether an array is all that follows the header of its file, and not a part of that."""
    path = array.filename
    return (
        path is not None
        and array.flags.c_contiguous
        and Path(path).is_file()
        and Path(path).stat().st_size == array.offset + array.nbytes
    )


def _mapped(path: str, digest: str, offset: int, dtype: str, shape: tuple[int, ...]) -> Rows:
    if not Path(path).is_file() or _file_hash(path) != digest:
        raise ParameterError(
            f"cluster: expected the same {path} on every worker, since it is mapped and not sent, got "
            f"{'another file' if Path(path).is_file() else 'none'}; put it there, or read it as CSV or Parquet."
        )
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)


@cache
def _file_hash(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
