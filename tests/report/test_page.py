"""The page, in a real browser: no error, no request, a table that sorts, figures that answer, light and dark."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import needs_browser, open_file
from conftest import HANGS
from tombola.report.chart import Band, Chart, Line
from tombola.report.page import ClaimEntry, claims_page, draw_for_page


def chart(name: str = "measured") -> Chart:
    x = np.array([10.0, 100.0, 1000.0])
    bands = (Band(name, x, x / 2, x / 3, x), Band("other", x, x / 5, x / 6, x / 4))
    return Chart(
        "A title",
        "rows",
        "regret",
        bands,
        (Line("bound", x, 2 * x),),
        alt="two curves below a line",
    )


def entry(name: str, outcome: str) -> ClaimEntry:
    return ClaimEntry(
        name,
        f"Title of {name}",
        "Theorem 9",
        "A <b>statement</b> & more",
        "What it means.",
        outcome,
        "holds",
        "slope 0.5",
        "√T",
        "",
        f"tombola reproduce --claims {name}",
        (draw_for_page(f"{name}-0", chart()),),
    )


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    entries = [entry("beta", "holds"), entry("alpha", "refuted"), entry("gamma", "holds")]
    path = tmp_path / "index.html"
    path.write_text(claims_page("A <title>", "A lead", entries, [("seed", "1")]), encoding="utf-8")
    return path


def test_print_opens_what_is_folded_away(page_file: Path) -> None:
    _, printed = page_file.read_text(encoding="utf-8").split("@media print {", 1)
    assert (
        "details::details-content { content-visibility: visible; }" in printed.split("</style>")[0]
    )


def test_page_is_escaped_and_self_contained(page_file: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert "<b>statement</b>" not in text
    assert "A &lt;title&gt;" in text
    assert not [part for part in text.split('"') if part.startswith(("http://", "https://", "//"))]
    evil = draw_for_page("x", chart('</script><img src="x">'))
    assert "</script>" not in evil.spots
    assert "<img" not in evil.svg


def test_drawing_colours_and_identifiers() -> None:
    one, two = draw_for_page("one", chart()), draw_for_page("two", chart())
    assert "var(--c0)" in one.svg
    assert "#0072b2" not in one.svg.lower()
    assert 'id="one-' in one.svg
    assert 'id="one-' not in two.svg
    assert one.legend == [("c0", "measured"), ("c1", "other"), ("reference", "bound")]


@needs_browser
@pytest.mark.parametrize("width", [1200, 390])
def test_page_works(browser: Any, page_file: Path, width: int) -> None:
    page, problems = open_file(browser, page_file, width)
    legend = page.locator(".legend").first
    assert legend.is_visible() == (width < 600)

    names = page.locator("#claims tbody tr td:first-child a")
    assert names.all_inner_texts() == ["beta", "alpha", "gamma"]
    if width > 600:
        head = page.locator("#claims th button").first
        head.click()
        assert names.all_inner_texts() == ["alpha", "beta", "gamma"]
        head.click()
        assert names.all_inner_texts() == ["gamma", "beta", "alpha"]

    inner, tip = page.locator(".plot .inner").first, page.locator(".tip").first
    inner.scroll_into_view_if_needed()
    box = inner.bounding_box()
    left, top, text, _ = page.evaluate(
        "JSON.parse(document.querySelector('.plot script').textContent)[1]"
    )
    assert not tip.is_visible()
    page.mouse.move(box["x"] + left * box["width"], box["y"] + top * box["height"])
    assert tip.inner_text() == text == "measured\nrows: 100\n50 (33.33 to 100)"
    inner.focus()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("measured\n")
    page.keyboard.press("ArrowDown")
    assert not tip.inner_text().startswith("measured\n"), "down goes to the next curve"

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = ground()
    page.locator(".switch").click()
    assert ground() != light
    page.emulate_media(media="print")
    assert ground() == light, "paper is white, whatever the theme"
    page.emulate_media(media="screen")
    page.reload()
    assert ground() != light, "the theme is kept"
    page.locator(".switch").click()
    assert ground() == light
    page.emulate_media(color_scheme="dark")
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download(timeout=1000 * HANGS) as download:
            page.locator(".tools button", has_text=kind).first.click()
        assert Path(download.value.path()).read_bytes().startswith(start)
    assert problems == []
