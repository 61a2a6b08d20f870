"""A real server: start, event stream, graceful stop, addresses, command line."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from conftest import HANGS, SOURCE
from service_cases import Server, api_of, start_session
from tombola import SessionFile
from tombola.cli.app import app
from tombola.errors import FileError, ParameterError
from tombola.service.app import Service
from tombola.service.server import bind, check_host, is_local, open_service
from tombola.service.tokens import TokenStore


def test_server_streams_counts_and_stops_gracefully(tmp_path: Path) -> None:
    """From an Excel list without a file: the session is started beside the list."""
    workbook = import_module("openpyxl").Workbook()
    sheet = workbook.create_sheet("People")
    for row in (["id", "phone"], ["Ann", "+1"], ["Bob", "+2"]):
        sheet.append(row)
    workbook.save(tmp_path / "calls.xlsx")
    path = tmp_path / "calls.run"
    arguments = ("--list", tmp_path / "calls.xlsx", "--sheet", "People", "--actions", "call,letter")
    with Server(*arguments) as server, httpx.Client(base_url=server.url) as http:
        counts = []
        with http.stream("GET", "/v1/lists/calls/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    counts.append(json.loads(line[6:])["issued"])
                    if len(counts) == 2:
                        break
                    ticket = httpx.post(f"{server.url}/v1/lists/calls/next", json={}).json()[
                        "tickets"
                    ][0]
        assert counts == [0, 1]
        assert ticket["columns"] == {"phone": {"Ann": "+1", "Bob": "+2"}[ticket["id"]]}
        assert http.get("/readyz").json() == {"status": "ready", "files": 1}
        assert server.stop(signal.SIGTERM) == 143
    with SessionFile.open(path) as file:
        assert file.issued == 1


def test_addresses_of_this_machine() -> None:
    assert not any(map(is_local, ["0.0.0.0", "192.168.0.7", "::", "example.org"]))
    assert all(map(is_local, ["127.0.0.1", "::1", "localhost"]))


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
@pytest.mark.parametrize("has_token", [False, True])
def test_token_is_drawn_where_other_machines_reach_the_server(
    host: str, has_token: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tokens = start_session(tmp_path / "calls.run"), tmp_path / "calls.run.tokens"
    if has_token:
        TokenStore(tokens).add("Ann", "admin")

    def run(service: Service, listener: socket.socket, *, on_start: Any, **_: Any) -> None:
        on_start()
        listener.close()
        for hosted in service.lists.values():
            hosted.close()

    monkeypatch.setattr("tombola.service.server.run", run)
    ran = CliRunner().invoke(app, ["serve", str(path), "--host", host, "--port", "0"])
    assert ran.exit_code == 0, ran.output
    printed = " ".join(ran.stdout.split())
    drawn = [owner.name for owner in TokenStore(tokens).owners()]
    if has_token:
        assert ("token: required" in printed, drawn) == (True, ["Ann"])
    elif host == "0.0.0.0":
        assert TokenStore(tokens).find(printed.rpartition(" ")[2]) == ("admin", "admin")
    else:
        assert ("A proxy here needs a token" in printed, drawn) == (True, [])


def test_proxy_needs_a_token() -> None:
    with pytest.raises(ParameterError, match="expected a token to listen behind a proxy"):
        check_host(0, proxy_headers=True)
    check_host(1, proxy_headers=True)


NGINX = """daemon off; error_log {folder}/error.log; pid {folder}/pid; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://127.0.0.1:{backend}; {more} }}
    }}
}}
"""


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx on this machine")
@pytest.mark.parametrize(
    "more", ["", "proxy_set_header X-Forwarded-For $remote_addr; proxy_http_version 1.1;"]
)
def test_real_nginx_without_a_token_is_rejected(tmp_path: Path, more: str) -> None:
    """nginx rewrites Host to that of this machine; its visitors must not become admins."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Server(start_session(tmp_path / "calls.run")) as server:
        assert httpx.get(f"{server.url}/v1").json()["you"]["role"] == "admin"
        configuration = tmp_path / "nginx.conf"
        configuration.write_text(
            NGINX.format(folder=tmp_path, port=port, backend=server.port, more=more)
        )
        proxy = subprocess.Popen(
            ["nginx", "-e", str(tmp_path / "early.log"), "-c", str(configuration)]
        )
        try:
            transport = httpx.HTTPTransport(retries=8)
            with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as http:
                for method, path in (("GET", "/v1"), ("POST", "/v1/lists/calls/next")):
                    reply = http.request(method, path, json={} if method == "POST" else None)
                    assert (reply.status_code, reply.json()["type"]) == (403, "urn:tombola:proxy")
        finally:
            proxy.terminate()
            proxy.wait(HANGS)
    with SessionFile.open(tmp_path / "calls.run") as file:
        assert file.issued == 0


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_forwarded_request_without_a_token_is_rejected(tmp_path: Path, header: str) -> None:
    """A proxy that rewrites Host looks like this machine."""
    with api_of(start_session(tmp_path / "calls.run")) as api:
        assert api("GET", "/v1").status_code == 200
        reply = api("GET", "/v1", headers={header: "203.0.113.7"})
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:tombola:proxy")


@pytest.mark.parametrize(("version", "status"), [("1.0", 403), ("1.1", 200)])
def test_request_of_a_silent_proxy_is_rejected(tmp_path: Path, version: str, status: int) -> None:
    """nginx with only `proxy_pass` rewrites Host, adds no header and speaks HTTP/1.0."""
    with (
        Server(start_session(tmp_path / "calls.run")) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=HANGS) as connection,
    ):
        host = f"127.0.0.1:{server.port}"
        request = f"GET /v1 HTTP/{version}\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        reply = connection.makefile("rb").readline().decode()
    assert int(reply.split()[1]) == status


def test_replies_are_sent_at_once() -> None:
    """Without TCP_NODELAY every reply waits for the acknowledgement of its header."""

    async def accepted_option() -> int:
        options: asyncio.Queue[int] = asyncio.Queue()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            await options.put(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = bind("127.0.0.1", 0)
        async with await asyncio.start_server(accept, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            option = await options.get()
            writer.close()
            return option

    assert asyncio.run(accepted_option()) == 1


def test_taken_port_and_equal_names_are_rejected(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(FileError, match="expected a free port"):
            bind("127.0.0.1", taken.getsockname()[1])
    (tmp_path / "b").mkdir()
    paths = [start_session(tmp_path / "calls.run"), start_session(tmp_path / "b" / "calls.run")]
    with pytest.raises(ParameterError, match="different names"):
        open_service(paths, TokenStore(None))


def test_add_token_prints_it_once(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    ran = CliRunner().invoke(app, ["serve", str(path), "--add-token", "Ann:admin"])
    assert ran.exit_code == 0, ran.output
    token = ran.stdout.splitlines()[-1]
    assert TokenStore(tmp_path / "calls.run.tokens").find(token) == ("Ann", "admin")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["calls.run", "--add-token", "Ann"], "Ann"),
        ([], "serve --list customers.xlsx --actions call,letter"),
        (["new.run", "--actions", "a,b"], "add --list customers.xlsx"),
        (["new.run", "--list", "x.csv"], "add --actions call,letter"),
        (["new.run"], "found none at"),
        (["calls.run", "--outcomes", "sold"], "write --outcomes 'sold=1,later=0.5,no=0'"),
        (["calls.run", "--outcomes", "sold=7"], "values from 0 to 1 for calls.run"),
        (["calls.run", "--proxy-headers"], "expected a token to listen behind a proxy"),
    ],
)
def test_mistakes_name_the_fix(
    tmp_path: Path,
    arguments: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    one_sentence: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    start_session(tmp_path / "calls.run")
    ran = CliRunner().invoke(app, ["serve", *arguments])
    assert expected in one_sentence(ran.exception)
    assert not (tmp_path / "new.run").exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_example_of_the_documentation_runs(tmp_path: Path) -> None:
    text = (SOURCE.parent / "docs" / "howto" / "serve.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    path = start_session(tmp_path / "calls.run")
    token = TokenStore(tmp_path / "calls.run.tokens").add("Ann", "admin")
    with Server(path) as server:
        example = example.replace("http://127.0.0.1:8787", server.url)
        subprocess.run(
            ["bash", "-ec", example],
            check=True,
            env={**os.environ, "TOKEN": token},
            stdout=subprocess.DEVNULL,
            timeout=HANGS,
        )
    with SessionFile.open(path) as file:
        assert file.view().outcomes == [0.25]
