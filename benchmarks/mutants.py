"""Mutants: break the program in one place at a time, and see whether the tests notice.

    python benchmarks/mutants.py 300              so many mutants, drawn from all of TARGETS
    python benchmarks/mutants.py 100 confidence   of one target

Tests run in plain Python (NUMBA_DISABLE_JIT=1), so a mutant takes seconds; those that fail or are slow without a mutant
are left out. A mutant is a change of one operator, number, condition or statement in memory; no file is touched.
"""

import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tombola"
SLOW = 4.0  # seconds; a test that takes longer is left out
HANGS = 120  # seconds of processor time after which a mutant hangs: noticed
TARGETS: dict[str, tuple[list[str], list[str]]] = {
    "engine": (
        ["engine/loop.py", "engine/queue.py", "engine/memory.py", "engine/coins.py", "engine/vectors.py",
         "engine/player.py"],
        ["test_guards", "test_playing", "test_delay", "test_order", "test_engine", "test_session", "test_interrupt"],
    ),
    "confidence": (
        ["confidence/fixed.py", "confidence/sequences.py", "confidence/betting.py", "confidence/base.py",
         "confidence/certificate.py", "confidence/exchangeability.py", "confidence/radius.py"],
        ["test_guards", "test_confidence_fixed", "test_confidence_sequences", "test_certificate",
         "test_exchangeability"],
    ),
    "budgets": (
        ["settings/purse.py", "settings/budgeted.py", "budget.py"],
        ["test_guards", "test_budget_hostile", "test_budget_values", "test_budget_learners", "test_budget_session",
         "test_budget_overspend"],
    ),
    "live": (
        ["live/file.py", "journal/database.py", "live/status.py", "live/naming.py", "live/intake.py"],
        ["test_guards", "test_live", "test_live_damage"],
    ),
    "bounds": (
        ["bounds/full.py", "bounds/bandit.py", "bounds/delay.py", "bounds/switching.py", "bounds/budget.py"],
        ["test_guards", "test_bounds", "test_full_learners", "test_bandit_learners", "test_switching_learners",
         "test_budget_claims", "test_reductions", "test_delay"],
    ),
}  # fmt: skip
OTHER: dict[Any, Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: the file, the line, what it was and what it is now, and the whole source with it."""

    path: Path
    line: int
    before: str
    after: str
    source: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = [node for node in _walk(tree) if _changes(node)]
    for index, node in enumerate(places):
        for which in range(len(_changes(node))):
            changed = copy.deepcopy(tree)
            twin = [other for other in _walk(changed) if _changes(other)][index]
            before = ast.unparse(node)
            _changes(twin)[which]()
            yield Mutant(path, node.lineno, before, ast.unparse(twin), ast.unparse(ast.fix_missing_locations(changed)))


def _walk(node: ast.AST) -> Iterator[Any]:
    """Yield what can be changed: no docstrings, annotations, messages or defaults of types."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            said = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if (
                isinstance(child, ast.AST)
                and not said
                and not isinstance(child, ast.Raise | ast.JoinedStr | ast.Import)
            ):
                yield from _walk(child)


def _changes(node: Any) -> list[Any]:
    """Return the changes that can be made to a node, in place."""
    if isinstance(node, ast.Compare):
        return [lambda: node.ops.__setitem__(0, OTHER[type(node.ops[0])]())]
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in OTHER:
        return [lambda: setattr(node, "op", OTHER[type(node.op)]())]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        number: float = node.value
        return [lambda: setattr(node, "value", number + 1)]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [lambda: setattr(node, "value", not node.value)]
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        return [lambda: setattr(node.func, "id", "max" if node.func.id == "min" else "min")]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return [lambda: setattr(node, "op", ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not())][
            : isinstance(node.op, ast.USub)
        ]
    return []


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another source."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = ".".join(("tombola", *mutant.path.relative_to(SOURCE).with_suffix("").parts))

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Return a spec for the module that is changed, and for no other."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)

    def create_module(self, spec: Any) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(compile(self.mutant.source, str(self.mutant.path), "exec"), module.__dict__)


class Passing:
    """A plugin that notes the tests that pass in time."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that passed quickly."""
        if report.when == "call" and report.passed and report.duration < SLOW:
            self.ids.append(report.nodeid)


def in_child(work: Any) -> tuple[int, str]:
    """Run work in a fork, and return its status and what it wrote into the pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        import resource

        status = 1
        with contextlib.suppress(BaseException):
            os.close(reading)
            resource.setrlimit(resource.RLIMIT_CPU, (HANGS, HANGS + 5))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            status = work(writing)
        os._exit(status)
    os.close(writing)
    with open(reading) as file:
        said = file.read()
    _, status = os.waitpid(pid, 0)
    return status, said


def baseline(tests: list[str]) -> list[str]:
    """Return the tests that pass quickly in plain Python, without any mutant."""

    def work(pipe: int) -> int:
        import pytest

        notes = Passing()
        pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not full", *tests], plugins=[notes])
        os.write(pipe, json.dumps(notes.ids).encode())
        return 0

    global HANGS
    before, HANGS = HANGS, 3600
    try:
        return list(json.loads(in_child(work)[1]))
    finally:
        HANGS = before


def is_noticed(mutant: Mutant, tests: list[str]) -> bool:
    """Tell whether some test fails with this mutant, or it never ends."""

    def work(pipe: int) -> int:
        import pytest

        sys.meta_path.insert(0, Changed(mutant))
        return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests]))

    return in_child(work)[0] != 0


def main() -> None:
    """Draw mutants, run the tests against each, and list those that nobody noticed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    targets = sys.argv[2:] or list(TARGETS)
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.chdir(ROOT)
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401

    for target in targets:
        files, tests = TARGETS[target]
        found = [mutant for file in files for mutant in mutants_of(SOURCE / file)]
        chosen = random.Random(7).sample(found, min(len(found), count // len(targets)))
        passing = baseline([f"tests/{name}.py" for name in tests if (ROOT / "tests" / f"{name}.py").exists()])
        print(f"{target}: {len(found)} mutants, {len(chosen)} tried with {len(passing)} tests", flush=True)
        noticed = 0
        for number, mutant in enumerate(chosen):
            begun = time.monotonic()
            if is_noticed(mutant, passing):
                noticed += 1
            else:
                where = f"{mutant.path.relative_to(SOURCE)}:{mutant.line}"
                print(f"survived {where}: {mutant.before}  ->  {mutant.after}", flush=True)
            if number == 0:
                print(f"  the first took {time.monotonic() - begun:.0f} s", flush=True)
        print(f"{target}: {noticed} of {len(chosen)} noticed", flush=True)


if __name__ == "__main__":
    main()
