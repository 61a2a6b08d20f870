"""Switches of UCB2."""

import numpy as np

from tombola.learners import (
    UCB1,
    UCB2,
)
from twin_cases import after, new_live, steps


def test_ucb2_switches_seldom() -> None:
    losses = (np.random.default_rng(1).random((200, 2)) < 0.5).astype(float)
    switches = {}
    for learner in (UCB1(), UCB2()):
        actions = [action for action, _ in steps(new_live(learner, losses), losses, after(200))]
        switches[type(learner)] = int(np.count_nonzero(np.diff(actions)))
    assert switches[UCB2] <= 20 < switches[UCB1]
