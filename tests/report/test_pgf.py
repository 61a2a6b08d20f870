"""Figures as pgfplots code: balanced, escaped, with every curve; compiled where TeX is installed."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tombola.lab import table_to_latex
from tombola.report.chart import Band, Chart, Line
from tombola.report.figures import draw_chart, draw_intervals, save
from tombola.report.lanes import Lane, draw_lanes
from tombola.report.pgf import figure_to_pgf, tex_text

CHART = Chart(
    "Regret of 50 % & more",
    "rows T_1",
    "regret {√T}",
    bands=(
        Band(
            "Hedge #1", np.array([1.0, 10.0, 100.0]), *np.array([[1, 2, 4], [0.5, 1, 3], [2, 3, 5]])
        ),
    ),
    lines=(Line("0.4 √T", np.array([1.0, 100.0]), np.array([0.4, 4.0])),),
)


def test_code_has_curves_bands_and_escaped_texts(tmp_path: Path) -> None:
    path = save(draw_chart(CHART), tmp_path / "figure.pgf")
    code = path.read_text(encoding="utf-8")
    assert code.count(r"\addplot") == 3
    assert code.count("{") - code.count(r"\{") == code.count("}") - code.count(r"\}")
    assert r"\addlegendentry{Hedge \#1}" in code
    assert r"xlabel={rows T\_1}" in code
    assert "(10,2)" in code
    assert "dashed" in code


def test_bars_have_their_lengths_names_and_notes() -> None:
    lanes = [Lane("A_1", 40, "best, proved", "good"), Lane("B", 25, "out after 25")]
    code = figure_to_pgf(draw_lanes(lanes, 100))
    assert code.count("-- cycle") == 4
    assert "(0,-0.31) (40,-0.31) (40,0.31) (0,0.31)" in code
    assert "(0,-1.31) (25,-1.31) (25,-0.69) (0,-0.69)" in code
    assert r"yticklabels={{A\_1},{B}}" in code
    assert "at (axis cs:25,-1) {out after 25};" in code
    assert "xmin=0, xmax=100" in code


def test_intervals_are_lines_and_their_middles_are_marks() -> None:
    lows, middles, highs = np.array([[0.1, 0.4], [0.2, 0.5], [0.3, 0.7]])
    code = figure_to_pgf(draw_intervals(["A", "B"], middles, lows, highs, x_label="mean"))
    assert "(0.1,0) (0.3,0)" in code
    assert "(0.4,-1) (0.7,-1)" in code
    assert code.count("only marks") == 1
    assert "ytick={0,-1}" in code.replace("-0,", "0,")


def test_line_across_the_axes_has_coordinates_of_the_data() -> None:
    figure = draw_chart(CHART)
    figure.axes[0].axhline(2.5)
    left, right = figure.axes[0].get_xlim()
    assert f"({left:.6g},2.5) ({right:.6g},2.5)" in figure_to_pgf(figure)


def test_values_that_are_missing_are_left_out() -> None:
    gap = Line("gap", np.array([1.0, 2.0, 3.0]), np.array([1.0, np.nan, 3.0]))
    assert "nan" not in figure_to_pgf(draw_chart(Chart("", "x", "y", lines=(gap,))))


def test_every_character_of_tex_is_escaped() -> None:
    assert tex_text("a_b^c~{}$&%#\\") == (r"a\_b\^{}c\textasciitilde{}\{\}\$\&\%\#\textbackslash{}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="TeX is not installed")
def test_figure_and_table_compile(tmp_path: Path) -> None:
    table = table_to_latex(["learner", "ratio 95 %"], [["Hedge_1", 0.5], ["FTL", 1.25]])
    document = (
        r"\documentclass{article}\usepackage{pgfplots}\pgfplotsset{compat=1.16}\usepackage{booktabs}"
        rf"\begin{{document}}{figure_to_pgf(draw_chart(CHART))}{table}\end{{document}}"
    )
    (tmp_path / "page.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:]
