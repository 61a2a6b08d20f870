"""Write the tables of docs/claims.md.

    python docs/studies/claims.py FOLDER [--full] [--only PART] [CLAIM...]

Parts: all claims with ten seeds (`seeds`), source faults (`source`) and other faults (`faults`)
with three, and with --full all claims in full size. Finished units are cached in FOLDER, so parts
may run at the same time, and a killed run continues. Each part writes its tables; if claims are
named, only their rows. One worker.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tombola._result_cache import ResultCache
from tombola.paper.base import Claim, Verdict
from tombola.paper.registry import CLAIMS
from tombola.paper.reproduce import ClaimResult
from tombola.paper.runner import FaultResult, RunOptions, run_units
from tombola.paper.source_faults import injected

PAGE = Path(__file__).parents[1] / "claims.md"
FAULT_SEEDS, SEEDS = (1, 2, 3), range(1, 11)


def run_seeds(claims: Sequence[Claim], cache: ResultCache) -> Iterator[list[ClaimResult]]:
    """Yield the results of each claim, one for every seed, and print unexpected ones."""
    for claim in claims:
        found = []
        for seed in SEEDS:
            rows = run_units(claim, "", cache, RunOptions(full=False, seed=seed, workers=1))
            found.append(ClaimResult(claim, rows, claim.verdict(rows)))
        missed = [seed for seed, one in zip(SEEDS, found, strict=True) if not one.as_expected]
        print(
            f"{claim.name}: unexpected with seeds {missed}"
            if missed
            else f"{claim.name}: as expected",
            flush=True,
        )
        yield found


def run_faults(
    claims: Sequence[Claim], cache: ResultCache, *, source: bool
) -> Iterator[list[FaultResult]]:
    """Yield the results of each fault, one for every seed, and print those not caught."""
    for claim in claims:
        for name in claim.source_faults() if source else claim.faults():
            faulty = claim if source else claim.with_fault(name)
            if source:
                # One injection for all seeds: kernels are compiled anew for each.
                with injected(claim.source_faults()[name]):
                    verdicts = [
                        fault_verdict(faulty, claim, name, cache, seed) for seed in FAULT_SEEDS
                    ]
            else:
                verdicts = [fault_verdict(faulty, claim, name, cache, seed) for seed in FAULT_SEEDS]
            found = [
                FaultResult(claim.name, name, one.outcome, claim.expected, one.measured)
                for one in verdicts
            ]
            print(
                f"{claim.name}, {name}: {sum(one.caught for one in found)} of {len(found)}",
                flush=True,
            )
            yield found


def fault_verdict(faulty: Claim, claim: Claim, name: str, cache: ResultCache, seed: int) -> Verdict:
    """Return the verdict of a claim with a fault.

    Rows are shared if only the verdict differs.
    """
    fault = "" if faulty is not claim and faulty.same_runs(claim) else name
    return faulty.verdict(
        run_units(faulty, fault, cache, RunOptions(full=False, seed=seed, workers=1))
    )


def fault_table(faults: Sequence[Sequence[FaultResult]]) -> list[str]:
    """Return the table of faults."""
    return [
        "| claim | fault | verdict, seeds 1, 2, 3 | caught |",
        "|---|---|---|---|",
        *map(fault_line, faults),
    ]


def verdicts(many: Sequence[ClaimResult]) -> list[str]:
    """Return the table of a run."""
    return [
        "| claim | verdict | measured | plays | alpha |",
        "|---|---|---|--:|--:|",
        *map(verdict_line, many),
    ]


def verdict_line(one: ClaimResult) -> str:
    """Return a claim with its verdict as a line of the table."""
    alpha = f"{100 * one.claim.alpha:.2g} %" if one.claim.alpha else "exact"
    mark = "" if one.as_expected else f" (expected: {one.claim.expected})"
    measured, plays = cell(one.verdict.measured), one.claim.sample_size(one.rows)
    return f"| {one.claim.name} | {one.verdict.outcome}{mark} | {measured} | {plays:,} | {alpha} |"


def fault_line(seeds: Sequence[FaultResult]) -> str:
    """Return a fault with its verdicts as a line of the table."""
    outcomes, caught = [one.outcome for one in seeds], sum(one.caught for one in seeds)
    listing = outcomes[0] if len({*outcomes}) == 1 else ", ".join(outcomes)
    return f"| {seeds[0].claim} | {cell(seeds[0].fault)} | {listing} | {caught} of {len(seeds)} |"


def cell(text: str) -> str:
    """Return a text as a cell of a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>#|^~$])", r"\\\1", text)


def merged(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return a table with the rows of the claims in `new` replaced, in the order of the claims."""
    names = [kind.name for kind in CLAIMS]
    renewed = {name_of(line) for line in new[2:]}
    rows = [line for line in old[2:] if name_of(line) not in renewed] + list(new[2:])
    return [*new[:2], *sorted(rows, key=lambda line: names.index(name_of(line)))]


def name_of(line: str) -> str:
    """Return the claim of a line of a table."""
    return line.split("|")[1].strip()


def write(tables: dict[str, list[str]], *, whole: bool) -> None:
    """Replace the tables between their markers on the page, or only the rows of the claims that were run."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, lines in tables.items():
        before, begin, rest = text.partition(f"<!-- {mark} -->\n")
        assert begin, f"no marker {mark}"
        old, end, after = rest.partition("<!-- end -->")
        table = lines if whole else merged(old.splitlines(), lines)
        text = "".join([before, begin, *(f"{line}\n" for line in table), end, after])
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the parts, print unexpected results, and write the tables.

    Unexpected are other verdicts, and faults that were not caught.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", choices=["seeds", "source", "faults"])
    given = parser.parse_intermixed_args()
    cache, tables = ResultCache(given.folder), {}
    claims = [kind() for kind in CLAIMS if not given.claims or kind.name in given.claims]
    if given.only in (None, "seeds"):
        many = list(run_seeds(claims, cache))
        expected = sum(one.as_expected for found in many for one in found)
        count = f"{expected} of {len(many) * len(SEEDS)} verdicts as expected"
        tables["seeds"] = [f"{count} ({len(many)} claims, {len(SEEDS)} seeds)."]
        tables["quick"] = verdicts([found[0] for found in many])
    if given.only in (None, "source"):
        tables["source"] = fault_table(list(run_faults(claims, cache, source=True)))
    if given.only in (None, "faults"):
        tables["faults"] = fault_table(list(run_faults(claims, cache, source=False)))
    if given.full:
        options = RunOptions(full=True, seed=1, workers=1)
        rows = [run_units(claim, "", cache, options) for claim in claims]
        done = [
            ClaimResult(claim, own, claim.verdict(own))
            for claim, own in zip(claims, rows, strict=True)
        ]
        tables["full"] = verdicts(done)
    if given.claims:
        tables.pop("seeds", None)
    write(tables, whole=not given.claims)


if __name__ == "__main__":
    main()
