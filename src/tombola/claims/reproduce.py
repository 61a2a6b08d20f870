"""Reproduce: run the units of claims, judge them, and leave rows, pictures and one page in a folder."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tombola.claims.base import Claim, Rows, Unit, Verdict
from tombola.claims.journal import Journal, key_of, seed_of
from tombola.progress import tracked
from tombola.report.figures import draw, save


class Reproduced(NamedTuple):
    """A claim with its rows and its verdict."""

    claim: Claim
    rows: Rows
    verdict: Verdict

    @property
    def as_expected(self) -> bool:
        """Whether the claim came out as it should."""
        return self.verdict.outcome == self.claim.expected


def reproduce(claims: Sequence[Claim], out: Path, *, full: bool, seed: int, workers: int) -> list[Reproduced]:
    """Run every claim, and write NAME.csv, NAME.png and NAME.svg into `out`.

    Finished units are kept in a journal there, and are not run again. The rows depend on the seed alone.
    """
    journal = Journal(out / "journal.jsonl")
    pieces = [(journal, claim, unit, seed) for claim in claims for unit in claim.units(full=full)]
    results = list(tracked(_unit, pieces, workers=workers, label="claims"))
    done = []
    for claim in claims:
        rows = [row for (_, owner, _, _), part in zip(pieces, results, strict=True) if owner is claim for row in part]
        _write(rows, out / f"{claim.name}.csv")
        figure = draw(claim.chart(rows))
        for ending in (".png", ".svg"):
            save(figure, out / f"{claim.name}{ending}")
        done.append(Reproduced(claim, rows, claim.verdict(rows)))
    return done


def _unit(journal: Journal, claim: Claim, unit: Unit, seed: int) -> list[dict[str, Any]]:
    """Run one unit, or take its rows from the journal."""
    key = key_of(claim.name, unit, seed)
    known = journal.rows(key)
    if known is not None:
        return known
    rows = claim.run(unit, seed=seed_of(claim.name, unit, seed))
    return journal.record(key, json.loads(json.dumps([dict(row) for row in rows])))


def _write(rows: Rows, path: Path) -> None:
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)
