"""Learner specifications and learners of other packages."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any, ClassVar

import pytest

from tombola import UCB2, Hedge, learners
from tombola.advice.learner_list import list_learners
from tombola.errors import ParameterError
from tombola.learners import UCB1
from tombola.learners import spec as specs
from tombola.learners.spec import parse_learner


@dataclass(frozen=True)
class Foreign(UCB1):
    """Play as UCB1, from another package."""

    name: ClassVar[str] = "foreign"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Register entry points of another package."""

    def register(**values: str) -> None:
        entries = [
            EntryPoint(name, value, specs.ENTRY_POINT_GROUP) for name, value in values.items()
        ]
        monkeypatch.setattr(specs, "entry_points", lambda group: EntryPoints(entries))
        specs.installed_learners.cache_clear()

    yield register
    specs.installed_learners.cache_clear()


def test_entry_points_are_listed_and_parsed(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learners, "Foreign", Foreign, raising=False)
    installed(Foreign="tombola.learners:Foreign")
    assert specs.parse_learner("Foreign(scale=1.0)") == Foreign(scale=1.0)
    assert any(one.name == "Foreign" for one in list_learners())


@pytest.mark.parametrize("value", ["nowhere.at_all:Thing", "tombola.learners:UCB1"])
def test_broken_entry_points_are_ignored_with_warning(installed: Any, value: str) -> None:
    installed(UCB1=value)
    with pytest.warns(UserWarning, match="cannot be loaded|no new learner class"):
        assert specs.installed_learners() == {}


def test_proved_learners_return_bound() -> None:
    proved = {one.name for one in list_learners() if one.proved}
    assert {
        "Simulation",
        "OptimisticSimulation",
        "Hedge",
        "UCB2",
        "SerflingElimination",
        "EmpiricalLP",
    } <= proved
    assert (
        not {"LazyOptimisticSimulation", "ThompsonSampling", "KLUCB", "BudgetSimulation", "Uniform"}
        & proved
    )


@pytest.mark.parametrize(
    "text",
    [
        "Unknown",
        "UCB2(3)",
        "UCB2(beta=1)",
        "UCB2(alpha=7)",
        "1",
        "",
        "UCB2(alpha=open('x'))",
        "a.b()",
    ],
)
def test_parse_learner_rejects(text: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_learner(text)
    one_sentence(refused.value)


def test_parse_learner_reads_repr() -> None:
    for learner in (
        UCB2(alpha=0.25),
        Hedge(rate=0.5),
        parse_learner("Simulation(base=FollowTheLeader())"),
    ):
        assert parse_learner(repr(learner)) == learner
