"""Workload: which kernels are interpreted, and which are compiled."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

from tombola import Pool, compare
from tombola.engine import compiler
from tombola.engine.compiler import (
    _COMPILE_SECONDS,
    Workload,
    compile_loop,
    compiled,
    expected_rounds,
    interpreted,
)
from tombola.learners import UCB1, Exp3


def twice(number: float) -> float:
    return 2.0 * number


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget compiled kernels, see no disk cache, and decide by workload as outside of tests."""
    monkeypatch.setattr(compiler, "_loops", {})
    monkeypatch.setattr(compiler, "_interpreted_seconds", {})
    monkeypatch.setattr(compiler, "has_index", lambda source, digest: False)
    token = compiler._mode.set("auto")
    yield
    compiler._mode.reset(token)


def is_compiled() -> bool:
    kernel = compile_loop(twice, (2.0,))
    assert kernel(2.0) == 4.0
    return hasattr(kernel, "signatures")


def short() -> AbstractContextManager[None]:
    return Workload(_COMPILE_SECONDS / 2).active()


def long() -> AbstractContextManager[None]:
    return Workload(_COMPILE_SECONDS * 2).active()


@pytest.mark.parametrize(
    ("outer", "inner", "result"),
    [
        (nullcontext, nullcontext, True),
        (nullcontext, short, False),
        (nullcontext, long, True),
        (long, short, True),
        (compiled, short, True),
        (interpreted, long, False),
    ],
)
def test_short_work_is_interpreted_and_long_work_compiled(
    outer: Any, inner: Any, result: bool
) -> None:
    """An outer workload, or mode, has precedence."""
    with outer(), inner():
        assert is_compiled() == result


@pytest.mark.parametrize("on_disk", [True, False])
def test_compiled_kernel_is_used_for_short_work(
    on_disk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if on_disk:
        monkeypatch.setattr(compiler, "has_index", lambda source, digest: True)
    else:
        assert is_compiled()
    with expected_rounds(1, actions=2):
        assert is_compiled()


def test_repeated_short_work_is_compiled_in_end() -> None:
    """Ski rental: after three tasks of 0.3 times the compile time each, the fourth compiles; one task never changes."""
    ways, one_task, of_one = [], Workload(0.3 * _COMPILE_SECONDS), []
    for _ in range(5):
        with one_task.active():
            of_one.append(is_compiled())
    compiler._interpreted_seconds.clear()
    for _ in range(5):
        with Workload(0.3 * _COMPILE_SECONDS).active():
            ways.append(is_compiled())
    assert ways == [False, False, False, True, True]
    assert of_one == [False] * 5


@pytest.mark.parametrize("workers", [1, 2])
def test_compare_is_same_interpreted_and_compiled(workers: int) -> None:
    pool, learners = Pool(np.random.default_rng(0).random((60, 3))), [UCB1(), Exp3()]
    short = compare(pool, learners, repetitions=3, workers=workers, seed=1).columns()
    assert not compiler._loops
    with compiled():
        long = compare(pool, learners, repetitions=3, workers=workers, seed=1).columns()
    assert compiler._loops
    assert short == long
