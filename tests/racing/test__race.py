"""The race, ask and tell: the fast one is the naive one, and what can go wrong has one meaning each."""

import copy
import math
import os
import pickle
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import race as naive
from tombola import UCB1
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.persistence import SessionFile
from tombola.persistence.race_file import RaceFile
from tombola.racing import Event, Race, Settings
from tombola.racing.best import Best
from tombola.racing.bets import total_wealth
from tombola.racing.elimination import drop
from tombola.racing.gate import Gate, decide
from tombola.racing.top import Top
from tombola.racing.verdict import is_wrong
from tombola.racing.within import Within, account, close_accounts

THIRDS = st.sampled_from([0.0, 1 / 3, 2 / 3, 1.0])


def tables(most: int = 14) -> Any:
    return st.integers(1, 4).flatmap(
        lambda k: st.lists(st.lists(THIRDS, min_size=k, max_size=k), min_size=1, max_size=most)
    )


@settings(max_examples=150, deadline=None)
@given(tables(), st.sampled_from([0.05, 0.3, 0.9]), st.booleans())
def test_the_compiled_race_is_the_naive_one(table: list[list[float]], level: float, endless: bool) -> None:
    N = math.inf if endless else len(table)
    rule = Best(candidates=len(table[0]), rows=len(table), population=N, level=level)
    history = []
    for row in table:
        if not rule.done:
            rule.update(np.array(row))
            history.append(rule.active)
    assert history == naive.best(table, level, N)


def play(race: Race, table: Any, rng: random.Random, ahead: int = 7) -> Race:
    """Answer the calls of a race in random order, some of them ahead of their time."""
    out: list[Any] = []
    while not race.done:
        out += race.calls(rng.randint(1, ahead))
        call = out.pop(rng.randrange(len(out)))
        race.record(call, loss=float(table[call.row_index][race.candidates.index(call.candidate)]))
    return race


def test_answers_in_any_order_give_the_same_race() -> None:
    rng = random.Random(1)
    table = [[float(rng.random() < p) for p in (0.2, 0.4, 0.5)] for _ in range(200)]
    ways = [play(Race("abc", 200, seed=5), table, rng, ahead) for ahead in (1, 3, 40)]
    assert len({(race.dropped[0], race.dropped[1], race.rows_counted, race.answer) for race in ways}) == 1


def test_a_race_is_made_again_from_its_settings_and_events() -> None:
    race = Race("abc", list("uvwxyz"), seed=2, level=0.3, on_failure="worst")
    events: list[Event] = []
    rng = random.Random(0)
    while not race.done:
        calls = race.calls(2)
        events += [Event("call", call.ticket) for call in calls]
        for call in calls:
            answer = Event("answer", call.ticket, float(rng.random() < 0.5), 1.5)
            race.record(call, loss=answer.loss, cost=answer.cost)
            events.append(answer)
    again = Race.restore(Settings.from_json(race.settings.to_json()), race.rows, events)
    assert again.verdict == race.verdict
    assert np.array_equal(again.rule._memory, race.rule._memory)
    assert again.cost == race.cost > 0


def test_an_answer_twice_is_ignored_and_another_answer_refused(one_sentence: Any) -> None:
    race = Race("ab", 5, seed=0)
    first, second = race.calls()
    assert race.record(first, loss=0.5, cost=2.0)
    assert not race.record(first.ticket, loss=0.5, cost=2.0)
    with pytest.raises(FeedbackError) as error:
        race.record(first, loss=0.6, cost=2.0)
    one_sentence(error.value)
    assert race.cost == 2.0
    assert race.pending == [second]
    assert race.rows_counted == 0


@pytest.mark.parametrize(
    "answer", [{}, {"loss": 1.5}, {"loss": math.nan}, {"loss": "0"}, {"loss": 0.5, "failed": True}]
)
def test_what_is_no_answer_is_refused(answer: Any, one_sentence: Any) -> None:
    race = Race("ab", 5, seed=0)
    call = race.calls(1)[0]
    with pytest.raises(FeedbackError) as error:
        race.record(call, **answer)
    one_sentence(error.value)
    assert race.pending == [call]


def test_only_tickets_handed_out_can_be_answered(one_sentence: Any) -> None:
    race = Race("ab", 5, seed=0)
    for ticket in (3, 0, 11, True):
        with pytest.raises(FeedbackError) as error:
            race.record(ticket, loss=0.0)
        one_sentence(error.value)


def test_a_failed_call_is_the_worst_loss_or_the_end() -> None:
    race = Race("ab", 5, seed=0)
    for call in race.calls():
        race.record(call, **({"failed": True} if call.candidate == "a" else {"loss": 0.0}))
    assert race.mean_losses == {"a": 1.0, "b": 0.0}
    assert race.failures == 1
    strict = Race("ab", 5, seed=0, on_failure="stop")
    strict.record(strict.calls(1)[0], failed=True)
    assert strict.done
    assert strict.proved is None
    assert strict.calls() == []
    assert strict.verdict.startswith("stopped, undecided: a failed on row ")


def test_evidence_waits_for_the_first_unanswered_call() -> None:
    race = Race("ab", 50, seed=0)
    calls = race.calls(100)
    for call in calls[1:]:
        race.record(call, loss=float(call.candidate == "a"))
    assert race.rows_counted == 0
    assert race.pending == calls[:1]
    race.record(calls[0], loss=1.0)
    assert race.rows_counted > 0
    assert race.answer == ("b",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0}, {"level": 1.0}, {"within": -0.1}, {"top": 0}, {"top": 2}, {"baseline": "c"}, {"seed": -1},
        {"population": 7}, {"max_calls": -1}, {"max_cost": math.nan}, {"on_failure": "skip"}, {"candidates": "aa"},
        {"rows": 0}, {"rows": ["x", "x"]}, {"candidates": []}, {"candidates": ["a"]}, {"max_call_cost": 1}, {"candidates": ["a", " "]}, {"max_calls": 2.5},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(wrong: Any, one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as error:
        Race(**{"candidates": "ab", "rows": 5, "seed": 0, **wrong})
    one_sentence(error.value)


MARGINS = st.sampled_from([0.07, 0.31, 0.5])


def played(rule: Any, table: list[list[float]]) -> Any:
    rule.play(np.array(table), np.arange(len(table), dtype=np.uint32))
    return rule


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([0.05, 0.3, 0.9]), MARGINS)
def test_within_is_the_naive_one(table: list[list[float]], level: float, margin: float) -> None:
    k, N = len(table[0]), len(table)
    rule = Within(candidates=k, rows=N, population=N, level=level, within=margin)
    if k > 1:
        played(rule, table)
        assert (rule.active, rule.chosen) == naive.within(table, level, margin)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([0.05, 0.3, 0.9]), st.integers(1, 3))
def test_top_is_the_naive_one(table: list[list[float]], level: float, m: int) -> None:
    k, N = len(table[0]), len(table)
    if m < k:
        assert played(Top(candidates=k, rows=N, population=N, level=level, top=m), table).active == naive.top(
            table, level, m
        )


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([0.05, 0.3, 0.9]), st.one_of(st.just(0.0), MARGINS))
def test_a_gate_is_the_naive_one(table: list[list[float]], level: float, margin: float) -> None:
    k, N = len(table[0]), len(table)
    if k > 1:
        rule = Gate(candidates=k, rows=N, population=N, level=level, baseline=1, margin=margin)
        assert played(rule, table).decisions == naive.gate(table, level, 1, margin)


def differing(rows: int, by: float) -> Race:
    """Return a race of two whose losses always differ by so much, after two rows."""
    race = Race("ab", rows, seed=1)
    for call in race.calls(4):
        race.record(call, loss=by * (call.candidate == "b"))
    return race


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("rows", "least"), [(60, 59), (100_000, 700)])
def test_the_forecast_knows_that_small_differences_decide_late(rows: int, least: int) -> None:
    """There is no spread at all, but no row counts for more than its difference of .004."""
    race = differing(rows, by=0.004)
    guess = race.rows_remaining
    while not race.done:
        for call in race.calls():
            race.record(call, loss=0.004 * (call.candidate == "b"))
    assert guess is not None
    assert guess + 2 >= least
    assert race.rows_counted / 1.5 <= guess + 2 <= 1.5 * race.rows_counted


@pytest.mark.usefixtures("plainly")
def test_a_whole_table_is_certain_unless_somebody_was_dropped_before() -> None:
    """The last rows of a candidate that was dropped were never counted, even if it was asked for all of them."""
    close = Race("ab", 4, seed=1)
    for call in close.calls(8):
        close.record(call, loss=0.5 + 0.1 * (call.candidate == "b"))
    assert "a is the best of 2 candidates on these 4 rows, for certain" in close.verdict
    far = Race("abc", 60, seed=1)
    for call in far.calls(180):
        far.record(call, loss={"a": 0.3, "b": 0.3 + 0.01 * (call.row_index == 0), "c": 1.0}[call.candidate])
    assert far.rows_counted == 60
    assert "with probability 0.95 or more" in far.verdict


@pytest.mark.usefixtures("plainly")
def test_only_those_that_tie_are_said_to_tie() -> None:
    """a is better than both, and one more is asked for."""
    race = answered(Race("abc", 4, seed=1, top=2), {"a": 0.0, "b": 0.5, "c": 0.5})
    assert "not separable on this list: b and c have the same mean loss on all rows, behind a, for" in race.verdict
    assert answered(Race("ab", 4, seed=1), {"a": 0.5, "b": 0.5}).verdict.startswith(
        "not separable on this list: a and b have the same mean loss on all rows, for certain"
    )


@pytest.mark.usefixtures("plainly")
def test_one_of_those_that_tie_is_near_enough_to_the_best() -> None:
    """The last row brings b and c to the front, past a, who led by more than the tolerance until then."""
    race = Race("abc", 2, seed=1, within=0.01)
    for losses in ({"a": 0.0, "b": 0.5, "c": 0.5}, {"a": 1.0, "b": 0.0, "c": 0.0}):
        for call in race.calls():
            race.record(call, loss=losses[call.candidate])
    assert (race.proved, race.answer) == (True, ("b",))
    assert race.verdict.startswith("b is within 0.01 of the best of 3 candidates on these 2 rows, for certain")


@pytest.mark.usefixtures("plainly")
def test_the_page_says_how_near_to_the_best_and_where_candidates_are_out() -> None:
    from tombola.racing.report import RaceReport

    race = Race("ab", 60, seed=1, within=0.5)
    while not race.done:
        for call in race.calls():
            race.record(call, loss=0.5)
    page = RaceReport.from_race(race).to_html()
    assert "a is within 0.5 of the best" in race.verdict
    assert "Within 0.5 of the best: a" in page
    assert "The best: a" not in page
    assert "reaches 40," in page, "half of the level is for dropping"


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("asked", [{}, {"top": 2}, {"baseline": "a"}, {"within": 0.25}])
def test_a_race_on_one_row_has_a_page(asked: Any) -> None:
    """What is certain after the first row has a wealth without end from the start."""
    from tombola.racing.report import RaceReport

    losses = {"a": 0.0, "b": 0.5, "c": 1.0}
    race = answered(Race("abc", 1, seed=1, **asked), losses)
    page = RaceReport.from_race(race).to_html()
    assert "certain" in page
    assert ("0: certain" in page) == ("for certain: the whole table is known" in race.verdict)


@pytest.mark.usefixtures("plainly")
def test_a_gate_says_what_is_equal_and_what_is_certain() -> None:
    """b ties, and c cannot be caught any more: no bet has reached the goal."""
    race = answered(Race("abc", 6, seed=1, baseline="a"), {"a": 0.5, "b": 0.5, "c": 0.0})
    assert "b is not better than a (the same mean loss on 6 rows)" in race.verdict
    assert "c is better than a (mean loss lower by 0.5 on 5 rows)" in race.verdict
    assert [(one.candidate, one.wealth) for one in race.dropped] == [("c", math.inf), ("b", math.inf)]


def answered(race: Race, losses: dict[str, float]) -> Race:
    """Answer all calls of a race; a candidate has the same loss in every row."""
    while not race.done:
        for call in race.calls():
            race.record(call, loss=losses[call.candidate])
    return race


@pytest.mark.usefixtures("plainly")
def test_who_can_no_longer_catch_up_is_out_at_once_and_not_before() -> None:
    """With a level that no gambler reaches: of ten rows, four may bring back a lead of four, and five of five."""
    rule = Best(candidates=2, rows=10, population=10, level=1e-300)
    for row in range(1, 7):
        assert rule.active == [0, 1]
        assert not rule.done
        rule.update(np.array([0.0, 1.0]))
        assert rule.rows_seen == row
    assert rule.active == [0]
    assert rule.done
    assert (rule.state.drop_row[1], rule.state.wealth_at_drop[1]) == (6.0, math.inf)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("d", [1.0, -1.0])
def test_a_gate_is_decided_by_a_wealth_of_just_the_goal(d: float) -> None:
    """The probability that a gambler who bets on something false ever has that much is the share of the level, or less."""
    rule = Gate(candidates=2, rows=1000, population=1000, level=1e-6, baseline=0, margin=0.0)
    decide(rule.state, 1, 0, d)
    assert rule.state.decision[1] == 0.0
    again = Gate(candidates=2, rows=1000, population=1000, level=1e-6, baseline=0, margin=0.0)
    decide(again.state._replace(threshold=float(rule.state.current_wealth[1])), 1, 0, d)
    assert again.state.decision[1] == d


@pytest.mark.usefixtures("plainly")
def test_what_is_said_of_the_best_two_is_wrong_if_another_one_is_better() -> None:
    rule = Top(candidates=3, rows=100, population=100, level=0.05, top=2)
    assert not is_wrong(rule, np.array([0.0, 100.0, 10.0])), "nothing is said yet"
    rule.play(np.array([[0.0, 1.0, 0.1]] * 100), np.arange(100, dtype=np.uint32))
    assert not is_wrong(rule, np.array([0.0, 100.0, 10.0]))
    assert not is_wrong(rule, np.array([0.0, 10.0, 10.0])), "of equals, each is among the best"
    assert is_wrong(rule, np.array([0.0, 9.0, 10.0]))


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("times", "left"), [(1.0, 0.5), (3.0, 0.5), (0.5, 0.25)])
def test_the_money_on_who_is_dropped_goes_to_the_others_without_its_gains(times: float, left: float) -> None:
    """So nobody ever stakes more than it began with, and of three candidates the last two have all of it."""
    rule = Within(candidates=3, rows=9, population=9, level=0.05, within=0.1)
    state = rule.state
    for b in (1, 2):
        state.wealth[account(3, 0, b)] *= times
    state.rows_seen[0] = 1.0
    drop(state, 0, 1, math.inf)
    close_accounts(state)
    for a, b in ((1, 2), (2, 1)):
        assert total_wealth(state.wealth[account(3, a, b)]) == pytest.approx(0.5 + left)
        assert state.deposit[a, b] == pytest.approx(0.5 + left)


@pytest.mark.usefixtures("plainly")
def test_whoever_is_out_stays_out_since_the_row_that_proved_it() -> None:
    """Also when it could not have caught up any more: by then its losses are not known."""
    rule = Best(candidates=3, rows=20, population=20, level=0.5)
    while len(rule.active) == 3:
        rule.update(np.array([0.0, 0.0, 1.0]))
    row, wealth = rule.rows_seen, rule.state.wealth_at_drop[2]
    assert row < 10
    assert math.isfinite(wealth)
    while not rule.done:
        rule.update(np.array([0.0, 0.0, math.nan]))
    assert rule.rows_seen == 20
    assert (rule.state.drop_row[2], rule.state.wealth_at_drop[2], rule.state.total_loss[2]) == (row, wealth, row)


def test_threads_share_a_race_and_no_call_comes_twice() -> None:
    """Without a lock three of 5,700 calls came twice, and two threads ended in a KeyError."""
    race = Race(["a", "b", "c"], 1000, seed=1)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            found = [ticket for done in threads.map(lambda _: make_calls(race), range(8)) for ticket in done]
    finally:
        sys.setswitchinterval(before)
    assert sorted(set(found)) == sorted(found)
    assert (race.calls_answered, race.cost) == (len(found), float(len(found)))


def make_calls(race: Race) -> list[int]:
    """Make calls one by one, looking at the race in between; return their tickets."""
    made = []
    for _ in range(150):
        for call in race.calls(1):
            made.append(call.ticket)
            assert call in race.pending
            race.record(call, loss=call.ticket % 5 / 4, cost=1.0)
            assert race.largest_loss <= 1.0
    return made


def test_a_call_waits_for_the_thread_that_is_in_the_race() -> None:
    race = Race(["a", "b"], 10, seed=1)
    with race._locked(), ThreadPoolExecutor(1) as other:
        waiting = other.submit(race.calls)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        race._guard.release()
        assert len(waiting.result()) == 2
        race._guard.acquire()


@pytest.mark.parametrize("kind", ["race", "race file", "session file"])
def test_what_hands_out_tickets_is_neither_pickled_nor_copied_nor_forked(
    kind: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    thing: Any = Race(["a", "b"], 10, seed=1)
    if kind == "race file":
        thing = RaceFile.start(tmp_path / "f", Settings(("a", "b"), seed=1), ["x", "y"])
    elif kind == "session file":
        thing = SessionFile.start(tmp_path / "f", ["x", "y"], ["a", "b"], UCB1(), seed=1)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SessionError) as caught:
            copied(thing)
        assert "process" in one_sentence(caught.value)
    ask = thing.next if kind == "session file" else thing.calls
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            ask()
        except SessionError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.wait()
    assert "child" in one_sentence(said) or "fork" in said
    assert len(ask()) > 0
