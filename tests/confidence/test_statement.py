"""Statements: text, parsing and invalid input."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from tombola.confidence import (
    Audit,
    StratifiedMean,
    differ_at_most,
    mean_above,
    mean_below,
    parse_statement,
    share_at_least,
)
from tombola.errors import TombolaError


def test_statement_text() -> None:
    same = [
        (mean_above("a", 0.5), "mean(a)>0.5"),
        (mean_below("a", 0.25), " mean( a ) < .25"),
        (share_at_least("g", "=", "pass", 0.9), "share(g == pass) >= 0.9"),
        (share_at_least("g", ">=", 3, 0.1), "share(g >= 3) >= 0.1"),
        (differ_at_most("a", "b", 0.1), "| mean(a) - mean(b) | <= 0.1"),
    ]
    for made, text in same:
        assert parse_statement(text).text == made.text


def test_invalid_statements_are_rejected(one_sentence: Callable[[object], str]) -> None:
    cases: list[Callable[[], Any]] = [
        lambda: parse_statement("the mean is large"),
        lambda: parse_statement("mean(a) > 2"),
        lambda: parse_statement("mean(a)"),
        lambda: parse_statement("mean(a) > 70", span=(0, 50)),
        lambda: parse_statement("|mean(a) - mean(b)| <= 60", span=(0, 50)),
        lambda: parse_statement("mean(a) > 0", span=(0, 0)),
        lambda: parse_statement("mean(a) > 0", span=(-1e308, 1e308)),
        lambda: mean_above("a", math.nan),
        lambda: differ_at_most("a", "b", -0.1),
        lambda: share_at_least("a", "~", 1, 0.5),
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
