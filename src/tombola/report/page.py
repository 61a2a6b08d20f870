"""Self-contained HTML pages: templates and embedded charts, no network.

The page of a comparison is `tombola.advice.comparison_page`, of a session
`tombola.worklists.session_page`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np

from tombola._formatting import escape_control, plural
from tombola.report.chart import Chart
from tombola.report.figures import (
    COLOURS,
    GRID_COLOUR,
    INK_COLOUR,
    REFERENCE_COLOUR,
    TEXT_COLOURS,
    draw_chart,
    figure_bytes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawing(NamedTuple):
    """A chart for a page: SVG, points with tooltips, and alternative text.

    spots: points with tooltips, as a JSON list of [left, top, text, curve]; left and top are shares
        of width and height, curve is the number of the curve.
    legend: CSS name of the colour and name of each curve.
    edge: where the names of the curves begin, as a share of the width; narrow screens cut them off.
    """

    name: str
    svg: str
    spots: str
    alt: str
    legend: list[tuple[str, str]]
    edge: float
    y_label: str


def render(template: str, **values: object) -> str:
    """Render a Jinja template of the package, such as "claims.html"; everything is escaped except drawings."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    from tombola.report.formulas import typeset

    folder = resources.files("tombola.report") / "templates"
    loader = FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8"))
    environment = Environment(
        autoescape=True,
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: escape_control(value) if type(value) is str else value,
    )
    environment.filters |= {"ours": Markup, "plural": plural, "typeset": typeset}
    mark = (folder / "mark.svg").read_text(encoding="utf-8")
    return environment.get_template(template).render(
        palette=list(COLOURS),
        text_palette=list(TEXT_COLOURS),
        mark=f"data:image/svg+xml,{quote(mark.strip())}",
        **values,
    )


def draw_for_page(name: str, chart: Chart, figure: "Figure | None" = None) -> Drawing:
    """Convert a chart to SVG for a page; light and dark mode change its colours.

    `name` is the prefix of its HTML identifiers, unique in the page; `figure` an already drawn one.
    """
    figure = draw_chart(chart, titled=False) if figure is None else figure
    # Labels stay text, which can be searched. Writing the figure fixes its layout, which the places
    # below need.
    text = figure_bytes(figure, "svg").decode()
    text = text[text.index("<svg") :]
    variables = {colour: f"c{index}" for index, colour in enumerate(COLOURS)}
    variables |= {
        colour: f"t{index}" for index, colour in enumerate(TEXT_COLOURS) if colour not in COLOURS
    }
    variables |= {REFERENCE_COLOUR: "reference", GRID_COLOUR: "faint", INK_COLOUR: "ink"}
    for colour, word in {**variables, "#000000": "ink", "#ffffff": "paper"}.items():
        text = re.sub(colour, f"var(--{word})", text, flags=re.IGNORECASE)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(|href=")#', rf"\1#{name}-", text)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        r'<svg viewBox="\1" aria-hidden="true">',
        text,
        count=1,
    )
    safe = json.dumps(_tooltips(figure, chart), ensure_ascii=False).replace("<", "\\u003c")
    legend = [(f"c{index % len(COLOURS)}", band.name) for index, band in enumerate(chart.bands)]
    legend += [("reference", line.name) for line in chart.lines]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    right = figure.axes[0].get_window_extent().x1 / (figure.get_size_inches()[0] * figure.dpi)
    # Half of the label of a tick, as large as phones write it.
    edge = round(min(1.0, float(right) + 0.05), 4)
    return Drawing(name, text, safe, chart.alt or chart.title, legend, edge, chart.y_label)


def _tooltips(figure: "Figure", chart: Chart) -> list[list[float | str]]:
    """Return [left, top, text, curve] of the points of all curves of a drawn chart."""
    width, height = figure.get_size_inches() * figure.dpi
    spots: list[list[float | str]] = []
    curves: dict[str, int] = {}
    for name, x, y, value in _points(chart):
        place = figure.axes[0].transData.transform((x, y))
        if np.isfinite(place).all():
            text = f"{escape_control(name, line=True)}\n{chart.x_label}: {x:g}\n{value}"
            left = round(float(place[0] / width), 4)
            top = round(float(1 - place[1] / height), 4)
            spots.append([left, top, text, curves.setdefault(name, len(curves))])
    return spots


def _points(chart: Chart) -> Iterator[tuple[str, float, float, str]]:
    """Yield name, coordinates and value, as text, of each point."""
    for band in chart.bands:
        for x, y, low, high in zip(band.x, band.middle, band.low, band.high, strict=True):
            yield (
                band.name,
                x,
                y,
                f"{y:.4g}" if low == high else f"{y:.4g} ({low:.4g} to {high:.4g})",
            )
    for line in chart.lines:
        for x, y in zip(line.x, line.y, strict=True):
            yield line.name, x, y, f"{y:.4g}"
    for point in chart.points:
        yield point.name, point.x, point.y, f"{point.y:.4g}"


class ClaimEntry(NamedTuple):
    """Claim of the paper for `claims_page`, as plain text; empty fields are left out.

    `expected` is the correct verdict, `measured` a sentence on the values, `printed` and
    `corrected` the formulas of the paper and of its correction, `limits` the criterion by which the
    claim passes, `false_alarm` the probability that a true claim fails it. `faults` have the
    attributes fault, outcome, caught and measured; `table` starts with the names of its columns.
    """

    name: str
    title: str
    source: str
    statement: str
    meaning: str
    outcome: str
    expected: str
    measured: str
    printed: str
    corrected: str
    command: str
    drawings: tuple[Drawing, ...]
    limits: str = ""
    false_alarm: str = ""
    faults: tuple[Any, ...] = ()
    section: str = ""
    table: tuple[tuple[str, ...], ...] = ()


def claims_page(
    title: str, lead: str, entries: Sequence[ClaimEntry], facts: Sequence[tuple[str, str]]
) -> str:
    """Return the page of a reproduction as HTML: table of claims, then their sections.

    lead, facts: sentence below the title; pairs (name, value), such as seed and version.
    """
    return render("claims.html", title=title, lead=lead, entries=entries, facts=facts)
