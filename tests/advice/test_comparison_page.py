"""Page of a comparison in a real browser, wide and narrow: no error, no request, a ranking that sorts."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from browser import needs_browser, open_file
from tombola.advice.comparison_page import _Bar
from tombola.advice.text import Summary
from tombola.readers.units import UNIT_LOSSES
from tombola.report.chart import Band, Chart, Line
from tombola.report.evidence_page import CaptionedChart
from tombola.report.figures import draw_chart, figure_bytes
from tombola.report.page import draw_for_page, render


def html(actions: int = 20, charts: Sequence[Chart] = ()) -> str:
    """Return a page with hostile names, from a report made by hand."""
    x = np.array([1.0, 50.0, 100.0])
    chart = Chart("t", "round", "regret", (Band("UCB<b>", x, x, x / 2, 2 * x),), (Line("pace", x, x),), False, False)
    pictures = [CaptionedChart("Regret over time", "How to read it.", one) for one in charts or (chart,)]
    names = ("Zeta", "Alpha", "Mid<i>dle")
    rows = [
        {
            "rank": str(i + 1), "learner": name, "mean_loss": f"0.{i}", "regret": f"{9 * i} ± 1", "switches": "7",
            "spent": "", "above_first": f"{9 * i} ± 2" if i else "",
        }
        for i, name in enumerate(names)
    ]  # fmt: skip
    bars = [_Bar(f"a very long name of action {i}", f"{i / 30:.4f}", 2.0 * i, i, 3.0 * i) for i in range(actions)]
    summary = Summary(
        "t: 100 rows",
        "Best <b>",
        "Use \u202ea\x1b<Zeta>.",
        "much <b>",
        "sure",
        "tombola session start <x>",
        ("mind <it>",),
    )
    report = SimpleNamespace(
        summary=summary,
        quantity="loss",
        units=UNIT_LOSSES,
        order_test=SimpleNamespace(refuted=True),
        order_text="not random",
        groups=(),
        notes=("a <note>",),
        routing=SimpleNamespace(
            sentence="Features <do> not help here: a.", detail="A detail.", gain=SimpleNamespace(repetitions=5)
        ),
    )
    return render(
        "compare.html", title="Which <learner>?", lead="A lead", report=report, facts=[("rows", "100")],
        routing=[{"name": "always <a>", "mean_loss": "0.5000", "spent": ""}],
        rankings={"random": rows, "given": rows}, regret_definition="loss",
        pictures=[(one, draw_for_page(f"compare-{i}", one.chart)) for i, one in enumerate(pictures)],
        bars=bars, explained=None,
        ticks=["0", "1"], command="tombola compare x.csv",
    )  # fmt: skip


def test_input_is_escaped_and_nothing_is_loaded() -> None:
    text = html()
    raw = ("<learner>", "Mid<i>", "a <note>", "UCB<b>", "<Zeta>", "much <b>", "start <x>", "<it>")
    assert [one for one in raw if one in text] == []
    assert not [part for part in text.split('"') if part.startswith(("http://", "https://", "//"))]
    assert "<details>" in html(16)
    assert "<details>" not in html(15)


@pytest.mark.filterwarnings("error")
def test_names_in_figures_are_short_and_escaped() -> None:
    """A warning of Matplotlib repeats characters it cannot draw; text between dollars would be mathematics."""
    x = np.array([1.0, 2.0])
    names = {
        "\x1b[31mred": "\\x1b[31mred", "two\nlines": "two\\nlines", "n" * 1000: "n" * 45 + "...",
        "\u202eleft": "\\u202eleft",
        **{name: name for name in ("\u6f22\u5b57", "$x_1$", "cost $5 to $6", "$\\frac{", "a_b^c", "100%")},
    }  # fmt: skip
    chart = Chart("all $ names $ \x1b", "round", "regret", tuple(Band(name, x, x, x, x) for name in names))
    figure, page = draw_chart(chart), html(charts=[chart])
    assert figure.axes[0].get_title(loc="left") == "all $ names $ \\x1b"
    assert figure.axes[0].get_window_extent().width > figure.get_window_extent().width / 4
    for drawn in (figure_bytes(figure, "svg").decode(), page[page.index("<svg") : page.index("</svg>")]):
        assert [shown for shown in names.values() if f">{shown}<" not in drawn] == []
    assert "\\u202ea\\x1b&lt;Zeta&gt;" in page
    assert not {"\u202e", "\x1b"} & {*page}


@pytest.mark.parametrize("level", [0.0, 2.0, 7.0])
def test_counts_have_integer_ticks(level: float) -> None:
    """A constant of 2 candidates has no axis from 1.9 to 2.1."""
    y = np.full(2, level)
    axes = draw_chart(
        Chart("t", "calls", "candidates", (Band("in", np.array([0.0, 14.0]), y, y, y),), log_x=False, log_y=False)
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
            for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True):
                assert float(label.get_text().replace(",", "")) == pytest.approx(place, abs=1e-9 * (high - low))


@needs_browser
@pytest.mark.parametrize("width", [1200, 390])
def test_page_in_browser(browser: Any, tmp_path: Path, width: int) -> None:
    (tmp_path / "page.html").write_text(html(), encoding="utf-8")
    page, problems = open_file(browser, tmp_path / "page.html", width)
    first = page.locator("main > :not(style)").first
    assert "<Zeta>" in first.inner_text(), "the summary comes first"
    ends = page.locator('figure svg g[id*="-end-"]')
    assert ends.first.is_visible() == (width > 600), "names at the ends of curves are whole, or not there"
    assert page.locator(".legend").first.is_visible() == (width < 600)

    names = page.locator(".ranking").first.locator("td.name")
    assert names.all_inner_texts() == ["Zeta", "Alpha", "Mid<i>dle"]
    if width > 600:
        page.locator(".ranking th button", has_text="learner").first.click()
        assert names.all_inner_texts() == ["Alpha", "Mid<i>dle", "Zeta"]

    strips = page.locator("#actions .actions").first.locator("li:not(.axis)")
    assert strips.count() == 15
    places = [strips.nth(i).locator(".mean").bounding_box()["x"] for i in range(15)]
    assert places == sorted(places), "the smallest mean is at the top and furthest left"
    assert places[0] < places[-1]
    hidden = page.locator("details li").first
    assert not hidden.is_visible()
    page.locator("details summary").click()
    assert hidden.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    inner = page.locator(".plot .inner").first
    inner.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".tip").first.inner_text().startswith("UCB<b>\nround: 1")
    assert problems == []
