"""Audits: what a statement says, exact risk on small lists, one level for all, strata, and the planner."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from evidence_cases import allowed
from tombola.errors import TombolaError
from tombola.evidence import (
    Audit,
    Betting,
    RunningMean,
    Statement,
    StratifiedMean,
    parse_statement,
    sample_size,
)


def outcomes(statement: Statement, columns: dict[str, Any], level: float = 0.2) -> list[str]:
    """Return the outcome after every row of a whole list."""
    rows = len(next(iter(columns.values())))
    audit = Audit([statement], rows, level)
    found: list[str] = []
    for i in range(rows):
        audit.extend({name: cells[i : i + 1] for name, cells in columns.items()})
        found.append(audit.results()[0].outcome)
    return found


def test_audit_of_whole_list_is_exact() -> None:
    cells = {"a": [0.0, 1.0, 0.5, 0.5], "b": [0.5, 0.5, 0.5, 0.7], "g": ["x", "x", "y", "y"]}
    for text, outcome in [
        ("mean(a) > 0.5", "refuted"),
        ("mean(a) >= 0.5", "proved"),
        ("mean(a) <= 0.5", "proved"),
        ("mean(a) < 0.5", "refuted"),
        ("share(g = x) >= 0.5", "proved"),
        ("share(g = x) > 0.5", "refuted"),
        ("share(a <= 0.5) >= 0.75", "proved"),
        ("share(g != x) < 0.4", "refuted"),
        ("|mean(a) - mean(b)| <= 0.05", "proved"),
        ("|mean(a) - mean(b)| <= 0.04", "refuted"),
    ]:
        assert outcomes(parse_statement(text), cells, level=0.01)[-1] == outcome, text


def test_audit_rounding_with_wide_span() -> None:
    """A tolerance of 1e-9 of the span would give the first the wrong outcome; decimal ties are ties."""
    wide = (0.0, 1e10)
    for text, cells, span, outcome in [
        ("mean(a) >= 1.5", [1.0, 1.0, 1.0], wide, "refuted"),
        ("mean(a) < 1.5", [1.0, 1.0, 1.0], wide, "proved"),
        ("mean(a) >= 1.5", [1.0, 1.5, 2.0], wide, "proved"),
        ("mean(a) >= 0.2", [0.1, 0.2, 0.3], (0.0, 1.0), "proved"),
        ("mean(a) > 0.2", [0.1, 0.2, 0.3], (0.0, 1.0), "refuted"),
        ("mean(a) <= -0.2", [-0.1, -0.2, -0.3], (-1.0, 3.0), "proved"),
        ("mean(a) < 1000.2", [1000.1, 1000.2, 1000.3], (1000.0, 1001.0), "refuted"),
        ("mean(a) <= 1000.2", [1000.1, 1000.2, 1000.3], (1000.0, 1001.0), "proved"),
    ]:
        assert (
            outcomes(parse_statement(text, span=span), {"a": cells}, level=1e-6)[-1] == outcome
        ), (text, span)


def test_audit_is_invariant_to_units() -> None:
    rng = np.random.default_rng(2)
    share = rng.integers(0, 1024, (40, 2)) / 1024
    for low, width in ((0.0, 128.0), (-4.0, 8.0)):
        span, cells = (low, low + width), low + width * share
        for text, other in [
            (f"mean(a) > {low + width * 0.375}", "mean(a) > 0.375"),
            (f"|mean(a) - mean(b)| <= {width * 0.25}", "|mean(a) - mean(b)| <= 0.25"),
        ]:
            one, two = (
                Audit([parse_statement(text, span=span)], 90),
                Audit([parse_statement(other)], 90),
            )
            one.extend({"a": cells[:, 0], "b": cells[:, 1]})
            two.extend({"a": share[:, 0], "b": share[:, 1]})
            found, expected = one.results()[0], two.results()[0]
            assert found[1:4] == expected[1:4]
            assert found.mean == pytest.approx(width * expected.mean + (0 if "|" in text else low))
            assert found.deviation == pytest.approx(width * expected.deviation)


@pytest.mark.parametrize(
    "text", ["mean(a) > 0.5", "mean(a) <= 0.5", "share(a = 1) >= 0.6", "mean(a) < 0.3"]
)
def test_audit_exact_error_probability(text: str) -> None:
    """All orders of all lists of nine values 0 and 1: the share that is ever given a wrong finding is within level."""
    level, statement = 0.3, parse_statement(text)
    for ones in range(10):
        truth = "proved" if statement.inequalities[0].holds(ones / 9, 9) else "refuted"
        wrong = total = 0
        for places in combinations(range(9), ones):
            cells = np.isin(np.arange(9), places).astype(float)
            wrong += any(
                outcome not in (truth, "undecided")
                for outcome in outcomes(statement, {"a": cells}, level)
            )
            total += 1
        assert wrong / total <= level


def wrong_results(level: float, runs: int, shared: bool) -> float:
    """Return how often any of eight true statements, on eight independent columns, is ever refuted.

    The last row is not read: the whole list would correct every error.
    """
    rng, wrong = np.random.default_rng(1), 0
    columns = {f"c{i}": rng.permutation(np.repeat([0.0, 1.0], 40)) for i in range(8)}
    statements = [parse_statement(f"mean({name}) >= 0.5") for name in columns]
    for _ in range(runs):
        order = rng.permutation(80)[:-1]
        rows = {name: column[order] for name, column in columns.items()}
        groups = [statements] if shared else [[one] for one in statements]
        failed = False
        for group in groups:
            audit = Audit(group, 80, level)
            audit.extend(rows)
            failed |= any(finding.outcome == "refuted" for finding in audit.results())
        wrong += failed
    return wrong / runs


def test_audit_divides_level_by_statements() -> None:
    """80 orders at level .2; false alarm below 1e-6."""
    assert (
        wrong_results(0.2, 80, shared=True)
        <= allowed(0.2, 80)
        < wrong_results(0.2, 80, shared=False)
    )


def test_audit_needs_few_rows() -> None:
    rng = np.random.default_rng(0)
    audit = Audit([parse_statement("mean(a) > 0.5"), parse_statement("mean(a) < 0.6")], 5000)
    audit.extend({"a": rng.beta(8, 2, 200)})
    first, second = audit.results()
    assert (first.outcome, second.outcome) == ("proved", "refuted")
    assert 0 < first.rows < 60
    assert "p-value at most" in str(first)
    assert first.mean == pytest.approx(0.8, abs=0.05)
    # Six ones of ten rows make a mean of 0.6 or more certain.
    known = Audit([parse_statement("mean(a) > 0.4")], 10, 1e-9)
    known.extend({"a": [1.0] * 6})
    assert (known.results()[0].outcome, known.results()[0].p_value) == ("proved", 0.0)
    assert str(known.results()[0]).endswith("rows; certain")


def test_strata_mean_and_coverage() -> None:
    """300 orders of two strata of 30 at level .2, at all looks; false alarm below 1e-6."""
    rng, missed = np.random.default_rng(0), 0
    parts = {"north": np.repeat([0.0, 1.0], [20, 10]), "south": np.repeat([0.0, 1.0], 15)}
    truth = (10 + 15) / 60
    for _ in range(300):
        strata, wrong = StratifiedMean({"north": 30, "south": 30}, level=0.2), False
        order = rng.permutation(np.repeat(["north", "south"], 30))
        left = {name: list(rng.permutation(values)) for name, values in parts.items()}
        for start in range(0, 60, 6):
            names = order[start : start + 6].tolist()
            strata.extend([left[name].pop() for name in names], names)
            low, high = strata.interval()
            wrong |= not low - 1e-9 <= truth <= high + 1e-9
        assert strata.interval() == pytest.approx((truth, truth))
        assert strata.mean == pytest.approx(truth)
        missed += wrong
    assert missed / 300 <= allowed(0.2, 300)


def test_rejected_batch_changes_nothing() -> None:
    """A repaired batch gives the results of a fresh audit: no row counts twice for one statement."""
    statements = [parse_statement("mean(a) > 0.5"), parse_statement("mean(b) < 0.4")]
    good = {"a": [0.75, 1.0, 0.5], "b": [0.25, 0.0, 0.5]}
    for bad in ({**good, "b": [0.25, 0.0, 5.0]}, {**good, "b": [0.25]}, {"a": good["a"]}):
        audit, fresh = Audit(statements, 20), Audit(statements, 20)
        with pytest.raises(TombolaError):
            audit.extend(bad)
        audit.extend(good)
        fresh.extend(good)
        assert audit.results() == fresh.results()
    refused: list[tuple[list[float], list[str]]] = [
        ([0.5, 0.5], ["x", "z"]),
        ([0.5] * 4, ["y", *"xxx"]),
        ([0.5, 2.0], ["y", "x"]),
        ([0.5, 0.5], ["y"]),
    ]
    for values, names in refused:
        strata = StratifiedMean({"x": 2, "y": 5})
        with pytest.raises(TombolaError):
            strata.extend(values, names)
        assert strata.interval() == StratifiedMean({"x": 2, "y": 5}).interval()
        strata.extend([0.5, 0.25], ["x", "x"])  # both rows of x are still to come
        assert math.isnan(strata.mean)  # and none of y was seen


@pytest.mark.parametrize(
    "order", [(0.0, 0.0, 0.0, 0.2, 0.1), (0.2, 0.0, 0.1, 0.0, 0.0), (0.1, 0.2, 0.0, 0.0, 0.0)]
)
@pytest.mark.parametrize(
    ("text", "outcome"), [("mean(s) <= 0.06", "proved"), ("mean(s) > 0.06", "refuted")]
)
def test_strata_at_the_threshold_are_decided_by_the_whole_list(
    order: tuple[float, ...], text: str, outcome: str
) -> None:
    """Compared without slack, .06 <= .06 was refuted, since the sum of a float is a little more."""
    names = ["y" if value else "x" for value in order]
    audit = Audit([parse_statement(text)], strata={"x": 3, "y": 2})
    audit.extend({"s": list(order)}, names)
    assert audit.results()[0].outcome == outcome


def test_audit_in_strata() -> None:
    audit = Audit([parse_statement("mean(a) > 0.5")], strata={"x": 100, "y": 300})
    audit.extend({"a": [0.0] * 10 + [0.9] * 200}, ["x"] * 10 + ["y"] * 200)
    assert audit.results()[0].outcome == "proved"


def test_running_mean_equals_sequence() -> None:
    rng = np.random.default_rng(0)
    rows = {"a": rng.random(60), "b": rng.random(60)}
    course, seen = (
        RunningMean(parse_statement("|mean(a) - mean(b)| <= 0.1"), 100, 0.1),
        Betting(population=100, level=0.1),
    )
    for start in range(0, 60, 20):
        course.extend({name: cells[start : start + 20] for name, cells in rows.items()})
        seen.extend((1 + rows["a"][start : start + 20] - rows["b"][start : start + 20]) / 2)
        expected = [2 * x - 1 for x in (seen.means[0], *seen.interval())]
        assert course.points[-1] == pytest.approx((start + 20, *expected))
    assert course.thresholds == (0.1, -0.1)
    parts = RunningMean(parse_statement("mean(a) > 0.5"), level=0.1, strata={"x": 50, "y": 50})
    parts.extend({"a": rows["a"][:10]}, ["x"] * 10)
    assert math.isnan(parts.points[0].mean)
    parts.extend({"a": rows["a"][10:20]}, ["y"] * 10)
    assert parts.points[1].low <= parts.points[1].mean <= parts.points[1].high


def test_plan_estimates_rows() -> None:
    few = sample_size(0.5, 0.6, population=20_000, seed=0)
    assert 120 < few.median < 220
    assert few.percentile_90 > few.median
    assert sample_size(0.5, 0.6, population=20_000, deviation=0.1, seed=0).median < few.median / 3
    assert sample_size(0.5, 0.5005, population=300, seed=0).median == 300
