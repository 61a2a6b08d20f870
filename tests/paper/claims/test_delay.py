"""Claims on delay: blocks of both schedules, and the exact regret of the delay trap in given order."""

import itertools

import numpy as np
import pytest

from tombola.learners import LemmaSchedule, PaperSchedule
from tombola.paper.claims.delay import _blocks, _trap_regret


@pytest.mark.parametrize("schedule", ["lemma", "paper"])
@pytest.mark.parametrize("d", [0, 1, 7, 99])
def test_blocks_equal_those_of_the_schedule(schedule: str, d: int) -> None:
    kind = LemmaSchedule if schedule == "lemma" else PaperSchedule
    for T in (1, 2, 3, 64, 100):
        starts = kind(delay=d).blocks(T).starts.tolist()
        assert [block.start for _, block in _blocks(schedule, T, d)] == starts


@pytest.mark.parametrize(("T", "d"), [(4, 0), (8, 1), (12, 2), (12, 5)])
def test_trap_regret_equals_all_sign_sequences(T: int, d: int) -> None:
    blocks = T // (d + 1)
    regrets = [(d + 1) * abs(sum(signs)) / 2 for signs in itertools.product((-1, 1), repeat=blocks)]
    assert _trap_regret(T, d) == pytest.approx(float(np.mean(regrets)), rel=1e-12)
