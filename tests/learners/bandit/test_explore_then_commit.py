"""Explore then commit keeps its choice."""

import numpy as np

from tombola.learners import (
    ExploreThenCommit,
)
from twin_cases import after, new_live, steps


def test_explore_then_commit_never_changes_its_mind() -> None:
    losses = np.vstack([np.tile([1.0, 0.0], (6, 1)), np.tile([0.0, 1.0], (100, 1))])
    actions = [action for action, _ in steps(new_live(ExploreThenCommit(rounds=3), losses), losses, after(106))]
    assert actions == [0, 1] * 3 + [1] * 100
