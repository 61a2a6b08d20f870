"""Measuring: the units of claims spread over workers, each run once and kept in a journal."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tombola.claims.base import Claim, Rows, Unit
from tombola.claims.journal import Journal, key_of, seed_of
from tombola.progress import tracked


class Work(NamedTuple):
    """How much is run, from which seed, by how many workers."""

    full: bool
    seed: int
    workers: int


def measured(claims: Sequence[tuple[str, Claim]], journal: Journal, work: Work) -> list[Rows]:
    """Return the rows of each claim, by the name under which the journal keeps its units.

    The seed of a unit depends on the claim and not on that name: a broken claim meets what the right one met.
    """
    pieces = [
        (journal, name, number, claim, unit, work.seed)
        for number, (name, claim) in enumerate(claims)
        for unit in claim.units(full=work.full)
    ]
    results = zip(pieces, tracked(_unit, pieces, workers=work.workers, label="claims"), strict=True)
    return [[row for _, part in own for row in part] for _, own in groupby(results, key=lambda one: one[0][2])]


def _unit(journal: Journal, name: str, _: int, claim: Claim, unit: Unit, seed: int) -> list[dict[str, Any]]:
    """Run one unit, or take its rows from the journal."""
    key = key_of(name, unit, seed)
    known = journal.rows(key)
    if known is not None:
        return known
    rows = claim.run(unit, seed=seed_of(claim.name, unit, seed))
    return journal.record(key, json.loads(json.dumps([dict(row) for row in rows])))
