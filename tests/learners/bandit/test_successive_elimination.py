"""Successive elimination without answers."""

import numpy as np

from tombola.learners import (
    SuccessiveElimination,
)
from twin_cases import new_live, steps


def test_elimination_without_answers_takes_turns() -> None:
    losses = np.tile([1.0, 0.0, 0.5], (30, 1))
    silence: list[list[int]] = [[] for _ in range(30)]
    actions = [action for action, _ in steps(new_live(SuccessiveElimination(), losses), losses, silence)]
    assert actions == [0, 1, 2] * 10
