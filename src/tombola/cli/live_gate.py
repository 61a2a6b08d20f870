"""Live part of `tombola gate`: run the commands of two versions on a list until it is decided."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tombola.cli.printing import print_error
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.gating import GateResult
    from tombola.racing import RaceSettings, SubprocessEvaluator
    from tombola.racing.settings import FurtherMetric
    from tombola.units import Kind
    from tombola.worklists.race_file import RaceFile

# Names of the versions of a live gate, as in the results.
_OLD = "old"
_NEW = "new"


class LiveOptions(NamedTuple):
    """Options of a live gate, as on the command line; `gate --help-all` explains them."""

    old: str
    new: Sequence[str]
    file: Path | None
    loss: str
    workers: int
    max_calls: int | None
    max_cost: float | None
    max_call_cost: float | None
    timeout: float | None
    retries: int
    shell: bool
    seed: int | None
    quiet: bool
    by: str
    each: bool
    clusters: str
    cluster_size: int | None
    metrics: Sequence[str]

    @property
    def of_race(self) -> dict[str, Any]:
        """Options that a race file has already, by flag."""
        return {
            "--old": self.old,
            "--new": self.new,
            "--file": self.file,
            "--max-call-cost": self.max_call_cost,
            "--seed": self.seed,
            "--metric": self.metrics,
            "--by": self.by,
            "--clusters": self.clusters,
            "--cluster-size": self.cluster_size,
            "--each": self.each,
        }


def run_live(
    rows: Path,
    live: LiveOptions,
    *,
    within: float | dict[str, float] | None,
    better: bool,
    kind: "Kind | Mapping[str, Kind | None] | None",
    limits: Any,
    reading: Any,
    level: float,
    column: str,
) -> "GateResult":
    """Run a live gate, or continue the one in a race file, and return its result."""
    from tombola.cli.race import check_calls, run_commands
    from tombola.gating import gate_of_race
    from tombola.racing.subprocess_evaluator import CallCounts
    from tombola.worklists.race_file import is_race_file

    if is_race_file(rows):
        given = {**live.of_race, "--within": within, "--better": better, "--reading": reading}
        opened, evaluator = _continued(rows, live, given)
    else:
        settings, evaluator = _settings(
            live,
            within=within,
            better=better,
            kind=kind,
            limits=limits,
            reading=reading,
            level=level,
        )
        opened = _started(rows, live, settings, evaluator, column)
    log: Callable[[str], None] | None = None if live.quiet else print_error
    counts = CallCounts()
    with opened as file:
        if is_race_file(rows):
            file.set_limits(max_calls=live.max_calls, max_cost=live.max_cost)
        race = run_commands(
            file, evaluator, live.workers, None, log, counts, f"tombola gate {file.path}"
        )
        check_calls(race.proved, evaluator, counts)
        result = gate_of_race(race)
    if race.limit_reached and race.proved is None:
        is_calls = race.stop_reason.endswith(("call", "calls"))
        option = "--max-calls" if is_calls else "--max-cost"
        step = (
            f"to go on, raise the limit: tombola gate {shlex.quote(str(file.path))} {option} NUMBER"
        )
        result = replace(result, notes=(*result.notes, step))
    return result


def _settings(
    live: LiveOptions,
    *,
    within: float | dict[str, float] | None,
    better: bool,
    kind: "Kind | Mapping[str, Kind | None] | None",
    limits: Any,
    reading: Any,
    level: float,
) -> "tuple[RaceSettings, SubprocessEvaluator]":
    """Return the settings of a new live gate and its commands; ParameterError if some are missing."""
    from tombola.racing import RaceSettings, SubprocessEvaluator

    commands = _commands(live)
    metrics = _metrics(live, within=within, better=better, kind=kind, limits=limits)
    if len(metrics) > 1 and reading == "expected":
        raise ParameterError(
            "--metric: expected one metric with --reading expected, got several; leave --reading "
            "out, or gate finished logs."
        )
    first = metrics[0]
    reading = reading or "beyond"
    settings = RaceSettings(
        tuple(commands),
        live.seed,
        level,
        first.within,
        baseline=_OLD,
        better=first.within == 0.0,
        reading=reading,
        answers="random" if reading == "expected" else "fixed",
        max_calls=live.max_calls,
        max_cost=live.max_cost,
        max_call_cost=live.max_call_cost,
        kind=first.kind,
        range=first.range,
        unit=first.name,
        further=metrics[1:],
    )
    evaluator = SubprocessEvaluator(
        commands,
        live.loss,
        None,
        live.timeout,
        live.retries,
        live.shell,
        settings.units,
        settings.further_units,
    )
    evaluator.check()
    return settings, evaluator


def _metrics(
    live: LiveOptions,
    *,
    within: float | dict[str, float] | None,
    better: bool,
    kind: "Kind | Mapping[str, Kind | None] | None",
    limits: Any,
) -> "tuple[FurtherMetric, ...]":
    """Return the metrics in the order in which commands print them; the name "" without --metric."""
    from tombola import _validate
    from tombola.racing.settings import FurtherMetric
    from tombola.tables.names import direction_of

    names = live.metrics or [""]
    for option, values in (("--within", within), ("--range", limits)):
        if (
            unknown := [name for name in values or () if name not in names]
            if isinstance(values, dict)
            else []
        ):
            raise ParameterError(
                f"{option}: expected metrics of --metric, got {unknown[0]!r}; commands print "
                "numbers without names, so name them in their order: --metric accuracy,format."
            )
    if live.loss == "exit" and len(names) > 1:
        raise ParameterError(
            "--metric: expected one metric with --loss exit, got several; an exit status is one "
            "number: let the commands print the scores, and leave --loss out."
        )
    metrics = []
    for name in names:
        own = kind.get(name) if isinstance(kind, Mapping) else kind
        own = "losses" if live.loss == "exit" else own or direction_of([name])[0]
        if own is None:
            raise ParameterError(
                f"gate: expected the direction of {name or 'the answers'}, got none; add --scores "
                "if higher is better, --losses if lower is."
            )
        margin = within.get(name) if isinstance(within, dict) else within
        label = name if isinstance(within, dict) else ""
        loss = _validate.allowed_loss("gate", margin, better=better, metric=label)
        span = limits.get(name) if isinstance(limits, dict) else limits
        metrics.append(FurtherMetric(name, loss or 0.0, own, tuple(span or (0.0, 1.0))))
    return tuple(metrics)


def _commands(live: LiveOptions) -> dict[str, str]:
    """Return the command of each version, the old one first."""
    if not (live.old and live.new):
        missing = "--old" if not live.old else "--new"
        raise ParameterError(
            f"gate: expected the commands of both versions, got none of {missing}; write "
            f"{missing} 'COMMAND {{row}}'."
        )
    if len(live.new) == 1:
        return {_OLD: live.old, _NEW: live.new[0]}
    commands = {_OLD: live.old}
    for text in live.new:
        name, sign, command = text.partition("=")
        if not (sign and name.strip() and command.strip()) or name.strip() in commands:
            raise ParameterError(
                f"--new: expected a new name for each of several commands, got {text!r}; write "
                "--new 'name=COMMAND {row}'."
            )
        commands[name.strip()] = command.strip()
    return commands


def _started(
    rows: Path,
    live: LiveOptions,
    settings: "RaceSettings",
    evaluator: "SubprocessEvaluator",
    column: str,
) -> "RaceFile":
    """Open the race file of this gate, or start it on a list of rows."""
    from tombola.racing.strata import Strata
    from tombola.tables.cells import read_row_list
    from tombola.worklists.race_file import RaceFile
    from tombola.worklists.race_start import stored_commands

    if live.file is None:
        raise ParameterError(
            "gate: expected a file for the answers, so that the gate can go on after a stop, got "
            "none; write --file my.race."
        )
    row_list = read_row_list(rows, column or None)
    strata = None
    if live.cluster_size and not live.clusters:
        raise ParameterError(
            "--cluster-size: expected the column of the clusters, got none; add --clusters COLUMN."
        )
    if live.clusters and live.by:
        raise ParameterError(
            "--clusters: expected no groups beside clusters in a live gate, got --by; leave one out, "
            "or gate finished scores."
        )
    if live.by:
        labels = row_list.labels(live.by)
        strata = Strata.of(labels, len(row_list.ids), live.by, decides=live.each)
    elif live.clusters:
        labels = row_list.labels(live.clusters, "--clusters")
        sizes = Counter(labels)
        largest = max(sizes.values())
        if live.cluster_size is None and len(set(sizes.values())) > 1:
            raise ParameterError(
                f"--clusters: expected clusters of one size, got {min(sizes.values())} to {largest} "
                f"rows; write --cluster-size {largest}, or the largest size that a cluster may have."
            )
        strata = Strata.of(
            labels,
            len(row_list.ids),
            live.clusters,
            decides=False,
            cluster_size=live.cluster_size or largest,
        )
    stored = stored_commands(evaluator)
    return RaceFile.at(live.file, settings, row_list.ids, stored, strata=strata)


def _continued(
    path: Path, live: LiveOptions, given: Mapping[str, Any]
) -> "tuple[RaceFile, SubprocessEvaluator]":
    """Open the race file of an earlier run; ParameterError if it has no old version."""
    from tombola.worklists.race_file import RaceFile
    from tombola.worklists.race_start import stored_evaluator

    if wrong := [name for name, value in given.items() if value]:
        raise ParameterError(
            f"gate: expected only limits and options of this run, got {wrong[0]}; leave it out, "
            f"{path} has it already."
        )
    file = RaceFile.open(path)
    if file.settings.baseline is None:
        file.close()
        raise ParameterError(
            f"gate: expected a race against a baseline, got {path}, which has none; write tombola "
            f"race run {path}."
        )
    return file, stored_evaluator(file, live.timeout, live.retries)
