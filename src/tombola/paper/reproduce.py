"""Reproduce: run the units of claims, judge them, and leave rows, pictures and one page in a folder."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tombola import __version__
from tombola._files import write_atomic
from tombola.paper.base import Claim, Measures, Verdict
from tombola.paper.faults import FaultRun, inject_faults
from tombola.paper.runner import Work, measured
from tombola.paper.unit_cache import Finished
from tombola.report.figures import draw, save
from tombola.report.page import Broken, Item, claims_page

TITLE = "Online learning in random order, measured"
LEAD = (
    "Every statement of the paper as an executable claim: what it says, what it means for somebody with a "
    "shuffled list, and what came out."
)


class Reproduced(NamedTuple):
    """A claim with its rows and its verdict, and with those of the broken programs if there was inject_faults."""

    claim: Claim
    rows: Measures
    verdict: Verdict
    fault_runs: tuple[FaultRun, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Whether the claim came out as it should."""
        return self.verdict.outcome == self.claim.expected

    @property
    def all_caught(self) -> bool:
        """Whether every fault that was run changed the verdict."""
        return all(one.caught for one in self.fault_runs)


def reproduce(
    claims: Sequence[Claim], out: Path, *, full: bool, seed: int, workers: int, fault_runs: bool = False
) -> list[Reproduced]:
    """Run every claim; write index.html, and NAME.csv, NAME.png and NAME.svg for each, into `out`.

    Finished units are kept there, and are not run again. The rows depend on the seed alone. If
    `fault_runs`, every fault of every claim is run too, and the page and inject_faults.json tell which were caught.
    """
    work = Work(full, seed, workers)
    found = measured([(claim.name, claim) for claim in claims], Finished(out / "journal.jsonl"), work)
    broken = inject_faults(claims, found, out, work) if fault_runs else []
    done = [
        Reproduced(claim, rows, claim.verdict(rows), tuple(one for one in broken if one.claim == claim.name))
        for claim, rows in zip(claims, found, strict=True)
    ]
    for claim, rows, *_ in done:
        _write(rows, out / f"{claim.name}.csv")
        figure = draw(claim.chart(rows))
        for ending in (".png", ".svg"):
            save(figure, out / f"{claim.name}{ending}")
    write_atomic(out / "index.html", claims_page(TITLE, LEAD, [_entry(one, seed) for one in done], facts(done, work)))
    return done


def facts(done: Sequence[Reproduced], work: Work) -> list[tuple[str, str]]:
    """Return what the page says about the run as a whole; how many workers there were is no part of it."""
    luck = sum(one.claim.luck for one in done)
    return [
        ("seed", str(work.seed)),
        ("runs", "full" if work.full else "quick"),
        ("probability that any true claim fails by luck", f"at most {100 * luck:.2g} %"),
        ("tombola", __version__),
    ]


def _entry(done: Reproduced, seed: int) -> Item:
    claim, verdict = done.claim, done.verdict
    return Item(
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
        limits=claim.limits,
        luck=_luck(claim, done.rows),
        faults=tuple(Broken(one.fault, one.outcome, one.caught, one.measured) for one in done.fault_runs),
        command=f"tombola reproduce --claims {claim.name} --seed {seed}",
        charts=(claim.chart(done.rows),),
        section=claim.section,
    )


def _luck(claim: Claim, rows: Measures) -> str:
    """Say how many plays there were, and with what probability a true claim would come out otherwise."""
    if claim.luck == 0:
        return f"none: {claim.plays(rows):,} exact computations"
    return f"{claim.plays(rows):,} plays; a true claim fails with probability {100 * claim.luck:.2g} % at most"


def _write(rows: Measures, path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(path, text.getvalue())
