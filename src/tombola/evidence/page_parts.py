"""Parts of the pages of certify, audit and check_order."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tombola._types import Floats
from tombola.report.chart import Band, Chart, Line
from tombola.report.evidence_page import CaptionedChart

# Charts on a page, and points of a curve: more do not fit on a screen.
MAX_FIGURES = 8
MAX_POINTS = 240


def size_facts(rows: int, population: float, level: float) -> tuple[tuple[str, str], ...]:
    """Return the facts that every page about a sample has."""
    size = f"{population:,.0f}" if math.isfinite(population) else "not limited"
    return (
        ("rows read", f"{rows:,}"),
        ("rows of the list", size),
        ("level", f"{level:g}"),
    )


def rows_figure(
    heading: str,
    caption: str,
    y_label: str,
    curves: Mapping[str, Sequence[Floats]],
    thresholds: Mapping[str, float],
    *,
    alt: str,
    log_y: bool = False,
) -> CaptionedChart:
    """Return a chart of curves over rows.

    curves: by name, arrays of rows, means, lows and highs.
    thresholds: heights of the dashed lines, by name.
    alt: the picture in words.
    """
    bands = tuple(Band(name, *curve) for name, curve in curves.items())
    ends = bands[0].x[[0, -1]]
    lines = tuple(Line(name, ends, np.full(2, height)) for name, height in thresholds.items())
    chart = Chart(heading, "rows", y_label, bands, lines, log_x=False, log_y=log_y, alt=alt)
    return CaptionedChart(heading, caption, chart)
