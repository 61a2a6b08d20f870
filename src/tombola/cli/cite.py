"""`tombola cite`: the theorem behind a bound, a command or a claim, with BibTeX."""

import json
from typing import Annotated

import typer

from tombola.cli.options import Json
from tombola.cli.printing import show


def cite(
    name: Annotated[
        str,
        typer.Argument(help="A learner (Simulation), a command (race, rank, certify, compare, session) or a claim."),
    ] = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Print the theorem behind a learner's bound, a command or a claim, with BibTeX.

    Without a name: the BibTeX entry of the paper, and where to find names.
    """
    from tombola._cite import cite as find_citation

    found = find_citation(name)
    if as_json:
        typer.echo(json.dumps(found._asdict()))
        return
    for at, theorem in enumerate(found.theorems):
        show(f"{theorem}." if at else f"{name}: {theorem}.", soft=True)
    if name:
        show("")
    typer.echo("\n".join(found.entries))
    if not name:
        show("\nThe theorem behind a bound, a command or a claim:")
        for example in ("Simulation", "race", "delay-theorem"):
            show(f"  tombola cite {example}", soft=True)
        show("Lists of the names:")
        show("  tombola learners", soft=True)
        show("  tombola claims", soft=True)
