"""Page of a ranking: the rank sets as bars, candidates down and ranks across."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tombola._formatting import format_number, format_range, join_names, plural
from tombola.racing.page import rank_row
from tombola.ranking.result import MetricsRanking, Ranking, Reading
from tombola.report.chart import Chart, Line, Point
from tombola.report.components import Answer, DotList
from tombola.report.page import draw_for_page, render

# Rank sets that the page shows before the rest is folded away: two screens.
_SHOWN_BARS = 40
# Metrics that a scatter shows.
_SCATTER_METRICS = 2
# Height of a name in the scatter, as a share of the height of all points.
_LABEL_HEIGHT = 0.06


def ranking_page(ranking: Ranking | MetricsRanking, title: str) -> str:
    """Return a self-contained HTML page: a section per metric and reading."""
    metrics = ranking.metrics if isinstance(ranking, MetricsRanking) else {"": ranking}
    first = next(iter(metrics.values()))
    lead = f"{plural(len(first.names), 'candidate')}, {plural(first.population, 'row')}"
    if len(metrics) == 1:
        lead += f", read as {first.kind} ({_better(first)}). {first.missing_text}".rstrip()
    else:
        directions = [f"{name} ({_better(metric)})" for name, metric in metrics.items()]
        lead += f", {len(metrics)} metrics: {', '.join(directions)}."
    sections = [
        _section(metric, reading, name)
        for name, metric in metrics.items()
        # An exact order says what everybody can count; the other reading comes first.
        for reading in sorted(metric.readings, key=lambda reading: reading.exact)
    ]
    return render(
        "rank.html",
        title=title,
        lead=lead,
        answer=_answer(ranking, first),
        sections=sections,
        scatter=draw_for_page("rank-scatter", scatter_chart(ranking))
        if isinstance(ranking, MetricsRanking) and len(metrics) == _SCATTER_METRICS
        else None,
        count=len(first.names),
    )


def _better(ranking: Ranking) -> str:
    return "higher is better" if ranking.kind == "scores" else "lower is better"


def _answer(ranking: Ranking | MetricsRanking, first: Ranking) -> Answer:
    """Return who may be the best, and what that rests on."""
    reading = min(first.readings, key=lambda reading: reading.exact)
    if isinstance(ranking, MetricsRanking):
        statement = ranking.statements[ranking.readings.index(reading.name)]
        facts = [("metrics", f"{len(ranking.metrics)}"), ("rows", f"{first.population:,}")]
        left = len(ranking.front(reading.name))
        may = "is" if reading.is_certain else "may be"
        heading = f"{left:,} of {plural(len(first.names), 'candidate')} {may} on the Pareto front"
        sentence = statement.full
        return Answer.from_statement(statement, facts)._replace(heading=heading, sentence=sentence)
    statement = reading.statement(first.names, first.units)
    facts = [
        ("candidates", f"{len(first.names):,}"),
        ("pairs whose order is proved", _share_text(reading)),
    ]
    if (groups := len(first.groups(reading.name))) > 1:
        facts.insert(1, ("groups, each before the next", f"{groups:,}"))
    answer = Answer.from_statement(statement, facts)._replace(sentence=statement.caption)
    if statement.verdict == "undecided" and statement.conclusions:
        return answer._replace(heading=_first_text(first, reading))
    return answer


def _first_text(ranking: Ranking, reading: Reading) -> str:
    """Return how many candidates could be first, and who; the order behind them is open."""
    could = [a for a in ranking.order() if reading.ranks[a, 0] == 1]
    k = len(ranking.names)
    cannot = "" if len(could) == k else f", {k - len(could):,} cannot"
    names = join_names([ranking.names[a] for a in could], limit=3)
    return f"{len(could):,} of {k:,} could be first{cannot}: {names}. The full order is open"


def _share_text(reading: Reading) -> str:
    """Return the share of pairs whose order is proved; rounded down, so that 100 % means all."""
    return "all" if reading.separated >= 1.0 else f"{math.floor(1000 * reading.separated) / 10:g} %"


def _section(ranking: Ranking, reading: Reading, metric: str) -> dict[str, Any]:
    groups = ranking.groups(reading.name)
    # Between two settled candidates a line would say nothing that the bars do not.
    starts = {group[0] for above, group in pairwise(groups) if len(above) > 1 or len(group) > 1}
    share = "all" if reading.separated >= 1.0 else f"{_share_text(reading)} of the"
    pairs = f"{share} pairs are separated."
    bars = []
    means = []
    for a in ranking.order():
        name = ranking.names[a]
        first, last = ranking.rank_set(name, reading.name)
        mean = format_number(ranking.value(float(ranking.means[a])))
        bars.append(rank_row(name, (first, last), mean, separated=name in starts))
        means.append((name, bars[-1].text, mean, format_range(*ranking.interval(a, reading.name))))
    k = len(ranking.names)
    return {
        "title": f"{metric}, {_lower(reading.title)}" if metric else reading.title,
        # With one metric the answer at the top says it.
        "sentence": reading.statement(ranking.names, ranking.units).caption
        if metric or reading.exact
        else "",
        "exact": reading.exact and len(ranking.readings) > 1,
        "summary": f"{plural(len(groups), 'group')}; {pairs}"
        if len(groups) > 1
        else f"There is no such edge yet; {pairs}",
        "bars": DotList(tuple(bars), 0.5, k + 0.5, "rank", _SHOWN_BARS, counts=True),
        "means": means,
        "pairs": _pair_runs(reading, ranking.order()),
    }


def _lower(title: str) -> str:
    """Return the title of a reading as it stands within a sentence."""
    return title[0].lower() + title[1:]


def scatter_chart(ranking: MetricsRanking) -> Chart:
    """Return the means of two metrics as a scatter with its Pareto front."""
    (x_name, x), (y_name, y) = ranking.metrics.items()
    both = [name for name in x.names if name in y.names]
    points = []
    for name in both:
        across = x.value(float(x.means[x.names.index(name)]))
        up = y.value(float(y.means[y.names.index(name)]))
        points.append(Point(name, across, up))
    # Best first in the first metric; a point is on the front if none before it is as good in the
    # second.
    signs = [1 if metric.kind == "scores" else -1 for metric in (x, y)]
    ordered = sorted(points, key=lambda point: (-signs[0] * point.x, -signs[1] * point.y))
    front: list[Point] = []
    for point in ordered:
        if not front or signs[1] * point.y > signs[1] * front[-1].y:
            front.append(point)
    line = Line(
        "front of the means",
        np.array([point.x for point in front]),
        np.array([point.y for point in front]),
    )
    title = f"{x_name} and {y_name}: the means of all candidates, and the front of the means"
    heights = [point.y for point in points]
    named = _points_to_name(front, _LABEL_HEIGHT * (max(heights) - min(heights)))
    # On the better side of the front there is no other point that a name could cover.
    side = (signs[0], signs[1])
    labelled = tuple(
        point._replace(side=side) if any(point is best for best in named) else point
        for point in points
    )
    return Chart(
        title,
        f"mean {x_name} ({_better(x)})",
        f"mean {y_name} ({_better(y)})",
        (),
        (line,),
        log_x=False,
        log_y=False,
        points=labelled,
    )


def _points_to_name(front: Sequence[Point], space: float) -> list[Point]:
    """Return the points whose names get lines of their own; the ends of the front come first.

    space: height of a line in data units.
    """
    named: list[Point] = []
    for point in (front[0], front[-1], *front[1:-1]):
        if all(abs(point.y - other.y) >= space for other in named):
            named.append(point)
    return named


def _pair_runs(reading: Reading, order: list[int]) -> list[dict[str, Any]]:
    """Return the matrix of pairs as horizontal runs of equal cells, by mean.

    Runs keep the picture of 240 candidates small. Class "ahead": the row is proved before the
    column; "behind": after.
    """
    before = reading.before[np.ix_(order, order)]
    runs = []
    for kind, cells in (("ahead", before & ~before.T), ("behind", before.T & ~before)):
        edges = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        for (row, start), (_, end) in zip(
            np.argwhere(edges == 1), np.argwhere(edges == -1), strict=True
        ):
            runs.append({"kind": kind, "x": int(start), "y": int(row), "width": int(end - start)})
    return runs
