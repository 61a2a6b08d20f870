"""The list of naive twins is complete, and the machine code of learners gives the bits of plain Python."""

import pytest

from tombola.advice.learner_list import list_learners
from tombola.engine.compiler import compiled, interpreted
from tombola.learners.spec import installed_learners
from twin_cases import ALL, BANDIT, SWITCHING, Case, anyhow, each_case, new_live, steps, ugly_tables


def test_every_learner_has_a_naive_twin() -> None:
    ours = {entry.name for entry in list_learners()} - set(installed_learners())
    assert {type(case.learner).__name__ for case in ALL} == ours
    assert len(ours) >= 40


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
