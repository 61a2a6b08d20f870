"""Options that several commands share, and their validation."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tombola.errors import ParameterError

# Option --seed; every random number of a command depends on it.
Seeds = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]
# Option --seed of a session or race, which stores it in its file.
LiveSeed = Annotated[
    int | None, typer.Option(help="Seed of all random numbers. Default: drawn, printed and stored in the file.", min=0)
]
# Option --workers: the number of threads; results do not depend on it.
Workers = Annotated[int, typer.Option(help="Number of threads.", min=1)]
# Option --out of commands that write a page.
Page = Annotated[Path | None, typer.Option(help="HTML page to write, such as page.html.")]
# Option --json: machines read the output instead of people.
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Option --by: answers are given for each group of rows too.
By = Annotated[
    str, typer.Option("--by", help="Column of groups of rows, such as category: also answer for each group.")
]
# Default of --workers: one thread per processor of this machine.
CORES = os.cpu_count() or 1


def check_level(level: float) -> None:
    """Raise ParameterError unless the error probability `level` is in (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"--level: expected a probability above 0 and below 1, got {level:g}; write --level 0.05.")


def check_page(out: Path | None, *inputs: str) -> None:
    """Raise an error unless `out` can be written as a page and is no input file.

    out: path of the HTML page; must end in .html or .htm. None: no page, no check.
    inputs: paths of the tables that the command reads.
    """
    from tombola._files import check_output_path

    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out: expected a page that ends in .html, got {out}; write --out {out.stem}.html.")
    check_output_path(out, *inputs, *(given.partition("::")[0] for given in inputs))  # the file of FILE::TABLE


def split_commas(text: str) -> tuple[str, ...]:
    """Split text at commas; spaces around words and empty words are dropped.

    >>> split_commas("random, given")
    ('random', 'given')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


# Option --url of commands that can use a server instead of a file.
Url = Annotated[
    str,
    typer.Option(help="Address of tombola serve, such as http://127.0.0.1:8787; the first argument is a name there."),
]
# Option --token of the same commands; the environment variable keeps it out of the history of the shell.
Token = Annotated[str, typer.Option(envvar="TOMBOLA_TOKEN", help="With --url: your token.")]
# Option --reissue-after: work that another worker has dropped is issued again.
ReissueAfter = Annotated[
    float | None,
    typer.Option(help="With --url: first those issued so many seconds ago that have no answer. Default: none.", min=0),
]
