"""Table page: the charts of a comparison on somebody's own table, and its page."""

import numpy as np

from tombola import _statistics
from tombola._formatting import format_number, join_names
from tombola._statistics import Estimate
from tombola._types import Floats
from tombola.advice.report import Answer
from tombola.advice.text import sentences
from tombola.budget.optimum import frontier, mean_costs
from tombola.pool import Pool
from tombola.report.chart import Band, Chart, Line, Point
from tombola.report.compare_page import Compared, Mean, Picture, Ranking, compare_page

SHOWN, SLICES, LONGEST = 8, 40, 26
WIDE = 1.25  # how far beyond the best action the picture of budgets goes


def page_of(answer: Answer, *, command: str) -> str:
    """Return the page of an answer as the text of an HTML file."""
    pool, question, said = answer.pool, answer.question, sentences(answer)
    facts = [
        ("rows", f"{pool.rows:,}"), ("actions", f"{pool.k:,}"), ("best fixed action", pool.actions[pool.best]),
        ("its mean loss", f"{pool.means[pool.best]:.4f}"), ("repetitions", str(question.repetitions)),
        ("seed", str(question.seed)),
    ]  # fmt: skip
    if question.amounts:
        facts.append(("budget", ", ".join(format_number(amount) for amount in question.amounts)))
    if question.target is not None:
        facts.append(("target", format_number(question.target)))
    return compare_page(
        Compared(
            title=f"How to work through {answer.name}",
            lead=_lead(answer),
            answer=said.do,
            reasons=tuple(pair for pair in said.pairs() if pair[0] in ("worth", "how sure", "this table")),
            start=said.start,
            warnings=said.warnings,
            facts=tuple(facts),
            order_words=answer.order_words,
            refuted=answer.verdict.refuted,
            rankings=tuple(Ranking(order, answer.standings(order)) for order in answer.runs.orders),
            pictures=tuple(pictures(answer)),
            means=tuple(means(answer)),
            notes=tuple(answer.notes),
            command=command,
            measure=measure(answer),
        )
    )


def _lead(answer: Answer) -> str:
    met = answer.question.met
    played = "loss and costs of the action played are" if answer.runs.amounts else "the loss played is"
    seen = {"full": "the whole row is seen", "bandit": f"only {played} seen"}
    parts = [seen.get(answer.feedback, "each learner sees what it needs")]
    late = met.delay if answer.delays is None else "{} to {}".format(*answer.delays)
    parts += [f"feedback comes {late} rounds late"] * (late != 0)
    parts += [f"a switch costs {met.switching_price:g}"] * (met.switching_price > 0)
    words = ", ".join(parts)
    orders = answer.question.orders
    rows = "Rows are drawn with replacement in iid order" if "iid" in orders else "Every row once"
    met_by_all = "shuffles" if orders == ("random",) else "orders"
    return f"{rows}, one action for each; {words}. All learners met the same {met_by_all} of the rows."


def pictures(answer: Answer) -> list[Picture]:
    """Return the curves of regret, the share of each action, and what was spent."""
    order, count = answer.advice.order, answer.question.repetitions
    many = len(answer.runs.learners)
    which = f"the {SHOWN} best of {many} learners" if many > SHOWN else f"{many} learners"
    found = [
        Picture(
            f"Regret over time, {order} order",
            f"Regret so far is {measure(answer)}, for {which}; the band is the 95 % interval of the "
            f"mean over {count} repetitions.{_bound_words(answer)}",
            regret_chart(answer, order),
        )
    ]
    played = answer.advice.learner
    if len(answer.runs.orders) > 1:
        found.append(
            Picture(
                f"{played} in every order",
                "The same learner on the same rows, as they come in the orders that were asked for.",
                orders_chart(answer, played),
            )
        )
    if answer.pool.rows > 1:
        found.append(
            Picture(
                f"What {played} played",
                f"The share of each action in successive slices of the rounds, averaged over {count} repetitions.",
                share_chart(answer, played, order),
            )
        )
    return [*found, *budget_picture(answer), *spend_pictures(answer, order)]


def measure(answer: Answer) -> str:
    """Say what regret is here."""
    if answer.question.target is not None:
        return "what is spent above the cheapest mix that reaches the target, and twice the price of each loss too many"
    loss = "loss with the price of switches" if answer.question.met.switching_price > 0 else "loss"
    return f"{loss} above the best fixed {'mix within the budget' if answer.runs.amounts else 'action'}"


def _bound_words(answer: Answer) -> str:
    if answer.bound is None:
        return ""
    return f" The proved bound for {answer.advice.learner} is {format_number(answer.bound)}."


def regret_chart(answer: Answer, order: str) -> Chart:
    """Return the mean regret of the best learners over the rounds, the advised one among them, and its bound."""
    runs, first = answer.runs, answer.advice.learner
    names = list(dict.fromkeys([first, *runs.ranking(order)]))[:SHOWN]
    bands = [_regret_band(answer, name, order, name) for name in names]
    alt = f"Regret over time in {order} order; at the end the smallest is {runs.ranking(order)[0]}"
    top = max(float(band.middle.max()) for band in bands)
    lines = []
    if answer.bound is not None and answer.bound <= 2 * top:
        ends = np.array([1.0, float(answer.pool.rows)])
        lines = [Line(f"bound, {first}", ends, np.full(2, answer.bound))]
    return Chart(alt, "round", "regret", tuple(bands), tuple(lines), log_x=False, log_y=False, alt=alt)


def orders_chart(answer: Answer, learner: str) -> Chart:
    """Return the mean regret of one learner in every order that was asked for."""
    bands = tuple(_regret_band(answer, learner, order, f"{order} order") for order in answer.runs.orders)
    alt = f"Regret of {learner} over time, in {len(bands)} orders of the rows"
    return Chart(alt, "round", "regret", bands, log_x=False, log_y=False, alt=alt)


def _regret_band(answer: Answer, learner: str, order: str, name: str) -> Band:
    rounds, regrets = answer.runs.curve(learner, order)
    return _band(_clipped(name), rounds.astype(np.float64), regrets)


def share_chart(answer: Answer, learner: str, order: str) -> Chart:
    """Return the share of each action over time: those played most, and the others together."""
    ends, shares = answer.runs.shares(learner, order)
    names, x = answer.runs.actions, ends.astype(np.float64)
    totals = answer.runs.cell(learner, order).plays.sum(axis=0)
    ranked = [int(action) for action in np.argsort(-totals, kind="stable")]
    top = ranked if len(ranked) <= SHOWN else ranked[: SHOWN - 1]
    lines = [(_clipped(names[action]), shares[:, action]) for action in top]
    if len(top) < len(ranked):
        lines.append((f"{len(ranked) - len(top)} others", shares[:, ranked[len(top) :]].sum(axis=1)))
    bands = tuple(Band(name, x, share, share, share) for name, share in lines)
    alt = f"Share of each action over time, as {learner} played; most often {names[ranked[0]]}"
    return Chart(alt, "round", "share of the plays", bands, log_x=False, log_y=False, alt=alt)


def spend_pictures(answer: Answer, order: str) -> list[Picture]:
    """Return what the learners spent over time against an even pace, for every resource of a budget."""
    amounts, horizon = answer.runs.amounts, answer.pool.rows
    ends = np.array([0.0, float(horizon)])
    found = []
    for resource, amount in enumerate(amounts):
        bands = []
        for name in answer.runs.ranking(order)[:SHOWN]:
            rounds, spent = answer.runs.spent(name, order)
            bands.append(_band(name, rounds.astype(np.float64), spent[:, :, resource]))
        which = f", resource {resource + 1}" if len(amounts) > 1 else ""
        aim = answer.runs.target_regrets.get(horizon)
        pace, meant, words = "an even pace", amount, f"The budget is {format_number(amount)}; it is never exceeded."
        if aim is not None:
            pace, meant = "the cheapest mix", horizon * aim.cost
            words = f"The cheapest mix that reaches the target spends {format_number(meant)}."
        alt = f"Spending over time against {pace}{which}"
        lines = (Line(pace.removeprefix("an "), ends, ends / horizon * meant),)
        chart = Chart(alt, "round", "spent so far", tuple(bands), lines, log_x=False, log_y=False, alt=alt)
        found.append(Picture(alt, words, chart))
    return found


def budget_picture(answer: Answer) -> list[Picture]:
    """Return the loss of the best mix over the budget, from the cheapest action to the best, for one resource."""
    if len(answer.runs.amounts) != 1:
        return []
    cost, loss, corners = frontier(answer.pool)
    if len(corners) < 2:
        return []
    best = Band("best mix", cost * answer.pool.rows, loss, loss, loss)
    names = join_names([_clipped(answer.pool.actions[action]) for action in corners], limit=None, last=" and ")
    alt = "Mean loss of the best mix over the budget"
    points = _locked(answer.pool, most=WIDE * float(best.x[-1]))
    words = f"Corners are fixed actions: {names}; in between, two of them are mixed. Dots are actions alone"
    if dear := answer.pool.k - len(points):
        words += f"; {dear} that cost{'s' * (dear == 1)} far more {'is' if dear == 1 else 'are'} not drawn"
    chart = Chart(
        alt, "budget for all rows", "mean loss", (best,), _asked(answer, best), log_x=False, log_y=False, alt=alt,
        points=points,
    )  # fmt: skip
    return [Picture(alt, f"{words}.", chart)]


def _locked(pool: Pool, *, most: float) -> tuple[Point, ...]:
    """Return what every action costs and loses on all rows, but for those that cost more than this."""
    costs = pool.rows * mean_costs(pool)[:, 0]
    every = zip(pool.actions, costs.tolist(), pool.means.tolist(), strict=True)
    return tuple(Point(name, cost, loss) for name, cost, loss in every if cost <= most)


def _asked(answer: Answer, best: Band) -> tuple[Line, ...]:
    """Return what was asked for as lines across the curve of best mixes: the budget upright, the target level."""
    amounts, target, found = answer.question.amounts, answer.question.target, []
    if amounts:
        most = float(best.x[-1])
        name = "your budget" if amounts[0] <= most else f"your budget, {amounts[0]:,.10g}, lies beyond"
        ends = np.array([best.middle.min(), best.middle.max()])
        found.append(Line(name, np.full(2, min(amounts[0], most)), ends))
    if target is not None:
        found.append(Line("your target", np.array([best.x[0], best.x[-1]]), np.full(2, target)))
    return tuple(found)


def means(answer: Answer) -> list[Mean]:
    """Return the mean loss of every action, with the 95 % interval it would have as a sample."""
    pool = answer.pool
    found = []
    for action, name in enumerate(pool.actions):
        estimate = _statistics.mean(np.asarray(pool.losses[:, action], np.float64))
        low, high = (estimate.low, estimate.high) if pool.rows > 1 else (0.0, 1.0)
        found.append(Mean(name, float(pool.means[action]), max(0.0, low), min(1.0, high)))
    return found


def _clipped(name: str) -> str:
    """Return a name that fits beside a curve; long ones often differ at their ends, so the middle goes."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[1 - LONGEST // 2 :]}"


def _band(name: str, x: Floats, values: Floats) -> Band:
    estimates: list[Estimate] = [_statistics.mean(column) for column in values.T]
    return Band(name, x, *(np.array([estimate[i] for estimate in estimates]) for i in range(3)))
