"""Ctrl-C stops a compiled play in the middle, and how often Python looks up changes nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from conftest import SOURCE, Run
from tombola import Pool, play
from tombola import order as order_module
from tombola._types import Integers
from tombola.engine import runner
from tombola.engine.compiler import compile_loop
from tombola.engine.loop import ROUND
from tombola.engine.runner import Runner
from tombola.learners import UCB1, FollowTheLeader, Simulation
from tombola.rng import new_rng

LOST_AFTER = 60  # seconds after which a signal is taken as lost, and sent again
COMMAND = "from tombola.cli.app import main; main()"


@pytest.mark.parametrize(
    "learner", [FollowTheLeader(), UCB1(), Simulation(FollowTheLeader())], ids=repr
)
@pytest.mark.parametrize("delay", [0, 3])
def test_length_of_breath_changes_nothing(
    learner: Any, delay: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(np.random.default_rng(2).random((2500, 3)))
    whole = play(learner, pool, delay=delay, seed=1)
    monkeypatch.setattr(
        runner, "_MAX_CALL_SECONDS", -1.0
    )  # every breath is too long: in the end, one round at a time
    pieces = play(learner, pool, delay=delay, seed=1)
    for name in ("actions", "probabilities", "losses", "expected_losses"):
        assert getattr(pieces, name).tobytes() == getattr(whole, name).tobytes()


def test_shuffle_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two pieces Ctrl-C is heard; the order and the rng that is left are the same to the bit."""
    rng = new_rng(np.random.SeedSequence(1))
    order = order_module.random_order(23, rng)
    counted = mock.Mock(side_effect=compile_loop)
    monkeypatch.setattr(order_module, "compile_loop", counted)
    for stride in (1, 5, 22, 23, 24):
        monkeypatch.setattr(order_module, "_ROWS_PER_CALL", stride)
        again = new_rng(np.random.SeedSequence(1))
        counted.reset_mock()
        assert order_module.random_order(23, again).tolist() == order.tolist()
        assert again.tolist() == rng.tolist()
        assert counted.call_count == -(-23 // stride)
    assert order_module.random_order(0, rng).tolist() == []


def watch_loops(patch: pytest.MonkeyPatch, before: Callable[[Integers], object]) -> None:
    """Have this function called with the places of the accumulators, each time before the loop is."""
    step = Runner.compile

    def is_interactive(self: Runner, function: Any, *arguments: Any) -> Any:
        compiled = step(self, function, *arguments)

        def run(*given: Any) -> None:
            before(given[-1].cursor)
            compiled(*given)

        return run

    patch.setattr(Runner, "compile", is_interactive)


@pytest.mark.parametrize(
    ("breath", "strides"), [(-1.0, [1024, 512, 256, 128]), (1e9, [1024, 2048, 4096, 8192])]
)
def test_stride_adapts_to_call_time(
    breath: float, strides: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[int] = []
    watch_loops(monkeypatch, lambda place: rounds.append(int(place[ROUND])))
    monkeypatch.setattr(runner, "_MAX_CALL_SECONDS", breath)
    play(FollowTheLeader(), Pool(np.zeros((20_000, 3))), seed=1)
    assert np.diff(rounds)[:4].tolist() == strides


def test_signal_stops_play_in_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer runs from the first call of the loop, and the whole play takes some twenty times as long."""
    places: list[Integers] = []

    def before(place: Integers) -> None:
        if not places:
            signal.setitimer(signal.ITIMER_REAL, 0.005)
        places.append(place)

    watch_loops(monkeypatch, before)
    pool = Pool(np.zeros((4_000_000, 3)))
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            play(FollowTheLeader(), pool, seed=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
    assert 0 < places[0][ROUND] < pool.rows


@pytest.mark.parametrize(
    ("workers", "ignored", "sign", "status"),
    [
        pytest.param("1", False, signal.SIGINT, 130, marks=pytest.mark.full),
        ("2", False, signal.SIGINT, 130),
        ("2", True, signal.SIGTERM, 143),
    ],
)
def test_command_line_says_that_it_stopped(
    workers: str, ignored: bool, sign: signal.Signals, status: int, tmp_path: Path
) -> None:
    """By Ctrl-C, and when it is asked to end where Ctrl-C is ignored, as in the background of a shell."""
    np.save(tmp_path / "table.npy", np.random.default_rng(0).random((20_000, 4)))
    program = f"import sys, tombola.cli.app; print('begun', file=sys.stderr, flush=True); {COMMAND}"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program,
            "compare",
            "table.npy",
            "--losses",
            "--repetitions",
            "100000",
            "--workers",
            workers,
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        # Set in both cases: where the tests themselves run in the background, children inherit that
        # Ctrl-C is ignored.
        preexec_fn=lambda: (
            signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL) and None
        ),
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    imported = _worked(process.pid)
    while _worked(process.pid) < imported + 1.0:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sign)
    try:
        out, said = process.communicate(timeout=LOST_AFTER)
    except subprocess.TimeoutExpired:
        # Python ignores an exception in a callback of a C library, such as the compiler. One
        # presses Ctrl-C again.
        process.send_signal(sign)
        out, said = process.communicate()
        said = said[-len("tombola: stopped.\n") :]
    assert (process.returncode, out, said) == (status, "", "tombola: stopped.\n")


def test_ctrl_c_during_import_has_no_traceback(tmp_path: Path, run_python: Run) -> None:
    """What is loaded in place of the first package that it needs presses it."""
    (tmp_path / "typer.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    done = run_python("-m", "tombola", "--help", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tombola: stopped.\n")


IN_PLACE_OF_MAIN = """
import signal, sys, threading, time
import tombola.cli.app
from tombola.__main__ import main
{work}
tombola.cli.app.main = work
main()
"""


@pytest.mark.parametrize("status", [130, 143])
def test_stopped_command_waits_for_no_thread(status: int, run_python: Run) -> None:
    """Python itself would: here for ever, and a solver in that thread aborted the process with another status."""
    work = f"""
def work():
    threading.Thread(target=threading.Event().wait).start()
    print("what was found")
    sys.exit({status})
"""
    done = run_python("-c", IN_PLACE_OF_MAIN.format(work=work))
    assert (done.returncode, done.stdout, done.stderr) == (status, "what was found\n", "")


def test_dropped_ctrl_c_is_raised_again(run_python: Run) -> None:
    """As an object is deleted; what is dropped there otherwise is told as ever."""
    work = """
class Pressed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
class Broken:
    def __del__(self):
        raise ValueError("told")
def work():
    Broken()
    try:
        Pressed()
        for _ in range(6000):
            time.sleep(0.1)
    except KeyboardInterrupt:
        print("heard")
        sys.exit(130)
"""
    done = run_python("-c", IN_PLACE_OF_MAIN.format(work=work))
    assert (done.returncode, done.stdout) == (130, "heard\n")
    assert "ValueError: told" in done.stderr
    assert "KeyboardInterrupt" not in done.stderr


def test_ctrl_c_while_pandas_is_loaded(tmp_path: Path, run_python: Run) -> None:
    """Pyarrow loads it, too, and passed over what came meanwhile."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    parquet.write_table(arrow.table({"a": [0.0] * 9, "b": [1.0] * 9}), tmp_path / "t.parquet")
    script = """
import sys
from tombola.tables import read_table
assert "pandas" not in sys.modules
class Pressing:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressing())
try:
    read_table("t.parquet")
except KeyboardInterrupt:
    print("heard")
"""
    done = run_python("-c", script, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("heard\n", "")


def _worked(pid: int) -> float:
    """Return the processor seconds of a process so far."""
    ticks = sum(
        int(word) for word in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    )
    return ticks / os.sysconf("SC_CLK_TCK")
