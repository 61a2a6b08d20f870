"""Figures: display in notebooks, sizes, formats, and labels that follow their curves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Run
from tombola.errors import ParameterError
from tombola.report.chart import Band, Chart, Line
from tombola.report.figures import TEXT_COLOURS, draw_chart, draw_intervals, figure_bytes, save

X = np.array([1.0, 2.0, 3.0])


def band(name: str, *y: float) -> Band:
    values = np.array(y)
    return Band(name, X, values, values, values)


def chart(*bands: Band, lines: tuple[Line, ...] = ()) -> Chart:
    return Chart("title", "round", "regret", bands, lines, log_x=False, log_y=False)


def label_heights(axes: Any) -> dict[str, float]:
    """Return the height of each label in data coordinates, as drawn."""
    axes.figure.canvas.draw()
    found = {}
    for text in axes.texts:
        y = axes.transAxes.transform((0, text.get_position()[1]))
        found[text.get_text()] = float(axes.transData.inverted().transform(y)[1])
    return found


def test_labels_follow_curves_when_limits_change() -> None:
    """A bound drawn later is far above the curves, and squeezes them to the floor."""
    axes = draw_chart(chart(band("low", 0, 1, 2), band("high", 0, 5, 10))).axes[0]
    assert label_heights(axes) == pytest.approx({"low": 2, "high": 10}, abs=0.2)
    axes.plot(X, [0, 50, 20])
    assert label_heights(axes)["high"] == pytest.approx(10, abs=0.5)
    axes.set_yscale("symlog")
    assert label_heights(axes)["high"] == pytest.approx(10, rel=0.1)


def test_second_chart_in_same_axes() -> None:
    figure = draw_chart(chart(band("a", 0, 1, 2), band("b", 0, 2, 3)))
    axes = figure.axes[0]
    draw_chart(
        chart(band("c", 0, 2, 3.01), lines=(Line("bound", X, np.array([9.0, 9.0, 40.0])),)),
        axes=axes,
    )
    levels = sorted(text.get_position()[1] for text in axes.texts)
    figure.canvas.draw()
    gap = 15.0 * figure.dpi / 72 / axes.get_window_extent().height
    assert min(np.diff(levels)) > 0.9 * gap
    assert label_heights(axes)["bound"] == pytest.approx(40, abs=1)
    assert [text.get_color() for text in axes.texts][:3] == [*TEXT_COLOURS[:3]]
    assert len({text.get_gid() for text in axes.texts}) == 4


def test_size_is_in_inches() -> None:
    one = chart(band("a", 0, 1, 2))
    figure: Any = draw_chart(one, size=(3.5, 2))
    assert figure.get_size_inches().tolist() == [3.5, 2.0]
    _, shown = figure._repr_png_()
    assert shown["width"] / shown["height"] == pytest.approx(3.5 / 2)
    for wrong in ((700, 440), (3,), "large", (0, 2), (float("nan"), 1)):
        with pytest.raises(
            ParameterError, match=r"\(width, height\) in inches, got .*; write size=\(7, 4.4\)"
        ):
            draw_chart(one, size=wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="expected ax or size, got both"):
        draw_chart(one, axes=figure.axes[0], size=(3, 2))


def test_save_selects_format_by_suffix(tmp_path: Path) -> None:
    one = chart(band("a", 0, 1, 2))
    figure: Any = draw_chart(one)
    for name, start in {"x.pdf": b"%PDF", "x.PNG": b"\x89PNG", "x.svg": b"<?xml"}.items():
        assert figure.save(tmp_path / name).read_bytes().startswith(start)
    assert figure_bytes(draw_chart(one), "pdf") == figure_bytes(draw_chart(one), "pdf"), (
        "no date inside"
    )
    for name in ("x", "x.jpg"):
        with pytest.raises(ParameterError, match=r"ends in \.png, \.svg, \.pdf or \.pgf"):
            save(figure, tmp_path / name)


def test_intervals_have_one_line_per_name() -> None:
    means, lows, highs = np.array([0.5, np.nan]), np.array([0.25, 0.0]), np.array([0.75, 1.0])
    axes = draw_intervals(["a", "$b$"], means, lows, highs, x_label="mean").axes[0]
    (segments,) = [
        line.get_segments() for line in axes.collections if hasattr(line, "get_segments")
    ]
    assert [[point[0] for point in one] for one in segments] == [[0.25, 0.75], [0.0, 1.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "$b$"]


def test_figure_displays_without_pyplot(run_python: Run) -> None:
    """IPython formats figures of Matplotlib itself only after pyplot was imported."""
    code = """
import sys
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from tombola.report.chart import Band, Chart
from tombola.report.figures import draw_chart
y = np.array([1.0, 2.0])
data, metadata = shell.display_formatter.format(draw_chart(Chart("t", "x", "y", (Band("a", y, y, y, y),))))
assert "matplotlib.pyplot" not in sys.modules
print(sorted(data), data["image/png"][:4], metadata["image/png"])
"""
    done = run_python("-c", code)
    assert done.stderr == ""
    assert "'image/png'" in done.stdout
    assert "'width': 560, 'height': 352" in done.stdout


def test_figure_for_the_column_of_a_paper() -> None:
    """Below 4.5 inches the curves keep the width: a legend below, small letters, no title."""
    x = np.arange(1.0, 30.0)
    bands = tuple(Band(f"learner {i}", x, i * x, i * x, i * x) for i in range(1, 4))
    chart = Chart(
        "title",
        "round",
        "regret: loss above the best fixed action",
        bands,
        log_x=False,
        log_y=False,
    )
    figure = draw_chart(chart, size=(3.3, 2.2))
    figure_bytes(figure, "pdf")
    axes = figure.axes[0]
    box = axes.get_window_extent()
    assert box.width / figure.bbox.width > 0.75
    assert (axes.get_title(loc="left"), axes.get_ylabel()) == ("", "regret")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "learner 1",
        "learner 2",
        "learner 3",
    ]
    assert figure.legends[0].get_window_extent().y1 < box.y0
    assert all(label.get_fontsize() == 7 for label in axes.get_xticklabels())


def test_band_below_zero_is_cut_at_a_logarithmic_axis() -> None:
    """The edge slopes to the axis at its own point, instead of falling straight down between two points."""
    x, middle = np.array([100.0, 1000.0, 10000.0]), np.array([2.0, 4.0, 9.0])
    band = Band("one", x, middle, np.array([-1.5, 1.5, 5.0]), 2 * middle)
    figure = draw_chart(Chart("regret", "T", "regret", (band,)))
    vertices: Any = figure.axes[0].collections[0].get_paths()[0].vertices
    bottom = figure.axes[0].get_ylim()[0]
    assert vertices[:, 1].min() == pytest.approx(bottom)
    assert 0 < bottom <= 1
    assert vertices[vertices[:, 0] == 1000.0, 1].min() == 1.5
