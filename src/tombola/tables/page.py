"""Table page: the charts of a comparison on somebody's own table, and its page."""

import numpy as np

from tombola import statistics
from tombola.report.chart import Band, Chart, Line
from tombola.report.compare_page import Comparison, Mean, Picture, Ranking, compare_page
from tombola.statistics import Estimate
from tombola.tables.answer import Answer
from tombola.tables.words import short
from tombola.types import Floats

SHOWN, SLICES, LONGEST = 8, 40, 26


def page_of(report: Answer, *, command: str) -> str:
    """Return the page of a report as the text of an HTML file."""
    pool, question = report.pool, report.question
    first = report.runs.ranking()[0]
    facts = [
        ("rows", f"{pool.rows:,}"), ("actions", f"{pool.k:,}"), ("best fixed action", pool.actions[pool.best]),
        ("its mean loss", f"{pool.means[pool.best]:.4f}"), ("best learner", first),
        ("repetitions", str(question.repetitions)), ("seed", str(question.seed)),
    ]  # fmt: skip
    if question.amounts:
        facts.append(("budget", ", ".join(short(amount) for amount in question.amounts)))
    return compare_page(
        Comparison(
            title=f"Which learner for {report.name}?",
            lead=_lead(report),
            facts=tuple(facts),
            advice=report.advice_line,
            order_words=report.order_words,
            refuted=report.verdict.refuted,
            rankings=tuple(Ranking(order, report.standings(order)) for order in report.runs.orders),
            pictures=tuple(pictures(report)),
            means=tuple(means(report)),
            notes=tuple(report.notes),
            command=command,
        )
    )


def _lead(report: Answer) -> str:
    met = report.question.met
    parts = [
        "the whole row is seen" if met.feedback == "full" or report.runs.amounts else "only the loss played is seen"
    ]
    parts += [f"feedback comes {met.delay} rounds late"] * (met.delay > 0)
    parts += [f"a switch costs {met.switching_price:g}"] * (met.switching_price > 0)
    words = ", ".join(parts)
    return f"Every row once, one action for each; {words}. All learners met the same shuffles of the rows."


def pictures(report: Answer) -> list[Picture]:
    """Return the curves of regret, the share of each action, and what was spent."""
    order = report.runs.orders[0]
    found = [
        Picture(
            f"Regret over time, {order} order",
            f"The loss so far above the comparator's on the same rows, for the {SHOWN} best learners at most; the band "
            "is the 95 % interval of the mean over the repetitions.",
            regret_chart(report, order),
        )
    ]
    best = report.runs.ranking(order)[0]
    if report.pool.rows > 1:
        found.append(
            Picture(
                f"What {best} played",
                "The share of each action in successive slices of the rounds, averaged over the repetitions.",
                share_chart(report, best, order),
            )
        )
    return [*found, *spend_pictures(report, order)]


def regret_chart(report: Answer, order: str) -> Chart:
    """Return the mean regret of the best learners over the rounds."""
    bands = []
    for name in report.runs.ranking(order)[:SHOWN]:
        rounds, regrets = report.runs.curve(name, order)
        bands.append(_band(name, rounds.astype(np.float64), regrets))
    alt = f"Regret over time in {order} order; the smallest at the end is {bands[0].name}"
    return Chart(alt, "round", "regret", tuple(bands), log_x=False, log_y=False, alt=alt)


def share_chart(report: Answer, learner: str, order: str) -> Chart:
    """Return the share of each action over time: those played most, and the others together."""
    ends, shares = report.runs.shares(learner, order)
    names, x = report.runs.actions, ends.astype(np.float64)
    totals = report.runs.cell(learner, order).plays.sum(axis=0)
    ranked = [int(action) for action in np.argsort(-totals, kind="stable")]
    top = ranked if len(ranked) <= SHOWN else ranked[: SHOWN - 1]
    lines = [(_clipped(names[action]), shares[:, action]) for action in top]
    if len(top) < len(ranked):
        lines.append((f"{len(ranked) - len(top)} others", shares[:, ranked[len(top) :]].sum(axis=1)))
    bands = tuple(Band(name, x, share, share, share) for name, share in lines)
    alt = f"Share of each action over time, as {learner} played; most often {names[ranked[0]]}"
    return Chart(alt, "round", "share of the plays", bands, log_x=False, log_y=False, alt=alt)


def spend_pictures(report: Answer, order: str) -> list[Picture]:
    """Return what the learners spent over time against an even pace, for every resource of a budget."""
    amounts, horizon = report.runs.amounts, report.pool.rows
    ends = np.array([0.0, float(horizon)])
    found = []
    for resource, amount in enumerate(amounts):
        bands = []
        for name in report.runs.ranking(order)[:SHOWN]:
            rounds, spent = report.runs.spent(name, order)
            bands.append(_band(name, rounds.astype(np.float64), spent[:, :, resource]))
        which = f", resource {resource + 1}" if len(amounts) > 1 else ""
        alt = f"Spending over time against an even pace{which}"
        lines = (Line("even pace", ends, ends / horizon * amount),)
        chart = Chart(alt, "round", "spent so far", tuple(bands), lines, log_x=False, log_y=False, alt=alt)
        found.append(Picture(alt, f"The budget is {short(amount)}; it is never exceeded.", chart))
    return found


def means(report: Answer) -> list[Mean]:
    """Return the mean loss of every action, with the 95 % interval it would have as a sample."""
    pool = report.pool
    found = []
    for action, name in enumerate(pool.actions):
        estimate = statistics.mean(np.asarray(pool.losses[:, action], np.float64))
        low, high = (estimate.low, estimate.high) if pool.rows > 1 else (0.0, 1.0)
        found.append(Mean(name, float(pool.means[action]), max(0.0, low), min(1.0, high)))
    return found


def _clipped(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _band(name: str, x: Floats, values: Floats) -> Band:
    estimates: list[Estimate] = [statistics.mean(column) for column in values.T]
    return Band(name, x, *(np.array([estimate[i] for estimate in estimates]) for i in range(3)))
