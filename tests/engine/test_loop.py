"""Loop: accumulated counts."""

import pytest

from tombola import Pool, play
from tombola.learners import (
    FixedAction,
)


@pytest.mark.parametrize("action", [0, 1])
def test_first_action_is_no_switch(action: int) -> None:
    pool = Pool([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    assert play(FixedAction(action), pool, seed=1).switches == 0
