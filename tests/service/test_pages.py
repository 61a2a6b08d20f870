"""Pages: a working day by forms, escaping, login, origins; in a real browser where there is one."""

import re
from pathlib import Path
from typing import Any

import pytest

from browser import CHROMIUM, FLAGS, needs_browser
from service_cases import Api, Server, api_of, start_session
from tombola import UCB1, SessionFile
from tombola.service.tokens import TokenStore

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}


def submit(api: Api, path: str, fields: str, **headers: str) -> Any:
    return api("POST", path, content=fields.encode(), headers={**FORM, **headers})


def test_working_day_by_forms(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run", rows=3, phones=True)
    with api_of(path) as api:
        assert api("GET", "/").headers["location"] == "/s/calls"
        assert "Next row" in api("GET", "/s/calls").text
        assert submit(api, "/s/calls/next", "key=k1").status_code == 303
        submit(api, "/s/calls/next", "key=k1")
        page = api("GET", "/s/calls").text
        assert "<dd>+" in page
        assert 'name="ticket" value="1"' in page
        submit(api, "/s/calls/record", "ticket=1&score=1&then=next&key=k2")
        page = api("GET", "/s/calls").text
        assert 'name="ticket" value="2"' in page
        assert "score 1" in page
        submit(api, "/s/calls/amend", "ticket=1&score=0")
        assert "score 0" in api("GET", "/s/calls").text
        submit(api, "/s/calls/record", "ticket=2&score=0,25&then=next&key=k3")
        submit(api, "/s/calls/cancel", "ticket=3")
        assert submit(api, "/s/calls/record", "ticket=3&score=1").status_code == 409
        assert "No row is left" in api("GET", "/s/calls").text
    with SessionFile.open(path) as file:
        assert file.round == 3
        assert file.view().outcomes == [1.0, 0.75, None]


def test_last_outcome_leads_to_the_end_of_the_list(tmp_path: Path) -> None:
    with api_of(start_session(tmp_path / "calls.run", rows=1)) as api:
        submit(api, "/s/calls/next", "key=k1")
        assert submit(api, "/s/calls/record", "ticket=1&score=1&then=next&key=k2").status_code == 303
        assert "No row is left" in api("GET", "/s/calls").text


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("next", ""),
        ("next", "key="),
        ("record", "ticket=1&score=x"),
        ("record", "ticket=1&score=7"),
        ("record", "ticket=1&score=nan"),
        ("record", "ticket=%F0&score=1"),
        ("record", "ticket=99&score=1"),
        ("record", "score=1"),
        ("record", "&&&"),
        ("amend", "ticket=1&score=1"),
        ("cancel", "ticket=-1"),
    ],
)
def test_invalid_form_changes_nothing(tmp_path: Path, path: str, fields: str) -> None:
    file = start_session(tmp_path / "calls.run")
    with api_of(file) as api:
        submit(api, "/s/calls/next", "key=k1")
        before = file.read_bytes()
        reply = submit(api, f"/s/calls/{path}", fields)
        assert reply.status_code in (400, 409, 422)
        assert "Not done" in reply.text
        assert file.read_bytes() == before


def test_form_of_another_site_is_rejected(tmp_path: Path) -> None:
    file = start_session(tmp_path / "calls.run")
    with api_of(file) as api:
        before = file.read_bytes()
        assert submit(api, "/s/calls/next", "key=k1", origin="https://evil.example").status_code == 403
        typed = {"content-type": "application/x-www-form-urlencoded"}
        assert api("POST", "/s/calls/next", content=b"key=k1", headers=typed).status_code == 403
        assert file.read_bytes() == before


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script>'
    path = tmp_path / "calls.run"
    SessionFile.start(path, [evil], [evil + "a", evil + "b"], UCB1(), seed=1, columns={evil: [evil]}).close()
    with api_of(path) as api:
        submit(api, "/s/calls/next", "key=k1")
        page = api("GET", "/s/calls").text
        assert "&lt;script&gt;" in page
        submit(api, "/s/calls/record", "ticket=1&score=1")
        page += api("GET", "/s/calls").text + api("GET", "/s/calls/progress").text
        page += submit(api, "/s/calls/record", f"ticket=1&score={evil}").text
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/page.js" defer>'] * 2


def test_login_sets_a_strict_cookie(tmp_path: Path) -> None:
    store = TokenStore(None)
    token = store.add("Ann", "admin")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store) as api:
        assert api("GET", "/s/calls").headers["location"] == "/login"
        assert submit(api, "/login", "token=wrong").status_code == 401
        cookie = submit(api, "/login", f"token={token}").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        signed_in = {"cookie": cookie.partition(";")[0]}
        assert "Ann (admin)" in api("GET", "/s/calls", headers=signed_in).text
        assert submit(api, "/s/calls/next", "key=k", **signed_in).status_code == 303
        assert submit(api, "/s/calls/next", "key=k", cookie="tombola-token=x").headers["location"] == "/login"


def test_reader_sees_but_does_not_work(tmp_path: Path) -> None:
    store = TokenStore(None)
    store.add("Ann", "admin")
    reader = store.add("Bob", "reader")
    with api_of(start_session(tmp_path / "calls.run"), tokens=store, token=reader) as api:
        assert "Next row" not in api("GET", "/s/calls").text
        assert submit(api, "/s/calls/next", "key=k").status_code == 403
        assert api("GET", "/static/..%2Fapp.py").status_code == 404


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_working_day_in_a_browser_by_keyboard(tmp_path: Path, width: int) -> None:
    from playwright.sync_api import sync_playwright

    table = tmp_path / "people.csv"
    rows = "".join(f"{name},+49 30 {n},{n + 20}\n" for n, name in enumerate(["Ann", "Bob", "Cem", "Dee", "Eva"]))
    table.write_text(f"id,phone,age\n{rows}", encoding="utf-8")
    path = tmp_path / "calls.run"
    arguments = (path, "--list", table, "--actions", "call,letter", "--learner", "UCB1")
    with Server(*arguments) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(
            viewport={"width": width, "height": 844}, color_scheme="dark" if width < 500 else "light"
        )
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(server.url)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Did it work?")
        assert "+49 30" in page.inner_text("dl")
        for key, answered in (("y", 1), ("n", 2)):
            page.keyboard.press(key)
            page.wait_for_selector(f"header >> text={answered} answered")
        page.keyboard.press("u")
        page.keyboard.press("Enter")
        page.wait_for_selector("ul.outcomes li:first-child >> text=score 1")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Another client records; the page shows it without a reload.
        page.screenshot(path=tmp_path / f"page-{width}.png", full_page=True)
        import httpx

        ticket = httpx.post(f"{server.url}/v1/sessions/calls/next", json={}).json()["tickets"][0]["ticket"]
        body = {"outcomes": [{"ticket": ticket, "loss": 0.5}]}
        httpx.post(f"{server.url}/v1/sessions/calls/record", json=body)
        page.wait_for_selector("#progress >> text=3 of 5 rows answered")
        assert problems == []
        browser.close()
    with SessionFile.open(path) as file:
        assert file.view().outcomes[:2] == [0.0, 0.0]
