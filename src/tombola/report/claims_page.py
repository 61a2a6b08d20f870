"""Page of a reproduction: table of claims, then one section per claim."""

from collections.abc import Sequence
from typing import NamedTuple

from tombola.report.page import Drawing, render


class FaultEntry(NamedTuple):
    """Verdict of a claim on the program with one fault injected.

    caught: whether the verdict differs from the expected one.
    """

    fault: str
    outcome: str
    caught: bool
    measured: str


class ClaimEntry(NamedTuple):
    """One claim on the page, as plain text, with its drawn charts.

    `printed` and `corrected` are the formulas of the paper and of its correction, `limits` the origin of the limits
    of the verdict, `false_alarm` the probability of a wrong verdict. Empty fields are left out.
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
    """Render the page of a reproduction as HTML.

    lead: paragraph below the title.
    facts: names and values of the run as a whole.
    entries: the claims, in the order of the page.
    """
    return render("claims.html", title=title, lead=lead, entries=entries, facts=facts)
