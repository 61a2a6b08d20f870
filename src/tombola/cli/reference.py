"""`tombola learners` and `cite`: names of the package and their sources."""

import json
from itertools import groupby
from typing import Annotated

import typer

from tombola.cli.options import Json
from tombola.cli.printing import show, show_cells


def learners(as_json: Json = False) -> None:
    """List the learners by feedback, with parameters and a summary."""
    from tombola.advice.learner_list import list_learners

    entries = sorted(list_learners(), key=lambda entry: entry.feedback)
    if as_json:
        typer.echo(json.dumps([entry._asdict() for entry in entries]))
        return
    for feedback, group in groupby(entries, key=lambda entry: entry.feedback):
        rows = [(entry.signature, "proved" if entry.proved else "–") for entry in group]
        show_cells((feedback, "regret bound"), rows)
    show("For labels there is ERM, from Python only: tombola.classification.ERM")
    show("With parameters; summaries are in the output of --json:")
    show("  tombola compare losses.csv --losses --learners 'UCB2(alpha=.3),Exp3'", soft=True)
    show("A learner of your own (see CONTRIBUTING.md):")
    show("  tombola compare losses.csv --losses --learners mine.py:MyLearner", soft=True)


def cite(
    name: Annotated[
        str,
        typer.Argument(
            help="A learner (Simulation), a command (race, rank, audit, compare, session), a "
            'claim, a statement ("Theorem 4.2"), section or heading ("delayed feedback") of the '
            'paper, or an erratum ("erratum 11").'
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Print the theorem behind a learner's bound, a command or a claim, with BibTeX.

    Without a name: the BibTeX entry of the paper, and where to find names.
    """
    from tombola.paper.citations import cite as find_citation

    citation = find_citation(name)
    if as_json:
        typer.echo(json.dumps(citation._asdict()))
        return
    for at, theorem in enumerate(citation.theorems):
        show(f"{theorem}." if at else f"{name}: {theorem}.", soft=True)
    if name:
        show("")
    typer.echo("\n".join(citation.entries))
    if not name:
        show("\nThe theorem behind a bound, a command or a claim:")
        for example in ("Simulation", "race", '"Theorem 4.2"', '"erratum 11"'):
            show(f"  tombola cite {example}", soft=True)
        show("Lists of the names:")
        show("  tombola learners", soft=True)
        show("  tombola reproduce --list", soft=True)
