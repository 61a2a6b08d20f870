"""A TCP proxy that drops replies after the server has processed their requests."""

import contextlib
import random
import socket
import threading


class LossyProxy:
    """Forward connections to a port; drop each reply with a probability, and close its connection.

    Half of the dropped replies are cut in the middle instead of being dropped as a whole.
    """

    def __init__(self, target: int, probability: float, seed: int = 1) -> None:
        self.target, self.probability, self.dropped = target, probability, 0
        self._random, self._listener = random.Random(seed), socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> "LossyProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connected, args=(client,), daemon=True).start()

    def _connected(self, client: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection(("127.0.0.1", self.target)) as server,
        ):
            # Requests are always delivered, so that a dropped reply is one of a processed request.
            threading.Thread(target=_copy, args=(client, server), daemon=True).start()
            while data := server.recv(65536):
                if self._random.random() < self.probability:
                    self.dropped += 1
                    client.sendall(data[: len(data) // 2] if self._random.random() < 0.5 else b"")
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
