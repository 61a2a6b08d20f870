"""Statements: text, parsing and invalid input."""

from collections.abc import Callable
from typing import Any

import pytest

from tombola.errors import TombolaError
from tombola.evidence import Audit, StratifiedMean, parse_statement


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("mean(a)>0.5", "mean(a) > 0.5"),
        (" mean( a ) < .25", "mean(a) < 0.25"),
        ("share(g == pass) >= 0.9", "share(g = pass) >= 0.9"),
        ("share(g >= 3) >= 0.1", "share(g >= 3) >= 0.1"),
        ("| mean(a) - mean(b) | <= 0.1", "|mean(a) - mean(b)| <= 0.1"),
    ],
)
def test_statement_text(written: str, text: str) -> None:
    assert parse_statement(written).text == text


@pytest.mark.parametrize(
    ("cell", "number"), [("64.6%", 0.646), ("yes", 1.0), ("No", 0.0), (True, 1.0), ("0,5", 0.5)]
)
def test_mean_reads_percentages_and_words(cell: Any, number: float) -> None:
    assert parse_statement("mean(a) > 0.5").inequalities[0].values({"a": [cell]}) == pytest.approx(
        [number]
    )


@pytest.mark.parametrize(
    ("cell", "high", "fix"),
    [
        ("64.6%", 100, "without a percent sign"),
        ("120%", 1, "without a percent sign"),
        ("yes", 100, "write a number from 0 to 100"),
        ("pass", 1, "write yes, no, 0, 1 or a number between them"),
        ("", 1, "fill it in, or leave out the row"),
        ("7", 1, "give their range (--range 0,10"),
    ],
)
def test_fix_of_an_invalid_cell(cell: str, high: float, fix: str) -> None:
    with pytest.raises(TombolaError) as error:
        parse_statement("mean(a) > 0.5", span=(0, high)).inequalities[0].values({"a": [cell]})
    assert fix in str(error.value)


def test_invalid_statements_are_rejected(one_sentence: Callable[[object], str]) -> None:
    cases: list[Callable[[], Any]] = [
        lambda: parse_statement("the mean is large"),
        lambda: parse_statement("mean(a) > 2"),
        lambda: parse_statement("mean(a)"),
        lambda: parse_statement("mean(a) > 70", span=(0, 50)),
        lambda: parse_statement("|mean(a) - mean(b)| <= 60", span=(0, 50)),
        lambda: parse_statement("mean(a) > 0", span=(0, 0)),
        lambda: parse_statement("mean(a) > 0", span=(-1e308, 1e308)),
        lambda: parse_statement("mean(a) > nan"),
        lambda: parse_statement("|mean(a) - mean(b)| <= -0.1"),
        lambda: parse_statement("share(a ~ 1) >= 0.5"),
        lambda: Audit([], 10),
        lambda: Audit([parse_statement("mean(a) > 0.5")]),
        lambda: Audit([parse_statement("mean(a) > 0.5")], 10, strata={"x": 1}),
        lambda: Audit([parse_statement("mean(a) > 0.5")], 10).extend({"b": [0.5]}),
        lambda: Audit([parse_statement("mean(a) > 0.5")], 10).extend({"a": ["none"]}),
        lambda: Audit([parse_statement("mean(a) > 0.5")], 10).extend({"a": [3]}),
        lambda: Audit([parse_statement("share(a > 1) > 0.5")], 10).extend({"a": ["many"]}),
        lambda: Audit([parse_statement("share(a > b) > 0.5")], 10).extend({"a": ["1"]}),
        lambda: StratifiedMean({"x": 5}).extend([0.5], ["z"]),
        lambda: StratifiedMean({}),
    ]
    for case in cases:
        with pytest.raises(TombolaError) as error:
            case()
        one_sentence(error.value)
