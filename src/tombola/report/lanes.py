"""Lanes: a picture of a race, one bar per candidate up to the row where it was dropped."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from tombola._formatting import plural
from tombola.report.figures import INK_COLOUR, _axes_for, _short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Bars by tone: the winner green, a wrong or failed candidate orange, all others grey blue.
_TONES = {"good": "#009e73", "bad": "#d55e00", "": "#9db5cd"}
# The part of a lane that was never asked.
_EMPTY_COLOUR = "#e9edf1"
# Grey of the notes: 5.9 to 1 on white.
_NOTE_COLOUR = "#55606d"
# Text on a bar: dark on every tone, in the light and in the dark version of a picture.
_BAR_TEXT_COLOUR = "#10161c"
# Inches per lane, and for title and axis.
_LANE_HEIGHT = 0.42
_MARGIN_HEIGHT = 1.15
# A note goes inside of a bar that covers more than this share of the lane.
_INSIDE_SHARE = 0.75
# Characters of a name; longer ones would leave no room for the lanes.
_MAX_NAME_LENGTH = 32


class Lane(NamedTuple):
    """One candidate of a race.

    rows: number of rows asked of it; note: what happened, such as "out after 47".
    tone: "good" for a winner, "bad" for a candidate that is proved worse than a baseline, else "".
    mean: its mean as text, "" if it is not known.
    """

    name: str
    rows: int
    note: str
    tone: str = ""
    mean: str = ""


def draw_lanes(
    lanes: Sequence[Lane],
    rows: int,
    *,
    title: str = "",
    noun: str = "rows",
    on_file: bool = False,
    axes: "Axes | None" = None,
    size: tuple[float, float] | None = None,
) -> "Figure":
    """Draw the lanes of a race, the first at the top; return the figure.

    rows: length of the list; noun: the word for its rows. on_file: whether some answers cost no
    call, so that the lanes count answers. Axes or a size in inches may be given, but not both.

    >>> lanes = [Lane("A", 40, "best, proved", "good"), Lane("B", 40, "out after 40")]
    >>> [text.get_text() for text in draw_lanes(lanes, 100).axes[0].texts]
    ['best, proved', 'out after 40', '120 of 200 calls never made']
    """
    axes = _axes_for(axes, size, height=_MARGIN_HEIGHT + _LANE_HEIGHT * len(lanes))
    heights = [-float(place) for place in range(len(lanes))]
    axes.barh(heights, [rows] * len(lanes), height=0.62, color=_EMPTY_COLOUR, linewidth=0)
    for lane, height in zip(lanes, heights, strict=True):
        axes.barh(height, lane.rows, height=0.62, color=_TONES[lane.tone], linewidth=0)
        inside = lane.rows > _INSIDE_SHARE * rows
        note = f"{lane.note}, {lane.mean}" if lane.mean else lane.note
        axes.annotate(
            note,
            (lane.rows, height),
            xytext=(-5 if inside else 5, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            fontsize=9,
            color=_BAR_TEXT_COLOUR if inside else _NOTE_COLOUR,
            parse_math=False,
        )
    calls = sum(lane.rows for lane in lanes)
    total = rows * len(lanes)
    axes.text(
        rows,
        heights[-1] - 0.42,
        f"{total - calls:,} of {plural(total, 'answer')} not counted"
        if on_file
        else f"{total - calls:,} of {plural(total, 'call')} never made",
        ha="right",
        va="top",
        fontsize=9,
        color=_NOTE_COLOUR,
    )
    axes.set_yticks(
        heights, [_short_name(lane.name, _MAX_NAME_LENGTH) for lane in lanes], parse_math=False
    )
    for label, lane in zip(axes.get_yticklabels(), lanes, strict=True):
        label.set_fontweight("bold" if lane.tone == "good" else "normal")
    axes.set_xlim(0, rows)
    axes.set_ylim(heights[-1] - 0.95, 0.5)
    axes.set_xlabel(
        f"{noun} {'counted' if on_file else 'asked'}, of {rows:,} in random order", color=INK_COLOUR
    )
    axes.tick_params(which="both", colors=INK_COLOUR)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if title:
        axes.set_title(
            title, loc="left", fontsize=12, fontweight="bold", color=INK_COLOUR, parse_math=False
        )
    return cast("Figure", axes.figure)
