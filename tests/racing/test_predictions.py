"""Predictions from history: the lemma row by row, guarantees over all orders, injected faults."""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tombola.errors import ParameterError
from tombola.racing import Race, RaceSettings, predictions
from tombola.racing.predictions import Predictor, SideInformation, play_on_file, ridge
from tombola.racing.verdict import is_wrong

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.fixture
def early_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit after every row, also on lists of a few rows."""
    monkeypatch.setattr(predictions, "FIRST_FIT", 1)
    monkeypatch.setattr(predictions, "MIN_INTERVAL", 1)


def cases(count: int, N: int, k: int) -> Any:
    """Yield small pools with history that resembles them, and a random set of known cells."""
    for seed in range(count):
        rng = np.random.default_rng([seed, N, k])
        table = rng.integers(0, 3, (N, k)) / 2
        if seed % 2:
            # A tie: the last column is a rearrangement of the first, so that both are best or none is.
            table[:, -1] = rng.permutation(table[:, 0])
        known = np.where(rng.random((N, k)) < rng.choice([0.0, 0.3]), table, math.nan)
        if rng.random() < 0.5:
            known[:, -1] = table[:, -1]
        history = np.clip(table[:, rng.integers(0, k, 2)] + rng.normal(0, 0.2, (N, 2)), 0, 1)
        yield table, SideInformation.of(tuple("abc"[:k]), [str(row) for row in range(N)], known, history)


def expected_wealth(table: Any, side: SideInformation, level: float = 1e-9, **question: Any) -> tuple[float, float]:
    """Return P(wrong answer) and the largest expected wealth of a best candidate, over all orders."""
    rule = RaceSettings(tuple("abc"[: table.shape[1]]), level=level, **question).rule(len(table))
    totals, wealth, wrong = table.sum(axis=0), [], 0
    for order in permutations(range(len(table))):
        play_on_file(rule, side, table, np.array(order, np.uint32))
        # Negative wealth counts as 0: a bettor who may stop at 0 would gain from it.
        wealth.append(np.maximum(rule.state.wealth, 0.0)[: table.shape[1]].sum(axis=1))
        wrong += is_wrong(rule, totals)
    best = totals <= totals.min() + 1e-9
    return wrong / len(wealth), float(np.mean(wealth, axis=0)[best].max())


@pytest.mark.usefixtures("early_fits")
@pytest.mark.parametrize(("N", "k", "count"), [(4, 3, 6), (5, 2, 2)])
def test_guarantee_with_history_exactly(N: int, k: int, count: int) -> None:
    for table, side in cases(count, N, k):
        for level in (1e-9, 0.3):
            error, wealth = expected_wealth(table, side, level)
            assert error <= level
            assert wealth <= 1.0 + 1e-12


@pytest.mark.full
@pytest.mark.usefixtures("early_fits")
@pytest.mark.parametrize(
    "question", [{}, {"within": 0.2}, {"top": 2}, {"baseline": "a"}, {"baseline": "b", "within": 0.1}]
)
def test_guarantee_with_history_exactly_larger(question: Any) -> None:
    for table, side in cases(4, 5, 3):
        for level in (0.2, 0.6):
            assert expected_wealth(table, side, level, **question)[0] <= level


@pytest.mark.usefixtures("early_fits")
def test_adjusted_losses_keep_mean_and_range() -> None:
    """Over the rows left the adjustments sum to 0, and no difference of possible losses is below the bound."""
    for table, side in cases(6, 9, 3):
        predictor, rule = Predictor(side), RaceSettings(tuple("abc")).rule(9)
        rule.use_predictions()
        state, left = rule.state, list(range(9))
        for row in np.random.default_rng(1).permutation(9).tolist():
            predicted, gone = predictor._predicted.copy(), left.copy()
            predictor.begin_row(state, row)
            assert np.allclose(state.predicted_mean, predicted[gone].mean(axis=0))
            assert np.allclose(state.offset, state.predicted_mean - predicted[row])
            unknown = np.isnan(side.known[gone])
            low = np.where(unknown, 0.0, side.known[gone]) - predicted[gone]
            high = np.where(unknown, 1.0, side.known[gone]) - predicted[gone]
            for b in range(3):
                for o in range(3):
                    assert state.residual_low[b, o] <= (low[:, b] - high[:, o]).min() + 1e-12
            predictor.end_row(state, row, table[row])
            left.remove(row)


def mean_over_all_rows(predictor: Any, state: Any, row: int) -> None:
    begin_row(predictor, state, row)
    mean = predictor._predicted.mean(axis=0)
    state.predicted_mean[:], state.offset[:] = mean, mean - predictor._predicted[row]


def range_ignored(predictor: Any, state: Any, row: int) -> None:
    begin_row(predictor, state, row)
    # As if no residual could be below 0: bets without a cap, and negative factors.
    state.residual_low[:] = 0.0


begin_row = Predictor.begin_row


@pytest.mark.usefixtures("early_fits")
@pytest.mark.parametrize("fault", [mean_over_all_rows, range_ignored])
def test_faults_raise_expected_wealth(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Predictor, "begin_row", fault)
    assert max(expected_wealth(table, side)[1] for table, side in cases(12, 4, 2)) > 1.01


@pytest.mark.usefixtures("early_fits")
def test_fault_current_row_in_fit_raises_expected_wealth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prediction that has seen the answer of its own row moves the adjusted loss towards the mean."""
    from tombola.racing.predictions import RowsLeft

    tables: dict[str, Any] = {}

    def with_answer(self: Any, state: Any, row: int) -> None:
        predictor = self._predictor
        predictor._counted.append(row)
        predictor._losses.append(tables["now"][row].copy())
        predictor._fit(np.arange(tables["now"].shape[1]))
        predictor._counted.pop()
        predictor._losses.pop()
        original(self, state, row)

    original = RowsLeft.begin_row
    monkeypatch.setattr(RowsLeft, "begin_row", with_answer)
    worst = 0.0
    for table, side in cases(12, 4, 2):
        tables["now"] = table
        worst = max(worst, expected_wealth(table, side)[1])
    assert worst > 1.01


def test_ridge_recovers_linear_loss() -> None:
    rng = np.random.default_rng(1)
    components = rng.normal(size=(200, 3))
    losses = 0.5 + components @ np.array([[0.1], [0.05], [0.0]])
    predicted = ridge(components[:60], losses[:60], components, np.zeros(3), np.full(3, 0.1))
    assert np.abs(predicted - losses).max() < 0.01


def test_history_with_known_incumbent_saves_calls() -> None:
    rng = np.random.default_rng(2)
    difficulty = rng.random((400, 1))
    # The incumbent finds other rows hard than the challengers, so that pairing alone does not help.
    table = (difficulty + rng.normal(0, 0.05, (400, 3)) + [0.0, 0.1, 0.1]).clip(0, 1)
    table[:, 0] = rng.permutation(table[:, 0])
    history = (difficulty + rng.normal(0, 0.02, (400, 4))).clip(0, 1)
    names, rows = tuple("abc"), [str(row) for row in range(400)]
    calls = []
    for past in (None, history):
        side, rule = SideInformation.of(names, rows, {"a": table[:, 0]}, past), RaceSettings(names).rule(400)
        orders = (np.random.default_rng(seed).permutation(400).astype(np.uint32) for seed in range(5))
        calls.append(sum(play_on_file(rule, side, table, order) for order in orders))
        assert rule.active == [0]
    assert calls[1] < calls[0]


def test_history_is_refused_for_infinite_population() -> None:
    with pytest.raises(ParameterError, match="population"):
        Race(["a", "b"], 3, history=[[0.1], [0.2], [0.3]], population=math.inf)
    with pytest.raises(ParameterError, match="history"):
        Race(["a", "b"], 3, history=[[0.1], [0.2]])


def test_race_equals_simulated_race_with_history() -> None:
    rng = np.random.default_rng(3)
    table, history = rng.random((40, 3)) * [0.5, 0.8, 1.0], rng.random((40, 5))
    race = Race(["a", "b", "c"], 40, history=history, known={"b": table[:, 1]}, seed=4)
    while not race.done:
        for call in race.calls():
            race.record(call, loss=table[call.row_index, race.candidates.index(call.candidate)])
    rule = RaceSettings(("a", "b", "c")).rule(40)
    side = SideInformation.of(race.candidates, race.rows, {"b": table[:, 1]}, history)
    assert play_on_file(rule, side, table, np.array(race._order, np.uint32)) == race.calls_made
    assert np.array_equal(rule.state.wealth, race.rule.state.wealth)
