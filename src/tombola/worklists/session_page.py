"""HTML page of a session file: progress, estimates of the actions, and charts."""

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola._formatting import plural
from tombola._types import Floats, Integers
from tombola.errors import ParameterError
from tombola.report.chart import Band, Chart
from tombola.report.figures import draw_chart
from tombola.report.page import draw_for_page, render
from tombola.units import UNIT_LOSSES, Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.worklists.session_file import SessionFile
    from tombola.worklists.session_status import ActionStatus, Status, TicketView

# Points of a curve at most: more are not visible, and make the page heavy.
_CHART_POINTS = 200
# Pending tickets that the page lists at most, and actions whose pending tickets it counts; the rest
# is left out.
_LISTED_TICKETS = 50
_LISTED_ACTIONS = 8


def session_page(file: "SessionFile") -> str:
    """Return a self-contained HTML page: progress, estimates, charts, pending tickets."""
    now, view = file.status(), file.view()
    units = file.units
    charts = (_share_chart(view), _loss_chart(view, units)) if now.answered else ()
    low, high = _interval_range(now, units)
    return render(
        "run.html",
        title=f"A session of {plural(now.rows, 'row')}",
        lead=f"{now.learner}, seed {now.seed}: rows in random order, one action per row.",
        headline=now.headline,
        quantity=units.quantity,
        plan=now.mix_text or now.router,
        cards=_cards(now, units),
        now=now,
        confidence=f"{1 - now.level:.0%}",
        ends=(f"{low:.3g}", f"{high:.3g}"),
        strips=[
            _strip(action, low, high, units, best=action.name == now.best) for action in now.actions
        ],
        pending_counts=_pending_counts(now),
        listed=_LISTED_TICKETS,
        drawings=[draw_for_page(f"run-{index}", chart) for index, chart in enumerate(charts)],
    )


def _cards(now: "Status", units: Units) -> list[tuple[str, str]]:
    cards = [
        ("issued", f"{now.played:,} of {now.rows:,}"),
        ("answered", f"{now.answered:,}"),
        ("pending", f"{len(now.pending):,}"),
        (
            f"mean {units.quantity}",
            f"{units.number(now.loss / now.answered):.4g}" if now.answered else "–",
        ),
        (
            f"total {units.quantity}",
            f"{now.answered * units.number(now.loss / max(now.answered, 1)):,.6g}",
        ),
        ("switches", f"{now.switches:,}"),
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
        (name, ", ".join(f"{one:,.6g}" for one in found))
        for name, found in amounts.items()
        if found
    ]


def _interval_range(now: "Status", units: Units) -> tuple[float, float]:
    ends = [units.interval(action.low, action.high) for action in now.actions]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return (low, high) if high > low else (units.low, units.high)


def _strip(
    action: "ActionStatus", low: float, high: float, units: Units, *, best: bool
) -> dict[str, Any]:
    """Return the table row of an action; positions are per cent of the width."""

    def place(value: float) -> float:
        return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)

    first, last = units.interval(action.low, action.high)
    return {
        **dict(
            zip(("name", "plays", "known", "mean", "interval"), action.texts(units), strict=True)
        ),
        "best": best,
        "left": place(first),
        "width": round(place(last) - place(first), 2),
        "dot": place(units.number(action.mean)) if action.known else None,
    }


def _pending_counts(now: "Status") -> list[tuple[str, int, int]]:
    """Return the actions with most pending tickets: name, count, oldest ticket."""
    counts = Counter(one.action for one in now.pending).most_common(_LISTED_ACTIONS)
    return [
        (name, count, next(one.round for one in now.pending if one.action == name))
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
    if not view.round or (curve == "loss" and not view.answered):
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
    rounds, values = view.answered_rounds.astype(np.float64), view.losses
    points = _chart_points(values.size)
    losses: Floats = np.cumsum(values)[points - 1] / points
    mean = np.array([units.number(float(loss)) for loss in losses])
    name = f"mean {units.quantity}"
    title = f"{name.capitalize()} of the answered rounds"
    band = Band(name, rounds[points - 1], mean, mean, mean)
    return Chart(title, "round", name, (band,), log_x=False, log_y=False, alt=title)


def _chart_points(count: int) -> Integers:
    """Return at most CHART_POINTS numbers from 1 to count."""
    return np.unique(np.linspace(1, count, _CHART_POINTS).astype(np.int64))
