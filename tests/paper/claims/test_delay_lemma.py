"""Claim `delay-lemma`: blocks of both schedules."""

import pytest

from tombola.learners import LemmaSchedule, PaperSchedule
from tombola.paper.claims.delay_lemma import _blocks


@pytest.mark.parametrize("schedule", ["lemma", "paper"])
@pytest.mark.parametrize("d", [0, 1, 7, 99])
def test_blocks_equal_those_of_the_schedule(schedule: str, d: int) -> None:
    kind = LemmaSchedule if schedule == "lemma" else PaperSchedule
    for T in (1, 2, 3, 64, 100):
        starts = kind(delay=d).blocks(T).starts.tolist()
        assert [block.start for _, block in _blocks(schedule, T, d)] == starts
