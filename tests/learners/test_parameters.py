"""Parameters of learners: extreme values and unknown names."""

from collections.abc import Callable

import pytest

from tombola import learners
from tombola.errors import SessionError, TombolaError
from tombola.learners import (
    UCB2,
    Interleaved,
    OptimisticSimulation,
    Simulation,
)
from tombola.learners.bandit import ucb2
from tombola.learners.spec import from_spec


@pytest.mark.parametrize(
    "make",
    [
        lambda: UCB2(alpha=5e-324),
        lambda: UCB2(alpha=1e-12),
        lambda: learners.UCB2WithoutReplacement(alpha=5e-324),
        lambda: learners.BatchedExp3(price=1.7e308),
        lambda: learners.TsallisSwitching(price=1.7e308),
        lambda: learners.SerflingElimination(delta=5e-324),
        lambda: learners.BettingElimination(delta=5e-324),
        lambda: Simulation(5),  # type: ignore[arg-type]
        lambda: OptimisticSimulation(5),  # type: ignore[arg-type]
        lambda: Interleaved(5, delay=3),  # type: ignore[arg-type]
    ],
)
def test_extreme_parameters_are_rejected(make: Callable[[], object], one_sentence: Callable[[object], str]) -> None:
    """With 1 + alpha = 1 a play never ended, and a command ended in a traceback with the others."""
    with pytest.raises(TombolaError) as refused:
        make()
    one_sentence(refused.value)


@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_smallest_block_has_one_round(alpha: float) -> None:
    state = ucb2.UCB2(alpha).init(2, 10)
    assert [ucb2._next_block(state, 0) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_unknown_learner_name_is_one_line(one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(SessionError) as refused:
        from_spec({"name": "own My\nLearner", "parameters": {}})
    one_sentence(refused.value)
