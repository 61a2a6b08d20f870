"""Options that several commands share, and their validation."""

import os
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tombola.errors import FileError, ParameterError

if TYPE_CHECKING:
    from tombola.racing import RaceSettings
    from tombola.units import Kind

# Option --force of commands that write a table.
Force = Annotated[bool, typer.Option("--force", help="Replace the table if it exists.")]
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
# Option --out of commands that write a page or its data.
PageOrData = Annotated[
    Path | None,
    typer.Option(help="HTML page to write, or .json with its data; an earlier one is replaced."),
]
# Option --json: machines read the output instead of people.
IgnoreRows = Annotated[
    str,
    typer.Option(help="Ids of rows of the list to ignore, such as Total; or first, last, none."),
]
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

    ParameterError for another suffix than .html or .htm, FileError if it cannot be written. An
    existing page is replaced.

    inputs: tables that the command reads, which `out` must not replace.
    """
    from tombola._files import check_output_path

    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(
            f"--out: expected a page that ends in .html, got {out}; write --out {out.stem}.html."
        )
    # The file of FILE::TABLE is FILE.
    check_output_path(out, *inputs, *(table.partition("::")[0] for table in inputs))


def check_report(out: Path | None, file: Path, url: str) -> None:
    """Raise an error unless the report of a session or race file can be written to `out`."""
    from tombola._files import check_output_path

    if out is None:
        return
    if url:
        raise ParameterError(
            "status: expected either --out or --url, got both; the server has this page itself, "
            "open its address in a browser."
        )
    if out.suffix.lower() == ".json":
        check_output_path(out, file)
    else:
        check_page(out, str(file))


def check_table(out: Path, *inputs: str | Path, force: bool) -> None:
    """Raise FileError unless a table can be written to `out`, and none is lost by it.

    inputs: files that the command reads, which `out` must not replace.
    force: the option --force, which replaces an existing file.
    """
    from tombola._files import check_output_path

    check_output_path(out, *inputs)
    if out.exists() and out.stat().st_size and not force:
        raise FileError(
            f"--out: expected a new file, got {out}, which exists; name another file, or add "
            "--force to replace it."
        )


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
        help="With --url: first those issued so many seconds ago that have no answer. If answers are "
        "random, faster ones are then favoured. Default: none.",
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
# Option --baseline: the old version of a gate.
Baseline = Annotated[
    str,
    typer.Option(
        help="Gate: compare the others with this candidate; needs --within (not worse by more) or "
        "--better."
    ),
]
# Option --better of a gate.
Better = Annotated[
    bool, typer.Option("--better", help="With --baseline: the others must be strictly better.")
]
_Answers = Annotated[
    Literal["fixed", "random", "once", "auto"],
    typer.Option(
        help="How calls behave. fixed: the same call, the same answer; random: answers change; "
        "once: they change, but a row can be asked once; "
        "auto: a pilot calls at most 8 cells twice, at most 2 % of the calls.",
    ),
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
# Option --max-call-cost: the largest cost of one call of a race.
MaxCallCost = Annotated[
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
    baseline: Baseline = "",
    better: Better = False,
    reading: ReadingOption = None,
    answers: _Answers = "auto",
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_call_cost: MaxCallCost = None,
    on_failure: _OnFailure = "worst",
    question: Question = "best",
    rank_of: RankOf = "",
    losses: _Losses = False,
    scores: _Scores = False,
    limits: Limits = "",
) -> MakeSettings:
    """Return a function from candidate names to `RaceSettings` with these options."""

    def settings(
        candidates: Iterable[str],
        stated: "Kind | None" = None,
        **unit: Any,
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
        options: Any = {
            "max_calls": max_calls,
            "max_cost": max_cost,
            "max_call_cost": max_call_cost,
            "on_failure": on_failure,
            "question": question,
            "candidate": rank_of or None,
            "kind": kind,
            "range": parse_range(limits) if limits else (0.0, 1.0),
            "better": better,
        }
        return RaceSettings(
            tuple(candidates),
            seed,
            level,
            within,
            top,
            baseline or None,
            reading,
            answers=answers,
            **{**options, **unit},
        )

    return settings


def with_race_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of race settings (--level, --within, ...) to a Typer command.

    Returns the command to register. Its parameter `settings` gets a function from candidate names
    to the `RaceSettings` that the options describe.
    """
    options = dict(signature(_make_settings).parameters)
    own = dict(signature(command).parameters)
    del own["settings"]

    @wraps(command)
    def run(**arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in options}
        command(**arguments, settings=_make_settings(**values))

    # Parameters without a default must come first.
    parameters = sorted(
        [*own.values(), *options.values()],
        key=lambda parameter: parameter.default is not parameter.empty,
    )
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
