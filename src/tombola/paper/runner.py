"""Run the units of claims in parallel; finished units are cached."""

import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from tombola.engine.provenance import package_hash
from tombola.paper.base import Claim, Rows, Unit
from tombola.parallel.parallel_map import parallel_map
from tombola.persistence.result_cache import ResultCache, result_key


class RunOptions(NamedTuple):
    """Options of a reproduction.

    full: use the large sizes of a publication instead of the quick ones.
    seed: seed of all units; a unit is one independent measurement of a claim (`Claim.units`).
    workers: number of threads.
    on_done: called with the name of each finished claim, and of its fault if any; None for no call.
    """

    full: bool
    seed: int
    workers: int
    on_done: Callable[[str], None] | None = None

    def report(self, claim: Claim, fault: str) -> None:
        """Call `on_done` for a finished claim; `fault` is the name of its fault, or ""."""
        if self.on_done is not None:
            self.on_done(f'{claim.name}, "{fault}"' if fault else claim.name)


def run_claims(claims: Sequence[tuple[Claim, str]], cache: ResultCache, options: RunOptions) -> list[Rows]:
    """Run the units of all claims in parallel, and return the rows of each claim.

    A unit has the same seed with and without a fault, so that nothing but the faulty component differs.

    claims: pairs of a claim, with its fault injected if any, and the name of that fault, or "". The name is part of the
        cache key.
    cache: finished units, which are read instead of run; new ones are added.
    options: sizes, seed and threads.
    """
    pieces = [
        (cache, number, claim, fault, unit, options.seed)
        for number, (claim, fault) in enumerate(claims)
        for unit in claim.units(full=options.full)
    ]
    results = zip(pieces, parallel_map(_run_unit, pieces, workers=options.workers, label="claims"), strict=True)
    rows: list[Rows] = []
    for number, own in groupby(results, key=lambda one: one[0][1]):
        rows.append([row for _, part in own for row in part])
        options.report(*claims[number])
    return rows


def run_units(claim: Claim, fault: str, cache: ResultCache, options: RunOptions) -> Rows:
    """Run all units of one claim in this thread, and return their rows.

    A claim with a source fault is run in this way, because all threads of the process see the fault.

    fault: name of the injected source fault, or ""; it is part of the cache key.
    cache: finished units, which are read instead of run; new ones are added.
    options: sizes and seed; `workers` is ignored.
    """
    units = claim.units(full=options.full)
    rows = [row for unit in units for row in _run_unit(cache, 0, claim, fault, unit, options.seed)]
    options.report(claim, fault)
    return rows


def _unit_seed(claim: str, unit: Unit, seed: int) -> np.random.SeedSequence:
    """Return the seed of a unit.

    It depends on the claim's name, the unit and the seed of the run only: not on faults, workers or other units.
    """
    digest = hashlib.sha256(json.dumps([claim, unit, seed], sort_keys=True).encode())
    return np.random.SeedSequence(int(digest.hexdigest(), 16))


def _unit_key(claim: str, fault: str, unit: Unit, seed: int) -> str:
    """Return the key of a unit in the result cache.

    It has a hash of the whole package, so rows of other code are never reused.

    >>> _unit_key("birthday", "", {"T": 16}, 1) == _unit_key("birthday", "", {"T": 16}, 2)
    False
    """
    return f"{claim}/{result_key(package_hash(), claim, fault, dict(unit), seed)}"


def _run_unit(cache: ResultCache, _: int, claim: Claim, fault: str, unit: Unit, seed: int) -> list[dict[str, Any]]:
    key = _unit_key(claim.name, fault, unit, seed)
    rows = cache.read_json(key)
    if rows is None:
        rows = cache.write_json(key, [dict(row) for row in claim.run(unit, seed=_unit_seed(claim.name, unit, seed))])
    return list(rows)
