"""Options about the columns of a table, shared by all commands that read one."""

import csv
import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tombola.errors import ParameterError

# Help text of an argument TABLE, the same for all commands that read a table of losses.
TABLE_HELP = (
    "A table with a column per action, or a line per row and action: CSV, Excel, Parquet, JSON "
    "lines, NumPy, SQLite as FILE::TABLE; - is standard input."
)
# Argument TABLE of commands that read one: a path or "-".
TableArgument = Annotated[str, typer.Argument(help=TABLE_HELP)]
# Keyword arguments of `read_table`, from the options of the command line.
TableOptions = dict[str, Any]
# Option --missing of commands that read a table: treatment of missing cells.
Missing = Annotated[
    Literal["error", "drop", "worst"],
    typer.Option(
        help="Missing cells: reject the table (error), drop the row, or count the cell as the "
        "worst value."
    ),
]
# Option --rescale of commands that read a table, instead of --range.
Rescale = Annotated[
    bool, typer.Option("--rescale", help="Map the smallest value to 0 and the largest to 1.")
]

# Option -> its type and help text. The default is False for a flag, "" for text, None for a flag
# with a negation.
_OPTIONS: dict[str, tuple[Any, str]] = {
    "losses": (bool, "Lower values are better."),
    "scores": (bool, "Higher values are better."),
    "range": (str, "Smallest and largest possible value, such as 0,10; else 0,1."),
    "actions": (str, "The columns that are candidates; names or patterns, with commas between."),
    "actions_from": (Path, "File with the names of the candidates, one per line."),
    "transpose": (bool, "The candidates are in the rows: a row per candidate, a column per item."),
    "words": (str, "Numbers for words in cells, such as pass=1,fail=0."),
    "id": (str, "The column with the ids of the rows."),
    "ignore": (str, "Columns to ignore; names or patterns, with commas between."),
    "ignore_rows": (str, "Ids of rows to ignore, such as Total; or first, last, none."),
    "costs": (
        str,
        "The columns with costs: patterns such as 'cost_*', or one name for each action.",
    ),
    "action_column": (str, "In a long table, the column that names the action."),
    "value_column": (str, "In a long table, the column with the values; in a log, the metric."),
    "delay_column": (str, "The column with the delay of each row, in rounds."),
    "run_column": (
        str,
        "The column that numbers the answers of a candidate on a row, such as run or epoch.",
    ),
    "unfinished": (
        bool,
        "Read an evaluation log of a run that was cancelled, or ended in an error.",
    ),
    "sheet": (str, "The sheet of an Excel file."),
    "decimal": (str, "The decimal mark: '.' or ','."),
    "features": (
        str,
        "Columns known before the action is chosen, to route by; names or patterns, commas "
        "between.",
    ),
    "text": (
        str,
        "Columns of free text to route by, such as prompts; names or patterns, commas between.",
    ),
    "header": (bool | None, "Whether the first line of a text table has the names of the columns."),
}

# Options that mean something only where a learner plays.
_OF_LEARNERS = ("costs", "delay_column", "features", "text")

# Option with a text -> keyword argument of `read_table`.
_TEXTS = {
    "id": "ids",
    "sheet": "sheet",
    "decimal": "decimal",
    "action_column": "action",
    "value_column": "value",
    "delay_column": "delay",
    "run_column": "run",
    "words": "words",
    "transpose": "transpose",
    "unfinished": "unfinished",
}


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options about a table (--losses, --candidates, ...) to a Typer command.

    Returns the command to register. Its parameter `table_options` gets a dict of keyword arguments
    of `read_table`.
    """
    return _with_options(command, list(_OPTIONS))


def with_candidate_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options about a table of candidates; as `with_table_options`.

    Costs, delays and features mean nothing where no learner plays.
    """
    return _with_options(command, [name for name in _OPTIONS if name not in _OF_LEARNERS])


def _with_options(command: Callable[..., None], names: Sequence[str]) -> Callable[..., None]:
    defaults = {name: _parameter(name).default for name in _OPTIONS}

    @wraps(command)
    def run(**values: Any) -> None:
        options = {name: values.pop(name) for name in names}
        command(table_options=_to_read_options({**defaults, **options}), **values)

    parameters = list(inspect.signature(command).parameters.values())
    place = [parameter.name for parameter in parameters].index("table_options")
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*parameters[:place], *map(_parameter, names), *parameters[place + 1 :]]
    )
    return run


def _parameter(name: str) -> inspect.Parameter:
    kind, help_text = _OPTIONS[name]
    flag = f"--{name.replace('_', '-').replace('actions', 'candidates')}"
    negation = f"/--no-{name}" if name == "header" else ""
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default={bool: False, str: ""}.get(kind),
        annotation=Annotated[
            kind | None if kind is Path else kind,
            typer.Option(f"{flag}{negation}", help=help_text, show_default=False),
        ],
    )


def _to_read_options(options: dict[str, Any]) -> TableOptions:
    """Convert the options of the command line to keyword arguments of `read_table`.

    Options that were not given are left out. Raises ParameterError for an invalid one.

    >>> defaults = {name: _parameter(name).default for name in _OPTIONS}
    >>> _to_read_options({**defaults, "actions": 'a,"b, c"', "costs": "cost_*", "scores": True, "range": "0,10"})
    {'kind': 'scores', 'range': (0.0, 10.0), 'actions': ['a', 'b, c'], 'costs': ['cost_*']}
    """
    from tombola.units import parse_range

    kind = parse_kind(losses=options["losses"], scores=options["scores"])
    if options["decimal"] not in ("", ".", ","):
        raise ParameterError(
            f"--decimal: expected a comma or a point, got {options['decimal']!r}; write "
            "--decimal ','."
        )
    keywords: TableOptions = {
        "kind": kind,
        "range": parse_range(options["range"]) if options["range"] else None,
    }
    keywords |= {
        name: parse_names(options[name])
        for name in ("actions", "ignore", "ignore_rows", "costs", "features", "text")
    }
    keywords |= {keyword: options[name] for name, keyword in _TEXTS.items()}
    if options["actions_from"] is not None:
        keywords["actions"] = read_names(options["actions_from"], keywords["actions"], "candidates")
    if options["words"]:
        from tombola.tables.columns import parse_words

        keywords["words"] = parse_words(options["words"])
    stated = {name: value for name, value in keywords.items() if value}
    return stated if options["header"] is None else {**stated, "header": options["header"]}


def read_names(path: Path, names: Sequence[str], option: str) -> list[str]:
    """Return the lines of a file; ParameterError if names are given as well, or there are none.

    option: the one that has names, for messages.
    """
    from tombola._files import read_bytes

    lines = read_bytes(path).decode("utf-8-sig", errors="replace").splitlines()
    words = [line.strip() for line in lines if line.strip()]
    if names or not words:
        got = f"--{option} too" if names else f"an empty file {path}"
        raise ParameterError(
            f"--{option}-from: expected a file with a name in each line, got {got}; write one."
        )
    return words


def parse_kind(*, losses: bool, scores: bool) -> Literal["losses", "scores"] | None:
    """Return the given direction, None without any; ParameterError if both are given."""
    if losses and scores:
        raise ParameterError(
            "--scores: expected scores or losses, got both; leave one of them out."
        )
    return "losses" if losses else "scores" if scores else None


def require_kind(
    source: str, names: Sequence[str], *, losses: bool, scores: bool
) -> tuple[Literal["losses", "scores"], list[str]]:
    """Return the direction of a table, "losses" or "scores", and remarks to print.

    It is taken from the options, else from the column names; QuestionError if none has it.
    """
    from tombola.tables.options import table_header

    header = table_header(source, names, parse_kind(losses=losses, scores=scores))
    kind = header.require_direction()
    remarks = [f"Note: {header.contradiction}"] if header.contradiction else []
    return kind, remarks


def parse_names(text: str, *, keep_blank: bool = False) -> list[str]:
    """Split text at commas into names; a name with a comma is in double quotes.

    text: the value of an option, such as --candidates.

    >>> parse_names('a, "b, c",'), parse_names("a,,b", keep_blank=True)
    (['a', 'b, c'], ['a', '', 'b'])
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True))
    except csv.Error:
        raise ParameterError(
            f"expected names separated by commas, got {text!r}; write them on one line."
        ) from None
    return [name.strip() for name in rows[0] if keep_blank or name.strip()] if rows else []
