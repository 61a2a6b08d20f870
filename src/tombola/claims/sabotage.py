"""Sabotage: break the program in each way that a claim names, and see whether its verdict changes.

A verdict that a broken program cannot pass is worth something. A saboteur hands a wrong part to the claim (an order that
is no shuffle, a learner that does not learn, half a radius), through the fields by which the right parts come; units and
seeds are those of the claim itself, so nothing but the part differs.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tombola.claims.base import Claim, Measures, Ruling
from tombola.claims.finished import Finished
from tombola.claims.measuring import Work, measured
from tombola.files import write_whole


class Sabotaged(NamedTuple):
    """What a claim says about a program that a saboteur broke."""

    claim: str
    saboteur: str
    outcome: Ruling
    expected: Ruling
    measured: str

    @property
    def caught(self) -> bool:
        """Whether the broken program comes out otherwise than a right one."""
        return self.outcome != self.expected


def sabotage(claims: Sequence[Claim], rows: Sequence[Measures], out: Path, work: Work) -> list[Sabotaged]:
    """Run every saboteur of every claim, and write sabotage.json into `out`.

    `rows` are those of the claims as they are: a saboteur of the limits only needs another verdict on them.
    """
    broken = [(claim, mine, name) for claim, mine in zip(claims, rows, strict=True) for name in claim.saboteurs()]
    others = [claim.sabotaged(name) for claim, _, name in broken]
    played = [i for i, (claim, _, _) in enumerate(broken) if not others[i].plays_as(claim)]
    named = [(f"{broken[i][0].name}: {broken[i][2]}", others[i]) for i in played]
    finished = Finished(out / "sabotage.jsonl")
    found = dict(zip(played, measured(named, finished, work), strict=True))
    judged = []
    for i, (claim, mine, name) in enumerate(broken):
        verdict = others[i].verdict(found.get(i, mine))
        judged.append(Sabotaged(claim.name, name, verdict.outcome, claim.expected, verdict.measured))
    table = [{**one._asdict(), "caught": one.caught} for one in judged]
    write_whole(out / "sabotage.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    return judged
