"""`certify`: the best column of a list, or the mean of one, from as few of its rows as possible."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola import _validate
from tombola._formatting import (
    confidence_text,
    forecast_text,
    format_range,
    is_cli_style,
    join_names,
    note_line,
    option_text,
    plural,
)
from tombola._results import Block, Cells, PageResult
from tombola.errors import ParameterError, QuestionError, TableError
from tombola.evidence.base import Interval
from tombola.evidence.betting import Betting
from tombola.evidence.certificate import Certificate
from tombola.evidence.history import History
from tombola.evidence.monitors import RowMonitor
from tombola.evidence.page_parts import rows_figure, size_facts
from tombola.evidence.predicted_mean import PredictedMean
from tombola.evidence.rows import Rows, RowSource, Sample, require_size
from tombola.pool import Pool
from tombola.report.evidence_page import EvidencePage, TextTable, render_evidence
from tombola.statements import (
    RANDOM_SAMPLE,
    Conclusion,
    Counts,
    Quantity,
    Statement,
    Verdict,
    bound_text,
)
from tombola.tables.columns import PERCENT, Column, Columns, check_unique_names
from tombola.tables.names import stated_direction
from tombola.tables.options import ParsedTable, ReadOptions
from tombola.tables.question import Question
from tombola.tables.roles import Roles, detect, detect_names, find_action_column
from tombola.tables.to_pool import Table, reading_line
from tombola.tables.unit_checks import parse_loss
from tombola.units import Kind, Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Names of columns in a message; of the others only the number is given.
MAX_NAMES = 8


@dataclass(frozen=True, eq=False)
class BestColumn(PageResult):
    """Result of `certify`: the column of a list that is best, or close to it.

    outcome: "proved" if the best column is known to be within `requested_within`, else
        "undecided".
    certificate: means of all columns as losses in [0, 1], with simultaneous intervals.
    units: converts losses to the unit of the table.
    path: pairs of rows read, and the proved distance of the leader from the best, in that unit.
    notes: remarks on how the table was read.
    is_sample: whether the table is a sample of the list, as its reader declares.
    ignored: columns that are no candidates, with the reason.
    rows_left_out: number of rows of the file that do not count.
    """

    outcome: Literal["proved", "undecided"]
    certificate: Certificate
    units: Units
    requested_within: float
    table: str
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    path: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    is_sample: bool = False
    ignored: Mapping[str, str] = field(default_factory=dict)
    rows_left_out: int = 0

    @property
    def best(self) -> str:
        """The name of the column that is proved to be closest to the best."""
        return self.certificate.names[self.certificate.best]

    @property
    def within(self) -> float:
        """Upper bound on the distance of `best` from the best mean, in the unit of the table."""
        return self.units.gap(self.certificate.within(self.certificate.best))

    @property
    def forecast(self) -> int | None:
        """About how many more rows a proof needs; None if proved, or if the list is too short."""
        if self.outcome == "proved":
            return None
        return self.certificate.forecast(self.requested_within / self.units.gap(1.0))

    @property
    def target(self) -> str:
        """The comparator as text, such as "the largest mean over all 600 rows"."""
        target = self.certificate.target
        return target.replace("least mean loss", "largest mean") if self.units.scores else target

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is proved about the best column."""
        certificate = self.certificate
        claim = certificate.claim(self.within)
        # A distance of the whole range says nothing.
        claims = () if claim is None or self.within >= self.units.gap(1.0) else (claim,)
        k = len(certificate.names)
        question = Conclusion("best", certificate.names, field=k)
        if self.requested_within:
            question = Conclusion(
                "within", certificate.names, field=k, amount=self.requested_within
            )
        return (
            _statement(
                self.outcome,
                claims,
                question,
                certificate.level,
                (certificate.rounds, certificate.population),
                is_sample=self.is_sample,
            ),
        )

    def blocks(self) -> list[Block]:
        """Return the statement, a forecast, the means of all columns, and notes."""
        kind: Kind = "scores" if self.units.scores else "losses"
        reading = reading_line(kind, self.units.unit, self.certificate.names)
        blocks: list[Block] = [reading, self.statements[0].full, *self.remarks]
        if self.outcome == "undecided":
            more = self.forecast
            rest = "more rows than the list has"
            if more is not None:
                left = self.certificate.population - self.certificate.rounds
                rest = f"about {forecast_text(more, 'more row', left)}"
            blocks.append(f"Forecast for {self.requested_within:g}: {rest}.")
        heading = f"{confidence_text(self.certificate.level, percent=True)} interval for all rows"
        blocks.append(Cells(("action", "rows", "mean", heading), self._cells()))
        return [*blocks, *(note_line(note) for note in self.notes)]

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data in table units, the best column first."""
        facts = self.certificate.to_json()
        actions = []
        for action in sorted(facts["actions"], key=lambda action: action["mean"]):
            low, high = self.units.interval(action["low"], action["high"])
            mean = self.units.number(action["mean"])
            actions.append({**action, "mean": mean, "low": low, "high": high})
        return {
            "outcome": self.outcome,
            "requested_within": self.requested_within,
            "table": self.table,
            "kind": "scores" if self.units.scores else "losses",
            "candidates": list(self.certificate.names),
            "ignored_columns": dict(self.ignored),
            "rows_left_out": self.rows_left_out,
            **facts,
            "statement": self.statements[0].to_json(),
            "target": self.target,
            "within": self.within,
            "actions": actions,
            "forecast": self.forecast,
            "notes": list(self.notes),
        }

    def to_page(self, command: str = "") -> str:
        """Return an HTML page: the statement, the distance by rows read, and all columns."""
        rows, distances = (np.array(column, np.float64) for column in zip(*self.path, strict=True))
        within = self.requested_within
        kind = "mean" if self.units.scores else "mean loss"
        side = "below" if self.units.scores else "above"
        figure = rows_figure(
            "Distance from the best, at most",
            f"Upper bound on the distance of the leading action from the best one ({kind} {side} "
            "it), valid at all times simultaneously with the stated probability.",
            f"{kind} {side} the best, at most",
            {"certified": (rows, distances, distances, distances)},
            {f"requested: {within:g}": within},
            alt=f"The certified distance falls to {distances[-1]:.3g} after "
            f"{plural(int(rows[-1]), 'row')}",
            log_y=within > 0 and bool(distances.min() > 0),
        )
        table = TextTable(
            f"{kind.capitalize()} of every action, the best first",
            ("action", "rows", "sample mean", "interval"),
            tuple(self._cells()),
        )
        certificate = self.certificate
        page = EvidencePage(
            title=f"Best column of {Path(self.table).name}",
            lead="Rows were read in random order, until the best column was known.",
            statement=self.statements[0],
            facts=(
                ("best", self.best),
                ("within", bound_text(self.within, up=True)),
                ("evidence", certificate.method),
                *size_facts(certificate.rounds, certificate.population, certificate.level),
            ),
            tables=(table,),
            figures=(figure,),
            command=command,
        )
        return render_evidence(page)

    def plot(
        self, *, ax: "Axes | None" = None, size: tuple[float, float] | None = None
    ) -> "Figure":
        """Draw the interval of every column, the best first, in the unit of the table.

        `ax`: axes to draw on; None: a new figure. `size` is in inches; None: it grows with the
        number of columns.
        """
        from tombola.report.figures import draw_intervals

        actions = self.to_json()["actions"]
        means, lows, highs = (
            np.array([action[key] for action in actions]) for key in ("mean", "low", "high")
        )
        return draw_intervals(
            [action["name"] for action in actions],
            means,
            lows,
            highs,
            x_label=f"mean, {confidence_text(self.certificate.level, percent=True)} intervals",
            axes=ax,
            size=size,
        )

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                action["name"],
                f"{action['rows']:,}",
                f"{action['mean']:.4g}",
                format_range(action["low"], action["high"]),
            )
            for action in self.to_json()["actions"]
        ]


@dataclass(frozen=True, eq=False)
class CertifiedMean(PageResult):
    """Result of `certify` for one column: its mean of one column, to within a distance.

    low, high: with probability 1 - level the mean over all rows of the list is between them, in the
        unit of the table.
    mean: of the rows read.
    """

    outcome: Literal["proved", "undecided"]
    column: str
    rows: int
    population: int
    level: float
    mean: float
    low: float
    high: float
    requested_within: float
    history_columns: int
    table: str
    notes: tuple[str, ...] = ()
    is_sample: bool = False

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is proved about the mean."""
        column = (self.column,)
        return (
            _statement(
                self.outcome,
                (Conclusion("mean", column, interval=(self.low, self.high)),),
                Conclusion("mean", column, amount=self.requested_within),
                self.level,
                (self.rows, self.population),
                is_sample=self.is_sample,
            ),
        )

    def blocks(self) -> list[Block]:
        """Return the statement and the notes."""
        return [self.statements[0].full, *(note_line(note) for note in self.notes)]

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "outcome": self.outcome,
            "statement": self.statements[0].to_json(),
            "requested_within": self.requested_within,
            "table": self.table,
            "column": self.column,
            "rows": self.rows,
            "population": self.population,
            "level": self.level,
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "history_columns": self.history_columns,
            "notes": list(self.notes),
        }

    def to_page(self, command: str = "") -> str:
        """Return an HTML page with the statement."""
        columns = self.history_columns
        page = EvidencePage(
            title=f"Mean of {self.column}",
            lead="Rows were read in random order, until the mean was known.",
            statement=self.statements[0],
            facts=(
                ("mean", f"{self.mean:.4g}"),
                *([("columns of history", f"{columns:,}")] if columns else []),
                *size_facts(self.rows, self.population, self.level),
            ),
            tables=(),
            figures=(),
            command=command,
        )
        return render_evidence(page)


def _statement(
    outcome: Literal["proved", "undecided"],
    claims: tuple[Conclusion, ...],
    question: Conclusion,
    level: float,
    rows: tuple[int, float],
    *,
    is_sample: bool,
) -> Statement:
    """Return what is proved from some rows of a list.

    claims: what holds at the level, also while the question is open.
    rows: numbers of rows read, and of rows of the list; all of them leave no probability.
    """
    n_read, population = rows
    is_complete = n_read == population
    verdict: Verdict = outcome
    if is_complete and outcome == "proved":
        verdict = "exact"
    return Statement(
        verdict,
        "recorded",
        claims,
        (question,) if outcome == "undecided" else (),
        level=0.0 if is_complete else level,
        quantity=Quantity("value", recorded="values"),
        counts=Counts(rows=int(population), counted=n_read),
        condition=RANDOM_SAMPLE if is_sample and not is_complete else "",
    )


def certify(
    table: Any,
    *,
    within: float = 0.0,
    level: float = 0.05,
    rows: int | None = None,
    kind: Kind | None = None,
    range: tuple[float, float] | None = None,
    column: str | None = None,
    candidates: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    history: Any = None,
    missing: Literal["error", "drop", "worst"] = "error",
    ignore_rows: Sequence[str] = (),
    sheet: str | None = None,
    follow: bool = False,
    seed: int = 1,
) -> BestColumn | CertifiedMean:
    """Find the best column of a list from as few of its rows as possible.

    Rows are read in random order, until a column is proved to be within `within` of the best one.

    table: a path (any format of `read_table`, wide), a data frame, an array, a `Pool` or a table of
        `read_table`; "-" for CSV from standard input, or an iterator of mappings, for rows as they
        arrive.
    within: the distance from the best mean that is good enough, in the unit of the table.
    level: the probability, at most, that the answer is wrong, at whatever row the program stops.
    rows: the size of the whole list, if the table is a random sample of it, in random order. None:
        the table is the whole list, and is shuffled.
    kind: "losses" (lower is better) or "scores"; None if names of columns state it.
    range: the smallest and the largest possible number; None: 0 and 1.
    column: ask for the mean of this column instead, to within `within`; None: for the best column.
    candidates: columns that are candidates; names or patterns. None: all columns of numbers, if
        that is certain; else QuestionError.
    ignore: columns that are not candidates; names or patterns.
    history: a table with ids and numbers of every row, such as losses of earlier candidates, which
        make the mean of a column sharper. The column may be left out if there is one beside the
        ids.
    missing: blank cells: "error" asks, "drop" leaves out the row, if the table is the whole list,
        "worst" counts them as the worst number.
    ignore_rows: ids of rows to leave out, such as Total; "none" for none.
    sheet: the sheet of an Excel file.
    follow: wait for new rows at the end of a growing file.
    seed: fixes the shuffle.

    Returns a `BestColumn`, or a `CertifiedMean` for the mean of one column. RowError, with the result for the
    rows before it, at an invalid row of a sample.

    >>> import numpy as np
    >>> answers = np.random.default_rng(0).random((500, 2)) < [0.2, 0.7]
    >>> result = certify([{"a": int(a), "b": int(b)} for a, b in answers], kind="losses")
    >>> result.best, result.outcome, result.certificate.rounds < 100
    ('a', 'proved', True)
    """
    within = _validate.real("certify", "within", within, least=0)
    level = _validate.real("certify", "level", level, above=0, below=1)
    require_size("certify", table, follow=follow, has_size=rows is not None)
    source = RowSource(table, sheet, follow=follow, ignore_rows=ignore_rows)
    units_range = range or source.range or (0.0, 1.0)
    kind = kind or source.kind
    if column is not None or history is not None:
        # The interval of a mean is the same for losses and scores.
        units = Units(*units_range, scores=kind == "scores")
        past = None if history is None else History(history, source)
        name = _only_column(source, past) if column is None else column
        source.check_columns([name])
        source.handle_missing([name], missing, may_drop=rows is None and history is None)
        return _certified_mean(source, name, past, rows, within, level, units, seed)
    # The columns of a pool are candidates already.
    stated = source.header if isinstance(table, Pool | Table) and candidates is None else candidates
    options = ReadOptions(
        kind=kind, actions=stated, ignore=tuple(ignore), range=range or source.range
    )
    places, kind, remarks, notes, ignored = _find_columns(source, options)
    names = [source.header[place] for place in places]
    units = Units(*units_range, scores=kind == "scores")
    source.handle_missing(names, missing, units.number(1.0), may_drop=rows is None)
    max_distance = within / units.gap(1.0)
    range_fixes = _range_fixes(source, names, units)

    def losses_of(batch: Rows) -> list[list[float]]:
        return [
            [
                parse_loss(
                    source.source,
                    line,
                    name,
                    cells[place],
                    units,
                    range_fixes[name],
                    can_ignore=True,
                )
                for place, name in zip(places, names, strict=True)
            ]
            for line, cells in batch
        ]

    sample = Sample(source, losses_of, rows, seed, [f"column {name}" for name in names])
    monitor = RowMonitor(names, sample.population, level)
    path: list[tuple[int, float]] = []
    certificate = monitor.certificate()
    for batch in sample:
        losses = losses_of(batch)
        sample.test_order(losses)
        monitor.extend(losses)
        certificate = monitor.certificate()
        path.append((certificate.rounds, units.gap(certificate.within(certificate.best))))
        if certificate.certified(max_distance):
            break
    sample.check_row_count("certify", certificate.rounds, sample.population)
    result = BestColumn(
        "proved"
        if certificate.certified(max_distance) or certificate.rounds == sample.population
        else "undecided",
        certificate,
        units,
        within,
        source.source,
        tuple(remarks),
        (*source.notes, *notes),
        tuple(path),
        rows is not None,
        ignored,
        source.rows_left_out,
    )
    sample.raise_error(result)
    return result


def _only_column(source: RowSource, history: History | None) -> str:
    id_place = None if history is None else history.id_column
    names = [name for place, name in enumerate(source.header) if place != id_place]
    if len(names) != 1:
        raise ParameterError(
            f"certify: expected one column beside the ids with {option_text('history')}, got "
            f"{len(names)}; leave the others out."
        )
    return names[0]


def _certified_mean(
    source: RowSource,
    name: str,
    history: History | None,
    rows: int | None,
    within: float,
    level: float,
    units: Units,
    seed: int,
) -> CertifiedMean:
    """Find the mean of one column, with predictions from history if there is one."""
    place = source.header.index(name)

    def places_and_losses(batch: Rows) -> list[tuple[int, float]]:
        losses = [
            parse_loss(source.source, line, name, cells[place], units) for line, cells in batch
        ]
        places = [0] * len(batch) if history is None else history.places(batch)
        return list(zip(places, losses, strict=True))

    sample = Sample(source, places_and_losses, rows, seed, [f"column {name}"])
    if history is not None:
        history.check_complete(sample)
    sequence = Betting(sample.population, level)
    predicted = None if history is None else PredictedMean(history.table, level)
    count = 0
    total = 0.0
    interval = sequence.interval()
    for batch in sample:
        values = places_and_losses(batch)
        sample.test_order([[value] for _, value in values])
        for row, value in values:
            count += 1
            total += value
            if predicted is None:
                sequence.update(value)
                interval = sequence.interval()
            else:
                predicted.update(row, value)
                interval = predicted.interval()
            if units.gap(interval.width) <= 2.0 * within:
                break
        if units.gap(interval.width) <= 2.0 * within:
            break
    sample.check_row_count("certify", count, sample.population)
    if count == sample.population:
        # All rows are read: the mean is known, and corrects an interval that has missed it.
        interval = Interval(total / count, total / count)
    low, high = units.interval(*interval)
    result = CertifiedMean(
        "proved" if units.gap(interval.width) <= 2.0 * within else "undecided",
        name,
        count,
        sample.population,
        level,
        units.number(total / count),
        low,
        high,
        within,
        0 if history is None else history.table.shape[1],
        source.source,
        tuple(source.notes),
        rows is not None,
    )
    sample.raise_error(result)
    return result


def _find_columns(
    source: RowSource, options: ReadOptions
) -> tuple[list[int], Kind, list[str], list[str], dict[str, str]]:
    """Return the places of the candidates, the direction, remarks on it, notes, and other columns."""
    table = source.parsed
    # Only the names of a stream are known.
    header = Columns(source.source, [Column(name, np.empty(0)) for name in source.header])
    _check_wide(table or header)
    roles: Roles | Question
    try:
        roles = detect_names(header, options) if table is None else detect(table, options)
    except QuestionError:
        raise
    except TableError:
        # An invalid cell is an error of its row, once that is read; percent signs in some cells
        # of a column are one of the table.
        for column in () if table is None else table.columns:
            if PERCENT in column.notations and len(column.notations) > 1:
                raise
        roles = detect_names(header, options)
    if isinstance(roles, Question) and all("ids" in answer for _, answer in roles.answers):
        # Ids do not matter here.
        return _find_columns(source, options._replace(ids=roles.columns[0]))
    if isinstance(roles, Question):
        raise roles.about({"actions", "ignore", "kind"}).error()
    if table is not None:
        _check_cells(table, roles)
    names = [column.name for column in roles.candidates]
    notes = [] if roles.ids is None else [f"ids from column {roles.ids.name!r}"]
    costs = [name for columns in roles.costs.values() for name in columns.values()]
    ignored = roles.ignored | dict.fromkeys(costs, "the cost of a candidate")
    if ignored:
        notes.append(f"ignored columns: {reasons_text(ignored)}")
    notes += roles.questions
    parsed = ParsedTable(
        source.source,
        options.kind or stated_direction(names)[0],
        np.empty((0, len(names))),
        tuple(names),
        None,
        None,
        None,
        [],
        value_columns=tuple(names),
    )
    remarks = [f"Note: {parsed.contradiction}"] if parsed.contradiction else []
    kind = parsed.require_direction()
    return [source.header.index(name) for name in names], kind, remarks, notes, ignored


def _check_cells(table: Columns, roles: Roles) -> None:
    """Raise TableError for doubled ids, and for percent signs in some cells of a column only."""
    if roles.ids is not None:
        check_unique_names(
            table.source, roles.ids.labels, "ids must be different", "leave out the duplicates"
        )
    for column in roles.candidates:
        if PERCENT in column.notations:
            # Cells that are no numbers are errors of their rows.
            table.numeric(column._replace(first_invalid=None))


def _check_wide(table: Columns) -> None:
    """Raise TableError for a long table, in which a column names the action."""
    column = find_action_column(table, ReadOptions())
    if column is not None:
        raise TableError(
            f"{table.source}: expected a wide table, with one column per action, got a long "
            f"one, whose column {column.name!r} names the action; write one line per row and one "
            "column per action, or use tombola rank, which reads long tables."
        )


def _range_fixes(source: RowSource, names: list[str], units: Units) -> dict[str, str]:
    """Return the fix of a number outside of the range, for each action."""
    columns = [] if source.parsed is None else [source.parsed.by_name[name] for name in names]
    outside = [
        column.name
        for column in columns
        if ((column.numbers < units.low) | (column.numbers > units.high)).any()
    ]
    # A minority of columns outside of the range has another unit; a wider range would hide that.
    fix = "repair it, or "
    if not 0 < 2 * len(outside) < len(names):
        example = "--range LOW,HIGH" if is_cli_style() else "range=(LOW, HIGH)"
        fix = f"repair it, give the range of the numbers: {example}, or "
    return {
        name: f"{fix}leave out the column with "
        + (f"--ignore {shlex.quote(name)}" if is_cli_style() else f"ignore=[{name!r}]")
        for name in names
    }


def short_list(names: Sequence[str]) -> str:
    """Return names with commas between; of more than eight only the number."""
    return join_names(names, limit=MAX_NAMES, length=120)


def reasons_text(reasons: dict[str, str]) -> str:
    """Return names with a reason each, such as why a column is ignored."""
    return short_list([f"{name} ({reason})" for name, reason in reasons.items()])
