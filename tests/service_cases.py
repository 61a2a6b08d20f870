"""Services for tests: an application in this process, or a server in a process of its own."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
from jsonschema import Draft202012Validator

from conftest import SOURCE
from tombola import UCB1, Client, SessionFile
from tombola.errors import ExhaustedError, SessionError
from tombola.service.app import Service, create_app
from tombola.service.client import _new_key
from tombola.service.server import open_service
from tombola.service.tokens import TokenStore

T = TypeVar("T")


def start_session(path: Path, rows: int = 30, seed: int = 1, *, phones: bool = False) -> Path:
    """Write a session file with two actions; `phones` adds a column."""
    ids = [f"row {number}" for number in range(1, rows + 1)]
    columns = (
        {"id": ids, "phone": [f"+{number}" for number in range(1, rows + 1)]} if phones else None
    )
    SessionFile.start(path, ids, ["call", "letter"], UCB1(), seed=seed, columns=columns).close()
    return path


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token."""
    return {"authorization": f"Bearer {token}"}


class Api:
    """An application in this process, called synchronously."""

    def __init__(
        self, service: Service, token: str = "", client: tuple[str, int] = ("127.0.0.1", 1)
    ) -> None:
        self.service, self.app = service, create_app(service)
        self.headers = bearer(token) if token else {}
        self.client = client

    def __call__(
        self,
        method: str,
        path: str,
        json: Any = None,
        headers: dict[str, str] | None = None,
        content: Any = None,
    ) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=self.client)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                given = {**self.headers, **(headers or {})}
                if json is not None:
                    return await client.request(method, path, json=json, headers=given)
                return await client.request(method, path, content=content, headers=given)

        reply = asyncio.run(send())
        check_reply(self.service.document, method, reply)
        return reply

    def post(self, path: str, json: Any, **headers: str) -> httpx.Response:
        """Send a JSON body; headers by name with underscores."""
        return self(
            "POST", path, json, {name.replace("_", "-"): value for name, value in headers.items()}
        )


def check_reply(document: dict[str, Any], method: str, reply: httpx.Response) -> None:
    """Check the reply to an operation against its schema in the OpenAPI document."""
    path = reply.url.path
    for template, operations in document["paths"].items():
        if method.lower() not in operations or not re.fullmatch(
            re.sub(r"{\w+}", "[^/]+", template), path
        ):
            continue
        replies = operations[method.lower()]["responses"]
        expected = replies.get(str(reply.status_code), replies["default"])["content"]
        media_type = reply.headers["content-type"].partition(";")[0]
        assert media_type in expected, (path, reply.status_code, media_type)
        if media_type.endswith("json"):
            schema = {
                **expected[media_type].get("schema", {}),
                "components": document["components"],
            }
            Draft202012Validator(schema).validate(reply.json())


@contextmanager
def api_of(*paths: Path, tokens: TokenStore | None = None, token: str = "") -> Iterator[Api]:
    """Open files and close them afterwards."""
    service = open_service(paths, TokenStore(None) if tokens is None else tokens)
    try:
        yield Api(service, token)
    finally:
        for hosted in service.lists.values():
            hosted.close()


class Server:
    """`tombola serve` in a process of its own; a restart keeps the port."""

    def __init__(self, *arguments: str | Path) -> None:
        self.arguments, self.port = [str(argument) for argument in arguments], 0
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, and wait until it accepts requests."""
        command = [
            sys.executable,
            "-m",
            "tombola",
            "serve",
            *self.arguments,
            "--port",
            str(self.port),
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "COLUMNS": "300",
            "NUMBA_DISABLE_JIT": "1",
        }
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if " on http://" in line:
                self.port = int(line.rsplit(":", 1)[1])
                break
        else:
            raise RuntimeError(f"the server ended with {self.process.wait()}")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                httpx.get(f"{self.url}/healthz")
                return
            except httpx.TransportError:
                time.sleep(0.02)
        raise RuntimeError("the server does not accept requests")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the server, and return its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(timeout=60)

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGKILL)


class KeylessClient(Client):
    """Fault: every attempt has a key of its own, as if the server ignored it; with patience 0."""

    def _send(self, request: httpx.Request, parse: Callable[[Any], T]) -> T:
        while True:
            try:
                if "idempotency-key" in request.headers:
                    request.headers["idempotency-key"] = _new_key()
                return super()._send(request, parse)
            except SessionError as error:
                if "within" not in str(error):
                    raise


def play_to_end(client: Client) -> list[int]:
    """Request and record tickets until the list ends; return the tickets received."""
    received: list[int] = []
    with suppress(ExhaustedError):
        while True:
            for ticket in client.next(2):
                received.append(ticket.ticket)
                client.record(ticket.ticket, loss=row_loss(ticket.id, ticket.action))
    return received


def row_loss(id_: str, action: str) -> float:
    """Return a loss that is a function of row and action."""
    return random.Random(f"{id_} {action}").random()


def check_answers(path: Path, rows: int) -> None:
    """Check that all tickets have the outcomes of their rows and actions, and that the budget is kept."""
    # Opening replays every event: each ticket equals that of a learner in this process to the bit.
    with SessionFile.open(path) as file:
        view = file.view()
        assert view.issued == rows
        for issued, loss in zip(view.tickets, view.outcomes, strict=True):
            task = file.assignment(issued.round)
            assert loss == row_loss(task.id, task.action)
        if file.budget is not None:
            balance = file.status().balance
            assert all(
                s + r <= a
                for s, r, a in zip(balance.spent, balance.reserved, balance.amounts, strict=True)
            )
