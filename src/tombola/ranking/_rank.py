"""`rank`: rank sets of all candidates of a table, on this list and beyond it."""

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tombola import _validate
from tombola._formatting import assignment_text, is_cli_style, join_names, option_text, plural
from tombola._types import Floats
from tombola.errors import ParameterError, TombolaWarning
from tombola.evidence import Betting
from tombola.pool import Pool
from tombola.racing.rules.ranks import (
    EndlessRanks,
    Ranks,
    close_transitively,
    n_pairs,
    rank_sets,
)
from tombola.ranking.expected import order_in_expectation, pair_goal, passes_of
from tombola.ranking.metrics import Candidates, read_candidates, read_metrics
from tombola.ranking.paired_tests import pair_pvalues
from tombola.ranking.result import MetricsRanking, Ranking, Reading, ReadingName
from tombola.statements import (
    INDEPENDENT_ANSWERS,
    RANDOM_CLUSTER_ORDER,
    RANDOM_CLUSTERS,
    RANDOM_ORDER,
    RANDOM_PART,
    largest_cluster_text,
)
from tombola.tables.names import contrary_names, direction_of
from tombola.tables.options import ReadOptions
from tombola.tables.to_pool import Table, suggested_range
from tombola.tables.unit_checks import columns_in_other_unit, unit_question
from tombola.units import Kind

# Smallest and largest possible value of a table, in its unit; they become losses 0 and 1, or 1 and
# 0 for scores.
Limits = tuple[float, float]
# Values of `Reading.exact`: ranks by counting all rows, or by evidence from some of them.
EXACT = True
ESTIMATED = False
# per row: sums of losses that differ by at most this times the rows are ties, since sums are
# rounded
_ROUNDING = 1e-9


def rank(
    table: Any,
    *,
    kind: Kind | Mapping[str, Kind] | None = None,
    names: Sequence[str] | None = None,
    reading: ReadingName | None = None,
    level: float = 0.05,
    range: Limits | Mapping[str, Limits] | None = None,
    clusters: Any = None,
    in_order: bool = False,
    largest_cluster: int | None = None,
    final_rows: int | None = None,
    binary: bool | None = None,
    missing: Literal["keep", "drop", "worst"] = "keep",
    run_effects: bool = False,
    unit: str | None = None,
    seed: int = 0,
) -> Any:
    """Rank the candidates of a table, with the ranks that each of them may have.

    table: a path, a `Table` of `read_table`, a `Pool`, a data frame, or an array of rows x
        candidates; NaN marks an answer that is missing. A mapping from metric names to such tables
        ranks by several metrics at one shared level.
    kind: "losses" (lower is better) or "scores" (higher is better); a `Table` has its own, a `Pool`
        always losses, and the names in a file may state it. TombolaWarning if the names of the
        columns state the other direction. With several metrics, `kind` and `range` may be mappings.
    names: the candidates; None: the column names, or numbers.
    reading: "recorded" for the order of the answers recorded here, exact where the table is full;
        "expected" for the order of the expected answers to these rows, if answers are random;
        "beyond" for rows as a sample of rows like these, the runs of a row as one unit. None:
        "recorded" and "beyond" for a full table, "recorded" for a partly filled one, "expected" and
        "beyond" for a table with several runs of each row.
    level: the probability that any rank set of a reading is wrong.
    range: the smallest and the largest possible value; None: 0 and 1.
    clusters: one value per row, or the name of a column of a file or data frame; rows of one
        cluster are treated as one unit. None: every row is a unit.
    in_order: the rows are listed in the random order in which they are answered. Then the level
        holds over all looks at the growing table, and the rows before the first incomplete one
        count. Else the rows answered must be a random part of the list, and the level holds for one
        look.
    largest_cluster: the largest possible number of rows of a cluster, also of those not seen. Ranks
        beyond this list need it if the clusters have different sizes; None: the size of all.
    final_rows: with `in_order`, the number of rows that the table will have in the end; None: it is
        open, and bets beyond this list do not aim at a last row.
    binary: True: answers are right or wrong, only the ends of the range (then ranks beyond this list
        are by the exact test of McNemar at the whole level); False: they are not. None: nothing is
        declared; the answers choose the test, at half of the level.
    missing: rows with a missing answer: "keep" takes them as not answered yet; "drop" ranks on the
        other rows only; "worst" counts a missing answer, such as a timeout, as the worst one.
    run_effects: the answers of one run have a common cause, such as one seed or one trained model.
        Then a whole run is one observation of the reading "expected".
    unit: the word for the values in texts, such as seconds; None: that of the column names, else
        loss or score.
    seed: fixes the order in which rows are bet on, if they are not in order.

    Returns a `Ranking`, or a `MetricsRanking` for several metrics. ParameterError if table or
    options do not fit.

    >>> print(rank([[0, 1], [0, 1], [0, 0]] * 30, kind="losses", names=["a", "b"], reading="recorded"))
    Read as losses: lower is better.
    <BLANKLINE>
    All rank sets hold on the answers recorded here for these 90 rows, for certain: the whole table is known.
        ranks  candidate   mean loss             interval
            1  a                   0                exact
            2  b              0.6667                exact
    """
    level = _validate.real("rank", "level", level, above=0, below=1)
    if isinstance(table, Mapping) and not hasattr(table, "columns"):
        options = {"names": names, "reading": reading, "clusters": clusters, "in_order": in_order}
        options |= {"missing": missing, "run_effects": run_effects, "unit": unit, "seed": seed}
        options |= {"largest_cluster": largest_cluster, "final_rows": final_rows, "binary": binary}
        return _rank_metrics(table, kind, range, level, options)
    if isinstance(kind, Mapping) or isinstance(range, Mapping):
        raise ParameterError(
            "rank: expected one kind and one range for one table, got a mapping; give a mapping "
            "of tables too."
        )
    table, clusters = _read_file(table, kind, range, clusters, missing)
    losses, labels, kind, limits = _read(table, names, kind, range)
    runs = _runs(table, labels, kind, limits)
    _, word = direction_of(labels)
    contrary = contrary_names(labels, kind)
    # A pool has losses, whatever its names were made from.
    if contrary and not isinstance(table, Pool) and not is_cli_style():
        better = "higher" if kind == "losses" else "lower"
        warnings.warn(
            f"rank: the names say {better} is better ({join_names(contrary, limit=3)}), but "
            f"kind={kind!r} was given.",
            TombolaWarning,
            stacklevel=2,
        )
    if unit is None:
        unit = table.unit if isinstance(table, Table | Candidates) else word
    if missing not in ("keep", "drop", "worst"):
        choices = ", ".join(option_text("missing", item) for item in ("keep", "drop", "worst"))
        raise ParameterError(
            f"rank: expected one of {choices}, got {missing!r}; write "
            f"{option_text('missing', 'keep')}."
        )
    n_worst = int(np.isnan(losses).sum()) if missing == "worst" else 0
    if n_worst:
        # A cell without any run has one, the worst.
        runs = runs if runs is None else np.where(np.isnan(losses), 1.0, runs)
        losses = np.nan_to_num(losses, nan=1.0)
    complete = np.asarray(~np.isnan(losses).any(axis=1))
    n_dropped = int((~complete).sum()) if missing == "drop" else 0
    if n_dropped:
        if clusters is not None and len(clusters) == len(complete):
            clusters = list(itertools.compress(clusters, complete))
        runs = runs if runs is None else runs[:, complete]
        losses = losses[complete]
        complete = complete[complete]
    if reading not in (None, "recorded", "expected", "beyond"):
        raise ParameterError(
            f"rank: expected {option_text('reading', 'recorded')}, expected or beyond, got "
            f"{reading!r}; write one of them."
        )
    if binary and not np.isin(losses[complete], (0.0, 1.0)).all():
        raise ParameterError(
            f"rank: expected answers that are right or wrong, because of "
            f"{option_text('binary', on=True)}, got one between {limits[0]:g} and {limits[1]:g}; "
            f"leave it out."
        )
    grouping = None if clusters is None else _Clusters.of(clusters, losses, largest_cluster)
    if grouping is not None and in_order:
        grouping.check_order()
    units = losses if grouping is None else grouping.sums
    plan = _Plan(level, seed, in_order=in_order, final_rows=final_rows, binary=binary)
    in_expectation = reading == "expected" or (
        reading is None and runs is not None and complete.all() and not in_order
    )
    results: list[Reading] = []
    if in_expectation:
        _check_expected(complete, in_order=in_order)
        results.append(_expected(losses[None] if runs is None else runs, level, run_effects))
    if reading != "expected":
        chosen = "beyond" if in_expectation else reading
        is_possible = _enough_rows(len(units), len(labels), plan, asked=False) and (
            grouping is None or grouping.goes_beyond
        )
        if not in_expectation or is_possible:
            results += _readings(units, chosen, plan, grouping)
    readings = tuple(
        replace(
            _in_rows(item, grouping, complete, in_order=in_order),
            n_worst=n_worst,
            n_dropped=n_dropped,
        )
        for item in results
    )
    # Losses in [0, 1] are called that, as by `compare`, whatever they count.
    unit = "" if kind == "losses" and limits == (0.0, 1.0) else unit
    n_incomplete = int((~complete).sum())
    # A cluster with a missing answer is not used as a whole.
    used = complete if grouping is None else grouping.complete_rows
    ranking = Ranking(
        labels,
        kind,
        len(losses),
        losses[used].mean(axis=0),
        readings,
        0 if grouping is None else len(units),
        limits,
        n_incomplete,
        unit,
        runs=runs,
        cluster_note="" if grouping is None else grouping.note(readings, reading),
    )
    if isinstance(table, Candidates):
        return replace(
            ranking.without(table.left_out),
            remarks=table.remarks,
            next_steps=table.next_steps,
            ignored=table.ignored,
            n_masked=table.n_masked,
        )
    return ranking.without(table.other_units) if isinstance(table, Table) else ranking


def _rank_metrics(
    tables: Mapping[str, Any],
    kind: Kind | Mapping[str, Kind] | None,
    limits: Limits | Mapping[str, Limits] | None,
    level: float,
    options: dict[str, Any],
) -> MetricsRanking:
    """Rank by each metric at an equal share of the level (a union over metrics)."""
    if not tables:
        raise ParameterError(
            "rank: expected tables of one metric or more, got none; give {'accuracy': table}."
        )
    by_metric: dict[str, Any] = {}
    for what, option in (("kind", kind), ("range", limits)):
        by_metric[what] = option if isinstance(option, Mapping) else dict.fromkeys(tables, option)
        if unknown := [name for name in by_metric[what] if name not in tables]:
            raise ParameterError(
                f"rank: expected {what} of the metrics {', '.join(map(str, tables))}, got "
                f"{unknown[0]!r}; "
                "write one of them."
            )
    if all(isinstance(item, str | Path) for item in tables.values()):
        without = [name for name in tables if by_metric["kind"].get(name) is None]
        if without:
            raise ParameterError(
                f"rank: expected the direction of each metric, got none of {without[0]!r}; write "
                f"kind={{{without[0]!r}: 'scores'}} or 'losses'."
            )
        by = options["clusters"] if isinstance(options["clusters"], str) else None
        tables = read_metrics(tables, ReadOptions(by=by), missing=options["missing"])
        options = {**options, "clusters": None if by else options["clusters"]}
    rankings = {
        str(name): rank(
            item,
            level=level / len(tables),
            **{what: option.get(name) for what, option in by_metric.items()},
            **options,
        )
        for name, item in tables.items()
    }
    first = next(iter(rankings.values()))
    for name, item in rankings.items():
        if item.names != first.names:
            raise ParameterError(
                "rank: expected the same candidates in every metric, got "
                f"{', '.join(item.names[:3])}, ... in {name!r} "
                f"and {', '.join(first.names[:3])}, ... before; give the columns in one order."
            )
    return MetricsRanking(rankings, level)


def _read_file(
    table: Any,
    kind: Kind | None,
    limits: Limits | None,
    clusters: Any,
    missing: Literal["keep", "drop", "worst"],
) -> tuple[Any, Any]:
    """Return a table with its clusters; a path, or a column of clusters, is read here."""
    if isinstance(table, Candidates):
        return table, table.clusters if clusters is None else clusters
    if isinstance(table, str | Path) or isinstance(clusters, str):
        by = clusters if isinstance(clusters, str) else None
        table = read_candidates(table, ReadOptions(kind=kind, range=limits, by=by), missing=missing)
        return table, table.clusters if by else clusters
    return table, clusters


def _read(
    table: Any, names: Sequence[str] | None, kind: Kind | None, limits: Limits | None
) -> tuple[Floats, tuple[str, ...], Kind, Limits]:
    """Return losses in [0, 1], names of the candidates, direction and range of any table."""
    columns: Sequence[Any] | None
    if isinstance(table, Candidates):
        kind = kind or table.kind
        limits = limits or table.range
        values = table.values
        columns = names or table.names
    elif isinstance(table, Table | Pool):
        pool, own = (table, "losses") if isinstance(table, Pool) else (table.pool, table.kind)
        own_limits = limits if isinstance(table, Pool) else table.range
        if kind not in (None, own) or limits not in (None, own_limits):
            raise ParameterError(
                f"rank: expected kind={own!r} and range={own_limits} as in the table, got "
                f"{kind!r} and {limits}; leave "
                "them out, or give them to read_table."
            )
        kind = "scores" if own == "scores" else "losses"
        values = np.asarray(pool.losses, np.float64)
        columns = names or pool.actions
    else:
        if kind not in ("losses", "scores"):
            raise ParameterError(
                "rank: expected kind='losses' (lower is better) or kind='scores' (higher is "
                f"better), got {kind!r}; "
                "write one of them."
            )
        # Arrow has the columns themselves in `columns`.
        columns = (
            names
            if names is not None
            else getattr(table, "column_names", getattr(table, "columns", None))
        )
        try:
            values = np.asarray(table, np.float64)
        except (TypeError, ValueError) as error:
            # Also for timeouts, which `read_table` refuses without their limit: they are no random
            # part of the list.
            raise ParameterError(
                f"rank: expected a table of numbers, got {type(table).__name__} ({error}); write "
                "rank(read_table(...)), which finds the columns of numbers, and explains timeouts."
            ) from None
    if values.ndim != 2 or values.shape[0] == 0 or values.shape[1] < 2:
        raise ParameterError(
            "rank: expected rows x candidates with 2 candidates or more, got shape "
            f"{values.shape}; give such a table."
        )
    labels = tuple(map(str, range(values.shape[1]) if columns is None else columns))
    if len(labels) != values.shape[1] or len(set(labels)) != len(labels):
        raise ParameterError(
            f"rank: expected {values.shape[1]} different names, got {len(set(labels))}; name "
            "each once."
        )
    if isinstance(table, Table):
        # Its values are losses in [0, 1] already.
        return values, labels, kind, table.range
    low, high = limits or (0.0, 1.0)
    return _losses(values, labels, kind, low, high), labels, kind, (low, high)


def _losses(values: Floats, labels: tuple[str, ...], kind: Kind, low: float, high: float) -> Floats:
    if not low < high:
        raise ParameterError(
            f"rank: expected a range with low < high, got ({low:g}, {high:g}); "
            f"write {option_text('range', (0.0, 10.0))}."
        )
    known = values[~np.isnan(values)]
    if known.size and not (low <= known.min() and known.max() <= high):
        got = (
            f"rank: expected values from {low:g} to {high:g}, got {known.min():g} to "
            f"{known.max():g}"
        )
        outside = columns_in_other_unit(values, labels) if (low, high) == (0.0, 1.0) else []
        if outside:
            question = unit_question(values[:, [labels.index(name) for name in outside]])
            raise ParameterError(
                f"{got} (outside only in {join_names(outside)}); {question}, or leave it out."
            )
        suggested = suggested_range(float(known.min()), float(known.max()))
        raise ParameterError(
            f"{got}; write {option_text('range', suggested)}, or the values that are possible, "
            "not those that were "
            "seen."
        )
    scaled = (values - low) / (high - low)
    return 1.0 - scaled if kind == "scores" else scaled


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Rows of a table in clusters, as units of the evidence.

    index: (rows,), the number of the cluster of each row, as they are listed.
    sums: (clusters, k), the sum of the losses of a cluster over `largest`; in [0, 1], NaN if an answer
        is missing. The mean over clusters is the mean over rows times a constant, so both have the
        same order, and clusters drawn without replacement keep the evidence exact.
    sizes: (clusters,), their rows. largest: the largest possible size.
    is_stated: whether the user has stated it.
    """

    index: "np.typing.NDArray[np.int64]"
    sums: Floats
    sizes: "np.typing.NDArray[np.int64]"
    largest: int
    is_stated: bool

    @classmethod
    def of(cls, clusters: Any, losses: Floats, largest: int | None) -> "_Clusters":
        if len(clusters) != losses.shape[0]:
            raise ParameterError(
                f"rank: expected a cluster for each of the {losses.shape[0]} rows, got "
                f"{len(clusters)}; give one for each row."
            )
        numbers: dict[str, int] = {}
        index = np.array([numbers.setdefault(str(name), len(numbers)) for name in clusters])
        sizes = np.bincount(index)
        if largest is not None:
            _validate.integer("rank", "largest_cluster", largest, least=int(sizes.max()))
        bound = int(sizes.max()) if largest is None else largest
        sums = np.zeros((sizes.size, losses.shape[1]))
        np.add.at(sums, index, losses)
        return cls(index, sums / bound, sizes, bound, largest is not None)

    def check_order(self) -> None:
        """Raise ParameterError if the rows of a cluster are in several places."""
        if (np.diff(self.index) < 0).any():
            raise ParameterError(
                "rank: expected the rows of one cluster next to each other in a table in random "
                "order, got a cluster in several places; shuffle whole clusters."
            )

    @property
    def complete_rows(self) -> "np.typing.NDArray[np.bool_]":
        """(rows,): whether the cluster of a row has all its answers."""
        return np.asarray(~np.isnan(self.sums).any(axis=1))[self.index]

    @property
    def goes_beyond(self) -> bool:
        """Whether ranks beyond this list are possible: the largest size is stated, or all are equal.

        The largest cluster of a sample does not bound those to come. Clusters of 1 and 2 rows,
        divided by it, gave a wrong order with probability .125 at level .05.
        """
        return self.is_stated or bool((self.sizes == self.sizes[0]).all())

    @property
    def condition(self) -> str:
        """What ranks beyond this list assume of clusters, as a clause."""
        return largest_cluster_text(self.largest)

    def note(self, readings: tuple[Reading, ...], wanted: ReadingName | None) -> str:
        """Return why the ranks beyond this list were left out; "" if they were not."""
        if self.goes_beyond or wanted is not None or np.isnan(self.sums).any() or not readings:
            return ""
        low, high = int(self.sizes.min()), int(self.sizes.max())
        return (
            f"The clusters have {low} to {plural(high, 'row')}: ranks beyond this list need the "
            f"largest possible size ({assignment_text('largest_cluster', str(high))})."
        )


@dataclass(frozen=True)
class _Plan:
    """Options of the evidence: level, seed, and what is known before the answers."""

    level: float
    seed: int
    in_order: bool
    final_rows: int | None
    binary: bool | None


def _in_row_units(reading: Reading, clusters: _Clusters, *, beyond: bool) -> Reading:
    """Convert means and variances of clusters to those of rows."""
    mean_size = float(clusters.sizes.mean())
    scale = clusters.largest / mean_size
    low, high = reading.low * scale, reading.high * scale
    if beyond and reading.sizes is not None:
        # The mean over rows is a ratio of means over clusters, each known to an interval.
        low = reading.low * clusters.largest / reading.sizes[1]
        high = reading.high * clusters.largest / reading.sizes[0]
    return replace(
        reading,
        low=np.minimum(low, 1.0),
        high=np.minimum(high, 1.0),
        variance=reading.variance * scale**2,
        condition=clusters.condition if beyond else reading.condition,
    )


def _in_rows(
    reading: Reading,
    clusters: _Clusters | None,
    complete: "np.typing.NDArray[np.bool_]",
    *,
    in_order: bool,
) -> Reading:
    """Return a reading that counts rows, and the clusters that they are in, if there are any."""
    if clusters is None or reading.name == "expected":
        return replace(reading, list_rows=len(complete))
    used = clusters.complete_rows
    if in_order and not used.all():
        used = np.arange(len(used)) < int(np.argmin(used))
    return replace(reading, rows=int(used.sum()), clusters=reading.rows, list_rows=len(complete))


def _runs(table: Any, labels: tuple[str, ...], kind: Kind, limits: Limits) -> Floats | None:
    """Return the losses in [0, 1] of all runs, (runs, rows, k); None if cells have one answer."""
    runs = table.runs if isinstance(table, Table | Candidates) else None
    if runs is None or isinstance(table, Table):
        return runs
    flat = _losses(runs.reshape(-1, runs.shape[2]), labels, kind, *limits)
    return flat.reshape(runs.shape)


def _check_expected(complete: Any, *, in_order: bool) -> None:
    """Raise if the reading "expected" is asked for an unfinished table."""
    if in_order or not complete.all():
        got = "rows in order" if in_order else "rows with a missing answer"
        fix = "leave in_order out" if in_order else option_text("missing", "drop")
        raise ParameterError(
            "rank: expected an answer of every candidate to every row for "
            f"{option_text('reading', 'expected')}, got {got}; write {fix}, or "
            f"{option_text('reading', 'beyond')}."
        )


def _expected(runs: Floats, level: float, run_effects: bool) -> Reading:  # noqa: FBT001
    """Prove an order of the expected answers to these rows, from whole passes."""
    passes = passes_of(runs)
    rows, k = passes.shape[1:]
    before, low, high = order_in_expectation(passes, level, run_effects=run_effects)
    means = np.nanmean(runs, axis=0)
    return Reading(
        "expected",
        ESTIMATED,
        level,
        rows,
        before,
        rank_sets(before & ~before.T),
        low,
        high,
        _variance(means),
        pair_goal(k, level),
        condition="" if run_effects else INDEPENDENT_ANSWERS,
        contradiction=bool((before & before.T).any()),
    )


def _readings(
    units: Floats, wanted: ReadingName | None, plan: _Plan, clusters: _Clusters | None
) -> tuple[Reading, ...]:
    missing = np.isnan(units).any(axis=1)
    full = not missing.any()
    in_order = plan.in_order
    # A row that is waited for may depend on its answer, so in order only the rows before it count.
    answered = units[: int(np.argmax(missing))] if in_order and not full else units[~missing]
    n = answered.shape[0]
    population = units.shape[0]
    if n == 0:
        where = "from the first row on" if in_order else "of all candidates"
        raise ParameterError(
            f"rank: expected rows with answers {where}, got none; fill some rows first."
        )
    order = np.arange(n) if in_order else np.random.default_rng(plan.seed).permutation(n)
    readings: list[Reading] = []
    if wanted in (None, "recorded"):
        if full:
            result = _exact(units, plan.level)
        else:
            result = _running(answered[order], population, plan, population)
            condition = RANDOM_ORDER if in_order else RANDOM_PART
            if clusters is not None:
                condition = RANDOM_CLUSTER_ORDER if in_order else RANDOM_CLUSTERS
            result = replace(result, condition=condition)
        readings.append(
            result if clusters is None else _in_row_units(result, clusters, beyond=False)
        )
    if wanted == "beyond" or (wanted is None and full):
        if clusters is not None and not clusters.goes_beyond:
            if wanted is None:
                return tuple(readings)
            largest = int(clusters.sizes.max())
            raise ParameterError(
                "rank: expected the largest possible size of a cluster, because ranks beyond this "
                f"list depend on it, got clusters of {clusters.sizes.min()} to {largest} rows; write "
                f"{assignment_text('largest_cluster', str(largest))}, or a larger number."
            )
        beyond: Reading | None = None
        if in_order:
            beyond = _running(answered, math.inf, plan, _horizon(plan, units))
        elif _enough_rows(n, units.shape[1], plan, asked=wanted is not None):
            beyond = _beyond(answered, plan)
        if beyond is not None and clusters is not None:
            used = np.arange(population) < n if in_order else np.asarray(~missing)
            beyond = _with_sizes(beyond, clusters, used, plan)
            beyond = _in_row_units(beyond, clusters, beyond=True)
        readings += [] if beyond is None else [beyond]
    return tuple(readings)


def _horizon(plan: _Plan, units: Floats) -> int | None:
    """Return the final number of rows or clusters of a table in order; None if it is open.

    The table may grow: with the present number of rows as its end, each look would be another
    test, and the level would hold for one look only.
    """
    if plan.final_rows is None:
        return None
    return _validate.integer("rank", "final_rows", plan.final_rows, least=units.shape[0])


def _with_sizes(
    reading: Reading,
    clusters: _Clusters,
    used: "np.typing.NDArray[np.bool_]",
    plan: _Plan,
) -> Reading:
    """Return a reading with bounds of the mean size of clusters, at half of the level.

    The bounds of the mean losses are at the other half, so both hold at the level.
    """
    if (clusters.sizes == clusters.largest).all():
        return reading
    shares = (clusters.sizes[used] / clusters.largest)[:, None]
    low, high = _intervals(
        np.hstack([clusters.sums[used], shares]),
        math.inf,
        replace(plan, level=plan.level / 2.0, binary=False),
    )
    sizes = (
        clusters.largest * max(float(low[-1]), 1.0 / clusters.largest),
        clusters.largest * float(high[-1]),
    )
    return replace(reading, low=low[:-1], high=high[:-1], sizes=sizes)


def _variance(rows: Floats) -> Floats:
    """Return the variance of the paired differences of all pairs, shape (k, k)."""
    covariance = np.atleast_2d(np.cov(rows, rowvar=False, ddof=0))
    own = np.diag(covariance)
    return np.asarray(np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0))


def _exact(rows: Floats, level: float) -> Reading:
    """Order the candidates of a full table by their sums; only equal sums stay open."""
    n, k = rows.shape
    totals = rows.sum(axis=0)
    before = totals[:, None] < totals[None, :] - _ROUNDING * n
    means = totals / n
    return Reading(
        "recorded",
        EXACT,
        level,
        n,
        before,
        rank_sets(before),
        means,
        means,
        _variance(rows),
        n_pairs(k) / level,
    )


def _running(rows: Floats, population: float, plan: _Plan, horizon: int | None) -> Reading:
    """Prove an order from rows in random order, of a list or (infinite) of a sample.

    horizon: the final number of rows; None if it is open.
    """
    n, k = rows.shape
    level = plan.level
    rule = (
        EndlessRanks(k, population, level)
        if horizon is None
        else Ranks(k, horizon, population, level)
    )
    rule.play(rows, np.arange(n, dtype=np.uint32))
    low, high = _intervals(rows, population, plan)
    before = rule.before
    return Reading(
        "beyond" if population == math.inf else "recorded",
        ESTIMATED,
        level,
        n,
        before,
        rank_sets(before),
        low,
        high,
        _variance(rows),
        rule.state.threshold,
        contradiction=bool((before & before.T).any()),
        every_look=plan.in_order,
    )


def _enough_rows(n: int, k: int, plan: _Plan, *, asked: bool) -> bool:
    """Return whether n rows can prove anything beyond this list; raise if asked."""
    level = plan.level
    # Even n rows that all agree would not reject one pair.
    factor = 2.0 if plan.binary is None else 1.0
    enough = factor * 2.0**-n <= level / n_pairs(k)
    if asked and not enough:
        raise ParameterError(
            f"rank: expected enough rows or clusters to separate {k} candidates at level "
            f"{level:g}, got {n}, with "
            "which no result could prove anything for rows like these; collect more, or write "
            f"{option_text('reading', 'recorded')}."
        )
    return enough


def _beyond(rows: Floats, plan: _Plan) -> Reading:
    """Prove an order for rows like these by one-sided tests and their closure."""
    n, k = rows.shape
    level = plan.level
    pvalues = pair_pvalues(rows, level=level, seed=plan.seed, binary=plan.binary)
    before = close_transitively(pvalues.T <= level / n_pairs(k))
    contradiction = bool((before & before.T).any())
    # A file is often sorted by a column that matters; in its order the bets would follow the
    # sorting.
    low, high = _intervals(rows[np.random.default_rng(plan.seed).permutation(n)], math.inf, plan)
    ranks = rank_sets(before & ~before.T)
    goal = n_pairs(k) / level
    return Reading(
        "beyond",
        ESTIMATED,
        level,
        n,
        before,
        ranks,
        low,
        high,
        _variance(rows),
        goal,
        contradiction,
    )


def _intervals(rows: Floats, population: float, plan: _Plan) -> tuple[Floats, Floats]:
    """Return an interval for each mean: binomial for one look at right or wrong, else by bets.

    If nothing was declared, the answers choose, and each interval has half of the level.
    """
    if math.isfinite(population) or plan.in_order or plan.binary is False:
        return _betting_interval(rows, population, plan.level)
    if plan.binary:
        return _binomial_interval(rows, plan.level)
    is_binary = bool(np.isin(rows, (0.0, 1.0)).all())
    return _intervals(rows, population, replace(plan, level=plan.level / 2.0, binary=is_binary))


def _binomial_interval(rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the interval of Clopper and Pearson of each mean of losses 0 and 1."""
    from scipy.stats import beta

    n = rows.shape[0]
    wrong = rows.sum(axis=0)
    low = np.where(wrong > 0, beta.ppf(level / 2, np.maximum(wrong, 1), n - wrong + 1), 0.0)
    high = np.where(wrong < n, beta.ppf(1 - level / 2, wrong + 1, np.maximum(n - wrong, 1)), 1.0)
    return np.asarray(low), np.asarray(high)


def _betting_interval(rows: Floats, population: float, level: float) -> tuple[Floats, Floats]:
    statistic = Betting(population, level, rows.shape[1])
    statistic.extend(rows)
    means = rows.mean(axis=0)
    # The interval may lie beside the mean of the rows seen. A larger one is valid too, and does not
    # surprise.
    return np.minimum(statistic.lows, means), np.maximum(statistic.highs, means)
