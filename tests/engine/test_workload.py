"""Workload: which kernels are interpreted, and which are compiled."""

from collections.abc import Iterator

import numpy as np
import pytest

from tombola import Pool, compare, play
from tombola.engine import compiler
from tombola.engine.compiler import _COMPILE_SECONDS, Workload, compile_loop, compiled, expected_rounds, interpreted
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


def test_without_workload_kernels_are_compiled() -> None:
    assert is_compiled()


def test_short_work_is_interpreted_and_long_work_compiled() -> None:
    with Workload(_COMPILE_SECONDS / 2).active():
        assert not is_compiled()
    with Workload(_COMPILE_SECONDS * 2).active():
        assert is_compiled()


def test_kernel_in_memory_is_used_for_short_work() -> None:
    assert is_compiled()
    with expected_rounds(1, actions=2):
        assert is_compiled()


def test_kernel_on_disk_is_used_for_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "has_index", lambda source, digest: True)
    with expected_rounds(1, actions=2):
        assert is_compiled()


def test_repeated_short_work_is_compiled_in_end() -> None:
    """Ski rental: after three tasks of 0.3 times the compile time each, the fourth compiles."""
    ways = []
    for _ in range(5):
        with Workload(0.3 * _COMPILE_SECONDS).active():
            ways.append(is_compiled())
    assert ways == [False, False, False, True, True]


def test_one_task_never_changes_its_way() -> None:
    workload = Workload(0.6 * _COMPILE_SECONDS)
    ways = []
    for _ in range(5):
        with workload.active():
            ways.append(is_compiled())
    assert ways == [False] * 5


def test_outer_workload_has_precedence() -> None:
    with Workload(_COMPILE_SECONDS * 2).active(), expected_rounds(1, actions=2):
        assert is_compiled()


def test_modes_override_workload() -> None:
    with compiled(), expected_rounds(1, actions=2):
        assert is_compiled()
    with interpreted(), Workload(_COMPILE_SECONDS * 2).active():
        assert not is_compiled()


@pytest.mark.parametrize("workers", [1, 2])
def test_compare_is_same_interpreted_and_compiled(workers: int) -> None:
    pool, learners = Pool(np.random.default_rng(0).random((60, 3))), [UCB1(), Exp3()]
    short = compare(pool, learners, repetitions=3, workers=workers, seed=1).columns()
    assert not compiler._loops
    with compiled():
        long = compare(pool, learners, repetitions=3, workers=workers, seed=1).columns()
    assert compiler._loops
    assert short == long


def test_play_of_few_rows_compiles_nothing() -> None:
    play(UCB1(), Pool(np.random.default_rng(0).random((60, 3))), seed=1)
    assert not compiler._loops
