"""Hostile requests, from the OpenAPI document (schemathesis) and as raw bytes: no status 500, nothing written."""

import os
import random
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from race_cases import start_file
from service_cases import Api, Server, api_of, start_session
from tombola import RaceFile, SessionFile
from tombola.service.tokens import TokenStore

pytestmark = pytest.mark.full
# Requests of each of the three tests; nightly runs set more.
REQUESTS = int(os.environ.get("TOMBOLA_SERVICE_REQUESTS", "150"))
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


PATHS = [
    "/v1",
    "/v1/lists/calls/next",
    "/lists/calls/record",
    "/login",
    "/admin/tokens",
    "/../../etc/passwd",
    "/lists/models",
    "/v1/lists/%00/status",
    "/v1/lists/models/record",
    "/static/..%2fapp.py",
]
METHODS = ["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "BREW"]
HEADERS = [
    "",
    "Authorization: Bearer x\r\n",
    f"Cookie: tombola-token={'y' * 300}\r\n",
    "Idempotency-Key: \x01\r\n",
    "Transfer-Encoding: chunked\r\n",
    "X-Forwarded-For: 1.2.3.4\r\n",
    "Origin: http://evil.example\r\n",
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Api, str]]:
    store = TokenStore(None)
    token = store.add("admin", "admin")
    start_file(tmp_path / "models.race").close()
    path = start_session(tmp_path / "calls.run")
    with api_of(path, tmp_path / "models.race", tokens=store, token=token) as api:
        yield api, token


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_generated_requests(served: tuple[Api, str], tmp_path: Path, mode: Any) -> None:
    """Valid and invalid requests of every operation by an admin: replies have the documented form, files stay whole."""
    api, token = served
    schema = schemathesis.openapi.from_asgi("/openapi.json", api.app)
    found: Counter[int] = Counter()
    # An event stream never ends.
    every: list[Any] = [one.ok() for one in schema.get_all_operations()]
    operations = [one for one in every if not one.path.endswith("/events")]
    for operation in operations:
        if (
            mode is GenerationMode.NEGATIVE
            and operation.body.items == []
            and operation.path_parameters.items == []
        ):
            continue

        @settings(
            max_examples=max(REQUESTS // len(operations), 2),
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            # Half of the requests reach a file; a pause would hide the other operations.
            if "name" in case.path_parameters and random.Random(repr(case.body)).random() < 0.8:
                case.path_parameters["name"] = "models" if "races" in case.path else "calls"
            for hosted in api.service.lists.values():
                hosted.pause(paused=False)
            others = {
                name: value
                for name, value in case.headers.items()
                if name.lower() != "authorization"
            }
            case.headers = {**others, "Authorization": f"Bearer {token}"}
            reply = case.call(timeout=300)
            found[reply.status_code] += 1
            case.validate_response(reply, checks=CHECKS)
            assert reply.status_code < 500, (case.path, case.body, reply.text)
            # An invalid case is sent with a valid token and often with a valid name; an accepted
            # one must have a valid body.
            if reply.status_code < 300 and case.operation.body.items:
                jsonschema.validate(
                    case.body, body_schema(api, case.operation.path, case.operation.method)
                )

        check()
    print(f"{sum(found.values())} generated requests ({mode.name}): {dict(found)}")
    assert sum(found.values()) >= REQUESTS / 2
    with SessionFile.open(tmp_path / "calls.run") as file:
        assert file.issued >= 0
    with RaceFile.open(tmp_path / "models.race") as race:
        assert race.race.calls_made >= 0


def body_schema(api: Api, path: str, method: str) -> dict[str, Any]:
    """Return the documented JSON schema of the body of an operation, with its references."""
    document = api.service.document
    content = document["paths"][path][method]["requestBody"]["content"]["application/json"]
    return {"components": document["components"], **content["schema"]}


def mutated(rng: random.Random, port: int) -> bytes:
    """Return a request that is random, damaged, or valid without a valid token."""
    body = rng.choice(
        [
            b"{}",
            b'{"count": 3}',
            b'{"outcomes": [{"ticket": 1, "loss": 0}]}',
            b"\xff\x00",
            b"[" * 500,
        ]
    )
    path, method, header = rng.choice(PATHS), rng.choice(METHODS), rng.choice(HEADERS)
    request = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: "
        "close\r\nContent-Type: application/json\r\n"
        f"{header}Content-Length: {len(body)}\r\n\r\n"
    ).encode("latin-1") + body
    kind = rng.random()
    if kind < 0.2:
        return rng.randbytes(rng.randrange(1, 400))
    if kind < 0.6:
        cells = bytearray(request)
        for _ in range(rng.randrange(1, 6)):
            cells[rng.randrange(len(cells))] = rng.randrange(256)
        return bytes(cells)
    return request[: rng.randrange(1, len(request))] if kind < 0.7 else request


def test_raw_bytes_without_token(tmp_path: Path) -> None:
    """Random and damaged requests without a token: no status 500, and not one byte of the files changes."""
    store = TokenStore(tmp_path / "t")
    token = store.add("admin", "admin")
    start_file(tmp_path / "models.race").close()
    paths = [start_session(tmp_path / "calls.run"), tmp_path / "models.race"]
    rng, found = random.Random(1), Counter[str]()
    with Server(*paths, "--tokens", tmp_path / "t") as server:
        before = [path.read_bytes() for path in (*paths, tmp_path / "t")]
        for _ in range(REQUESTS):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
                connection.sendall(mutated(rng, server.port))
                connection.shutdown(socket.SHUT_WR)
                reply = b""
                while chunk := connection.recv(65536):
                    reply += chunk
            found[reply[9:12].decode("latin-1") if reply.startswith(b"HTTP/1.1 ") else "none"] += 1
        assert [path.read_bytes() for path in (*paths, tmp_path / "t")] == before
        reply_ = httpx.get(f"{server.url}/v1", headers={"authorization": f"Bearer {token}"})
        assert reply_.status_code == 200
    print(f"{REQUESTS} raw requests: {dict(found)}")
    assert not [status for status in found if status.startswith("5")], found
    assert len(found) > 4
