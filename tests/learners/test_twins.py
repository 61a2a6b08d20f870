"""Learners and naive twins agree, also with late and lost feedback; the list of twins is complete.

Twins of learners with full information are played in `test_full_information`, those under budgets
in `test_budgeted`.
"""

import numpy as np
import pytest

from tombola.advice.learner_list import list_learners
from tombola.engine.compiler import compiled, interpreted
from tombola.learners.spec import installed_learners
from twin_cases import (
    ALL,
    BANDIT,
    SWITCHING,
    Case,
    after,
    anyhow,
    each_case,
    follow,
    new_live,
    steps,
    ugly_tables,
)


def test_every_learner_has_a_naive_twin() -> None:
    ours = {entry.name for entry in list_learners()} - set(installed_learners())
    assert {type(case.learner).__name__ for case in ALL} == ours
    assert len(ours) >= 40


@each_case([*BANDIT, *SWITCHING])
def test_learner_agrees_with_its_twin(case: Case) -> None:
    for losses in ugly_tables():
        follow(case, losses, after(len(losses)))


@each_case([*BANDIT, *SWITCHING])
@pytest.mark.parametrize("delay", [1, 17, 1000])
def test_twin_with_late_feedback(case: Case, delay: int) -> None:
    losses = (np.random.default_rng(3).random((120, 4)) < [0.9, 0.5, 0.1, 0.2]).astype(float)
    follow(case, losses, after(len(losses), delay))


@each_case([*BANDIT, *SWITCHING])
@pytest.mark.parametrize("seed", range(4))
def test_twin_with_lost_and_disordered_feedback(case: Case, seed: int) -> None:
    losses = np.random.default_rng(seed).random((150, 3)) * [1.0, 0.7, 0.2]
    follow(case, losses, anyhow(len(losses), seed), seed)


@pytest.mark.full
@each_case([*BANDIT, *SWITCHING])
def test_same_bits_without_numba(case: Case) -> None:
    """Every parameter, on ugly tables; `tests/engine/test_machine_code.py` has one case per learner."""
    for losses in ugly_tables():
        found = []
        for mode in (compiled, interpreted):
            with mode():
                live = new_live(case.learner, losses)
                list(steps(live, losses, anyhow(len(losses), 1)))
            found.append((live.runner.memory.tobytes(), live.runner.rng.tobytes()))
        assert found[0] == found[1]
