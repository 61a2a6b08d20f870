"""Reading: the options that say what is what in a table, written once for all commands that read one."""

import csv
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import typer

TABLE = (
    "A table of losses, a column per action or a line per row and action: CSV, TSV, JSON lines (also .gz), Parquet, "
    "Feather, NPZ, NPY, SQLite as FILE::TABLE, Excel, an ASlib folder; - is standard input."
)
Table = Annotated[str, typer.Argument(help=TABLE)]
Said = dict[str, Any]  # what was said about a table, as arguments of `read_table`
Missing = Annotated[
    Literal["error", "drop", "worst"],
    typer.Option(help="Missing cells: refuse the table (error), drop the row, or count the cell as the worst."),
]
Rescale = Annotated[bool, typer.Option("--rescale", help="Map the smallest number to 0 and the largest to 1.")]

# name, flag or text, what it is
OPTIONS: dict[str, tuple[type, str]] = {
    "actions": (str, "The columns that are actions; names or patterns, with commas between."),
    "id": (str, "The column with the ids of the rows."),
    "ignore": (str, "Columns to leave out; names or patterns, with commas between."),
    "costs": (str, "The columns with costs: patterns such as 'cost_*', or one name for each action."),
    "scores": (bool, "The numbers are scores: higher is better."),
    "losses": (bool, "The numbers are losses: lower is better."),
    "action_column": (str, "In a long table, the column that names the action."),
    "value_column": (str, "In a long table, the column with the numbers."),
    "delay_column": (str, "The column with the delay of each row, in rounds."),
    "sheet": (str, "The sheet of an Excel file."),
    "decimal": (str, "What a comma between digits is not: '.', or is: ',' for a decimal comma."),
}


def reads_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options that say what is what in a table; it gets them together, as its parameter `said`."""

    @wraps(command)
    def run(**given: Any) -> None:
        command(said=wanted({name: given.pop(name) for name in OPTIONS}), **given)

    parameters = list(inspect.signature(command).parameters.values())
    at = next(place for place, one in enumerate(parameters) if one.name == "said")
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*parameters[:at], *map(_parameter, OPTIONS), *parameters[at + 1 :]]
    )
    return run


def _parameter(name: str) -> inspect.Parameter:
    kind, what = OPTIONS[name]
    written = typer.Option(f"--{name.replace('_', '-')}", help=what)
    empty: Any = kind()
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=empty, annotation=Annotated[kind, written]
    )


def wanted(options: dict[str, Any]) -> Said:
    """Return what was said about the table as arguments of `read_table`.

    >>> nothing = {name: kind() for name, (kind, _) in OPTIONS.items()}
    >>> wanted({**nothing, "actions": 'a,"b, c"', "costs": "cost_*", "scores": True})
    {'kind': 'scores', 'actions': ['a', 'b, c'], 'costs': ['cost_*']}
    """
    from tombola.errors import ParameterError

    if options["scores"] and options["losses"]:
        raise ParameterError("--scores: expected scores or losses, got both; leave one of them out.")
    if options["decimal"] not in ("", ".", ","):
        raise ParameterError(
            f"--decimal: expected a comma or a point, got {options['decimal']!r}; write --decimal ','."
        )
    kind = "scores" if options["scores"] else "losses" if options["losses"] else ""
    found = {
        "kind": kind, "actions": names(options["actions"]), "ignore": names(options["ignore"]),
        "costs": names(options["costs"]), "ids": options["id"], "sheet": options["sheet"],
        "decimal": options["decimal"], "action": options["action_column"], "value": options["value_column"],
        "delay": options["delay_column"],
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def names(text: str) -> list[str]:
    """Return names with commas between, where one with a comma in it stands in quotes.

    >>> names('a, "b, c"')
    ['a', 'b, c']
    """
    from tombola.errors import ParameterError

    try:
        rows = list(csv.reader([text], skipinitialspace=True))
    except csv.Error:
        raise ParameterError(f"expected names with commas between, got {text!r}; write them on one line.") from None
    return [name.strip() for name in rows[0] if name.strip()] if rows else []
