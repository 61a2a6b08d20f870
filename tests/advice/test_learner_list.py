"""The list of learners."""

import re
from pathlib import Path

import numpy as np
import pytest

from tombola.advice.learner_list import LearnerInfo, list_learners, parse_learner_text
from tombola.budget.budget import BudgetTerms
from tombola.errors import ParameterError
from tombola.learners import BudgetedBase
from twin_cases import ALL

THEORY = Path(__file__).parents[2] / "docs" / "theory"


@pytest.mark.parametrize("entry", list_learners(), ids=lambda entry: entry.name)
def test_proved_means_that_bound_returns_number(entry: LearnerInfo) -> None:
    """With some of the parameters of the twin tests, which are not those that the list tries."""
    terms = BudgetTerms(3, 1, 4096, 0.5, 0, np.full((3, 1), np.nan))
    learners = [case.learner for case in ALL if type(case.learner).__name__ == entry.name]
    bounds = [
        learner.bound(terms, 0.9) if isinstance(learner, BudgetedBase) else learner.bound(3, 4096)
        for learner in learners
    ]
    assert entry.proved == any(bound is not None and bound >= 0 for bound in bounds)


@pytest.mark.parametrize(
    "entry", [one for one in list_learners() if one.proved], ids=lambda entry: entry.name
)
def test_proved_learner_is_in_a_proof(entry: LearnerInfo) -> None:
    """Pages of measured values do not count."""
    pages = [
        page.read_text(encoding="utf-8")
        for page in THEORY.glob("*.md")
        if page.stem not in ("lower", "index")
    ]
    assert any(re.search(rf"\b{entry.name}\b", page) for page in pages)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("thrifty", "did you mean Thrifty?"),
        ("Simulation(base=hegde())", "did you mean Hedge?"),
        ("zzz", "tombola learners lists them"),
    ],
)
def test_misspelt_learner_gets_a_suggestion(text: str, hint: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_learner_text(text)
    assert str(refused.value).startswith("--learners: expected a learner such as UCB2")
    assert f"has this name, {hint})" in str(refused.value)
