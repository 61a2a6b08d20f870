"""`tombola reproduce`: measure the claims of the paper."""

from pathlib import Path
from typing import Annotated

import typer

from tombola.commands.options import CORES, Seeds, Workers, words
from tombola.commands.printing import grid, show


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for rows and pictures.")] = Path("reproduction"),
    claims: Annotated[str, typer.Option(help="Names of claims, with commas between; all if left out.")] = "",
    full: Annotated[bool, typer.Option("--full", help="Publication quality: hours, not minutes.")] = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Measure the claims of the paper, and say for each whether it came out as expected."""
    from tombola.claims import CLAIMS
    from tombola.claims.reproduce import reproduce as run
    from tombola.errors import ParameterError

    known = {kind.name: kind for kind in CLAIMS}
    wanted = words(claims) or tuple(known)
    for name in wanted:
        if name not in known:
            raise ParameterError(f"--claims: expected names of {', '.join(known)}, got {name!r}; write one of those.")
    done = run([known[name]() for name in wanted], out, full=full, seed=seed, workers=workers)
    table = grid("claim", "statement", "measured", "verdict")
    for one in done:
        mark = "as expected" if one.as_expected else f"expected: {one.claim.expected}"
        table.add_row(one.claim.name, one.claim.statement, one.verdict.measured, f"{one.verdict.outcome} ({mark})")
    show(table)
    show(f"the page is {out / 'index.html'}; rows and pictures are beside it")
    raise typer.Exit(0 if all(one.as_expected for one in done) else 1)
