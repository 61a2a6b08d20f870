"""Lanes of a race, and the picture of the first page, which shows a real race."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from pools import SHARED
from tombola.report import figures
from tombola.report.lanes import Lane, draw_lanes

STUDY = Path(__file__).parents[2] / "docs" / "studies" / "figures.py"
TABLE = SHARED / "swebench_bash.npz"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_figures", STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_bar_ends_at_the_row_of_the_drop() -> None:
    lanes = [Lane("A", 90, "best", "good"), Lane("B", 90, "out after 90"), Lane("C", 7, "out")]
    axes = draw_lanes(lanes, 100).axes[0]
    widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    assert widths == [100, 100, 100, 90, 90, 7]
    assert axes.texts[-1].get_text() == "113 of 300 calls never made"


@pytest.mark.parametrize("name", ["<b>", "$x^2$", "a\x1b[31m", "x" * 300, ""])
def test_names_are_drawn_as_they_are(name: str) -> None:
    figure = draw_lanes([Lane(name, 1, "left")], 1)
    assert b"\x1b" not in figures.figure_bytes(figure, "svg")


def test_the_stored_picture_is_drawn_from_the_stored_result(study: ModuleType) -> None:
    """After a change that is meant: python docs/studies/figures.py lanes swebench_bash.npz."""
    stored = (study.PICTURES / "lanes.svg").read_bytes()
    assert figures.figure_bytes(study.lanes(), "svg") == stored


@pytest.mark.skipif(not TABLE.exists(), reason="the real tables are not on this machine")
def test_the_stored_result_is_the_race_on_the_real_table(study: ModuleType) -> None:
    assert study.run_race(TABLE) == json.loads(study.RACE_RESULT.read_text(encoding="utf-8"))
