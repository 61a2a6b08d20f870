"""Options that several commands share, and their validation."""

import csv
import io
import math
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tombola.errors import FileError, ParameterError

if TYPE_CHECKING:
    from tombola.racing import RaceSettings
    from tombola.units import Kind

# The rule of every --out, see `check_output`.
REPLACED = (
    "An existing file is replaced only if it is an earlier one of its kind; a table only "
    "if no row is lost."
)
# Option --seed; every random number of a command depends on it.
Seeds = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]
# Option --seed of a session or race, which stores it in its file.
LiveSeed = Annotated[
    int | None,
    typer.Option(
        help="Seed of all random numbers. Default: drawn, printed and stored in the file.", min=0
    ),
]
# Option --reading: what a result is about. One option of all commands that claim something.
ReadingOption = Annotated[
    Literal["recorded", "expected", "beyond"] | None,
    typer.Option(
        "--reading",
        help="What the result is about. recorded: these answers; expected: repeated answers to "
        "these rows; beyond: rows like these.",
        show_default=False,
    ),
]
# Option --workers: the number of threads; results do not depend on it.
Workers = Annotated[int, typer.Option(help="Number of threads.", min=1)]
# Option --out of commands that write a page.
Page = Annotated[
    Path | None, typer.Option(help="HTML page to write; an earlier page of tombola is replaced.")
]
# Option --json: machines read the output instead of people.
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Option --by: answers are given for each group of rows too.
By = Annotated[
    str,
    typer.Option(
        "--by", help="Column of groups of rows, such as category: also answer for each group."
    ),
]
# Default of --workers: one thread per processor of this machine.
CORES = os.cpu_count() or 1


def check_level(level: float) -> None:
    """Raise ParameterError unless the error probability `level` is in (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ParameterError(
            f"--level: expected a probability above 0 and below 1, got {level:g}; write --level "
            "0.05."
        )


def check_page(out: Path | None, *inputs: str) -> None:
    """Raise an error unless an HTML page can be written to `out`; None is accepted.

    ParameterError for another suffix than .html or .htm; else as `check_output`.

    inputs: tables that the command reads.
    """
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(
            f"--out: expected a page that ends in .html, got {out}; write --out {out.stem}.html."
        )
    check_output(
        out, *inputs, *(given.partition("::")[0] for given in inputs)
    )  # the file of FILE::TABLE


def check_output(
    out: Path | None,
    *inputs: str | Path,
    columns: Collection[str] = (),
    keys: Iterable[Sequence[Any]] = (),
    n_keys: int | None = None,
) -> None:
    """Raise FileError unless `out` can be written and no other file is lost by it.

    An existing file is replaced only by its like: a page or a report (.json) of tombola, or a table
    with the same columns whose row keys are all in the new one. Nothing is written.

    inputs: files that the command reads, which `out` must not replace.
    columns: header of the table to write; empty for a page or report.
    keys: first cells of each row to write, which identify it, such as ticket and id; read only if
        `out` exists.
    n_keys: number of the first columns of the old table that identify its rows, which may then have
        fewer columns, such as earlier candidates; None: as many as `keys` have, and the columns
        must be the same.
    """
    from tombola._files import check_output_path

    check_output_path(out, *inputs)
    if out is None or not out.exists() or not out.stat().st_size:
        return
    if not (
        _has_all_rows(_read_table(out), columns, list(keys), n_keys) if columns else _is_page(out)
    ):
        same = "the same columns" if n_keys is None else "no other columns"
        like = f"table with {same} and no other rows" if columns else "page or report of tombola"
        raise FileError(
            f"--out: expected a new file, or an earlier {like}, got {out}, which holds something "
            "else; name another "
            "file, or delete it first."
        )


def _is_page(out: Path) -> bool:
    from tombola._files import read_bytes

    # The version in a report, and the footer of every page.
    mark = b'"tombola": "' if out.suffix.lower() == ".json" else b"<code>tombola cite"
    return mark in read_bytes(out)


def _read_table(out: Path) -> list[list[str]]:
    """Return header and rows of a CSV or Parquet file as text; [] if it is neither."""
    from tombola._files import read_bytes
    from tombola._formatting import csv_text

    text = read_bytes(out).decode(errors="replace")
    if text.startswith("PAR1"):
        try:
            old = import_module("pyarrow.parquet").read_table(out)
        except (ImportError, OSError, ValueError):  # cut off, or not Parquet at all
            return []
        text = csv_text([old.column_names, *zip(*old.to_pydict().values(), strict=True)])
    return _csv_rows(text)


def _csv_rows(text: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error:  # such as a cell that is too long: no table of tombola
        return []


def _has_all_rows(
    old: list[list[str]],
    columns: Collection[str],
    keys: list[Sequence[Any]],
    n_keys: int | None = None,
) -> bool:
    """Return whether a new table has all columns and row keys of an old one, as `check_output`.

    >>> old = [["id", "b"], ["x", "0.5"]]
    >>> [_has_all_rows(old, ["id", "a", "b"], [(row, 0.1, 0.5)], 2) for row in "xy"]
    [True, False]
    """
    from tombola._formatting import csv_text

    # As they would be read back from a file.
    header, *new = _csv_rows(
        csv_text([columns, *keys]).encode(errors="backslashreplace").decode()
    ) or [[]]
    # A table with fewer columns may be one of the user, with outcomes that are not recorded yet.
    if not old or not (old[0] == header if n_keys is None else set(old[0]) <= set(header)):
        return False
    compared = old[0][: n_keys or len(new[0] if new else header)]
    places = [header.index(name) for name in compared]
    known = {tuple(row[place] for place in places) for row in new if len(row) > max(places)}
    return all(tuple(row[: len(compared)]) in known for row in old[1:])


def split_commas(text: str) -> tuple[str, ...]:
    """Split text at commas; spaces around words and empty words are dropped.

    >>> split_commas("random, given")
    ('random', 'given')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


# Option --url of commands that can use a server instead of a file.
Url = Annotated[
    str,
    typer.Option(
        help="Address of tombola serve, such as http://127.0.0.1:8787; the first argument is a "
        "name there."
    ),
]
# Option --token of the same commands; the environment variable keeps it out of the history of the
# shell.
Token = Annotated[str, typer.Option(envvar="TOMBOLA_TOKEN", help="With --url: your token.")]
# Option --reissue-after: work that another worker has dropped is issued again.
ReissueAfter = Annotated[
    float | None,
    typer.Option(
        help="With --url: first those issued so many seconds ago that have no answer. Default: "
        "none.",
        min=0,
    ),
]


def check_reissue_after(reissue_after: float | None, url: str) -> None:
    """Raise ParameterError if `reissue_after` is given without `url`.

    A file does not record when other processes, such as `race run`, issued their tickets.
    """
    if reissue_after is not None and not url:
        raise ParameterError(
            "--reissue-after: expected --url ADDRESS too, got none; on a file write --again "
            "instead."
        )


# Function `make(candidates, **replaced) -> RaceSettings` with the options of the command line
# filled in; the caller adds the names of the candidates; keyword arguments such as kind and range
# replace options.
MakeSettings: TypeAlias = "Callable[..., RaceSettings]"

_Level = Annotated[float, typer.Option(help="Probability that the answer may be wrong.")]
# Option --within: the tolerance of a race.
Within = Annotated[
    float,
    typer.Option(
        help="Tolerance in the unit of --range: this much worse than the best is good enough.",
        min=0,
    ),
]
# Option --top: the number of candidates to find.
Top = Annotated[int, typer.Option(help="Find the best TOP candidates.", min=1)]
_Baseline = Annotated[
    str,
    typer.Option(
        help="Gate: are the others better than this candidate (with --within: not worse by more)?"
    ),
]
_Future = Annotated[
    bool, typer.Option("--future", help="The answer is about rows like these, not about this list.")
]
# Option --max-calls: the largest number of calls of a race.
MaxCalls = Annotated[
    int | None,
    typer.Option(help="Stop after this many calls; the answer lists who is left.", min=1),
]
# Option --max-cost: the cap on the total cost of a race, in the unit of its costs.
MaxCost = Annotated[
    float | None, typer.Option(help="Cap on the total cost; calls in flight are reserved.", min=0)
]
_MaxCallCost = Annotated[
    float | None,
    typer.Option(
        help="Largest cost of one call, for --max-cost. Default: the largest so far.", min=0
    ),
]
# Option --question: the best candidate, or ranks.
Question = Annotated[
    str,
    typer.Option(
        help="best, or ranks: the order of all, of the first TOP, or the rank of --rank-of."
    ),
]
# Option --rank-of: the name of one candidate.
RankOf = Annotated[
    str, typer.Option(help="With --question ranks: ask only for the rank of this candidate.")
]
_Losses = Annotated[bool, typer.Option("--losses", help="Answers are losses: lower is better.")]
_Scores = Annotated[bool, typer.Option("--scores", help="Answers are scores: higher is better.")]
# Option --range: the unit of the answers of a race. Not called Range, because `range` is a builtin
# of Python.
Limits = Annotated[
    str,
    typer.Option(
        "--range",
        help="The smallest and the largest possible answer, such as 0,10; 0,1 if left out.",
    ),
]
_OnFailure = Annotated[
    str, typer.Option(help="worst: a failed call counts as loss 1; stop: it ends the race.")
]


def _make_settings(
    seed: LiveSeed = None,
    level: _Level = 0.05,
    within: Within = 0.0,
    top: Top = 1,
    baseline: _Baseline = "",
    future: _Future = False,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_call_cost: _MaxCallCost = None,
    on_failure: _OnFailure = "worst",
    question: Question = "best",
    rank_of: RankOf = "",
    losses: _Losses = False,
    scores: _Scores = False,
    limits: Limits = "",
) -> MakeSettings:
    """Return a function from candidate names to `RaceSettings` with these options."""

    def settings(
        candidates: Iterable[str], stated: "Kind | None" = None, **unit: Any
    ) -> "RaceSettings":
        from tombola.cli.table_options import parse_kind
        from tombola.racing import RaceSettings
        from tombola.units import parse_range

        kind = parse_kind(losses=losses, scores=scores) or stated
        if kind is None:
            raise ParameterError(
                "race: expected the direction of the answers, got none; add --losses if lower is "
                "better, --scores if "
                "higher is better."
            )
        population = math.inf if future else None
        options: Any = {
            "max_calls": max_calls,
            "max_cost": max_cost,
            "max_call_cost": max_call_cost,
            "on_failure": on_failure,
            "question": question,
            "candidate": rank_of or None,
            "kind": kind,
            "range": parse_range(limits) if limits else (0.0, 1.0),
        }
        return RaceSettings(
            tuple(candidates),
            seed,
            level,
            within,
            top,
            baseline or None,
            population,
            **{**options, **unit},
        )

    return settings


def with_race_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of race settings (--level, --within, ...) to a Typer command.

    Returns the command to register. Its parameter `settings` gets a function from candidate names
    to the `RaceSettings` that the options describe.
    """
    options, own = dict(signature(_make_settings).parameters), dict(signature(command).parameters)
    del own["settings"]

    @wraps(command)
    def run(**given: Any) -> None:
        values = {name: given.pop(name) for name in options}
        command(**given, settings=_make_settings(**values))

    # Parameters without a default must come first.
    parameters = sorted(
        [*own.values(), *options.values()], key=lambda one: one.default is not one.empty
    )
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
