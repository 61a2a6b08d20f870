"""Intervals with pending outcomes: the twin's bounds, monotone evidence, edge cases."""

import math
from fractions import Fraction

import numpy as np
import pytest

from naive.pending import is_rejected
from tombola.errors import ParameterError
from tombola.evidence import pending_interval
from tombola.evidence.pending import _log_wealth, lower_bound
from tombola.paper.source_faults import SourceFault, injected

LEVEL = Fraction(1, 20)


def filled(losses: list[float], value: float) -> list[Fraction]:
    return [Fraction(value if math.isnan(loss) else loss) for loss in losses]


def agrees_with_twin(losses: list[float], rows: int) -> bool:
    """Return whether the ends are the twin's: rejected just outside, not rejected just inside."""
    low, high = pending_interval(losses, population=rows, level=float(LEVEL))
    agrees = True
    for end, values in (
        (low, filled(losses, 0.0)),
        (1.0 - high, [1 - value for value in filled(losses, 1.0)]),
    ):
        inside = Fraction(end + 1e-9).limit_denominator(10**12)
        agrees &= not is_rejected(values, rows, inside, LEVEL / 2)
        if end > 1e-9:
            outside = Fraction(end - 1e-9).limit_denominator(10**12)
            agrees &= is_rejected(values, rows, outside, LEVEL / 2)
    return agrees


def cases(count: int) -> list[tuple[list[float], int]]:
    generator = np.random.default_rng(0)
    found = []
    for _ in range(count):
        rows = int(generator.integers(1, 40))
        losses = generator.integers(0, 5, int(generator.integers(0, rows + 1))) / 4
        losses = np.where(generator.random(losses.size) < 0.3, math.nan, losses)
        found.append((losses.tolist(), rows))
    return found


def test_bounds_are_those_of_the_twin() -> None:
    assert all(agrees_with_twin(losses, rows) for losses, rows in cases(60))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "lower_bound(np.where(pending, 0.0, values), population, level / 2.0)",
            "lower_bound(np.where(pending, 0.0, values), population, level)",
        ),
        ("np.where(pending, 0.0, 1.0 - values)", "np.where(pending, 1.0, 1.0 - values)"),
    ],
    ids=["level not shared", "0 for both ends"],
)
def test_wrong_level_and_wrong_filling_are_caught(old: str, new: str) -> None:
    with injected(SourceFault("evidence.pending:pending_interval", old, new)):
        assert not all(agrees_with_twin(losses, rows) for losses, rows in cases(60))


def breaks_order(count: int) -> int:
    """Return how often the wealth falls although a value rises; list of ten rows."""
    generator = np.random.default_rng(1)
    broken = 0
    for _ in range(count):
        values = generator.random(int(generator.integers(1, 11)))
        higher = values.copy()
        at = int(generator.integers(values.size))
        higher[at] += generator.random() * (1.0 - values[at])
        mean = float(generator.random())
        before, after = (_log_wealth(row, 10.0, mean) for row in (values, higher))
        broken += after < before - 1e-12
    return broken


def test_wealth_never_falls_when_a_value_rises() -> None:
    assert breaks_order(2_000) == 0


def test_bets_that_adapt_to_the_data_are_caught() -> None:
    """The fault: no bet after a large value."""
    fault = SourceFault(
        "evidence.pending:_log_wealth",
        "np.minimum(_BETS[:, None], _MAX_SHARE / means)",
        "np.minimum(_BETS[:, None], _MAX_SHARE / means) * (np.append(0.0, values[:-1]) < 0.5)",
    )
    with injected(fault):
        assert breaks_order(2_000) > 0


def test_edge_cases() -> None:
    assert pending_interval([], population=5) == (0.0, 1.0)
    assert pending_interval([math.nan] * 5, population=5) == (0.0, 1.0)
    assert pending_interval([1, 1, 1], population=3) == (1.0, 1.0)
    assert pending_interval([0.0, math.nan, 1.0], population=3) == pytest.approx((1 / 3, 2 / 3))
    assert pending_interval([0.5], population=1) == pytest.approx((0.5, 0.5))
    assert lower_bound(np.ones(400), math.inf, 0.025) > 0.9
    for wrong in ([1.5], [-0.1], [0.0, 0.0]):
        with pytest.raises(ParameterError, match="at most one per row of 1"):
            pending_interval(wrong, population=1)


def test_more_is_known_with_pending_outcomes_than_up_to_the_first_gap() -> None:
    losses = np.tile([0.0, 1.0], 150)
    losses[[3, 50, 77]] = math.nan
    assert pending_interval(losses, population=640).width < 0.25
    assert pending_interval(losses[:3], population=640).width > 0.9
