"""Reading: the options that say what is what in a table, shared by the commands that read one."""

import csv
from typing import Annotated, Any, Literal

import typer

TABLE = (
    "A table of losses, a column per action or a line per row and action: CSV, TSV, JSON lines (also .gz), Parquet, "
    "Feather, NPZ, NPY, SQLite as FILE::TABLE, Excel, an ASlib folder; - is standard input."
)
Table = Annotated[str, typer.Argument(help=TABLE)]
Actions = Annotated[str, typer.Option(help="The columns that are actions; names or patterns, with commas between.")]
Ids = Annotated[str, typer.Option("--id", help="The column with the ids of the rows.")]
Ignore = Annotated[str, typer.Option(help="Columns to leave out; names or patterns, with commas between.")]
Costs = Annotated[
    str, typer.Option(help="The columns with costs: patterns such as 'cost_*', or one name for each action.")
]
Rewards = Annotated[bool, typer.Option("--rewards", help="The numbers are rewards: more is better.")]
Losses = Annotated[bool, typer.Option("--losses", help="The numbers are losses: less is better.")]
Sheet = Annotated[str, typer.Option(help="The sheet of an Excel file.")]
Decimal = Annotated[str, typer.Option(help="What a comma between digits is not: '.', or is: ',' for a decimal comma.")]
ActionColumn = Annotated[str, typer.Option(help="In a long table, the column that names the action.")]
ValueColumn = Annotated[str, typer.Option(help="In a long table, the column with the numbers.")]
DelayColumn = Annotated[str, typer.Option(help="The column with the delay of each row, in rounds.")]
Rescale = Annotated[bool, typer.Option("--rescale", help="Map the smallest number to 0 and the largest to 1.")]
Missing = Annotated[
    Literal["error", "drop", "worst"],
    typer.Option(help="Missing cells: refuse the table (error), drop the row, or count the cell as the worst."),
]


def wanted(**options: Any) -> dict[str, Any]:
    """Return what was said about the table as arguments of `read_table`.

    >>> wanted(actions='a,"b, c"', id="", ignore="", costs="cost_*", rewards=True, losses=False, sheet="", decimal="")
    {'kind': 'rewards', 'actions': ['a', 'b, c'], 'costs': ['cost_*']}
    """
    from tombola.errors import ParameterError

    if options["rewards"] and options["losses"]:
        raise ParameterError("--rewards: expected rewards or losses, got both; leave one of them out.")
    if options["decimal"] not in ("", ".", ","):
        raise ParameterError(
            f"--decimal: expected a comma or a point, got {options['decimal']!r}; write --decimal ','."
        )
    kind = "rewards" if options["rewards"] else "losses" if options["losses"] else ""
    found = {
        "kind": kind, "actions": names(options["actions"]), "ignore": names(options["ignore"]),
        "costs": names(options["costs"]), "ids": options["id"], "sheet": options["sheet"],
        "decimal": options["decimal"], "action": options.get("action_column"), "value": options.get("value_column"),
        "delay": options.get("delay_column"),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def names(text: str) -> list[str]:
    """Return names with commas between, where one with a comma in it stands in quotes.

    >>> names('a, "b, c"')
    ['a', 'b, c']
    """
    rows = list(csv.reader([text], skipinitialspace=True))
    return [name.strip() for name in rows[0] if name.strip()] if rows else []
