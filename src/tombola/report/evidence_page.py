"""The page of evidence: a verdict, its facts, tables and pictures, from plain data to one HTML file."""

from typing import NamedTuple

from tombola.report.chart import Chart
from tombola.report.page import drawing, render


class Listing(NamedTuple):
    """A table of words."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def kinds(self) -> list[str]:
        """The style of each column: numbers stand to the right, one below the other.

        >>> Listing("Means", ("action", "mean"), (("a", "0.25"), ("b", "1,000"))).kinds
        ['', 'number']
        """
        return ["number" if all(_is_number(cell) for cell in column) else "" for column in zip(*self.rows, strict=True)]


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "", 1).removeprefix("-").isdigit()


class Shown(NamedTuple):
    """A chart with its heading, and a sentence on how to read it."""

    heading: str
    words: str
    chart: Chart


class Statement(NamedTuple):
    """All that the page says; `tone` is good, fair or bad."""

    title: str
    lead: str
    verdict: str
    tone: str
    facts: tuple[tuple[str, str], ...]
    listings: tuple[Listing, ...]
    pictures: tuple[Shown, ...]
    command: str


def evidence_page(evidence: Statement) -> str:
    """Return the page of evidence."""
    drawn = [(one, drawing(f"evidence-{i}", one.chart)) for i, one in enumerate(evidence.pictures)]
    return render("evidence.html", page=evidence, pictures=drawn, title=evidence.title, lead=evidence.lead)
