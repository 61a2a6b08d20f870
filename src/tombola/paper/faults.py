"""Fault injection: replace one component of a claim by a wrong one.

The verdict of the claim must change.

A fault is a set of field overrides: an order that is not shuffled, a learner that does not learn, half a confidence
radius. A source fault changes an expression of the package instead. Units and seeds are those of the claim itself.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tombola._files import write_atomic
from tombola.paper.base import Claim, Outcome, Rows
from tombola.paper.runner import RunOptions, run_claims, run_units
from tombola.paper.source_faults import injected
from tombola.persistence.result_cache import ResultCache


class FaultResult(NamedTuple):
    """Verdict of a claim with one fault injected.

    claim, fault: their names.
    outcome, measured: outcome of the claim with the fault, and its measured values as a sentence.
    expected: outcome of the claim without a fault.
    """

    claim: str
    fault: str
    outcome: Outcome
    expected: Outcome
    measured: str

    @property
    def caught(self) -> bool:
        """Whether the fault changed the verdict."""
        return self.outcome != self.expected


def run_faults(
    claims: Sequence[Claim], rows: Sequence[Rows], out: Path, cache: ResultCache, options: RunOptions
) -> list[FaultResult]:
    """Run every fault and source fault of every claim; write faults.json into `out`.

    The file and the result have one entry per fault, source faults last.

    claims: without faults.
    rows: rows of each claim without faults, which serve again where a fault changes the verdict only.
    out: folder of the file.
    cache: finished units, which are not run again.
    options: sizes, seed and threads.
    """
    cases = [(claim, own, name) for claim, own in zip(claims, rows, strict=True) for name in claim.faults()]
    faulty = [claim.with_fault(name) for claim, _, name in cases]
    to_run = [i for i, (claim, _, _) in enumerate(cases) if not faulty[i].same_runs(claim)]
    new_rows = dict(zip(to_run, run_claims([(faulty[i], cases[i][2]) for i in to_run], cache, options), strict=True))
    results = []
    for i, (claim, own, name) in enumerate(cases):
        verdict = faulty[i].verdict(new_rows.get(i, own))
        results.append(FaultResult(claim.name, name, verdict.outcome, claim.expected, verdict.measured))
    for claim in claims:
        results += [_run_source_fault(claim, name, cache, options) for name in claim.source_faults()]
    table = [{**result._asdict(), "caught": result.caught} for result in results]
    write_atomic(out / "faults.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    return results


def _run_source_fault(claim: Claim, name: str, cache: ResultCache, options: RunOptions) -> FaultResult:
    """Run all units of a claim with a source fault, and return its verdict.

    The package is changed while the units run, so no other claim may run at the same time.
    """
    with injected(claim.source_faults()[name]):
        verdict = claim.verdict(run_units(claim, name, cache, options))
    return FaultResult(claim.name, name, verdict.outcome, claim.expected, verdict.measured)
