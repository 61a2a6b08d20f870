"""Statements: words, certainty, exit status, and JSON."""

import itertools
import json
import re
import typing
from fractions import Fraction

import pytest

from tombola.racing import Race
from tombola.statements import (
    NO_SECOND_CALL,
    READINGS,
    VERDICTS,
    Conclusion,
    Counts,
    Quantity,
    Relation,
    Statement,
    bound_text,
)

CONCLUSIONS = [
    Conclusion(relation, ("a",), than="b", field=3, interval=(1, 2), amount=0.1)
    for relation in typing.get_args(Relation)
]


@pytest.mark.parametrize(("verdict", "reading"), list(itertools.product(VERDICTS, READINGS)))
def test_statement_of_every_verdict_and_reading(verdict: typing.Any, reading: typing.Any) -> None:
    """Every claim has its scope and its probability beside it; no claim, no probability."""
    counts = Counts(rows=9, counted=4)
    scope = {"recorded": "recorded here", "expected": "in expectation", "beyond": "rows like these"}
    for conclusion in CONCLUSIONS:
        statement = Statement(verdict, reading, (conclusion,), level=0.05, counts=counts)
        assert scope[reading] in str(statement)
        assert "with probability 0.95 or more" in str(statement)
        assert "certain" not in str(statement)
        json.dumps(statement.to_json(), allow_nan=False)
    empty = Statement(verdict, reading, counts=counts)
    assert "probability" not in str(empty)
    assert not empty.is_certain
    assert empty.error_text == "nothing is claimed"


def test_only_level_zero_is_certain() -> None:
    conclusion = (Conclusion("best", ("a",), field=2, strict=True),)
    known = Statement("exact", "recorded", conclusion, level=0.0, counts=Counts(4, 4))
    early = Statement("exact", "recorded", conclusion, level=0.0, counts=Counts(4, 3))
    assert str(known).startswith(
        "a is the best of 2 candidates on the answers recorded here for these 4 rows, for "
        "certain: the whole table is known"
    )
    assert "for certain: the other rows cannot change it" in str(early)
    whole = Statement("exact", "recorded", conclusion, level=0.0, parts=(known,), counts=Counts(8))
    assert whole.error_text == "0: certain"
    part = Statement("proved", "recorded", conclusion, level=0.05, subject="law")
    whole = Statement("exact", "recorded", conclusion, level=0.0, parts=(part,), counts=Counts(8))
    assert whole.error_text == "at most 0.05", "the level of a part counts, too"
    assert "by group, all with probability 0.95 or more: law: a" in str(whole)


@pytest.mark.parametrize(
    ("conclusion", "text"),
    [
        (
            Conclusion("best", ("a",), field=3),
            "a is the best of 3 candidates (another may be equal)",
        ),
        (
            Conclusion("best", ("a", "b"), field=3, top=2, strict=True),
            "a and b are the best 2 of 3 candidates",
        ),
        (Conclusion("not worse", ("a",), than="b"), "a is not worse than b"),
        (
            Conclusion("better", ("a",), than="b", advantage=0.25, rows=2),
            "a is better than b (mean loss lower by 0.25 on 2 rows)",
        ),
        (
            Conclusion("worse", ("a",), than="b", amount=0.5, advantage=0.0, rows=1),
            "a is worse than b by more than 0.5 (the same mean loss on 1 row)",
        ),
        (
            Conclusion("tied", ("a", "b"), than="c"),
            "a and b have the same mean loss, behind c",
        ),
        (
            Conclusion("mean", ("a",), interval=(0.25, 0.5)),
            "the mean loss of a is from 0.25 to 0.5",
        ),
        (Conclusion("at most", ("a",), amount=0.5), "the mean loss of a is at most 0.5"),
        (
            Conclusion("order", ("a", "b", "c"), field=3, top=3),
            "the order of 3 candidates is a, b and c",
        ),
    ],
)
def test_words_of_conclusions(conclusion: Conclusion, text: str) -> None:
    assert conclusion.text(Quantity()) == text


def test_ranks_name_the_order_of_ties() -> None:
    ranks = (Conclusion("rank", ("a",), field=3, interval=(1, 2)),)
    statement = Statement("undecided", "beyond", ranks, counts=Counts(5, 5))
    assert "candidates with equal means are placed as in the file" in str(statement)


def test_exit_status_of_verdicts() -> None:
    statuses = [Statement(verdict, "recorded").exit_status for verdict in VERDICTS]
    assert statuses == [0, 0, 1, 3, 3, 3]


@pytest.mark.parametrize("bound", [0.123449, 0.12341, -0.98765, 3.00004, 1e-7, 12345.6, 0.25, 0.0])
def test_bounds_are_rounded_away_from_the_claim(bound: float) -> None:
    """A bound rounded to the nearest number would say a little more than was proved."""
    low, high = float(bound_text(bound, up=False)), float(bound_text(bound, up=True))
    tolerance = 1e-9 * max(1.0, abs(bound))
    assert low - tolerance <= bound <= high + tolerance
    assert high - low <= 2e-3 * max(abs(bound), 1e-3)


@pytest.mark.parametrize("level", [1e-12, 1e-6, 4e-5, 0.0144, 1 / 3, 0.3, 0.64 / 1.5, 0.99])
def test_confidence_is_rounded_down(level: float) -> None:
    """Level 1e-6 was "with probability 1 or more", and 1/3 was 0.6667."""
    claim = Conclusion("best", ("a",), field=2)
    part = Statement("proved", "recorded", (claim,), level=level, subject="x")
    statement = Statement("proved", "recorded", (claim,), level=level, parts=(part,))
    said = [Fraction(number) for number in re.findall(r"probability ([\d.]+) or", str(statement))]
    assert len(said) == 2
    for probability in said:
        assert 0 <= probability <= 1 - Fraction(level) + Fraction(1, 10**16)
        assert probability >= 1 - 2 * Fraction(level) - Fraction(1, 10**4)
    assert float(statement.error_text.removeprefix("at most ")) >= level * (1 - 1e-9)


def test_expected_answers_exclude_a_second_call() -> None:
    """A call made again is a second draw that favours fast answers."""
    statements = {
        answers: Race("ab", 4, seed=1, answers=answers).statement for answers in ("random", "fixed")
    }
    assert statements["random"].condition == NO_SECOND_CALL
    assert statements["fixed"].condition == ""
    claim = Conclusion("best", ("a",), field=2)
    said = Statement("proved", "expected", (claim,), condition=NO_SECOND_CALL)
    assert f"with probability 0.95 or more, {NO_SECOND_CALL}" in str(said)


def test_capital_only_where_no_name_begins_the_sentence() -> None:
    """ "B is the best" is about another candidate than "b is the best"."""
    best = Statement("proved", "beyond", (Conclusion("best", ("b",), field=2),))
    assert best.full.startswith("b is the best")
    assert Statement("running", "beyond").full.startswith("Open: nothing is proved yet")


def test_names_in_an_open_question_are_not_cut() -> None:
    names = tuple(f"organisation-{n}/a-model-with-a-long-name-{n}-instruct" for n in range(58))
    question = Conclusion("front", names, field=58, top=2)
    statement = Statement("undecided", "beyond", questions=(question,))
    assert "..." not in statement.sentence
    assert "and 48 more" in statement.sentence


def test_what_is_proved_and_what_is_open_do_not_contradict_each_other() -> None:
    """An action within .2 of the best is proved to be so; open is only which one is the best."""
    near = Conclusion("within", ("a",), field=3, amount=0.2)
    statement = Statement(
        "running", "recorded", (near,), questions=(Conclusion("best", ("a",), field=3),)
    )
    assert "a is within 0.2 of the best of 3 candidates" in str(statement)
    assert "nothing is proved yet about which of 3 candidates is the best" in str(statement)
    assert "yet about the best of" not in str(statement)
