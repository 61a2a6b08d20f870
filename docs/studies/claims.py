"""Write the tables of docs/claims.md.

    python docs/studies/claims.py FOLDER [--full] [CLAIM...]

All claims are run with ten seeds, all faults with three, and (--full) all claims in full size. Finished units are
cached in FOLDER. The tables are written if no claim is named. One worker. The ten seeds take ten minutes of processor
time, the faults fifteen, and the full sizes an hour.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tombola.paper import CLAIMS, Claim
from tombola.paper.faults import FaultResult
from tombola.paper.reproduce import ClaimResult, reproduce

PAGE = Path(__file__).parents[1] / "claims.md"
FAULT_SEEDS, SEEDS = (1, 2, 3), range(1, 11)


def run(claims: Sequence[Claim], folder: Path, *, full: bool) -> dict[str, list[ClaimResult]]:
    """Run the claims with every seed, faults with three, and in full size if `full`."""
    done = {
        f"seed {seed}": reproduce(
            claims, folder / f"seed{seed}", full=False, seed=seed, workers=1, inject_faults=seed in FAULT_SEEDS
        )
        for seed in SEEDS
    }
    return done | ({"full": reproduce(claims, folder / "full", full=True, seed=1, workers=1)} if full else {})


def tables(done: dict[str, list[ClaimResult]]) -> dict[str, list[str]]:
    """Return the lines of each table, by its marker on the page."""
    quick = [one for name, many in done.items() if name != "full" for one in many]
    runs = zip(*(done[f"seed {seed}"] for seed in FAULT_SEEDS), strict=True)
    broken = [seeds for same in runs for seeds in zip(*(one.faults for one in same), strict=True)]
    expected, caught = sum(one.as_expected for one in quick), [each.caught for one in quick for each in one.faults]
    return {
        "seeds": [
            f"{expected} of {len(quick)} verdicts as expected ({len(done['seed 1'])} claims, {len(SEEDS)} seeds), "
            f"{sum(caught)} of {len(caught)} faults caught ({len(caught) // len(FAULT_SEEDS)} faults, "
            f"{len(FAULT_SEEDS)} seeds)."
        ],
        "quick": verdicts(done["seed 1"]),
        "full": verdicts(done.get("full", [])),
        "faults": [
            "| claim | fault | verdict, seeds 1, 2, 3 | caught |",
            "|---|---|---|---|",
            *map(broken_line, broken),
        ],
    }


def verdicts(many: Sequence[ClaimResult]) -> list[str]:
    """Return the table of a run."""
    return ["| claim | verdict | measured | plays | alpha |", "|---|---|---|--:|--:|", *map(verdict_line, many)]


def verdict_line(one: ClaimResult) -> str:
    """Return a claim with its verdict as a line of the table."""
    alpha = f"{100 * one.claim.alpha:.2g} %" if one.claim.alpha else "exact"
    mark = "" if one.as_expected else f" (expected: {one.claim.expected})"
    verdict = f"{one.verdict.outcome}{mark}"
    size = one.claim.sample_size(one.rows)
    return f"| {one.claim.name} | {verdict} | {cell(one.verdict.measured)} | {size:,} | {alpha} |"


def broken_line(seeds: Sequence[FaultResult]) -> str:
    """Return a fault with its verdicts as a line of the table."""
    outcomes, caught = [one.outcome for one in seeds], sum(one.caught for one in seeds)
    listing = outcomes[0] if len({*outcomes}) == 1 else ", ".join(outcomes)
    return f"| {seeds[0].claim} | {cell(seeds[0].fault)} | {listing} | {caught} of {len(seeds)} |"


def cell(text: str) -> str:
    """Return a text as a cell of a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>#|^~$])", r"\\\1", text)


def main() -> None:
    """Run, print unexpected results, and write the tables.

    Unexpected are other verdicts, and faults that were not caught.
    """
    folder, names = Path(sys.argv[1]), [name for name in sys.argv[2:] if name != "--full"]
    done = run([kind() for kind in CLAIMS if not names or kind.name in names], folder, full="--full" in sys.argv)
    for run_name, many in done.items():
        for one in many:
            missed = [broken.fault for broken in one.faults if not broken.caught]
            if missed or not one.as_expected:
                print(f"{run_name}: {one.claim.name}: {one.verdict.outcome}; not caught: {missed}")
    if not names:
        text = PAGE.read_text(encoding="utf-8")
        for mark, lines in tables(done).items():
            if f"<!-- {mark} -->" not in text or (mark == "full" and "full" not in done):
                continue
            before, begin, rest = text.partition(f"<!-- {mark} -->\n")
            _, end, after = rest.partition("<!-- end -->")
            text = "".join([before, begin, *(f"{line}\n" for line in lines), end, after])
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
