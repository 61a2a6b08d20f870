"""A real server: start, event stream, graceful stop, addresses, command line."""

import json
import signal
import socket
from pathlib import Path

import httpx
import pytest

from service_cases import Server, start_session
from tombola import SessionFile
from tombola.errors import FileError, ParameterError
from tombola.service.server import bind, check_host, open_service
from tombola.service.tokens import TokenStore


def test_server_streams_counts_and_stops_gracefully(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("id,phone\nAnn,+1\nBob,+2\n", encoding="utf-8")
    path = tmp_path / "calls.run"
    with Server(path, "--list", table, "--actions", "call,letter") as server, httpx.Client(base_url=server.url) as http:
        counts = []
        with http.stream("GET", "/v1/sessions/calls/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    counts.append(json.loads(line[6:])["issued"])
                    if len(counts) == 2:
                        break
                    ticket = httpx.post(f"{server.url}/v1/sessions/calls/next", json={}).json()["tickets"][0]
        assert counts == [0, 1]
        assert ticket["columns"] == {"phone": {"Ann": "+1", "Bob": "+2"}[ticket["id"]]}
        assert http.get("/readyz").json() == {"status": "ready", "files": 1}
        assert server.stop(signal.SIGTERM) == 143
    with SessionFile.open(path) as file:
        assert file.round == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::", "example.org"])
def test_other_addresses_need_a_token(host: str) -> None:
    with pytest.raises(ParameterError, match="expected a token to listen"):
        check_host(host, 0)
    check_host(host, 1)
    for local in ("127.0.0.1", "::1", "localhost"):
        check_host(local, 0)


def test_taken_port_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(FileError, match="expected a free port"):
            bind("127.0.0.1", taken.getsockname()[1])


def test_files_need_different_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [start_session(tmp_path / "calls.run"), start_session(tmp_path / "b" / "calls.run")]
    with pytest.raises(ParameterError, match="different names"):
        open_service(paths, TokenStore(None))


def test_add_token_prints_it_once(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from tombola.cli.app import app

    path = start_session(tmp_path / "calls.run")
    ran = CliRunner().invoke(app, ["serve", str(path), "--add-token", "Ann:admin"])
    assert ran.exit_code == 0, ran.output
    token = ran.stdout.splitlines()[-1]
    found = TokenStore(tmp_path / "calls.run.tokens").find(token)
    assert found is not None
    assert found == ("Ann", "admin")
    failed = CliRunner().invoke(app, ["serve", str(path), "--add-token", "Ann"])
    assert isinstance(failed.exception, ParameterError)
