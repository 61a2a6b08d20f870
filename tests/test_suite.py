"""The tests themselves: none of them depends on how fast the machine is today."""

import ast
from pathlib import Path

import pytest

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "time_ns"}
MAY = {"test_live_kill.py"}  # asks how long a call takes, to kill it in the middle
FILES = [path for path in sorted(Path(__file__).parent.rglob("*.py")) if path.name not in MAY]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_no_test_reads_a_clock(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        assert named not in CLOCKS, f"{path.name}:{getattr(node, 'lineno', 0)}: measure time in benchmarks/"
