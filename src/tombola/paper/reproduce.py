"""Reproduction: run claims, compute verdicts, write rows, charts and a page."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tombola import __version__
from tombola._files import make_folder, write_atomic
from tombola._formatting import plural
from tombola._result_cache import ResultCache
from tombola.paper.base import Claim, Verdict
from tombola.paper.rows import Rows
from tombola.paper.runner import FaultResult, RunOptions, run_claims, run_faults
from tombola.report.figures import add_title, draw_chart, save
from tombola.report.page import ClaimEntry, Drawing, claims_page, draw_for_page

_TITLE = "Online learning in random order, measured"
_LEAD = (
    "Every statement of the paper as an executable claim: the statement, its meaning for a user "
    "with a shuffled list, "
    "and the measured result."
)
# Formats of the chart of a claim.
_FIGURES = (".png", ".svg", ".pdf", ".pgf")


class ClaimResult(NamedTuple):
    """A claim with its rows (measurements) and verdict, and the results of faults."""

    claim: Claim
    rows: Rows
    verdict: Verdict
    faults: tuple[FaultResult, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Whether the outcome of the verdict is that of a correct program."""
        return self.verdict.outcome == self.claim.expected

    @property
    def all_caught(self) -> bool:
        """Whether the outcome with each injected fault differs from the expected one."""
        return all(fault.caught for fault in self.faults)

    def data(self) -> dict[str, Any]:
        """Return the result as JSON values, without rows.

        Keys: claim (its name), source, statement, expected, the fields of `Verdict`, as_expected,
            and faults, a list of
        mappings with the fields of `FaultResult` and caught.
        """
        claim = self.claim
        about = {
            "claim": claim.name,
            "source": claim.source,
            "statement": claim.statement,
            "expected": claim.expected,
        }
        faults = [{**fault._asdict(), "caught": fault.caught} for fault in self.faults]
        return {
            **about,
            **self.verdict._asdict(),
            "as_expected": self.as_expected,
            "faults": faults,
        }


def reproduce(
    claims: Sequence[Claim],
    out: Path,
    *,
    full: bool,
    seed: int,
    workers: int,
    inject_faults: bool = False,
    on_done: Callable[[str], None] | None = None,
) -> list[ClaimResult]:
    """Run claims and write one page, and a table and charts for each, into `out`.

    The files are index.html, and for each claim NAME.csv and its chart as NAME.png, .svg, .pdf and
    .pgf (code for pgfplots). Finished units are cached in `out`/units, so a killed run continues
    where it stopped. Results are in the order of `claims`.

    full: use the large sizes of a publication.
    seed: seed of all units; rows depend on it and not on the number of workers.
    workers: number of threads.
    inject_faults: run each claim with each of its faults (wrong components) too, and list the
        results on the page and in faults.json.
    on_done: called with the name of each finished claim, such as "birthday", and 'birthday, "no
        test"' for a fault.
    """
    options = RunOptions(full, seed, workers, on_done)
    cache = ResultCache(out / "units")
    make_folder(out)
    all_rows = run_claims([(claim, "") for claim in claims], cache, options)
    faults = run_faults(claims, all_rows, out, cache, options) if inject_faults else []
    results = [
        ClaimResult(
            claim,
            rows,
            claim.verdict(rows),
            tuple(fault for fault in faults if fault.claim == claim.name),
        )
        for claim, rows in zip(claims, all_rows, strict=True)
    ]
    entries = []
    for result in results:
        _write_csv(result.rows, out / f"{result.claim.name}.csv")
        entries.append(_entry(result, _draw(result, out), seed))
    write_atomic(
        out / "index.html", claims_page(_TITLE, _LEAD, entries, _run_facts(results, options))
    )
    return results


def _draw(result: ClaimResult, out: Path) -> Drawing:
    """Draw the chart for the page, and as files, which have the title too."""
    claim = result.claim
    chart = claim.chart(result.rows)
    figure = draw_chart(chart, titled=False)
    drawn = draw_for_page(f"{claim.name}-0", chart, figure)
    add_title(figure.axes[0], chart)
    for suffix in _FIGURES:
        save(figure, out / f"{claim.name}{suffix}")
    return drawn


def _run_facts(results: Sequence[ClaimResult], options: RunOptions) -> list[tuple[str, str]]:
    """Return the facts of the run for the page, which are the same for any workers."""
    alpha = sum(result.claim.alpha for result in results)
    return [
        ("seed", str(options.seed)),
        ("sizes", "full" if options.full else "quick"),
        ("probability of any false alarm", f"at most {100 * alpha:.2g} %"),
        ("tombola", __version__),
    ]


def _entry(result: ClaimResult, drawn: Drawing, seed: int) -> ClaimEntry:
    claim = result.claim
    size = claim.sample_size(result.rows)
    plays = (
        f"{plural(size, 'play')}; a true claim is refuted with probability "
        f"{100 * claim.alpha:.2g} % at most"
    )
    names = ("name", "title", "source", "statement", "meaning", "expected", "limits", "section")
    return ClaimEntry(
        **{name: getattr(claim, name) for name in names},
        **result.verdict._asdict(),
        false_alarm=plays if claim.alpha > 0 else f"none: {size:,} exact computations",
        faults=tuple(result.faults),
        command=f"tombola reproduce --claims {claim.name} --seed {seed}",
        drawings=(drawn,),
        table=claim.page_table(result.rows),
    )


def _write_csv(rows: Rows, path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(
        text, fieldnames=list(dict.fromkeys(name for row in rows for name in row))
    )
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(path, text.getvalue())
