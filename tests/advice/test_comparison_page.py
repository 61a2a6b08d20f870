"""Page of a comparison, also in a real browser: hostile names are text, no error, no request."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import needs_browser, open_file
from tombola import Pool
from tombola.advice import CompareRequest, Conditions, compare_page, run_comparison
from tombola.report.chart import Band, Chart
from tombola.report.figures import draw_chart, figure_bytes
from tombola.report.page import draw_for_page
from tombola.tables.to_pool import Table


@cache
def html(actions: int = 20) -> str:
    """Return a page with hostile names; the means of the actions rise."""
    names = [f"a very long name of <b>action {i}</b>" for i in range(actions)]
    table = Table(Pool(np.tile(np.arange(actions) / 30, (40, 1)), names), None, ["a <note>"])
    request = CompareRequest(Conditions(), ("UCB1", "Exp3"), repetitions=2)
    report = run_comparison(table, request, name="t<i>\u202e\x1b")
    return compare_page(report, command="tombola compare <x>")


def test_input_is_escaped_and_nothing_is_loaded() -> None:
    text = html()
    assert [
        raw
        for raw in ("<b>action", "t<i>", "a <note>", "compare <x>", "\u202e", "\x1b")
        if raw in text
    ] == []
    assert "on t&lt;i&gt;\\u202e\\x1b</h1>" in text
    assert not [part for part in text.split('"') if part.startswith(("http://", "https://", "//"))]
    assert "<details>" in html(16)
    assert "<details>" not in html(15)


@pytest.mark.filterwarnings("error")
def test_what_is_measured_does_not_look_proved() -> None:
    page = html()
    assert '<section class="answer measured"' in page
    assert '<section class="answer good"' not in page
    assert " behind. Learners are for" in page


def test_names_in_figures_are_short_and_escaped() -> None:
    """A warning of Matplotlib repeats characters it cannot draw; text between dollars would be mathematics."""
    x = np.array([1.0, 2.0])
    names = {
        "\x1b[31mred": "\\x1b[31mred",
        "two\nlines": "two\\nlines",
        "n" * 1000: "n" * 45 + "...",
        "\u202eleft": "\\u202eleft",
        **{
            name: name
            for name in ("\u6f22\u5b57", "$x_1$", "cost $5 to $6", "$\\frac{", "a_b^c", "100%")
        },
    }
    chart = Chart(
        "all $ names $ \x1b", "round", "regret", tuple(Band(name, x, x, x, x) for name in names)
    )
    figure = draw_chart(chart)
    assert figure.axes[0].get_title(loc="left") == "all $ names $ \\x1b"
    assert figure.axes[0].get_window_extent().width > figure.get_window_extent().width / 4
    for drawn in (figure_bytes(figure, "svg").decode(), draw_for_page("x", chart).svg):
        assert [shown for shown in names.values() if f">{shown}<" not in drawn] == []
        assert not {"\u202e", "\x1b"} & {*drawn}


@pytest.mark.parametrize("level", [0.0, 2.0, 7.0])
def test_counts_have_integer_ticks(level: float) -> None:
    """A constant of 2 candidates has no axis from 1.9 to 2.1."""
    y = np.full(2, level)
    axes = draw_chart(
        Chart(
            "t",
            "calls",
            "candidates",
            (Band("in", np.array([0.0, 14.0]), y, y, y),),
            log_x=False,
            log_y=False,
        )
    ).axes
    labels = [label.get_text() for label in axes[0].get_yticklabels()]
    assert f"{level:,.0f}" in labels
    assert all(label.replace(",", "").lstrip("-").isdigit() for label in labels)


def test_tick_labels_are_exact() -> None:
    for low, high in ((1.9, 2.1), (0.0, 0.003), (0.12345, 0.1235), (999.0, 1001.0), (-3e-7, 3e-7)):
        line = np.array([low, high])
        axes = draw_chart(
            Chart("t", "x", "y", (Band("a", line, line, line, line),), (), log_x=False, log_y=False)
        ).axes[0]
        for axis in (axes.xaxis, axes.yaxis):
            for place, label in zip(
                axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True
            ):
                assert float(label.get_text().replace(",", "")) == pytest.approx(
                    place, abs=1e-9 * (high - low)
                )


@needs_browser
@pytest.mark.parametrize("width", [1200, 390])
def test_page_in_browser(browser: Any, tmp_path: Path, width: int) -> None:
    """Sorting and tips of figures are those of every page."""
    (tmp_path / "page.html").write_text(html(), encoding="utf-8")
    page, problems = open_file(browser, tmp_path / "page.html", width)
    first = page.locator("main > :not(style)").first
    assert "use " in first.inner_text(), "the advice comes first"
    ends = page.locator('figure svg g[id*="-end-"]')
    assert ends.first.is_visible() == (width > 600), (
        "names at the ends of curves are whole, or not there"
    )
    assert page.locator(".legend").first.is_visible() == (width < 600)
    assert page.locator(".ranking").first.locator("td.name").first.inner_text() in ("UCB1", "Exp3")

    strips = page.locator("#actions .rows").first.locator("li:not(.axis)")
    assert strips.count() == 15
    places = [strips.nth(i).locator(".dot").bounding_box()["x"] for i in range(15)]
    assert places == sorted(places), "the smallest mean is at the top and furthest left"
    assert places[0] < places[-1]
    hidden = page.locator("#actions details li").first
    assert not hidden.is_visible()
    page.locator("#actions details summary").click()
    assert hidden.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert problems == []
