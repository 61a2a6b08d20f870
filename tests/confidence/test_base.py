"""Contract of all confidence methods: input, counts, equal bits without Numba."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tombola.confidence import (
    BernsteinSequence,
    Betting,
    Confidence,
    EmpiricalBernsteinSerfling,
    Hoeffding,
    HoeffdingSequence,
    Serfling,
)
from tombola.errors import ParameterError

UNIFORM: list[type[Confidence]] = [HoeffdingSequence, BernsteinSequence, Betting]

FIXED: list[type[Confidence]] = [Hoeffding, Serfling, EmpiricalBernsteinSerfling]

every = pytest.mark.parametrize("method", [*UNIFORM, *FIXED])


@pytest.mark.parametrize("method", [Betting, Serfling])
def test_counts_and_first_invalid_value(method: type[Confidence]) -> None:
    seen = method(population=3, level=0.05, actions=2)
    for number in range(1, 4):
        seen.update(0.5, 1)
        assert seen.counts.tolist() == [0, number]
    with pytest.raises(ParameterError, match="3"):
        seen.update(0.5, 1)
    with pytest.raises(ParameterError, match="got -1"):
        seen.extend([0.5], [-1])
    with pytest.raises(ParameterError, match="got 7"):
        seen.extend([0.5, 0.5, 0.5], [0, 7, 8])
    with pytest.raises(ParameterError, match=r"got 1\.5"):
        seen.extend([0.5, 1.5, 2.5], [0, 0, 0])


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
def test_invalid_input_is_rejected(method: type[Confidence], one_sentence: Callable[[object], str]) -> None:
    name = method.__name__
    for arguments in ({"population": None}, {"population": 0}, {"population": 2.5}, {"population": math.nan}):
        with pytest.raises(ParameterError, match="population=len") as error:
            method(**arguments)
        assert name in one_sentence(error.value)
    for arguments in ({"level": 0}, {"level": 1}, {"actions": 0}):
        with pytest.raises(ParameterError, match=name):
            method(population=5, **arguments)
    seen = method(population=2)
    for x in (-0.1, 1.1, math.nan, "a", None):
        with pytest.raises(ParameterError, match=r"\[0, 1\]") as error:
            seen.update(x)
        one_sentence(error.value)
    with pytest.raises(ParameterError, match=r"\[0, 1\]"):
        seen.extend([0.5, 2.0])
    with pytest.raises(ParameterError, match="at most 2 values"):
        seen.extend([0.5, 0.5, 0.5])
    assert tuple(seen.counts) == (0,)
    seen.extend([0.25, 0.5])
    with pytest.raises(ParameterError, match="at most 2 values") as error:
        seen.update(0.5)
    one_sentence(error.value)
    with pytest.raises(ParameterError, match="action"):
        seen.update(0.5, 1)
    with pytest.raises(ParameterError, match="rows of 2"):
        method(population=5, actions=2).extend([0.5, 0.5, 0.5])
    assert seen.interval() == pytest.approx((0.375, 0.375))


@pytest.mark.parametrize("actions", [[0], [0, 1, 0]])
def test_extend_needs_one_action_per_value(actions: list[int]) -> None:
    sequence = Serfling(10, actions=2)
    with pytest.raises(ParameterError, match=f"one for each of the 2 values, got {len(actions)}"):
        sequence.extend([0.25, 0.5], actions)
    assert sequence.counts.tolist() == [0, 0]
