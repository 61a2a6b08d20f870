"""Pages in a real browser: a working day by keyboard, live updates, accessibility, screenshots.

TOMBOLA_SCREENSHOTS names a folder that keeps the screenshots.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from browser import needs_browser
from conftest import HANGS
from race_cases import loss_of, start_file
from service_cases import Server
from tombola import Client, SessionFile
from tombola.service.tokens import TokenStore

pytestmark = needs_browser
AXE_VERSION = "4.14.0"
NAMES = ["Ann", "Bob", "Cem", "Dee", "Eva"]
VIEWS = [(400, "light"), (400, "dark"), (1280, "light"), (1280, "dark")]


def people(tmp_path: Path) -> Path:
    """Write a list with names, phones and prompts."""
    table = tmp_path / "people.csv"
    rows = "".join(
        f"{name},+49 30 {n},{'Ask about the offer. ' * n}\n" for n, name in enumerate(NAMES)
    )
    table.write_text(f"id,phone,prompt\n{rows}", encoding="utf-8")
    return table


@contextmanager
def browser_page(browser: Any, width: int, scheme: str) -> Iterator[Any]:
    """Open a page of this width; errors of the console fail the test."""
    problems: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.on(
        "console",
        lambda message: problems.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    page.close()
    assert problems == []


def keep(page: Any, tmp_path: Path, name: str) -> None:
    """Take a screenshot, and check that nothing is wider than the window."""
    folder = Path(os.environ.get("TOMBOLA_SCREENSHOTS", tmp_path))
    page.screenshot(path=folder / f"{name}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], (
        name
    )


@pytest.mark.parametrize(("width", "scheme"), [VIEWS[1], VIEWS[2]])
def test_working_day_by_keyboard_only(
    tmp_path: Path, browser: Any, width: int, scheme: str
) -> None:
    path = tmp_path / "calls.run"
    arguments = (path, "--list", people(tmp_path), "--actions", "call,letter", "--learner", "UCB1")
    with Server(*arguments) as server, browser_page(browser, width, scheme) as page:
        page.goto(server.url)
        keep(page, tmp_path, f"start-{width}-{scheme}")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Did it work?")
        assert "+49 30" in page.inner_text("dl")
        for key, answered in (("y", 1), ("n", 2)):
            page.keyboard.press(key)
            page.wait_for_selector(f"header >> text={answered} answered today")
        page.keyboard.press("u")
        page.keyboard.press("Enter")
        page.wait_for_selector("ul.outcomes li:first-child >> text=score 1")
        # A number by keyboard: Tab leads to the field.
        for _ in range(30):
            if (
                page.evaluate("document.activeElement.tagName + document.activeElement.name")
                == "INPUToutcome"
            ):
                break
            page.keyboard.press("Tab")
        page.keyboard.type("0,25")
        page.keyboard.press("Enter")
        page.wait_for_selector("header >> text=3 answered today")
        keep(page, tmp_path, f"work-{width}-{scheme}")
        # Another client records; the page shows it without a reload.
        ticket = httpx.post(f"{server.url}/v1/lists/calls/next", json={}).json()["tickets"][0][
            "ticket"
        ]
        httpx.post(
            f"{server.url}/v1/lists/calls/record",
            json={"outcomes": [{"ticket": ticket, "loss": 0.5}]},
        )
        page.wait_for_selector("#progress >> text=4 of 5 rows answered")
        page.keyboard.press("y")
        page.wait_for_selector("text=No row is left")
        keep(page, tmp_path, f"end-{width}-{scheme}")
    with SessionFile.open(path) as file:
        assert file.view().outcomes == [0.0, 0.0, 0.75, 0.0, 0.5]


def test_race_page_updates_live(tmp_path: Path, browser: Any) -> None:
    start_file(tmp_path / "models.race").close()
    path = tmp_path / "models.race"
    with (
        Server(path) as server,
        browser_page(browser, 400, "dark") as page,
        Client(server.url) as client,
    ):
        page.goto(server.url)
        page.wait_for_selector("text=none yet")
        # Without a reload: a mark in the page survives.
        page.evaluate("document.body.dataset.mark = 'kept'")
        while not client.status()["done"]:
            for call in client.next():
                client.record(call.ticket, loss=loss_of(call), cost=0.25)
        page.wait_for_selector("h2 >> text=The best")
        assert page.evaluate("document.body.dataset.mark") == "kept"
        assert "low ★" in page.inner_text("table")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core needs npm")
    folder = tmp_path_factory.mktemp("axe")
    command = [
        npm,
        "install",
        "--silent",
        "--no-audit",
        "--prefix",
        str(folder),
        f"axe-core@{AXE_VERSION}",
    ]
    if subprocess.run(command, capture_output=True, timeout=HANGS, check=False).returncode:
        pytest.skip("axe-core could not be installed")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """Return the violations that axe-core finds on a page."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"]
    ]


@pytest.mark.full
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_pages_pass_axe(tmp_path: Path, browser: Any, width: int, scheme: str, axe: str) -> None:
    store = TokenStore(tmp_path / "t")
    token = store.add("Ann", "admin")
    start_file(tmp_path / "models.race").close()
    files, tokens = (tmp_path / "calls.run", tmp_path / "models.race"), ("--tokens", tmp_path / "t")
    with (
        Server(*files, "--list", people(tmp_path), "--actions", "call,letter", *tokens) as server,
        browser_page(browser, width, scheme) as page,
    ):
        found: dict[str, list[str]] = {}

        def check(name: str) -> None:
            keep(page, tmp_path, f"{name}-{width}-{scheme}")
            found[name] = violations(page, axe)

        page.goto(f"{server.url}/login")
        check("login")
        page.fill("#token", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=calls")
        check("lists")
        page.goto(f"{server.url}/lists/calls")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Did it work?")
        page.keyboard.press("y")
        page.wait_for_selector("header >> text=1 answered today")
        page.keyboard.press("u")
        check("undo")
        with Client(server.url, token) as client:
            for _ in range(40):
                for call in client.next():
                    client.record(call.ticket, loss=loss_of(call), cost=0.25)
        page.goto(f"{server.url}/lists/models")
        check("race")
        page.goto(f"{server.url}/admin")
        page.fill("input[name=name]:not([type=hidden])", "Bob")
        page.click("text=Add a token")
        page.wait_for_selector("text=Token of Bob")
        check("admin")
        page.goto(f"{server.url}/admin")
        page.click("text=Pause >> nth=0")
        page.goto(f"{server.url}/lists/calls")
        check("paused")
        assert found == {name: [] for name in found}


@pytest.mark.full
def test_axe_detects_a_missing_label(browser: Any, axe: str) -> None:
    """Fault: an input without a label must be reported, or the test above shows nothing."""
    with browser_page(browser, 400, "light") as page:
        page.set_content(
            "<html lang=en><title>x</title><main><h1>x</h1><input name=a></main></html>"
        )
        assert any(one.startswith("label:") for one in violations(page, axe))
