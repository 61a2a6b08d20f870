"""`tombola demo`: write an example table, then print and run three commands on it."""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import written_line
from tombola.cli.options import Force, Json, Seeds, check_table
from tombola.cli.printing import show
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.tables.to_pool import Table

# Learners of the demonstration: few, so that it takes seconds.
_LEARNERS = "Thrifty,ThompsonSampling,UCB2,Exp3"
# Example -> options of `compare` for the question that it is about.
_OPTIONS = {
    "call_list": ("--learners", _LEARNERS),
    "solvers": ("--learners", _LEARNERS),
    "evaluation": ("--feedback", "full"),
    "gpu_models": ("--switching-price", "5", "--learners", _LEARNERS),
    "language_models": ("--feedback", "full", "--budget", "1"),
    "digits": ("--learners", _LEARNERS),
}
# Rows of the example table: enough to see an effect, few enough for seconds.
_ROWS = 400


def demo(
    example: Annotated[
        str, typer.Argument(help=f"{', '.join(_OPTIONS)} (needs scikit-learn).")
    ] = "call_list",
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write. Default: EXAMPLE.csv.")
    ] = None,
    force: Force = False,
    table_only: Annotated[
        bool, typer.Option("--table-only", help="Write the table, and run nothing.")
    ] = False,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Write an example table as CSV, then print and run three commands on it.

    With --json the commands are printed, not run.
    """
    from tombola._files import write_atomic
    from tombola._formatting import csv_text

    if example not in _OPTIONS:
        raise ParameterError(
            f"demo: expected one of {', '.join(_OPTIONS)}, got {example!r}; write one of those."
        )
    out = out or Path(f"{example}.csv")
    table, description = _example(example, seed)
    text = csv_text(_lines(table))
    # A second run finds its own table.
    is_same = out.is_file() and out.read_bytes() == text.encode()
    check_table(out, force=force or is_same)
    write_atomic(out, text)
    name = str(out)
    delay = [] if table.delays is None else ["--delay-column", "delay"]
    commands = [
        ["describe", name, "--losses", *delay],
        ["audit", name, "--order", "--seed", str(seed)],
        [
            "compare",
            name,
            "--losses",
            "--repetitions",
            "10",
            "--seed",
            str(seed),
            *_OPTIONS[example],
            *delay,
        ],
    ]
    if as_json:
        texts = [f"tombola {shlex.join(words)}" for words in commands]
        typer.echo(
            json.dumps(
                {
                    "table": name,
                    "rows": table.pool.rows,
                    "description": description,
                    "commands": texts,
                }
            )
        )
        return
    show(f"{written_line(out)}, {description}.")
    if table_only:
        return
    for words in commands:
        _run(words)
    show("\nNext, on a table of your own:")
    show("  tombola compare losses.csv --losses --out page.html", soft=True)


def _example(name: str, seed: int) -> tuple["Table", str]:
    """Return an example of `_ROWS` rows, and its description."""
    from tombola import demo
    from tombola.tables.to_pool import Table

    make = getattr(demo, name)
    example = demo.digits() if name == "digits" else make(_ROWS, seed=seed)
    description = str(make.__doc__).splitlines()[0].removeprefix("Return ").rstrip(".")
    return example if isinstance(example, Table) else Table(example, None, []), description


def _lines(table: "Table") -> list[list[Any]]:
    """Return header and rows: id, losses, and costs and delays if present."""
    pool = table.pool
    header = list(pool.actions)
    columns = [pool.losses[:, action].tolist() for action in range(pool.k)]
    if pool.costs is not None:
        header += [f"cost:{name}" for name in pool.actions]
        columns += [pool.costs[:, action, 0].tolist() for action in range(pool.k)]
    if table.delays is not None:
        header = [*header, "delay"]
        columns = [*columns, table.delays.tolist()]
    ids = pool.ids or [str(row) for row in range(pool.rows)]
    return [
        ["id", *header],
        *([ids[row], *(column[row] for column in columns)] for row in range(pool.rows)),
    ]


def _run(arguments: Sequence[str]) -> None:
    """Print a command as one types it, and run it in this process."""
    from tombola.cli.app import app

    show("")
    show(f"$ tombola {shlex.join(arguments)}", soft=True)
    sys.argv = ["tombola", *arguments]  # commands print the command line they were started with
    app(args=list(arguments), prog_name="tombola", standalone_mode=False)
