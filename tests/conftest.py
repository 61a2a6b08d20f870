"""What several test files share."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pytest

from tombola import Learner
from tombola._types import Floats, RngState
from tombola.engine.compiler import compiled, interpreted

SOURCE = Path(__file__).parent.parent / "src"

HANGS = 1800  # seconds after which a process hangs; no test fails because a machine is slow

# Compilers create many objects that live long: collecting them as often as Python does takes a
# seventh of the time.
gc.set_threshold(20_000, 20, 50)

# Where the tests run in the background, Ctrl-C is ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Run by its test, where the package lm-eval is installed.
collect_ignore = ["tables/formats/lm_eval_repeats.py"]

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


class Sums(NamedTuple):
    """Some numbers that change."""

    total: Floats
    other: Floats


@dataclass(frozen=True)
class Own(Learner):
    """A correct learner with full feedback; variants differ in one thing each."""

    feedback: ClassVar[Any] = "full"
    learns: ClassVar[bool] = False

    def init(self, actions: int, horizon: int) -> Sums:
        return Sums(np.zeros(1), np.zeros(actions))

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        return int(4 * state.total[0]) % state.other.size, 1.0

    @staticmethod
    def observe(state: Any, losses: Floats) -> None:
        state.total[0] += losses[0]


def variant(name: str, base: Any = Own, **members: Any) -> Any:
    """Return the class of a learner that differs from a correct one in these members; functions become kernels."""
    kernels = {
        key: staticmethod(value) if callable(value) else value for key, value in members.items()
    }
    return dataclass(frozen=True)(type(name, (base,), kernels))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs all tests with machine code."""
    parser.addoption(
        "--compiled",
        action="store_true",
        help="compile every kernel, also where interpreting is faster",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files of slow tests only, and their imports, in a quick run."""
    if config.option.markexpr != "not full" or collection_path.suffix != ".py":
        return None
    return (
        "\npytestmark = pytest.mark.full\n" in collection_path.read_text(encoding="utf-8") or None
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reject names with memory addresses: two workers would collect different tests."""
    if wrong := next((item.nodeid for item in items if " at 0x" in item.nodeid), None):
        raise pytest.UsageError(
            f"{wrong}: expected a name that is the same in every process; pass other ids."
        )


def pytest_collection_finish() -> None:
    """Exclude all modules and collected tests from garbage collection."""
    gc.collect()
    gc.freeze()


class Examples:
    """Hook and fixture of the examples in docstrings, which are not below this folder."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Skip modules without examples, and their imports."""
        if collection_path.suffix != ".py" or SOURCE not in collection_path.parents:
            return None
        return ">>> " not in collection_path.read_text(encoding="utf-8") or None

    @pytest.fixture(autouse=True)
    def _interpret(self, request: pytest.FixtureRequest) -> Iterator[None]:
        is_example = isinstance(request.node, pytest.DoctestItem)
        with (
            interpreted()
            if is_example and not request.config.getoption("--compiled")
            else nullcontext()
        ):
            yield


def pytest_configure(config: pytest.Config) -> None:
    """Register what holds for examples outside this folder."""
    config.pluginmanager.register(Examples())


@pytest.fixture(scope="session", autouse=True)
def _mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run kernels as users get them: short work is interpreted, with the same bits; `--compiled` compiles it too."""
    with compiled() if request.config.getoption("--compiled") else nullcontext():
        yield


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """Return a function that runs Python in a process of its own, with these arguments and environment."""

    def run(
        *arguments: str, cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join([str(SOURCE), *([str(cwd)] if cwd else [])])
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
        }
        inherited["TOMBOLA_CACHE"] = str(tmp_path / "cache")
        return subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**inherited, "PYTHONPATH": path, "COLUMNS": "200", **environment},
            timeout=HANGS,
            check=False,
        )

    return run


@pytest.fixture
def short_work(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret kernels whose compilation takes longer than the work of the test; `--compiled` compiles them."""
    with nullcontext() if request.config.getoption("--compiled") else interpreted():
        yield


@pytest.fixture
def plainly() -> Iterator[None]:
    """Run kernels as plain Python: for tests of what is around them, which would wait for a compiler for nothing."""
    with interpreted():
        yield


@pytest.fixture
def machine_code() -> Iterator[None]:
    """Compile kernels, however short their work: for tests of the compiler and of types at its border."""
    with compiled():
        yield


@pytest.fixture
def one_sentence() -> Callable[[object], str]:
    """Return the check that an error is one sentence which says what to write instead."""

    def check(error: object) -> str:
        message = str(error)
        assert "\n" not in message
        assert message.endswith(".")
        assert ". " not in message
        assert "; " in message, "the part after the semicolon says what to write instead"
        return message

    return check


@pytest.fixture
def browser() -> Iterator[Any]:
    """Return a browser without a window."""
    from playwright.sync_api import sync_playwright

    from browser import CHROMIUM, FLAGS

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()
