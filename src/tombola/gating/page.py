"""Page of a gate: a decision per version with its band against the allowed loss."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tombola import __version__
from tombola.gating.result import Comparison, GateResult, rows_text
from tombola.gating.summary import short_commit
from tombola.report.components import Answer
from tombola.report.page import render
from tombola.statements import SCOPES

# Rows that got worse, and that got better, in each table; the JSON has more.
_MAX_ROWS = 10
# Left of the limit, in per cent of the width, is too little room for its label on a phone.
_NARROW = 25.0
_TONES = {"proved": "good", "refuted": "bad", "undecided": "fair"}


def gate_page(
    result: GateResult,
    title: str,
    command: str = "",
    made: datetime | None = None,
    commits: Mapping[str, str] | None = None,
) -> str:
    """Return a self-contained HTML page.

    command: the command line that made it. made: its date; None leaves it out.
    commits: names of versions, and the commit that each belongs to.
    """
    short = {name: short_commit(commit) for name, commit in (commits or {}).items()}
    facts = [
        ("verdict", SCOPES[result.reading]),
        ("looks", "one" if result.looks == "1" else "any number"),
        ("probability of a wrong verdict", f"at most {result.level:g}"),
    ]
    if result.reading == "recorded" and result.race is None:
        facts = [("verdict", SCOPES["recorded"]), ("certainty", "exact")]
    if result.race is not None:
        facts.append(("calls", str(result.race.counts)))
    if made is not None:
        facts.append(("date", made.strftime("%Y-%m-%d %H:%M")))
    facts.append(("tombola", __version__))
    comparisons = (*result.comparisons, *result.groups)
    reach = max(
        max(abs(c.low), abs(c.high), c.within or 0.0) / c.units.gap(1.0) for c in comparisons
    )
    reach = min(1.0, 1.15 * max(reach, 1e-9))
    return render(
        "gate.html",
        title=title,
        lead=result.header + ".",
        answer=Answer.from_statement(result.statement, command=command)._replace(
            tag=result.tag, heading=_heading(result)
        ),
        facts=facts,
        versions=[
            {**_version(result, name, reach), "commit": short.get(name, "")}
            for name in result.versions[1:]
        ],
        old=result.old,
        old_commit=short.get(result.old, ""),
        old_means=[
            (metric, next(c.number(c.old_mean) for c in comparisons if c.metric == metric))
            for metric in dict.fromkeys(c.metric for c in comparisons)
        ],
        notes=[
            *(filter(None, [result.shared_level_text, result.reported_groups_text])),
            *result.missing_notes(),
            *result.notes,
            result.false_alarm,
        ],
        tables=[_rows(result, comparison) for comparison in result.comparisons],
    )


def _heading(result: GateResult) -> str:
    """Return the verdict in words; PASSED alone could be read as "not worse at all"."""
    loss = result.deciding[0].possible_loss_text() if len(result.deciding) == 1 else ""
    return f"{result.heading}: {loss}" if loss else result.heading


def _version(result: GateResult, name: str, reach: float) -> dict[str, Any]:
    """Return the decision about a version with its bands: list and deciding groups, then the others."""
    deciding = [c for c in result.deciding if c.version == name]
    verdicts = {comparison.verdict for comparison in deciding}
    verdict = next(v for v in ("refuted", "undecided", "proved") if v in verdicts)
    reported = () if result.groups_decide else (c for c in result.groups if c.version == name)
    return {
        "name": name,
        "tag": next(c.tag for c in deciding if c.verdict == verdict),
        "tone": _TONES[verdict],
        "bands": [_band(result, comparison, reach) for comparison in deciding],
        "reported": [_band(result, comparison, reach) for comparison in reported],
    }


def _band(result: GateResult, comparison: Comparison, reach: float) -> dict[str, Any]:
    """Return one row of the picture; places are percentages of the width, better is right."""
    scale = comparison.units.gap(1.0) * reach

    def place(gain: float) -> float:
        return round(50.0 + 50.0 * max(-1.0, min(1.0, gain / scale)), 2)

    low = place(comparison.low)
    limit = place(-(comparison.within or 0.0))
    return {
        "name": ", ".join(filter(None, [comparison.metric, comparison.group])),
        "tag": comparison.tag,
        "tone": _TONES[comparison.verdict],
        "old": comparison.number(comparison.old_mean),
        "new": comparison.number(comparison.new_mean),
        "change": comparison.number(comparison.change, signed=True),
        "interval": comparison.interval_text(),
        "possible_loss": comparison.possible_loss_text(),
        "allowed": comparison.margin_text(),
        "rows": rows_text(comparison),
        "next": comparison.next_text(result.unit),
        "low": low,
        "width": max(round(place(comparison.high) - low, 2), 0.4),
        "mean": place(comparison.gain),
        "limit": limit,
        "label_side": "right" if limit < _NARROW else "left",
    }


def _rows(result: GateResult, comparison: Comparison) -> dict[str, Any]:
    several = len(result.comparisons) > 1
    return {
        "heading": f"{comparison.version}, {comparison.metric}" if several else comparison.version,
        "is_open": comparison.verdict != "proved",
        "n_worse": comparison.n_worse,
        "n_better": comparison.n_better,
        "rows": [
            (row.row, f"{row.old:.4g}", f"{row.new:.4g}", tone)
            for rows, tone in ((comparison.worst_rows, "bad"), (comparison.best_rows, "good"))
            for row in rows[:_MAX_ROWS]
        ],
    }
