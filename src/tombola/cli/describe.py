"""`tombola describe`: print detected columns and the command to run next."""

import shlex
import sys

from tombola.cli.options import By, Json
from tombola.cli.printing import show_answer
from tombola.cli.table_options import TableArgument, TableOptions, with_table_options


@with_table_options
def describe(
    table: TableArgument,
    table_options: TableOptions,
    by: By = "",
    as_json: Json = False,
) -> None:
    """Print detected columns, missing values, and the command to run next.

    Only reads the table; nothing is written.
    """
    from tombola.tables.describe import describe_with
    from tombola.tables.options import ReadOptions

    known = {name: value for name, value in table_options.items() if name in ReadOptions._fields}
    # The arguments after `describe`, or the table alone.
    words = sys.argv[2:] if sys.argv[1:2] == ["describe"] else []
    arguments = [word for word in words if word != "--json"] if table in words else [table]
    command = shlex.join(["tombola", "compare", *arguments])
    show_answer(describe_with(table, ReadOptions(**known, by=by or None), command), as_json=as_json)
