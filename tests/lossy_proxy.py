"""A TCP proxy that drops replies after the server has processed their requests."""

import asyncio
import contextlib
import random
import threading


class LossyProxy:
    """Forward connections to a port; drop each reply with a probability, and close its connection.

    Half of the dropped replies are cut in the middle instead of being dropped as a whole.
    """

    def __init__(self, target: int, probability: float, seed: int = 1) -> None:
        self.target, self.probability, self.port, self.dropped = target, probability, 0, 0
        self._random, self._loop = random.Random(seed), asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "LossyProxy":
        self._thread.start()
        assert self._started.wait(60)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
            try:
                # The request is always delivered, so that a dropped reply is one of a processed request.
                await asyncio.gather(self._copy(reader, to_server), self._copy_replies(from_server, writer, reader))
            finally:
                to_server.close()
                writer.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def _copy_replies(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: asyncio.StreamReader
    ) -> None:
        while data := await reader.read(65536):
            if self._random.random() < self.probability:
                self.dropped += 1
                if self._random.random() < 0.5:
                    writer.write(data[: len(data) // 2])
                    await writer.drain()
                break
            writer.write(data)
            await writer.drain()
        writer.close()
        requests.feed_eof()
