"""Page of a ranking: the rank sets as bars, candidates down and ranks across."""

from html import escape
from typing import Any

from tombola.ranking.report import Ranking, Reading
from tombola.report.page import render

MAX_NOTEBOOK_ROWS = 30  # a notebook cell shows the first candidates; the page has all


def ranking_page(ranking: Ranking, title: str) -> str:
    """Return a self-contained HTML page with one section per reading."""
    better = "higher is better" if ranking.kind == "scores" else "lower is better"
    lead = f"{len(ranking.names)} candidates, {ranking.population:,} rows, read as {ranking.kind} ({better})."
    readings = [_section(ranking, one) for one in ranking.readings]
    return render("rank.html", title=title, lead=lead, readings=readings, count=len(ranking.names))


def _section(ranking: Ranking, one: Reading) -> dict[str, Any]:
    groups = ranking.groups(one.name)
    starts = {group[0] for group in groups[1:]}
    pairs = f"{one.separated:.0%} of the pairs are separated."
    return {
        "title": one.name.capitalize(),
        "sentence": one.sentence(),
        "summary": f"{len(groups)} groups; {pairs}" if len(groups) > 1 else f"One group; {pairs}",
        "rows": [_row(ranking, one, a, starts) for a in ranking.order()],
    }


def _row(ranking: Ranking, one: Reading, a: int, starts: set[str]) -> dict[str, Any]:
    first, last = (int(r) for r in one.ranks[a])
    k = len(ranking.names)
    low, high = ranking.interval(a, one.name)
    return {
        "name": ranking.names[a],
        "ranks": f"{first}" if first == last else f"{first} to {last}",
        "sure": first == last,
        "new_group": ranking.names[a] in starts,
        "mean": f"{ranking.value(float(ranking.means[a])):.4g}",
        "interval": f"{low:.4g} to {high:.4g}",
        "left": round(100 * (first - 1) / k, 2),
        "width": round(100 * (last - first + 1) / k, 2),
    }


def table_html(ranking: Ranking) -> str:
    """Return the rank sets as an HTML table for a notebook."""
    parts = []
    for one in ranking.readings:
        rows = [_row(ranking, one, a, set()) for a in ranking.order()[:MAX_NOTEBOOK_ROWS]]
        body = "".join(
            f"<tr><td>{row['ranks']}</td><td style='text-align:left'>{escape(row['name'])}</td>"
            f"<td>{row['mean']}</td><td>{row['interval']}</td></tr>"
            for row in rows
        )
        more = len(ranking.names) - len(rows)
        rest = f"<p>and {more} more</p>" if more else ""
        head = "<tr><th>ranks</th><th style='text-align:left'>candidate</th><th>mean</th><th>interval</th></tr>"
        parts.append(f"<p>{escape(one.sentence())}</p><table>{head}{body}</table>{rest}")
    return "".join(parts)
