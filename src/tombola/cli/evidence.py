"""`tombola certify`, `check-order` and `audit`: statements about a list.

Exit status of all three: 0 proved (or no evidence against random order), 1 refuted, 2 bad input, 3
undecided. Results for the rows before an invalid line are printed before the command fails.
"""

import json
import math
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tombola._formatting import join_names, nan_to_none, plural
from tombola.cli.options import Json, Page, Seeds, check_level, check_page, split_commas
from tombola.cli.printing import show, show_cells, show_lines
from tombola.cli.row_source import Rows, RowSource, Sample
from tombola.cli.table_options import require_kind
from tombola.errors import ParameterError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tombola._types import Floats
    from tombola.evidence import AuditResult, Certificate, OrderVerdict, RunningMean, Statement
    from tombola.report.evidence_page import CaptionedChart
    from tombola.units import Kind, Units

# Exit codes: a statement is refuted; it is undecided, so that more rows are needed.
_EXIT_REFUTED, _EXIT_UNDECIDED = 1, 3
# Charts on a page, and points of a curve: more do not fit on a screen.
_MAX_FIGURES, _MAX_POINTS = 8, 240
# Ignored columns that are named in a message; of the others only the number is given.
_MAX_NAMES = 8
# Simulated audits for the forecast of the rows that an undecided statement still needs.
_FORECAST_SHUFFLES = 50
# Headings of the table of results of `audit`.
_AUDIT_HEADINGS = ("statement", "outcome", "rows needed", "error probability", "sample mean")

# End of the help text of the table.
_FORMATS = "Excel, CSV or any table that describe reads; - reads CSV from standard input."
# Options that the commands of this file share.
_ListSize = Annotated[
    int | None,
    typer.Option(
        "--rows", help="Size of the whole list, if the table is a random sample of it.", min=1
    ),
]
_Follow = Annotated[bool, typer.Option("--follow", help="Wait for new rows in a growing file.")]
_History = Annotated[
    Path | None,
    typer.Option(
        help="Table with a column id and numbers of every row of the list, such as losses of "
        "earlier candidates."
    ),
]
_Sheet = Annotated[str, typer.Option(help="The sheet of an Excel file.")]
_Range = Annotated[
    str, typer.Option("--range", help="Smallest and largest possible number, LOW,HIGH.")
]


def certify(
    table: Annotated[str, typer.Argument(help=f"A column of losses for each action. {_FORMATS}")],
    within: Annotated[
        float,
        typer.Option(
            help="Stop when a column is this close to the best, in the unit of the table.", min=0
        ),
    ] = 0.0,
    level: Annotated[float, typer.Option(help="Error probability, at most.")] = 0.05,
    rows: _ListSize = None,
    follow: _Follow = False,
    losses: Annotated[
        bool, typer.Option("--losses", help="The numbers are losses: lower is better.")
    ] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="The numbers are scores: higher is better.")
    ] = False,
    span: _Range = "0,1",
    ignore: Annotated[
        str, typer.Option(help="Columns that are not actions; names or patterns, commas between.")
    ] = "",
    history: _History = None,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Find the best column of a list from as few of its rows as possible.

    With --history: the mean of one column, to within --within, predicted from numbers of every row.

    Exit status 0: proved, stop now. 3: undecided, read more rows. 2: bad input.
    """
    from tombola.evidence import RowMonitor
    from tombola.tables.names import is_id_name, matching
    from tombola.tables.unit_checks import parse_loss
    from tombola.units import Units, parse_range

    _check_options("certify", table, level, out, follow=follow, has_size=rows is not None)
    source = RowSource(table, sheet, follow=follow)
    if history is not None:
        # The interval of a mean is the same for losses and scores.
        units = Units(*parse_range(span), scores)
        _certify_mean(
            source,
            _PastRows(history, source),
            rows,
            within,
            level,
            units,
            seed,
            out,
            as_json=as_json,
        )
    named = [name for name in source.header if is_id_name(name)]
    ids = [*named]
    for pattern in split_commas(ignore):
        found = matching(source.header, pattern)
        if not found:
            raise ParameterError(
                f"--ignore: expected a column among {_join(source.header)}, got {pattern!r}; "
                "write one of them."
            )
        ids += [name for name in found if name not in ids]
    _check_wide(source)
    left_out, notes = _not_actions(
        source, ids, "losses" if losses else "scores" if scores else None
    )
    places = [place for place, name in enumerate(source.header) if name not in {*ids, *left_out}]
    names = [source.header[place] for place in places]
    if len(names) < 2:
        raise ParameterError(
            f"certify: expected columns of at least two actions, got {_join(names) or 'none'} "
            "among the columns "
            f"{_join(source.header)} of {source.source}; add one, or rename columns that are "
            "read as something else."
        )
    kind, remarks = require_kind(source.source, names, losses=losses, scores=scores)
    units = Units(*parse_range(span), scores=kind == "scores")
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
        values = losses_of(batch)
        sample.test_order(values)
        monitor.extend(values)
        certificate = monitor.certificate()
        path.append((certificate.rounds, units.gap(certificate.within(certificate.best))))
        if certificate.certified(max_distance):
            break
    sample.check_row_count("certify", certificate.rounds, sample.population)
    proved = certificate.certified(max_distance)
    facts = {
        "outcome": "proved" if proved else "undecided",
        "requested_within": within,
        "table": source.source,
        **_certificate_facts(certificate, units),
        "forecast": None if proved else certificate.forecast(max_distance),
    }
    page = _certificate_page(facts, units, path) if out is not None else {}
    notes = [*notes, *([f"columns read as ids, by name: {', '.join(named)}"] if named else [])]
    _finish(
        facts,
        lambda: _show_certificate(facts, remarks),
        [*source.notes, *notes],
        sample,
        out,
        page,
        0 if proved else _EXIT_UNDECIDED,
        as_json=as_json,
    )


class _PastRows:
    """History of a list, and the place of every row of a table in it.

    The history has numbers known of every row before, such as losses of earlier candidates; they
    predict the new ones.
    """

    def __init__(self, path: Path, source: RowSource) -> None:
        from tombola.tables.cells import read_history
        from tombola.tables.names import is_id_name

        ids, self.table, notes = read_history(path)
        source.notes = (*source.notes, *(f"{path}: {note}" for note in notes))
        self._path, self._source = path, source
        self._places = {name: place for place, name in enumerate(ids)}
        columns = [place for place, name in enumerate(source.header) if is_id_name(name)]
        if len(columns) != 1:
            raise ParameterError(
                f"--history: expected one column of row ids in {source.source}, got "
                f"{len(columns)}; call it id."
            )
        self.id_column = columns[0]

    def places(self, batch: Rows) -> list[int]:
        """Return the positions of rows in the history, from 0; TableError if one is not in it."""
        found = []
        for line, cells in batch:
            name = cells[self.id_column].strip()
            if name not in self._places:
                raise TableError(
                    f"{self._source.source}: line {line}: expected a row of {self._path}, got "
                    f"{name!r}; add it to the "
                    "history."
                )
            found.append(self._places[name])
        return found

    def check_complete(self, sample: Sample) -> None:
        """Raise ParameterError if the history does not have as many rows as the list."""
        if sample.population != len(self.table):
            raise ParameterError(
                f"--history: expected the history of all {plural(sample.population, 'row')} of "
                "the list, got "
                f"{len(self.table):,} in {self._path}; add the others, or write --rows "
                f"{len(self.table)} if "
                f"{self._source.source} is a random sample in random order."
            )


def _certify_mean(
    source: RowSource,
    past: _PastRows,
    rows: int | None,
    within: float,
    level: float,
    units: "Units",
    seed: int,
    out: Path | None,
    *,
    as_json: bool,
) -> NoReturn:
    """Find the mean of one column with predictions from history, and exit."""
    from tombola.evidence import PredictedMean
    from tombola.tables.unit_checks import parse_loss

    columns = [place for place in range(len(source.header)) if place != past.id_column]
    if len(columns) != 1:
        raise ParameterError(
            f"certify: expected one column beside the ids with --history, got {len(columns)}; "
            "leave the others out."
        )
    name = source.header[columns[0]]

    def places_and_losses(batch: Rows) -> list[tuple[int, float]]:
        losses = [
            parse_loss(source.source, line, name, cells[columns[0]], units) for line, cells in batch
        ]
        return list(zip(past.places(batch), losses, strict=True))

    sample = Sample(source, places_and_losses, rows, seed, [f"column {name}"])
    past.check_complete(sample)
    sequence, proved = PredictedMean(past.table, level), False
    for batch in sample:
        values = places_and_losses(batch)
        sample.test_order([[value] for _, value in values])
        for place, value in values:
            sequence.update(place, value)
            proved = units.gap(sequence.interval().width) <= 2.0 * within
            if proved:
                break
        if proved:
            break
    sample.check_row_count("certify", sequence.count, sequence.population)
    low, high = units.interval(*sequence.interval())
    facts = {
        "outcome": "proved" if proved else "undecided",
        "requested_within": within,
        "table": source.source,
        "column": name,
        "rows": sequence.count,
        "population": sequence.population,
        "level": level,
        "mean": units.number(sequence.total / sequence.count),
        "low": low,
        "high": high,
        "history_columns": past.table.shape[1],
    }
    sentence = (
        f"{'Stop' if proved else 'Undecided'} after {plural(sequence.count, 'row')}: with "
        f"probability {1 - level:g}, "
        f"the mean of {name} over all {plural(sequence.population, 'row')} is in [{low:.4g}, "
        f"{high:.4g}], with "
        f"{past.table.shape[1]} columns of history."
    )
    page = {
        "title": f"Mean of {name}",
        "lead": "Rows were read in random order, until the mean was known.",
        "verdict": sentence,
        "tone": "good" if proved else "fair",
        "facts": (
            ("mean", f"{facts['mean']:.4g}"),
            *_size_cards(sequence.count, sequence.population, level),
        ),
    }
    _finish(
        facts,
        lambda: show(sentence),
        source.notes,
        sample,
        out,
        page,
        0 if proved else _EXIT_UNDECIDED,
        as_json=as_json,
    )


def check_order(
    table: Annotated[
        str, typer.Argument(help=f"The rows of a list in the order listed. {_FORMATS}")
    ],
    columns: Annotated[
        str, typer.Option(help="Columns of numbers, separated by commas; all by default.")
    ] = "",
    level: Annotated[float, typer.Option(help="Probability of a false alarm, at most.")] = 0.01,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Test whether the rows of a list are in random order.

    Exit status 0: no evidence against random order. 1: not in random order. 2: bad input.
    """
    from tombola.evidence.order_test import MARTINGALE_SHARE, RandomOrderTest, combined_verdict

    _check_options("check-order", table, level, out)
    source = RowSource(table, sheet)
    names, values, ignored = _number_columns(source, split_commas(columns))
    test = RandomOrderTest(len(names), MARTINGALE_SHARE * level, seed=seed)
    path = _evidence_path(test, values)
    verdict = combined_verdict(test, values, level, seed=seed)
    sentence = _order_sentence(verdict, names, len(values), level, sequential=test.alarm)
    facts = {
        "random": not verdict.refuted,
        "column": names[verdict.column] if verdict.refuted else None,
        "row": verdict.values if verdict.refuted else None,
        "p_value": verdict.p_value,
        "level": level,
        "rows": len(values),
        "columns": names,
        "ignored": list(ignored),
    }
    page = _order_page(sentence, facts, path, Path(source.source).name) if out is not None else {}
    lines = [sentence, f"{plural(len(values), 'row')}; columns: {_join(names)}"]
    lines += [f"note: ignored columns: {_ignored_text(ignored)}"] if ignored else []
    _finish(
        facts,
        lambda: show_lines(lines),
        source.notes,
        None,
        out,
        page,
        _EXIT_REFUTED if verdict.refuted else 0,
        as_json=as_json,
    )


def audit(
    table: Annotated[str, typer.Argument(help=f"Rows of the list, with a header. {_FORMATS}")],
    statements: Annotated[
        list[str], typer.Argument(help="Such as 'mean(score) > 0.7', 'share(grade = pass) >= 0.9'.")
    ],
    level: Annotated[
        float, typer.Option(help="Probability, at most, that any outcome is wrong.")
    ] = 0.05,
    rows: _ListSize = None,
    follow: _Follow = False,
    strata: Annotated[
        str, typer.Option(help="Column with the stratum of each row, for a list in strata.")
    ] = "",
    sizes: Annotated[str, typer.Option(help="Rows of each stratum: north=400,south=600.")] = "",
    span: _Range = "0,1",
    history: _History = None,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Prove or refute statements about a list from as few of its rows as possible.

    Exit status 0: all are proved. 1: some are refuted. 3: some are undecided, none is refuted. 2:
    bad input.
    """
    from tombola.evidence import Audit, RunningMean, parse_statement
    from tombola.units import parse_range

    _check_options(
        "audit", table, level, out, follow=follow, has_size=rows is not None or bool(sizes)
    )
    if bool(strata) != bool(sizes) or (sizes and rows):
        raise ParameterError(
            "audit: expected --strata and --sizes together, and no --rows; write --strata region "
            "--sizes a=400,b=600."
        )
    source = RowSource(table, sheet, follow=follow)
    past = None if history is None else _PastRows(history, source)
    if past is not None and strata:
        raise ParameterError("audit: expected --strata or --history, got both; leave one out.")
    parsed = [parse_statement(statement, span=parse_range(span)) for statement in statements]
    stratum_sizes = _parse_sizes(sizes) if sizes else None
    source.check_columns(
        [*(name for one in parsed for name in one.columns), *([strata] if strata else [])]
    )
    # With strata the sizes are those of the strata; the number of rows is not needed.
    list_size = sum(stratum_sizes.values()) if stratum_sizes else rows

    def check(batch: Rows) -> None:
        _check_cells(source, parsed, strata, stratum_sizes, batch)
        if past is not None:
            past.places(batch)

    sample = Sample(source, check, list_size, seed, () if stratum_sizes else statements)
    if past is not None:
        past.check_complete(sample)
    population = None if stratum_sizes else sample.population
    tested = Audit(
        parsed,
        population,
        level,
        strata=stratum_sizes,
        history=None if past is None else past.table,
    )
    shown = parsed[:_MAX_FIGURES] if out is not None else []
    running = [
        RunningMean(one, population, level / len(parsed), strata=stratum_sizes) for one in shown
    ]
    n_rows, absent = 0, {one: dict[str, None]() for one in parsed if one.value is not None}
    for batch in sample:
        columns = source.columns(batch)
        for statement in [*absent]:
            if statement.has_value(columns):
                del absent[statement]
            elif len(absent[statement]) <= _MAX_NAMES:
                absent[statement].update(
                    dict.fromkeys(cell.strip() for cell in columns[statement.columns[0]])
                )
        if rows is not None:
            sample.test_order(_quantities(parsed, columns))
        row_strata = [cell.strip() for cell in columns[strata]] if strata else None
        tested.extend(columns, row_strata if past is None else past.places(batch))
        for one in running:
            one.extend(columns, row_strata)
        n_rows += len(batch)
        if all(result.outcome != "undecided" for result in tested.results()):
            break
    sample.check_row_count("audit", n_rows, int(tested.population))
    results, items, cells = tested.results(), [], []
    for result, statement in zip(results, parsed, strict=True):
        expected = _expected_rows(result, population, level / len(results), statement, seed)
        items.append({**nan_to_none(result._asdict()), "expected_rows": expected})
        cells.append(_result_cells(result, expected))
    counts = {
        outcome: sum(one.outcome == outcome for one in results)
        for outcome in ("proved", "refuted", "undecided")
    }
    page = {
        "title": f"Audit of {Path(source.source).name}",
        "lead": "Statements about a whole list, tested on rows in random order.",
        "verdict": ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + ".",
        "tone": "bad" if counts["refuted"] else "fair" if counts["undecided"] else "good",
        "facts": _size_cards(n_rows, tested.population, level),
        "tables": [("Results", _AUDIT_HEADINGS, tuple(cells))],
        "figures": [
            _running_mean_figure(one, result, level / len(results))
            for one, result in zip(running, results, strict=False)
            if one.points
        ],
    }
    status = _EXIT_REFUTED if counts["refuted"] else _EXIT_UNDECIDED if counts["undecided"] else 0
    notes = [
        f"{statement}: {statement.value!r} is in none of the {plural(n_rows, 'row')} read; column "
        f"{statement.columns[0]} has {_join([*map(repr, values)])}"
        for statement, values in absent.items()
    ]
    _finish(
        {"rows": n_rows, "level": level, "results": items},
        lambda: show_cells(_AUDIT_HEADINGS, cells),
        [*source.notes, *notes],
        sample,
        out,
        page,
        status,
        as_json=as_json,
    )


def _check_options(
    command: str,
    table: str,
    level: float,
    out: Path | None,
    *,
    follow: bool = False,
    has_size: bool = True,
) -> None:
    """Validate the options before the table is read."""
    if not has_size and (table == "-" or follow):
        raise ParameterError(
            f"{command}: expected the size of the whole list, got none; write --rows 5000."
        )
    check_level(level)
    check_page(out, table)


def _finish(
    facts: dict[str, Any],
    show_text: "Callable[[], None]",
    notes: "Sequence[str]",
    sample: Sample | None,
    out: Path | None,
    page: dict[str, Any],
    status: int,
    *,
    as_json: bool,
) -> NoReturn:
    """Write the page, print the result, raise the error of an invalid row, and exit.

    notes: remarks on how the table was read, such as its encoding.
    page: fields of `EvidencePage`; its tables and figures are tuples of fields.
    """
    if out is not None:
        from tombola._files import write_atomic
        from tombola.report.evidence_page import EvidencePage, TextTable, render_evidence

        tables = tuple(TextTable(*one) for one in page.pop("tables", ()))
        figures, command = tuple(page.pop("figures", ())), shlex.join(["tombola", *sys.argv[1:]])
        write_atomic(
            out,
            render_evidence(EvidencePage(**page, tables=tables, figures=figures, command=command)),
        )
    if as_json:
        typer.echo(json.dumps({**facts, "notes": list(notes)}, allow_nan=False))
    else:
        show_text()
        show_lines(f"note: {note}" for note in notes)
    if sample is not None:
        sample.raise_error()
    raise typer.Exit(status)


def _size_cards(rows: int, population: float, level: float) -> tuple[tuple[str, str], ...]:
    """Return the facts that every page about a sample has."""
    return (
        ("rows read", f"{rows:,}"),
        ("rows of the list", f"{population:,.0f}"),
        ("level", f"{level:g}"),
    )


def _figure(
    heading: str,
    caption: str,
    y_label: str,
    curves: dict[str, "Sequence[Floats]"],
    thresholds: dict[str, float],
    *,
    alt: str,
    log_y: bool = False,
) -> "CaptionedChart":
    """Return a chart of curves over rows: by name, rows, means, lows and highs.

    thresholds: heights of the dashed lines, by name.
    """
    import numpy as np

    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import CaptionedChart

    bands = tuple(Band(name, *curve) for name, curve in curves.items())
    ends = bands[0].x[[0, -1]]
    lines = tuple(Line(name, ends, np.full(2, height)) for name, height in thresholds.items())
    return CaptionedChart(
        heading,
        caption,
        Chart(heading, "rows", y_label, bands, lines, log_x=False, log_y=log_y, alt=alt),
    )


def _join(names: "Sequence[str]") -> str:
    return join_names(names, limit=_MAX_NAMES, length=120)


# certify


def _check_wide(source: RowSource) -> None:
    """Raise TableError for a long table, in which a column names the action."""
    import numpy as np

    from tombola.tables.columns import Column, Columns
    from tombola.tables.long import find_action_column
    from tombola.tables.options import ReadOptions

    # Only the names of a stream are known.
    table = source.parsed or Columns(
        source.source, [Column(name, np.empty(0)) for name in source.header]
    )
    column = find_action_column(table, ReadOptions())
    if column is not None:
        raise TableError(
            f"{source.source}: expected a wide table, with one column per action, got a long "
            "one, whose column "
            f"{column.name!r} names the action; write one line per row and one column per "
            "action, or use tombola rank, "
            "which reads long tables."
        )


def _range_fixes(source: RowSource, names: list[str], units: "Units") -> dict[str, str]:
    """Return the fix of a number outside of the range, for each action."""
    columns = [] if source.parsed is None else [source.parsed.by_name[name] for name in names]
    outside = [
        c.name for c in columns if ((c.numbers < units.low) | (c.numbers > units.high)).any()
    ]
    # A minority of columns outside of the range has another unit; a wider range would hide that.
    ranges = (
        ""
        if 0 < 2 * len(outside) < len(names)
        else "give the range of the numbers: --range LOW,HIGH, or "
    )
    return {
        name: f"repair it, {ranges or 'or '}leave out the column with --ignore {shlex.quote(name)}"
        for name in names
    }


def _other_columns(source: RowSource, ids: list[str], kind: "Kind | None") -> dict[str, str]:
    """Return columns without the role of an action or of ids, with reasons.

    Those of a file are the ones that describe finds; of a stream only the names are known.
    """
    from tombola.tables.names import DELAYS, classify_name
    from tombola.tables.options import ReadOptions
    from tombola.tables.wide import read_wide

    free = [name for name in source.header if name not in ids]
    classes = {name: "delay" if name.lower() in DELAYS else classify_name(name) for name in free}
    if source.parsed is not None:
        try:
            table = read_wide(source.parsed, ReadOptions(kind=kind, ignore=ids))
        except TableError:
            # An invalid cell is an error of its row, once that is read.
            pass
        else:
            # Numbers outside of the range are rejected, rather than a column left out because of
            # them.
            kept = {*ids, *table.value_columns, *table.other_units, table.id_column}
            return {
                name: table.ignored.get(name, f"named like a {classes[name]}")
                for name in free
                if name not in kept
            }
    likely = [name for name, one in classes.items() if one in ("loss", "score", "plain")]
    # Run times alone, or features alone, may be losses.
    tier = next((one for one in ("cost", "feature") if list(classes.values()).count(one) > 1), None)
    if len(likely) < 2 and tier is not None:
        likely = [name for name, one in classes.items() if one == tier]
    return {
        name: f"not named like a {tier}"
        if one in ("loss", "score", "plain")
        else f"named like a {one}"
        for name, one in classes.items()
        if name not in likely
    }


def _not_actions(
    source: RowSource, ids: list[str], kind: "Kind | None"
) -> tuple[list[str], list[str]]:
    """Return columns with ids, named unlike actions, or that sum them up; notes on them.

    Names are all that is known of a stream; the columns of a file are tested, too.

    ids: names of columns that are not actions, by name or option.
    """
    from tombola.tables.derived import summary_columns
    from tombola.tables.names import is_summary_name
    from tombola.tables.wide import find_ids

    others = _other_columns(source, ids, kind)
    if source.parsed is None:
        return [*others], [f"ignored columns: {_ignored_text(others)}"] if others else []
    free = [column for column in source.parsed.columns if column.name not in {*ids, *others}]
    # At least two actions must be left, as in describe.
    found = find_ids(source.parsed, free, {}) if len(free) > 2 else None
    # A column of whole numbers may be an action; only text is surely none.
    texts = [found.name] if found is not None and found.n_numbers == 0 else []
    summaries, questions = summary_columns([column for column in free if column.name not in texts])
    ignored = others | summaries
    notes = [f"ids from column {name!r}" for name in texts]
    notes += [f"ignored columns: {_ignored_text(ignored)}"] if ignored else []
    # Numbers alone often agree by chance if few rows have been read, as in a sample.
    return [*texts, *ignored], [
        *notes,
        *(text for name, text in questions.items() if is_summary_name(name)),
    ]


def _certificate_facts(certificate: "Certificate", units: "Units") -> dict[str, Any]:
    """Return the certificate as JSON data in table units, the best action first."""
    facts = certificate.to_json()
    actions = [
        {**one, "mean": units.number(one["mean"]), **dict(zip(("low", "high"), ends, strict=True))}
        for one in sorted(facts["actions"], key=lambda one: one["mean"])
        for ends in [units.interval(one["low"], one["high"])]
    ]
    target = (
        certificate.target.replace("least mean loss", "largest mean")
        if units.scores
        else certificate.target
    )
    return {**facts, "target": target, "within": units.gap(facts["within"]), "actions": actions}


def _certificate_sentence(facts: dict[str, Any]) -> str:
    distance = f"is within {facts['within']:.4g} of" if facts["within"] else "has"
    return (
        f"{'Stop' if facts['outcome'] == 'proved' else 'Undecided'} after "
        f"{plural(facts['rows'], 'row')}: with "
        f"probability {1 - facts['level']:g}, action {facts['best']} {distance} "
        f"{facts['target']} ({facts['method']})."
    )


def _show_certificate(facts: dict[str, Any], remarks: list[str]) -> None:
    show_lines([_certificate_sentence(facts), *remarks])
    if facts["outcome"] == "undecided":
        more = facts["forecast"]
        rest = (
            f"about {plural(more, 'more row')}"
            if more is not None
            else "more rows than the list has"
        )
        show(f"Forecast for {facts['requested_within']:g}: {rest}.")
    show_cells(
        ("action", "rows", "mean", f"{1 - facts['level']:.0%} interval for all rows"),
        _action_cells(facts),
    )


def _action_cells(facts: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            one["name"],
            f"{one['rows']:,}",
            f"{one['mean']:.4g}",
            f"[{one['low']:.4g}, {one['high']:.4g}]",
        )
        for one in facts["actions"]
    ]


def _certificate_page(
    facts: dict[str, Any], units: "Units", path: list[tuple[int, float]]
) -> dict[str, Any]:
    import numpy as np

    x, y = (np.array(column, np.float64) for column in zip(*path, strict=True))
    within = facts["requested_within"]
    side, kind = ("below", "mean") if units.scores else ("above", "mean loss")
    figure = _figure(
        "Distance from the best, at most",
        f"Upper bound on the distance of the leading action from the best one ({kind} {side} "
        "it), valid at all times "
        "simultaneously with the stated probability.",
        f"{kind} {side} the best, at most",
        {"certified": (x, y, y, y)},
        {f"requested: {within:g}": within},
        alt=f"The certified distance falls to {y[-1]:.3g} after {plural(int(x[-1]), 'row')}",
        log_y=within > 0 and bool(y.min() > 0),
    )
    headings = ("action", "rows", "sample mean", "interval")
    return {
        "title": f"Best column of {Path(facts['table']).name}",
        "lead": "Rows were read in random order, until the best column was known.",
        "verdict": _certificate_sentence(facts),
        "tone": "good" if facts["outcome"] == "proved" else "fair",
        "facts": (
            ("best", facts["best"]),
            ("within", f"{facts['within']:.4g}"),
            ("evidence", facts["method"]),
            *_size_cards(facts["rows"], facts["population"], facts["level"]),
        ),
        "tables": [
            (
                f"{kind.capitalize()} of every action, the best first",
                headings,
                tuple(_action_cells(facts)),
            )
        ],
        "figures": [figure],
    }


# check-order


def _number_columns(
    source: RowSource, requested: tuple[str, ...]
) -> tuple[list[str], "Floats", dict[str, str]]:
    """Return names and ranks of the number columns, and why others are ignored.

    Ranks are dense and scaled to [0, 1]; the order test uses no more.
    """
    import numpy as np

    from tombola.tables.columns import parse_number
    from tombola.tables.derived import summary_columns

    rows = list(source.rows())
    if not rows:
        raise TableError(
            f"{source.source}: expected a header and at least one row, got no row; add rows."
        )
    source.check_columns(requested)
    columns, ignored = {}, {}
    for name, cells in source.columns(rows).items():
        if requested and name not in requested:
            continue
        numbers = np.array([parse_number(cell) for cell in cells])
        invalid = np.flatnonzero(np.isnan(numbers))
        # Ids given after a shuffle count the rows.
        is_row_number = len(rows) > 1 and bool((np.diff(numbers) == 1.0).all())
        if invalid.size:
            ignored[name] = f"line {rows[invalid[0]][0]} has {cells[invalid[0]]!r}"
        elif not requested and len(source.header) > 1 and is_row_number:
            ignored[name] = "row numbers"
        else:
            places = np.unique(numbers, return_inverse=True)[1]
            columns[name] = places / max(int(places.max()), 1)
    if source.parsed is not None and not requested:
        summaries = summary_columns([source.parsed.by_name[name] for name in columns])[0]
        columns = {name: ranks for name, ranks in columns.items() if name not in summaries}
        ignored |= summaries
    if not columns or (requested and ignored):
        raise TableError(
            f"{source.source}: expected a column of numbers, got {_ignored_text(ignored)}; "
            "repair a cell, or name "
            "other columns with --columns."
        )
    return list(columns), np.column_stack(list(columns.values())), ignored


def _ignored_text(ignored: dict[str, str]) -> str:
    return _join([f"{name} ({reason})" for name, reason in ignored.items()])


def _evidence_path(test: Any, values: "Floats") -> list[tuple[int, "Floats"]]:
    """Run the test; return its evidence, a power of ten, at some hundred rows."""
    import numpy as np

    edges = np.unique(np.linspace(0, len(values), _MAX_POINTS + 1).astype(int))
    path = []
    for start, stop in pairwise(edges):
        test.extend(values[start:stop])
        path.append((int(stop), test.evidence / np.log(10)))
    return path


def _order_sentence(
    verdict: "OrderVerdict", names: list[str], rows: int, level: float, *, sequential: bool
) -> str:
    if not verdict.refuted:
        return (
            f"Order test: no evidence against random order (level {100 * level:g} %). "
            "Shuffle the list to be sure."
        )
    alarm = (
        f"raised an alarm at row {verdict.values:,} of"
        if sequential
        else "differs from its shuffles, over all"
    )
    return (
        f"Order test: not in random order. Column {names[verdict.column]} {alarm} "
        f"{plural(rows, 'row')} (p-value "
        f"{verdict.p_value:.2g}). Shuffle the rows before you sample from them."
    )


def _order_page(
    sentence: str, facts: dict[str, Any], path: list[tuple[int, "Floats"]], name: str
) -> dict[str, Any]:
    import numpy as np

    from tombola.evidence.order_test import MARTINGALE_SHARE

    columns = facts["columns"]
    x = np.array([row for row, _ in path], np.float64)
    evidence = np.minimum(np.array([found for _, found in path]), 300.0)
    # The column of the alarm first, then by evidence.
    first = [columns.index(facts["column"])] if facts["column"] else []
    others = (int(j) for j in np.argsort(-evidence.max(axis=0), kind="stable") if j not in first)
    figure = _figure(
        "Evidence against random order",
        f"Largest wealth of the test martingale so far, for at most {_MAX_FIGURES} columns. In "
        "random order it ever "
        "reaches the dashed line with at most half of the stated probability. The permutation "
        "test of the whole list "
        "is not drawn.",
        "evidence, in powers of ten",
        {columns[j]: (x, *[evidence[:, j]] * 3) for j in [*first, *others][:_MAX_FIGURES]},
        {"alarm": float(np.log10(len(columns) / (MARTINGALE_SHARE * facts["level"])))},
        alt=f"Evidence against random order by row. {sentence}",
    )
    alarm = (
        ()
        if facts["random"]
        else (("column", facts["column"]), ("alarm at row", f"{facts['row']:,}"))
    )
    return {
        "title": f"Order of {name}",
        "lead": "A test martingale bets on the rank of each value among its predecessors. At the "
        "end the list is "
        "compared with its shuffles. Each of the two raises a false alarm with at most half of "
        "the stated probability.",
        "verdict": sentence,
        "tone": "good" if facts["random"] else "bad",
        "facts": (
            *alarm,
            ("rows", f"{facts['rows']:,}"),
            ("columns", str(len(columns))),
            ("level", f"{facts['level']:g}"),
        ),
        "figures": [figure],
    }


# audit


def _quantities(statements: "list[Statement]", columns: dict[str, tuple[str, ...]]) -> "Floats":
    """Return the quantity of each statement per row, shape (rows, statements)."""
    import numpy as np

    return np.column_stack([one.inequalities[0].values(columns) for one in statements])


def _check_cells(
    source: RowSource,
    statements: "list[Statement]",
    strata: str,
    sizes: dict[str, int] | None,
    batch: Rows,
) -> None:
    """Reject rows with cells that a statement cannot use or unknown strata."""
    columns = source.columns(batch)
    try:
        _quantities(statements, columns)
        if sizes is not None and (
            unknown := [name for name in columns[strata] if name.strip() not in sizes]
        ):
            raise TableError(
                f"audit: expected a stratum of {', '.join(sizes)}, got {unknown[0]!r}; add its "
                "size to --sizes."
            )
    except TableError as error:
        raise TableError(
            f"{source.source}: line {batch[0][0]}: {str(error).removeprefix('audit: ')}"
        ) from None


def _parse_sizes(text: str) -> dict[str, int]:
    sizes = {}
    for word in split_commas(text):
        name, _, size = word.partition("=")
        if not size.strip().isdigit() or int(size) < 1:
            raise ParameterError(
                f"--sizes: expected NAME=ROWS with commas between, got {word!r}; write north=400."
            )
        sizes[name.strip()] = int(size)
    return sizes


def _expected_rows(
    result: "AuditResult", population: int | None, level: float, statement: "Statement", seed: int
) -> int | None:
    """Estimate the rows that an undecided statement needs in all, if its mean stays."""
    from tombola.evidence import plan

    first = statement.inequalities[0]
    mean, deviation = first.from_units(result.mean), result.deviation / first.unit
    at_threshold = any(mean == one.threshold for one in statement.inequalities)
    if result.outcome != "undecided" or population is None or math.isnan(mean) or at_threshold:
        return None
    medians = [
        plan(
            one.threshold,
            mean,
            population=population,
            deviation=deviation,
            level=level,
            shuffles=_FORECAST_SHUFFLES,
            seed=seed,
        ).median
        for one in statement.inequalities
    ]
    return max(result.rows, *medians)


def _result_cells(result: "AuditResult", expected: int | None) -> tuple[str, ...]:
    """Return the line of a result; `expected` rows in all, if it is undecided."""
    rows = f"{result.rows:,}" + (f" (about {expected:,} in all)" if expected is not None else "")
    error = (
        "-"
        if result.outcome == "undecided"
        else "0"
        if result.p_value == 0
        else f"at most {result.p_value:.2g}"
    )
    mean = "-" if math.isnan(result.mean) else f"{result.mean:.5g}"
    return result.statement, result.outcome, rows, error, mean


def _running_mean_figure(
    running: "RunningMean", result: "AuditResult", level: float
) -> "CaptionedChart":
    """Return the chart of a running mean around the decisive row."""
    import numpy as np

    near = [point for point in running.points if result.rows / 20 <= point.rows <= 2 * result.rows]
    drawn = np.unique(np.linspace(0, len(near) - 1, _MAX_POINTS).round().astype(int))
    x, mean, low, high = np.array(near, np.float64)[drawn].T
    mean = np.where(np.isnan(mean), (low + high) / 2, mean)
    kind = "difference" if running.statement.is_difference else "mean"
    known = f"the mean after {plural(int(x[-1]), 'row')} is {mean[-1]:.3g}"
    return _figure(
        running.statement.text,
        f"{result.outcome.capitalize()} after {plural(result.rows, 'row')}. The band contains "
        f"the {kind} of the whole "
        f"list at all times simultaneously with probability {1 - level:.3g}; dashed: the "
        "threshold. An outcome is "
        "one-sided, so it may come a little before the band leaves the line.",
        kind,
        {kind: (x, mean, low, high)},
        {f"threshold {at:g}": at for at in running.thresholds},
        alt=f"{result}; {known}, interval {low[-1]:.3g} to {high[-1]:.3g}",
    )
