"""Notebooks of the documentation: they run, and print what they show."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module that executes notebooks."""
    monkeypatch.syspath_prepend(str(DOCS / "studies"))
    yield import_module("notebook_output")
    sys.modules.pop("notebook_output", None)


def read(path: Path) -> Any:
    return import_module("nbformat").read(path, as_version=4)


def test_each_role_has_notebook() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["engineering", "operations", "research"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_notebook_is_complete(path: Path) -> None:
    """Every cell was executed in order, every notebook has a table and a picture, and no machine is named."""
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", {})}
    assert kinds == {"text/plain", "text/html", "image/png"}
    text = path.read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert "/home/" not in text
    assert "/tmp/" not in text
    assert len(text) < 300_000


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning"
)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.stem == "research" else [pytest.mark.full])
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_notebook_prints_what_it_shows(
    path: Path, study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(Path(__file__).parents[1] / "src")
    monkeypatch.setenv("PYTHONPATH", source)
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    assert study.texts(study.execute(path)) == study.texts(read(path))
