"""Run the units of claims, with faults or without; finished ones are cached.

Fault injection replaces one component of a claim by a wrong one; the verdict must change. A source
fault changes an expression of the package instead. Units and seeds are those of the claim itself.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola._files import write_atomic
from tombola._result_cache import ResultCache, result_key
from tombola.engine.provenance import package_hash
from tombola.paper.base import Claim, Outcome, Unit
from tombola.paper.rows import Rows
from tombola.paper.source_faults import injected
from tombola.parallel.parallel_map import parallel_map


class RunOptions(NamedTuple):
    """Options of `reproduce`: sizes, seed of all units, number of threads, progress.

    full: use the large sizes of a publication instead of the quick ones.
    on_done: called with the name of each finished claim, followed by that of its fault if any.
    """

    full: bool
    seed: int
    workers: int
    on_done: Callable[[str], None] | None = None


class FaultResult(NamedTuple):
    """Verdict of a claim with one fault injected.

    claim, fault: names of both.
    outcome, expected: outcome with the fault, and that of the claim without it.
    measured: the values measured with the fault, as a sentence.
    """

    claim: str
    fault: str
    outcome: Outcome
    expected: Outcome
    measured: str

    @property
    def caught(self) -> bool:
        """Whether the fault changes the outcome; if not, the verdict is too weak."""
        return self.outcome != self.expected


def run_claims(
    claims: Sequence[tuple[Claim, str]], cache: ResultCache, options: RunOptions
) -> list[Rows]:
    """Run the units of all claims in parallel; return the rows of each claim.

    claims: pairs of a claim, with its fault injected if any, and the name of that fault, or "",
        part of the cache key.
    cache: finished units, which are read instead of run; new ones are added.
    """
    pieces = [
        (cache, number, claim, fault, unit, options.seed)
        for number, (claim, fault) in enumerate(claims)
        for unit in claim.units(full=options.full)
    ]
    results = zip(
        pieces,
        parallel_map(_run_unit, pieces, workers=options.workers, label="claims"),
        strict=True,
    )
    rows: list[Rows] = []
    for number, own in groupby(results, key=lambda result: result[0][1]):
        rows.append([row for _, part in own for row in part])
        _report(options, *claims[number])
    return rows


def run_units(claim: Claim, fault: str, cache: ResultCache, options: RunOptions) -> Rows:
    """Run all units of one claim in this thread, and return their rows.

    A claim with a source fault is run in this way, because all threads of the process see the
    fault. Parameters are those of `run_claims`.
    """
    units = claim.units(full=options.full)
    rows = [row for unit in units for row in _run_unit(cache, 0, claim, fault, unit, options.seed)]
    _report(options, claim, fault)
    return rows


def run_faults(
    claims: Sequence[Claim],
    rows: Sequence[Rows],
    out: Path,
    cache: ResultCache,
    options: RunOptions,
) -> list[FaultResult]:
    """Run each claim with each of its faults injected, and write out/faults.json.

    The result and the JSON file have one entry per fault, source faults last.

    rows: `rows[i]` are the measurements of `claims[i]`; they are used again for faults that only
        its verdict reads.
    cache: as in `run_claims`.
    """
    cases = [
        (claim, own, name)
        for claim, own in zip(claims, rows, strict=True)
        for name in claim.faults()
    ]
    faulty = [claim.with_fault(name) for claim, _, name in cases]
    to_run = [i for i, (claim, _, _) in enumerate(cases) if not faulty[i].same_runs(claim)]
    new_rows = dict(
        zip(
            to_run,
            run_claims([(faulty[i], cases[i][2]) for i in to_run], cache, options),
            strict=True,
        )
    )
    results = []
    for i, (claim, own, name) in enumerate(cases):
        verdict = faulty[i].verdict(new_rows.get(i, own))
        results.append(
            FaultResult(claim.name, name, verdict.outcome, claim.expected, verdict.measured)
        )
    for claim in claims:
        for name, fault in claim.source_faults().items():
            with injected(
                fault
            ):  # all threads see it, so that no other claim may run at the same time
                verdict = claim.verdict(run_units(claim, name, cache, options))
            results.append(
                FaultResult(claim.name, name, verdict.outcome, claim.expected, verdict.measured)
            )
    table = [{**result._asdict(), "caught": result.caught} for result in results]
    write_atomic(out / "faults.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    return results


def _report(options: RunOptions, claim: Claim, fault: str) -> None:
    if options.on_done is not None:
        options.on_done(f'{claim.name}, "{fault}"' if fault else claim.name)


def _unit_seed(claim: str, unit: Unit, seed: int) -> np.random.SeedSequence:
    """Return the seed of a unit: it does not depend on faults, workers or other units."""
    digest = hashlib.sha256(json.dumps([claim, unit, seed], sort_keys=True).encode())
    return np.random.SeedSequence(int(digest.hexdigest(), 16))


def _unit_key(claim: str, fault: str, unit: Unit, seed: int) -> str:
    """Return the key of a unit in the result cache, with a hash of the whole package."""
    return f"{claim}/{result_key(package_hash(), claim, fault, dict(unit), seed)}"


def _run_unit(
    cache: ResultCache, _: int, claim: Claim, fault: str, unit: Unit, seed: int
) -> list[dict[str, Any]]:
    key = _unit_key(claim.name, fault, unit, seed)
    rows = cache.read_json(key)
    if rows is None:
        rows = cache.write_json(
            key, [dict(row) for row in claim.run(unit, seed=_unit_seed(claim.name, unit, seed))]
        )
    return list(rows)
