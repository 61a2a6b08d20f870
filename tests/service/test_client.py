"""Client: the methods of SessionFile and RaceFile over HTTP; lost replies are in tests/kill."""

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from race_cases import loss_of, start_file
from service_cases import Server, start_session
from tombola import AsyncClient, Client, RaceFile, SessionFile
from tombola._formatting import cli_style
from tombola.errors import (
    ConflictError,
    ExhaustedError,
    FeedbackError,
    ParameterError,
    SessionError,
)
from tombola.service.tokens import TokenStore
from tombola.worklists import Outcome


def test_client_has_the_results_of_the_file(tmp_path: Path) -> None:
    """The same calls over HTTP and in process give the same tickets and the same status."""
    path, same = start_session(tmp_path / "calls.run"), start_session(tmp_path / "same.run")
    with Server(path) as server, Client(server.url) as client, SessionFile.open(same) as file:
        assert client.name == "calls"
        assert [task._replace(since=None) for task in client.next(4)] == file.next(4)
        outcomes = [Outcome(2, 0.5), Outcome(1, None, 0.75)]
        assert client.record_all(outcomes) == file.record_all(outcomes) == 2
        assert client.record(3, loss=1.0) is file.record(3, loss=1.0) is True
        assert client.record(3, loss=1.0) is False
        assert client.amend(3, loss=0.0) == file.amend(3, loss=0.0) == 1.0
        assert client.cancel(4) is file.cancel(4) is True
        [task] = client.next()
        assert client.pending == [task]
        assert client.assignment(5) == task
        assert [task._replace(since=None)] == file.next()
        assert client.columns(5) == {}
        theirs, ours = client.status(), file.status().to_json()
        for name in ("played", "answered", "loss", "best", "regret"):
            assert theirs[name] == ours[name]
        client.export(tmp_path / "out.csv")
        assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 6
        with pytest.raises(ConflictError, match="first answer stands"):
            client.record(1, loss=1.0)
        for loss in (3.0, float("nan"), object()):
            with pytest.raises(FeedbackError):
                client.record(5, loss=loss)
        with pytest.raises(ParameterError, match="ending in"):
            client.export(tmp_path / "out.xls")


def test_client_waits_for_a_restart(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    with Server(path) as server, Client(server.url, name="calls") as client:
        assert [ticket.ticket for ticket in client.next()] == [1]
        server.stop(9)
        starting = threading.Thread(target=server.start)
        starting.start()
        assert [ticket.ticket for ticket in client.next()] == [2]
        starting.join()


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8791", "localhost:8791", "ftp://127.0.0.1:8791", "http://", ""]
)
def test_address_without_http_is_rejected_at_once(url: str) -> None:
    with pytest.raises(
        ParameterError, match=r"expected an address such as http://.*; write .*http://"
    ):
        Client(url, name="calls")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_client_logs_that_it_waits(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    """One line per request, on standard error unless the program configures logging."""

    def reject(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    client = kind(
        "http://127.0.0.1:9", name="calls", patience=1.5, transport=httpx.MockTransport(reject)
    )
    with pytest.raises(SessionError, match="got ConnectError"):
        client.status() if kind is Client else asyncio.run(client.status())
    assert [
        record.getMessage() for record in caplog.records if record.name == "tombola.client"
    ] == ["waiting for http://127.0.0.1:9, at most 1.5 s: ConnectError: Connection refused"]


@pytest.mark.parametrize("character", ["ö", "\n", "\u2019"])
def test_token_outside_of_ascii_is_rejected_and_not_printed(character: str) -> None:
    with pytest.raises(ParameterError, match="ASCII characters in the token") as refused:
        Client("http://127.0.0.1:8791", f"secret{character}")
    assert repr(character) in str(refused.value)
    assert "secret" not in str(refused.value)
    with (
        cli_style(["tombola"]),
        pytest.raises(ParameterError, match="correct --token or TOMBOLA_TOKEN"),
    ):
        Client("http://127.0.0.1:8791", f"secret{character}")


def test_token_and_name_are_needed(tmp_path: Path) -> None:
    paths = start_session(tmp_path / "a.run"), start_session(tmp_path / "b.run")
    store = TokenStore(tmp_path / "my.tokens")
    token = store.add("Ann", "admin")
    with Server(*paths, "--tokens", tmp_path / "my.tokens") as server:
        for wrong in ("", "wrong"):
            with (
                Client(server.url, wrong) as client,
                pytest.raises(SessionError, match=r"valid token.* --token or TOMBOLA_TOKEN"),
            ):
                client.overview()
        with Client(server.url, token) as client:
            assert client.overview()["you"] == {"name": "Ann", "role": "admin"}
            with pytest.raises(ParameterError, match="name of one of the 2 lists"):
                client.next()
        with Client(server.url, token, "b") as client:
            assert [ticket.ticket for ticket in client.next()] == [1]
    with SessionFile.open(paths[0]) as file:
        assert file.issued == 0


def test_race_client_has_the_results_of_the_file(tmp_path: Path) -> None:
    start_file(tmp_path / "models.race").close()
    path, same = tmp_path / "models.race", start_file(tmp_path / "same.race")
    with Server(path) as server, Client(server.url) as client, same:
        first = same.lease("k", now=1.0)
        assert [task._replace(since=1.0) for task in client.next()] == first
        assert client.record(first[0].ticket, loss=0.5, cost=0.25) is True
        assert client.record(first[0].ticket, loss=0.5, cost=0.25) is False
        assert [task._replace(since=1.0) for task in client.pending] == first[1:]
        with pytest.raises(ConflictError, match="first answer stands"):
            client.record(first[0].ticket, loss=0.25)
        same.record(first[0].ticket, loss=0.5, cost=0.25)
        assert client.status()["verdict"] == same.race.verdict
        assert client.describe() == same.describe()
        client.export(tmp_path / "answers.csv")
        assert len((tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()) == 2


def test_async_clients_share_session_and_race(tmp_path: Path) -> None:
    """Many tasks at a time: every ticket and every call exactly once."""
    start_file(tmp_path / "models.race").close()
    path = start_session(tmp_path / "calls.run", rows=40)

    async def work(client: AsyncClient, received: list[int]) -> None:
        with contextlib.suppress(ExhaustedError):
            while True:
                for ticket in await client.next(2):
                    received.append(ticket.ticket)
                    await client.record(ticket.ticket, loss=0.25)

    async def run_race(client: AsyncClient) -> None:
        while not (await client.status())["done"]:
            for call in await client.next(1):
                await client.record(call.ticket, loss=loss_of(call), cost=0.25)

    async def main(url: str) -> list[int]:
        async with (
            AsyncClient(url, name="calls") as client,
            AsyncClient(url, name="models") as race,
        ):
            received: list[int] = []
            await asyncio.gather(*(work(client, received) for _ in range(4)))
            await asyncio.gather(*(run_race(race) for _ in range(3)))
            assert await client.pending == []
            assert await race.pending == []
            assert (await client.assignment(1)).ticket == 1
            assert (await client.status())["best"] in ("call", "letter")
            assert await client.amend(1, loss=0.5) == 0.25
            assert await client.columns(1) == {}
            assert (await client.status())["answered"] == 40
            assert (await race.status())["done"] is True
            return received

    with Server(path, tmp_path / "models.race") as server:
        assert sorted(asyncio.run(main(server.url))) == list(range(1, 41))
    with RaceFile.open(tmp_path / "models.race") as file:
        assert file.race.answer == ("low",)


_FOREIGN_REPLIES = {
    "page": httpx.Response(200, html="<p>Welcome</p>"),
    "empty": httpx.Response(204),
    "other data": httpx.Response(200, json={"name": "another service"}),
    "list": httpx.Response(200, json=[1, 2]),
    "malformed JSON": httpx.Response(
        200, content=b"{", headers={"content-type": "application/json"}
    ),
    "problem of another service": httpx.Response(400, json={"type": [], "detail": "no"}),
    "redirect": httpx.Response(301, headers={"location": "/x"}),
}


@pytest.mark.parametrize("reply", _FOREIGN_REPLIES.values(), ids=_FOREIGN_REPLIES)
def test_address_of_another_server_is_named(reply: httpx.Response, tmp_path: Path) -> None:
    """A reply that is not of tombola is a SessionError, and never a file of the user."""
    transport = httpx.MockTransport(lambda _: reply)
    out = tmp_path / "out.csv"
    with (
        Client("http://else.example", name="calls", transport=transport) as session,
        Client("http://else.example", transport=transport) as race,
    ):
        requests = (
            session.next,
            session.overview,
            lambda: session.record(1, loss=0.5),
            lambda: session.pending,
            lambda: session.export(out),
            race.next,
            lambda: race.name,
            race.describe,
        )
        for request in requests:
            with pytest.raises(
                SessionError, match=r"expected a reply of tombola serve, got .*; check the address"
            ):
                request()
    assert not out.exists()
