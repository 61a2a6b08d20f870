"""`rank`: rank sets of all candidates of a table, on this list and beyond it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.confidence import Betting
from tombola.errors import ParameterError
from tombola.pool import Pool
from tombola.racing.ranks import Ranks, close_transitively, n_pairs, rank_sets
from tombola.ranking.paired_tests import pair_pvalues
from tombola.ranking.report import MetricsRanking, Ranking, Reading

Kind = Literal["losses", "scores"]
ReadingName = Literal["this list", "beyond this list"]
EXACT, ESTIMATED = True, False
ROUNDING = 1e-9  # times the number of rows: sums of losses that differ by less are ties


def rank(
    table: Any,
    *,
    kind: Kind | None = None,
    names: Sequence[str] | None = None,
    reading: ReadingName | None = None,
    level: float = 0.05,
    limits: tuple[float, float] | None = None,
    clusters: Any = None,
    seed: int = 0,
) -> Any:
    """Rank the candidates of a table, with the ranks that each of them may have.

    table: a `Pool`, a data frame, or an array of rows x candidates; NaN marks an answer that is missing. A mapping
        from metric names to such tables ranks by several metrics at one shared level.
    kind: "losses" (lower is better) or "scores" (higher is better); a `Pool` always has losses.
    names: the candidates, if the table does not name them.
    reading: "this list" for the order on these rows, exact where the table is full; "beyond this list" for rows as a
        sample of rows like these. By default both for a full table, and "this list" for a partly filled one.
    level: the probability that any rank set of a reading is wrong.
    limits: the smallest and the largest possible value; by default 0 and 1.
    clusters: one value per row; rows of one cluster are treated as one unit.
    seed: fixes the order in which rows are bet on; the rows answered must be a random part of the list.

    Returns a `Ranking`, or a `MetricsRanking` for several metrics.

    >>> print(rank([[0, 1], [0, 1], [0, 0]] * 30, kind="losses", names=["a", "b"], reading="this list"))
    Read as losses: lower is better.
    <BLANKLINE>
    On this list: the ranks are exact, because every candidate has answered every row.
        ranks  candidate   mean loss             interval
            1  a                   0               0 to 0
            2  b              0.6667     0.6667 to 0.6667

    """
    level = _validate.real("rank", "level", level, above=0, below=1)
    if isinstance(table, Mapping) and not hasattr(table, "columns"):
        shared = level / len(table)
        found = {
            name: rank(
                one, kind=kind, names=names, reading=reading, level=shared, limits=limits, clusters=clusters, seed=seed
            )
            for name, one in table.items()
        }
        return MetricsRanking(found, level)
    values, labels, kind = _values(table, names, kind)
    low, high = limits or (0.0, 1.0)
    losses = _losses(values, kind, low, high)
    population = losses.shape[0]
    units, scale = _units(losses, clusters)
    readings = tuple(_in_row_units(one, scale) for one in _readings(units, reading, level, seed))
    answered = losses[~np.isnan(losses).any(axis=1)]
    return Ranking(
        labels,
        kind,
        population,
        answered.mean(axis=0),
        readings,
        0 if clusters is None else units.shape[0],
        (low, high),
    )


def _values(table: Any, names: Sequence[str] | None, kind: Kind | None) -> tuple[Floats, tuple[str, ...], Kind]:
    """Return the numbers, the names of the candidates and the direction of any kind of table."""
    if isinstance(table, Pool):
        if kind == "scores":
            raise ParameterError("rank: expected kind='losses' for a Pool, got 'scores'; a Pool has losses.")
        return np.asarray(table.losses, np.float64), tuple(map(str, names or table.actions)), "losses"
    if kind not in ("losses", "scores"):
        raise ParameterError(
            f"rank: expected kind='losses' (lower is better) or kind='scores' (higher is better), got {kind!r}; "
            "write one of them."
        )
    # Arrow has the columns themselves in `columns`.
    columns = names if names is not None else getattr(table, "column_names", getattr(table, "columns", None))
    values = np.asarray(table, np.float64)
    if values.ndim != 2 or values.shape[0] == 0 or values.shape[1] < 2:
        raise ParameterError(
            f"rank: expected rows x candidates with 2 candidates or more, got shape {values.shape}; give such a table."
        )
    labels = tuple(map(str, columns)) if columns is not None else tuple(str(a) for a in range(values.shape[1]))
    if len(labels) != values.shape[1] or len(set(labels)) != len(labels):
        raise ParameterError(
            f"rank: expected {values.shape[1]} different names, got {len(set(labels))}; name each once."
        )
    return values, labels, kind


def _losses(values: Floats, kind: Kind, low: float, high: float) -> Floats:
    if not low < high:
        raise ParameterError(f"rank: expected limits with low < high, got ({low:g}, {high:g}); write limits=(0, 10).")
    known = values[~np.isnan(values)]
    if known.size and not (low <= known.min() and known.max() <= high):
        raise ParameterError(
            f"rank: expected values from {low:g} to {high:g}, got {known.min():g} to {known.max():g}; "
            "write limits=(smallest, largest) with the range that is possible, not the one that was seen."
        )
    scaled = (values - low) / (high - low)
    return 1.0 - scaled if kind == "scores" else scaled


def _units(losses: Floats, clusters: Any) -> tuple[Floats, float]:
    """Return one row per cluster, and the mean over rows divided by the mean over these.

    A cluster has the sum of its losses over the size of the largest cluster, which is in [0, 1]. The mean over clusters
    is the mean over rows times a constant, so both have the same order, and clusters drawn without replacement keep the
    evidence exact.
    """
    if clusters is None:
        return losses, 1.0
    if len(clusters) != losses.shape[0]:
        raise ParameterError(
            f"rank: expected a cluster for each of the {losses.shape[0]} rows, got {len(clusters)}; give one for each "
            "row."
        )
    _, index, sizes = np.unique(np.asarray([str(one) for one in clusters]), return_inverse=True, return_counts=True)
    sums = np.zeros((sizes.size, losses.shape[1]))
    np.add.at(sums, index, losses)  # a cluster with a missing answer is missing as a whole
    return np.asarray(sums / sizes.max()), float(sizes.size * sizes.max() / losses.shape[0])


def _in_row_units(one: Reading, scale: float) -> Reading:
    """Convert means and variances of clusters to those of rows."""
    low, high = np.minimum(one.low * scale, 1.0), np.minimum(one.high * scale, 1.0)
    return replace(one, low=low, high=high, variance=one.variance * scale**2)


def _readings(units: Floats, wanted: ReadingName | None, level: float, seed: int) -> tuple[Reading, ...]:
    full = not np.isnan(units).any()
    if wanted not in (None, "this list", "beyond this list"):
        raise ParameterError(f"rank: expected reading='this list' or 'beyond this list', got {wanted!r}; write one.")
    answered = units[~np.isnan(units).any(axis=1)]
    if answered.shape[0] == 0:
        raise ParameterError("rank: expected rows that all candidates have answered, got none; fill some rows first.")
    found: list[Reading | None] = []
    if wanted in (None, "this list"):
        found.append(_exact(units, level) if full else _without_replacement(answered, units.shape[0], level, seed))
    if wanted == "beyond this list" or (wanted is None and full):
        found.append(_beyond(answered, level, seed, asked=wanted is not None))
    return tuple(one for one in found if one is not None)


def _variance(rows: Floats) -> Floats:
    """Return the variance of the paired differences of all pairs, shape (k, k)."""
    covariance = np.atleast_2d(np.cov(rows, rowvar=False, ddof=0))
    own = np.diag(covariance)
    return np.asarray(np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0))


def _exact(rows: Floats, level: float) -> Reading:
    """Order the candidates of a full table by their sums; only equal sums stay open."""
    n, k = rows.shape
    totals = rows.sum(axis=0)
    before = totals[:, None] < totals[None, :] - ROUNDING * n
    means = totals / n
    return Reading(
        "this list", EXACT, level, n, before, rank_sets(before), means, means, _variance(rows), n_pairs(k) / level
    )


def _without_replacement(rows: Floats, population: int, level: float, seed: int) -> Reading:
    """Prove an order from the answered rows, a random part of the list, taken in a random order of their own."""
    n, k = rows.shape
    rule = Ranks(k, population, population, level)
    rule.play(rows, np.random.default_rng(seed).permutation(n).astype(np.uint32))
    low, high = _intervals(rows, float(population), level)
    before = rule.before
    return Reading(
        "this list", ESTIMATED, level, n, before, rank_sets(before), low, high, _variance(rows), rule.state.threshold,
        contradiction=bool((before & before.T).any()),
    )  # fmt: skip


def _beyond(rows: Floats, level: float, seed: int, *, asked: bool) -> Reading | None:
    """Prove an order for rows like these: one-sided tests at level / (k (k - 1) / 2), and transitive closure."""
    n, k = rows.shape
    if 2.0**-n > level / n_pairs(k):
        # Even n rows that all agree would not reject one pair.
        if not asked:
            return None
        raise ParameterError(
            f"rank: expected enough rows or clusters to separate {k} candidates at level {level:g}, got {n}, with "
            "which no result could prove anything beyond this list; collect more, or rank on this list only."
        )
    before = close_transitively(pair_pvalues(rows, level=level, seed=seed).T <= level / n_pairs(k))
    contradiction = bool((before & before.T).any())
    low, high = _intervals(rows, np.inf, level)
    ranks = rank_sets(before & ~before.T)
    goal = n_pairs(k) / level
    return Reading(
        "beyond this list", ESTIMATED, level, n, before, ranks, low, high, _variance(rows), goal, contradiction
    )


def _intervals(rows: Floats, population: float, level: float) -> tuple[Floats, Floats]:
    """Return an interval for each mean on its own: exact binomial for 0/1 and independent rows, else by betting."""
    n, k = rows.shape
    if np.isinf(population) and np.isin(rows, (0.0, 1.0)).all():
        from scipy.stats import beta

        wrong = rows.sum(axis=0)
        low = np.where(wrong > 0, beta.ppf(level / 2, np.maximum(wrong, 1), n - wrong + 1), 0.0)
        high = np.where(wrong < n, beta.ppf(1 - level / 2, wrong + 1, np.maximum(n - wrong, 1)), 1.0)
        return np.asarray(low), np.asarray(high)
    statistic = Betting(population, level, k)
    statistic.extend(rows)
    return statistic.lows, statistic.highs
