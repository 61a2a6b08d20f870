"""Answer and lists of dots, the parts of all pages."""

import itertools

import pytest

from tombola.report.components import Answer, DotList
from tombola.report.page import render
from tombola.statements import VERDICTS, Conclusion, Statement


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("gate", [False, True])
def test_answer_says_what_the_statement_says(verdict: str, gate: bool) -> None:
    conclusions = (Conclusion("not worse", ("<new>",), than="old"),)
    open_ = verdict in ("undecided", "stopped", "running")
    statement = Statement(
        verdict,  # type: ignore[arg-type]
        "recorded",
        () if open_ else conclusions,
    )
    answer = Answer.from_statement(statement, gate=gate)
    assert answer.sentence == statement.full
    assert answer.heading == statement.heading
    assert (answer.tone == "good") == (verdict in ("exact", "proved"))
    assert (answer.tag == "passed") == (gate and verdict in ("exact", "proved"))


@pytest.mark.parametrize(
    ("low", "high", "counts"),
    [
        (0.0, 1.0, False),
        (-3.0, 1e6, False),
        (0.25, 0.26, False),
        (0.5, 1.5, True),
        (0.5, 240.5, True),
    ],
)
def test_ticks_are_on_the_axis_and_apart(low: float, high: float, counts: bool) -> None:
    ticks = DotList((), low, high, "x", counts=counts).ticks
    places = [place for place, _ in ticks]
    assert 1 <= len(ticks) <= 8
    assert all(0 <= place <= 100 for place in places)
    assert all(right - left >= 5 for left, right in itertools.pairwise(places))
    assert len({text for _, text in ticks}) == len(ticks)


def test_an_axis_without_extent_has_a_place() -> None:
    assert DotList((), 2.0, 2.0, "x").place(2.0) == 50.0


def test_pages_have_the_mark_as_icon() -> None:
    page = render("claims.html", title="t", lead="", entries=[], facts=[])
    assert 'rel="icon" type="image/svg+xml" href="data:image/svg+xml,%3Csvg' in page
    assert 'href="#main"' in page
