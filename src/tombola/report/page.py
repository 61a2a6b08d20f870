"""Self-contained HTML pages: templates and embedded charts, no network.

The page of a comparison is `tombola.advice.comparison_page`, of a session `tombola.persistence.session_page`.
"""

import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from tombola._formatting import escape_control, plural
from tombola.report.chart import Chart
from tombola.report.figures import COLOURS, FAINT, INK, REFERENCE, draw_chart, label_edge, spots, svg_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawing(NamedTuple):
    """A chart for a page: SVG, points with tooltips, and alternative text.

    name: prefix of its identifiers, unique in the page.
    svg: text of the SVG element.
    spots: points as a JSON list of [left, top, text]; left and top are shares of width and height.
    alt: description for readers who do not see the chart.
    legend: CSS name of the colour and name of each curve.
    edge: where the labels begin, as a share of the width.
    y_label: label of the vertical axis.
    """

    name: str
    svg: str
    spots: str
    alt: str
    legend: list[tuple[str, str]]
    edge: float
    y_label: str


def _plain(value: Any) -> Any:
    """Escape control characters in text; leave HTML as it is."""
    return escape_control(value) if type(value) is str else value


def render(template: str, **values: object) -> str:
    """Render a template as HTML; everything is escaped except embedded drawings.

    template: file name in the folder `templates`.
    values: of its variables; a missing one raises.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    folder = resources.files("tombola.report") / "templates"
    loader = FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8"))
    environment = Environment(
        autoescape=True, loader=loader, undefined=StrictUndefined, trim_blocks=True, finalize=_plain
    )
    environment.filters |= {"ours": Markup, "plural": plural}
    return environment.get_template(template).render(palette=_palette(), **values)


def draw_for_page(name: str, chart: Chart, figure: "Figure | None" = None) -> Drawing:
    """Convert a chart to SVG for a page.

    Colours are CSS variables, so that light and dark both work.

    name: prefix of its identifiers, unique in the page.
    figure: an already drawn figure; None draws the chart.
    """
    figure = draw_chart(chart, titled=False) if figure is None else figure
    text = svg_text(figure)
    for colour, word in _themed().items():
        text = re.sub(colour, f"var(--{word})", text, flags=re.IGNORECASE)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(|href=")#', rf"\1#{name}-", text)
    text = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', text, count=1)
    points = [[round(s.left, 4), round(s.top, 4), s.text] for s in spots(figure, chart)]
    safe = json.dumps(points, ensure_ascii=False).replace("<", "\\u003c")
    legend = [(f"c{index % len(COLOURS)}", band.name) for index, band in enumerate(chart.bands)]
    legend += [("reference", line.name) for line in chart.lines]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return Drawing(name, text, safe, chart.alt or chart.title, legend, round(label_edge(figure), 4), chart.y_label)


def _themed() -> dict[str, str]:
    """Return which colour of a picture has which name in the style sheet."""
    named = {colour: f"c{index}" for index, colour in enumerate(COLOURS)}
    return {**named, REFERENCE: "reference", FAINT: "faint", INK: "ink", "#000000": "ink", "#ffffff": "paper"}


def _palette() -> list[str]:
    return list(COLOURS)
