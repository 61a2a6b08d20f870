"""Settings of a race."""

import json
import math
from typing import Any

import pytest

from tombola.errors import ParameterError
from tombola.racing import Race, RaceSettings


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0},
        {"level": 1.0},
        {"within": -0.1},
        {"top": 0},
        {"top": 2},
        {"baseline": "c", "better": True},
        {"seed": -1},
        {"reading": "future"},
        {"max_calls": -1},
        {"max_cost": math.nan},
        {"on_failure": "skip"},
        {"candidates": "aa"},
        {"rows": 0},
        {"rows": ["x", "x"]},
        {"candidates": []},
        {"candidates": ["a"]},
        {"max_call_cost": 1},
        {"question": "order"},
        {"question": "ranks", "within": 0.1},
        {"question": "ranks", "baseline": "a"},
        {"candidate": "a"},
        {"question": "ranks", "candidate": "c"},
        {"question": "ranks", "candidate": "a", "top": 2, "candidates": "abc"},
        {"candidates": ["a", " "]},
        {"max_calls": 2.5},
        {"unit": math.nan},
        {"range": (-1e308, 1e308)},
    ],
)
def test_settings_reject_invalid_values(wrong: Any, one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as error:
        Race(**{"candidates": "ab", "rows": 5, "seed": 0, **wrong})
    one_sentence(error.value)


def test_settings_with_ranks_survive_json() -> None:
    for asked in ({"top": 2}, {"candidate": "b"}):
        settings = RaceSettings(("a", "b", "c"), 1, question="ranks", **asked)
        assert RaceSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_rule_of_ranks() -> None:
    rules: Any = [
        RaceSettings(("a", "b", "c"), question="ranks", **asked).rule(9)
        for asked in ({}, {"top": 2}, {"candidate": "c"})
    ]
    whole, top, place = rules
    assert [type(rule).__name__ for rule in rules] == ["Ranks", "Ranks", "Place"]
    assert (whole.top, top.top, place.candidate) == (3, 2, 2)


def test_a_gate_asks_for_the_allowed_loss() -> None:
    """At a loss of 0 identical versions could never pass; files of earlier versions still open."""
    for wrong in ({}, {"within": 0.1, "better": True}):
        with pytest.raises(ParameterError, match="better"):
            RaceSettings(("a", "b"), baseline="a", **wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="used with baseline"):
        RaceSettings(("a", "b"), better=True)
    stored = RaceSettings(("a", "b"), baseline="a", better=True).to_json()
    del stored["better"]
    assert RaceSettings.from_json(stored).better
