"""FaultInjection: break the program in each way that a claim names, and see whether its verdict changes.

A verdict that a broken program cannot pass is worth something. A fault hands a wrong part to the claim (an order that
is no shuffle, a learner that does not learn, half a radius), through the fields by which the right parts come; units and
seeds are those of the claim itself, so nothing but the part differs.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tombola._files import write_atomic
from tombola.paper.base import Claim, Measures, Ruling
from tombola.paper.runner import Work, measured
from tombola.paper.unit_cache import Finished


class FaultRun(NamedTuple):
    """What a claim says about a program that a fault broke."""

    claim: str
    fault: str
    outcome: Ruling
    expected: Ruling
    measured: str

    @property
    def caught(self) -> bool:
        """Whether the broken program comes out otherwise than a right one."""
        return self.outcome != self.expected


def inject_faults(claims: Sequence[Claim], rows: Sequence[Measures], out: Path, work: Work) -> list[FaultRun]:
    """Run every fault of every claim, and write inject_faults.json into `out`.

    `rows` are those of the claims as they are: a fault of the limits only needs another verdict on them.
    """
    broken = [(claim, mine, name) for claim, mine in zip(claims, rows, strict=True) for name in claim.faults()]
    others = [claim.fault_runs(name) for claim, _, name in broken]
    played = [i for i, (claim, _, _) in enumerate(broken) if not others[i].plays_as(claim)]
    named = [(f"{broken[i][0].name}: {broken[i][2]}", others[i]) for i in played]
    finished = Finished(out / "inject_faults.jsonl")
    found = dict(zip(played, measured(named, finished, work), strict=True))
    judged = []
    for i, (claim, mine, name) in enumerate(broken):
        verdict = others[i].verdict(found.get(i, mine))
        judged.append(FaultRun(claim.name, name, verdict.outcome, claim.expected, verdict.measured))
    table = [{**one._asdict(), "caught": one.caught} for one in judged]
    write_atomic(out / "inject_faults.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    return judged
