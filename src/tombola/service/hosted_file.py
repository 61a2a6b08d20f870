"""One file of the service with its writer thread; all clients share it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from tombola.errors import TombolaError
from tombola.service.problems import ProblemError, problem_from
from tombola.worklists.export_apart import export_apart
from tombola.worklists.work_file import WorkFile

# Result of a function that is called with the file.
_T = TypeVar("_T")

# Seconds for which a computed status is reused without a change by this server. Another process may
# have written the file in the meantime, so it is short.
_STATUS_LIFETIME = 1.0
# Tickets from which on an export has a process of its own, which takes a second to start.
_LONG_LIST = 20_000
# Most writes that share one transaction: bounds the time for which readers wait.
_MAX_GROUP = 64


class HostedFile:
    """A served session or race file, with the only thread that writes it.

    One thread per file keeps the event loop free while SQLite waits for the disk, and gives
    requests an order. Writes that wait for it share one transaction, and so one wait for the disk; a
    reply is sent after it is written. `paused` means that nothing is issued or recorded; `changes`
    counts `write`.

    on_close: called after the file was closed, for example to release a lock; None: nothing.
    """

    def __init__(
        self, name: str, file: WorkFile[Any], *, on_close: Callable[[], Any] | None = None
    ) -> None:
        self.name = name
        self.file: Any = file
        self._on_close = on_close
        self.paused = False
        self.changes = 0
        self._changed = asyncio.Event()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix=f"tombola-{name}-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"tombola-{name}")
        # Writes that wait for the thread, the oldest first.
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        # One process exports at a time.
        self._exporting = asyncio.Lock()
        self._cached: dict[str, tuple[float, int, Any]] = {}

    @property
    def path(self) -> Path:
        """The path of the session or race file on the server."""
        path: Path = self.file.path
        return path

    async def compute(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function that takes long, such as an export, as `read`, beside the writes.

        All share one thread: each thread that computes delays the others.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._reader, lambda: function(*arguments)
            )
        except TombolaError as error:
            raise problem_from(error, self.path) from None

    async def export(self, path: Path) -> None:
        """Write all tickets to a table, beside the writes; a long list in a process of its own."""
        counts = await self.read_cached("counts", self.file.counts)
        if counts["issued"] >= _LONG_LIST:
            async with self._exporting:
                if await asyncio.to_thread(export_apart, self.path, path):
                    return
        # Also if the other process has failed: the error is then that of an export here.
        await self.compute(self.file.export, path)

    async def read(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function on the file's thread; a TombolaError becomes a ProblemError."""
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._writer, lambda: function(*arguments)
            )
        except TombolaError as error:
            raise problem_from(error, self.path) from None

    async def write(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function that changes the file, as `read`; ProblemError 423 if paused."""
        if self.paused:
            raise ProblemError(
                423,
                "paused",
                f"{self.name}: expected a running list, got a paused one; ask an admin.",
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._waiting.append((lambda: function(*arguments), future))
        if len(self._waiting) == 1:
            # After the other requests that have arrived by now, so that they join.
            loop.call_soon(self._writer.submit, self._write_waiting)
        try:
            return await future
        except TombolaError as error:
            raise problem_from(error, self.path) from None

    def _write_waiting(self) -> None:
        """Write what waits, in one transaction; the rest comes after the reads that wait."""
        group: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        while self._waiting and len(group) < _MAX_GROUP:
            function, future = self._waiting.popleft()
            # A client that has gone before its turn changes nothing.
            if not future.cancelled():
                group.append((function, future))
        if self._waiting:
            self._writer.submit(self._write_waiting)
        if group:
            results = self.file.run_together([function for function, _ in group])
            futures = [future for _, future in group]
            futures[0].get_loop().call_soon_threadsafe(self._reply, futures, results)
            self.file.save_state()

    def _reply(self, futures: list[asyncio.Future[Any]], results: list[Any]) -> None:
        """Pass the results of a group to the requests that still wait."""
        for future, result in zip(futures, results, strict=True):
            if isinstance(result, Exception):
                if not future.done():
                    future.set_exception(result)
                continue
            self.changes += 1
            if not future.done():
                future.set_result(result)
        self._changed.set()
        self._changed = asyncio.Event()

    def pause(self, *, paused: bool) -> None:
        """Stop issuing and recording, or resume."""
        self.paused = paused

    async def read_cached(self, key: str, function: Callable[[], _T]) -> _T:
        """Return the cached result of `key`; `compute` it by `function` if it is outdated.

        It is outdated after a second, and after every `write`. A key always has the same function.
        """
        at, changes, value = self._cached.get(key, (0.0, -1, None))
        if changes == self.changes and time.monotonic() - at < _STATUS_LIFETIME:
            result: _T = value
            return result
        changes = self.changes
        fresh = await self.compute(function)
        self._cached[key] = (time.monotonic(), changes, fresh)
        return fresh

    async def next_change(self, timeout: float) -> bool:
        """Wait for the next `write` here; return False if none came in `timeout` seconds."""
        try:
            await asyncio.wait_for(self._changed.wait(), timeout)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Wait for the functions under way, then close the file and call `on_close`."""
        self._reader.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)
        self.file.close()
        if self._on_close is not None:
            self._on_close()
