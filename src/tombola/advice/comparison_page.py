"""HTML page of a CompareReport."""

from collections.abc import Sequence

import numpy as np

from tombola import _statistics
from tombola._formatting import (
    format_estimate,
    format_number,
    format_range,
    join_names,
    plural,
)
from tombola._types import Floats
from tombola.advice.report import CompareReport
from tombola.advice.routing import Explanation
from tombola.budget.optimum import frontier, mean_costs
from tombola.pool import Pool
from tombola.report.chart import Band, Chart, Line, Point
from tombola.report.components import Answer, DotList, DotRow
from tombola.report.evidence_page import CaptionedChart
from tombola.report.page import draw_for_page, render
from tombola.units import Units

# Curves in a chart: more cannot be told apart.
_MAX_CURVES = 8
# Characters of a name in a chart; longer ones are cut in the middle, because they often differ at
# their ends.
_MAX_NAME_LENGTH = 26
# The chart of budgets ends at this multiple of the cost of the best action; more expensive actions
# are not drawn, because they would squeeze the others.
_BUDGET_AXIS_MARGIN = 1.25


def compare_page(report: CompareReport, *, command: str) -> str:
    """Return the HTML page of a comparison, with charts; it needs no other file.

    command: command line that made the page, which it shows.
    """
    pictures = _charts(report)
    return render(
        "compare.html",
        title=f"Comparison of learners on {report.name}",
        lead=_lead(report),
        report=report,
        answer=_answer(report),
        facts=_facts(report),
        rankings={
            order: [report.ranking_cells(row) for row in rows]
            for order, rows in report.rankings.items()
        },
        regret_definition=regret_definition(report),
        routing=_routing_cells(report),
        explained=None if report.routing is None else report.routing.explanation,
        pictures=[
            (picture, draw_for_page(f"compare-{index}", picture.chart))
            for index, picture in enumerate(pictures)
        ],
        advised=None if report.advice.fixed_action else report.advice.learner,
        means=_mean_list(report.pool, report.units),
        command=command,
    )


def _answer(report: CompareReport) -> Answer:
    """Return the advice; it is measured on orders of this table, not proved."""
    summary = report.summary
    facts = (
        ("rows", f"{report.pool.rows:,}"),
        ("best action (exact)", join_names(report.pool.all_best)),
        ("orders played", f"{report.request.repetitions:,}"),
    )
    return Answer("measured", "measured", summary.advice, summary.gain, facts, summary.command)


def _routing_cells(report: CompareReport) -> list[dict[str, str]]:
    """Return the table of routing as text, the best policy first; empty without features."""
    routing = report.routing
    if routing is None:
        return []
    means = [(row, routing.mean(row)) for row in routing.rows]
    means.sort(key=lambda item: item[1].value, reverse=report.units.scores)
    return [
        {
            "name": row.name,
            "mean_loss": format_estimate(mean),
            "spent": "" if row.spent is None else format_estimate(row.spent),
        }
        for row, mean in means
    ]


def _linear(
    title: str,
    x_label: str,
    y_label: str,
    bands: Sequence[Band],
    lines: Sequence[Line] = (),
    points: Sequence[Point] = (),
) -> Chart:
    """Return a chart with linear axes."""
    return Chart(
        title,
        x_label,
        y_label,
        tuple(bands),
        tuple(lines),
        log_x=False,
        log_y=False,
        points=tuple(points),
    )


def _routing_pictures(report: CompareReport) -> list[CaptionedChart]:
    """Return the charts of routing: rows won, capital of the guard, learning curve."""
    routing = report.routing
    explained = None if routing is None else routing.explanation
    if routing is None or explained is None:
        return []
    won = Band("Routed, averaged", routing.rounds, *_statistics.mean_band(routing.won))
    floor = Line("promise", np.array([1.0, float(report.pool.rows)]), np.full(2, -routing.risk))
    capital = Band("capital", routing.rounds, *_statistics.mean_band(explained.capital))
    pictures = [
        _captioned(
            "Averaged over the guard's draws; the mean over "
            f"{plural(routing.gain.repetitions, 'order')} with its 95 % "
            f"interval. The promise of the guard is the line at {-routing.risk:g}. "
            f"{explained.won_text}",
            _linear(
                "Rows won by routing against the safe learner", "round", "rows won", [won], [floor]
            ),
        ),
        _captioned(
            f"Rows that the guard may stake: {routing.risk:g} at first, then what routing has "
            "won. The router is "
            "played with a probability in proportion to it, at most 1.",
            _linear("Capital of the guard", "round", "rows", [capital]),
        ),
    ]
    return [*pictures, *([_learning_curve(report, explained)] if explained.starts.size > 1 else [])]


def _captioned(caption: str, chart: Chart) -> CaptionedChart:
    return CaptionedChart(chart.title, caption, chart)


def _learning_curve(report: CompareReport, explained: Explanation) -> CaptionedChart:
    """Return the mean loss of the router over the rows that it was trained on."""
    pool = report.pool
    units = report.units
    ends = explained.starts[[0, -1]]
    references = {
        f"always {_shorten(pool.actions[pool.best])}": float(pool.means.min()),
        "best action of every row": float(np.asarray(pool.losses).min(axis=1).mean()),
    }
    band = Band(
        "router", explained.starts, *_statistics.mean_band(_in_units(explained.curve, units))
    )
    lines = tuple(
        Line(name, ends, np.full(2, units.number(value))) for name, value in references.items()
    )
    caption = (
        f"Mean {units.quantity} of the unguarded router on the rows after each training. "
        f"{explained.twice_text(units)}"
    )
    title = "Learning curve of the router"
    return _captioned(
        caption,
        Chart(title, "rows trained on", f"mean {units.quantity}", (band,), lines, log_y=False),
    )


def _facts(report: CompareReport) -> list[tuple[str, str]]:
    pool = report.pool
    request = report.request
    mean = report.units.number(float(pool.means[pool.best]))
    facts = [
        ("rows", f"{pool.rows:,}"),
        ("actions", f"{pool.k:,}"),
        ("best fixed action", join_names(pool.all_best)),
        (f"its mean {report.quantity}", f"{mean:.4f}"),
        ("repetitions", str(request.repetitions)),
        ("seed", str(request.seed)),
    ]
    if request.amounts:
        facts.append(("budget", ", ".join(format_number(amount) for amount in request.amounts)))
    if request.target is not None:
        facts.append(("target", format_number(report.units.number(request.target))))
    return facts


def _lead(report: CompareReport) -> str:
    conditions = report.request.conditions
    orders = report.request.orders
    bandit = "outcome and costs" if report.runs.amounts else "outcome"
    feedback = {
        "full": "the learner sees the whole row",
        "bandit": f"the learner sees only the {bandit} of the played action",
    }
    parts = [feedback.get(report.feedback, "learners differ in the feedback they see")]
    if report.row_delays is not None:
        parts.append("feedback arrives {} to {} rounds late".format(*report.row_delays))
    elif conditions.delay:
        parts.append(f"feedback arrives {plural(conditions.delay, 'round')} late")
    parts += [f"a switch costs {conditions.switching_price:g}"] * (conditions.switching_price > 0)
    rows = (
        "Rows are drawn with replacement in iid order"
        if "iid" in orders
        else "Every row is drawn once"
    )
    same = "shuffles" if orders == ("random",) else "orders"
    return (
        f"{rows}, with one action for each; {', '.join(parts)}. All learners played the same "
        f"{same} of the rows."
    )


def _charts(report: CompareReport) -> list[CaptionedChart]:
    """Return the charts of the page, as far as the report has data for them."""
    order = report.advice.order
    count = report.request.repetitions
    learner = report.advice.learner
    n_learners = len(report.runs.learners)
    subject = (
        f"the {_MAX_CURVES} best of {plural(n_learners, 'learner')}"
        if n_learners > _MAX_CURVES
        else plural(n_learners, "learner")
    )
    proved = (
        report.bound is not None and report.bound < report.pool.rows
    )  # a larger bound says nothing
    bound = (
        f" The proved bound for {learner} is {format_number(report.bound or 0.0)}."
        if proved
        else ""
    )
    pictures = [
        CaptionedChart(
            f"Regret over time, {order} order",
            f"Regret so far is {regret_definition(report)}, for {subject}; the band is the 95 % "
            "interval of the mean "
            f"over {plural(count, 'repetition')}.{bound}",
            _regret_chart(report, order),
        )
    ]
    if len(report.runs.orders) > 1:
        bands = [
            _regret_band(report, learner, order, f"{order} order") for order in report.runs.orders
        ]
        title = f"Regret of {learner} over time, in {plural(len(bands), 'order')} of the rows"
        chart = _linear(title, "round", "regret", bands)
        caption = "The same learner on the same rows."
        pictures.append(CaptionedChart(f"{learner} in every order", caption, chart))
    if report.pool.rows > 1:
        caption = (
            "The share of each action in successive slices of the rounds, averaged over "
            f"{plural(count, 'repetition')}."
        )
        pictures.append(
            CaptionedChart(f"Actions of {learner}", caption, _share_chart(report, learner, order))
        )
    return [
        *pictures,
        *_routing_pictures(report),
        *_budget_picture(report),
        *_cost_pictures(report, order),
    ]


def regret_definition(report: CompareReport) -> str:
    """Return the definition of regret for this report, as a noun phrase."""
    if report.request.target is not None:
        return (
            "the cost above the cheapest mix that reaches the target, plus twice the price "
            "of missing it"
        )
    costs = " with switching costs" if report.request.conditions.switching_price > 0 else ""
    side = "below" if report.units.scores else "above"
    best = "mix within the budget" if report.runs.amounts else "action"
    return f"total {report.quantity}{costs} {side} the best fixed {best}"


def _regret_chart(report: CompareReport, order: str) -> Chart:
    """Return mean regret over rounds: the advised learner first, then the best others."""
    advised = report.advice.learner
    ranking = [row.learner for row in report.rankings[order] if row.rank is not None]
    names = list(dict.fromkeys([advised, *ranking]))[:_MAX_CURVES]
    bands = [_regret_band(report, name, order, name) for name in names]
    title = f"Regret over time in {order} order; {ranking[0]} has the smallest at the end"
    lines = []
    # A bound far above the curves would flatten them.
    bound = None if report.bound is None else report.regret_scale * report.bound
    if bound is not None and bound <= 2 * max(float(band.middle.max()) for band in bands):
        ends = np.array([1.0, float(report.pool.rows)])
        lines = [Line(f"bound, {advised}", ends, np.full(2, bound))]
    return _linear(title, "round", "regret", bands, lines)


def _regret_band(report: CompareReport, learner: str, order: str, label: str) -> Band:
    rounds, regrets = report.runs.curve(learner, order)
    return Band(
        _shorten(label),
        rounds.astype(np.float64),
        *_statistics.mean_band(report.regret_scale * regrets),
    )


def _share_chart(report: CompareReport, learner: str, order: str) -> Chart:
    """Return the shares of the most played actions over rounds; others are added up."""
    ends, shares = report.runs.shares(learner, order)
    names = report.runs.actions
    x = ends.astype(np.float64)
    totals = report.runs.cell(learner, order).plays.sum(axis=0)
    ranked = [int(action) for action in np.argsort(-totals, kind="stable")]
    top = ranked if len(ranked) <= _MAX_CURVES else ranked[: _MAX_CURVES - 1]
    curves = [(_shorten(names[action]), shares[:, action]) for action in top]
    if len(top) < len(ranked):
        curves.append(
            (f"{len(ranked) - len(top)} others", shares[:, ranked[len(top) :]].sum(axis=1))
        )
    title = f"Share of each action over time, played by {learner}; most often {names[ranked[0]]}"
    return _linear(
        title,
        "round",
        "share of the rounds",
        [Band(name, x, share, share, share) for name, share in curves],
    )


def _cost_pictures(report: CompareReport, order: str) -> list[CaptionedChart]:
    """Return the costs over time against an even pace, for every resource of a budget."""
    runs = report.runs
    horizon = report.pool.rows
    pictures = []
    ends = np.array([0.0, float(horizon)])
    names = [row.learner for row in report.rankings[order]][:_MAX_CURVES]
    for resource, amount in enumerate(runs.amounts):
        bands = []
        for name in names:
            rounds, spent = runs.spent(name, order)
            bands.append(
                Band(name, rounds.astype(np.float64), *_statistics.mean_band(spent[:, :, resource]))
            )
        target = runs.target_regrets.get(horizon)
        pace = "an even pace"
        total = amount
        caption = f"The budget is {format_number(amount)}; it is never exceeded."
        if target is not None:
            pace = "the cheapest mix"
            total = horizon * target.cost
            caption = f"The cheapest mix that reaches the target costs {format_number(total)}."
        of_resource = f", resource {resource + 1}" if len(runs.amounts) > 1 else ""
        line = Line(pace.removeprefix("an "), ends, ends / horizon * total)
        title = f"Costs over time against {pace}{of_resource}"
        pictures.append(_captioned(caption, _linear(title, "round", "costs so far", bands, [line])))
    return pictures


def _budget_picture(report: CompareReport) -> list[CaptionedChart]:
    """Return the loss of the best mix over the budget, for one resource."""
    if len(report.runs.amounts) != 1:
        return []
    cost, loss, corners = frontier(report.pool)
    if len(corners) < 2:
        return []
    units = report.units
    value = _in_units(loss, units)
    best = Band("best mix", cost * report.pool.rows, value, value, value)
    bands = [best]
    routed = () if report.routing is None else report.routing.quality
    if len(routed) > 1:
        spent, quality = (np.array(column) for column in zip(*sorted(routed), strict=True))
        quality = _in_units(quality, units)
        bands.append(Band("RoutedLP", spent, quality, quality, quality))
    points = _action_points(report, max_cost=_BUDGET_AXIS_MARGIN * float(best.x[-1]))
    names = join_names(
        [_shorten(report.pool.actions[action]) for action in corners], limit=None, last=" and "
    )
    caption = (
        f"Corners are fixed actions: {names}; between them two are mixed. Dots are single actions"
    )
    if hidden := report.pool.k - len(points):
        caption += (
            f"; {hidden} far more expensive {'one is' if hidden == 1 else 'ones are'} not drawn"
        )
    if len(routed) > 1:
        caption += (
            ". RoutedLP chooses by features, on one order at several budgets; the best "
            "mix is the line to beat"
        )
    title = f"Mean {units.quantity} of the best mix over the budget"
    mean = f"mean {units.quantity}"
    chart = _linear(title, "budget for all rows", mean, bands, _limit_lines(report, best), points)
    return [_captioned(f"{caption}.", chart)]


def _in_units(losses: Floats, units: Units) -> Floats:
    """Convert an array of losses to the unit of a table, in the same shape."""
    start = units.number(0.0)
    slope = units.number(1.0) - units.number(0.0)
    return start + slope * losses


def _action_points(report: CompareReport, *, max_cost: float) -> tuple[Point, ...]:
    """Return the cost on all rows and the mean of every action up to this cost."""
    pool = report.pool
    costs = pool.rows * mean_costs(pool)[:, 0]
    actions = zip(
        pool.actions, costs.tolist(), _in_units(pool.means, report.units).tolist(), strict=True
    )
    return tuple(Point(name, cost, mean) for name, cost, mean in actions if cost <= max_cost)


def _limit_lines(report: CompareReport, best: Band) -> tuple[Line, ...]:
    """Return the budget as an upright line and the target as a level one."""
    amounts = report.request.amounts
    target = report.request.target
    lines = []
    if amounts:
        right = float(best.x[-1])
        name = (
            "your budget"
            if amounts[0] <= right
            else f"your budget, {amounts[0]:,.10g}, lies beyond"
        )
        lines.append(
            Line(
                name,
                np.full(2, min(amounts[0], right)),
                np.array([best.middle.min(), best.middle.max()]),
            )
        )
    if target is not None:
        lines.append(
            Line(
                "your target",
                np.array([best.x[0], best.x[-1]]),
                np.full(2, report.units.number(target)),
            )
        )
    return tuple(lines)


def _mean_list(pool: Pool, units: Units) -> DotList:
    """Return the means of all actions, best first, with the interval of a sample."""
    rows = []
    for action in range(pool.k):  # a column at a time: a mapped table may not fit into memory
        estimate = _statistics.mean(np.asarray(pool.losses[:, action], np.float64))
        low, high = estimate.low, estimate.high
        if pool.rows == 1:  # one row has no interval
            low, high = 0.0, 1.0
        ends = units.interval(max(0.0, low), min(1.0, high))
        mean = units.number(float(pool.means[action]))
        name = pool.actions[action]
        words = f"{name}: mean {units.quantity} {mean:.4g}, {format_range(*ends)} as a sample"
        rows.append(DotRow(name, f"{mean:.4f}", *ends, mean, words=words))
    rows.sort(key=lambda row: row.dot or 0.0, reverse=units.scores)
    rows[0] = rows[0]._replace(tone="good")
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    margin = max(0.05 * (high - low), units.gap(0.005))
    low = max(units.low, round(low - margin, 6))
    high = min(units.high, round(high + margin, 6))
    return DotList(tuple(rows), low, high, f"mean {units.quantity}", shown=15)


def _shorten(name: str) -> str:
    """Cut the middle out of a long name: long names often differ at their ends."""
    half = _MAX_NAME_LENGTH // 2
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[:half]}…{name[1 - half :]}"
