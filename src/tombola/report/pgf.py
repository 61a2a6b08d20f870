r"""Figures as pgfplots code, for papers: the document sets fonts, sizes and colours.

Matplotlib can write pgf as well, but needs a TeX installation to measure texts, and fixes every
position. Here the curves become `\addplot` commands of a `tikzpicture` that can be edited; the
preamble needs `\usepackage{pgfplots}` and `\pgfplotsset{compat=1.16}`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Characters of our texts that TeX does not know, or that mean something else to it.
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "^": r"\^{}",
    "~": r"\textasciitilde{}",
    "√": r"$\surd$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": r"$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "²": r"$^2$",
    "α": r"$\alpha$",
    "ε": r"$\varepsilon$",
    "ρ": r"$\rho$",
    "π": r"$\pi$",
    "…": r"\dots{}",
    "’": "'",
}
# Marks of pgfplots by those of Matplotlib.
_MARKS = {"o": "*", "s": "square*", "^": "triangle*", "D": "diamond*", "v": "triangle*"}
# Points of a curve at most; more make TeX slow and cannot be seen.
_MAX_POINTS = 400


def tex_text(text: str) -> str:
    r"""Return a text with the characters that TeX needs escaped.

    >>> tex_text("0.4 √T, 95 %")
    '0.4 $\\surd$T, 95 \\%'
    """
    return "".join(_TEX.get(character, character) for character in text)


def figure_to_pgf(figure: "Figure") -> str:
    r"""Return the code of a `tikzpicture`, one `axis` for each axes of the figure.

    >>> from tombola.report.chart import Chart, Line
    >>> from tombola.report.figures import draw_chart
    >>> curve = Line("bound", np.array([1.0, 10.0]), np.array([2.0, 4.0]))
    >>> code = figure_to_pgf(draw_chart(Chart("Regret", "T", "regret", lines=(curve,))))
    >>> r"\addlegendentry{bound}" in code, "(1,2)" in code, "xmode=log" in code
    (True, True, True)
    """
    axes = [code for part in figure.axes for code in _axis(part)]
    return "\n".join([r"\begin{tikzpicture}", *axes, r"\end{tikzpicture}", ""])


def _axis(axes: "Axes") -> Iterable[str]:
    yield f"\\begin{{axis}}[{', '.join(_options(axes))}]"
    for bar in axes.patches:
        yield from _bar(axes, bar)
    for collection in axes.collections:
        yield from (
            _segments(collection) if hasattr(collection, "get_segments") else _band(collection)
        )
    for line in axes.get_lines():
        yield from _line(line)
    for text in axes.texts:
        yield from _note(text)
    yield r"\end{axis}"


def _options(axes: "Axes") -> list[str]:
    options = [
        f"xlabel={{{tex_text(axes.get_xlabel())}}}",
        f"ylabel={{{tex_text(axes.get_ylabel())}}}",
        "legend pos=outer north east",
        "legend cell align=left",
        "clip mode=individual",  # a note may leave the axes
    ]
    sides = (
        ("x", axes.get_xscale(), axes.get_xlim(), axes.xaxis),
        ("y", axes.get_yscale(), axes.get_ylim(), axes.yaxis),
    )
    for side, scale, limits, axis in sides:
        if scale == "log":
            options.append(f"{side}mode=log")
        options += [f"{side}min={min(limits):.6g}", f"{side}max={max(limits):.6g}"]
        names = [tex_text(label.get_text()) for label in axis.get_ticklabels()]
        # Only ticks with names of their own are copied; numbers are set by pgfplots.
        if type(axis.get_major_formatter()).__name__ in ("FixedFormatter", "FuncFormatter"):
            places = ",".join(f"{place:.6g}" for place in axis.get_ticklocs())
            labels = ",".join(f"{{{name}}}" for name in names)
            options += [f"{side}tick={{{places}}}", f"{side}ticklabels={{{labels}}}"]
    return options


def _bar(axes: "Axes", bar: Any) -> Iterable[str]:
    """Yield a rectangle as a closed curve."""
    to_data = bar.get_transform() - axes.transData
    corners = bar.get_path().transformed(to_data).vertices
    if np.ptp(corners[:, 0]) > 0 and np.ptp(corners[:, 1]) > 0:
        yield (
            rf"\addplot[forget plot, draw=none, fill={_colour(bar.get_facecolor())}] "
            rf"coordinates {{{_coordinates(corners[:4])}}} -- cycle;"
        )


def _segments(collection: Any) -> Iterable[str]:
    """Yield each segment of a collection, such as an interval, as a line."""
    colour = _colour(collection.get_color()[0])
    for segment in collection.get_segments():
        yield rf"\addplot[forget plot, thick, color={colour}] coordinates {{{_coordinates(segment)}}};"


def _band(band: Any) -> Iterable[str]:
    """Yield the area of an interval as a closed curve."""
    for path in band.get_paths():
        points = path.vertices[np.isfinite(path.vertices).all(axis=1)]
        if len(points) > 2 and np.ptp(points[:, 1]) > 0:
            yield (
                rf"\addplot[forget plot, draw=none, fill={_colour(band.get_facecolor()[0])}, "
                rf"fill opacity=0.18] coordinates {{{_coordinates(points)}}} -- cycle;"
            )


def _line(line: Any) -> Iterable[str]:
    points = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(np.float64)
    # A line across the axes has fractions of the axes as its ends.
    points = (line.get_transform() - line.axes.transData).transform(points)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return
    options = [f"color={_colour(line.get_color())}"]
    if line.get_linestyle() in ("None", "", " ") or line.get_linewidth() == 0:
        options.append("only marks")
    elif line.get_linestyle() != "-":
        options.append("dashed")
    options.append(f"mark={_MARKS.get(str(line.get_marker()), 'none')}")
    name = str(line.get_label())
    is_named = bool(name) and not name.startswith("_")
    if not is_named:
        options.append("forget plot")
    yield rf"\addplot[{', '.join(options)}] coordinates {{{_coordinates(points)}}};"
    if is_named:
        yield rf"\addlegendentry{{{tex_text(name)}}}"


def _note(text: Any) -> Iterable[str]:
    """Yield a text at a point of the data; names of curves are in the legend instead."""
    if str(text.get_gid()).startswith("end-") or not text.get_text():
        return
    # An annotation stands beside its point.
    x, y = text.xy if hasattr(text, "xy") else text.get_position()
    sides = {"left": "west", "right": "east", "top": "north", "bottom": "south"}
    names = [sides.get(text.get_va(), ""), sides.get(text.get_ha(), "")]
    anchor = " ".join(name for name in names if name) or "center"
    yield (
        rf"\node[anchor={anchor}, font=\footnotesize, text={_colour(text.get_color())}] "
        rf"at (axis cs:{x:.6g},{y:.6g}) {{{tex_text(text.get_text())}}};"
    )


def _colour(colour: Any) -> str:
    """Return a colour as an expression of xcolor."""
    from matplotlib.colors import to_rgb

    red, green, blue = (round(255 * share) for share in to_rgb(colour))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


def _coordinates(points: Any) -> str:
    every = -(-len(points) // _MAX_POINTS)
    chosen = [*points[:-1:every], points[-1]]
    return " ".join(f"({x:.6g},{y:.6g})" for x, y in chosen)
