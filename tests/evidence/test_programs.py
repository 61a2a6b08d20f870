"""certify, audit and check_order from Python: tables in memory, streams, results."""

import json
import operator
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tombola
from tombola.errors import OrderError, ParameterError, RowError
from tombola.evidence import AuditReport, BestColumn, CertifiedMean, OrderCheck

RNG = np.random.default_rng(4)
ANSWERS = (RNG.random((400, 2)) < [0.2, 0.5]).astype(float)
POOL = tombola.Pool(ANSWERS, actions=("a", "b"))


def records(rows: Any = ANSWERS) -> Iterator[dict[str, float]]:
    return ({"a": float(a), "b": float(b)} for a, b in rows)


def results() -> list[BestColumn | CertifiedMean | OrderCheck | AuditReport]:
    ids = [{"id": f"r{row}", "loss": a} for row, (a, _) in enumerate(ANSWERS)]
    history = [{"id": f"r{row}", "old": b} for row, (_, b) in enumerate(ANSWERS)]
    return [
        tombola.certify(POOL),
        tombola.certify(POOL, within=0.001, rows=100_000),
        tombola.certify(ids, within=0.1, history=history),
        tombola.check_order(POOL),
        tombola.check_order(np.sort(ANSWERS, axis=0)),
        tombola.audit(POOL, ["mean(a) < 0.3", "share(b = 1) > 0.9"]),
    ]


def test_every_result_has_text_notebook_json_and_page() -> None:
    for result in results():
        [statement] = result.statements
        assert statement.full in str(result)
        assert "<div>" in result._repr_html_()
        json.dumps(result.to_json(), allow_nan=False)
        page = result.to_page("tombola <x>")
        assert page.startswith("<!")
        assert "tombola &lt;x&gt;" in page
        if not isinstance(result, CertifiedMean):
            assert result.plot().axes


def test_page_of_an_audit_explains_a_band_that_holds_the_threshold() -> None:
    """A one-sided outcome beside a two-sided band looks like an error; undecided rows are not needed."""
    decided = tombola.audit(POOL, ["mean(a) < 0.3"])
    assert decided.outcome == "proved"
    assert "The outcome is from a one-sided test" in decided.to_page()
    rows = [{"ok": row % 2} for row in range(40)]
    undecided = tombola.audit(iter(rows), "mean(ok) > 0.49", rows=4000)
    assert undecided.outcome == "undecided"
    assert "one-sided" not in undecided.to_page()
    for text in (str(undecided), undecided.to_page()):
        assert "rows read" in text
        assert "rows needed" not in text


def test_a_pool_a_frame_and_a_stream_agree() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ANSWERS, columns=["a", "b"])
    first = tombola.certify(POOL, within=0.05)
    assert isinstance(first, BestColumn)
    assert (first.best, first.outcome) == ("a", "proved")
    assert tombola.certify(frame, kind="losses", within=0.05).to_json() == {
        **first.to_json(),
        "table": "DataFrame",
    }
    # The whole list is shuffled with the seed; a stream is read as it arrives.
    order = np.random.default_rng(1).permutation(len(ANSWERS))
    stream = tombola.certify(records(ANSWERS[order]), rows=400, kind="losses", within=0.05)
    assert isinstance(stream, BestColumn)
    assert stream.certificate.rounds == first.certificate.rounds
    assert stream.within == first.within
    assert (
        tombola.audit(frame, "mean(a) < 0.3").to_json()
        == tombola.audit(POOL, "mean(a) < 0.3").to_json()
    )


def test_a_stream_is_read_no_further_than_needed() -> None:
    stream = records(np.tile(ANSWERS, (100, 1)))
    report = tombola.audit(stream, "mean(a) < 0.4", rows=40_000)
    assert report.outcome == "proved"
    assert sum(1 for _ in stream) == 40_000 - report.rows


def test_invalid_row_of_a_stream_has_the_result_so_far() -> None:
    rows = [*records(ANSWERS[:30]), {"a": 7.0, "b": 0.0}]
    with pytest.raises(RowError, match=r"got '7\.0'") as caught:
        tombola.certify(iter(rows), rows=400, kind="losses", level=1e-9)
    assert isinstance(caught.value.result, BestColumn)
    assert caught.value.result.certificate.rounds == 30
    with pytest.raises(RowError, match="line 31") as caught:
        tombola.audit(iter(rows), "mean(a) < 0.21", rows=400)
    assert isinstance(caught.value.result, AuditReport)
    assert caught.value.result.rows == 30


def test_programs_refuse_what_they_cannot_know() -> None:
    with pytest.raises(ParameterError, match=r"size of the whole list, got none; write rows=5000"):
        tombola.certify(records(), kind="losses")
    with pytest.raises(ParameterError, match=r"write rows=5000"):
        tombola.audit(records(), "mean(a) < 0.3")
    with pytest.raises(tombola.TombolaError, match="can be either"):
        tombola.certify(np.array(ANSWERS))
    with pytest.raises(ParameterError, match=r"write strata='region'"):
        tombola.audit(POOL, "mean(a) < 0.3", strata="b")
    sorted_rows = ANSWERS[np.argsort(ANSWERS[:, 0], kind="stable")]
    with pytest.raises(OrderError, match="leave out rows if the table is the whole list"):
        tombola.audit(records(sorted_rows), "mean(a) < 0.01", rows=4000, level=1e-9)


def test_history_in_memory_matches_rows_by_id() -> None:
    hard = RNG.random(300) < 0.5
    losses = np.where(RNG.random(300) < 0.05, ~hard, hard)
    table = [{"id": f"r{row}", "loss": int(losses[row])} for row in RNG.permutation(300)]
    history = [{"id": f"r{row}", "old": int(hard[row])} for row in range(300)]
    result = tombola.certify(table, within=0.06, history=history)
    assert isinstance(result, CertifiedMean)
    assert result.low <= losses.mean() <= result.high
    statement = f"mean(loss) > {losses.mean() - 0.1:.3f}"
    without = tombola.audit(table, statement)
    assert tombola.audit(table, statement, history=history).rows < without.rows
    with pytest.raises(tombola.TombolaError, match="add it to the history"):
        tombola.audit(table, statement, history=history[:-1])
    with pytest.raises(tombola.TombolaError, match="a different id in every row"):
        tombola.audit(table, statement, history=[history[0], *history[:-1]])


@pytest.mark.parametrize("sign", ["<=", ">=", "<", ">"])
def test_strata_that_are_read_completely_decide_exactly(sign: str) -> None:
    """Means of decimal fractions at the threshold: rounding must not refute what is true.

    The truth is by fractions. 120 lists; the thresholds are the means themselves, and beside them.
    """
    rng = np.random.default_rng(6)
    compare = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}[sign]
    table = [("x", "0"), ("x", "0"), ("x", "0"), ("y", "0.2"), ("y", "0.1")]
    for trial in range(120):
        mean = sum((Fraction(score) for _, score in table), Fraction(0)) / len(table)
        for step in (0, 1, -1):
            threshold = mean + step * Fraction(1, 1000)
            if not 0 <= threshold <= 1:
                continue
            sizes = Counter(stratum for stratum, _ in table)
            rows = [{"part": stratum, "score": score} for stratum, score in table]
            text = f"mean(score) {sign} {float(threshold)!r}"
            report = tombola.audit(rows, text, strata="part", sizes=sizes, seed=trial)
            truth = "proved" if compare(mean, Fraction(repr(float(threshold)))) else "refuted"
            if report.rows == len(table) or step == 0:
                # A threshold that is not a decimal fraction is equal up to rounding.
                near = abs(mean - Fraction(repr(float(threshold)))) < Fraction(1, 10**12)
                truth = ("proved" if "=" in sign else "refuted") if near else truth
            assert report.outcome == truth, (table, text)
        table = [
            (str(rng.choice(["x", "y", "z"])), f"0.{rng.integers(0, 10)}")
            for _ in range(rng.integers(1, 9))
        ]
