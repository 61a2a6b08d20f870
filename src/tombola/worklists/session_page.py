"""HTML page of a session file: progress, estimates of the actions, and charts."""

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Literal

import numpy as np

from tombola._formatting import confidence_text, format_number, format_range, plural
from tombola._types import Floats, Integers
from tombola.errors import ParameterError
from tombola.report.chart import Band, Chart
from tombola.report.components import Answer, DotList, DotRow
from tombola.report.figures import draw_chart
from tombola.report.page import draw_for_page, render
from tombola.units import UNIT_LOSSES, Units
from tombola.worklists.session_text import next_command

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.worklists.session_file import SessionFile
    from tombola.worklists.session_status import Status, TicketView

# Points of a curve at most: more are not visible, and make the page heavy.
_CHART_POINTS = 200
# Pending tickets that the page lists at most, and actions whose pending tickets it counts; the rest
# is left out.
_LISTED_TICKETS = 50
_LISTED_ACTIONS = 8


def session_page(file: "SessionFile") -> str:
    """Return a self-contained HTML page: the answer, means, charts, pending tickets."""
    with file.reading():
        now = file.status()
        view = file.view()
    units = file.units
    charts = (_share_chart(view), _loss_chart(view, units)) if now.answered else ()
    return render(
        "run.html",
        title=f"Session: {file.path.name}",
        lead=f"{plural(now.rows, 'row')} in random order, one action per row; {now.learner}, "
        f"seed {now.seed}.",
        answer=_answer(now, next_command(now, shlex.quote(file.path.name))),
        quantity=units.quantity,
        plan=now.mix_text or now.router,
        cards=_cards(now, units),
        now=now,
        confidence=confidence_text(now.level, percent=True),
        means=_mean_list(now, units),
        actions=[action.texts() for action in now.actions],
        pending_counts=_pending_counts(now),
        listed=_LISTED_TICKETS,
        drawings=[draw_for_page(f"run-{index}", chart) for index, chart in enumerate(charts)],
    )


def _answer(now: "Status", command: str) -> Answer:
    """Return what is proved about the best action, the progress, and the next command."""
    facts = (
        ("rows with an outcome", f"{now.answered:,} of {now.rows:,}"),
        ("waiting for an outcome", f"{len(now.pending):,}"),
        (
            f"mean {now.units.quantity} so far",
            format_number(now.mean) if now.answered else "–",
        ),
    )
    return Answer.from_statement(now.statement, facts, command)


def _cards(now: "Status", units: Units) -> list[tuple[str, str]]:
    cards = [
        ("issued", f"{now.played:,} of {now.rows:,}"),
        (f"total {units.quantity}", f"{now.total:,.6g}"),
        ("changes of action", f"{now.switches:,}"),
    ]
    extra = (("amended", now.amended), ("cancelled", now.cancelled), ("left alone", now.left_out))
    cards += [(name, f"{count:,}") for name, count in extra if count]
    balance = now.balance
    amounts = {
        "budget": balance.amounts,
        "spent": balance.spent,
        "reserved": balance.reserved,
        "left": balance.left,
    }
    return cards + [
        (name, ", ".join(f"{amount:,.6g}" for amount in values))
        for name, values in amounts.items()
        if values
    ]


def _mean_list(now: "Status", units: Units) -> DotList:
    """Return the means of the actions, with the interval for all rows; the best mean first."""
    is_proved = now.statement.verdict in ("exact", "proved")
    rows = []
    sign = -1.0 if units.scores else 1.0
    for action in sorted(now.actions, key=lambda action: (not action.known, sign * action.mean)):
        low, high = action.low, action.high
        mean = action.mean if action.known else None
        text = "–" if mean is None else format_number(mean)
        rows.append(
            DotRow(
                action.name,
                text,
                low,
                high,
                mean,
                "good" if is_proved and action.name == now.best else "",
                words=f"{action.name}: mean {units.quantity} {text} in "
                f"{plural(action.known, 'outcome')}, {format_range(low, high)} on all rows",
            )
        )
    return DotList(tuple(rows), units.low, units.high, f"mean {units.quantity}")


def _pending_counts(now: "Status") -> list[tuple[str, int, int]]:
    """Return the actions with most pending tickets: name, count, oldest ticket."""
    counts = Counter(task.action for task in now.pending).most_common(_LISTED_ACTIONS)
    return [
        (name, count, next(task.ticket for task in now.pending if task.action == name))
        for name, count in counts
    ]


def plot_view(
    view: "TicketView",
    curve: Literal["shares", "loss"] = "shares",
    *,
    axes: "Axes | None" = None,
    size: tuple[float, float] | None = None,
    units: Units = UNIT_LOSSES,
) -> "Figure":
    """Draw the shares of actions, or the mean loss in `units`, over the rounds so far.

    ParameterError if there is nothing to draw yet. Without axes, a new figure of `size` in inches.
    """
    if curve not in ("shares", "loss"):
        raise ParameterError(
            f"plot: expected curve='shares' or curve='loss', got {curve!r}; write one of them."
        )
    if not view.issued or (curve == "loss" and not view.answered):
        count = "ticket" if curve == "shares" else "outcome"
        raise ParameterError(
            f"plot: expected a session with at least one {count}, got none; plot it later."
        )
    return draw_chart(
        _share_chart(view) if curve == "shares" else _loss_chart(view, units), axes=axes, size=size
    )


def _share_chart(view: "TicketView") -> Chart:
    """Return the chart of the share of every action over the rounds so far."""
    actions = view.actions
    points = _chart_points(actions.size)
    bands = []
    for action, name in enumerate(view.names):
        share = np.cumsum(actions == action)[points - 1] / points
        bands.append(Band(name, points.astype(np.float64), share, share, share))
    title = "Share of each action in the rounds so far"
    return Chart(title, "round", "share", tuple(bands), log_x=False, log_y=False, alt=title)


def _loss_chart(view: "TicketView", units: Units) -> Chart:
    """Return the chart of the mean loss of the answered rounds, over rounds."""
    tickets = view.answered_tickets.astype(np.float64)
    values = view.losses
    points = _chart_points(values.size)
    losses: Floats = np.cumsum(values)[points - 1] / points
    mean = np.array([units.number(float(loss)) for loss in losses])
    name = f"mean {units.quantity}"
    title = f"{name.capitalize()} of the answered rounds"
    band = Band(name, tickets[points - 1], mean, mean, mean)
    return Chart(title, "round", name, (band,), log_x=False, log_y=False, alt=title)


def _chart_points(count: int) -> Integers:
    """Return at most CHART_POINTS numbers from 1 to count."""
    return np.unique(np.linspace(1, count, _CHART_POINTS).astype(np.int64))
