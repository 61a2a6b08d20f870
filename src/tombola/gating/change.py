"""Change between two candidates of a table, with the interval that a gate prints."""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.gating._gate import Settings, gain_limits
from tombola.gating.live import gain_bounds
from tombola.gating.pairs import Forecast, Pairs, make_comparison
from tombola.gating.result import Comparison, number_text
from tombola.ranking.metrics import Candidates
from tombola.ranking.result import Ranking
from tombola.statements import Reading


def change_lines(
    table: Candidates,
    ranking: Ranking,
    first: str,
    second: str,
    *,
    missing: str = "keep",
    largest_cluster: int | None = None,
    run_effects: bool = False,
) -> list[str]:
    """Return the change from the first to the second candidate, a line for each reading.

    Each side of an interval holds on its own, at the level of the ranking, for this pair alone. The
    rows are those that both have answered. Other parameters as of `rank`.

    >>> from tombola import rank
    >>> values = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]] * 50)
    >>> table = Candidates(values, ("a", "b"), "scores")
    >>> print(change_lines(table, rank(table), "a", "b")[0])
    a 0.750   b 0.500   change -0.250 exactly, on the answers recorded here
    """
    pairs = _pairs(table, ranking, first, second, missing)
    lines = []
    for reading in ranking.readings:
        settings = Settings(
            reading.name,
            "any" if reading.every_look else "1",
            missing,
            "clusters" if pairs.clusters else "",
            largest_cluster,
            binary=False,
            run_effects=run_effects,
            seed=0,
        )
        comparison = _compare(pairs, settings, reading.level, reading.list_rows)
        lines.append(_text(comparison, first, second, reading.name, settings, reading.level))
    return lines


def _pairs(table: Candidates, ranking: Ranking, first: str, second: str, missing: str) -> Pairs:
    columns = [table.names.index(name) for name in (first, second)]
    values = table.values[None] if table.runs is None else table.runs
    losses = np.asarray(ranking.units.loss(values[:, :, columns]), np.float64)
    if missing == "worst":
        losses = np.where(np.isnan(losses), 1.0, losses)
    complete = ~np.any(np.isnan(losses).all(axis=0), axis=1)
    runs = np.moveaxis(losses[:, complete], 0, 2)
    means = np.nanmean(runs, axis=2)
    rows = np.flatnonzero(complete)
    clusters = None if table.clusters is None else [table.clusters[row] for row in rows]
    units = ranking.units
    names = [str(row) for row in rows]
    return Pairs(second, units.quantity, units, names, runs, means[:, 0], means[:, 1], clusters)


def _compare(pairs: Pairs, settings: Settings, level: float, list_rows: int) -> Comparison:
    gains: Floats = pairs.old - pairs.new
    low, high = _limits(pairs, gains, settings, level, list_rows)
    forecast = Forecast(None, equal=False, settled=1.0)
    return make_comparison(
        pairs, "undecided", forecast, "", None, low, high, level, level, len(gains)
    )


def _limits(
    pairs: Pairs, gains: Floats, settings: Settings, level: float, list_rows: int
) -> tuple[float, float]:
    if settings.reading != "recorded":
        low, high, _ = gain_limits(pairs, gains, 0.0, level, level, settings)
        return low, high
    if len(gains) == list_rows:
        mean = math.fsum(gains) / len(gains)
        return mean, mean
    # The rows answered are a random part, but in the order of the file.
    return gain_bounds(np.random.default_rng(0).permutation(gains), list_rows, level)


def _text(
    comparison: Comparison,
    first: str,
    second: str,
    reading: Reading,
    settings: Any,
    level: float,
) -> str:
    text = number_text(comparison, first, second, reading)
    if comparison.low == comparison.high:
        return text
    looks = "one look" if settings.looks == "1" and reading != "recorded" else "every look"
    return f"{text} ({100 * (1 - level):g} % each side, {looks}, this pair alone)"
