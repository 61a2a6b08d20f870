"""Ctrl-C stops a compiled play in the middle, and how often Python looks up changes nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SOURCE
from tombola import Pool, play
from tombola.engine import player
from tombola.engine.loop import ROUND
from tombola.engine.player import Player
from tombola.learners.bandit import UCB1
from tombola.learners.full import FollowTheLeader
from tombola.reductions import Simulation

COMMAND = "from tombola.cli import main; main()"


@pytest.mark.parametrize("learner", [FollowTheLeader(), UCB1(), Simulation(FollowTheLeader())], ids=repr)
@pytest.mark.parametrize("delay", [0, 3])
def test_the_length_of_a_breath_changes_nothing(learner: Any, delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(np.random.default_rng(2).random((2500, 3)))
    whole = play(learner, pool, delay=delay, seed=1)
    monkeypatch.setattr(player, "BREATH", -1.0)  # every breath is too long: in the end, one round at a time
    pieces = play(learner, pool, delay=delay, seed=1)
    for name in ("actions", "chances", "losses", "expected_losses"):
        assert getattr(pieces, name).tobytes() == getattr(whole, name).tobytes()


def test_strides_shrink_while_a_breath_is_too_long_and_grow_while_it_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = rounds_at_calls(monkeypatch, breath=-1.0)
    assert np.diff(rounds)[:5].tolist() == [1024, 512, 256, 128, 64]
    rounds = rounds_at_calls(monkeypatch, breath=1e9)
    assert np.diff(rounds)[:4].tolist() == [1024, 2048, 4096, 8192]


def rounds_at_calls(monkeypatch: pytest.MonkeyPatch, breath: float) -> list[int]:
    """Return the round at which the loop is called each time."""
    rounds: list[int] = []
    step = Player.step

    def watched(self: Player, function: Any, *arguments: Any) -> Any:
        compiled = step(self, function, *arguments)

        def run(*given: Any) -> None:
            rounds.append(int(given[-1].place[ROUND]))
            compiled(*given)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(Player, "step", watched)
        patch.setattr(player, "BREATH", breath)
        play(FollowTheLeader(), Pool(np.zeros((20_000, 3))), seed=1)
    return rounds


def test_a_signal_stops_a_play_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The play takes tens of times as long as the timer; without strides, the signal would wait for its last round."""
    played: list[Any] = []
    whole = Player.play

    def watched(self: Player, table: Any, queue: Any, tally: Any) -> None:
        played.append(tally)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        whole(self, table, queue, tally)

    pool = Pool(np.zeros((4_000_000, 3)))
    play(FollowTheLeader(), Pool(np.zeros((10, 3))), seed=1)  # compiled
    monkeypatch.setattr(Player, "play", watched)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            play(FollowTheLeader(), pool, seed=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert 0 < played[0].place[ROUND] < pool.rows


def test_the_command_line_says_that_it_stopped(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.random.default_rng(0).random((200_000, 4)))
    program = f"import sys; print('begun', file=sys.stderr, flush=True); {COMMAND}"
    for workers in ("1", "2"):
        process = subprocess.Popen(
            [sys.executable, "-c", program, "compare", "table.npy", "--repetitions", "100000", "--workers", workers],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        while _is_idle(process.pid):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, said = process.communicate()
        assert (process.returncode, out, said) == (130, "", "tombola: stopped.\n")


def _is_idle(pid: int) -> bool:
    """Tell whether a process has worked for less than four seconds: before, it may still be importing."""
    ticks = sum(int(word) for word in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])
    return ticks < 4 * os.sysconf("SC_CLK_TCK")
