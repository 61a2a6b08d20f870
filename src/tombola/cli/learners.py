"""`tombola learners`: list the learners."""

import json
from itertools import groupby

import typer

from tombola.cli.options import Json
from tombola.cli.printing import show


def learners(as_json: Json = False) -> None:  # noqa: FBT002 - a flag
    """List the learners by feedback, with parameters and a summary."""
    from tombola.advice.learner_list import list_learners

    entries = sorted(list_learners(), key=lambda entry: entry.feedback)
    if as_json:
        typer.echo(json.dumps([entry._asdict() for entry in entries]))
        return
    for feedback, group in groupby(entries, key=lambda entry: entry.feedback):
        show(f"\nFeedback: {feedback}")
        for entry in group:
            show(f"  {entry.signature}{'  [regret bound proved]' if entry.proved else ''}", soft=True)
            show(entry.summary, indent=6)
    show("\nWith parameters:")
    show("  tombola compare losses.csv --learners 'UCB2(alpha=.3),Exp3'", soft=True)
    show("A learner of your own (see CONTRIBUTING.md):")
    show("  tombola compare losses.csv --learners mine.py:MyLearner", soft=True)
