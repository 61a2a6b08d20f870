"""Summary of a table as detected, for `tombola describe`."""

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import (
    format_percent,
    join_names,
    option_text,
    plural,
    truncate,
)
from tombola.errors import TableError
from tombola.tables.names import IDS
from tombola.tables.options import ParsedTable, ReadOptions
from tombola.tables.runs import run_spread
from tombola.tables.table import parse_table
from tombola.tables.to_pool import (
    MAX_DROPPED_SHARE,
    TIME_LIMIT,
    direction_text,
    incomplete_rows,
    range_option,
    suggested_range,
    value_range,
)
from tombola.units import Kind

# Actions and rows in the sample of a table: as many as fit on a terminal.
_SAMPLE_ACTIONS = 6
_SAMPLE_ROWS = 3
# Share of incomplete rows from which a race is offered: it uses every filled cell, and dropping the
# rows does not.
_MANY_INCOMPLETE = 0.05
# Placeholder of ten time limits: a command line does not multiply.
_TENFOLD_LIMIT = f"TEN_TIMES_{TIME_LIMIT}"


class GroupRow(NamedTuple):
    """One group of rows: its size, and the best and second action by mean.

    Means are in the unit of the table, over filled cells, of which there are `cells`; NaN, with the
    name "", if there are none. Without a known direction, `best` has the largest mean and `second`
    the smallest.
    """

    name: str
    rows: int
    cells: int
    best: str
    best_mean: float
    second: str
    second_mean: float


def group_rows(
    values: NDArray[Any], strata: Sequence[str], actions: Sequence[str], kind: Kind | None
) -> list[GroupRow]:
    """Return the best and the second action of each group, the largest group first.

    values: shape (rows, actions), in the unit of the table; NaN for missing cells.
    strata: group of each row.

    >>> values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]])
    >>> [(one.name, one.rows, one.best) for one in group_rows(values, ["x", "y", "x"], ["a", "b"], "losses")]
    [('x', 2, 'a'), ('y', 1, 'b')]
    """
    labels = np.array(strata, dtype=object)
    groups = []
    for name in dict.fromkeys(strata):
        part = np.asarray(values[labels == name], float)
        filled = ~np.isnan(part)
        counts = filled.sum(axis=0)
        known = np.flatnonzero(counts)
        means = np.where(filled, part, 0.0).sum(axis=0)[known] / counts[known]
        # Stable: equal means stay in the order of the columns.
        order = np.argsort(means if kind == "losses" else -means, kind="stable")
        places = (
            []
            if order.size == 0
            else [order[0], order[-1 if kind is None else min(1, order.size - 1)]]
        )
        cells = [(str(actions[known[at]]), float(means[at])) for at in places] or [("", np.nan)] * 2
        groups.append(GroupRow(str(name), len(part), int(filled.sum()), *cells[0], *cells[1]))
    return sorted(groups, key=lambda group: -group.rows)


class TableSummary(NamedTuple):
    """Summary of a table: facts, a sample, and the options that it needs."""

    parsed: ParsedTable

    @property
    def n_missing(self) -> int:
        """The number of cells without a value, over all rows and actions."""
        return (
            int(np.isnan(self.parsed.values).sum()) if self.parsed.values.dtype.kind == "f" else 0
        )

    @property
    def _n_incomplete(self) -> int:
        """The number of rows that lack a value, a cost or the delay."""
        without_value, without_cost = incomplete_rows(self.parsed)
        return int((without_value | without_cost).sum())

    @property
    def is_unfinished(self) -> bool:
        """Whether more than half of the rows are incomplete, without stated timeouts."""
        return (
            self._n_incomplete > MAX_DROPPED_SHARE * len(self.parsed.values)
            and not self.parsed.has_timeouts
        )

    def facts(self) -> list[tuple[str, str]]:
        """Return detected columns and missing values as pairs (heading, text)."""
        parsed = self.parsed
        (low, high) = self._value_range()
        direction = "the names do not state whether lower is better"
        if parsed.kind is not None:
            direction = direction_text(parsed.kind, parsed.unit)
        facts = [
            ("rows", f"{parsed.values.shape[0]:,}"),
            ("actions", f"{len(parsed.names):,}: {join_names(parsed.names, limit=12, length=40)}"),
            ("values", f"{low:g} to {high:g}, {direction}"),
            ("missing", self._missing_text()),
        ]
        facts += _run_facts(parsed)
        if parsed.ids is not None:
            facts.append(("ids", join_names(parsed.ids, limit=3, length=40)))
        if parsed.costs is not None:
            facts.append(("costs", _cost_ranges(parsed.costs)))
        if parsed.delays is not None:
            facts.append(
                ("delays", f"{_range_text(parsed.delays)} rounds{_missing_suffix(parsed.delays)}")
            )
        if parsed.groups:
            groups = [f"{name} ({plural(count, 'group')})" for name, count in parsed.groups.items()]
            facts.append(("groups", join_names(groups, limit=12)))
        if names := parsed.feature_names:
            facts.append(("features", f"{len(names):,}: {join_names(names, limit=12, length=40)}"))
        if names := parsed.possible_features:
            hint = f"({option_text('features', 'NAMES')}, if known before the action is chosen)"
            facts.append(("could be features", f"{join_names(names, limit=12, length=40)} {hint}"))
        ignored = [
            (name or "(no name)", reason)
            for name, reason in parsed.ignored.items()
            if name not in parsed.groups
        ]
        return [*facts, *(("ignored", f"{name}: {reason}") for name, reason in ignored)]

    @property
    def quantity(self) -> str:
        """The word for the numbers: their unit, such as seconds, or loss, score or value."""
        return (
            self.parsed.unit
            or {"losses": "loss", "scores": "score", None: "value"}[self.parsed.kind]
        )

    def by_group(self) -> list[GroupRow]:
        """Return the best and second action of each group; empty without the option `by`."""
        parsed = self.parsed
        return (
            []
            if parsed.strata is None
            else group_rows(parsed.values, parsed.strata, parsed.names, parsed.kind)
        )

    def sample(self) -> tuple[list[str], list[list[str]]]:
        """Return header and first rows of a corner of the table, as text."""
        parsed = self.parsed
        names = self.parsed.names
        more = ["..."] if len(names) > _SAMPLE_ACTIONS else []
        header = [*(truncate(name, 24) for name in names[:_SAMPLE_ACTIONS]), *more]
        corner = parsed.values[:_SAMPLE_ROWS, :_SAMPLE_ACTIONS]
        rows = [[*(f"{number:.6g}" for number in row), *more] for row in corner]
        if parsed.ids is None:
            return header, rows
        return ["id", *header], [
            [truncate(parsed.ids[at], 24), *row] for at, row in enumerate(rows)
        ]

    def next_steps(self, command: str, source: str) -> list[tuple[str, str]]:
        """Return the commands to run next, as pairs (purpose, command line).

        It is a race that fills the missing cells if more than half of the rows are incomplete, else
        a comparison.

        command: `tombola compare` with the table, as typed; missing options are appended.
        source: path of the table.
        """
        if self.is_unfinished and (races := self.race_steps(source)):
            return races
        words = command.split()
        steps = []
        for kind, condition in self._directions():
            needed = [
                option for option in self.needed_options(kind) if option.split()[0] not in words
            ]
            steps.append((condition or "compare the learners", " ".join([command, *needed])))
        limit = option_text("range", (0.0, TIME_LIMIT))
        if limit in steps[0][1]:
            tenfold = option_text("range", (0.0, _TENFOLD_LIMIT))
            purpose = "the same by PAR10, where each timeout counts as ten time limits"
            steps.append((purpose, steps[0][1].replace(limit, tenfold)))
        return steps

    def race_steps(
        self, source: str, limits: tuple[float, float] | None = None
    ) -> list[tuple[str, str]]:
        """Return (purpose, command) of a race that starts from the cells of a table.

        Empty if few rows are incomplete, if cells state timeouts, and without a file or ids, which
        a race needs.

        source: path of the table; "-" for standard input.
        limits: the smallest and the largest possible value; None to suggest them.
        """
        many = (
            self._n_incomplete >= _MANY_INCOMPLETE * len(self.parsed.values) > 0
            and not self.parsed.has_timeouts
        )
        if not many or not self.parsed.id_column or source == "-":
            return []
        purpose = "finish the table as a race, which needs only some of the missing cells"
        return [
            (
                ", ".join(filter(None, [purpose, condition])),
                self._race_command(source, kind, limits),
            )
            for kind, condition in self._directions()
        ]

    def _directions(self) -> list[tuple[Kind, str]]:
        """Return the possible directions, and the condition of each if none is stated."""
        # Of run times, lower is better.
        stated: Kind | None = self.parsed.kind or ("losses" if self.parsed.has_timeouts else None)
        return (
            [(stated, "")]
            if stated
            else [("scores", "if higher is better"), ("losses", "if lower is better")]
        )

    def _race_command(self, source: str, kind: Kind, limits: tuple[float, float] | None) -> str:
        """Return the command that continues a table as a race, with its cells as answers."""
        out = source.partition("::")[0].rsplit(".", 1)[0] + ".race"
        candidates = ",".join(f'"{name}"' if "," in name else name for name in self.parsed.names)
        words = [
            "tombola",
            "race",
            "start",
            source,
            "--candidates",
            candidates,
            "--known",
            source,
            f"--{kind}",
        ]
        id_column = self.parsed.id_column
        words += [] if id_column.lower() in IDS else ["--id", id_column]
        low, high = self._value_range()
        if limits or (not self.parsed.odd_cells and (low < 0 or high > 1)):
            words += [
                "--range",
                ",".join(f"{end:g}" for end in limits or suggested_range(low, high)),
            ]
        return shlex.join([*words, "--file", out])

    def needed_options(self, kind: Kind) -> list[str]:
        """Return the needed options for direction, range and missing cells, as text."""
        needed = [] if self.parsed.kind else [option_text("kind", kind)]
        needed += filter(None, [range_option(self.parsed, kind)])
        if self._n_incomplete:
            needed.append(option_text("missing", "worst" if self.parsed.has_timeouts else "drop"))
        return needed

    def _value_range(self) -> tuple[float, float]:
        try:
            return value_range(self.parsed)
        except TableError:
            return (np.nan, np.nan)

    def _missing_text(self) -> str:
        rows = self.parsed.values.shape[0]
        incomplete = self._n_incomplete
        if not incomplete:
            return "none"
        text = f"{plural(self.n_missing, 'cell')} ({format_percent(self.n_missing / self.parsed.values.size)})"
        if self.n_missing:
            row, action = np.argwhere(np.isnan(self.parsed.values))[0].tolist()
            text += (
                ", the first in "
                f"{self.parsed.first_missing or f'row {row}, action {self.parsed.names[action]!r}'}"
            )
        if self.parsed.has_timeouts:
            words = (
                f"write your time limit for {TIME_LIMIT} below, and ten times it for "
                f"{_TENFOLD_LIMIT}"
            )
            return f"{text}; {words}: every timeout counts as it"
        if self.is_unfinished:
            hint = (
                ""
                if self.parsed.id_column
                else ", which needs a column id to be finished as a race"
            )
            return (
                f"{text}; {incomplete:,} of {plural(rows, 'row')} incomplete: a "
                f"half-finished table{hint}"
            )
        effect = f"without the {plural(incomplete, 'incomplete row')} the answer is about the other"
        return f"{text}; {effect} {rows - incomplete:,}"


def summarise_table(source: Any, options: ReadOptions) -> TableSummary:
    """Parse a table and return its summary; missing cells are allowed.

    >>> summary = summarise_table([[0.0, 30.0], [0.5, 10.0]], ReadOptions())
    >>> summary.needed_options("scores")
    ["kind='scores'", 'range=(0, 100)']
    """
    return TableSummary(parse_table(source, options))


def _run_facts(parsed: ParsedTable) -> list[tuple[str, str]]:
    """Return how much answers change from run to run, as facts; empty without runs."""
    if parsed.runs is None:
        return []
    spread = run_spread(parsed.runs)
    if spread is None:
        return [("runs", "several of some rows; some cells have none")]
    least, most = spread.runs
    number = f"{most}" if least == most else f"{least} to {most}"
    rows = plural(parsed.values.shape[0], "row")
    shares = [
        f"{name} {format_percent(share)}"
        for name, share in zip(parsed.names, spread.noise_share, strict=True)
    ]
    return [
        ("runs", f"{number} of each row; an answer changed on {spread.changed_rows:,} of {rows}"),
        ("noise", f"share of the variance of one answer: {join_names(shares, limit=12)}"),
    ]


def _range_text(numbers: NDArray[Any]) -> str:
    known = numbers[~np.isnan(numbers)]
    return f"from {known.min():g} to {known.max():g}" if known.size else "unknown"


def _missing_suffix(numbers: NDArray[Any]) -> str:
    count = int(np.isnan(numbers).sum())
    return f", {count:,} missing" if count else ""


def _cost_ranges(costs: NDArray[Any]) -> str:
    by_resource = costs.reshape(*costs.shape[:2], -1)
    text = "; ".join(
        _range_text(by_resource[:, :, resource]) for resource in range(by_resource.shape[2])
    )
    if np.isnan(costs).any():
        return f"{text} a row{_missing_suffix(costs)}"
    totals = by_resource[:, :, 0].sum(axis=0)
    return (
        f"{text} a row; all rows cost {totals.min():.4g} with the cheapest action, "
        f"{totals.max():.4g} with the dearest"
    )
