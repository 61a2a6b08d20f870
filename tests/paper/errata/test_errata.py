"""Errata: every one is demonstrated by its numbers, and would not be if the paper were correct."""

import math
from typing import Any

import numpy as np
import pytest

from tombola import bounds
from tombola.engine.compiler import interpreted
from tombola.paper.claims.errata import Errata
from tombola.paper.errata import ERRATA
from tombola.paper.errata.base import demonstrates

with interpreted():  # every worker collects this file, and would compile
    EVIDENCE = {erratum.number: erratum.evidence() for erratum in ERRATA}


def test_errata_are_numbered_and_complete() -> None:
    """23 and 49 are withdrawn; 3, 7 and 13 are part of 4, 6 and 14."""
    assert sorted(EVIDENCE) == sorted(set(range(1, 51)) - {3, 7, 13, 23, 49})
    for erratum in ERRATA:
        assert 200 <= erratum.line <= 941
        assert all((erratum.printed, erratum.correct, erratum.quantity))


@pytest.mark.parametrize(
    "erratum", sorted(ERRATA), ids=[str(erratum.number) for erratum in sorted(ERRATA)]
)
def test_evidence_demonstrates_the_erratum(erratum: Any) -> None:
    printed, corrected, truth = EVIDENCE[erratum.number]
    assert demonstrates(erratum.relation, printed, corrected, truth)
    assert not demonstrates(erratum.relation, corrected, printed, truth), (
        "printed and corrected exchanged"
    )
    assert not demonstrates(erratum.relation, corrected, corrected, truth), (
        "printed as it should be"
    )
    assert not demonstrates("tighter", 3.0, 2.0, 2.5), "a bound that does not hold is not tighter"


@pytest.mark.usefixtures("short_work")
def test_verdict_ignores_the_recorded_column() -> None:
    rows = [row for unit in Errata().units(full=False) for row in Errata().run(unit, seed=0)]
    wrong = [{**row, "printed_value": row["corrected_value"], "shown": True} for row in rows]
    assert Errata().verdict(wrong).outcome == "refuted"


def test_evidence_has_the_known_values() -> None:
    assert EVIDENCE[8].truth == pytest.approx(2.71e-5, rel=1e-3)
    assert EVIDENCE[8].truth / EVIDENCE[8].printed == pytest.approx(57, abs=0.5)
    assert EVIDENCE[10].truth / (EVIDENCE[10].printed / 5) == pytest.approx(17.07, abs=0.1)
    assert (round(EVIDENCE[19].printed), round(EVIDENCE[19].corrected)) == (185, 47_419)
    assert (EVIDENCE[39].truth, round(EVIDENCE[39].printed, 1)) == (211, 184.7)
    assert (EVIDENCE[45].truth, round(EVIDENCE[45].printed, 1)) == (99, 79.8)
    assert EVIDENCE[46].truth == pytest.approx(0.2421e-3, rel=1e-3)
    assert np.isclose(EVIDENCE[1].truth - EVIDENCE[1].printed, 1.0)


def test_printed_radius_fails_for_all_labellings() -> None:
    """A rule that is wrong on unseen rows errs by their share in any order; L765 is above delta there too."""
    evidence = EVIDENCE[41]
    assert evidence.truth == pytest.approx(1 - 190 / 1024)
    assert evidence.printed == pytest.approx(0.503, abs=5e-4)
    radius = bounds.uniform_convergence_printed(1000, 1, 0.05)
    assert 4 * math.e * 1000 * math.exp(-1000 * radius**2 / 4) > 0.05


def test_page_lists_every_erratum_with_its_texts() -> None:
    """The chart shows numbers only, so a reader of the page needs the printed and the correct line."""
    claim = Errata(errata=ERRATA[:2])
    rows = [row for unit in claim.units(full=False) for row in claim.run(unit, seed=1)]
    heads, *lines = claim.page_table(rows[::-1])
    assert [line[0].partition(",")[0] for line in lines] == ["1", "2"]
    for line, erratum in zip(lines, ERRATA[:2], strict=True):
        assert line[1:4] == (erratum.printed, erratum.correct, erratum.quantity)
        assert len(line) == len(heads)
