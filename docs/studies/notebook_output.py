"""Execute every notebook and store its outputs.

`python docs/studies/notebook_output.py`.

Needed after a change of a notebook or of a learner. A test executes the notebooks again and
compares their texts.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
# Seconds per cell; the first play of a learner may compile it.
CELL_TIMEOUT = 120


def execute(path: Path) -> Any:
    """Return the notebook with fresh outputs; raise if a cell fails."""
    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_TIMEOUT, kernel_name="python3", record_timing=False
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_finished_progress(output)]
    # The version of Python is of no use to readers, and differs from machine to machine.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    return notebook


def texts(notebook: Any) -> list[str]:
    """Return the outputs of all cells as text.

    Pictures and addresses in memory are left out.
    """
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/html") or data.get("text/plain", "")
            found.append(re.sub(r"0x[0-9a-f]+", "0x", "".join(text)))
    return found


def _is_finished_progress(output: Any) -> bool:
    """Return whether an output is the empty line that a progress line leaves."""
    return (
        output.output_type == "display_data"
        and output.data.get("text/plain") == ""
        and len(output.data) == 1
    )


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        executed = execute(path)
        nbformat.write(executed, path)
        print(f"{path.name}: {len(executed.cells)} cells")
