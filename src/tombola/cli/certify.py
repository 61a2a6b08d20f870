"""`tombola certify`: stop an evaluation as soon as the best column is known."""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola.cli.answers import check_page
from tombola.cli.options import Json, Page, Seeds, check_level
from tombola.cli.printing import grid, show
from tombola.cli.row_source import DOUBT, Arriving, Readable, in_disorder
from tombola.cli.units import Units, limits

if TYPE_CHECKING:
    from tombola.confidence import Certificate


def certify(
    table: Annotated[str, typer.Argument(help="A column of losses for each action; - reads standard input.")],
    within: Annotated[float, typer.Option(help="Stop when a mean is this near to the best, or nearer.", min=0)] = 0.0,
    level: Annotated[float, typer.Option(help="The probability with which this may be wrong.")] = 0.05,
    rows: Annotated[
        int | None,
        typer.Option(help="Rows of the whole list, if the table holds a part of it, in random order.", min=1),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more rows; the file grows.")] = False,  # noqa: FBT002
    rewards: Annotated[bool, typer.Option("--scores", help="The numbers are scores: higher is better.")] = False,  # noqa: FBT002
    span: Annotated[str, typer.Option("--range", help="The smallest and the largest number there can be.")] = "0,1",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
) -> None:
    """Say when to stop: which column has the least mean over all rows, or nearly, from as few rows as that takes.

    Exit status 0: stop now; 1: go on, the rows so far do not settle it. A line that cannot be read ends it with status
    2, after what was known before.
    """
    from tombola.confidence import RowMonitor
    from tombola.errors import ParameterError
    from tombola.readers.names import like_id

    if rows is None and (table == "-" or follow):
        raise ParameterError("certify: expected the size of the whole list, got none; write --rows 5000.")
    check_level(level)
    check_page(out, table)
    arriving = Arriving(table, follow=follow)
    places = [place for place, name in enumerate(arriving.header) if not like_id(name)]
    names = [arriving.header[place] for place in places]
    if not names:
        raise ParameterError(f"certify: expected a column for each action, got only ids in {arriving.source}; add one.")
    units = Units(*limits(span), rewards)
    goal = within / units.gap(1.0)
    readable = Readable(_losses(arriving, places, units))
    if rows is None:
        everything = list(readable)
        readable.check()
        rows, losses = max(len(everything), 1), _shuffled(everything, seed)
    else:
        losses = _in_random_order(readable, names, arriving.source, seed)
    watch, path, certificate = RowMonitor(names, rows, level), [], None
    for certificate in _looks(watch, losses):
        path.append((certificate.rounds, units.gap(certificate.within(certificate.best))))
        if certificate.certified(goal):
            break
    if certificate is None:
        readable.check()
        raise ParameterError(f"certify: expected at least one row, got none in {arriving.source}; add rows.")
    if readable.bad is None:
        arriving.check_size(rows)
    done = certificate.certified(goal)
    more = None if done else certificate.forecast(goal)
    if out is not None:
        _write(out, certificate, units, within, path, done=done, source=arriving.source)
    if as_json:
        facts = {"stop": done, "asked": within, "table": arriving.source, **_facts(certificate, units)}
        typer.echo(json.dumps({**facts, "forecast": more}, allow_nan=False))
    else:
        ids = [name for name in arriving.header if like_id(name)]
        _show(certificate, units, within, more, ids, done=done)
    readable.check()
    raise typer.Exit(0 if done else 1)


def _losses(arriving: Arriving, places: list[int], units: Units) -> Iterator[list[float]]:
    for line, cells in arriving.rows():
        yield [units.read(arriving.source, line, arriving.header[p], cells[p]) for p in places]


def _in_random_order(losses: Iterable[list[float]], names: list[str], source: str, seed: int) -> Iterator[list[float]]:
    """Pass rows on for as long as nothing speaks against their being in random order."""
    from tombola.confidence import RandomOrderTest

    test = RandomOrderTest(len(names), DOUBT, seed=seed)
    for row in losses:
        if test.extend([row]):
            verdict = test.verdict()
            raise in_disorder(source, f"column {names[verdict.column]}", verdict)
        yield row


def _shuffled(rows: list[list[float]], seed: int) -> Iterator[list[float]]:
    import numpy as np

    return (rows[index] for index in np.random.default_rng(seed).permutation(len(rows)))


def _looks(watch: Any, losses: Iterator[list[float]]) -> Iterator["Certificate"]:
    """Yield the certificate after every row, and of many rows, after every half per cent of them."""
    batch: list[list[float]] = []
    for row in losses:
        batch.append(row)
        if len(batch) >= watch.rows / 200:
            watch.extend(batch)
            batch = []
            yield watch.certificate()
    if batch:
        watch.extend(batch)
        yield watch.certificate()


def _facts(certificate: "Certificate", units: Units) -> dict[str, Any]:
    """Return the certificate as plain data in the numbers of the table, the best action first."""
    known = certificate.to_json()
    actions = [
        {**one, "mean": units.number(one["mean"]), **dict(zip(("low", "high"), ends, strict=True))}
        for one in sorted(known["actions"], key=lambda one: one["mean"])
        for ends in [units.interval(one["low"], one["high"])]
    ]
    return {**known, "target": _target(certificate, units), "within": units.gap(known["within"]), "actions": actions}


def _target(certificate: "Certificate", units: Units) -> str:
    return certificate.target.replace("least mean loss", "largest mean") if units.rewards else certificate.target


def _sentence(certificate: "Certificate", units: Units) -> str:
    facts = _facts(certificate, units)
    return (
        f"after {facts['rows']:,} rows, with probability {1 - facts['level']:g}: action {facts['best']} is within "
        f"{facts['within']:.4g} of {facts['target']} ({facts['method']})"
    )


def _show(
    certificate: "Certificate", units: Units, within: float, more: int | None, ids: list[str], *, done: bool
) -> None:
    show(f"{'stop now' if done else 'go on'}: {_sentence(certificate, units)}")
    if not done:
        guess = f"about {more:,} rows more" if more is not None else "more rows than the list has left"
        show(f"to be within {within:g} it will probably take {guess}")
    listed = grid("action", "rows", "mean", f"{1 - certificate.level:.0%} interval for all rows")
    for one in _facts(certificate, units)["actions"]:
        listed.add_row(one["name"], f"{one['rows']:,}", f"{one['mean']:.4g}", f"[{one['low']:.4g}, {one['high']:.4g}]")
    show(listed)
    if ids:
        show(f"note: taken for ids, by the name: {', '.join(ids)}")


def _write(
    out: Path,
    certificate: "Certificate",
    units: Units,
    within: float,
    path: list[tuple[int, float]],
    *,
    done: bool,
    source: str,
) -> None:
    import numpy as np

    from tombola._files import write_atomic
    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import Listing, Shown, Statement, evidence_page

    x, y = (np.array(column, np.float64) for column in zip(*path, strict=True))
    ends, facts = np.array([x[0], x[-1]]), _facts(certificate, units)
    side, kind = ("below", "mean") if units.rewards else ("above", "mean loss")
    chart = Chart(
        "How near the best action is, at most", "rows taken", f"{kind} {side} the best, at most",
        (Band("certified", x, y, y, y),), (Line(f"asked: {within:g}", ends, np.full(2, within)),),
        log_x=False, log_y=within > 0 and bool(y.min() > 0),
        alt=f"The certified distance falls to {y[-1]:.3g} after {int(x[-1]):,} rows",
    )  # fmt: skip
    listing = Listing(
        f"{kind.capitalize()} of every action, the best first",
        ("action", "rows", "mean so far", "low", "high"),
        tuple(
            (one["name"], f"{one['rows']:,}", *(f"{one[key]:.4g}" for key in ("mean", "low", "high")))
            for one in facts["actions"]
        ),
    )
    words = f"{'Stop now' if done else 'Go on'}: {_sentence(certificate, units)}."
    page = Statement(
        title=f"Which is the best of {Path(source).name}?",
        lead="Rows were taken in random order, and only as many as it takes to be sure.",
        verdict=words,
        tone="good" if done else "fair",
        facts=(
            ("best", facts["best"]), ("within", f"{facts['within']:.4g}"),
            ("rows taken", f"{certificate.rounds:,}"), ("rows in all", f"{certificate.population:,.0f}"),
            ("evidence", certificate.method), ("level", f"{certificate.level:g}"),
        ),
        listings=(listing,),
        pictures=(
            Shown(
                "How near, at most",
                f"The {kind} of the leading action is {side} that of the best one by at most this much, at all times "
                "at once, with the stated probability.",
                chart,
            ),
        ),
        command=shlex.join(["tombola", *sys.argv[1:]]),
    )  # fmt: skip
    write_atomic(out, evidence_page(page))
