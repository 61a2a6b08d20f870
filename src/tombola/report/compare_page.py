"""The page of a comparison: rankings, curves and the actions of a table, from plain data to one HTML file."""

from typing import NamedTuple

from tombola.report.chart import Chart
from tombola.report.page import drawing, render


class RankingRow(NamedTuple):
    """One line of a ranking, in words; `spent` is empty where there is no budget, `rank` for what is no learner."""

    rank: str
    learner: str
    mean_loss: str
    regret: str
    switches: str
    spent: str
    above: str


class Ranking(NamedTuple):
    """The learners in one order of the rows, the best first."""

    order: str
    standings: tuple[RankingRow, ...]


class Mean(NamedTuple):
    """The mean loss of an action, and the interval it would have as a sample."""

    action: str
    value: float
    low: float
    high: float


class Picture(NamedTuple):
    """A chart with its heading, and a sentence on how to read it."""

    heading: str
    words: str
    chart: Chart


class Compared(NamedTuple):
    """All that the page says."""

    title: str
    lead: str
    answer: str
    reasons: tuple[tuple[str, str], ...]
    start: str
    warnings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    order_words: str
    refuted: bool
    rankings: tuple[Ranking, ...]
    pictures: tuple[Picture, ...]
    means: tuple[Mean, ...]
    notes: tuple[str, ...]
    command: str
    measure: str = "loss above the best fixed action"  # what regret is


class Strip(NamedTuple):
    """A mean as a strip in a picture: where it begins, ends and has its dot, in per cent of the width."""

    action: str
    text: str
    left: float
    width: float
    dot: float


def compare_page(comparison: Compared) -> str:
    """Return the page of a comparison."""
    drawings = [drawing(f"compare-{i}", picture.chart) for i, picture in enumerate(comparison.pictures)]
    pictures = list(zip(comparison.pictures, drawings, strict=True))
    low, high = limits(comparison.means)
    values = {"title": comparison.title, "lead": comparison.lead, "ticks": [f"{low:.3g}", f"{high:.3g}"]}
    return render("compare.html", page=comparison, pictures=pictures, strips=strips(comparison.means), **values)


def limits(means: tuple[Mean, ...]) -> tuple[float, float]:
    """Return the ends of the axis: a little beyond all intervals, within [0, 1].

    >>> limits((Mean("a", 0.5, 0.4, 0.6),))
    (0.39, 0.61)
    """
    low, high = min(mean.low for mean in means), max(mean.high for mean in means)
    margin = max(0.05 * (high - low), 0.005)
    return max(0.0, round(low - margin, 6)), min(1.0, round(high + margin, 6))


def strips(means: tuple[Mean, ...]) -> list[Strip]:
    """Return the strips, the smallest mean first."""
    low, high = limits(means)
    scale = 100 / (high - low)
    found = []
    for mean in sorted(means, key=lambda one: one.value):
        left, dot, right = (scale * (min(max(x, low), high) - low) for x in (mean.low, mean.value, mean.high))
        found.append(Strip(mean.action, f"{mean.value:.4f}", round(left, 2), round(right - left, 2), round(dot, 2)))
    return found
