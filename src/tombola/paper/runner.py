"""Measuring: the units of claims spread over workers, each run once and kept when it is finished."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tombola._parallel import parallel_map
from tombola.paper.base import Claim, Measures, Unit
from tombola.paper.dependency_hash import code_of
from tombola.paper.unit_cache import Finished, key_of, seed_of


class Work(NamedTuple):
    """How much is run, from which seed, by how many workers."""

    full: bool
    seed: int
    workers: int


def measured(claims: Sequence[tuple[str, Claim]], finished: Finished, work: Work) -> list[Measures]:
    """Return the rows of each claim, by the name under which its finished units are kept.

    The seed of a unit depends on the claim and not on that name: a broken claim meets what the right one met.
    """
    pieces = [
        (finished, name, number, claim, unit, work.seed)
        for number, (name, claim) in enumerate(claims)
        for unit in claim.units(full=work.full)
    ]
    results = zip(pieces, parallel_map(_unit, pieces, workers=work.workers, label="claims"), strict=True)
    return [[row for _, part in own for row in part] for _, own in groupby(results, key=lambda one: one[0][2])]


def _unit(finished: Finished, name: str, _: int, claim: Claim, unit: Unit, seed: int) -> list[dict[str, Any]]:
    """Run one unit, or take its rows if it is finished."""
    key = key_of(name, unit, seed, code_of(*(kind.__module__ for kind in type(claim).__mro__)))
    known = finished.rows(key)
    if known is not None:
        return known
    rows = claim.run(unit, seed=seed_of(claim.name, unit, seed))
    return finished.record(key, json.loads(json.dumps([dict(row) for row in rows])))
