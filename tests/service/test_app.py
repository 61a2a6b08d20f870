"""The JSON API in this process: tickets, outcomes, roles, origins, limits."""

import csv
import io
import json
import logging
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from race_cases import start_file
from service_cases import Api, api_of, bearer, start_session
from tombola import SessionFile
from tombola.service import hosted_file
from tombola.service.app import SECURITY_HEADERS
from tombola.service.openapi import API
from tombola.service.parsing import _MAX_BODY_BYTES
from tombola.service.tokens import ROLES, TokenStore
from tombola.worklists.event_log import EventLog
from tombola.worklists.ticket_tables import export_tickets

S = "/v1/lists/calls"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with api_of(start_session(tmp_path / "calls.run", phones=True)) as found:
        yield found


@pytest.fixture
def roles(tmp_path: Path) -> Iterator[tuple[Api, dict[str, str]]]:
    """A service with a session and a race, and the token of each role."""
    store = TokenStore(None)
    tokens = {role: store.add(role, role) for role in reversed(ROLES)}
    start_file(tmp_path / "models.race").close()
    with api_of(
        start_session(tmp_path / "calls.run"), tmp_path / "models.race", tokens=store
    ) as found:
        yield found, tokens


def digest_of(api: Api) -> bytes:
    """Return the bytes of the session file: a rejected request must not change one of them."""
    return api.service.lists["calls"].path.read_bytes()


def tickets_of(reply: Any) -> list[int]:
    assert reply.status_code == 200, reply.text
    return [ticket["ticket"] for ticket in reply.json()["tickets"]]


def test_same_key_gives_same_tickets_after_restart(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run", rows=6)
    with api_of(path) as api:
        first = api.post(f"{S}/next", {"count": 3}, idempotency_key="k1")
        assert tickets_of(first) == [1, 2, 3]
        before = digest_of(api)
        assert api.post(f"{S}/next", {"count": 1}, idempotency_key="k1").status_code == 409
        assert digest_of(api) == before
    with api_of(path) as api:
        assert api.post(f"{S}/next", {"count": 3}, idempotency_key="k1").json() == first.json()
        assert tickets_of(api.post(f"{S}/next", {})) == [4]
        assert tickets_of(api.post(f"{S}/next", {"count": 5})) == [5, 6]
        reply = api.post(f"{S}/next", {})
        assert (reply.status_code, reply.json()["type"]) == (409, "urn:tombola:exhausted")
        assert tickets_of(api.post(f"{S}/next", {"count": 2, "reissue_after": 0})) == [1, 2]


def test_record_amend_and_cancel(api: Api) -> None:
    api.post(f"{S}/next", {"count": 4})
    assert api.post(f"{S}/amend", {"ticket": 1, "loss": 1}).status_code == 409
    outcomes = {"outcomes": [{"ticket": 1, "loss": 0.5}, {"ticket": 2, "reward": 1}]}
    assert api.post(f"{S}/record", outcomes).json() == {"recorded": 2, "known": 0, "done": False}
    assert api.post(f"{S}/cancel", {"ticket": 4}).json() == {"ticket": 4, "new": True}
    before = digest_of(api)
    assert api.post(f"{S}/record", outcomes).json() == {"recorded": 0, "known": 2, "done": False}
    assert api.post(f"{S}/cancel", {"ticket": 4}).json() == {"ticket": 4, "new": False}
    # All or none: the outcome of ticket 3 is not recorded.
    for other in ({"ticket": 1, "loss": 0.25}, {"ticket": 4, "loss": 0}):
        conflict = api.post(f"{S}/record", {"outcomes": [{"ticket": 3, "loss": 0.5}, other]})
        assert (conflict.status_code, conflict.headers["content-type"]) == (
            409,
            "application/problem+json",
        )
    assert digest_of(api) == before
    assert api.post(f"{S}/amend", {"ticket": 1, "loss": 1}).json() == {
        "ticket": 1,
        "loss_before": 0.5,
    }
    now = api("GET", f"{S}/status").json()
    assert (now["answered"], now["amended"], now["cancelled"], now["loss"]) == (2, 1, 1, 1.0)


def test_downloads_equal_the_file(api: Api, tmp_path: Path) -> None:
    ticket = api.post(f"{S}/next", {"count": 3}).json()["tickets"][0]
    assert ticket["columns"] == {"phone": f"+{ticket['id'].split()[1]}"}
    assert api("GET", f"{S}/tickets/1").json() == ticket
    api.post(f"{S}/record", {"outcomes": [{"ticket": 2, "loss": 0.125}]})
    reply = api("GET", f"{S}/export.csv")
    assert 'filename="calls.csv"' in reply.headers["content-disposition"]
    (tmp_path / "copy.run").write_bytes(api("GET", "/v1/lists/calls/backup").content)
    with SessionFile.open(tmp_path / "copy.run") as file:
        export_tickets(file, tmp_path / "same.csv")
    assert reply.content == (tmp_path / "same.csv").read_bytes()
    assert [row["loss"] for row in csv.DictReader(io.StringIO(reply.text))] == ["", "0.125", ""]
    assert api("GET", f"{S}/export.parquet").content[:4] == b"PAR1"


def test_long_list_is_exported_by_another_process(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the newest outcomes, and leaves the log to the server. If it fails, the server exports."""
    api.post(f"{S}/next", {"count": 3})
    api.post(f"{S}/record", {"outcomes": [{"ticket": 2, "loss": 0.125}]})
    hosted = api.service.lists["calls"]
    here = api("GET", f"{S}/export.csv").content
    monkeypatch.setattr(hosted_file, "_LONG_LIST", 1)
    with monkeypatch.context() as patch:
        patch.setattr(hosted.file, "export", None)
        assert api("GET", f"{S}/export.csv").content == here
    assert Path(f"{hosted.path}-wal").stat().st_size > 0
    for command in ("false", "/nonexistent"):
        monkeypatch.setattr(sys, "executable", command)
        assert api("GET", f"{S}/export.csv").content == here


def test_paused_list_issues_and_records_nothing(api: Api) -> None:
    api.post(f"{S}/next", {})
    assert api.post("/v1/lists/calls/pause", {"paused": True}).json()["paused"] is True
    before = digest_of(api)
    assert api.post(f"{S}/next", {}).status_code == 423
    assert api.post(f"{S}/record", {"outcomes": [{"ticket": 1, "loss": 0}]}).status_code == 423
    assert api("GET", f"{S}/status").json()["paused"] is True
    assert digest_of(api) == before
    api.post("/v1/lists/calls/pause", {"paused": False})
    assert tickets_of(api.post(f"{S}/next", {})) == [2]


INVALID_FIELDS: dict[str, list[Any]] = {
    "next": [
        {"count": 0},
        {"count": 1001},
        {"count": True},
        {"count": "1"},
        {"reissue_after": -1},
        {"other": 1},
        [],
    ],
    "record": [{}, {"outcomes": []}, {"outcomes": {"ticket": 1}}],
    "amend": [{"ticket": 1, "loss": 0, "cost": 1}],
    "cancel": [{"ticket": 99}, {"ticket": None}],
}
INVALID_OUTCOMES = [
    {"ticket": 1},
    {"ticket": 1, "loss": 2},
    {"ticket": 1, "loss": float("nan")},
    {"ticket": 1, "loss": "0.5"},
    {"ticket": 1, "loss": 10**400},
    {"ticket": 1, "loss": [0.5, 0.5]},
    {"ticket": 1, "loss": 0.5, "reward": 0.5},
    {"ticket": 1, "loss": 0.5, "cost": float("inf")},
    {"ticket": 99, "loss": 0.5},
    {"ticket": 10**30, "loss": 0.5},
]


@pytest.mark.parametrize(
    ("path", "body"),
    [(path, body) for path, bodies in INVALID_FIELDS.items() for body in bodies]
    + [("record", {"outcomes": [outcome]}) for outcome in INVALID_OUTCOMES],
)
def test_invalid_request_changes_nothing(api: Api, path: str, body: Any, one_sentence: Any) -> None:
    api.post(f"{S}/next", {})
    before = digest_of(api)
    reply = api(
        "POST",
        f"{S}/{path}",
        content=json.dumps(body),
        headers={"content-type": "application/json"},
    )
    assert reply.status_code == reply.json()["status"] == 422, reply.text
    one_sentence(reply.json()["detail"])
    assert digest_of(api) == before


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "status"),
    [
        ("POST", f"{S}/next", b"{", {}, 400),
        ("POST", f"{S}/next", b"[" * 100_000, {}, 400),
        ("POST", f"{S}/next", b"\xff\xfe{", {}, 400),
        ("POST", f"{S}/next", b" " * (_MAX_BODY_BYTES + 1), {}, 413),
        ("POST", f"{S}/next", b"{}", {"content-type": "text/plain"}, 415),
        ("GET", f"{S}/next", b"", {}, 405),
        ("POST", f"{S}/next", b"{}", {"idempotency-key": "x" * 101}, 422),
        ("GET", f"{S}/tickets/x", b"", {}, 422),
        ("GET", "/v1/lists/other/status", b"", {}, 404),
        ("GET", f"{S}/export.xls", b"", {}, 404),
        ("GET", "/v1/lists/..%2F..%2Fetc%2Fpasswd/status", b"", {}, 404),
        # A web site whose name resolves to 127.0.0.1 must not read a service without tokens.
        ("GET", f"{S}/status", b"", {"host": "evil.example"}, 421),
        ("GET", f"{S}/status", b"", {"host": "[::1"}, 400),
        ("GET", f"{S}/status", b"", {"host": "127.0.0.1:8787"}, 200),
    ],
)
def test_malformed_request_is_rejected(
    api: Api, method: str, path: str, content: bytes, headers: dict[str, str], status: int
) -> None:
    given = {"content-type": "application/json", **headers}
    assert api(method, path, content=content, headers=given).status_code == status
    assert api("GET", f"{S}/status").json()["played"] == 0


def test_roles_are_enforced_on_every_route(roles: tuple[Api, dict[str, str]]) -> None:
    api, tokens = roles
    for method, path, role, *_ in API:
        name = "models" if "races" in path else "calls"
        address = path.format(name=name, kind="csv", ticket="1", owner="unknown")
        if role is None or address.endswith("/events"):
            continue
        before = digest_of(api)
        assert api(method, address).status_code == 401, address
        for lower in ROLES[: ROLES.index(role)]:
            assert api(method, address, headers=bearer(tokens[lower])).status_code == 403, (
                address,
                lower,
            )
        assert digest_of(api) == before
        assert api(method, address, headers=bearer(tokens[role])).status_code not in (
            401,
            403,
            500,
        ), address


def test_key_of_another_worker_shows_nothing(roles: tuple[Api, dict[str, str]]) -> None:
    api, tokens = roles
    status = {
        role: api.post(f"{S}/next", {}, idempotency_key="k1", **bearer(tokens[role])).status_code
        for role in ("admin", "worker")
    }
    assert status == {"admin": 200, "worker": 409}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_posts_of_other_sites_are_rejected(api: Api, headers: dict[str, str]) -> None:
    before = digest_of(api)
    assert api("POST", f"{S}/next", {}, headers).status_code == 403
    assert digest_of(api) == before
    assert tickets_of(
        api(
            "POST", f"{S}/next", {}, {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
        )
    )


def test_every_reply_has_security_headers(api: Api) -> None:
    for path in ("/healthz", "/v1", "/nowhere", f"{S}/next", "/v1/lists/x/status"):
        assert api("GET", path).headers.items() >= SECURITY_HEADERS.items(), path


def test_log_has_no_token_and_no_query(
    roles: tuple[Api, dict[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    api, tokens = roles
    with caplog.at_level(logging.INFO):
        api("GET", "/v1?token=secret", headers=bearer(tokens["admin"]))
        api("GET", "/v1", headers=bearer(f"{tokens['admin']}x"))
    lines = [
        json.loads(record.getMessage())
        for record in caplog.records
        if record.name == "tombola.service"
    ]
    assert [(line["path"], line["status"], line["worker"]) for line in lines] == [
        ("/v1", 200, "admin"),
        ("/v1", 401, ""),
    ]
    assert tokens["admin"] not in str(lines)
    assert "secret" not in str(lines)


def test_unwritable_file_is_unavailable_and_names_no_folder(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(self: EventLog) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(EventLog, "flush", fail)
    reply = api.post(f"{S}/next", {})
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert str(tmp_path) not in reply.text
    monkeypatch.undo()
    # Nothing was issued in the failed request.
    assert tickets_of(api.post(f"{S}/next", {})) == [1]
    (tmp_path / "copy").write_bytes(digest_of(api))
    os.replace(tmp_path / "copy", api.service.lists["calls"].path)
    assert api.post(f"{S}/next", {}).status_code == 503


def test_tokens_are_managed_by_admins(roles: tuple[Api, dict[str, str]]) -> None:
    api = Api(roles[0].service, roles[1]["admin"])
    bob = {"name": "Bob", "role": "worker"}
    made = api.post("/v1/tokens", bob)
    assert made.status_code == 201
    assert api("GET", "/v1", headers=bearer(made.json()["token"])).json()["you"] == bob
    assert api("GET", "/v1/tokens").json()["tokens"][-1] == bob
    assert api.post("/v1/tokens", bob).status_code == 422
    assert [
        api("DELETE", f"/v1/tokens/{name}").status_code for name in ("Bob", "Bob", "admin")
    ] == [200, 404, 422]
    assert api("GET", "/v1", headers=bearer(made.json()["token"])).status_code == 401
