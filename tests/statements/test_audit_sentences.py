"""Audits and certificates that once said more, or less, than was proved."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tombola

pytestmark = pytest.mark.usefixtures("plainly")


def stream(rows: Any) -> Iterator[dict[str, float]]:
    return ({"a": float(a), "b": float(b)} for a, b in rows)


def test_whole_list_is_exact_and_not_at_a_level() -> None:
    """Ties at the end of the list left .95 in the sentence, although every row was read."""
    rows = [(0.5, 0.5)] * 12
    best = tombola.certify(stream(rows), rows=12, kind="losses")
    mean = tombola.certify(stream(rows), rows=12, column="a")
    conditions = tombola.audit(stream(rows), ["mean(a) >= 0.5", "mean(b) <= 0.5"], rows=12)
    for result in (best, mean, conditions):
        [statement] = result.statements
        assert (statement.verdict, statement.level) == ("exact", 0.0)
        assert "for certain: the whole table is known" in str(result)
        assert "probability" not in str(result)
        assert result.to_json()["statement"]["verdict"] == "exact"
        assert '<p class="verdict">exact</p>' in result.to_page()
    assert "he mean value of a is 0.5 on" in str(mean)
    assert "a is the best of 2 candidates (another may be equal) on" in str(best)


def test_part_of_the_list_keeps_its_level_and_its_condition() -> None:
    rows = [(0, 1)] * 40
    [statement] = tombola.certify(stream(rows), rows=400, kind="losses").statements
    assert (statement.verdict, statement.level) == ("proved", 0.05)
    assert statement.condition == "if the rows read are a random sample of the list"
    # Of a whole table the rows are shuffled here: nothing is assumed.
    [statement] = tombola.certify(np.array(rows), kind="losses", candidates=["0", "1"]).statements
    assert statement.condition == ""


def test_last_row_corrects_evidence_that_was_wrong() -> None:
    """All orders of eight rows at level .45 per condition; the second is open until the last row.

    The first one was refuted by wealth in 8 of 70 orders, and stayed so after the whole list was
    read.
    """
    wrong_before_the_end = 0
    for ones in itertools.combinations(range(8), 4):
        rows = [(float(row in ones), 0.5) for row in range(8)]
        texts = ["mean(a) >= 0.5", "mean(b) > 0.5"]
        [early, _] = tombola.audit(stream(rows[:-1]), texts, rows=8, level=0.9).results
        wrong_before_the_end += early.outcome == "refuted"
        report = tombola.audit(stream(rows), texts, rows=8, level=0.9)
        assert [result.outcome for result in report.results] == ["proved", "refuted"], ones
        assert report.statements[0].level == 0.0
    assert 0 < wrong_before_the_end <= 0.45 * 70
