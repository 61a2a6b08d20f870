"""`gate`: compare new versions with an old one, each metric with its allowed loss."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tombola import _validate
from tombola._formatting import assignment_text, command_text, join_names, option_text, plural
from tombola._types import Floats
from tombola.errors import ParameterError, TableError
from tombola.evidence.finished_runs import difference_interval, group_runs
from tombola.evidence.paired import Looks, lower_bound
from tombola.evidence.run_noise import run_noise
from tombola.gating.pairs import ROUNDING, Pairs, forecast_rows, make_comparison
from tombola.gating.result import (
    SAME_SCORES,
    Comparison,
    GateResult,
    Verdict,
    same_everywhere,
)
from tombola.gating.versions import (
    Roles,
    Version,
    check_same_rows,
    direction,
    iterate_rows,
    log_files,
    read_versions,
    version_of_values,
)
from tombola.statements import INDEPENDENT_ANSWERS, Reading, largest_cluster_text
from tombola.tables.formats.logs import LogOptions
from tombola.tables.question import Question
from tombola.units import Kind, Units

# Share of the spread above which it counts as all of it.
_MOSTLY = 0.9


def gate(
    old: Any,
    new: Any = None,
    *,
    within: float | Mapping[str, float] | None = None,
    better: bool = False,
    baseline: str | None = None,
    metric: str | Sequence[str] = (),
    kind: Kind | Mapping[str, Kind] | None = None,
    range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    reading: Reading = "beyond",
    looks: Literal[1, "any"] = 1,
    level: float = 0.05,
    by: str = "",
    each_group: bool = False,
    clusters: str = "",
    cluster_size: int | None = None,
    binary: bool = False,
    missing: Literal["error", "drop", "worst"] = "error",
    ids: str = "",
    run: str = "",
    action: str = "",
    run_effects: bool = False,
    unfinished: bool = False,
    candidates: Sequence[str] = (),
    ignore: Sequence[str] = (),
    ignore_rows: Sequence[str] = (),
    seed: int = 0,
) -> GateResult:
    """Decide whether new versions are not worse than an old one, from their finished scores.

    old, new: a file or folder (a table with columns id and score, a log of inspect_ai, lm-eval or
        promptfoo), a data frame, a mapping from rows to scores, or an array of scores, (rows,) or
        (rows, runs). `new` may be a mapping from names to several of them. None: `old` has all
        versions, and `baseline` names the old one.
    within: the allowed loss in the unit of the scores, or one for each metric.
    better: ask for a strictly better version instead, in the metrics without an allowed loss.
    metric: the scores to compare, if there are several.
    kind: "scores" (higher is better) or "losses", also by metric; None if the names state it.
    range: the smallest and the largest possible score; None: 0 and 1.
    reading: "beyond": the rows are a sample of rows like these; "expected": fresh answers on these
        rows; "recorded": the answers in the files.
    looks: 1 if the number of rows was fixed before; "any" if the files grow in the order of the
        answers, and every state of them is looked at.
    level: probability of a wrong verdict. Claims of "worse" share it over versions, metrics and
        deciding groups, claims of "passed" over versions.
    by: a column of groups, which are reported; with `each_group` each must pass.
    clusters: a column of clusters of related rows. Clusters of different sizes need
        `cluster_size`, the largest possible one.
    binary: declare that every score is 0 or 1; "better" is then tested by McNemar's exact test.
    missing: a row without a score: "error", "drop" the row, or count it as the "worst" score.
    ids, run, action: columns with the rows, the numbers of the runs, and the versions.
    run_effects: the answers of one run have a common cause, such as one seed; for "expected".
    unfinished: whether to read a log of a run that was cancelled, or ended in an error.
    candidates: of one table, the columns that are versions. ignore, ignore_rows: columns, and ids
        of rows, to leave out.
    seed: of the random orders of the test.

    ParameterError or TableError if something cannot be measured.

    >>> old = [1, 1, 1, 0] * 100
    >>> print(gate(old, [1, 1, 0, 0] * 100, within=0.02, kind="scores").claim_line())
    new is worse than old by more than 0.02
    >>> gate(old, old, within=0.02, kind="scores").tag
    'PASSED'
    """
    level = _validate.real("gate", "level", level, above=0, below=1)
    _check_choices(reading, looks, missing)
    names = (metric,) if isinstance(metric, str) and metric else tuple(metric)
    if isinstance(within, Mapping) and not names:
        names = tuple(within)
    stated = kind if isinstance(kind, str) else None
    logs = LogOptions(kind=stated, unfinished=unfinished, option="metric")
    roles = Roles(
        ids,
        run,
        action,
        names,
        by,
        clusters,
        logs,
        tuple(candidates),
        tuple(ignore),
        tuple(ignore_rows),
    )
    versions = _versions(old, new, baseline, roles)
    check_same_rows(versions)
    base, *others = versions
    metrics = names or tuple(base.scores)
    margins = _margins(within, metrics, better=better)
    all_units = {name: _units(name, versions, kind, range, missing=missing) for name in metrics}
    if reading != "beyond" and (clusters or binary or looks == "any"):
        option = "clusters" if clusters else "binary" if binary else "looks"
        raise ParameterError(
            f"gate: expected reading='beyond' with {option}, got {reading!r}; leave one of them out."
        )
    settings = Settings(
        reading,
        "any" if looks == "any" else "1",
        missing,
        clusters,
        cluster_size,
        binary,
        run_effects,
        seed,
    )
    pairs: dict[tuple[str, str], Pairs] = {
        (version.name, name): _pair(base, version, name, all_units[name], settings)
        for version in others
        for name in metrics
    }
    group_names = _group_names(base, by)
    # All deciding comparisons must pass, so one of them is enough to hold "passed" at the level;
    # one of them is enough to say "worse", so these claims share it. Versions share both.
    pass_level = level / len(others)
    claims = len(pairs) * (1 + len(group_names) if each_group else 1)
    group_claims = claims if each_group else max(1, len(pairs) * len(group_names))
    comparisons = [
        _compare(own, "", margins[own.metric], pass_level, level / claims, settings)
        for own in pairs.values()
    ]
    groups = [
        _compare(part, group, margins[part.metric], pass_level, level / group_claims, settings)
        for own in pairs.values()
        for group in group_names
        if (part := own.group(base, by, group)).rows
    ]
    only_old = {own.version: own.only_old for own in pairs.values()}
    only_new = {own.version: own.only_new for own in pairs.values()}
    return GateResult(
        base.name,
        tuple(comparisons),
        tuple(groups),
        reading,
        settings.looks,
        level,
        each_group,
        only_old,
        only_new,
        "cluster" if clusters else "row",
        tuple(_notes(versions, pairs, comparisons, settings)),
        assumption=_assumption(pairs, settings),
        ignored={name: why for version in versions for name, why in version.ignored.items()},
        rows_left_out=len(
            frozenset().union(
                *(version.rows_left_out for version in versions),
                *(own.dropped for own in pairs.values()),
            )
        ),
    )


class Settings(NamedTuple):
    """Options of the comparison that do not depend on the metric."""

    reading: Reading
    looks: Looks
    missing: str
    clusters: str
    cluster_size: int | None
    binary: bool
    run_effects: bool
    seed: int


def _check_choices(reading: object, looks: object, missing: object) -> None:
    for name, value, choices in (
        ("reading", reading, ("recorded", "expected", "beyond")),
        ("looks", looks, (1, "any")),
        ("missing", missing, ("error", "drop", "worst")),
    ):
        if value not in choices:
            words = ", ".join(repr(choice) for choice in choices)
            raise ParameterError(
                f"gate: expected {name} to be one of {words}, got {value!r}; write one of them."
            )


def _versions(old: Any, new: Any, baseline: str | None, roles: Roles) -> list[Version]:
    """Return the versions, the old one first."""
    if new is None:
        versions = (
            read_versions([old], roles)
            if not hasattr(old, "columns")
            else _frame_versions(old, roles)
        )
        names = [version.name for version in versions]
        if len(versions) < 2:
            logs = log_files(old) if isinstance(old, str | Path) else []
            remedy = (
                f"name its logs one by one: {' '.join(str(path) for path in logs[:2])}"
                if len(logs) > 1
                else "give the file of another version too"
            )
            raise ParameterError(
                f"gate: expected two versions, got {join_names(names)} only; {remedy}."
            )
        if baseline not in names:
            got = "none" if baseline is None else repr(baseline)
            raise ParameterError(
                f"gate: expected the old version among {join_names(names)}, got {got}; write "
                f"{command_text('baseline', names[0])} if {names[0]} is the old one."
            )
        return sorted(versions, key=lambda version: version.name != baseline)
    several = isinstance(new, Mapping) and all(not np.isscalar(value) for value in new.values())
    is_path = isinstance(old, str | Path)
    if is_path and isinstance(new, str | Path):
        return read_versions([old, new], roles)
    if is_path and isinstance(new, list | tuple) and all(isinstance(v, str | Path) for v in new):
        return read_versions([old, *new], roles)
    versions = [version_of_values(old, baseline or "old", roles)]
    pairs = new.items() if several else [("new", new)]
    return versions + [version_of_values(value, str(name), roles) for name, value in pairs]


def _frame_versions(frame: Any, roles: Roles) -> list[Version]:
    from tombola.gating.versions import _from_columns
    from tombola.tables.formats.frames import read_frame

    return _from_columns(read_frame(frame, "frame"), roles, "frame", wide=True)


def _margins(
    within: float | Mapping[str, float] | None, metrics: Sequence[str], *, better: bool
) -> dict[str, float | None]:
    """Return the allowed loss of each metric; None where the version must be better."""
    margins: dict[str, float | None] = {}
    for name in metrics:
        own = within.get(name) if isinstance(within, Mapping) else within
        metric = name if isinstance(within, Mapping) else ""
        margins[name] = _validate.allowed_loss("gate", own, better=better, metric=metric)
    if isinstance(within, Mapping) and (unknown := [n for n in within if n not in metrics]):
        raise ParameterError(
            f"gate: expected an allowed loss of {join_names(metrics)}, got one of {unknown[0]!r}; "
            "name one of those."
        )
    return margins


def _units(
    metric: str,
    versions: Sequence[Version],
    kind: Kind | Mapping[str, Kind] | None,
    limits: tuple[float, float] | Mapping[str, tuple[float, float]] | None,
    *,
    missing: str,
) -> Units:
    """Return direction and range of a metric; errors if scores are absent or out of range."""
    own = kind.get(metric) if isinstance(kind, Mapping) else kind
    own = own or direction(metric, versions)
    if own is None:
        raise ParameterError(
            f"gate: expected a metric whose direction is known, got {metric!r}; write "
            f"{option_text('kind', 'scores')} if higher is better, {option_text('kind', 'losses')} "
            "if lower is."
        )
    low, high = (limits.get(metric) if isinstance(limits, Mapping) else limits) or (0.0, 1.0)
    for version in versions:
        if metric not in version.scores:
            raise TableError(
                f"{version.name}: expected the metric {metric!r}, got "
                f"{join_names(list(version.scores))}; a metric that is gone fails no gate, it "
                "cannot be measured: name one that all versions have."
            )
        for row, scores in version.scores[metric].items():
            for score in scores:
                if math.isnan(score) and missing == "error":
                    raise Question(
                        version.name,
                        f"expected a score of row {row!r}, got none",
                        ("missing", version.name),
                        (
                            ("it is a failure, which counts as the worst", {"missing": "worst"}),
                            ("the answer is to be about the other rows", {"missing": "drop"}),
                        ),
                    ).error()
                if not math.isnan(score) and not low <= score <= high:
                    example = f"such as {option_text('range', (0.0, 100.0))}"
                    if len(version.scores) > 1:
                        flag = option_text("range")
                        pair = (
                            f" {metric}=LOW,HIGH"
                            if flag.startswith("--")
                            else f"={{{metric!r}: (LOW, HIGH)}}"
                        )
                        example = f"{flag}{pair}"
                    raise TableError(
                        f"{version.name}: expected {metric} from {low:g} to {high:g}, got {score:g} "
                        f"on row {row!r}; write the possible values, {example}."
                    )
    return Units(low, high, scores=own == "scores")


def _run_losses(scores: Sequence[float], units: Units, missing: str) -> list[float]:
    """Return the loss of each run of a row; NaN marks a row that is to be dropped."""
    losses = [units.loss(score) for score in scores]
    return [1.0 if math.isnan(loss) and missing == "worst" else loss for loss in losses]


def _pair(base: Version, version: Version, metric: str, units: Units, settings: Settings) -> Pairs:
    old_rows = base.scores[metric]
    new_rows = version.scores[metric]
    rows = list(iterate_rows(base, version, metric))
    if base.by_place and version.by_place and len(old_rows) != len(new_rows):
        raise TableError(
            f"gate: expected as many rows in both, since they have no ids, got {len(old_rows)} in "
            f"{base.name} and {len(new_rows)} in {version.name}; add a column id."
        )
    losses = {
        row: [_run_losses(own[row], units, settings.missing) for own in (old_rows, new_rows)]
        for row in rows
    }
    dropped = [row for row in rows if any(math.isnan(sum(own)) for own in losses[row])]
    if dropped:
        left_out = {*dropped}
        rows = [row for row in rows if row not in left_out]
    if not rows:
        raise TableError(
            f"gate: expected rows that {base.name} and {version.name} both answered, got none of "
            f"{len(old_rows)} and {len(new_rows)}; give logs of the same rows."
        )
    if settings.binary:
        _check_binary(old_rows, base.name, units)
        _check_binary(new_rows, version.name, units)
    labels = base.labels.get(settings.clusters, {})
    runs = np.full((len(rows), 2, max(len(own) for row in rows for own in losses[row])), np.nan)
    for at, row in enumerate(rows):
        for side, own in enumerate(losses[row]):
            runs[at, side, : len(own)] = own
    means = np.nanmean(runs, axis=2)
    return Pairs(
        version.name,
        metric,
        units,
        rows,
        runs,
        means[:, 0],
        means[:, 1],
        [labels[row] for row in rows] if settings.clusters else None,
        tuple(row for row in old_rows if row not in new_rows),
        tuple(row for row in new_rows if row not in old_rows),
        tuple(dropped),
    )


def _check_binary(rows: Mapping[str, list[float]], name: str, units: Units) -> None:
    for row, scores in rows.items():
        for score in scores:
            if score not in (units.low, units.high) and not math.isnan(score):
                raise TableError(
                    f"{name}: expected scores {units.low:g} or {units.high:g}, as declared, got "
                    f"{score:g} on row {row!r}; leave out {option_text('binary', on=True)}."
                )


def _group_names(base: Version, by: str) -> list[str]:
    return list(dict.fromkeys(base.labels[by].values())) if by else []


def _compare(
    pairs: Pairs,
    group: str,
    within: float | None,
    pass_level: float,
    worse_level: float,
    settings: Settings,
) -> Comparison:
    """Compare two versions by one metric: bounds of the gain, and the verdict from them."""
    units = pairs.units
    gains = pairs.old - pairs.new
    margin = 0.0 if within is None else within / units.gap(1.0)
    verdict: Verdict
    if settings.reading == "recorded":
        mean = math.fsum(gains) / len(gains)
        low = high = mean
        count = len(gains)
        slack = ROUNDING * (1.0 if within is not None else -1.0)
        verdict = "proved" if mean >= -margin - slack else "refuted"
    else:
        low, high, count = gain_limits(pairs, gains, margin, pass_level, worse_level, settings)
        verdict = "refuted" if high <= -margin else "undecided"
        verdict = "proved" if low >= -margin else verdict
    variance, mean_gain = variance_and_mean(pairs, gains, settings)
    # "The versions are equal" is no use where it is refuted, or could not be what is asked.
    equal = within is not None and low <= 0.0 <= high
    forecast = forecast_rows(
        variance, mean_gain, margin, count, pass_level, settings.looks, (low, high), equal=equal
    )
    return make_comparison(
        pairs, verdict, forecast, group, within, low, high, pass_level, worse_level, count
    )


def gain_limits(
    pairs: Pairs,
    gains: Floats,
    margin: float,
    pass_level: float,
    worse_level: float,
    settings: Settings,
) -> tuple[float, float, int]:
    """Return lower and upper bound of the mean gain, and the rows or clusters they are from."""
    if settings.reading == "expected":
        passes = group_runs(pairs.runs)
        differences = passes[:, :, 0] - passes[:, :, 1]
        # The interval has half of its level on each side.
        options = {"run_effects": settings.run_effects}
        lows, _ = difference_interval(differences, 2.0 * pass_level, **options)
        _, highs = difference_interval(differences, 2.0 * worse_level, **options)
        return float(lows), float(highs), len(gains)
    samples, sizes = _samples(pairs, gains, settings)
    tests: dict[str, Any] = {
        "sizes": sizes,
        "looks": settings.looks,
        "seed": settings.seed,
        "binary": settings.binary and pairs.runs.shape[2] == 1 and pairs.clusters is None,
    }
    low = lower_bound(samples, pass_level, margin=margin or None, **tests)
    high = -lower_bound(-samples, worse_level, points=(margin,), **tests)
    return low, high, len(samples)


def _samples(pairs: Pairs, gains: Floats, settings: Settings) -> tuple[Floats, Floats | None]:
    """Return the independent gains: rows, or clusters with their sizes, as `lower_bound` takes them."""
    if pairs.clusters is None:
        return gains, None
    numbers: dict[str, int] = {}
    index = np.array([numbers.setdefault(name, len(numbers)) for name in pairs.clusters])
    counts = np.bincount(index)
    largest = settings.cluster_size or int(counts.max())
    if settings.cluster_size is None and (counts != largest).any():
        raise TableError(
            f"gate: expected clusters of one size, got {int(counts.min())} to {largest} rows; "
            f"write {assignment_text('cluster_size', str(largest))}, or the largest size that a "
            "cluster may have."
        )
    if counts.max() > largest:
        raise TableError(
            f"gate: expected clusters of at most {largest} rows, as declared, got one of "
            f"{int(counts.max())}; declare the largest possible size."
        )
    sums = np.bincount(index, weights=gains)
    sizes = counts / largest
    return sums / largest, None if (sizes == 1.0).all() else sizes


def variance_and_mean(pairs: Pairs, gains: Floats, settings: Settings) -> tuple[float, float]:
    """Return variance and mean of the gain of one row, or of one cluster."""
    if pairs.clusters is not None and settings.reading != "recorded":
        samples, sizes = _samples(pairs, gains, settings)
        share = 1.0 if sizes is None else float(sizes.mean())
        return float(samples.var() / share**2), float(samples.mean() / share)
    return float(gains.var()), float(gains.mean())


def _notes(
    versions: Sequence[Version],
    pairs: Mapping[tuple[str, str], Pairs],
    comparisons: Sequence[Comparison],
    settings: Settings,
) -> list[str]:
    base = versions[0]
    notes = list(dict.fromkeys(note for version in versions for note in version.notes))
    if same_everywhere(comparisons):
        models = {version.model for version in versions}
        same = f"; all logs name the model {base.model}" if base.model and len(models) == 1 else ""
        notes.append(f"{SAME_SCORES}{same}")
    if base.by_place:
        notes.append("rows are paired by their place, since they have no ids")
    notes += [text for own in pairs.values() if (text := _runs_text(base.name, own, settings))]
    if assumption := _assumption(pairs, settings):
        notes.append(f"this holds {assumption}")
    return notes


def _assumption(pairs: Mapping[tuple[str, str], Pairs], settings: Settings) -> str:
    """Return what the level needs beyond the reading, as a clause; "" for nothing."""
    if settings.reading == "expected" and not settings.run_effects:
        return INDEPENDENT_ANSWERS
    sizes = [
        settings.cluster_size or max(Counter(own.clusters).values())
        for own in pairs.values()
        if own.clusters is not None
    ]
    if settings.reading != "beyond" or not sizes:
        return ""
    return largest_cluster_text(max(sizes))


def _runs_text(old: str, pairs: Pairs, settings: Settings) -> str:
    """Return how often answers change from run to run, and what more runs would help; "" without runs.

    The spread of the difference of a row has two parts: the noise of the answers, which more runs
    reduce, and the differences between rows, which only more rows do.
    """
    noise = run_noise(np.moveaxis(pairs.runs, 2, 0))
    if noise is None:
        return ""
    count = pairs.runs.shape[2]
    before, after = (round(float(share) * noise.rows) for share in noise.changed)
    text = (
        f"{count} runs per row: answers change on {plural(before, 'row')} of {old}, {after:,} of "
        f"{pairs.version}"
    )
    if settings.reading != "beyond":
        return text
    spread = float((pairs.old - pairs.new).var())
    counts = (~np.isnan(pairs.runs)).sum(axis=2)
    noisy = float((noise.noise * (1.0 / counts).mean(axis=0)).sum())
    share = min(1.0, noisy / spread) if spread > 0.0 else 0.0
    help_text = (
        "more runs help as much as more rows"
        if share > _MOSTLY
        else (
            "only more rows help" if share < 1.0 - _MOSTLY else "more rows help more than more runs"
        )
    )
    return f"{text}; {100 * share:.0f} % of the spread is from the runs: {help_text}"
