"""Reproduce: run the units of claims, judge them, and leave rows, pictures and one page in a folder."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tombola import __version__
from tombola.claims.base import Claim, Rows, Unit, Verdict
from tombola.claims.journal import Journal, key_of, seed_of
from tombola.files import write_whole
from tombola.progress import tracked
from tombola.report.figures import draw, save
from tombola.report.page import Entry, claims_page

TITLE = "Online learning in random order, measured"
LEAD = (
    "Every statement of the paper as an executable claim: what it says, what it means for somebody with a "
    "shuffled list, and what came out."
)


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
    """Run every claim; write index.html, and NAME.csv, NAME.png and NAME.svg for each, into `out`.

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
    facts = [("seed", str(seed)), ("runs", "full" if full else "quick"), ("tombola", __version__)]
    write_whole(out / "index.html", claims_page(TITLE, LEAD, [_entry(one, seed) for one in done], facts))
    return done


def _entry(done: Reproduced, seed: int) -> Entry:
    claim, verdict = done.claim, done.verdict
    return Entry(
        name=claim.name,
        title=claim.title,
        source=claim.source,
        statement=claim.statement,
        meaning=claim.meaning,
        outcome=verdict.outcome,
        expected=claim.expected,
        measured=verdict.measured,
        printed=verdict.printed,
        corrected=verdict.corrected,
        command=f"tombola reproduce --claims {claim.name} --seed {seed}",
        charts=(claim.chart(done.rows),),
    )


def _unit(journal: Journal, claim: Claim, unit: Unit, seed: int) -> list[dict[str, Any]]:
    """Run one unit, or take its rows from the journal."""
    key = key_of(claim.name, unit, seed)
    known = journal.rows(key)
    if known is not None:
        return known
    rows = claim.run(unit, seed=seed_of(claim.name, unit, seed))
    return journal.record(key, json.loads(json.dumps([dict(row) for row in rows])))


def _write(rows: Rows, path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue())
