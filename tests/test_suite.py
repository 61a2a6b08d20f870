"""The tests themselves: none of them depends on how fast the machine is today."""

import ast
import importlib.util
from pathlib import Path

import pytest

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "time_ns"}
WAITS = {"run", "communicate", "wait", "join", "expect_download", "get", "acquire"}
MAY = {"test_live_kill.py"}  # asks how long a call takes, to kill it in the middle
FILES = [path for path in sorted(Path(__file__).parent.rglob("*.py")) if path.name not in MAY]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_no_test_reads_a_clock(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        assert named not in CLOCKS, f"{path.name}:{getattr(node, 'lineno', 0)}: measure time in benchmarks/"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_no_test_gives_a_process_less_time_than_a_busy_machine_needs(path: Path) -> None:
    """What waits for a process waits for HANGS of conftest.py; the limits of our own programs are another matter."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WAITS:
            limits = [one.value for one in node.keywords if one.arg == "timeout"]
            assert not any(isinstance(one, ast.Constant) for one in limits), f"{path.name}:{node.lineno}: write HANGS"


def test_every_mutant_with_a_name_can_still_be_made_and_has_a_test() -> None:
    """Else `python benchmarks/mutants.py named` could not tell any more whether its test notices it."""
    spec = importlib.util.spec_from_file_location("mutants", Path(__file__).parents[1] / "benchmarks" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    mutants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutants)
    for words, (file, before, after, test) in mutants.NAMED.items():
        source = (mutants.SOURCE / file).read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{words}: {file} has another text now"
        ast.parse(source.replace(before, after))
        place, _, name = test.partition("::")
        assert f"def {name}(" in (Path(__file__).parent / place).read_text(encoding="utf-8"), words
