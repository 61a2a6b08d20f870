"""Learners as text."""

from collections.abc import Callable

import pytest

from tombola import UCB2, Hedge
from tombola.errors import ParameterError
from tombola.learners.spec import parse_learner


@pytest.mark.parametrize(
    "text", ["Nobody", "UCB2(3)", "UCB2(beta=1)", "UCB2(alpha=7)", "1", "", "UCB2(alpha=open('x'))", "a.b()"]
)
def test_parse_learner_rejects(text: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_learner(text)
    one_sentence(refused.value)


def test_parse_learner_reads_repr() -> None:
    for learner in (UCB2(alpha=0.25), Hedge(rate=0.5), parse_learner("Simulation(base=FollowTheLeader())")):
        assert parse_learner(repr(learner)) == learner
