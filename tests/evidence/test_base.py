"""Contract of all confidence methods: input, counts, equal bits without Numba."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tombola.errors import ParameterError
from tombola.evidence import (
    BernsteinSequence,
    Betting,
    Confidence,
    EmpiricalBernsteinSerfling,
    Hoeffding,
    HoeffdingSequence,
    Serfling,
)

UNIFORM: list[type[Confidence]] = [HoeffdingSequence, BernsteinSequence, Betting]

FIXED: list[type[Confidence]] = [Hoeffding, Serfling, EmpiricalBernsteinSerfling]

every = pytest.mark.parametrize("method", [*UNIFORM, *FIXED])


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("method", [Serfling, EmpiricalBernsteinSerfling, *UNIFORM])
def test_without_replacement_is_narrower(method: type[Confidence]) -> None:
    values = np.random.default_rng(0).random(900)
    widths = []
    for N in (1000, math.inf):
        seen = method(population=N)
        seen.extend(values)
        widths.append(seen.interval().width)
    assert widths[0] < 0.9 * widths[1]


@every
def test_invalid_input_is_rejected(
    method: type[Confidence], one_sentence: Callable[[object], str]
) -> None:
    for arguments in (
        {"population": None},
        {"population": 0},
        {"population": 2.5},
        {"population": math.nan},
    ):
        with pytest.raises(ParameterError, match="population=len") as error:
            method(**arguments)
        assert method.__name__ in one_sentence(error.value)
    for arguments in ({"level": 0}, {"level": 1}, {"actions": 0}):
        with pytest.raises(ParameterError, match=method.__name__):
            method(population=5, **arguments)
    seen = method(population=2)
    for x in (-0.1, 1.1, math.nan, "a", None):
        with pytest.raises(ParameterError, match=r"\[0, 1\]") as error:
            seen.update(x)
        one_sentence(error.value)
    seen.extend([0.25, 0.5])
    with pytest.raises(ParameterError, match="at most 2 values") as error:
        seen.update(0.5)
    one_sentence(error.value)
    with pytest.raises(ParameterError, match="action"):
        seen.update(0.5, 1)
    assert seen.interval() == pytest.approx((0.375, 0.375))


@pytest.mark.parametrize("method", [Betting, Serfling])
@pytest.mark.parametrize(
    ("values", "actions", "message"),
    [
        ([0.5], [-1], "got -1"),
        ([0.5] * 3, [0, 7, 8], "got 7"),
        ([0.5, 1.5, 2.5], [0, 0, 0], r"\[0, 1\], got 1\.5"),
        ([0.5] * 4, [0, 1, 1, 1], "action 1 must be given at most 2 values"),
        ([0.25, 0.5], [0], "one for each of the 2 values, got 1"),
        ([0.25, 0.5], [0, 1, 0], "one for each of the 2 values, got 3"),
        ([0.5, 0.5, 0.5], None, "rows of 2"),
    ],
)
def test_invalid_batch_adds_nothing(
    method: type[Confidence], values: Any, actions: Any, message: str
) -> None:
    seen = method(population=2, actions=2)
    with pytest.raises(ParameterError, match=message):
        seen.extend(values, actions)
    assert seen.counts.tolist() == [0, 0]
    seen.update(0.5, 1)
    assert seen.counts.tolist() == [0, 1]
