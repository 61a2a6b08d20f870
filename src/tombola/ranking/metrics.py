"""Tables of candidates to rank, read once: one table, or one per metric."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from tombola._formatting import note_line, option_text
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.tables.costs import AS_REQUESTED
from tombola.tables.options import ReadOptions
from tombola.tables.roles import NOT_SELECTED
from tombola.tables.summary import TableSummary
from tombola.tables.table import parse_table
from tombola.tables.to_pool import (
    check_missing,
    check_scale,
    check_timeouts,
    reading_line,
    reading_remarks,
    source_name,
)
from tombola.units import Kind


class Candidates(NamedTuple):
    """A table to rank, as read: values of all candidates, in the unit of the table.

    values: rows x candidates; NaN marks an answer that is missing.
    unit: the word for the values, such as seconds; "": loss or score.
    range: the smallest and the largest possible value; None: 0 and 1.
    clusters: the cluster of each row; None: every row is a unit.
    left_out: candidates of the table that are not ranked, such as one in another unit.
    remarks: sentences on how the table was read, the direction first.
    notes: columns that are not ranked, and why.
    next_steps: pairs of a purpose and a command line that continues the table as a race.
    runs: all answers, shape (runs, rows, candidates), NaN where a cell has fewer; None if every
        cell has one. Then `values` are means over the runs.
    ignored: columns without a role, with the reason.
    n_masked: rows of the file that sum up others, or that the user leaves out.
    """

    values: Floats
    names: tuple[str, ...]
    kind: Kind
    unit: str = ""
    range: tuple[float, float] | None = None
    clusters: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    next_steps: tuple[tuple[str, str], ...] = ()
    runs: Floats | None = None
    ignored: Mapping[str, str] = MappingProxyType({})
    n_masked: int = 0


def read_candidates(
    source: Any,
    options: ReadOptions | None = None,
    *,
    missing: Literal["keep", "drop", "worst"] | None = "keep",
    is_metric: bool = False,
) -> Candidates:
    """Read a table for `rank`; missing answers are NaN.

    options: how to read it; its column `by` has the clusters.
    missing: as in `rank`; None asks, by a QuestionError, if cells are missing.
    is_metric: whether other tables have other metrics; its range may then be unusual.

    >>> table = read_candidates([[0.0, 1.0], [0.5, float("nan")]], ReadOptions(kind="losses"))
    >>> table.names, table.remarks
    (('0', '1'), ('Read as losses: lower is better. Candidates: 0, 1.',))
    """
    options = (options or ReadOptions())._replace(runs=True)
    parsed = parse_table(source, options)
    kind = parsed.require_direction()
    limits = options.range
    check_timeouts(parsed, missing=missing or "keep")
    if missing is None:
        check_missing(parsed)
        missing = "keep"
    if not is_metric:
        check_scale(parsed, kind, limits)
    # Columns that the user left out need no note.
    ignored = [
        f"{name} ({reason})"
        for name, reason in parsed.ignored.items()
        if reason not in (AS_REQUESTED, NOT_SELECTED)
    ]
    notes: tuple[str, ...] = ()
    if ignored:
        actions = option_text("actions")
        notes = (f"not ranked: {', '.join(ignored)}; name the candidates with {actions}",)
    steps: tuple[tuple[str, str], ...] = ()
    if missing == "keep" and parsed.runs is None:
        name = source_name(source)
        path = f"{name}::{options.sheet}" if options.sheet else name
        steps = tuple(
            (purpose, f"{command} --question ranks")
            for purpose, command in TableSummary(parsed).race_steps(path, limits)
        )
    return Candidates(
        parsed.values,
        tuple(parsed.names),
        kind,
        parsed.unit,
        limits,
        parsed.strata,
        tuple(parsed.other_units),
        (
            reading_line(kind, parsed.unit, parsed.names),
            *reading_remarks(parsed, missing=missing, limits=limits),
            *(note_line(question) for question in parsed.questions),
        ),
        notes,
        steps,
        parsed.runs,
        dict(parsed.ignored),
        parsed.n_masked,
    )


def read_metrics(
    sources: Mapping[str, Any],
    options: ReadOptions | None = None,
    *,
    missing: Literal["keep", "drop", "worst"] | None = "keep",
) -> dict[str, Candidates]:
    """Read one table per metric, with the candidates of all in the order of the first."""
    # The direction of a metric may differ from that of the others; `rank` takes one for each.
    options = options or ReadOptions()
    options = options._replace(kind=options.kind or "losses")
    metrics: dict[str, Candidates] = {}
    for name, source in sources.items():
        table = read_candidates(source, options, missing=missing, is_metric=True)
        # The first table decides which columns are candidates: the range of a metric may look like
        # another quantity.
        options = options._replace(actions=list(table.names))
        first = next(iter(metrics.values()), table)
        if sorted(table.names) != sorted(first.names) or len(table.values) != len(first.values):
            raise ParameterError(
                "rank: expected the same candidates and rows in every metric, got others in "
                f"{name!r}; give tables with the same columns and rows."
            )
        order = [table.names.index(candidate) for candidate in first.names]
        metrics[name] = table._replace(
            names=first.names,
            values=table.values[:, order],
            left_out=first.left_out,
            runs=None if table.runs is None else table.runs[:, :, order],
        )
    return metrics
