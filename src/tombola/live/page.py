"""The page of a live run: how far it is, what is known of the actions, and curves, in one HTML file."""

from functools import partial
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from tombola.live.record import Record
from tombola.report.chart import Band, Chart
from tombola.report.figures import COLOURS
from tombola.report.page import drawing
from tombola.types import Floats

if TYPE_CHECKING:
    from tombola.live.run import Run

MARKS, SHOWN = 200, 100


def run_page(run: "Run") -> str:
    """Return the page of a run, as it is now."""
    now, book = run.status(), run.book()
    facts = [
        ("learner", now.learner),
        ("seed", now.seed),
        ("rows", now.rows),
        ("handed out", now.played),
        ("answered", now.answered),
        ("switches", now.switches),
        ("loss so far", f"{now.loss:.6g}"),
    ]
    charts = (shares(book), losses(book)) if now.answered else ()
    drawings = [drawing(f"run-{index}", chart) for index, chart in enumerate(charts)]
    return _render(title=f"A run of {now.rows} rows", now=now, facts=facts, drawings=drawings)


def shares(book: Record) -> Chart:
    """Return the share that every action had in the rounds so far."""
    played = np.array([ticket.action for ticket in book.tickets])
    marks = _marks(played.size)
    bands = []
    for action, name in enumerate(book.names):
        share = np.cumsum(played == action)[marks - 1] / marks
        bands.append(Band(name, marks.astype(np.float64), share, share, share))
    words = "The share of each action in the rounds so far"
    return Chart(words, "round", "share", tuple(bands), log_x=False, log_y=False, alt=words)


def losses(book: Record) -> Chart:
    """Return the mean loss of the rounds so far that have been answered."""
    known = [(ticket.round, loss) for ticket, loss in book.losses]
    rounds, values = (np.array(column, np.float64) for column in zip(*known, strict=True))
    marks = _marks(values.size)
    mean: Floats = np.cumsum(values)[marks - 1] / marks
    words = "The mean loss of the rounds so far, as far as they are answered"
    band = Band("mean loss", rounds[marks - 1], mean, mean, mean)
    return Chart(words, "round", "mean loss", (band,), log_x=False, log_y=False, alt=words)


def _marks(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return at most MARKS numbers from 1 to count."""
    return np.unique(np.linspace(1, count, MARKS).astype(np.int64))


def _render(**values: object) -> str:
    from jinja2 import ChoiceLoader, Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    loaders = [FunctionLoader(partial(_template, home)) for home in ("live", "report")]
    environment = Environment(
        autoescape=True, loader=ChoiceLoader(loaders), undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["ours"] = Markup
    lead = "Rows in random order, one action for each; what is known so far."
    return environment.get_template("run.html").render(palette=list(COLOURS), lead=lead, shown=SHOWN, **values)


def _template(home: str, name: str) -> str | None:
    file = resources.files(f"tombola.{home}") / "templates" / name
    return file.read_text(encoding="utf-8") if file.is_file() else None
