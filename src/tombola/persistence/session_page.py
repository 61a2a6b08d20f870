"""The page of a live run: how far it is, what is known of the actions, and curves, in one HTML file."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._types import Floats
from tombola.persistence.record import Record
from tombola.report.chart import Band, Chart
from tombola.report.page import drawing, render

if TYPE_CHECKING:
    from tombola.persistence.session_file import SessionFile
    from tombola.persistence.session_status import ActionStatus, Status

MARKS, SHOWN, WAITING = 200, 50, 8


def run_page(run: "SessionFile") -> str:
    """Return the page of a run, as it is now."""
    now, book = run.status(), run.recall()
    charts = (shares(book), losses(book)) if now.answered else ()
    low, high = _ends(now)
    return render(
        "run.html",
        title=f"A run of {now.rows:,} rows",
        lead=f"{now.learner}, seed {now.seed}: rows in random order, one action for each; what is known so far.",
        headline=_headline(now),
        plan=now.plan,
        cards=_cards(now),
        now=now,
        sure=f"{1 - now.level:.0%}",
        ends=(f"{low:.3g}", f"{high:.3g}"),
        strips=[_strip(one, low, high, best=one.name == now.best) for one in now.actions],
        waiting=_waiting(now),
        shown=SHOWN,
        drawings=[drawing(f"run-{index}", chart) for index, chart in enumerate(charts)],
    )


def _headline(now: "Status") -> str:
    if not now.answered:
        return "No outcome is known yet."
    return f"{now.estimate[0].upper()}{now.estimate[1:]}."


def _cards(now: "Status") -> list[tuple[str, str]]:
    cards = [
        ("handed out", f"{now.played:,} of {now.rows:,}"),
        ("answered", f"{now.answered:,}"),
        ("pending", f"{len(now.pending):,}"),
        ("mean loss", f"{now.loss / now.answered:.4g}" if now.answered else "–"),
        ("loss so far", f"{now.loss:,.6g}"),
        ("switches", f"{now.switches:,}"),
    ]
    extra = (("amended", now.amended), ("cancelled", now.cancelled), ("left alone", now.left_out))
    return cards + [(name, f"{count:,}") for name, count in extra if count] + _money(now)


def _money(now: "Status") -> list[tuple[str, str]]:
    """Return a card for what is spent, reserved and left of each resource; none without a budget."""
    balance, cards = now.balance, []
    for number, amount in enumerate(balance.amounts):
        which = f" ({number + 1})" if len(balance.amounts) > 1 else ""
        cards += [
            (f"spent{which}", f"{balance.spent[number]:,.6g} of {amount:,.6g}"),
            (f"reserved{which}", f"{balance.reserved[number]:,.6g}"),
            (f"left{which}", f"{balance.left[number]:,.6g}"),
        ]
    return cards


def _ends(now: "Status") -> tuple[float, float]:
    low, high = min(one.low for one in now.actions), max(one.high for one in now.actions)
    return (low, high) if high > low else (0.0, 1.0)


def _strip(one: "ActionStatus", low: float, high: float, *, best: bool) -> dict[str, Any]:
    """Return an action as the table shows it, and where its interval is, in per cent of the width."""

    def place(value: float) -> float:
        return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)

    return {
        "name": one.name,
        "best": best,
        "plays": f"{one.plays:,}",
        "known": f"{one.known:,}",
        "mean": f"{one.mean:.4g}" if one.known else "–",
        "interval": f"[{one.low:.4g}, {one.high:.4g}]",
        "left": place(one.low),
        "width": round(place(one.high) - place(one.low), 2),
        "dot": place(one.mean) if one.known else None,
    }


def _waiting(now: "Status") -> list[tuple[str, int, int]]:
    """Return the actions with most pending tickets: how many, and the oldest."""
    rounds: dict[str, list[int]] = {}
    for one in now.pending:
        rounds.setdefault(one.action, []).append(one.round)
    most = sorted(rounds.items(), key=lambda item: -len(item[1]))
    return [(name, len(found), min(found)) for name, found in most[:WAITING]]


def shares(book: Record) -> Chart:
    """Return the share that every action had in the rounds so far."""
    played = book.book.actions
    marks = _marks(played.size)
    bands = []
    for action, name in enumerate(book.names):
        share = np.cumsum(played == action)[marks - 1] / marks
        bands.append(Band(name, marks.astype(np.float64), share, share, share))
    words = "The share of each action in the rounds so far"
    return Chart(words, "round", "share", tuple(bands), log_x=False, log_y=False, alt=words)


def losses(book: Record) -> Chart:
    """Return the mean loss of the rounds so far that have been answered."""
    rounds, values = book.known.astype(np.float64), book.losses
    marks = _marks(values.size)
    mean: Floats = np.cumsum(values)[marks - 1] / marks
    words = "The mean loss of the rounds so far, as far as they are answered"
    band = Band("mean loss", rounds[marks - 1], mean, mean, mean)
    return Chart(words, "round", "mean loss", (band,), log_x=False, log_y=False, alt=words)


def _marks(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return at most MARKS numbers from 1 to count."""
    return np.unique(np.linspace(1, count, MARKS).astype(np.int64))
