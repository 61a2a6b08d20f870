"""Strata: the shared level by enumeration of all small lists and orders, an injected fault, and live races."""

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from race_cases import answer_all
from tombola.errors import ParameterError, SessionError
from tombola.order import draw_order
from tombola.pool import Pool
from tombola.racing import Race, RaceSettings, plan, race, strata
from tombola.racing.side_information import SideInformation
from tombola.rng import RngStreams, repetition_seeds
from tombola.worklists.race_file import RaceFile

# The differences of two candidates with losses 0 and 1 in one row.
ROW_TYPES = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])


def wrong_sequences(rule: Any) -> Any:
    """Return whether the answer is wrong, for every sequence of row types, shape (3 ** rows,)."""
    order = np.arange(rule.rows, dtype=np.uint32)
    wrong = []
    for sequence in product(range(len(ROW_TYPES)), repeat=rule.rows):
        table = ROW_TYPES[list(sequence)]
        rule.play(table, order)
        wrong.append(rule.is_wrong(table.sum(axis=0)))
    return np.array(wrong)


def rules_of(sizes: tuple[int, ...], level: float) -> list[Any]:
    labels = [group for group, size in enumerate(sizes) for _ in range(size)]
    rows = [str(row) for row in range(len(labels))]
    settings, side = RaceSettings(("a", "b"), 0, level=level), SideInformation.of(("a", "b"), rows)
    return [
        part.rule
        for part in strata.build_parts(
            settings, len(labels), strata.Strata.of(labels, len(labels)), side
        )
    ]


def worst_of_all_lists(n: int, level: float) -> float:
    """Return the largest probability, over all 0/1 lists of two groups of n rows, that any answer
    is wrong.

    An order of a list is a sequence of row types and of groups; all that belong to one list are
    equally likely.
    """
    whole, *groups = map(wrong_sequences, rules_of((n, n), level))
    sequences, digits = np.array(list(product(range(3), repeat=2 * n))), 3 ** np.arange(n)[::-1]
    count, bad = np.zeros(10**4), np.zeros(10**4)
    for places in combinations(range(2 * n), n):
        first = np.isin(np.arange(2 * n), places)
        parts = [sequences[:, first], sequences[:, ~first]]
        wrong = whole | groups[0][parts[0] @ digits] | groups[1][parts[1] @ digits]
        # A list is given by the number of rows of types 1 and 2 in both groups; each is below 10.
        which = sum(
            10 ** (2 * at + kind) * (part == kind + 1).sum(axis=1)
            for at, part in enumerate(parts)
            for kind in (0, 1)
        )
        count += np.bincount(which, minlength=10**4)
        bad += np.bincount(which, weights=wrong, minlength=10**4)
    return float((bad[count > 0] / count[count > 0]).max())


def worst_of_groups(groups: int, n: int, level: float) -> float:
    """Return the largest probability that the answer of any group is wrong; orders of groups are independent."""
    wrong = wrong_sequences(rules_of((n,) * groups, level)[1])
    kinds = [tuple(sorted(sequence)) for sequence in product(range(3), repeat=n)]
    worst = max(
        np.mean([w for w, kind in zip(wrong, kinds, strict=True) if kind == one])
        for one in set(kinds)
    )
    return float(1.0 - (1.0 - worst) ** groups)


def unshared(level: float, groups: int) -> float:
    del groups
    return level


@pytest.mark.parametrize("level", [0.2, 0.5, 0.7, 0.9, 0.99])
def test_shared_level_exactly(level: float) -> None:
    """All 0/1 lists of two candidates in two groups, over all orders: groups and whole list together."""
    for n in (1, 2, 3, 4):
        assert worst_of_all_lists(n, level) <= level + 1e-12
    for groups in (2, 3, 6):
        assert worst_of_groups(groups, 6, level) <= level + 1e-12


def test_exact_check_has_power() -> None:
    assert worst_of_all_lists(4, 0.99) > 0.04
    assert worst_of_groups(2, 6, 0.99) > 0.05


@pytest.mark.parametrize(
    ("worst", "level"),
    [(lambda: worst_of_all_lists(4, 0.7), 0.7), (lambda: worst_of_groups(6, 6, 0.55), 0.55)],
)
def test_exact_check_detects_level_that_is_not_shared(
    monkeypatch: pytest.MonkeyPatch, worst: Callable[[], float], level: float
) -> None:
    assert worst() <= level
    monkeypatch.setattr(strata, "share_of_level", unshared)
    assert worst() > level


QUESTIONS: list[dict[str, Any]] = [
    {},
    {"within": 0.1},
    {"top": 2},
    {"baseline": "c", "better": True},
    {"question": "ranks"},
]
TABLE = (np.random.default_rng(3).random((90, 3)) < [0.2, 0.35, 0.7]).astype(float)
LABELS = ["law", "code", "law", "maths", "code"] * 18


def losses_of(call: Any) -> float:
    return float(TABLE[call.row_index, "abc".index(call.candidate)])


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "known", [None, {"b": {str(row): float(TABLE[row, 1]) for row in range(0, 90, 2)}}]
)
def test_group_answers_are_those_of_a_race_on_the_group(
    question: dict[str, Any], known: Any
) -> None:
    """Each group, raced alone in its order at its share of the level, gives the same answer after the same rows."""
    one = answer_all(
        Race("abc", 90, strata=LABELS, seed=5, answers="fixed", known=known, **question), losses_of
    )
    for name, result in one.by_group.items():
        members = [row for row in one._order if LABELS[row] == name]
        on_file = known and {
            "b": {row: loss for row, loss in known["b"].items() if int(row) in members}
        }
        alone = Race(
            "abc",
            [str(row) for row in sorted(members)],
            known=on_file,
            seed=0,
            answers="fixed",
            level=0.05 / 4,
            **question,
        )
        alone._order = [sorted(members).index(row) for row in members]
        alone._await_row()
        answer_all(alone, lambda call: float(TABLE[int(call.row), "abc".index(call.candidate)]))
        assert (result.answer, result.proved, result.rows_counted) == (
            alone.answer,
            alone.proved,
            alone.rows_counted,
        )


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    "question", [*QUESTIONS, {"max_cost": 9.0}, {"max_cost": 9.0, "max_call_cost": 0.2}]
)
@pytest.mark.parametrize("labels", [None, LABELS])
def test_plan_matches_live_race_by_group(question: dict[str, Any], labels: Any) -> None:
    pool = Pool(TABLE, actions=["a", "b", "c"], costs=np.tile([0.1, 0.15, 0.1], (90, 1)))
    [one] = plan(pool, seed=4, shuffles=3, strata=labels, **question)
    for seed, found in zip(repetition_seeds(4, 3), one.outcomes, strict=True):
        live = Race(pool.actions, 90, seed=0, answers="fixed", strata=labels, **question)
        live._order = draw_order("random", 90, RngStreams(seed).order()).tolist()
        live._await_row()
        while not live.done:
            for call in live.calls(1):
                live.record(call, loss=losses_of(call), cost=0.1 + 0.05 * (call.candidate == "b"))
        answers = [result.answer for result in live.by_group.values()]
        assert (live.calls_made, live.rows_counted, live.answer) == (
            found.calls,
            found.rows,
            found.answers[0].names,
        )
        assert answers == [group.names for group in found.answers[1:]]
        if "max_cost" in question:
            assert live.cost == pytest.approx(found.cost)
            assert found.cost <= 9.0
    groups = [group.outcomes[-1].answers for group in one.by_group.values()]
    assert groups == [(answer,) for answer in one.outcomes[-1].answers[1:]]


@pytest.mark.usefixtures("plainly")
def test_decided_groups_are_not_called() -> None:
    """The list is long decided when the small, close group still needs calls."""
    one = Race(
        ["a", "b"], rows=360, strata=["easy"] * 300 + ["close"] * 60, seed=2, answers="fixed"
    )
    late: list[int] = []
    while not one.done:
        decided = one.whole.proved and one.by_group["easy"].proved
        for call in one.calls():
            late += [call.row_index] if decided else []
            is_worse = call.row_index < 300 or call.row_index % 2 == 0
            one.record(call, loss=float(is_worse == (call.candidate == "b")))
    assert min(late) >= 300
    assert (one.by_group["close"].proved, one.proved) == (None, None)
    assert "close: tie: a and b" in one.verdict


@pytest.mark.usefixtures("plainly")
def test_gate_fails_in_one_group() -> None:
    """A gate that is passed on the list and refuted in a group is refuted."""
    labels = ["x"] * 200 + ["y"] * 40
    loss = {("new", "x"): 0.0, ("old", "x"): 1.0, ("new", "y"): 1.0, ("old", "y"): 0.0}
    one = race(
        ["old", "new"],
        range(240),
        lambda name, row: loss[name, labels[row]],
        strata=labels,
        kind="losses",
        seed=1,
        baseline="old",
        better=True,
        progress=False,
    )
    assert one.whole.proved is True
    assert {name: result.text for name, result in one.by_group.items()} == {
        "x": "new is better than old",
        "y": "new is not better than old",
    }
    assert one.proved is False


@pytest.mark.usefixtures("plainly")
def test_race_file_stores_the_groups(tmp_path: Any) -> None:
    settings, rows = (
        RaceSettings(("a", "b", "c"), seed=5, answers="fixed"),
        [str(row) for row in range(90)],
    )
    groups = strata.Strata.of(LABELS, 90, "subject")
    RaceFile.start(tmp_path / "my.race", settings, rows, strata=groups).close()
    with RaceFile.at(tmp_path / "my.race", settings, rows, strata=groups) as again:
        finished = answer_all(again.race, losses_of)
        assert "by subject, all with probability 0.95 or more: law: " in finished.verdict
    with pytest.raises(SessionError, match="holds another race, with different groups"):
        RaceFile.at(tmp_path / "my.race", settings, rows)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["x"] * 3, "at least two groups"),
        (["x", "y"], "a label for each of the 3 rows"),
        (["x", "", "y"], "an empty label"),
        ("xyz", "strata"),
    ],
)
def test_wrong_labels_are_rejected(labels: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Race(["a", "b"], rows=3, strata=labels)


def test_estimate_of_rows_counts_open_groups_only() -> None:
    one = Race("abc", 90, strata=LABELS, seed=5, answers="fixed")
    assert (one.rows_remaining, one.rows_remaining_range) == (None, None)
    while not one.done:
        for call in one.calls():
            one.record(call, loss=losses_of(call))
        remaining, ends = one.rows_remaining, one.rows_remaining_range
        assert remaining is not None
        assert ends is not None
        assert 0 <= ends[0] <= remaining <= ends[1] <= 90 - one._cursor
    assert one.rows_remaining == 0
