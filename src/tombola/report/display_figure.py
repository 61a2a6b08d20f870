"""A Matplotlib figure that notebooks show without pyplot, which IPython needs to show other figures."""

from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tombola.report import figures

# Pixels of the PNG per pixel of its displayed size: sharp on screens with a high resolution.
_PIXEL_RATIO = 2
# Pixels per inch of the figure, as displayed in a notebook.
_SCREEN_DPI = 80


class DisplayFigure(Figure):
    """A Matplotlib figure that displays in notebooks, and saves as PNG, SVG, PDF or pgf.

    >>> from matplotlib.backends.backend_agg import FigureCanvasAgg
    >>> figure = DisplayFigure(figsize=(3, 2))
    >>> _ = FigureCanvasAgg(figure)
    >>> picture, shown = figure._repr_png_()
    >>> picture[1:4], shown
    (b'PNG', {'width': 240, 'height': 160})
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        width, height = self.get_size_inches()
        picture = figures.figure_bytes(self, "png", dpi=_PIXEL_RATIO * _SCREEN_DPI)
        return picture, {"width": round(width * _SCREEN_DPI), "height": round(height * _SCREEN_DPI)}

    def save(self, path: str | Path) -> Path:
        """Write the figure and return the path; the suffix selects PNG, SVG, PDF or pgf."""
        return figures.save(self, path)


class _LabelPlacer(Artist):
    """Invisible artist that places the labels of curves when axes are drawn: limits may change after a chart."""

    # Below every other artist, so that it is drawn first.
    zorder = -1000.0

    def __init__(self) -> None:
        super().__init__()
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        if isinstance(self.axes, Axes):
            figures.place_labels(self.axes)
