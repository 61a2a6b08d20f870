"""Limits of the service: connections, headers, event streams, tokens; and its log."""

import asyncio
import json
import logging
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request
from uvicorn.server import ServerState

from service_cases import Api, api_of, bearer, start_session
from tombola.service import endpoints, server
from tombola.service.parsing import CheckedRequest
from tombola.service.problems import ProblemError
from tombola.service.server import LimitedProtocol, _JsonLines
from tombola.service.tokens import TokenStore


def protocol_with(n_connections: int) -> tuple[Any, Mock]:
    """Return a protocol with a new connection beside others."""
    config = uvicorn.Config(lambda scope: None, http=LimitedProtocol, log_config=None)
    config.load()
    state = ServerState()
    state.connections = {Mock() for _ in range(n_connections)}
    protocol: Any = LimitedProtocol(config, state, {})
    transport = Mock()
    transport.get_extra_info.return_value = None
    transport.is_closing.return_value = False
    protocol.connection_made(transport)
    return protocol, transport


def test_half_sent_header_has_a_time_limit() -> None:
    async def main() -> None:
        protocol, transport = protocol_with(0)
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n")
        timer = protocol._timer
        assert timer is not None
        protocol.data_received(b"Accept: */*\r\n")
        assert protocol._timer is timer, "more bytes do not extend it"
        protocol.data_received(b"\r\n")
        assert protocol._timer is None
        assert timer.cancelled()
        assert not transport.abort.called
        protocol, transport = protocol_with(0)
        protocol._timer._run()
        assert transport.abort.called
        protocol, transport = protocol_with(0)
        timer = protocol._timer
        protocol.connection_lost(None)
        assert timer.cancelled()

    asyncio.run(main())


def test_connections_are_limited() -> None:
    async def main() -> None:
        for others, is_closed in (
            (server._MAX_CONNECTIONS - 1, False),
            (server._MAX_CONNECTIONS, True),
        ):
            assert protocol_with(others)[1].abort.called == is_closed

    asyncio.run(main())


def request_of(api: Api, token: str = "") -> CheckedRequest:
    """Return a request for the events of the list calls."""
    headers = [(name.encode(), text.encode()) for name, text in bearer(token).items() if token]
    scope = {"type": "http", "headers": headers, "path_params": {"name": "calls"}}
    return CheckedRequest(api.service, Request(scope), api.service.identify(Request(scope)), {})


def test_burst_of_streams_does_not_pass_the_limit(tmp_path: Path) -> None:
    """Streams are counted before their first byte is sent, and released when they end."""

    async def main(api: Api) -> None:
        streams = [await endpoints.events(request_of(api)) for _ in range(endpoints._MAX_STREAMS)]
        with pytest.raises(ProblemError, match="open streams"):
            await endpoints.events(request_of(api))
        scope: Any = {"type": "http", "asgi": {"spec_version": "2.4"}}
        with pytest.raises(ClientDisconnect):
            await streams[0](scope, Mock(), Mock(side_effect=ConnectionError))
        await endpoints.events(request_of(api))

    with api_of(start_session(tmp_path / "calls.run")) as api:
        asyncio.run(main(api))


def test_stream_ends_with_its_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_EVENT_PAUSE", 0.0)
    monkeypatch.setattr(endpoints, "_KEEP_ALIVE", 0.0)
    store = TokenStore(None)
    store.add("Ann", "admin")
    token = store.add("Bob", "reader")

    async def main(api: Api) -> None:
        stream: AsyncIterator[Any] = (await endpoints.events(request_of(api, token))).body_iterator
        assert (await anext(stream)).startswith("event: counts")
        assert await anext(stream) == ": idle\n\n"
        store.remove("Bob")
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    with api_of(start_session(tmp_path / "calls.run"), tokens=store, token=token) as api:
        asyncio.run(main(api))


def test_moved_file_is_not_ready(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    with api_of(path) as api:
        assert api("GET", "/readyz").status_code == 200
        shutil.move(path, tmp_path / "elsewhere.run")
        reply = api("GET", "/readyz")
        assert (reply.status_code, "was moved" in reply.json()["detail"]) == (503, True)


def test_damaged_file_is_not_tried_again(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    with api_of(path) as api:
        file = api.service.lists["calls"].file
        file._log._connection.execute("UPDATE pool SET cells = '[1]' WHERE place = 1")
        reply = api.post("/v1/lists/calls/next", {})
        assert (reply.status_code, reply.json()["type"]) == (500, "urn:tombola:damaged")
        assert "retry-after" not in reply.headers


def test_log_has_json_lines() -> None:
    record = logging.LogRecord(
        "uvicorn.error", logging.WARNING, "", 1, "bad %s", ("request",), None
    )
    line = json.loads(_JsonLines().format(record))
    assert (line["level"], line["message"]) == ("warning", "bad request")
    try:
        raise ValueError("x\ny")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    text = _JsonLines().format(record)
    assert "\n" not in text
    assert "ValueError" in json.loads(text)["trace"]


def test_half_sent_body_has_a_time_limit() -> None:
    async def main() -> None:
        protocol, transport = protocol_with(0)
        protocol.data_received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
        timer = protocol._timer
        assert timer.when() > asyncio.get_running_loop().time() + server._HEADER_SECONDS
        protocol.data_received(b"12")
        assert protocol._timer is timer, "more bytes do not extend it"
        timer._run()
        assert transport.abort.called
        protocol.data_received(b"34")
        assert protocol._timer is None
        assert timer.cancelled()

    asyncio.run(main())


def test_lines_of_one_turn_are_written_together() -> None:
    stream = Mock()
    handler = server._GroupedLines(stream)
    record = logging.LogRecord("x", logging.INFO, "", 1, "line", None, None)

    async def main() -> None:
        handler.emit(record)
        handler.emit(record)
        assert not stream.write.called
        await asyncio.sleep(0)
        stream.write.assert_called_once_with("line\nline\n")

    asyncio.run(main())
    handler.emit(record)
    assert stream.write.call_args.args == ("line\n",)
