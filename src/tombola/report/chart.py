"""Charts as plain data; `figures` draws them, `page` embeds them in HTML."""

from dataclasses import dataclass
from typing import NamedTuple

from tombola._types import Floats


class Band(NamedTuple):
    """A measured curve through (x, middle), in a band from low to high: equal lengths."""

    name: str
    x: Floats
    middle: Floats
    low: Floats
    high: Floats


class Line(NamedTuple):
    """A dashed reference curve through (x, y): a bound or an exact value."""

    name: str
    x: Floats
    y: Floats


class Point(NamedTuple):
    """A single point at (x, y), in data units, with its name as tooltip, or beside it.

    side: where the name stands: 1 or -1 for right or left, and above or below; None for no name.
    """

    name: str
    x: float
    y: float
    side: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves and points on linear or logarithmic axes, as data; `draw_chart` draws it.

    bands, lines: measured curves, and reference curves.
    alt: description for readers who do not see the chart; "" for the title.
    """

    title: str
    x_label: str
    y_label: str
    bands: tuple[Band, ...] = ()
    lines: tuple[Line, ...] = ()
    log_x: bool = True
    log_y: bool = True
    alt: str = ""
    points: tuple[Point, ...] = ()
