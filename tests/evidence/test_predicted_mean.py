"""Means with history: guarantee over all orders, injected faults, and fewer rows than without."""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tombola.errors import ParameterError
from tombola.evidence import Audit, Betting, PredictedMean, parse_statement


def cases(count: int, rows: int) -> Any:
    for seed in range(count):
        rng = np.random.default_rng([seed, rows])
        values = rng.integers(0, 3, rows) / 2
        yield values, np.clip(values[:, None] + rng.normal(0, 0.3, (rows, 2)), 0, 1)


def after_every_row(n: int) -> int:
    return n + 1


def largest_expected_wealth(values: Any, history: Any) -> float:
    """Return the largest expected wealth, over all orders, against the true mean, by side."""
    wealth = []
    for order in permutations(range(len(values))):
        sequence = PredictedMean(history, points=[values.mean()], schedule=after_every_row)
        for row in order:
            sequence.update(row, values[row])
        wealth.append(np.maximum(sequence.wealth[:, 0], 0.0))
    return float(np.mean(wealth, axis=0).max())


@pytest.mark.usefixtures("short_work")
def test_expected_wealth_is_at_most_one_exactly() -> None:
    for values, history in cases(10, 5):
        assert largest_expected_wealth(values, history) <= 1.0 + 1e-12


@pytest.mark.usefixtures("short_work")
def test_fault_mean_over_all_rows_raises_expected_wealth(monkeypatch: pytest.MonkeyPatch) -> None:
    def update(self: Any, side: int, kind: int, value: float, *rest: Any) -> None:
        shift = self._predicted.mean() - self._predicted[self._left].mean() if kind else 0.0
        original(self, side, kind, value + (shift if side == 0 else -shift), *rest)

    original = PredictedMean._update
    monkeypatch.setattr(PredictedMean, "_update", update)
    assert max(largest_expected_wealth(values, history) for values, history in cases(10, 4)) > 1.01


@pytest.mark.usefixtures("short_work")
def test_adjusted_values_keep_their_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of 0 and 1 attain the bound, so one that ignores the predictions is exceeded."""
    slacks: list[float] = []

    def update(self: Any, side: int, kind: int, value: float, low: float, *rest: Any) -> None:
        slacks.append(value - low)
        original(self, side, kind, value, low, *rest)

    original = PredictedMean._update
    monkeypatch.setattr(PredictedMean, "_update", update)
    for values, history in cases(40, 6):
        sequence = PredictedMean(history, schedule=after_every_row)
        for row in range(6):
            sequence.update(row, float(values[row] > 0.5))
    assert -1e-12 <= min(slacks) < 1e-9


def right_or_wrong(rows: int) -> tuple[Any, Any]:
    """Return answers of a candidate, and of four others that mostly fail on the same rows."""
    rng = np.random.default_rng(1)
    hard = rng.random((rows, 1)) < 0.5
    answers = np.where(rng.random((rows, 5)) < 0.05, ~hard, hard).astype(float)
    return answers[:, 0], answers[:, 1:]


@pytest.mark.usefixtures("short_work")
def test_history_takes_fewer_rows() -> None:
    values, history = right_or_wrong(800)
    sequence, plain = PredictedMean(history), Betting(population=800)
    for row in np.random.default_rng(2).permutation(800)[:150].tolist():
        sequence.update(row, values[row])
        plain.extend([values[row]])
        assert sequence.interval().low <= values.mean() <= sequence.interval().high
    assert sequence.interval().width < plain.interval().width / 1.5


def test_whole_list_is_known() -> None:
    values, history = next(cases(1, 6))
    sequence = PredictedMean(history)
    for row in range(6):
        sequence.update(row, values[row])
    assert sequence.interval() == pytest.approx((values.mean(), values.mean()))
    with pytest.raises(ParameterError, match="each once"):
        sequence.update(0, 0.5)
    with pytest.raises(ParameterError, match="history"):
        PredictedMean([[math.nan]])


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize(("shift", "outcome"), [(-0.06, "proved"), (0.06, "refuted")])
def test_audit_with_history_takes_fewer_rows(shift: float, outcome: str) -> None:
    values, history = right_or_wrong(800)
    order = np.random.default_rng(3).permutation(800).tolist()
    rows = []
    for past in (None, history):
        audit = Audit(
            [parse_statement(f"mean(x) > {values.mean() + shift}")], population=800, history=past
        )
        audit.extend({"x": values[order].tolist()}, order)
        [result] = audit.results()
        assert result.outcome == outcome
        rows.append(result.rows)
    assert rows[1] < rows[0]
