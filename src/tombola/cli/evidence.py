"""`tombola certify`, `check-order` and `audit`: statements about a list.

Exit status of all three: 0 proved (or no evidence against random order), 1 refuted, 2 bad input, 3 undecided. Results
for the rows before an invalid line are printed before the command fails.
"""

import json
import math
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import nan_to_none, plural
from tombola.cli.options import Json, Page, Seeds, check_level, check_page, split_commas
from tombola.cli.printing import new_table, show, show_lines
from tombola.cli.reading import require_kind
from tombola.cli.row_source import Rows, RowSource, Sample
from tombola.errors import ParameterError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tombola._types import Floats
    from tombola.confidence import AuditResult, Certificate, OrderVerdict, RunningMean, Statement
    from tombola.readers.units import Units
    from tombola.report.evidence_page import CaptionedChart, TextTable

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
    int | None, typer.Option("--rows", help="Size of the whole list, if the table is a random sample of it.", min=1)
]
_Follow = Annotated[bool, typer.Option("--follow", help="Wait for new rows in a growing file.")]
_History = Annotated[
    Path | None,
    typer.Option(
        help="Table with a column id and numbers of every row of the list, such as losses of earlier candidates."
    ),
]
_Sheet = Annotated[str, typer.Option(help="The sheet of an Excel file.")]
_Range = Annotated[str, typer.Option("--range", help="Smallest and largest possible number, LOW,HIGH.")]


def certify(
    table: Annotated[str, typer.Argument(help=f"A column of losses for each action. {_FORMATS}")],
    within: Annotated[
        float, typer.Option(help="Stop when a column is this close to the best, in the unit of the table.", min=0)
    ] = 0.0,
    level: Annotated[float, typer.Option(help="Error probability, at most.")] = 0.05,
    rows: _ListSize = None,
    follow: _Follow = False,  # noqa: FBT002 - a flag
    losses: Annotated[bool, typer.Option("--losses", help="The numbers are losses: lower is better.")] = False,  # noqa: FBT002
    scores: Annotated[bool, typer.Option("--scores", help="The numbers are scores: higher is better.")] = False,  # noqa: FBT002
    span: _Range = "0,1",
    ignore: Annotated[str, typer.Option(help="Columns that are not actions; names or patterns, commas between.")] = "",
    history: _History = None,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
) -> None:
    """Find the best column of a list from as few of its rows as possible.

    With --history: the mean of one column, to within --within, predicted from numbers of every row.

    Exit status 0: proved, stop now. 3: undecided, read more rows. 2: bad input.
    """
    from tombola.confidence import RowMonitor
    from tombola.readers.names import is_id_name, matching
    from tombola.readers.units import Units, parse_range

    _check_options("certify", table, level, out, follow=follow, has_size=rows is not None)
    source = RowSource(table, sheet, follow=follow)
    if history is not None:
        # The interval of a mean is the same for losses and scores.
        units = Units(*parse_range(span), scores)
        _certify_mean(source, _PastRows(history, source, rows), within, level, units, seed, out, as_json=as_json)
    ids = [name for name in source.header if is_id_name(name)]
    for pattern in split_commas(ignore):
        found = matching(source.header, pattern)
        if not found:
            raise ParameterError(
                f"--ignore: expected a column among {_join(source.header)}, got {pattern!r}; write one of them."
            )
        ids += [name for name in found if name not in ids]
    left_out, notes = _not_actions(source, ids)
    places = [place for place, name in enumerate(source.header) if name not in {*ids, *left_out}]
    names = [source.header[place] for place in places]
    if not names:
        raise ParameterError(f"certify: expected a column for each action, got only ids in {source.source}; add one.")
    kind, remarks = require_kind(source.source, names, losses=losses, scores=scores)
    units = Units(*parse_range(span), scores=kind == "scores")
    max_distance = within / units.gap(1.0)

    def losses_of(batch: Rows) -> list[list[float]]:
        return [
            [units.parse_loss(source.source, line, source.header[p], cells[p], can_ignore=True) for p in places]
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
    more = None if proved else certificate.forecast(max_distance)
    facts = {
        "outcome": "proved" if proved else "undecided", "requested_within": within, "table": source.source,
        **_certificate_facts(certificate, units), "forecast": more,
    }  # fmt: skip
    if out is not None:
        _write_certificate(out, facts, certificate, units, path)
    _print_result(facts, source, lambda: _show_certificate(facts, more, ids, remarks), notes, as_json=as_json)
    sample.raise_error()
    raise typer.Exit(0 if proved else _EXIT_UNDECIDED)


class _PastRows:
    """History of a list, and the place of every row of a table in it.

    The history has numbers known of every row before, such as losses of earlier candidates; they predict the new ones.

    rows: size of the whole list, which the history must have; None if the table holds all of it.
    """

    def __init__(self, path: Path, source: RowSource, rows: int | None) -> None:
        from tombola.readers.cells import read_history
        from tombola.readers.names import is_id_name

        ids, self.table, notes = read_history(path)
        source.notes = (*source.notes, *(f"{path}: {note}" for note in notes))
        self._path, self._source, self.rows = path, source, rows
        self._places = {name: place for place, name in enumerate(ids)}
        columns = [place for place, name in enumerate(source.header) if is_id_name(name)]
        if len(columns) != 1:
            raise ParameterError(
                f"--history: expected one column of row ids in {source.source}, got {len(columns)}; call it id."
            )
        self.id_column = columns[0]
        if rows is not None and rows != len(ids):
            raise ParameterError(
                f"--history: expected all {plural(rows, 'row')} in {path}, got {len(ids):,}; add the others."
            )

    def check(self, batch: Rows) -> None:
        """Raise TableError for the first row that is not in the history."""
        for line, cells in batch:
            if cells[self.id_column].strip() not in self._places:
                raise TableError(
                    f"{self._source.source}: line {line}: expected a row of {self._path}, got "
                    f"{cells[self.id_column].strip()!r}; add it to the history."
                )

    def places(self, batch: Rows) -> list[int]:
        """Return the positions of rows in the history, from 0."""
        return [self._places[cells[self.id_column].strip()] for _, cells in batch]

    def check_complete(self, sample: Sample) -> None:
        """Raise ParameterError if a table without --rows does not hold the whole list."""
        if not sample.is_partial and sample.population != len(self.table):
            raise ParameterError(
                f"--history: expected {plural(len(self.table), 'row')} in {self._source.source}, as in {self._path}, "
                f"got {sample.population:,}; write --rows {len(self.table)} if they are a random sample in random "
                "order."
            )


def _certify_mean(
    source: RowSource, past: _PastRows, within: float, level: float, units: "Units", seed: int, out: Path | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Find the mean of one column with predictions from history, and exit."""
    from tombola.confidence import PredictedMean

    columns = [place for place in range(len(source.header)) if place != past.id_column]
    if len(columns) != 1:
        raise ParameterError(
            f"certify: expected one column beside the ids with --history, got {len(columns)}; leave the others out."
        )
    name = source.header[columns[0]]

    def losses(batch: Rows) -> list[float]:
        past.check(batch)
        return [units.parse_loss(source.source, line, name, cells[columns[0]]) for line, cells in batch]

    sample = Sample(source, losses, past.rows, seed, [f"column {name}"])
    past.check_complete(sample)
    sequence, proved = PredictedMean(past.table, level), False
    for batch in sample:
        values = losses(batch)
        sample.test_order([[value] for value in values])
        for place, value in zip(past.places(batch), values, strict=True):
            sequence.update(place, value)
            proved = units.gap(sequence.interval().width) <= 2.0 * within
            if proved:
                break
        if proved:
            break
    sample.check_row_count("certify", sequence.count, sequence.population)
    low, high = units.interval(*sequence.interval())
    facts = {
        "outcome": "proved" if proved else "undecided", "requested_within": within, "table": source.source,
        "column": name, "rows": sequence.count, "population": sequence.population, "level": level,
        "mean": units.number(sequence.total / sequence.count), "low": low, "high": high,
        "history_columns": past.table.shape[1],
    }  # fmt: skip
    sentence = (
        f"{'Stop' if proved else 'Undecided'} after {plural(sequence.count, 'row')}: with probability {1 - level:g}, "
        f"the mean of {name} over all {plural(sequence.population, 'row')} is in [{low:.4g}, {high:.4g}], with "
        f"{past.table.shape[1]} columns of history."
    )
    if out is not None:
        cards = (
            ("mean", f"{facts['mean']:.4g}"), ("rows read", f"{sequence.count:,}"),
            ("rows of the list", f"{sequence.population:,}"), ("level", f"{level:g}"),
        )  # fmt: skip
        _write_page(
            out, f"Mean of {name}", "Rows were read in random order, until the mean was known.", sentence,
            "good" if proved else "fair", cards, [], [],
        )  # fmt: skip
    _print_result(facts, source, lambda: show(sentence), as_json=as_json)
    sample.raise_error()
    raise typer.Exit(0 if proved else _EXIT_UNDECIDED)


def check_order(
    table: Annotated[str, typer.Argument(help=f"The rows of a list in the order listed. {_FORMATS}")],
    columns: Annotated[str, typer.Option(help="Columns of numbers, separated by commas; all by default.")] = "",
    level: Annotated[float, typer.Option(help="Probability of a false alarm, at most.")] = 0.01,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
) -> None:
    """Test whether the rows of a list are in random order.

    Exit status 0: no evidence against random order. 1: not in random order. 2: bad input.
    """
    from tombola.confidence.order_test import MARTINGALE_SHARE, RandomOrderTest, combined_verdict

    _check_options("check-order", table, level, out)
    source = RowSource(table, sheet)
    names, values, ignored = _number_columns(source, split_commas(columns))
    test = RandomOrderTest(len(names), MARTINGALE_SHARE * level, seed=seed)
    path = _evidence_path(test, values)
    verdict = combined_verdict(test, values, level, seed=seed)
    sentence = _order_sentence(verdict, names, len(values), level, sequential=test.alarm)
    facts = {
        "random": not verdict.refuted, "column": names[verdict.column] if verdict.refuted else None,
        "row": verdict.values if verdict.refuted else None, "p_value": verdict.p_value, "level": level,
        "rows": len(values), "columns": names, "ignored": list(ignored),
    }  # fmt: skip
    if out is not None:
        _write_order(out, sentence, facts, path, Path(source.source).name)
    lines = [sentence, f"{plural(len(values), 'row')}; columns: {_join(names)}"]
    lines += [f"note: ignored columns: {_ignored_text(ignored)}"] if ignored else []
    _print_result(facts, source, lambda: show_lines(lines), as_json=as_json)
    raise typer.Exit(_EXIT_REFUTED if verdict.refuted else 0)


def audit(
    table: Annotated[str, typer.Argument(help=f"Rows of the list, with a header. {_FORMATS}")],
    statements: Annotated[list[str], typer.Argument(help="Such as 'mean(score) > 0.7', 'share(grade = pass) >= 0.9'.")],
    level: Annotated[float, typer.Option(help="Probability, at most, that any outcome is wrong.")] = 0.05,
    rows: _ListSize = None,
    follow: _Follow = False,  # noqa: FBT002 - a flag
    strata: Annotated[str, typer.Option(help="Column with the stratum of each row, for a list in strata.")] = "",
    sizes: Annotated[str, typer.Option(help="Rows of each stratum: north=400,south=600.")] = "",
    span: _Range = "0,1",
    history: _History = None,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
) -> None:
    """Prove or refute statements about a list from as few of its rows as possible.

    Exit status 0: all are proved. 1: some are refuted. 3: some are undecided, none is refuted. 2: bad input.
    """
    from tombola.confidence import Audit, RunningMean, parse_statement
    from tombola.readers.units import parse_range

    _check_options("audit", table, level, out, follow=follow, has_size=rows is not None or bool(sizes))
    if bool(strata) != bool(sizes) or (sizes and rows):
        raise ParameterError(
            "audit: expected --strata and --sizes together, and no --rows; write --strata region --sizes a=400,b=600."
        )
    source = RowSource(table, sheet, follow=follow)
    past = None if history is None else _PastRows(history, source, rows)
    if past is not None and strata:
        raise ParameterError("audit: expected --strata or --history, got both; leave one out.")
    parsed = [parse_statement(statement, span=parse_range(span)) for statement in statements]
    stratum_sizes = _parse_sizes(sizes) if sizes else None
    source.check_columns([*(name for one in parsed for name in one.columns), *([strata] if strata else [])])
    # With strata the sizes are those of the strata; the number of rows is not needed.
    list_size = sum(stratum_sizes.values()) if stratum_sizes else rows

    def check(batch: Rows) -> None:
        _check_cells(source, parsed, strata, stratum_sizes, batch)
        if past is not None:
            past.check(batch)

    sample = Sample(source, check, list_size, seed, () if stratum_sizes else statements)
    if past is not None:
        past.check_complete(sample)
    population = None if stratum_sizes else sample.population
    tested = Audit(parsed, population, level, strata=stratum_sizes, history=None if past is None else past.table)
    shown = parsed[:_MAX_FIGURES] if out is not None else []
    running = [RunningMean(one, population, level / len(parsed), strata=stratum_sizes) for one in shown]
    n_rows = 0
    for batch in sample:
        columns = source.columns(batch)
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
    results = tested.results()
    expected = [
        _expected_rows(result, population, level / len(results), statement, seed)
        for result, statement in zip(results, parsed, strict=True)
    ]
    if out is not None:
        facts = (
            ("rows read", f"{n_rows:,}"),
            ("rows of the list", f"{tested.population:,.0f}"),
            ("level", f"{level:g}"),
        )
        _write_audit(out, results, facts, running, level / len(results), Path(source.source).name)
    printed = new_table(*_AUDIT_HEADINGS)
    items = []
    for result, count in zip(results, expected, strict=True):
        items.append({**nan_to_none(result._asdict()), "expected_rows": count})
        printed.add_row(*_result_cells(result, f" (about {count:,} in all)" if count is not None else ""))
    _print_result({"rows": n_rows, "level": level, "results": items}, source, lambda: show(printed), as_json=as_json)
    sample.raise_error()
    outcomes = {one.outcome for one in results}
    raise typer.Exit(_EXIT_REFUTED if "refuted" in outcomes else _EXIT_UNDECIDED if "undecided" in outcomes else 0)


def _check_options(
    command: str, table: str, level: float, out: Path | None, *, follow: bool = False, has_size: bool = True
) -> None:
    """Validate the options before the table is read."""
    if not has_size and (table == "-" or follow):
        raise ParameterError(f"{command}: expected the size of the whole list, got none; write --rows 5000.")
    check_level(level)
    check_page(out, table)


def _print_result(
    facts: dict[str, Any], source: RowSource, show_text: "Callable[[], None]", notes: "Sequence[str]" = (), *,
    as_json: bool,
) -> None:  # fmt: skip
    """Print a result, and remarks on how the table was read, such as its encoding.

    notes: further remarks.
    """
    notes = [*source.notes, *notes]
    if as_json:
        typer.echo(json.dumps({**facts, "notes": notes}, allow_nan=False))
    else:
        show_text()
        show_lines(f"note: {note}" for note in notes)


def _write_page(out: Path, title: str, lead: str, verdict: str, tone: str, facts: "Sequence[tuple[str, str]]",
                tables: "Sequence[TextTable]", figures: "Sequence[CaptionedChart]") -> None:  # fmt: skip
    from tombola._files import write_atomic
    from tombola.report.evidence_page import EvidencePage, render_evidence

    command = shlex.join(["tombola", *sys.argv[1:]])
    page = EvidencePage(title, lead, verdict, tone, tuple(facts), tuple(tables), tuple(figures), command)
    write_atomic(out, render_evidence(page))


def _join(names: list[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else "")


# certify


def _not_actions(source: RowSource, ids: list[str]) -> tuple[list[str], list[str]]:
    """Return columns of a file with ids, or that sum up the actions; notes on them.

    ids: names of columns that are not actions, by name or option.
    """
    from tombola.readers.derived import summary_columns
    from tombola.readers.names import is_summary_name
    from tombola.readers.wide import find_ids

    if source.parsed is None:
        return [], []
    free = [column for column in source.parsed.columns if column.name not in ids]
    # At least two actions must be left, as in describe.
    found = find_ids(source.parsed, free, {}) if len(free) > 2 else None
    # A column of whole numbers may be an action; only text is surely none.
    texts = [found.name] if found is not None and found.n_numbers == 0 else []
    summaries, questions = summary_columns([column for column in free if column.name not in texts])
    notes = [f"ids from column {name!r}" for name in texts]
    notes += [f"ignored columns: {_ignored_text(summaries)}"] if summaries else []
    # Numbers alone often agree by chance if few rows have been read, as in a sample.
    return [*texts, *summaries], [*notes, *(text for name, text in questions.items() if is_summary_name(name))]


def _certificate_facts(certificate: "Certificate", units: "Units") -> dict[str, Any]:
    """Return the certificate as JSON data in table units, the best action first."""
    facts = certificate.to_json()
    actions = [
        {**one, "mean": units.number(one["mean"]), **dict(zip(("low", "high"), ends, strict=True))}
        for one in sorted(facts["actions"], key=lambda one: one["mean"])
        for ends in [units.interval(one["low"], one["high"])]
    ]
    target = certificate.target.replace("least mean loss", "largest mean") if units.scores else certificate.target
    return {**facts, "target": target, "within": units.gap(facts["within"]), "actions": actions}


def _certificate_sentence(facts: dict[str, Any]) -> str:
    distance = f"is within {facts['within']:.4g} of" if facts["within"] else "has"
    return (
        f"{'Stop' if facts['outcome'] == 'proved' else 'Undecided'} after {plural(facts['rows'], 'row')}: with "
        f"probability {1 - facts['level']:g}, action {facts['best']} {distance} {facts['target']} ({facts['method']})."
    )


def _show_certificate(facts: dict[str, Any], more: int | None, ids: list[str], remarks: list[str]) -> None:
    show(_certificate_sentence(facts))
    for remark in remarks:
        show(remark)
    if facts["outcome"] == "undecided":
        rest = f"about {plural(more, 'more row')}" if more is not None else "more rows than the list has"
        show(f"Forecast for {facts['requested_within']:g}: {rest}.")
    table = new_table("action", "rows", "mean", f"{1 - facts['level']:.0%} interval for all rows")
    for one in facts["actions"]:
        table.add_row(one["name"], f"{one['rows']:,}", f"{one['mean']:.4g}", f"[{one['low']:.4g}, {one['high']:.4g}]")
    show(table)
    if ids:
        show(f"note: columns read as ids, by name: {', '.join(ids)}")


def _write_certificate(
    out: Path, facts: dict[str, Any], certificate: "Certificate", units: "Units", path: list[tuple[int, float]]
) -> None:
    import numpy as np

    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import CaptionedChart, TextTable

    x, y = (np.array(column, np.float64) for column in zip(*path, strict=True))
    ends, within = np.array([x[0], x[-1]]), facts["requested_within"]
    side, kind = ("below", "mean") if units.scores else ("above", "mean loss")
    chart = Chart(
        "Distance of the leading action from the best, at most", "rows read", f"{kind} {side} the best, at most",
        (Band("certified", x, y, y, y),), (Line(f"requested: {within:g}", ends, np.full(2, within)),),
        log_x=False, log_y=within > 0 and bool(y.min() > 0),
        alt=f"The certified distance falls to {y[-1]:.3g} after {plural(int(x[-1]), 'row')}",
    )  # fmt: skip
    caption = (
        f"Upper bound on the distance of the leading action from the best one ({kind} {side} it), valid at all times "
        "simultaneously with the stated probability."
    )
    table = TextTable(
        f"{kind.capitalize()} of every action, the best first",
        ("action", "rows", "sample mean", "low", "high"),
        tuple(
            (one["name"], f"{one['rows']:,}", *(f"{one[key]:.4g}" for key in ("mean", "low", "high")))
            for one in facts["actions"]
        ),
    )
    cards = (
        ("best", facts["best"]), ("within", f"{facts['within']:.4g}"), ("rows read", f"{certificate.rounds:,}"),
        ("rows of the list", f"{certificate.population:,.0f}"), ("evidence", certificate.method),
        ("level", f"{certificate.level:g}"),
    )  # fmt: skip
    _write_page(
        out, f"Best column of {Path(facts['table']).name}",
        "Rows were read in random order, until the best column was known.",
        _certificate_sentence(facts), "good" if facts["outcome"] == "proved" else "fair",
        cards, [table], [CaptionedChart("Distance from the best, at most", caption, chart)],
    )  # fmt: skip


# check-order


def _number_columns(source: RowSource, requested: tuple[str, ...]) -> tuple[list[str], "Floats", dict[str, str]]:
    """Return names and ranks of the number columns, and why others are ignored."""
    import numpy as np

    from tombola.readers.columns import parse_number
    from tombola.readers.derived import summary_columns

    rows = list(source.rows())
    if not rows:
        raise TableError(f"{source.source}: expected a header and at least one row, got no row; add rows.")
    source.check_columns(requested)
    columns, ignored = {}, {}
    parsed = source.parsed
    for name, cells in source.columns(rows).items():
        if requested and name not in requested:
            continue
        numbers = np.array([parse_number(cell) for cell in cells])
        invalid = np.flatnonzero(np.isnan(numbers))
        if invalid.size:
            ignored[name] = f"line {rows[invalid[0]][0]} has {cells[invalid[0]]!r}"
        elif not requested and len(source.header) > 1 and _is_row_number(numbers):
            ignored[name] = "row numbers"
        else:
            columns[name] = _ranks(numbers)
    if parsed is not None and not requested:
        summaries = summary_columns([parsed.by_name[name] for name in columns])[0]
        columns = {name: ranks for name, ranks in columns.items() if name not in summaries}
        ignored |= summaries
    if not columns or (requested and ignored):
        raise TableError(
            f"{source.source}: expected a column of numbers, got {_ignored_text(ignored)}; repair a cell, or name "
            "other columns with --columns."
        )
    return list(columns), np.column_stack(list(columns.values())), ignored


def _ignored_text(ignored: dict[str, str]) -> str:
    return _join([f"{name} ({reason})" for name, reason in ignored.items()])


def _ranks(numbers: "Floats") -> "Floats":
    """Return dense ranks of numbers, scaled to [0, 1]; the order test uses no more."""
    import numpy as np

    places = np.unique(numbers, return_inverse=True)[1]
    return places / max(int(places.max()), 1)


def _is_row_number(numbers: "Floats") -> bool:
    """Return whether a column counts the rows, like ids given after a shuffle."""
    return len(numbers) > 1 and bool((numbers[1:] - numbers[:-1] == 1.0).all())


def _evidence_path(test: Any, values: "Floats") -> list[tuple[int, "Floats"]]:
    """Run the test; return its evidence, a power of ten, at some hundred rows."""
    import numpy as np

    edges = np.unique(np.linspace(0, len(values), _MAX_POINTS + 1).astype(int))
    path = []
    for start, stop in pairwise(edges):
        test.extend(values[start:stop])
        path.append((int(stop), test.evidence / np.log(10)))
    return path


def _order_sentence(verdict: "OrderVerdict", names: list[str], rows: int, level: float, *, sequential: bool) -> str:
    if not verdict.refuted:
        return f"Order test: no evidence against random order (level {100 * level:g} %). Shuffle the list to be sure."
    alarm = f"raised an alarm at row {verdict.values:,} of" if sequential else "differs from its shuffles, over all"
    return (
        f"Order test: not in random order. Column {names[verdict.column]} {alarm} {plural(rows, 'row')} (p-value "
        f"{verdict.p_value:.2g}). Shuffle the rows before you sample from them."
    )


def _write_order(out: Path, sentence: str, facts: dict[str, Any], path: list[tuple[int, "Floats"]], name: str) -> None:
    import numpy as np

    from tombola.confidence.order_test import MARTINGALE_SHARE
    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import CaptionedChart

    x = np.array([row for row, _ in path], np.float64)
    evidence = np.minimum(np.array([found for _, found in path]), 300.0)
    # The column of the alarm first, then by evidence.
    first = [facts["columns"].index(facts["column"])] if facts["column"] else []
    others = (int(j) for j in np.argsort(-evidence.max(axis=0), kind="stable") if j not in first)
    threshold = np.log10(len(facts["columns"]) / (MARTINGALE_SHARE * facts["level"]))
    bands = tuple(
        Band(facts["columns"][j], x, evidence[:, j], evidence[:, j], evidence[:, j])
        for j in [*first, *others][:_MAX_FIGURES]
    )
    line = Line("alarm", np.array([x[0], x[-1]]), np.full(2, threshold))
    chart = Chart("Evidence", "row", "evidence, in powers of ten", bands, (line,), log_x=False, log_y=False,
                  alt=f"Evidence against random order by row. {sentence}")  # fmt: skip
    caption = (
        f"Largest wealth of the test martingale so far, for at most {_MAX_FIGURES} columns. In random order it ever "
        "reaches the dashed line with at most half of the stated probability. The permutation test of the whole list "
        "is not drawn."
    )
    alarm = () if facts["random"] else (("column", facts["column"]), ("alarm at row", f"{facts['row']:,}"))
    cards = (*alarm, ("rows", f"{facts['rows']:,}"), ("columns", str(len(facts["columns"]))),
             ("level", f"{facts['level']:g}"))  # fmt: skip
    lead = (
        "A test martingale bets on the rank of each value among its predecessors. At the end the list is compared with "
        "its shuffles. Each of the two raises a false alarm with at most half of the stated probability."
    )
    tone = "good" if facts["random"] else "bad"
    _write_page(out, f"Order of {name}", lead, sentence, tone, cards, [],
                [CaptionedChart("Evidence against random order", caption, chart)])  # fmt: skip


# audit


def _quantities(statements: "list[Statement]", columns: dict[str, tuple[str, ...]]) -> "Floats":
    """Return the quantity of each statement per row, shape (rows, statements)."""
    import numpy as np

    return np.column_stack([one.inequalities[0].values(columns) for one in statements])


def _check_cells(
    source: RowSource, statements: "list[Statement]", strata: str, sizes: dict[str, int] | None, batch: Rows
) -> None:
    """Reject rows with cells that a statement cannot use or unknown strata."""
    columns = source.columns(batch)
    try:
        _quantities(statements, columns)
        if sizes is not None and (unknown := [name for name in columns[strata] if name.strip() not in sizes]):
            raise TableError(
                f"audit: expected a stratum of {', '.join(sizes)}, got {unknown[0]!r}; add its size to --sizes."
            )
    except TableError as error:
        raise TableError(f"{source.source}: line {batch[0][0]}: {str(error).removeprefix('audit: ')}") from None


def _parse_sizes(text: str) -> dict[str, int]:
    sizes = {}
    for word in split_commas(text):
        name, _, size = word.partition("=")
        if not size.strip().isdigit() or int(size) < 1:
            raise ParameterError(f"--sizes: expected NAME=ROWS with commas between, got {word!r}; write north=400.")
        sizes[name.strip()] = int(size)
    return sizes


def _expected_rows(
    result: "AuditResult", population: int | None, level: float, statement: "Statement", seed: int
) -> int | None:
    """Estimate the rows that an undecided statement needs in all, if its mean stays."""
    from tombola.confidence import plan

    first = statement.inequalities[0]
    mean, deviation = first.from_units(result.mean), result.deviation / first.unit
    at_threshold = any(mean == one.threshold for one in statement.inequalities)
    if result.outcome != "undecided" or population is None or math.isnan(mean) or at_threshold:
        return None
    medians = [
        plan(one.threshold, mean, population=population, deviation=deviation, level=level,
             shuffles=_FORECAST_SHUFFLES, seed=seed).median
        for one in statement.inequalities
    ]  # fmt: skip
    return max(result.rows, *medians)


def _result_cells(result: "AuditResult", forecast: str = "") -> tuple[str, ...]:
    error = "-" if result.outcome == "undecided" else "0" if result.p_value == 0 else f"at most {result.p_value:.2g}"
    mean = "-" if math.isnan(result.mean) else f"{result.mean:.5g}"
    return result.statement, result.outcome, f"{result.rows:,}{forecast}", error, mean


def _running_mean_figure(running: "RunningMean", result: "AuditResult", level: float) -> "CaptionedChart":
    """Return the chart of a running mean around the decisive row."""
    import numpy as np

    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import CaptionedChart

    near = [point for point in running.points if result.rows / 20 <= point.rows <= 2 * result.rows]
    drawn = np.unique(np.linspace(0, len(near) - 1, _MAX_POINTS).round().astype(int))
    x, mean, low, high = np.array(near, np.float64)[drawn].T
    mean = np.where(np.isnan(mean), (low + high) / 2, mean)
    lines = tuple(Line(f"threshold {at:g}", x[[0, -1]], np.full(2, at)) for at in running.thresholds)
    known = f"the mean after {plural(int(x[-1]), 'row')} is {mean[-1]:.3g}"
    alt = f"{result}; {known}, interval {low[-1]:.3g} to {high[-1]:.3g}"
    kind, text = "difference" if running.statement.is_difference else "mean", running.statement.text
    chart = Chart(text, "rows read", kind, (Band(kind, x, mean, low, high),), lines,
                  log_x=False, log_y=False, alt=alt)  # fmt: skip
    caption = (
        f"{result.outcome.capitalize()} after {plural(result.rows, 'row')}. The band contains the {kind} of the whole "
        f"list at all times simultaneously with probability {1 - level:.3g}; dashed: the threshold. An outcome is "
        "one-sided, so it may come a little before the band leaves the line."
    )
    return CaptionedChart(text, caption, chart)


def _write_audit(
    out: Path, results: "list[AuditResult]", facts: "Sequence[tuple[str, str]]", running: "list[RunningMean]",
    level: float, name: str,
) -> None:  # fmt: skip
    from tombola.report.evidence_page import TextTable

    counts = {outcome: sum(one.outcome == outcome for one in results) for outcome in ("proved", "refuted", "undecided")}
    tone = "bad" if counts["refuted"] else "fair" if counts["undecided"] else "good"
    figures = [
        _running_mean_figure(one, result, level) for one, result in zip(running, results, strict=False) if one.points
    ]
    _write_page(
        out, f"Audit of {name}", "Statements about a whole list, tested on rows in random order.",
        ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + ".", tone, facts,
        [TextTable("Results", _AUDIT_HEADINGS, tuple(map(_result_cells, results)))], figures,
    )  # fmt: skip
