"""Conventions of the test suite: no test depends on the speed of the machine."""

import ast
from pathlib import Path

import pytest

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "time_ns"}
WAITING_CALLS = {"run", "communicate", "wait", "join", "expect_download", "get", "acquire"}
# These wait for child processes: a fuzz driver that detects hangs, and a server that is being
# started.
EXEMPT = {"driver.py", "service_cases.py"}
FOLDER = Path(__file__).parent
FILES = [
    path
    for path in sorted(FOLDER.rglob("*.py"))
    if path.name not in EXEMPT and path.parent.name != "kill"
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_clock_and_one_timeout(path: Path) -> None:
    """Calls that wait for a process use HANGS of conftest.py, long enough for a busy machine."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        place = f"{path.name}:{getattr(node, 'lineno', 0)}"
        name = (
            node.attr
            if isinstance(node, ast.Attribute)
            else node.id
            if isinstance(node, ast.Name)
            else ""
        )
        assert name not in CLOCKS, f"{place}: measure time in benchmarks/"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in WAITING_CALLS
        ):
            limits = [one.value for one in node.keywords if one.arg == "timeout"]
            assert not any(isinstance(one, ast.Constant) for one in limits), f"{place}: write HANGS"
