"""`tombola audit`: prove or refute statements about a list from few of its rows."""

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola.cli.answers import check_page
from tombola.cli.options import Json, Page, Seeds, check_level, words
from tombola.cli.printing import grid, show
from tombola.cli.row_source import DOUBT, Arriving, Readable, in_disorder
from tombola.cli.units import limits

if TYPE_CHECKING:
    from tombola.confidence import Audit, AuditResult, RunningMean, Statement
    from tombola.errors import TableError
    from tombola.report.evidence_page import Shown

SHOWN, POINTS = 8, 240  # pictures on a page, and points of a curve
Rows = list[tuple[int, list[str]]]  # the number of the line, and its cells
HEADINGS = ("statement", "finding", "rows it took", "wrong by probability, by now", "mean so far")


def audit(
    table: Annotated[str, typer.Argument(help="Rows of the list, one column for each name; - reads standard input.")],
    statements: Annotated[list[str], typer.Argument(help="Such as 'mean(score) > 0.7', 'share(grade = pass) >= 0.9'.")],
    level: Annotated[float, typer.Option(help="The probability that any finding is wrong, at most.")] = 0.05,
    rows: Annotated[
        int | None,
        typer.Option(help="Rows of the whole list, if the table holds a part of it, in random order.", min=1),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more rows; the file grows.")] = False,  # noqa: FBT002
    strata: Annotated[
        str, typer.Option(help="The column with the stratum of each row, if the list is in strata.")
    ] = "",
    sizes: Annotated[str, typer.Option(help="How many rows each stratum has: north=400,south=600.")] = "",
    span: Annotated[
        str, typer.Option("--range", help="The smallest and the largest number a mean is taken of.")
    ] = "0,1",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
) -> None:
    """Prove or refute statements about a whole list, from as few of its rows as that takes.

    Exit status 0: all are settled, and none is refuted; 1: some are open; 3: some are refuted. A line that cannot be
    read ends it with status 2, after what was known before.
    """
    from tombola.confidence import Audit, RunningMean, parse_statement
    from tombola.errors import ParameterError

    if rows is None and not sizes and (table == "-" or follow):
        raise ParameterError("audit: expected the size of the whole list, got none; write --rows 5000.")
    if bool(strata) != bool(sizes) or (sizes and rows):
        raise ParameterError(
            "audit: expected --strata and --sizes together, and no --rows; write --strata region --sizes a=400,b=600."
        )
    check_level(level)
    check_page(out, table)
    arriving = Arriving(table, follow=follow)
    assertions = [parse_statement(statement, span=limits(span)) for statement in statements]
    parts = _sizes(sizes) if sizes else None
    _check_columns(arriving, [*(name for one in assertions for name in one.columns), *([strata] if strata else [])])
    readable = Readable(_sound(arriving, _check(assertions, arriving.header, strata, parts)))
    source: Iterable[Rows] = readable
    given = rows is not None
    if not given and not sizes:
        everything = [row for batch in readable for row in batch]
        readable.check()
        rows, source = max(len(everything), 1), _batches(_shuffled(everything, seed))
    checked = Audit(assertions, rows, level, strata=parts)
    share = level / len(assertions)
    courses = [RunningMean(one, rows, share, strata=parts) for one in assertions[:SHOWN]] if out is not None else []
    order = [OrderGuard(assertions, arriving.source, seed)] if given and not sizes else []
    taken = _feed(checked, [*order, *courses], source, arriving.header, strata)
    if not taken:
        readable.check()
        raise ParameterError(f"audit: expected at least one row, got none in {arriving.source}; add rows.")
    if readable.bad is None:
        arriving.check_size(int(checked.population))
    findings = checked.results()
    guesses = [
        _more(one, rows, level / len(findings), assertions[i].inequalities, seed) for i, one in enumerate(findings)
    ]
    if out is not None:
        _write(out, findings, taken, checked, courses, Path(arriving.source).name)
    if as_json:
        facts = [
            {**_known(one._asdict()), "probably in all": guess} for one, guess in zip(findings, guesses, strict=True)
        ]
        typer.echo(json.dumps({"rows": taken, "level": level, "findings": facts}, allow_nan=False))
    else:
        _show(findings, guesses)
    readable.check()
    outcomes = {one.outcome for one in findings}
    raise typer.Exit(3 if "refuted" in outcomes else 1 if "undecided" in outcomes else 0)


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold: what is not known is null."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in facts.items()}


def _check_columns(arriving: Arriving, names: list[str]) -> None:
    from tombola.errors import TableError

    for name in names:
        if name not in arriving.header:
            columns = ", ".join(arriving.header[:20])
            raise TableError(f"audit: expected a column {name}, got {columns}; write one of those.")


def _check(
    assertions: "list[Statement]", header: list[str], strata: str, sizes: dict[str, int] | None
) -> Callable[[Rows], None]:
    """Return what refuses rows of which a statement cannot be read, or whose stratum has no size."""
    from tombola.errors import TableError

    def check(batch: Rows) -> None:
        columns = _columns(batch, header)
        for one in assertions:
            one.inequalities[0].values(columns)
        if sizes is not None and (strange := [name for name in columns[strata] if name.strip() not in sizes]):
            known = ", ".join(sizes)
            raise TableError(f"audit: expected a stratum of {known}, got {strange[0]!r}; add its size to --sizes.")

    return check


def _sound(arriving: Arriving, check: Callable[[Rows], None]) -> Iterator[Rows]:
    """Yield rows in batches, up to the first that is refused."""
    rows = Readable(arriving.rows())
    for batch in _batches(rows):
        count, bad = _readable(arriving.source, check, batch)
        yield batch[:count]
        if bad is not None:
            raise bad
    rows.check()


def _readable(source: str, check: Callable[[Rows], None], batch: Rows) -> "tuple[int, TableError | None]":
    """Return how many rows come before the first that is refused, and what is wrong with that one."""
    from tombola.errors import TableError

    try:
        check(batch)
    except TableError as error:
        if len(batch) == 1:
            return 0, TableError(f"{source}: line {batch[0][0]}: {str(error).removeprefix('audit: ')}")
        half = len(batch) // 2
        count, bad = _readable(source, check, batch[:half])
        if bad is None:
            more, bad = _readable(source, check, batch[half:])
            count += more
        return count, bad
    return len(batch), None


def _columns(batch: Rows, header: list[str]) -> dict[str, tuple[str, ...]]:
    return dict(zip(header, zip(*(cells for _, cells in batch), strict=True), strict=True))


def _batches(rows: Iterable[tuple[int, list[str]]]) -> Iterator[Rows]:
    """Yield rows one by one at first, and later in batches of half a per cent of those before."""
    given, batch = 0, []
    for row in rows:
        batch.append(row)
        if len(batch) >= given / 200:
            yield batch
            given, batch = given + len(batch), []
    if batch:
        yield batch


def _shuffled(rows: Rows, seed: int) -> Rows:
    import numpy as np

    return [rows[index] for index in np.random.default_rng(seed).permutation(len(rows))]


def _sizes(text: str) -> dict[str, int]:
    from tombola.errors import ParameterError

    found = {}
    for word in words(text):
        name, _, size = word.partition("=")
        if not size.strip().isdigit() or int(size) < 1:
            raise ParameterError(f"--sizes: expected NAME=ROWS with commas between, got {word!r}; write north=400.")
        found[name.strip()] = int(size)
    return found


class OrderGuard:
    """Lets rows pass for as long as nothing speaks against their being in random order."""

    def __init__(self, assertions: "list[Statement]", source: str, seed: int) -> None:
        from tombola.confidence import RandomOrderTest

        self._assertions, self._source = assertions, source
        self._test = RandomOrderTest(len(assertions), DOUBT, seed=seed)

    def extend(self, rows: Any, strata: Any = None) -> None:
        """Take in rows."""
        import numpy as np

        if self._test.extend(np.column_stack([one.inequalities[0].values(rows) for one in self._assertions])):
            verdict = self._test.verdict()
            raise in_disorder(self._source, self._assertions[verdict.column].text, verdict)


def _feed(
    checked: "Audit", others: "list[OrderGuard | RunningMean]", source: Iterable[Rows], header: list[str], strata: str
) -> int:
    """Take in rows until every assertion is settled, and return how many were taken."""
    taken = 0
    for batch in source:
        if batch:
            columns = _columns(batch, header)
            for one in (*others, checked):
                one.extend(columns, [cell.strip() for cell in columns[strata]] if strata else None)
            taken += len(batch)
        if all(one.outcome != "undecided" for one in checked.results()):
            break
    return taken


def _more(finding: "AuditResult", rows: int | None, level: float, parts: Any, seed: int) -> int | None:
    """Return how many rows in all an open assertion will probably take, if the mean stays as it is."""
    from tombola.confidence import plan

    mean, spread = parts[0].from_units(finding.mean), finding.deviation / parts[0].unit
    if (
        finding.outcome != "undecided"
        or rows is None
        or math.isnan(mean)
        or any(mean == part.threshold for part in parts)
    ):
        return None
    guesses = [
        plan(part.threshold, mean, population=rows, deviation=spread, level=level, shuffles=50, seed=seed).median
        for part in parts
    ]
    return max(finding.rows, *guesses)


def _show(findings: list["AuditResult"], guesses: list[int | None]) -> None:
    listed = grid(*HEADINGS)
    for one, guess in zip(findings, guesses, strict=True):
        rows = f"{one.rows:,}" + (f" (probably {guess:,} in all)" if guess is not None else "")
        mean = "-" if math.isnan(one.mean) else f"{one.mean:.5g}"
        listed.add_row(
            one.statement, one.outcome, rows, "-" if one.outcome == "undecided" else _chance(one.p_value), mean
        )
    show(listed)


def _chance(probability: float) -> str:
    return "never: certain" if probability == 0 else f"{probability:.2g} at most"


def _picture(course: "RunningMean", finding: "AuditResult", share: float) -> "Shown":
    """Return how the mean of an assertion went, with its interval and what it is compared with, around its finding."""
    import numpy as np

    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import Shown

    near = [stop for stop in course.points if finding.rows / 20 <= stop.rows <= 2 * finding.rows]
    every = np.unique(np.linspace(0, len(near) - 1, POINTS).round().astype(int))
    x, mean, low, high = np.array(near, np.float64)[every].T
    mean = np.where(np.isnan(mean), (low + high) / 2, mean)
    lines = tuple(Line(f"threshold {at:g}", x[[0, -1]], np.full(2, at)) for at in course.thresholds)
    alt = (
        f"{finding}; the mean after {int(x[-1]):,} rows is {mean[-1]:.3g}, for all rows {low[-1]:.3g} to {high[-1]:.3g}"
    )
    name = "difference" if course.statement.is_difference else "mean"
    chart = Chart(course.statement.text, "rows taken", name, (Band(name, x, mean, low, high),), lines,
                  log_x=False, log_y=False, alt=alt)  # fmt: skip
    words = (
        f"{finding.outcome.capitalize()} after {finding.rows:,} rows. The band holds the {name} of the whole list at "
        f"all times at once with probability {1 - share:.3g}; dashed: what it is compared with. A finding looks at one "
        "side only, so it may come a little before the band has left the line."
    )
    return Shown(course.statement.text, words, chart)


def _write(
    out: Path, findings: list["AuditResult"], taken: int, checked: "Audit", courses: list["RunningMean"], name: str
) -> None:
    from tombola._files import write_atomic
    from tombola.report.evidence_page import Listing, Statement, evidence_page

    bad = [one for one in findings if one.outcome == "refuted"]
    left = [one for one in findings if one.outcome == "undecided"]
    tone = "bad" if bad else "fair" if left else "good"
    verdict = f"{len(findings) - len(bad) - len(left)} proved, {len(bad)} refuted, {len(left)} open."
    rows = tuple(
        (one.statement, one.outcome, f"{one.rows:,}", "-" if one.outcome == "undecided" else _chance(one.p_value),
         "-" if math.isnan(one.mean) else f"{one.mean:.5g}")
        for one in findings
    )  # fmt: skip
    page = Statement(
        title=f"What holds of {name}?",
        lead="Statements about a whole list, proved or refuted from rows drawn in random order.",
        verdict=verdict,
        tone=tone,
        facts=(
            ("rows taken", f"{taken:,}"),
            ("rows in all", f"{checked.population:,.0f}"),
            ("level", f"{checked.level:g}"),
        ),
        listings=(Listing("Findings", HEADINGS, rows),),
        pictures=tuple(
            _picture(*pair, checked.level / len(findings))
            for pair in zip(courses, findings, strict=False)
            if pair[0].points
        ),
        command=shlex.join(["tombola", *sys.argv[1:]]),
    )
    write_atomic(out, evidence_page(page))
