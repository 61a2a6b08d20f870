"""`tombola check-order`: tell whether a list was shuffled."""

import json
import math
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola.cli.answers import check_page
from tombola.cli.options import Json, Page, Seeds, check_level, words
from tombola.cli.printing import show
from tombola.cli.row_source import Arriving

if TYPE_CHECKING:
    from tombola._types import Floats
    from tombola.confidence import OrderVerdict

SHOWN, NAMED, LOOKS = 8, 8, 240  # pictures, columns named as left out, points of a curve


def check_order(
    table: Annotated[str, typer.Argument(help="A list: rows in the order in which they are listed; - reads them.")],
    columns: Annotated[str, typer.Option(help="Columns of numbers, with commas between; all if left out.")] = "",
    level: Annotated[float, typer.Option(help="The probability of a false alarm, at most.")] = 0.01,
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
) -> None:
    """Say whether the rows of a list are in random order, and if not, by which row that became clear.

    Exit status 0: nothing speaks against it; 1: they are not.
    """
    from tombola.confidence.order_test import MARTINGALE_SHARE, RandomOrderTest, combined_verdict

    check_level(level)
    check_page(out, table)
    arriving = Arriving(table)
    names, values, skipped = _numbers(arriving, words(columns))
    test = RandomOrderTest(len(names), MARTINGALE_SHARE * level, seed=seed)
    path = _watched(test, values)
    verdict = combined_verdict(test, values, level, seed=seed)
    said = _said(verdict, names, len(values), sequential=test.alarm)
    facts = {
        "random": not verdict.refuted, "column": names[verdict.column] if verdict.refuted else None,
        "row": verdict.values if verdict.refuted else None, "probability": verdict.p_value, "level": level,
        "rows": len(values), "columns": names, "left out": list(skipped),
    }  # fmt: skip
    if out is not None:
        _write(out, said, facts, path, Path(arriving.source).name)
    if as_json:
        typer.echo(json.dumps(facts, allow_nan=False))
    else:
        show(said)
        if skipped:
            show(f"note: left out: {_left_out(skipped)}")
    raise typer.Exit(1 if verdict.refuted else 0)


def _numbers(arriving: Arriving, wanted: tuple[str, ...]) -> tuple[list[str], "Floats", dict[str, str]]:
    """Return the columns of numbers, scaled to [0, 1], which changes no rank, and why the others are left out."""
    import numpy as np

    from tombola.errors import TableError

    rows = list(arriving.rows())
    if not rows:
        raise TableError(f"{arriving.source}: expected a header and at least one row, got no row; add rows.")
    missing = [name for name in wanted if name not in arriving.header]
    if missing:
        raise TableError(
            f"{arriving.source}: expected a column {missing[0]}, got {', '.join(arriving.header[:20])}; write one of "
            "those."
        )
    found, skipped = {}, {}
    for name, column in zip(arriving.header, zip(*(cells for _, cells in rows), strict=True), strict=True):
        if wanted and name not in wanted:
            continue
        strange = next((place for place, cell in enumerate(column) if not _is_number(cell)), None)
        if strange is not None:
            skipped[name] = f"line {rows[strange][0]} has {column[strange].strip()!r}"
        elif not wanted and len(arriving.header) > 1 and _counts(column):
            skipped[name] = "it numbers the rows"
        else:
            found[name] = _scaled(column)
    if not found or (wanted and skipped):
        raise TableError(
            f"{arriving.source}: expected a column of numbers, got {_left_out(skipped)}; repair a cell, or name other "
            "columns with --columns."
        )
    return list(found), np.column_stack(list(found.values())), skipped


def _left_out(skipped: dict[str, str]) -> str:
    named = [f"{name} ({why})" for name, why in skipped.items()]
    return ", ".join(named[:NAMED]) + (f" and {len(named) - NAMED:,} more" if len(named) > NAMED else "")


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _scaled(column: tuple[str, ...]) -> "Floats":
    import numpy as np

    places = np.unique(np.array([float(cell) for cell in column]), return_inverse=True)[1]
    return places / max(int(places.max()), 1)


def _counts(column: Any) -> bool:
    """Say whether a column counts the rows, as ids given after a shuffle do: it tells nothing of their order."""
    numbers = [float(cell) for cell in column]
    return len(numbers) > 1 and all(after - before == 1.0 for before, after in pairwise(numbers))


def _watched(test: Any, values: "Floats") -> list[tuple[int, "Floats"]]:
    """Return the evidence of every column against random order, as powers of ten, at some hundred rows."""
    import numpy as np

    edges = np.unique(np.linspace(0, len(values), LOOKS + 1).astype(int))
    path = []
    for start, stop in pairwise(edges):
        test.extend(values[start:stop])
        path.append((int(stop), test.evidence / np.log(10)))
    return path


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _said(verdict: "OrderVerdict", names: list[str], rows: int, *, sequential: bool) -> str:
    if not verdict.refuted:
        return f"nothing speaks against random order in {_many(rows, 'row')} of {_many(len(names), 'column')}"
    column = names[verdict.column]
    seen = (
        f"column {column} made it clear by row {verdict.values:,} of {rows:,}"
        if sequential
        else f"column {column} is unlike its shuffles, all {rows:,} rows together"
    )
    return (
        f"not in random order: {seen}; by "
        f"probability this happens with probability {verdict.p_value:.2g} at most; shuffle the rows before you sample from "
        "them"
    )


def _write(out: Path, said: str, facts: dict[str, Any], path: list[tuple[int, "Floats"]], name: str) -> None:
    import numpy as np

    from tombola._files import write_atomic
    from tombola.confidence.order_test import MARTINGALE_SHARE
    from tombola.report.chart import Band, Chart, Line
    from tombola.report.evidence_page import Shown, Statement, evidence_page

    x, table = np.array([row for row, _ in path], np.float64), np.array([found for _, found in path])
    table = np.minimum(table, 300.0)
    named = [facts["columns"].index(facts["column"])] if facts["column"] else []
    others = (int(j) for j in np.argsort(-table.max(axis=0), kind="stable") if j not in named)
    ranked = [*named, *others][:SHOWN]
    goal = np.log10(len(facts["columns"]) / (MARTINGALE_SHARE * facts["level"]))
    bands = tuple(Band(facts["columns"][j], x, table[:, j], table[:, j], table[:, j]) for j in ranked)
    line = Line("an alarm", np.array([x[0], x[-1]]), np.full(2, goal))
    alt = f"The evidence against random order, row by row; {said}"
    chart = Chart("Evidence", "row", "evidence, in powers of ten", bands, (line,), log_x=False, log_y=False, alt=alt)
    found = () if facts["random"] else (("column", facts["column"]), ("clear by row", f"{facts['row']:,}"))
    page = Statement(
        title=f"Was {name} shuffled?",
        lead="BettingGrid bet on the rank of each value among those before it, and at the end the list is compared with "
        "shuffles of itself: each may raise an alarm with half of the stated probability.",
        verdict=f"{said[:1].upper()}{said[1:]}.",
        tone="good" if facts["random"] else "bad",
        facts=(
            *found,
            ("rows", f"{facts['rows']:,}"),
            ("columns", str(len(facts["columns"]))),
            ("level", f"{facts['level']:g}"),
        ),
        listings=(),
        pictures=(
            Shown(
                "Evidence against random order",
                f"The wealth of the gamblers so far, for the {SHOWN} columns with most of it at most. In random order "
                "it ever reaches the dashed line with at most half of the stated probability; the comparison with "
                "shuffles of the whole list, at the end, is not drawn.",
                chart,
            ),
        ),
        command=shlex.join(["tombola", *sys.argv[1:]]),
    )
    write_atomic(out, evidence_page(page))
