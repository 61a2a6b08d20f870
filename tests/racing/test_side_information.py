"""Races with answers on file: naive twin, guarantees over all orders, injected faults, race files."""

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import known as naive
from race_cases import LOSSES, NAMES, ROWS, answer_all, loss_of, loss_tables
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.racing import Call, Event, Race, RaceSettings, race
from tombola.racing.predictions import InformedRule
from tombola.racing.report import RaceReport
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.gate import Gate
from tombola.racing.side_information import SideInformation
from tombola.worklists.race_file import RaceFile

pytestmark = pytest.mark.usefixtures("plainly")


def side_of(table: Any, cells: Any) -> SideInformation:
    return SideInformation(np.where(cells, table, math.nan), np.zeros((len(table), 0)))


def random_cells(rng: Any, N: int, k: int) -> Any:
    """Return a random set of known cells: nothing, single cells, whole columns, or both."""
    return (rng.random((N, k)) < rng.choice([0.0, 0.3, 0.7])) | (
        rng.random(k) < rng.choice([0.0, 0.5])
    )


@settings(max_examples=150, deadline=None)
@given(loss_tables(9), st.sampled_from([0.05, 0.3, 0.9]), st.integers(0, 10**6))
def test_best_with_known_cells_matches_naive(
    table: list[list[float]], level: float, seed: int
) -> None:
    values = np.array(table)
    if values.shape[1] > 1:
        cells = random_cells(np.random.default_rng(seed), *values.shape)
        if not cells.all():
            # A whole known column predicts the others: tests/racing/test_predictions.py.
            cells[-1, cells.all(axis=0)] = False
        rule = RaceSettings(tuple("abcd"[: values.shape[1]]), level=level).rule(len(values))
        calls = InformedRule(rule, side_of(values, cells)).play(
            values, np.arange(len(values), dtype=np.uint32)
        )
        history, expected = naive.best(table, cells, level)
        assert (rule.active, rule.rows_seen, calls) == (history[-1], len(history) - 1, expected)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"within": 0.2},
        {"top": 2},
        {"baseline": "b", "better": True},
        {"baseline": "a", "within": 0.1},
    ],
)
def test_race_with_nothing_on_file_is_unchanged(options: Any) -> None:
    """Also to the bit: the wealth after every row is equal."""
    table = np.random.default_rng(5).random((80, 3)) * [0.6, 0.8, 1.0]
    order = np.random.default_rng(6).permutation(80).astype(np.uint32)
    rule, other = (RaceSettings(tuple("abc"), level=0.3, **options).rule(80) for _ in range(2))
    calls = rule.play(table, order)
    side = SideInformation.of(tuple("abc"), [str(row) for row in range(80)])
    assert InformedRule(other, side).play(table, order) == calls
    for one, two in zip(rule.state, other.state, strict=True):
        assert np.array_equal(one, two)


QUESTIONS: list[Any] = [
    {},
    {"within": 0.2},
    {"top": 2},
    {"baseline": "a", "better": True},
    {"baseline": "b", "within": 0.1},
]


def worst_over_orders(rule: Elimination, table: Any, cells: Any) -> tuple[float, float]:
    """Return P(wrong answer), and the largest expected wealth against a best candidate (`Best` only)."""
    orders = [np.array(order, np.uint32) for order in permutations(range(len(table)))]
    totals, wrong, wealth = table.sum(axis=0), 0, np.zeros(table.shape[1])
    best, informed = totals <= totals.min() + 1e-9, InformedRule(rule, side_of(table, cells))
    for order in orders:
        informed.play(table, order)
        wrong += rule.is_wrong(totals)
        wealth += rule.state.current_wealth
        # The best candidate is never dropped as certainly beaten.
        assert isinstance(rule, Gate) or not np.isinf(rule.state.wealth_at_drop[best]).any()
    return wrong / len(orders), float(wealth[best].max()) / len(orders)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("N", "k"), [(3, 3), (4, 3), (5, 2), pytest.param(6, 3, marks=pytest.mark.full)]
)
def test_guarantees_with_known_cells_exactly(N: int, k: int, question: Any) -> None:
    """All orders of random small pools with random known cells: error and expected wealth."""
    if question.get("top", 1) >= k:
        pytest.skip("as many as there are")
    rng = np.random.default_rng([N, k, len(str(question))])
    for level in (0.2, 0.6):
        for _ in range(4):
            table, cells = rng.integers(0, 3, (N, k)) / 2, random_cells(rng, N, k)
            rule = RaceSettings(tuple("abc"[:k]), level=level, **question).rule(N)
            error, wealth = worst_over_orders(rule, table, cells)
            assert error <= level
            assert question or wealth <= 1.0 + 1e-12


def test_fault_known_rows_first_is_detected() -> None:
    """A tie in which one candidate loses the rows on file: asking these first breaks the bound on the wealth."""
    table = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    cells = np.zeros((6, 2), bool)
    cells[:3] = True
    rule = RaceSettings(("a", "b"), level=1e-6).rule(6)
    wealth, count = 0.0, 0
    for order in permutations(range(6)):
        known_first = np.array(sorted(order, key=lambda row: not cells[row].any()), np.uint32)
        rule.reset()
        for row in known_first[:3]:
            rule.update(table[row])
        wealth, count = wealth + rule.state.current_wealth[0], count + 1
    assert wealth / count > 2.0
    assert worst_over_orders(rule, table, cells)[1] <= 1.0 + 1e-12


def test_fault_known_rest_of_current_row_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that still have the current row count it twice: a best candidate is dropped as certainly beaten."""
    from tombola.racing import predictions

    table = np.array([[0.6, 0.1], [0.0, 0.9], [0.0, 0.0]])
    cells = np.array([[True, False]] * 3)

    def stale(sums: Any, state: Any, row: int) -> None:
        state.known_loss[:] = sums.known.sum(axis=0)
        state.known_gain[:] = 0.0

    rule = RaceSettings(("a", "b"), level=1e-6).rule(3)
    assert worst_over_orders(rule, table, cells)[0] == 0.0
    monkeypatch.setattr(predictions, "_begin_row", stale)
    wrong = 0
    for order in permutations(range(3)):
        InformedRule(rule, side_of(table, cells)).play(table, np.array(order, np.uint32))
        wrong += rule.is_wrong(table.sum(axis=0))
    assert wrong > 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "question",
    [
        {},
        {"within": 0.05},
        {"baseline": "b", "better": True},
        {"baseline": "a", "better": True},
        {"top": 2},
    ],
)
def test_answer_certain_by_file_needs_no_call(question: Any, seed: int) -> None:
    """Three missing cells cannot change the answer, wherever their rows are in the order."""
    table = np.tile([0.0, 0.5, 1.0], (8, 1))
    table[0, 0], table[1, 2], table[2, 1] = math.nan, math.nan, math.nan
    one = Race(["a", "b", "c"], 8, known=table, seed=seed, level=1e-300, **question)
    assert one.done
    assert one.calls() == []
    assert one.proved is (
        {"b": False}.get(question.get("baseline", ""), question.get("baseline") != "a")
    )
    assert "for certain: the other rows cannot change it" in one.verdict
    assert one.answer == {"b": ("a",), "a": ()}.get(
        question.get("baseline", ""), ("a", "b")[: question.get("top", 1)]
    )
    assert "the same mean" not in one.verdict


def test_group_certain_by_file_needs_no_call() -> None:
    """The group law is settled by its answers on file; means are over all answers."""
    known = np.array([[0.0, 1.0]] * 6 + [[math.nan] * 2] * 6)
    known[0, 0] = math.nan
    for seed in range(6):
        one = Race(
            ["a", "b"], 12, known=known, strata=["law"] * 6 + ["code"] * 6, seed=seed, level=1e-300
        )
        assert (one.by_group["law"].answer, one.by_group["law"].proved) == (("a",), True)
        report = RaceReport.from_race(one)
        assert [report.group_cells()[0][key] for key in ("leader", "mean")] == ["a", "0"]
        assert report.to_json()["groups"]["law"]["means"] == {"a": 0.0, "b": 1.0}


def test_race_asks_only_unknown_cells() -> None:
    cells = random_cells(np.random.default_rng(4), *LOSSES.shape)
    cells[7], cells[:, 2] = True, True
    one = Race(
        NAMES, ROWS, known=np.where(cells, LOSSES, math.nan), seed=3, answers="fixed", level=1e-9
    )
    asked = set()

    def answer(call: Call) -> float:
        asked.add((call.row_index, NAMES.index(call.candidate)))
        return loss_of(call)

    assert answer_all(one, answer).answer == ("low",)
    assert not any(cells[cell] for cell in asked)
    assert (one.calls_made, one.calls_on_file) == (len(asked), cells.sum())
    assert one.calls_made + one.calls_left + one.calls_on_file == LOSSES.size
    assert "on file" in one.verdict


def test_evidence_equals_race_without_file() -> None:
    """Known answers save calls; the wealth after each row is the same, until certainty ends the race."""

    def loss(name: str, row: str) -> float:
        return float(LOSSES[ROWS.index(row), NAMES.index(name)])

    plain = race(NAMES, ROWS, loss, seed=3, workers=1)
    known = LOSSES[:, 1].copy()
    # The last row of the order; a whole known column would also predict.
    known[ROWS.index(plain.rows[-1])] = math.nan
    other = race(NAMES, ROWS, loss, seed=3, workers=1, known={"middle": known})
    assert np.array_equal(other.wealth, plain.wealth[: other.rows_counted], equal_nan=True)
    assert other.calls_made < plain.calls_made


def test_known_answers_are_stored_with_the_race(tmp_path: Path) -> None:
    """A file knows its answers on file; the same race with other ones is refused."""
    settings, cells = (
        RaceSettings(NAMES, seed=3),
        random_cells(np.random.default_rng(2), *LOSSES.shape),
    )
    side = side_of(LOSSES, cells)
    with RaceFile.start(tmp_path / "a.race", settings, ROWS, side=side) as file:
        for call in file.next(20):
            file.record(call.ticket, loss=loss_of(call))
        wealth = file.race.wealth
    with RaceFile.at(tmp_path / "a.race", settings, ROWS, side=side) as file:
        assert file.side.digest == side.digest
        assert np.array_equal(file.race.wealth, wealth, equal_nan=True)
    for other in (None, side_of(LOSSES, ~cells)):
        with pytest.raises(SessionError, match="answers on file"):
            RaceFile.at(tmp_path / "a.race", settings, ROWS, side=other)


def test_event_of_known_cell_is_rejected() -> None:
    one = Race(NAMES, ROWS, known={"low": LOSSES[:, 0]}, seed=3, answers="fixed")
    with pytest.raises(FeedbackError, match="on file"):
        one.apply(Event("answer", 1, 0.5))


@pytest.mark.parametrize(
    "known",
    [
        {"none": [0.5] * 60},
        {"low": [0.5]},
        {"low": {"row 99": 0.5}},
        {"low": [2.0] * 60},
        [[0.5] * 3],
        {"low": "x" * 60},
        pd.DataFrame({"category": ["x"] * 60}),
    ],
)
def test_bad_known_answers_are_rejected(known: Any, one_sentence: Any) -> None:
    with pytest.raises(ParameterError, match="known") as error:
        Race(NAMES, ROWS, known=known, kind="losses")
    one_sentence(error.value)


@pytest.mark.parametrize("ends", [(0, 1), (0, 10), (-5, 5)])
def test_known_scores_are_read_in_their_unit(ends: tuple[int, int]) -> None:
    """Scores on file were once read as losses: the worst candidate would have won."""
    low, high = ends
    scores = high - (high - low) * LOSSES
    one = Race(NAMES, ROWS, known=scores, kind="scores", range=ends, seed=3, answers="fixed")
    assert one.answer == Race(NAMES, ROWS, known=LOSSES, seed=3, answers="fixed").answer
    np.testing.assert_allclose(one.side.known, LOSSES, atol=1e-12)
    finished = race(
        NAMES,
        ROWS,
        lambda _n, _row: math.nan,
        known=scores,
        kind="scores",
        range=ends,
        seed=3,
        workers=1,
    )
    assert finished.answer == one.answer
    with pytest.raises(ParameterError, match=rf"a score from {low} to {high}"):
        Race(NAMES, ROWS, known=np.full_like(scores, high + 1), kind="scores", range=ends)


def test_known_frame_needs_a_direction() -> None:
    frame = pd.DataFrame(LOSSES, columns=list(NAMES))
    with pytest.raises(ParameterError, match="kind='scores' if higher is better"):
        Race(NAMES, len(LOSSES), known=frame)
    with pytest.raises(ParameterError, match="kind='scores' if higher is better"):
        race(NAMES, range(len(LOSSES)), lambda _n, _row: 0.0, known=frame)
    assert Race(NAMES, len(LOSSES), known=frame, kind="losses", seed=3).done


def test_known_frame_is_matched_by_name() -> None:
    """Columns in another order, rows in another order, and a column that is not a candidate."""
    names, rows = list(NAMES), [f"row {row}" for row in range(len(ROWS))]
    frame = pd.DataFrame(LOSSES, columns=names, index=rows).iloc[::-1][names[::-1]]
    frame.insert(0, "category", "x")
    side = SideInformation.of(names, rows, frame)
    np.testing.assert_array_equal(side.known, LOSSES)
    by_position = SideInformation.of(names, rows, frame.iloc[::-1].reset_index(drop=True))
    np.testing.assert_array_equal(by_position.known, LOSSES)
