"""Page of a reproduction: table of claims, then one section per claim."""

from collections.abc import Sequence
from typing import NamedTuple

from tombola.report.page import Drawing, render


class FaultEntry(NamedTuple):
    """Verdict of a claim when one fault is put into the program on purpose.

    Fault injection shows that the claim's check can fail.

    fault: its description.
    outcome: the verdict with the fault.
    caught: whether the verdict differs from the expected one, as it should.
    measured: the numbers behind the verdict, as text.
    """

    fault: str
    outcome: str
    caught: bool
    measured: str


class ClaimEntry(NamedTuple):
    """One claim of the paper on the page, as plain text, with its drawn charts.

    Empty fields are left out.

    name, title: identifier and heading.
    source: place in the paper.
    statement, meaning: the claim, and what it means in plain words.
    outcome, expected: the verdict, and the one it should have.
    measured: the numbers behind the verdict.
    printed, corrected: the formulas of the paper and of its correction.
    command: reproduces the verdict.
    limits: criterion by which the claim passes.
    false_alarm: probability of a wrong verdict.
    faults: verdicts with injected faults.
    drawings: the charts.
    section: heading of the part of the page.
    """

    name: str
    title: str
    source: str
    statement: str
    meaning: str
    outcome: str
    expected: str
    measured: str
    printed: str
    corrected: str
    command: str
    drawings: tuple[Drawing, ...]
    limits: str = ""
    false_alarm: str = ""
    faults: tuple[FaultEntry, ...] = ()
    section: str = ""


def claims_page(title: str, lead: str, entries: Sequence[ClaimEntry], facts: Sequence[tuple[str, str]]) -> str:
    """Return the page of a reproduction as HTML: table of claims, then their sections.

    title, lead: heading of the page, and the paragraph below it.
    entries: the claims, in the order of the page.
    facts: names and values of the run as a whole, such as its seed.
    """
    return render("claims.html", title=title, lead=lead, entries=entries, facts=facts)
