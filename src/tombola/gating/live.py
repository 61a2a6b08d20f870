"""Live gate: the result of a race against a baseline, in the form of a finished gate.

The race decides. The bounds of the change are confidence sequences of the same paired rows, in the
order in which they were counted (docs/theory/gate.md, Live gates).
"""

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from tombola._formatting import join_names, plural
from tombola._types import Floats
from tombola.errors import ParameterError, SessionError
from tombola.evidence.betting import Betting
from tombola.gating._gate import Settings, gain_limits, variance_and_mean
from tombola.gating.pairs import ROUNDING, Pairs, forecast_rows, make_comparison
from tombola.gating.result import (
    SAME_SCORES,
    Comparison,
    GateResult,
    Verdict,
    same_everywhere,
)
from tombola.racing import Race
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.gate import Gate
from tombola.racing.strata import Strata
from tombola.statements import largest_cluster_text

# Levels of the two sides of an interval are half of its level, which must be below 1.
_MAX_LEVEL = 0.999


def gate_of_race(race: Race) -> GateResult:
    """Return the result of a race against a baseline as that of a gate.

    ParameterError if the race has no baseline; SessionError before its first row, or if all calls
    of a version failed.

    >>> race = Race(["old", "new"], rows=400, baseline="old", within=0.1, reading="beyond", seed=1)
    >>> while not race.done:
    ...     for call in race.calls():
    ...         _ = race.record(call, loss=0.0)
    >>> result = gate_of_race(race)
    >>> result.tag, result.comparisons[0].rows < 100
    ('PASSED', True)
    """
    settings = race.settings
    old = settings.baseline
    if old is None:
        raise ParameterError(
            "gate: expected a race against a baseline, got a race without one; give the old "
            "version as baseline."
        )
    if race.always_failed:
        raise SessionError(
            f"gate: expected answers from each version, got failed calls only from "
            f"{join_names(race.always_failed)}; that is no regression: run its command by hand, "
            "then start a new gate."
        )
    names = [name for name in race.candidates if name != old]
    metrics = range(len(settings.metrics))
    comparisons = tuple(_compare(race, name, metric) for name in names for metric in metrics)
    groups = tuple(
        _compare(race, name, metric, group)
        for name in names
        for metric in metrics
        for group in race.by_group
    )
    reported = tuple(
        part for name in names for metric in metrics for part in _reported(race, name, metric)
    )
    return GateResult(
        old,
        comparisons,
        groups or reported,
        race.reading,
        "any",
        settings.level,
        bool(groups),
        unit="row" if race.clusters is None else "cluster",
        notes=tuple(_notes(race, comparisons)),
        race=race.statement,
        assumption=""
        if race.clusters is None
        else largest_cluster_text(race.clusters.cluster_size),
    )


def _compare(race: Race, name: str, metric: int, group: str | None = None) -> Comparison:
    """Return the comparison of one candidate with the baseline, on the rows counted for it."""
    settings = race.settings.of_metric(metric)
    result = race.result_of(metric, group)
    rule = cast("Gate", result.rule)
    # New versions share the levels of the rule, which list and groups share.
    versions = len(race.candidates) - 1
    levels = (rule.level / versions, rule.worse_level / versions)
    pairs = _pairs(race, name, metric, group)
    gains = pairs.old - pairs.new
    margin = settings.within / settings.units.gap(1.0)
    population = result.rows if race.reading == "recorded" else math.inf
    verdict = _verdict(rule, race.candidates.index(name))
    if race.clusters is None:
        bounds = clamped(_both_bounds(gains, population, levels), -margin, verdict)
        return _comparison(pairs, verdict, group or "", settings.within, bounds, levels)
    chosen = _cluster_settings(race.clusters)
    low, high, count = gain_limits(pairs, gains, margin, *levels, chosen)
    bounds = clamped((low, high), -margin, verdict)
    spread = (*variance_and_mean(pairs, gains, chosen), count)
    return _comparison(pairs, verdict, "", settings.within, bounds, levels, spread)


def _cluster_settings(clusters: Strata) -> Settings:
    """Return the settings of a finished gate with the same clusters, looked at at any time."""
    return Settings(
        "beyond",
        "any",
        "error",
        clusters.title,
        clusters.cluster_size,
        binary=False,
        run_effects=False,
        seed=0,
    )


def _reported(race: Race, name: str, metric: int) -> list[Comparison]:
    """Return the comparison of one candidate on each group that is only reported.

    The race ends when the list is decided. Bounds that hold at any look hold there, too: the rows
    of a group are in random order, and the end is a look (docs/theory/gate.md, Live gates).
    """
    if race.reported is None:
        return []
    settings = race.settings.of_metric(metric)
    margin = settings.within / settings.units.gap(1.0)
    pass_level = settings.level / (len(race.candidates) - 1)
    claims = len(race.reported.names) * len(race.settings.metrics)
    levels = (pass_level, pass_level / claims)
    whole = _pairs(race, name, metric, None)
    rows, _ = race.counted_losses(name, metric=metric)
    of_row = [race.reported.of_row[row] for row in rows]
    comparisons = []
    for group, (title, size) in enumerate(
        zip(race.reported.names, race.reported.sizes, strict=True)
    ):
        pairs = whole.at([place for place, number in enumerate(of_row) if number == group])
        if not pairs.rows:
            continue
        gains = pairs.old - pairs.new
        population = size if race.reading == "recorded" else math.inf
        bounds = _both_bounds(gains, population, levels)
        verdict = _verdict_of_bounds(*bounds, -margin)
        comparisons.append(_comparison(pairs, verdict, title, settings.within, bounds, levels))
    return comparisons


def _comparison(
    pairs: Pairs,
    verdict: Verdict,
    group: str,
    within: float,
    bounds: tuple[float, float],
    levels: tuple[float, float],
    spread: tuple[float, float, int] | None = None,
) -> Comparison:
    """Return a comparison of a live gate; parameters as of `make_comparison`, bounds in losses.

    levels: of "passed", and of "worse". spread: variance and mean of the gain of a cluster, and the
        number of clusters; None: those of rows.
    """
    gains = pairs.old - pairs.new
    margin = within / pairs.units.gap(1.0)
    low, high = bounds
    variance, mean, count = spread or (float(gains.var()), float(gains.mean()), len(gains))
    equal = within > 0.0 and low <= 0.0 <= high
    forecast = forecast_rows(variance, mean, margin, count, levels[0], "any", bounds, equal=equal)
    return make_comparison(
        pairs,
        verdict,
        forecast,
        group,
        within or None,
        low,
        high,
        *levels,
        count,
    )


def _verdict_of_bounds(low: float, high: float, limit: float) -> Verdict:
    """Return what the bounds of a mean gain show; a limit of 0 asks for a gain above it.

    >>> _verdict_of_bounds(-0.02, 0.1, -0.02), _verdict_of_bounds(0.0, 0.1, 0.0)
    ('proved', 'undecided')
    """
    slack = ROUNDING if limit == 0.0 else -ROUNDING
    if low >= limit + slack:
        return "proved"
    # Where all rows are known, both bounds are the mean.
    return "refuted" if high < limit + slack else "undecided"


def _both_bounds(
    gains: Floats, population: float, levels: tuple[float, float]
) -> tuple[float, float]:
    """Return the bounds of `gain_bounds`, the lower and the upper one at a level of its own."""
    low, high = gain_bounds(gains, population, levels[0])
    return (low, high if levels[1] == levels[0] else gain_bounds(gains, population, levels[1])[1])


def _pairs(race: Race, name: str, metric: int, group: str | None) -> Pairs:
    rows, new = race.counted_losses(name, group, metric)
    _, old = race.counted_losses(race.settings.baseline or "", group, metric)
    old = old[: len(rows)]
    if not rows:
        raise SessionError(
            f"gate: expected a row{f' of {group}' if group else ''} that both versions have "
            "answered, got none; raise the limit of calls or of cost."
        )
    units = race.settings.of_metric(metric).units
    return Pairs(
        name,
        units.quantity,
        units,
        [race.rows[row] for row in rows],
        np.stack([old, new], axis=1)[:, :, None],
        old,
        new,
        None if race.clusters is None else [race.clusters.label(row) for row in rows],
    )


def _verdict(rule: Elimination, candidate: int) -> Verdict:
    decision = int(rule.state.decision[candidate])
    verdicts: dict[int, Verdict] = {1: "proved", -1: "refuted", 0: "undecided"}
    return verdicts[decision]


def gain_bounds(gains: Floats, population: float, level: float) -> tuple[float, float]:
    """Return bounds of the mean gain, each wrong at any time with probability at most `level`.

    gains: (n,), in [-1, 1], in random order. population: rows of the list that the mean is over;
        infinite if rows are a sample. After the last row of a list the bounds are its mean.

    >>> gain_bounds(np.zeros(40), 40, 0.05)
    (0.0, 0.0)
    """
    if len(gains) == population:
        mean = math.fsum(gains) / len(gains)
        return mean, mean
    sequence = Betting(population=population, level=min(2.0 * level, _MAX_LEVEL))
    sequence.extend(np.clip(0.5 * (1.0 + gains), 0.0, 1.0))
    interval = sequence.interval()
    return 2.0 * interval.low - 1.0, 2.0 * interval.high - 1.0


def clamped(bounds: tuple[float, float], limit: float, verdict: Verdict) -> tuple[float, float]:
    """Return bounds that agree with a verdict about the limit.

    "proved" has shown that the mean is at least the limit, "refuted" that it is at most the limit.
    An open question must not look decided by a bound that another test has moved past the limit.

    >>> clamped((-0.03, 0.1), -0.02, "proved"), clamped((-0.01, 0.1), -0.02, "undecided")[0] < -0.02
    ((-0.02, 0.1), True)
    """
    low, high = bounds
    if low == high:
        return bounds
    if verdict == "proved":
        return max(low, limit), max(high, limit)
    if verdict == "refuted":
        return min(low, limit), min(high, limit)
    return min(low, limit - ROUNDING), max(high, limit + ROUNDING)


def _notes(race: Race, comparisons: Sequence[Comparison]) -> list[str]:
    notes = []
    if same_everywhere(comparisons):
        notes.append(SAME_SCORES)
    if race.stop_reason:
        notes.append(f"stopped {race.stop_reason}")
    if race.failures:
        word = race.settings.units.quantity
        notes.append(f"{plural(race.failures, 'call')} failed, each counts as the worst {word}")
    if race.clusters is not None:
        notes.append(f"this holds {largest_cluster_text(race.clusters.cluster_size)}")
    if race.pilot_text:
        notes.append(race.pilot_text.removesuffix("."))
    return notes
