"""Mutants: break the program in one place at a time, and see whether the tests notice.

    python benchmarks/mutants.py 50 11               so many mutants of every room, with seed 11; survivors are kept
    python benchmarks/mutants.py 50 11 confidence    of one room
    python benchmarks/mutants.py watch               only see which tests go through which lines, and remember it
    python benchmarks/mutants.py again 11            try the kept survivors on the code and the tests of today
    python benchmarks/mutants.py named               the mutants that survived once, each with the test that must fail

A mutant is a change of one operator, number, condition, statement or order of arguments, in memory; no file is touched.
Tests run in plain Python (NUMBA_DISABLE_JIT=1), so that they can be is_interactive: a mutant meets only the tests that go
through its line, the quick ones first, for at most PATIENCE seconds. Tests that fail or are slow without a mutant are
left out, and a test that fails with a mutant counts only if it passes with the same code unchanged. What a test does
in a process of its own it does without the mutant, so a survivor may still fail there.
"""

import ast
import contextlib
import copy
import gc
import hashlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import pkgutil
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tombola"
KEPT = ROOT / "docs" / "mutants.json"
SLOW = 1.0  # seconds of processor time, while its lines are noted; a test that takes longer is left out
PATIENCE = 8.0  # seconds of tests for one mutant, as they take without it
WATCHED = 1  # seconds of processor time, while its lines are noted, after which a test is given up
OFTEN = 1000  # steps of a function in which a test has come to no new line, after which they are noted no more
HANGS = 20  # seconds of processor time, or five times that by the clock, after which a mutant hangs: noticed
ROOMS: dict[str, tuple[list[str], list[str]]] = {
    "engine": (
        ["loop", "arrivals", "memory", "rng", "vectors", "runner", "draws"],
        ["guards", "engine", "playing", "order", "delay"],
    ),
    "confidence": (
        ["fixed", "sequences", "betting", "base", "certificate", "certified", "exchangeability", "radius", "bet",
         "bets", "audit", "look", "pairs", "strata", "course", "assertion"],
        ["guards", "confidence_fixed", "confidence_sequences", "certificate", "exchangeability", "confidence_exact",
         "audit", "evidence_commands"],
    ),
    "settings": (
        ["tracker", "budgeted", "budgeted_bandit", "full", "bandit", "base", "../budget"],
        ["guards", "budget_hostile", "budget_values", "budget_session", "budget_overspend", "budget_learners",
         "budget_bandit", "target", "session"],
    ),
    "live": (
        ["file", "status", "naming", "intake", "outcome", "mind", "record", "chapter", "allowing", "export",
         "../journal/database", "../journal/journal", "../journal/older"],
        ["guards", "live", "live_chapters", "live_damage", "live_budget", "race_file", "files"],
    ),
    "saved": (
        ["../session", "../saving", "../book"],
        ["guards", "session", "budget_session", "classes_session"],
    ),
    "racing": (
        ["ask_and_tell", "best", "bets", "driver", "events", "field", "file", "forecast", "gate", "lines", "planning",
         "settings", "top", "verdict", "within", "answers", "truth"],
        ["guards", "race", "race_driver", "race_exact", "race_file", "race_plan"],
    ),
    "bounds": (
        ["full", "bandit", "delay", "switching", "budget", "ucb2", "limits", "frugal", "empirical_lp", "optimistic_lp",
         "drift", "classes", "ask"],
        ["guards", "bounds"],
    ),
}  # fmt: skip
OTHER: dict[Any, Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
NAMED: dict[str, tuple[str, str, str, str]] = {
    "page of a run unescaped": (
        "report/page.py", "autoescape=True", "autoescape=False",
        "test_guards.py::test_names_are_text_on_the_page_of_a_run",
    ),
    "run file not synchronous": (
        "persistence/database.py", "PRAGMA synchronous = EXTRA", "PRAGMA synchronous = OFF",
        "test_guards.py::test_a_run_waits_for_the_disk",
    ),
    "finished units without fsync": (
        "claims/finished.py", "os.fsync(file.fileno())", "pass",
        "test_claims_finished.py::test_a_line_is_on_the_disk_before_it_counts",
    ),
    "code not in the key of finished units": (
        "claims/finished.py", "_hash(code, claim,", "_hash(claim,",
        "test_claims_finished.py::test_the_key_names_claim_unit_seed_and_code",
    ),
    "level of a certificate not shared by its actions": (
        "confidence/certificate.py", "level=share,", "level=whole_level,",
        "test_guards.py::test_the_level_of_a_certificate_is_shared_by_its_actions",
    ),
    "level of the order test not shared by its columns": (
        "confidence/exchangeability.py", "math.log(self.columns / self.level)", "math.log(1 / self.level)",
        "test_guards.py::test_the_level_of_the_order_test_is_shared_by_its_columns",
    ),
    "bound of Simulation too small": (
        "bounds/delay.py", "math.sqrt(2 * math.log(actions)) * spread", "math.sqrt(1.5 * math.log(actions)) * spread",
        "test_bounds.py::test_simulation_has_the_corrected_constant",
    ),
    "answer without the delays of the table": (
        "tables/answer.py", "delay=late(table, question)", "delay=question.met.delay",
        "test_guards.py::test_an_answer_waits_as_the_table_says",
    ),
    "no slack for rounding in fluid play": (
        "budget/tracker.py", "slack=actions * 2.0**-52", "slack=0.0",
        "test_guards.py::test_the_slack_of_fluid_play_covers_rounding_and_without_it_something_is_lost",
    ),
    "no brim for the slack in fluid play": (
        "budget/tracker.py", "(2.0 if tracker.fluid else 1.0)", "1.0",
        "test_guards.py::test_a_fluid_mix_at_the_brim_is_cut_not_refused",
    ),
    "last chunk of a training too long": (
        "reductions/training.py", "order[: rounds - begun]", "order",
        "test_guards.py::test_training_plays_as_many_rounds_as_it_says",
    ),
    "first action counted as a switch": (
        "engine/loop.py", "if t > 0 and action != accumulators.cursor[LAST]", "if action != accumulators.cursor[LAST]",
        "test_guards.py::test_the_first_action_is_no_switch",
    ),
    "patience without end": (
        "engine/runner.py", "if self._plans > MAX_PLANS", "if False",
        "test_guards.py::test_patience_has_an_end",
    ),
}  # fmt: skip
NOT_CODE = ("annotation", "returns", "type_params", "decorator_list")
Lines = dict[str, set[int]]  # the lines of every file that a test goes through
Tests = dict[str, tuple[float, Lines]]  # what each test takes, and where it goes


@dataclass(frozen=True)
class Mutant:
    """One change: where, what it was and what it is now."""

    file: str
    place: int
    first: int
    last: int
    inside: str
    before: str
    after: str
    number: int = 1

    @property
    def tree(self) -> ast.Module:
        """Return the whole module with the change."""
        tree = tree_of(self.file)
        node, which, _ = list(_places(tree))[self.place]
        _changes(node)[which]()
        return ast.fix_missing_locations(tree)

    @property
    def name(self) -> str:
        """Return what it is called in the list of survivors, the same after other lines have moved."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.file} {self.inside}: {self.before}  ->  {self.after}{again}"


def tree_of(file: str) -> ast.Module:
    """Return a module as it is."""
    return ast.parse((SOURCE / file).read_text(encoding="utf-8"))


def mutants_of(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file; of several with one name, the later ones are counted."""
    names: Counter[str] = Counter()
    for place, (node, which, inside) in enumerate(_places(tree_of(file))):
        twin = copy.deepcopy(node)
        _changes(twin)[which]()
        spot = _spot(node)
        before, after = (" ".join(ast.unparse(ast.fix_missing_locations(one)).split()) for one in (node, twin))
        start = max(0, next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), 0) - 60)
        before, after = before[start : start + 90], after[start : start + 90]
        mutant = Mutant(file, place, spot.lineno, spot.end_lineno or spot.lineno, inside, before, after)
        names[mutant.name] += 1
        yield replace(mutant, number=names[mutant.name])


def _spot(node: Any) -> Any:
    """Return the part of a node whose lines are gone through whenever it is."""
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            return node.test
        case ast.comprehension():
            return node.ifs[0]
    return node


def _places(tree: ast.AST) -> Iterator[tuple[Any, int, str]]:
    """Yield every place where a tree can be changed: the node, which of its changes, and the function it is in."""
    for node, inside in _walk(tree, "module"):
        for which in range(len(_changes(node))):
            yield node, which, inside


def _walk(node: ast.AST, inside: str) -> Iterator[tuple[Any, str]]:
    """Yield what can be changed: no docstrings, annotations, messages or imports, nothing for a type checker only."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = node.name
    yield node, inside
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name not in NOT_CODE and isinstance(child, ast.AST) and not _is_words(child):
                yield from _walk(child, inside)


def _is_words(node: ast.AST) -> bool:
    said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    typed = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar")
    idle = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return said or typed or idle or isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _changes(node: Any) -> list[Callable[[], None]]:
    """Return the changes that can be made to a node, in place."""
    place: Any = node
    match node:
        case ast.Compare():
            return [partial(_other_comparison, node, at) for at in range(len(node.ops))]
        case ast.BoolOp():
            dropped = [partial(_drop, node, at) for at in range(len(node.values))]
            return [lambda: setattr(place, "op", OTHER[type(place.op)]()), *dropped]
        case ast.BinOp() if type(place.op) in OTHER:
            return [lambda: setattr(place, "op", OTHER[type(place.op)]())]
        case ast.AugAssign():
            swap = [lambda: setattr(place, "op", OTHER[type(place.op)]())] if type(place.op) in OTHER else []
            return [*swap, lambda: _nothing(place)]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return [lambda: _nothing(place)]
        case ast.Constant(value=bool()):
            return [lambda: setattr(place, "value", not place.value)]
        case ast.Constant(value=int()):
            return [lambda: setattr(place, "value", place.value + 1), lambda: setattr(place, "value", place.value - 1)]
        case ast.Constant(value=float()) if place.value in (0.0, 1.0):
            return [lambda: setattr(place, "value", 1.0 - place.value), lambda: setattr(place, "value", 0.5)]
        case ast.Constant(value=float()):
            return [partial(setattr, place, "value", place.value * factor) for factor in (1.25, 0.5)]
        case ast.If() | ast.While() | ast.IfExp():
            turned = ast.UnaryOp(ast.Not(), place.test)
            never = [lambda: setattr(place, "test", ast.Constant(value=False))] if isinstance(node, ast.If) else []
            return [lambda: setattr(place, "test", turned), *never]
        case ast.comprehension(ifs=[_, *_]):
            return [lambda: place.ifs.clear()]
        case ast.UnaryOp(op=ast.Not()):
            return [lambda: setattr(place, "operand", ast.UnaryOp(ast.Not(), place.operand))]
        case ast.Return(value=ast.expr()):
            return [lambda: setattr(place, "value", ast.Constant(None))]
        case ast.Break():
            return [lambda: _nothing(place)]
        case ast.Expr(value=ast.Call()):
            return [lambda: setattr(place, "value", ast.Constant(None))]
        case ast.Call(func=ast.Name(id="min" | "max")):
            return [lambda: setattr(place.func, "id", "max" if place.func.id == "min" else "min")]
        case ast.Call(args=[ast.Name(), ast.Name(), *_]) if not isinstance(node.func, ast.Name) or (
            node.func.id not in ("isinstance", "super", "range")
        ):
            return [lambda: place.args.__setitem__(slice(0, 2), place.args[1::-1])]
        case ast.UnaryOp(op=ast.USub()):
            return [lambda: setattr(place, "op", ast.UAdd())]
    return []


def _other_comparison(node: ast.Compare, at: int) -> None:
    node.ops[at] = OTHER[type(node.ops[at])]()


def _drop(node: ast.BoolOp, at: int) -> None:
    """Leave one of several conditions out."""
    node.values[at] = ast.Constant(value=isinstance(node.op, ast.And))


def _nothing(node: Any) -> None:
    """Make a statement one that does nothing."""
    node.__class__ = ast.Pass


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another source."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.path, self.tree = SOURCE / file, tree
        self.name = ".".join(("tombola", *Path(file).with_suffix("").parts))

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Return a spec for the module that is changed, and for no other."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def pytest_sessionstart(self) -> None:
        """Come before pytest's own finder, which reads a file that is named on its command line from the disk."""
        sys.meta_path.insert(0, self)

    def create_module(self, spec: Any) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed module."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


class Ready:
    """A plugin that has tests collected, and instead of running them does work, which may run some in a fork."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.items: dict[str, Any] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Do the work."""
        self.items = {item.nodeid: item for item in session.items}
        READY.update(dict.fromkeys(self.items, self))
        self.work()
        return True

    def run(self, tests: list[str], pipe: int) -> int:
        """Run tests until one fails; return whether one did."""
        config = self.items[tests[0]].config
        failing = Failing(pipe)
        config.pluginmanager.register(failing)
        for name in tests:
            config.hook.pytest_runtest_protocol(item=self.items[name], nextitem=None)
            if failing.any:
                return 1
        return 0


READY: dict[str, Ready] = {}  # the tests that are collected


class Failing:
    """A plugin that names the first test that fails, or the file that cannot be collected."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.any = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Name a test that fails."""
        if report.failed:
            self.any = True
            os.write(self.pipe, f"{report.nodeid}\n".encode())

    def pytest_collectreport(self, report: Any) -> None:
        """Name a file that cannot be loaded."""
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())


class Watching:
    """A plugin that notes what passes, how long it takes, and where it goes."""

    def __init__(self, files: list[str]) -> None:
        self.names = {str(SOURCE / file): file for file in files}
        self.tests: dict[str, tuple[float, dict[str, list[int]]]] = {}
        self.lines: dict[str, set[int]] = {}
        self.idle: Counter[CodeType] = Counter()  # steps since the last new line of a function
        self.begun = 0.0

    def pytest_runtest_setup(self, item: Any) -> None:
        """Begin to watch."""
        self.lines = defaultdict(set)
        self.idle.clear()
        self.begun = time.process_time()
        signal.signal(signal.SIGVTALRM, give_up)
        signal.setitimer(signal.ITIMER_VIRTUAL, WATCHED, 1.0)  # again after a second: Hypothesis tries twice
        sys.settrace(self.enter)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that passed quickly."""
        if report.when != "call":
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        took = time.process_time() - self.begun
        if report.passed and took < SLOW:
            lines = {file: sorted(found) for file, found in self.lines.items()}
            self.tests[report.nodeid] = (took, lines)

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """ActionMonitor the lines of a function if it is one of the room."""
        code = frame.f_code
        file = self.names.get(code.co_filename)
        if file is None or self.idle[code] > OFTEN:
            return None
        lines = self.lines[file]
        lines.add(frame.f_lineno)

        def step(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_lineno not in lines:
                lines.add(frame.f_lineno)
                self.idle[code] = 0
            else:
                self.idle[code] += 1
                frame.f_trace_lines = self.idle[code] <= OFTEN
            return step

        return step


def give_up(number: int, frame: FrameType | None) -> None:
    """End a test that is far too slow to be run for every mutant."""
    import pytest

    pytest.fail("too slow", pytrace=False)


def in_child(work: Callable[[int], int], seconds: int = HANGS) -> tuple[int, str]:
    """Run work in a fork, and return its status and what it wrote into the pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        import resource

        status = 1
        with contextlib.suppress(BaseException):
            os.close(reading)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            status = work(writing)
        os._exit(status)
    os.close(writing)
    said, end = b"", time.monotonic() + 5 * seconds
    with open(reading, "rb", buffering=0) as file:
        while select.select([file], [], [], max(0.0, end - time.monotonic()))[0] and (more := file.read(1 << 16)):
            said += more
    if time.monotonic() >= end:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return status, said.decode()


def is_interactive(room: str) -> Tests:
    """Return the tests of a room that pass quickly in plain Python, without any mutant, and where they go."""
    found: dict[str, Any] = {}
    for path in _tests(room):
        kept = Path(tempfile.gettempdir()) / f"tombola-mutants-{_digest(path)}.json"
        if not kept.exists():
            kept.write_text(watch(path))
        found |= json.loads(kept.read_text())
    return {name: (took, {file: set(lines) for file, lines in went.items()}) for name, (took, went) in found.items()}


def watch(path: str) -> str:
    """Run the tests of a file, and return what passes quickly, and where it goes, as JSON."""

    def work(pipe: int) -> int:
        import pytest

        notes = Watching([file for room in ROOMS for file in _files(room)])
        pytest.main([*QUIET, "-m", "not full", path], plugins=[notes])
        with os.fdopen(pipe, "w") as file:
            json.dump(notes.tests, file)
        return 0

    return in_child(work, 7200)[1] or "{}"


def _digest(path: str) -> str:
    """Return what tells one state of a test file, and of all that is is_interactive, from another."""
    files = [ROOT / path, *(SOURCE / file for room in ROOMS for file in _files(room))]
    return hashlib.sha256(b"".join([path.encode(), *(file.read_bytes() for file in files)])).hexdigest()[:12]


def _tests(room: str) -> list[str]:
    names = [f"tests/test_{name}.py" for name in ROOMS[room][1]]
    return [path for path in names if (ROOT / path).exists()] + [f"src/tombola/{file}" for file in _files(room)]


def _files(room: str) -> list[str]:
    folder = SOURCE / room
    paths = [(folder / f"{name}.py").resolve() for name in ROOMS[room][0]]
    return [str(path.relative_to(SOURCE)) for path in paths if path.exists()]


def tests_of(mutant: Mutant, tests: Tests) -> list[str]:
    """Return the tests that go through a mutant's lines, quick ones first: all, if it is outside of every function."""
    lines = set(range(mutant.first, mutant.last + 1))
    met = {name: took for name, (took, went) in tests.items() if lines & went.get(mutant.file, set())}
    if not met:
        met = {name: took for name, (took, went) in tests.items() if mutant.file in went}
    chosen, total = [], 0.0
    for name in sorted(met, key=met.__getitem__):
        total += met[name] + 0.01
        if total > PATIENCE:
            break
        chosen.append(name)
    return chosen


def notices(file: str, tree: ast.Module, tests: list[str]) -> str:
    """Return the test that fails with this module, "a hang" or "a crash", or nothing if all pass."""

    def work(pipe: int) -> int:
        import pytest

        loaded = swapped(file, tree)
        if loaded and all(name in READY for name in tests):
            return READY[tests[0]].run(tests, pipe)
        plugins: list[Any] = [Failing(pipe)]
        if not loaded:
            for name in [name for name in sys.modules if name.partition(".")[0] == "tombola"]:
                del sys.modules[name]
            plugins.append(Changed(file, tree))
            plugins[-1].pytest_sessionstart()
        return int(pytest.main([*QUIET, "-x", *tests], plugins=plugins))

    status, said = in_child(work)
    if status == 0:
        return ""
    if said:
        return said.splitlines()[0]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 1, f"{file}: pytest ended with {status} and ran nothing"
    return "a hang" if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU) else "a crash"


QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


def swapped(file: str, tree: ast.Module) -> bool:
    """Give the functions of a loaded module the code of another tree, if they, and none made by them, are what changes.

    Whoever cannot tell so must load the module anew.
    """
    path = str(SOURCE / file)
    before, after = (_codes(one, path) for one in (tree_of(file), tree))
    changed = {name for name in before if _content(before[name]) != _content(after[name])}
    same = ast.dump(tree) == ast.dump(tree_of(file))
    if "<module>" in changed or not (changed or same):
        return False
    live: dict[str, list[FunctionType]] = defaultdict(list)
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == path:
            live[found.__code__.co_qualname].append(found)
    made = any(one.startswith(f"{name}.<locals>") for one in live for name in changed)
    if made or not all(live[name] and _fits(before[name], after[name]) for name in changed):
        return False
    for name in changed:
        for function in live[name]:
            function.__code__ = after[name]
    return True


def _codes(tree: ast.Module, path: str) -> dict[str, CodeType]:
    """Return the code of a module, its classes and their functions, by name."""
    whole = compile(tree, path, "exec")
    found, todo = {"<module>": whole}, [("<module>", whole)]
    while todo:
        name, code = todo.pop()
        inner = [one for one in code.co_consts if isinstance(one, CodeType)]
        if name == "<module>" or not code.co_flags & inspect.CO_OPTIMIZED:
            found |= {one.co_qualname: one for one in inner}
            todo += [(one.co_qualname, one) for one in inner]
    return found


def _fits(before: CodeType, after: CodeType) -> bool:
    """Tell whether a function may take another code: only if both have the same names from around it."""
    return before.co_freevars == after.co_freevars


def _content(code: CodeType) -> Any:
    """Return what a code does, without its lines; of a module or class, without the functions in it."""
    whole = code.co_flags & inspect.CO_OPTIMIZED
    inner = [_content(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    constants = [one for one, of in zip(inner, code.co_consts, strict=True) if whole or not isinstance(of, CodeType)]
    return code.co_code, constants, code.co_names


def drawn(room: str, count: int, seed: int) -> list[Mutant]:
    """Return mutants of a room, drawn with one seed."""
    found = [mutant for file in _files(room) for mutant in mutants_of(file)]
    print(f"{room}: {len(found)} mutants can be made", flush=True)
    chosen = random.Random(f"{seed} {room}").sample(found, min(len(found), count))
    return [mutant for mutant in chosen if mutant.before != mutant.after]  # `return None` is one already


def survives(mutant: Mutant, tests: Tests) -> bool:
    """Tell whether no test notices a mutant that passes with the same code unchanged."""
    while True:
        chosen = tests_of(mutant, tests)
        found = notices(mutant.file, mutant.tree, chosen) if chosen else ""
        if not found:
            print(f"SURVIVES {len(chosen)} tests, line {mutant.first}: {mutant.name}", flush=True)
            return True
        if found not in tests or passes(mutant.file, found):
            print(f"{found}: {mutant.name}", flush=True)
            return False
        print(f"left out, for it fails without a mutant: {found}", flush=True)
        del tests[found]


@cache
def passes(file: str, test: str) -> bool:
    """Tell whether a test passes alone, with a module loaded as a mutant is but as it is."""
    return not notices(file, tree_of(file), [test])


def try_new(count: int, seed: int, room: str) -> None:
    """Draw mutants of a room, try them, and keep those that nobody noticed."""
    mutants, tests = drawn(room, count, seed), is_interactive(room)
    survived: dict[str, str] = {}
    for tried, mutant in enumerate(mutants, start=1):
        if survives(mutant, tests):
            survived[mutant.name] = ""
        kept = json.loads(KEPT.read_text())
        kept.setdefault(str(seed), {})[room] = {"tried": tried, "survived": survived}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def try_again(room: str, kept: dict[str, str]) -> None:
    """Try the survivors of a room once more."""
    mutants = [mutant for file in _files(room) for mutant in mutants_of(file) if mutant.name in kept]
    tests = is_interactive(room)
    found = [mutant for mutant in mutants if survives(mutant, tests)]
    print(f"{room}: {len(mutants) - len(found)} of {len(mutants)} survivors are noticed today", flush=True)


def try_named() -> None:
    """Apply every mutant that survived once, and see its test pass without it and fail with it."""
    for words, (file, before, after, test) in NAMED.items():
        source = (SOURCE / file).read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{words}: {file} has another text now"
        whole, found = f"tests/{test}", notices(file, ast.parse(source.replace(before, after)), [f"tests/{test}"])
        fails = found.partition("[")[0] == whole and passes(file, whole)
        print(f"{words}: {test} {'fails' if fails else 'DOES NOT TELL'}", flush=True)


def load_all() -> None:
    """Load what the tests need, once for all mutants."""
    import tombola

    packages = [one.name for one in pkgutil.walk_packages(tombola.__path__, "tombola.") if "__main__" not in one.name]
    for name in ("numpy", "pytest", "hypothesis", "scipy.stats", "matplotlib.figure", "jinja2", "highspy", *packages):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def main() -> None:
    """Draw mutants of all rooms or of one, or try the survivors again."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.chdir(ROOT)
    load_all()
    if sys.argv[1:2] == ["named"]:
        try_named()
        return
    if sys.argv[1] == "watch":
        for room in sys.argv[2:] or ROOMS:
            print(f"{room}: {len(is_interactive(room))} tests", flush=True)
        return
    for room in sys.argv[3:] or ROOMS:
        in_room(room, sys.argv[1], sys.argv[2])


def in_room(room: str, what: str, seed: str) -> None:
    """Do what is asked for in one room, in a fork in which its tests are collected."""
    import pytest

    is_interactive(room)
    if what == "again":
        work = partial(try_again, room, json.loads(KEPT.read_text())[seed][room]["survived"])
    else:
        work = partial(try_new, int(what), int(seed), room)
    if (pid := os.fork()) == 0:
        pytest.main([*QUIET, "-s", "-m", "not full", *_tests(room)], plugins=[Ready(work)])
        os._exit(0)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
