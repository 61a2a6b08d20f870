"""Claims on races: they hold, and every fault refutes them; `test_faults.py` has the other claims."""

import pytest

from tombola.paper.base import Extension
from tombola.paper.extensions.racing import KnownAnswers, RaceBest, RaceGate, RaceTop, RaceWithin

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize(
    "claim",
    [RaceBest(), RaceWithin(), RaceTop(), RaceGate(), pytest.param(KnownAnswers(), marks=pytest.mark.full)],
    ids=lambda claim: claim.name,
)
def test_claim_holds_and_every_fault_refutes_it(claim: Extension) -> None:
    """The verdict is about the worst row, so the first unit that refutes it is enough."""
    units = list(enumerate(claim.units(full=False)))
    rows = [row for number, unit in units for row in claim.run(unit, seed=number)]
    assert claim.verdict(rows).outcome == "holds"
    assert claim.chart(rows).bands
    for fault in claim.faults():
        wrong = claim.with_fault(fault)
        outcomes = (wrong.verdict(list(wrong.run(unit, seed=number))).outcome for number, unit in units)
        assert "refuted" in outcomes, fault
