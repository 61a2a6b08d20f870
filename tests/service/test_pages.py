"""Pages without a browser: a working day by forms, races, admins, escaping, login, origins."""

import re
from pathlib import Path
from typing import Any

import pytest

from race_cases import finish_files, loss_of, start_file
from service_cases import Api, api_of, bearer, start_session
from tombola import UCB1, RaceFile, SessionFile
from tombola.errors import ParameterError
from tombola.racing import RaceSettings
from tombola.service.server import open_service
from tombola.service.tokens import TokenStore
from tombola.worklists import Outcome

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}
EVIL = '"><script>alert(1)</script>'


def submit(api: Api, path: str, fields: str, **headers: str) -> Any:
    return api("POST", path, content=fields.encode(), headers={**FORM, **headers})


def test_working_day_by_forms(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run", rows=3, phones=True)
    with api_of(path) as api:
        assert api("GET", "/").headers["location"] == "/lists/calls"
        assert "Next row" in api("GET", "/lists/calls").text
        assert submit(api, "/lists/calls/next", "key=k1").status_code == 303
        submit(api, "/lists/calls/next", "key=k1")
        page = api("GET", "/lists/calls").text
        assert "<dd>+" in page
        assert 'name="ticket" value="1"' in page
        submit(api, "/lists/calls/record", "ticket=1&outcome=1&then=next&key=k2")
        page = api("GET", "/lists/calls").text
        assert 'name="ticket" value="2"' in page
        assert "score 1" in page
        submit(api, "/lists/calls/amend", "ticket=1&outcome=0")
        assert "score 0" in api("GET", "/lists/calls").text
        submit(api, "/lists/calls/record", "ticket=2&outcome=0,25&then=next&key=k3")
        submit(api, "/lists/calls/cancel", "ticket=3")
        assert submit(api, "/lists/calls/record", "ticket=3&outcome=1").status_code == 409
        # The outcome of the last row leads to the end of the list.
        assert (
            submit(api, "/lists/calls/record", "ticket=2&outcome=0,25&then=next&key=k4").status_code
            == 303
        )
        assert "No row is left" in api("GET", "/lists/calls").text
    with SessionFile.open(path) as file:
        assert file.issued == 3
        assert file.view().outcomes == [1.0, 0.75, None]


INVALID_FORMS = [
    ("next", "key="),
    ("next", ""),
    ("record", "ticket=1&outcome=x"),
    ("record", "ticket=1&outcome=7"),
    ("record", "outcome=1"),
    ("record", "ticket=1&outcome=nan"),
    ("record", "ticket=%F0&outcome=1"),
    ("record", "ticket=99&outcome=1"),
    ("record", "&&&"),
    ("amend", "ticket=1&outcome=1"),
    ("cancel", "ticket=-1"),
]


def test_rejected_form_changes_nothing(tmp_path: Path) -> None:
    """Invalid fields, a form of another site, and one that names no site."""
    file = start_session(tmp_path / "calls.run")
    with api_of(file) as api:
        submit(api, "/lists/calls/next", "key=k1")
        before = file.read_bytes()
        for path, fields in INVALID_FORMS:
            reply = submit(api, f"/lists/calls/{path}", fields)
            assert reply.status_code in (400, 409, 422), fields
            assert "Not done" in reply.text
        assert (
            submit(api, "/lists/calls/next", "key=k2", origin="https://evil.example").status_code
            == 403
        )
        typed = {"content-type": "application/x-www-form-urlencoded"}
        assert api("POST", "/lists/calls/next", content=b"key=k2", headers=typed).status_code == 403
        assert file.read_bytes() == before


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "calls.run"
    SessionFile.start(
        path, [EVIL], [EVIL + "a", EVIL + "b"], UCB1(), seed=1, columns={EVIL: [EVIL]}
    ).close()
    with api_of(path) as api:
        submit(api, "/lists/calls/next", "key=k1")
        page = api("GET", "/lists/calls").text
        assert "&lt;script&gt;" in page
        submit(api, "/lists/calls/record", "ticket=1&outcome=1")
        page += api("GET", "/lists/calls").text + api("GET", "/lists/calls/progress").text
        page += submit(api, "/lists/calls/record", f"ticket=1&outcome={EVIL}").text
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/page.js" defer>'] * 2


def test_hostile_names_of_a_race_are_escaped(tmp_path: Path) -> None:
    path, store = tmp_path / "<b>&.race", TokenStore(None)
    token = store.add(EVIL.replace("/", ""), "admin")
    with RaceFile.start(path, RaceSettings((EVIL, f"{EVIL}2"), seed=1), [EVIL, "x"]) as file:
        file.record_all([Outcome(task.ticket, 0.5) for task in file.lease("k", worker=EVIL)])
    with api_of(path, tokens=store, token=token) as api:
        page = api("GET", "/lists/%3Cb%3E%26").text
        assert "&lt;script&gt;" in page
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/page.js" defer>']
        page += api("GET", "/admin").text
        assert "<b>" not in page
        assert "alert(1)<" not in page


def test_login_sets_a_strict_cookie(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "t")
    token, reader = store.add("Ann", "admin"), store.add("Bob", "reader")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store) as api:
        assert api("GET", "/lists/calls").headers["location"] == "/login"
        assert submit(api, "/login", "token=wrong").status_code == 401
        cookie = submit(api, "/login", f"token={token}").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        signed_in = {"cookie": cookie.partition(";")[0]}
        assert "Ann (admin)" in api("GET", "/lists/calls", headers=signed_in).text
        assert submit(api, "/lists/calls/next", "key=k", **signed_in).status_code == 303
        assert (
            submit(api, "/lists/calls/next", "key=k", cookie="tombola-token=x").headers["location"]
            == "/login"
        )
        # A reader sees, but does not work.
        assert "Next row" not in api("GET", "/lists/calls", headers=bearer(reader)).text
        assert submit(api, "/lists/calls/next", "key=k", **bearer(reader)).status_code == 403
        assert api("GET", "/static/..%2Fapp.py").status_code == 404
        # A damaged file of tokens is a page, not a crash.
        (tmp_path / "t").write_text("{", encoding="utf-8")
        assert [
            api("GET", path).status_code for path in ("/", "/lists/calls", "/admin", "/v1")
        ] == [503] * 4


def test_unit_of_the_session_is_the_unit_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "calls.run"
    SessionFile.start(
        path, ["a", "b"], ["x", "y"], UCB1(), seed=1, kind="losses", range=(0.0, 60.0)
    ).close()
    with api_of(path) as api:
        submit(api, "/lists/calls/next", "key=k1")
        page = api("GET", "/lists/calls").text
        assert "A loss from 0 to 60" in page
        assert "Yes" not in page
        assert submit(api, "/lists/calls/record", "ticket=1&outcome=61").status_code == 422
        submit(api, "/lists/calls/record", "ticket=1&outcome=15")
        assert "loss 15" in api("GET", "/lists/calls").text
    with SessionFile.open(path) as file:
        assert file.view().outcomes == [0.25]


def test_buttons_of_the_server_have_their_values(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    service = open_service([path], TokenStore(None), {"sold": "1", "later <b>": "0.5", "no": "0"})
    api = Api(service)
    submit(api, "/lists/calls/next", "key=k1")
    page = api("GET", "/lists/calls").text
    assert re.findall(r'name="outcome" value="([^"]*)" data-key="(.)">([^<]*) <kbd>', page) == [
        ("1", "1", "sold"),
        ("0.5", "2", "later &lt;b&gt;"),
        ("0", "3", "no"),
    ]
    service.lists["calls"].close()
    with pytest.raises(ParameterError, match="values from 0 to 1"):
        open_service([path], TokenStore(None), {"sold": "7"})


def test_today_lists_only_tickets_of_today(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    with SessionFile.open(path) as file:
        file.lease("k1", 1, worker="local", now=1.0)
        file.record(1, loss=0.0)
    with api_of(path) as api:
        submit(api, "/lists/calls/next", "key=k2")
        submit(api, "/lists/calls/record", "ticket=2&outcome=1")
        page = api("GET", "/lists/calls").text
        assert "1 answered today" in page
        assert page.count("<li><span>") == 1


def test_race_page_shows_survivors_leader_and_savings(tmp_path: Path) -> None:
    with start_file(tmp_path / "models.race") as file:
        file.lease("k1", 2, worker="Ann")
    with api_of(tmp_path / "models.race") as api:
        assert api("GET", "/").headers["location"] == "/lists/models"
        page = api("GET", "/lists/models").text
        assert "none yet" in page
        assert "Ann: 2 calls" in page
        file = api.service.lists["models"].file
        file.record_all([Outcome(call.ticket, loss_of(call), cost=0.25) for call in file.pending])
        finish_files(file)
        api.service.lists["models"].changes += 1
        page = api("GET", "/lists/models/progress").text
        race = api.service.lists["models"].file.race
        assert f"{len(race.active)} of {len(race.candidates)}" in page
        assert f"{race.calls_saved:,} (" in page
        assert "low ★" in page
        assert sorted(map(int, re.findall(r"out at row (\d+)<", page))) == sorted(
            one.row for one in race.dropped
        )


def test_admin_page_pauses_and_adds_tokens(tmp_path: Path) -> None:
    store = TokenStore(None)
    admin, worker = store.add("Ann", "admin"), store.add("Bob", "worker")
    start_file(tmp_path / "models.race").close()
    paths = start_session(tmp_path / "calls.run"), tmp_path / "models.race"
    with api_of(*paths, tokens=store, token=admin) as api:
        assert "Pause models" in api("GET", "/admin").text
        assert (
            submit(api, "/admin/lists/models/pause", "paused=yes").headers["location"] == "/admin"
        )
        assert "paused" in api("GET", "/lists/models").text
        submit(api, "/admin/lists/calls/pause", "paused=yes")
        assert "Next row" not in api("GET", "/lists/calls").text
        assert submit(api, "/lists/calls/next", "key=k1").status_code == 423
        submit(api, "/admin/lists/models/pause", "paused=no")
        assert not api.service.lists["models"].paused
        page = submit(api, "/admin/tokens", "name=Cem&role=reader").text
        (token,) = re.findall(r'<code class="token">([^<]*)</code>', page)
        assert store.find(token) == ("Cem", "reader")
        assert token not in api("GET", "/admin").text
        for fields in ("name=Cem&role=reader", "name=&role=reader"):
            assert submit(api, "/admin/tokens", fields).status_code == 422
        submit(api, "/admin/tokens/remove", "name=Cem")
        assert store.find(token) is None
        # Workers and other sites may do none of it.
        for path in ("/admin/tokens", "/admin/tokens/remove", "/admin/lists/models/pause"):
            for headers in (bearer(worker), {"origin": "https://evil.example"}):
                assert submit(api, path, "name=Dee&role=admin", **headers).status_code == 403
        assert api("GET", "/admin", headers=bearer(worker)).status_code == 403
        assert [one.name for one in store.owners()] == ["Ann", "Bob"]
