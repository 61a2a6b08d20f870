"""Page of a ranking: the rank sets as bars, candidates down and ranks across."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from tombola._formatting import plural
from tombola.racing.report import rank_bar
from tombola.ranking.report import MetricsRanking, Ranking, Reading
from tombola.report.page import render


def ranking_page(ranking: Ranking | MetricsRanking, title: str) -> str:
    """Return a self-contained HTML page: a section per metric and reading."""
    metrics = ranking.metrics if isinstance(ranking, MetricsRanking) else {"": ranking}
    first = next(iter(metrics.values()))
    lead = f"{plural(len(first.names), 'candidate')}, {plural(first.population, 'row')}"
    if len(metrics) == 1:
        lead += f", read as {first.kind} ({_better(first)}). {first.missing_text}".rstrip()
    else:
        lead += (
            f", {len(metrics)} metrics: "
            f"{', '.join(f'{name} ({_better(one)})' for name, one in metrics.items())}."
        )
    sections = [
        _section(one, reading, name) for name, one in metrics.items() for reading in one.readings
    ]
    front = ranking.front_sentences() if isinstance(ranking, MetricsRanking) else []
    return render(
        "rank.html", title=title, lead=lead, readings=sections, front=front, count=len(first.names)
    )


def _better(ranking: Ranking) -> str:
    return "higher is better" if ranking.kind == "scores" else "lower is better"


def _section(ranking: Ranking, one: Reading, metric: str) -> dict[str, Any]:
    groups = ranking.groups(one.name)
    # Between two settled candidates a line would say nothing that the bars do not.
    starts = {group[0] for above, group in pairwise(groups) if len(above) > 1 or len(group) > 1}
    # Rounded down: 100 % means all.
    share = "all" if one.separated >= 1.0 else f"{math.floor(1000 * one.separated) / 10:g} % of the"
    pairs = f"{share} pairs are separated."
    where = "on this list" if one.name == "this list" else one.name
    rows = []
    for a in ranking.order():
        (first, last), (low, high), name = (
            map(int, one.ranks[a]),
            ranking.interval(a, one.name),
            ranking.names[a],
        )
        bar = rank_bar(
            name, (first, last), len(ranking.names), ranking.value(float(ranking.means[a]))
        )
        rows.append({**bar, "new_group": name in starts, "interval": f"{low:.4g} to {high:.4g}"})
    return {
        "title": f"{metric}, {where}" if metric else where.capitalize(),
        "sentence": one.sentence(),
        "summary": f"{plural(len(groups), 'group')}; {pairs}"
        if len(groups) > 1
        else f"One group; {pairs}",
        "rows": rows,
        "pairs": _pair_runs(one, ranking.order()),
    }


def _pair_runs(one: Reading, order: list[int]) -> list[dict[str, Any]]:
    """Return the matrix of pairs as horizontal runs of equal cells, by mean.

    Runs keep the picture of 240 candidates small. Class "ahead": the row is proved before the
    column; "behind": after.
    """
    before = one.before[np.ix_(order, order)]
    runs = []
    for kind, cells in (("ahead", before & ~before.T), ("behind", before.T & ~before)):
        edges = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        for (row, start), (_, end) in zip(
            np.argwhere(edges == 1), np.argwhere(edges == -1), strict=True
        ):
            runs.append({"kind": kind, "x": int(start), "y": int(row), "width": int(end - start)})
    return runs
