"""The JSON API in this process: tickets, outcomes, roles, origins, limits."""

import csv
import io
import json
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from race_cases import start_file
from service_cases import Api, api_of, start_session
from tombola import SessionFile
from tombola.service.app import SECURITY_HEADERS
from tombola.service.openapi import API
from tombola.service.parsing import _MAX_BODY_BYTES
from tombola.service.tokens import TokenStore

S = "/v1/sessions/calls"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with api_of(start_session(tmp_path / "calls.run")) as found:
        yield found


def digest_of(api: Api) -> bytes:
    """Return the bytes of the session file: a rejected request must not change one of them."""
    return api.service.sessions["calls"].path.read_bytes()


def tickets_of(reply: Any) -> list[int]:
    assert reply.status_code == 200, reply.text
    return [ticket["ticket"] for ticket in reply.json()["tickets"]]


def test_same_key_gives_same_tickets_after_restart(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    with api_of(path) as api:
        first = api.post(f"{S}/next", {"count": 3}, idempotency_key="k1")
        assert tickets_of(first) == [1, 2, 3]
        assert api.post(f"{S}/next", {"count": 3}, idempotency_key="k1").json() == first.json()
        assert tickets_of(api.post(f"{S}/next", {"count": 2}, idempotency_key="k2")) == [4, 5]
        assert tickets_of(api.post(f"{S}/next", {})) == [6]
    with api_of(path) as api:
        assert api.post(f"{S}/next", {"count": 3}, idempotency_key="k1").json() == first.json()
        assert tickets_of(api.post(f"{S}/next", {})) == [7]


def test_key_of_other_request_is_conflict(api: Api) -> None:
    api.post(f"{S}/next", {"count": 3}, idempotency_key="k1")
    before = digest_of(api)
    assert api.post(f"{S}/next", {"count": 1}, idempotency_key="k1").status_code == 409
    assert digest_of(api) == before


def test_record_ignores_repeats_and_rejects_contradictions(api: Api) -> None:
    api.post(f"{S}/next", {"count": 3})
    outcomes = {"outcomes": [{"ticket": 1, "loss": 0.5}, {"ticket": 2, "reward": 1}]}
    assert api.post(f"{S}/record", outcomes).json() == {"recorded": 2, "known": 0}
    before = digest_of(api)
    assert api.post(f"{S}/record", outcomes).json() == {"recorded": 0, "known": 2}
    conflict = api.post(f"{S}/record", {"outcomes": [{"ticket": 3, "loss": 0.5}, {"ticket": 1, "loss": 0.25}]})
    assert conflict.status_code == 409
    assert conflict.headers["content-type"] == "application/problem+json"
    assert "first answer stands" in conflict.json()["detail"]
    # All or none: the outcome of ticket 3 was not recorded.
    assert digest_of(api) == before
    assert api("GET", f"{S}/status").json()["answered"] == 2


def test_amend_and_cancel(api: Api) -> None:
    api.post(f"{S}/next", {"count": 2})
    assert api.post(f"{S}/amend", {"ticket": 1, "loss": 1}).status_code == 409
    api.post(f"{S}/record", {"outcomes": [{"ticket": 1, "loss": 0}]})
    assert api.post(f"{S}/amend", {"ticket": 1, "loss": 1}).json() == {"ticket": 1, "loss_before": 0.0}
    assert api.post(f"{S}/cancel", {"ticket": 2}).json() == {"ticket": 2, "new": True}
    assert api.post(f"{S}/cancel", {"ticket": 2}).json() == {"ticket": 2, "new": False}
    assert api.post(f"{S}/record", {"outcomes": [{"ticket": 2, "loss": 0}]}).status_code == 409
    now = api("GET", f"{S}/status").json()
    assert (now["answered"], now["amended"], now["cancelled"], now["loss"]) == (1, 1, 1, 1.0)


def test_exhausted_list_is_named(tmp_path: Path) -> None:
    with api_of(start_session(tmp_path / "calls.run", rows=2)) as api:
        assert tickets_of(api.post(f"{S}/next", {"count": 5})) == [1, 2]
        reply = api.post(f"{S}/next", {})
        assert (reply.status_code, reply.json()["type"]) == (409, "urn:tombola:exhausted")
        assert tickets_of(api.post(f"{S}/next", {"count": 5, "reissue_after": 0})) == [1, 2]


def test_export_equals_that_of_the_file(api: Api, tmp_path: Path) -> None:
    from tombola.persistence.session_csv import export_tickets

    api.post(f"{S}/next", {"count": 3})
    api.post(f"{S}/record", {"outcomes": [{"ticket": 2, "loss": 0.125}]})
    reply = api("GET", f"{S}/export.csv")
    assert 'filename="calls.csv"' in reply.headers["content-disposition"]
    with SessionFile.open(api.service.sessions["calls"].path) as file:
        export_tickets(file, tmp_path / "same.csv")
    assert reply.content == (tmp_path / "same.csv").read_bytes()
    assert [row["loss"] for row in csv.DictReader(io.StringIO(reply.text))] == ["", "0.125", ""]
    assert api("GET", f"{S}/export.xls").status_code == 404
    assert api("GET", f"{S}/export.parquet").content[:4] == b"PAR1"


def test_backup_is_a_whole_file(api: Api, tmp_path: Path) -> None:
    api.post(f"{S}/next", {"count": 3})
    (tmp_path / "copy.run").write_bytes(api("GET", "/v1/files/calls/backup").content)
    with SessionFile.open(tmp_path / "copy.run") as file:
        assert file.round == 3


def test_paused_list_issues_and_records_nothing(api: Api) -> None:
    api.post(f"{S}/next", {})
    assert api.post("/v1/files/calls/pause", {"paused": True}).json()["paused"] is True
    before = digest_of(api)
    assert api.post(f"{S}/next", {}).status_code == 423
    assert api.post(f"{S}/record", {"outcomes": [{"ticket": 1, "loss": 0}]}).status_code == 423
    assert api("GET", f"{S}/status").json()["paused"] is True
    assert digest_of(api) == before
    api.post("/v1/files/calls/pause", {"paused": False})
    assert tickets_of(api.post(f"{S}/next", {})) == [2]


INVALID = [
    ("next", {"count": 0}, 422),
    ("next", {"count": 1001}, 422),
    ("next", {"count": True}, 422),
    ("next", {"count": "1"}, 422),
    ("next", {"reissue_after": -1}, 422),
    ("next", {"unknown": 1}, 422),
    ("next", [], 422),
    ("record", {}, 422),
    ("record", {"outcomes": []}, 422),
    ("record", {"outcomes": {"ticket": 1}}, 422),
    ("record", {"outcomes": [{"ticket": 1}]}, 422),
    ("record", {"outcomes": [{"ticket": 1, "loss": 2}]}, 422),
    ("record", {"outcomes": [{"ticket": 1, "loss": float("nan")}]}, 422),
    ("record", {"outcomes": [{"ticket": 1, "loss": "0.5"}]}, 422),
    ("record", {"outcomes": [{"ticket": 1, "loss": 10**400}]}, 422),
    ("record", {"outcomes": [{"ticket": 1, "loss": [0.5, 0.5]}]}, 422),
    ("record", {"outcomes": [{"ticket": 1, "loss": 0.5, "reward": 0.5}]}, 422),
    ("record", {"outcomes": [{"ticket": 99, "loss": 0.5}]}, 422),
    ("record", {"outcomes": [{"ticket": 10**30, "loss": 0.5}]}, 422),
    ("amend", {"ticket": 1, "loss": 0, "cost": 1}, 422),
    ("cancel", {"ticket": 99}, 422),
    ("cancel", {"ticket": None}, 422),
]


@pytest.mark.parametrize(("path", "body", "status"), INVALID)
def test_invalid_request_changes_nothing(api: Api, path: str, body: Any, status: int, one_sentence: Any) -> None:
    api.post(f"{S}/next", {})
    before = digest_of(api)
    reply = api("POST", f"{S}/{path}", content=json.dumps(body), headers={"content-type": "application/json"})
    assert reply.status_code == status, reply.text
    assert reply.json()["status"] == status
    one_sentence(reply.json()["detail"])
    assert digest_of(api) == before


def test_malformed_bodies_are_rejected(api: Api) -> None:
    typed = {"content-type": "application/json"}
    assert api("POST", f"{S}/next", content=b"{", headers=typed).status_code == 400
    assert api("POST", f"{S}/next", content=b"[" * 100_000, headers=typed).status_code == 400
    assert api("POST", f"{S}/next", content=b"\xff\xfe{", headers=typed).status_code == 400
    assert api("POST", f"{S}/next", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    assert api("POST", f"{S}/next", content=b" " * (_MAX_BODY_BYTES + 1), headers=typed).status_code == 413
    assert api("POST", f"{S}/next", content=b"{}", headers={**typed, "idempotency-key": "x" * 101}).status_code == 422
    assert api("GET", f"{S}/next").status_code == 405
    assert api("GET", "/v1/sessions/other/status").status_code == 404
    assert api("GET", "/v1/sessions/..%2F..%2Fetc%2Fpasswd/status").status_code == 404
    assert api("GET", f"{S}/tickets/x").status_code == 422
    assert api("GET", f"{S}/status").json()["played"] == 0


def test_ticket_has_columns_of_its_row(tmp_path: Path) -> None:
    with api_of(start_session(tmp_path / "calls.run", phones=True)) as api:
        ticket = api.post(f"{S}/next", {}).json()["tickets"][0]
        assert ticket["columns"] == {"phone": f"+{ticket['id'].split()[1]}"}
        assert api("GET", f"{S}/tickets/1").json() == ticket


def test_roles_are_enforced_on_every_route(tmp_path: Path) -> None:
    store = TokenStore(None)
    tokens = {role: store.add(role, role) for role in ("admin", "worker", "reader")}
    order = ["reader", "worker", "admin"]
    start_file(tmp_path / "models.race").close()
    with api_of(start_session(tmp_path / "calls.run"), tmp_path / "models.race", tokens=store) as api:
        for method, path, role, *_ in API:
            name = "models" if "races" in path else "calls"
            address = path.format(name=name, kind="csv", ticket="1", owner="unknown")
            if role is None or address.endswith("/events"):
                continue
            before = digest_of(api)
            assert api(method, address).status_code == 401, address
            for given in order[: order.index(role)]:
                reply = api(method, address, headers={"authorization": f"Bearer {tokens[given]}"})
                assert reply.status_code == 403, (address, given)
            assert digest_of(api) == before
            allowed = api(method, address, headers={"authorization": f"Bearer {tokens[role]}"})
            assert allowed.status_code not in (401, 403, 500), address


def test_wrong_tokens_are_limited_but_right_ones_pass(tmp_path: Path) -> None:
    store = TokenStore(None)
    token = store.add("Ann", "admin")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store) as api:
        wrong = [api("GET", "/v1", headers={"authorization": f"Bearer {n}"}).status_code for n in range(14)]
        assert wrong == [401] * 10 + [429] * 4
        assert api("GET", "/v1", headers={"authorization": f"Bearer {token}"}).status_code == 200
        elsewhere = Api(api.service, client=("10.0.0.9", 1))
        assert elsewhere("GET", "/v1", headers={"authorization": "Bearer x"}).status_code == 401


def test_key_of_another_worker_shows_nothing(tmp_path: Path) -> None:
    store = TokenStore(None)
    ann, bob = store.add("Ann", "admin"), store.add("Bob", "worker")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store) as api:
        api.post(f"{S}/next", {}, idempotency_key="k1", authorization=f"Bearer {ann}")
        reply = api.post(f"{S}/next", {}, idempotency_key="k1", authorization=f"Bearer {bob}")
        assert reply.status_code == 409


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
    assert tickets_of(api("POST", f"{S}/next", {}, {"origin": "http://localhost", "sec-fetch-site": "same-origin"}))


def test_foreign_host_name_needs_tokens(api: Api, tmp_path: Path) -> None:
    """A web site whose name resolves to 127.0.0.1 must not read a service without tokens."""
    assert api("GET", f"{S}/status", headers={"host": "evil.example"}).status_code == 421
    assert api("GET", f"{S}/status", headers={"host": "[::1"}).status_code == 400
    assert api("GET", f"{S}/status", headers={"host": "127.0.0.1:8787"}).status_code == 200


def test_every_reply_has_security_headers(api: Api) -> None:
    for path in ("/healthz", "/v1", "/nowhere", f"{S}/next", "/v1/sessions/x/status"):
        reply = api("GET", path)
        for name, value in SECURITY_HEADERS.items():
            assert reply.headers[name] == value, path


def test_log_has_no_token_and_no_query(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = TokenStore(None)
    token = store.add("Ann", "admin")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store) as api, caplog.at_level(logging.INFO):
        api("GET", "/v1?token=secret", headers={"authorization": f"Bearer {token}"})
        api("GET", "/v1", headers={"authorization": f"Bearer {token}x"})
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "tombola.service"]
    assert [(line["path"], line["status"], line["worker"]) for line in lines] == [("/v1", 200, "Ann"), ("/v1", 401, "")]
    assert token not in str(lines)
    assert "secret" not in str(lines)


def test_locked_file_is_unavailable_and_names_no_folder(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tombola.persistence.event_log import EventLog

    def fail(self: EventLog) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(EventLog, "flush", fail)
    reply = api.post(f"{S}/next", {})
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert str(tmp_path) not in reply.text
    monkeypatch.undo()
    # Nothing was issued in the failed request.
    assert tickets_of(api.post(f"{S}/next", {})) == [1]


def test_replaced_file_is_unavailable(api: Api) -> None:
    path = api.service.sessions["calls"].path
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    os.replace(copy, path)
    assert api.post(f"{S}/next", {}).status_code == 503


def test_tokens_are_managed_by_admins(tmp_path: Path) -> None:
    store = TokenStore(None)
    admin = store.add("Ann", "admin")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store, token=admin) as api:
        made = api.post("/v1/tokens", {"name": "Bob", "role": "worker"})
        assert made.status_code == 201
        bob = {"authorization": f"Bearer {made.json()['token']}"}
        assert api("GET", "/v1", headers=bob).json()["you"] == {"name": "Bob", "role": "worker"}
        assert api("GET", "/v1/tokens").json()["tokens"][1] == {"name": "Bob", "role": "worker"}
        assert api.post("/v1/tokens", {"name": "Bob", "role": "worker"}).status_code == 422
        assert api("DELETE", "/v1/tokens/Bob").status_code == 200
        assert api("GET", "/v1", headers=bob).status_code == 401
        assert api("DELETE", "/v1/tokens/Bob").status_code == 404
        assert api("DELETE", "/v1/tokens/Ann").status_code == 422
