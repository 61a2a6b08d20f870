"""Answers, correctness, rows remaining and verdict sentences."""

import math
from typing import Any

import numpy as np
import pytest

from race_cases import answer_all
from tombola.racing import Race
from tombola.racing.result import rows_remaining
from tombola.racing.rules.best import Best
from tombola.racing.rules.ranks import Place, Ranks
from tombola.racing.rules.top import Top

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize(("rows", "least"), [(60, 59), (100_000, 700)])
def test_rows_remaining_for_small_differences(rows: int, least: int) -> None:
    """There is no spread at all, but no row counts for more than its difference of .004."""
    race = Race("ab", rows, seed=1, answers="fixed")
    for call in race.calls(4):
        race.record(call, loss=0.004 * (call.candidate == "b"))
    guess, ends = race.rows_remaining, race.rows_remaining_range
    answer_all(race, {"a": 0.0, "b": 0.004})
    assert guess is not None
    assert ends is not None
    assert guess + 2 >= least
    assert ends[0] <= race.rows_counted - 2 <= ends[1]
    assert race.rows_counted / 1.5 <= guess + 2 <= 2.0 * race.rows_counted


def test_range_of_remaining_rows_is_calibrated() -> None:
    """Of 100 forecasts after 20 rows at least 80 % contain the rows needed; they are 1.5 times too high at most."""
    needed, guesses, inside = [], [], 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        table = (rng.random((600, 2)) < [0.3, 0.45 + 0.1 * (seed % 2)]).astype(float)
        rule, order = (
            Best(candidates=2, rows=600, population=600, level=0.05),
            np.arange(600, dtype=np.uint32),
        )
        rule.play(table, order)
        rows = rule.rows_seen
        rule.play(table, order[:20])
        forecast = rows_remaining(rule)
        if rows > 20 and forecast is not None:
            needed.append(rows - 20)
            guesses.append(forecast.rows)
            inside += forecast.low <= rows - 20 <= forecast.high
            assert 1 <= forecast.low <= forecast.rows <= forecast.high <= 580
    assert inside >= 0.8 * len(needed)
    assert 0.67 < np.mean(guesses) / np.mean(needed) < 1.5


STEPS = {"a": 0.0, "b": 0.4, "c": 0.7, "d": 1.0}
LEVEL = {"a": 0.5, "b": 0.5, "c": 0.6}


@pytest.mark.parametrize(
    ("names", "rows", "options", "losses", "verdict"),
    [
        (
            "ab",
            4,
            {},
            {"a": 0.5, "b": 0.6},
            "a is the best of 2 candidates on the answers recorded here for these 4 rows, for certain",
        ),
        (
            "ab",
            4,
            {},
            LEVEL,
            "undecided: a and b have the same mean loss on the answers recorded here for these 4 rows, "
            "for certain",
        ),
        (
            "abc",
            4,
            {"top": 2},
            {"a": 0.0, "b": 0.5, "c": 0.5},
            "undecided: b and c have the same mean loss, behind a on the answers recorded here for "
            "these 4 rows, for certain",
        ),
        (
            "abc",
            6,
            {"baseline": "a", "better": True},
            {"a": 0.5, "b": 0.5, "c": 0.0},
            "b is not better than a (the same mean loss on 6 rows), c is better than a (mean "
            "loss lower by 0.5 on 5 rows",
        ),
        (
            "abc",
            4,
            {"question": "ranks"},
            LEVEL,
            "undecided: the ranks of 3 candidates that are still possible are 1 to 2 a, 1 to 2 b "
            "and 3 c on the answers recorded here for these 4 rows, for certain: the whole table",
        ),
        (
            "dcba",
            400,
            {"question": "ranks"},
            STEPS,
            "the order of 4 candidates is a, b, c and d on the answers recorded here for these 400 "
            "rows (candidates with equal means are placed as in the file), with probability 0.95 "
            "or more; ",
        ),
        (
            "dcba",
            400,
            {"question": "ranks", "candidate": "b"},
            STEPS,
            "b has rank 2 of 4 candidates on the answers recorded here for these 400 rows "
            "(candidates with equal means are placed as in the file), with probability 0.95 or "
            "more; ",
        ),
        (
            "ab",
            40,
            {"max_calls": 4},
            {"a": 0.0, "b": 1.0},
            "stopped at the limit of 4 calls: nothing is proved about the best of 2 candidates on "
            "the answers recorded here for these 40 rows, where a leads by 1 in mean loss; 2 rows, "
            "4 of 80 calls; ",
        ),
    ],
)
def test_verdict_of_finished_race(
    names: str, rows: int, options: Any, losses: dict[str, float], verdict: str
) -> None:
    """Calls are saved only if the question is answered, and drops of no bet that reached its goal are certain."""
    race = answer_all(Race(names, rows, seed=1, answers="fixed", **options), losses)
    assert race.verdict.startswith(verdict)
    assert ("saved" in race.verdict) == race.rule.done
    if race.settings.baseline:
        assert [(one.candidate, one.wealth) for one in race.dropped] == [
            ("c", math.inf),
            ("b", math.inf),
        ]


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (
            {},
            "open: nothing is proved yet about the best of 3 candidates on the answers recorded "
            "here for these 40 rows; 0 rows, ",
        ),
        (
            {"baseline": "a", "better": True},
            "open: nothing is proved yet about whether b is better than a or whether c is better "
            "than a on the answers recorded here for these 40 rows; ",
        ),
        (
            {"question": "ranks"},
            "open: nothing is proved yet about the order of 3 candidates on the answers",
        ),
        (
            {"question": "ranks", "candidate": "b"},
            "open: nothing is proved yet about the rank of b among 3 candidates on the answers",
        ),
    ],
)
def test_verdict_of_open_race(options: Any, verdict: str) -> None:
    """Before anything is proved, a probability would be that of no statement."""
    race = Race("abc", 40, seed=1, answers="fixed", **options)
    first = race.calls()
    assert race.verdict.startswith(verdict)
    assert "probability" not in race.verdict
    assert "0 of 120 calls answered, 3 issued" in race.verdict
    for call in first:
        race.record(call, loss=0.25)
    assert "1 row, 3 of 120 calls;" in race.verdict
    assert ("where a, b and c are level" in race.verdict) == (not options)


def test_verdict_is_certain_only_without_early_drop() -> None:
    """The last rows of a candidate that was dropped were never counted, even if it was asked for all of them."""
    far = Race("abc", 60, seed=1, answers="fixed")
    for call in far.calls(180):
        far.record(
            call, loss={"a": 0.3, "b": 0.3 + 0.01 * (call.row_index == 0), "c": 1.0}[call.candidate]
        )
    assert far.rows_counted == 60
    assert "with probability 0.95 or more" in far.verdict


def test_within_answers_with_one_of_a_tie() -> None:
    """Before the last row a leads by more than the tolerance; after it b and c tie for the lead."""
    race = Race("abc", 2, seed=1, answers="fixed", within=0.01)
    for losses in ({"a": 0.0, "b": 0.5, "c": 0.5}, {"a": 1.0, "b": 0.0, "c": 0.0}):
        for call in race.calls():
            race.record(call, loss=losses[call.candidate])
    assert (race.proved, race.answer) == (True, ("b",))
    assert race.verdict.startswith(
        "b is within 0.01 of the best of 3 candidates on the answers recorded here for these 2 rows, "
        "for certain"
    )


def test_answer_of_ranks() -> None:
    """The first ranks need fewer calls than all."""
    race = answer_all(Race("dcba", 400, seed=1, answers="fixed", question="ranks"), STEPS)
    assert (race.proved, race.leader, race.active) == (True, "a", ())
    assert (race.answer, race.rank_sets["c"]) == (("a", "b", "c", "d"), (3, 3))
    assert {one.against for one in race.dropped} == {""}
    close = {**STEPS, "d": 0.75}
    first = answer_all(Race("dcba", 400, seed=1, answers="fixed", question="ranks", top=2), close)
    assert first.verdict.startswith(
        "the first 2 of 4 candidates in order are a and b on the answers recorded here"
    )
    assert first.rank_sets["c"] == (3, 4)
    assert (
        first.calls_made
        < answer_all(Race("dcba", 400, seed=1, answers="fixed", question="ranks"), close).calls_made
    )


def test_is_wrong_for_top() -> None:
    rule = Top(candidates=3, rows=100, population=100, level=0.05, top=2)
    assert not rule.is_wrong(np.array([0.0, 100.0, 10.0])), "nothing is said yet"
    rule.play(np.array([[0.0, 1.0, 0.1]] * 100), np.arange(100, dtype=np.uint32))
    assert not rule.is_wrong(np.array([0.0, 100.0, 10.0]))
    assert not rule.is_wrong(np.array([0.0, 10.0, 10.0])), "of equals, each is among the best"
    assert rule.is_wrong(np.array([0.0, 9.0, 10.0]))


def test_verdict_of_ranks_is_not_certain_after_a_wrong_early_decision() -> None:
    """b before a was decided early; the totals of the full table contradict it."""
    rule = Ranks(2, 4, 4, 0.05)
    rule.state.total_loss[:] = [1.0, 2.0]
    rule.state.rows_seen[0] = 4.0
    assert rule.is_exact
    rule.state.before[1, 0] = 1.0
    assert not rule.is_exact


def test_is_wrong_of_ranks() -> None:
    rule = Ranks(3, 9, 9, 0.05)
    assert not rule.is_wrong(np.array([3.0, 2.0, 1.0]))
    rule.state.before[0, 1] = 1.0
    wrong = [
        rule.is_wrong(np.array(totals))
        for totals in ([3.0, 2.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.0])
    ]
    assert wrong == [True, False, False]
    rule.state.before[2, 1] = 1.0
    assert rule.is_wrong(np.array([1.0, 1.0, 1.0])), (
        "the order of tied candidates is the order of the file"
    )


def test_is_wrong_of_place() -> None:
    rule = Place(3, 9, 9, 0.05, candidate=1)
    rule.state.rank_range[:] = [2.0, 2.0]
    assert not rule.is_wrong(np.array([1.0, 2.0, 3.0]))
    assert not rule.is_wrong(np.array([1.0, 1.0, 1.0]))
    assert rule.is_wrong(np.array([1.0, 3.0, 2.0]))


def test_contradiction_of_place_is_reported() -> None:
    race = Race("abc", 9, seed=1, answers="fixed", question="ranks", candidate="b")
    race.rule.state.rank_range[:] = [3.0, 2.0]
    assert race.verdict.startswith(
        "stopped by a contradiction: the rank of b was proved above 2 and below 3"
    )
    assert race.proved is None
