"""Chart: what a picture shows, as plain data; `figures` draws it and `page` puts it into HTML."""

from dataclasses import dataclass
from typing import NamedTuple

from tombola._types import Floats


class Band(NamedTuple):
    """A measured curve with its interval."""

    name: str
    x: Floats
    middle: Floats
    low: Floats
    high: Floats


class Line(NamedTuple):
    """A reference: a bound, or an exact value."""

    name: str
    x: Floats
    y: Floats


class Point(NamedTuple):
    """Something by itself, named when it is hovered over."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves over one axis, on logarithmic or plain scales, and points; `alt` says in words what is to be seen."""

    title: str
    x_label: str
    y_label: str
    bands: tuple[Band, ...] = ()
    lines: tuple[Line, ...] = ()
    log_x: bool = True
    log_y: bool = True
    alt: str = ""
    points: tuple[Point, ...] = ()
