"""`tombola describe`: print detected columns and the command to run next."""

import json
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from tombola.cli.options import By, Json
from tombola.cli.printing import show_answer
from tombola.cli.table_options import TableArgument, TableOptions, with_table_options

if TYPE_CHECKING:
    from tombola.evidence.run_noise import RunNoise
    from tombola.tables.options import ParsedTable

# Candidates whose noise is printed at most.
_MAX_SHOWN = 12


@with_table_options
def describe(
    table: TableArgument,
    table_options: TableOptions,
    by: By = "",
    as_json: Json = False,
) -> None:
    """Print detected columns, missing values, and the command to run next.

    Of a table with several runs of each row: how often answers change, how much of their variance
    that is, and the probability that all runs of a row succeed. Only reads the table; nothing is
    written.
    """
    from tombola.tables.describe import describe_with
    from tombola.tables.options import ReadOptions

    known = {name: value for name, value in table_options.items() if name in ReadOptions._fields}
    # The arguments after `describe`, or the table alone.
    words = sys.argv[2:] if sys.argv[1:2] == ["describe"] else []
    arguments = [word for word in words if word != "--json"] if table in words else [table]
    command = shlex.join(["tombola", "compare", *arguments])
    description = describe_with(table, ReadOptions(**known, by=by or None), command)
    noise = _noise_of(description.summary.parsed)
    if noise is not None and as_json:
        typer.echo(json.dumps({**description.to_json(), "repeats": noise.to_json()}))
        return
    if noise is not None:
        from tombola.ranking.result import noise_blocks

        names = description.summary.parsed.names
        blocks = noise_blocks(noise, names, range(min(len(names), _MAX_SHOWN)))
        description = replace(description, more=tuple(blocks))
    show_answer(description, as_json=as_json)


def _noise_of(parsed: "ParsedTable") -> "RunNoise | None":
    """Return how much answers change from run to run; None without runs in [0, 1]."""
    import numpy as np

    from tombola.evidence.run_noise import run_noise

    runs = parsed.runs
    if runs is None or parsed.kind is None or np.nanmin(runs) < 0.0 or np.nanmax(runs) > 1.0:
        return None
    return run_noise(1.0 - runs if parsed.kind == "scores" else runs)
