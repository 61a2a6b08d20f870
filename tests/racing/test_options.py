"""Settings of a race."""

import math
from typing import Any

import pytest

from tombola.errors import ParameterError
from tombola.racing import Race


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0}, {"level": 1.0}, {"within": -0.1}, {"top": 0}, {"top": 2}, {"baseline": "c"}, {"seed": -1},
        {"population": 7}, {"max_calls": -1}, {"max_cost": math.nan}, {"on_failure": "skip"}, {"candidates": "aa"},
        {"rows": 0}, {"rows": ["x", "x"]}, {"candidates": []}, {"candidates": ["a"]},
        {"max_call_cost": 1}, {"candidates": ["a", " "]}, {"max_calls": 2.5},
    ],
)  # fmt: skip
def test_settings_reject_invalid_values(wrong: Any, one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as error:
        Race(**{"candidates": "ab", "rows": 5, "seed": 0, **wrong})
    one_sentence(error.value)
