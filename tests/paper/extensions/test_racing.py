"""Claims on races: they hold, and every fault refutes them; `test_faults.py` has the other claims."""

import pytest

from tombola.paper.base import Extension, Rows
from tombola.paper.extensions.racing import KnownAnswers, RaceBest, RaceGate, RaceTop, RaceWithin

pytestmark = pytest.mark.usefixtures("plainly")


def rows_of(claim: Extension) -> Rows:
    return [row for number, unit in enumerate(claim.units(full=False)) for row in claim.run(unit, seed=number)]


@pytest.mark.parametrize(
    "claim",
    [RaceBest(), RaceWithin(), RaceTop(), RaceGate(), pytest.param(KnownAnswers(), marks=pytest.mark.full)],
    ids=lambda claim: claim.name,
)
def test_claim_holds_and_every_fault_refutes_it(claim: Extension) -> None:
    rows = rows_of(claim)
    assert claim.verdict(rows).outcome == "holds"
    assert claim.chart(rows).bands
    for fault in claim.faults():
        wrong = claim.with_fault(fault)
        assert wrong.verdict(rows if wrong.same_runs(claim) else rows_of(wrong)).outcome == "refuted", fault
