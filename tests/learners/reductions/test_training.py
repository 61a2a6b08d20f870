"""Training of the base learner of a reduction."""

import numpy as np
import pytest

from tombola.feedback import make_feedback_model
from tombola.learners import FollowTheLeader
from tombola.learners.reductions.training import _CHUNK, train
from tombola.rng import RngStreams


@pytest.mark.parametrize("rounds", [_CHUNK - 1, _CHUNK, _CHUNK + 5, 2 * _CHUNK])
def test_training_plays_requested_rounds(rounds: int) -> None:
    """With a last chunk that is too long, the frequencies of the actions sum to more than 1."""
    learner = FollowTheLeader()
    setting = make_feedback_model(learner, rounds, actions=2)
    plays = train(learner, setting, np.array([[0.0, 1.0], [1.0, 0.0]]), RngStreams(1).learner(learner))
    assert plays.sum() == rounds
