"""Figures: charts drawn by Matplotlib, for notebooks, pages and files."""

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tombola._files import make_folder, write_atomic
from tombola._formatting import escape_control
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.report.chart import Chart
from tombola.report.pgf import figure_to_pgf

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

# Colours of the curves, in order; repeated after the last. Okabe and Ito (2008): told apart by
# readers with any kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666")
# The same colours for text, darker where white paper needs it: at least 4.5 to 1.
TEXT_COLOURS = (
    "#0072B2", "#B04E00", "#007A59", "#A34D7F", "#8A5F00", "#1F75A8", "#7A5E28", "#5F5F5F",
)  # fmt: skip
# Styles of the lines, one for each round of the colours: the ninth curve is dashed.
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)))
# Markers of the curves, in the order of COLOURS.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Colour of text and axes: dark grey, softer than black on white.
INK_COLOUR = "#222222"
# Colour of grid lines: light, so that curves stand out.
GRID_COLOUR = "#dddddd"
# Colour of reference curves and their names: grey, with the contrast that small text needs on white
# (4.5 to 1).
REFERENCE_COLOUR = "#767676"
# Characters of a name beside a curve; longer ones are cut. More would leave no room for the curves.
_MAX_LABEL_LENGTH = 48
# A curve with more points than this has no markers: they would touch each other and cover it.
MAX_MARKED_POINTS = 24
# Width and height in inches: the text width of a page, and a notebook's column.
_DEFAULT_SIZE = (7.0, 4.4)
# A figure narrower than this, in inches, is one for the column of a paper; size of its letters, in
# points.
_SMALL_WIDTH = 4.5
_SMALL_FONT = 7
# Characters of the longest name in two columns of its legend.
_LEGEND_LENGTH = 24
# Inches per interval of `draw_intervals`, and for its axis and title.
_INTERVAL_HEIGHT = 0.32
_MARGIN_HEIGHT = 1.1
# Suffixes that `save` accepts: for screens, web pages and papers.
_FORMATS = ("png", "svg", "pdf", "pgf")
# Characters of a label per inch of the figure's width: about half of a small figure is left for the
# curves.
_LABEL_LENGTH_PER_INCH = 7
# Room for the names of points, in widths of the points: half of the axes.
_NAME_ROOM = 0.6
# Where labels begin, in widths of the axes: the gap has room for the line that leads to a curve.
_LABEL_START = 1.03
# Least distance between the baselines of two labels, in points (1/72 inch).
_LABEL_GAP = 15.0


def draw_chart(
    chart: Chart,
    *,
    titled: bool = True,
    axes: "Axes | None" = None,
    size: tuple[float, float] | None = None,
) -> "Figure":
    """Draw a chart into the given axes, or a new figure; return the figure.

    Each curve is labelled at its right end, a vertical line at its top; a figure narrower than 4.5
    inches has a legend below and no title. Labels follow their curves if the limits of the axes
    change later.

    axes: axes of Matplotlib to draw into; None for a new figure.
    size: width and height of a new figure in inches; None for 7 by 4.4. Raises ParameterError with
        `axes`.
    """
    small = axes is None and size is not None and _checked_size(size)[0] < _SMALL_WIDTH
    axes = _axes_for(axes, size)
    length = _MAX_LABEL_LENGTH if small else _label_length(axes)
    for point in chart.points:
        colour = REFERENCE_COLOUR if point.side is None else COLOURS[0]
        axes.plot(point.x, point.y, color=colour, marker="o", markersize=4, linewidth=0)
        if point.side is not None:
            right, above = point.side
            axes.annotate(
                _short_name(point.name, length),
                (point.x, point.y),
                xytext=(5 * right, 3 * above),
                textcoords="offset points",
                ha="left" if right > 0 else "right",
                va="bottom" if above > 0 else "top",
                fontsize=9,
                color=INK_COLOUR,
                parse_math=False,
            )
    curves: list[tuple[str, Floats, str]] = []
    floor = _floor(chart)
    width, marker_size = (1.2, 3) if small else (1.8, 5)
    # A second chart in the same axes continues the colours of the first.
    for index, band in enumerate(chart.bands, len(axes.collections)):
        colour = COLOURS[index % len(COLOURS)]
        name = _short_name(band.name, length)
        low, high = (
            np.maximum(np.where(np.isfinite(end), end, band.middle), floor)
            for end in (band.low, band.high)
        )
        axes.fill_between(band.x, low, high, color=colour, alpha=0.18, linewidth=0)
        marker = _MARKERS[index % len(_MARKERS)] if band.x.size <= MAX_MARKED_POINTS else None
        axes.plot(
            band.x,
            band.middle,
            color=colour,
            linestyle=_DASHES[index // len(COLOURS) % len(_DASHES)],
            marker=marker,
            markersize=marker_size,
            linewidth=width,
            label=name,
        )
        curves.append((name, band.middle, TEXT_COLOURS[index % len(COLOURS)]))
    uprights = []
    for index, line in enumerate(chart.lines):
        dashes = ((5, 3), (2, 2), (8, 3, 2, 3), (1, 1.5))[index % 4]
        name = _short_name(line.name, length)
        axes.plot(
            line.x, line.y, color=REFERENCE_COLOUR, linestyle=(0, dashes), linewidth=1.4, label=name
        )
        if line.x.size > 1 and (line.x == line.x[0]).all():
            uprights.append((name, float(line.x[0]), float(line.y.max())))
        else:
            curves.append((name, line.y, REFERENCE_COLOUR))
    _dress(axes, chart)
    _make_room(axes, chart)
    if not small:
        _name_ends(axes, curves)
    for upright in uprights:
        _name_upright(axes, *upright)
    if any((band.low < floor).any() for band in chart.bands):
        # The band reaches the axis, since its interval goes on below. Other charts may still change
        # the limits.
        axes.set_ylim(bottom=floor, auto=None)
    if small:
        _shrink(axes)
    elif titled:
        add_title(axes, chart)
    return cast("Figure", axes.figure)


def _make_room(axes: "Axes", chart: Chart) -> None:
    """Widen the axes on the side where names of points stand."""
    sides = {point.side[0] for point in chart.points if point.side is not None}
    if not sides:
        # Limits that are set stay so when a second chart is drawn into these axes.
        return
    low, high = axes.get_xlim()
    room = _NAME_ROOM * (high - low)
    axes.set_xlim(low - room * (-1 in sides), high + room * (1 in sides))


def _floor(chart: Chart) -> float:
    """Return the smallest value that a band is drawn at; -inf on a linear axis.

    A logarithmic axis has no place for an interval that reaches 0: it is cut off below all curves.
    """
    if not chart.log_y:
        return -math.inf
    curves = [band.middle for band in chart.bands] + [line.y for line in chart.lines]
    ends = [end for band in chart.bands for end in (band.low, band.high)]
    middles, values = (np.concatenate([np.zeros(0), *some]) for some in (curves, [*curves, *ends]))
    middles, values = (some[np.isfinite(some) & (some > 0)] for some in (middles, values))
    if not middles.size:
        return float(np.min(values, initial=1.0))
    # Small positive ends stay as they are, down to a tenth of the lowest curve.
    return float(max(min(values.min(), middles.min() / 2), middles.min() / 10))


def _shrink(axes: "Axes") -> None:
    """Fit a chart into the column of a paper: small letters, a legend below, no title."""
    axes.tick_params(which="both", labelsize=_SMALL_FONT)
    # The definition after the colon is for the caption.
    axes.set_ylabel(
        axes.get_ylabel().partition(":")[0],
        fontsize=_SMALL_FONT + 1,
        color=INK_COLOUR,
        parse_math=False,
    )
    axes.set_xlabel(
        axes.get_xlabel(), fontsize=_SMALL_FONT + 1, labelpad=2, color=INK_COLOUR, parse_math=False
    )
    handles, names = axes.get_legend_handles_labels()
    columns = 1 if max(map(len, names), default=0) > _LEGEND_LENGTH else 2
    figure: Any = axes.figure
    legend = figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=columns,
        fontsize=_SMALL_FONT,
        frameon=False,
        handlelength=2.2,
        labelspacing=0.2,
        columnspacing=1.0,
        borderaxespad=0.1,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def add_title(axes: "Axes", chart: Chart) -> None:
    """Write the title of a chart above its axes."""
    axes.set_title(
        escape_control(chart.title), loc="left", fontsize=12, color=INK_COLOUR, parse_math=False
    )


def _label_length(axes: "Axes") -> int:
    """Return the characters of a label: half of a small figure is left for the curves."""
    figure: Any = axes.figure
    # Part of a larger figure: it has no size of its own.
    width = (
        float(figure.get_size_inches()[0])
        if hasattr(figure, "get_size_inches")
        else _DEFAULT_SIZE[0]
    )
    return max(8, min(_MAX_LABEL_LENGTH, int(_LABEL_LENGTH_PER_INCH * width)))


def _short_name(name: str, length: int) -> str:
    line = escape_control(name, line=True)
    return line if len(line) <= length else line[: length - 3] + "..."


def draw_intervals(
    names: Sequence[str],
    middles: Floats,
    lows: Floats,
    highs: Floats,
    *,
    x_label: str,
    axes: "Axes | None" = None,
    size: tuple[float, float] | None = None,
) -> "Figure":
    """Draw one horizontal interval per name, the first at the top; return the figure.

    A middle of NaN has no dot. Axes or the size in inches (default: the height grows with the
    number of names) may be given, but not both.
    """
    axes = _axes_for(axes, size, height=_MARGIN_HEIGHT + _INTERVAL_HEIGHT * len(names))
    heights = -np.arange(len(names), dtype=np.float64)
    axes.hlines(heights, lows, highs, color=COLOURS[0], linewidth=2.2)
    axes.plot(middles, heights, color=COLOURS[0], marker="o", markersize=5, linewidth=0)
    axes.set_yticks(
        heights, [_short_name(name, _label_length(axes)) for name in names], parse_math=False
    )
    axes.set_xlabel(x_label, color=INK_COLOUR, labelpad=8, parse_math=False)
    axes.tick_params(which="both", colors=INK_COLOUR)
    axes.grid(visible=True, axis="x", color=GRID_COLOUR, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return cast("Figure", axes.figure)


def _axes_for(
    axes: "Axes | None", size: tuple[float, float] | None, height: float = _DEFAULT_SIZE[1]
) -> "Axes":
    """Return the given axes, or those of a new figure of a size in inches; ParameterError for both."""
    if axes is not None:
        if size is not None:
            raise ParameterError(
                "plot: expected ax or size, got both; the figure of ax has a size already."
            )
        return axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from tombola.report.display_figure import DisplayFigure

    figure = DisplayFigure(
        figsize=_checked_size(size or (_DEFAULT_SIZE[0], height)), layout="constrained"
    )
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _checked_size(size: Any) -> tuple[float, float]:
    try:
        width, height = (float(side) for side in size)
    except (TypeError, ValueError):
        width = height = 0.0
    # Matplotlib takes minutes for metres of paper; a size in pixels is the usual mistake.
    if not (0 < width <= 100 and 0 < height <= 100):
        raise ParameterError(
            f"plot: expected size as (width, height) in inches, got {size!r}; write size=(7, 4.4)."
        )
    return width, height


def save(figure: "Figure", path: str | Path) -> Path:
    """Write the figure and return the path; the suffix selects PNG, SVG, PDF or pgf.

    pgf is code for pgfplots (`tombola.report.pgf`). A missing folder is created, an existing file
    replaced. Raises ParameterError for another suffix.
    """
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in _FORMATS:
        raise ParameterError(
            f"save: expected a name that ends in .png, .svg, .pdf or .pgf, got {path.name!r}; "
            "write x.pdf."
        )
    make_folder(path.parent)
    content = figure_to_pgf(figure).encode("utf-8") if kind == "pgf" else figure_bytes(figure, kind)
    write_atomic(path, content)
    return path


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Ignore warnings about characters that the font lacks: browsers have other fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        yield


def figure_bytes(figure: "Figure", kind: str, dpi: int | None = None) -> bytes:
    """Return the content of a PNG, SVG or PDF file; equal figures give equal bytes.

    kind: "png", "svg" or "pdf".
    dpi: pixels per inch; None for 300 in PNG, 72 otherwise.
    """
    from matplotlib import rc_context

    buffer = io.BytesIO()
    # Dates would make equal pictures different.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    # Type 42 embeds TrueType fonts, which publishers require.
    options: Any = {"svg.fonttype": "none", "svg.hashsalt": "tombola", "pdf.fonttype": 42}
    with rc_context(options), _without_remarks():
        figure.savefig(
            buffer, format=kind, dpi=dpi or (300 if kind == "png" else 72), metadata=metadata
        )
    return buffer.getvalue()


def _dress(axes: "Axes", chart: Chart) -> None:
    """Set scales, labels, ticks and grid of the axes."""
    from matplotlib.ticker import MaxNLocator

    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(
        chart.x_label, color=INK_COLOUR, labelpad=8, parse_math=False
    )  # phones write it larger
    axes.set_ylabel(chart.y_label, color=INK_COLOUR, gid="y-label", parse_math=False)
    axes.tick_params(which="both", colors=INK_COLOUR)
    for axis, short in ((axes.xaxis, 60), (axes.yaxis, 200)):  # labels side by side take more room
        _space_ticks(axis, short)
        axis.set_major_formatter(lambda value, _: _tick_label(value))
    if not chart.log_x:
        # Means that are drawn as points are no whole numbers.
        whole = not chart.points and all((band.x == np.round(band.x)).all() for band in chart.bands)
        axes.xaxis.set_major_locator(
            MaxNLocator(nbins=5, steps=(1, 2, 2.5, 5, 10), integer=whole, min_n_ticks=1)
        )
    if not (chart.log_y or chart.points) and all(
        (band.middle == np.round(band.middle)).all() for band in chart.bands
    ):
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(visible=True, which="major", color=GRID_COLOUR, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _tick_label(value: float) -> str:
    """Return the label of a tick, without superfluous zeros.

    >>> _tick_label(0.25), _tick_label(12.5), _tick_label(1200.0), _tick_label(2.075), _tick_label(0.1 + 0.2)
    ('0.25', '12.5', '1,200', '2.075', '0.3')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.10g}"


def _space_ticks(axis: "Axis", short: float) -> None:
    """Label 1, 2, 5 on an axis whose ends differ by less than the factor `short`, else powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "log" and low > 0 and high / low < short:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def _name_upright(axes: "Axes", name: str, x: float, top: float) -> None:
    """Write the name of a vertical line beside its top, where there is room."""
    right = axes.transAxes.inverted().transform(axes.transData.transform((x, top)))[0] < 0.6
    axes.annotate(
        name,
        (x, top),
        xytext=(4 if right else -4, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        color=REFERENCE_COLOUR,
        fontsize=9,
        parse_math=False,
        gid="end-upright",
    )


def _name_ends(axes: "Axes", curves: list[tuple[str, Floats, str]]) -> None:
    """Write each name at the right end of its curve; move names apart."""
    from tombola.report.display_figure import _LabelPlacer

    before = len(_end_labels(axes))
    for index, (name, y, colour) in enumerate(curves, before):
        last = int(np.flatnonzero(np.isfinite(y))[-1])
        # The anchor is a value of the curve, so that labels can be placed again for other limits.
        axes.annotate(
            name,
            (1, float(y[last])),
            xytext=(_LABEL_START, 0.5),
            xycoords=("axes fraction", "data"),
            textcoords="axes fraction",
            color=colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
            parse_math=False,
            gid=f"end-{index}",
            # A thin line leads from a label that was moved to the end of its curve.
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "shrinkA": 0,
                "shrinkB": 0,
                "relpos": (0.0, 0.5),
                "gid": f"end-line-{index}",
            },
        )
    with _without_remarks():
        axes.figure.canvas.draw()
    place_labels(axes)
    if not before:
        axes.add_artist(_LabelPlacer())


def _end_labels(axes: "Axes") -> "list[Annotation]":
    """Return the labels at the ends of curves, of all charts in these axes."""
    labels: list[Any] = [text for text in axes.texts if str(text.get_gid()).startswith("end-")]
    return [label for label in labels if label.get_gid() != "end-upright"]


def place_labels(axes: "Axes") -> None:
    """Put each label at the height of its curve's end, and move labels apart."""
    labels = _end_labels(axes)
    right = axes.get_xlim()[1]
    places = axes.transData.transform([(right, label.xy[1]) for label in labels])
    heights = (
        [float(height) for _, height in axes.transAxes.inverted().transform(places)]
        if labels
        else []
    )
    gap = _LABEL_GAP * axes.figure.dpi / 72 / axes.get_window_extent().height
    order = sorted(range(len(labels)), key=heights.__getitem__)
    for at, level in zip(order, _apart([heights[at] for at in order], gap), strict=True):
        labels[at].set_position((_LABEL_START, level))


def _apart(heights: list[float], gap: float) -> list[float]:
    """Move ascending heights apart by at least `gap`, as little as possible, and below 1.

    Least squares: heights minus their share of the gaps, pooled until they ascend.

    >>> _apart([0.5, 0.5], 0.1), _apart([0.2, 0.9], 0.1)
    ([0.45, 0.55], [0.2, 0.9])
    """
    blocks: list[tuple[float, int]] = []
    for place, height in enumerate(heights):
        mean = height - place * gap
        size = 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        blocks.append((mean, size))
    pooled = [mean for mean, size in blocks for _ in range(size)]
    levels = [mean + place * gap for place, mean in enumerate(pooled)]
    # Down from the top: a label above the axes would be cut off.
    top = 1.0
    for place in reversed(range(len(levels))):
        levels[place] = min(levels[place], top)
        top = levels[place] - gap
    return [round(level, 12) for level in levels]
