"""Extension of inspect_ai: found by its entry point in the real package, and printing ranks at the end of a run."""

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import Run

# Not `importorskip`: every process of a test run would import the package, which takes a second.
pytestmark = pytest.mark.skipif(
    find_spec("inspect_ai") is None,
    reason="inspect_ai is not installed: pip install 'tombola[inspect]'",
)
ROOT = Path(__file__).parent.parent.parent

RUN = """
import os, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver

@solver
def answers():
    async def solve(state, generate):
        # No generate(): it would fetch a tokenizer from the network.
        right = int(state.sample_id) < (12 if "strong" in str(state.model) else 3)
        state.output = ModelOutput.from_content("mockllm", "yes" if right else "no")
        return state
    return solve

samples = [Sample(id=str(i), input=f"question {i}", target="yes") for i in range(12)]
for variable in ("0", "1", "match", "other"):
    os.environ["TOMBOLA_RANKS"] = variable
    task = Task(samples, solver=answers(), scorer=match(), name="sums")
    eval(task, model=["mockllm/weak", "mockllm/strong"], log_dir=sys.argv[1], display="none")
    print("END OF RUN")
"""


@pytest.fixture
def entry_points(tmp_path: Path) -> Path:
    """Metadata of a package with the entry points of pyproject.toml, as an installation writes it."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    folder = tmp_path / "site" / "tombola_extension-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tombola-extension\nVersion: 1.0\n"
    )
    lines = [
        line
        for group, names in groups.items()
        for line in (f"[{group}]", *(f"{n} = {v}" for n, v in names.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder.parent


def test_run_of_two_models_ends_with_their_ranks(
    entry_points: Path, tmp_path: Path, run_python: Run
) -> None:
    path = os.pathsep.join([str(entry_points), str(ROOT / "src")])
    done = run_python("-W", "ignore", "-c", RUN, str(tmp_path), PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    off, on, by_score, wrong_score, _ = done.stdout.split("END OF RUN\n")
    assert "Ranks in" not in off
    for text in (on, by_score):
        assert text.strip().startswith("Ranks in sums\nRead as scores (match)")
        assert "1  mockllm/strong" in text
        assert "rows like these" in text
    assert "Ranks in sums: none." in wrong_score
