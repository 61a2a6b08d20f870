"""Figures: a chart to a picture, PNG or SVG, drawn by matplotlib."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from tombola._files import make_folder, write_atomic
from tombola._formatting import escape_control
from tombola._types import Floats
from tombola.report.chart import Chart, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito (2008): told apart by readers with any kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT, REFERENCE = "#222222", "#dddddd", "#767676"
LONGEST = 48  # letters of a name beside a curve
POINTS = 24  # a curve with more points than this has no markers


class Spot(NamedTuple):
    """A point that can be hovered over: where it is, in shares of the picture's width and height, and its words."""

    left: float
    top: float
    text: str


def draw(chart: Chart, *, titled: bool = True, axes: "Axes | None" = None) -> "Figure":
    """Draw a chart, each curve named at its right end and a line upright at its top, into these axes or its own."""
    axes = _new_axes() if axes is None else axes
    chart = _named_short(chart)
    for point in chart.points:
        axes.plot(point.x, point.y, color=REFERENCE, marker="o", markersize=3.5, linewidth=0)
    for index, band in enumerate(chart.bands):
        colour = COLOURS[index % len(COLOURS)]
        low, high = (np.where(np.isfinite(edge), edge, band.middle) for edge in (band.low, band.high))
        axes.fill_between(band.x, low, high, color=colour, alpha=0.18, linewidth=0)
        marker = MARKERS[index % len(MARKERS)] if band.x.size <= POINTS else None
        axes.plot(band.x, band.middle, color=colour, marker=marker, markersize=5, linewidth=1.8)
    for index, line in enumerate(chart.lines):
        dashes = ((5, 3), (2, 2), (8, 3, 2, 3), (1, 1.5))[index % 4]
        axes.plot(line.x, line.y, color=REFERENCE, linestyle=(0, dashes), linewidth=1.4)
    _dress(axes, chart)
    if titled:
        add_title(axes, chart)
    return cast("Figure", axes.figure)


def add_title(axes: "Axes", chart: Chart) -> None:
    """Write the title of a chart above its axes."""
    axes.set_title(escape_control(chart.title), loc="left", fontsize=12, color=INK, parse_math=False)


def _named_short(chart: Chart) -> Chart:
    """Return the chart with names that fit beside a curve, and have no signs that cannot be drawn."""

    def short(name: str) -> str:
        line = escape_control(name, line=True)
        return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."

    return replace(
        chart,
        title=escape_control(chart.title),
        bands=tuple(band._replace(name=short(band.name)) for band in chart.bands),
        lines=tuple(line._replace(name=short(line.name)) for line in chart.lines),
    )


def _new_axes() -> "Axes":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def save(figure: "Figure", path: str | Path) -> Path:
    """Write the figure; the ending of the path says whether as PNG or SVG."""
    path = Path(path)
    make_folder(path.parent)
    write_atomic(path, _bytes(figure, path.suffix.lstrip(".")))
    return path


def svg(figure: "Figure") -> str:
    """Return the figure as the text of an SVG element, with text as text."""
    text = _bytes(figure, "svg").decode()
    return text[text.index("<svg") :]


def edge(figure: "Figure") -> float:
    """Return where the names at the ends of the curves begin, as a share of the width; the figure must be written."""
    right = figure.axes[0].get_window_extent().x1 / (figure.get_size_inches()[0] * figure.dpi)
    return min(1.0, float(right) + 0.05)  # half of a tick's label, as large as phones write it


def spots(figure: "Figure", chart: Chart) -> list[Spot]:
    """Return the points of all curves, for hovering; the figure must have been written before."""
    axes = figure.axes[0]
    width, height = figure.get_size_inches() * figure.dpi
    found = []
    for name, x, y, text in _values(chart):
        for at in range(x.size):
            place = axes.transData.transform((x[at], y[at]))
            if np.isfinite(place).all():
                found.append(
                    Spot(
                        float(place[0] / width),
                        float(1 - place[1] / height),
                        f"{escape_control(name, line=True)}\n{text(at)}",
                    )
                )
    return found


def _values(chart: Chart):  # type: ignore[no-untyped-def]
    """Yield every curve with the words for its points."""
    for band in chart.bands:
        yield (
            band.name,
            band.x,
            band.middle,
            lambda i, b=band: f"{chart.x_label}: {b.x[i]:g}\n{b.middle[i]:.4g} [{b.low[i]:.4g}, {b.high[i]:.4g}]",
        )
    for line in chart.lines:
        yield line.name, line.x, line.y, lambda i, b=line: f"{chart.x_label}: {b.x[i]:g}\n{b.y[i]:.4g}"
    for name, x, y in chart.points:
        yield name, np.array([x]), np.array([y]), lambda _, x=x, y=y: f"{chart.x_label}: {x:g}\n{y:.4g}"


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Draw without a warning for every sign that the font lacks: browsers have others, and it repeats the sign."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        yield


def _bytes(figure: "Figure", kind: str) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tombola"}), _without_remarks():
        figure.savefig(
            buffer, format=kind, dpi=160 if kind == "png" else 72, metadata={"Date": None} if kind == "svg" else None
        )
    return buffer.getvalue()


def _dress(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import MaxNLocator

    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(chart.x_label, color=INK, labelpad=8, parse_math=False)  # phones write it larger
    axes.set_ylabel(chart.y_label, color=INK, gid="y-label", parse_math=False)
    axes.tick_params(which="both", colors=INK)
    for axis, short in ((axes.xaxis, 60), (axes.yaxis, 200)):  # labels side by side take more room
        _space_ticks(axis, short)
        axis.set_major_formatter(lambda value, _: tick(value))
    if not chart.log_x:
        whole = all((band.x == np.round(band.x)).all() for band in chart.bands)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=(1, 2, 2.5, 5, 10), integer=whole, min_n_ticks=1))
    if not chart.log_y and all((band.middle == np.round(band.middle)).all() for band in chart.bands):
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(visible=True, which="major", color=FAINT, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    curves = [(b.name, b.x, b.middle, COLOURS[i % len(COLOURS)]) for i, b in enumerate(chart.bands)]
    others = [line for line in chart.lines if not _is_upright(line)]
    _name_ends(axes, [*curves, *((line.name, line.x, line.y, REFERENCE) for line in others)])
    for line in chart.lines:
        if _is_upright(line):
            _name_upright(axes, line)


def tick(value: float) -> str:
    """Return the label of a tick, as it is.

    >>> tick(0.25), tick(12.5), tick(1200.0), tick(2.075), tick(0.1 + 0.2)
    ('0.25', '12.5', '1,200', '2.075', '0.3')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.10g}"


def _space_ticks(axis: "Axis", short: float) -> None:
    """Name 1, 2, 5 of an axis whose ends are less than `short` times apart, else powers of ten; never small ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "log" and low > 0 and high / low < short:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def _is_upright(line: Line) -> bool:
    return line.x.size > 1 and bool((line.x == line.x[0]).all())


def _name_upright(axes: "Axes", line: Line) -> None:
    """Write the name of a line upright beside its top, on the side where there is room."""
    x, top = float(line.x[0]), float(line.y.max())
    right = axes.transAxes.inverted().transform(axes.transData.transform((x, top)))[0] < 0.6
    axes.annotate(
        line.name, (x, top), xytext=(4 if right else -4, 0), textcoords="offset points",
        ha="left" if right else "right", va="center", color=REFERENCE, fontsize=9, parse_math=False, gid="end-upright",
    )  # fmt: skip


def _name_ends(axes: "Axes", curves: list[tuple[str, Floats, Floats, str]]) -> None:
    """Write each name at the right end of its curve, moved apart where they would overlap."""
    with _without_remarks():
        axes.figure.canvas.draw()
    height = axes.get_window_extent().height
    ends = []
    for name, x, y, colour in curves:
        last = int(np.flatnonzero(np.isfinite(y))[-1])
        place = axes.transAxes.inverted().transform(axes.transData.transform((x[last], y[last])))
        ends.append((float(place[1]), name, colour))
    gap = 15.0 * axes.figure.dpi / 72 / height
    for index, (level, name, colour) in enumerate(_apart(sorted(ends), gap)):
        axes.annotate(
            name, (1, level), xytext=(1.015, level), xycoords="axes fraction", textcoords="axes fraction",
            color=colour, fontsize=9, va="center", annotation_clip=False, parse_math=False, gid=f"end-{index}",
        )  # fmt: skip


def _apart(ends: list[tuple[float, str, str]], gap: float) -> list[tuple[float, str, str]]:
    """Move heights apart by at least `gap`, upwards first, and back down from the top where that leaves the picture."""
    levels = [end[0] for end in ends]
    for i in range(1, len(levels)):
        levels[i] = max(levels[i], levels[i - 1] + gap)
    top = 1.0
    for i in reversed(range(len(levels))):
        levels[i] = min(levels[i], top)
        top = levels[i] - gap
    return [(level, name, colour) for level, (_, name, colour) in zip(levels, ends, strict=True)]
