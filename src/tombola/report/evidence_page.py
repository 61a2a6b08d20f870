"""HTML page of certify, check-order and audit."""

from typing import NamedTuple

from tombola.report.chart import Chart
from tombola.report.components import Answer
from tombola.report.page import draw_for_page, render
from tombola.statements import Statement


class TextTable(NamedTuple):
    """A table of text cells with a heading."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def column_classes(self) -> list[str]:
        """The CSS class of each column; columns of numbers are aligned to the right.

        >>> TextTable("Means", ("action", "mean"), (("a", "0.25"), ("b", "1,000"))).column_classes
        ['', 'number']
        """
        return [
            "number" if all(_is_number(cell) for cell in column) else ""
            for column in zip(*self.rows, strict=True)
        ]


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "", 1).removeprefix("-").isdigit()


class CaptionedChart(NamedTuple):
    """A chart with a heading and a caption."""

    heading: str
    caption: str
    chart: Chart


class EvidencePage(NamedTuple):
    """Content of a page.

    lead: sentence below the title; statement: what the result claims; facts: pairs (name, value);
        command: command line that made the page; advice: what to do next, a sentence or "".
    """

    title: str
    lead: str
    statement: Statement
    facts: tuple[tuple[str, str], ...]
    tables: tuple[TextTable, ...]
    figures: tuple[CaptionedChart, ...]
    command: str
    advice: str = ""

    @property
    def answer(self) -> Answer:
        """The statement as the answer of the page."""
        answer = Answer.from_statement(self.statement)
        return answer._replace(sentence=f"{answer.sentence} {self.advice}".rstrip())

    @property
    def topic(self) -> str:
        """The command that made the page, which `tombola cite` knows.

        >>> nothing = Statement("running", "recorded")
        >>> page = EvidencePage("", "", nothing, (), (), (), "tombola audit t.csv")
        >>> page.topic
        'audit'
        """
        words = self.command.split()
        return words[1] if len(words) > 1 else ""


def render_evidence(page: EvidencePage) -> str:
    """Return the page as HTML that needs no other file, with its charts drawn."""
    drawings = [
        (figure, draw_for_page(f"evidence-{index}", figure.chart))
        for index, figure in enumerate(page.figures)
    ]
    return render("evidence.html", page=page, figures=drawings, title=page.title, lead=page.lead)
