"""A thousand connections that send half of a header, beside a client that works."""

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from service_cases import Server, play_to_end, start_session
from tombola import Client, SessionFile


@pytest.mark.full
def test_half_sent_headers_do_not_stop_the_server(tmp_path: Path) -> None:
    """The server closes what passes the limit at once, and the others when their time is over."""
    path = start_session(tmp_path / "calls.run")
    with Server(path) as server, ExitStack() as opened:
        for _ in range(1000):
            half = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
            half.sendall(b"GET /v1 HTTP/1.1\r\nHost: x\r\n")
        with Client(server.url, name="calls", patience=120) as client:
            assert sorted(play_to_end(client)) == list(range(1, 31))
        assert server.process is not None
        handles = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
    assert handles < 700
    with SessionFile.open(path) as file:
        assert file.view().answered == 30
