"""The list of naive twins is complete."""

from tombola.advice.learner_list import list_learners
from tombola.learners.spec import installed_learners
from twin_cases import ALL


def test_every_learner_has_a_naive_twin() -> None:
    ours = {entry.name for entry in list_learners()} - set(installed_learners())
    assert {type(case.learner).__name__ for case in ALL} == ours
    assert len(ours) >= 40
