"""`tombola reproduce`: run the claims of the paper."""

import json
import shutil
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola._formatting import plural, written_line
from tombola.cli.options import CORES, Json, Seeds, Workers, split_commas
from tombola.cli.printing import show, show_cells
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.paper.reproduce import ClaimResult


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for rows, charts and the page.")] = Path(
        "reproduction"
    ),
    claims: Annotated[
        str, typer.Option(help="Names of claims, separated by commas. Default: all.")
    ] = "",
    list_claims: Annotated[
        bool, typer.Option("--list", help="List the claims instead: source, verdict, statement.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Publication sizes: an hour instead of minutes.")
    ] = False,
    inject_faults: Annotated[
        bool,
        typer.Option(
            "--inject-faults",
            help="Also run every claim with faults; each must change its verdict.",
        ),
    ] = False,
    seed: Seeds = 1,
    workers: Workers = CORES,
    as_json: Json = False,
) -> None:
    """Run the claims of the paper and print their verdicts.

    Exit code 1: a verdict is not as expected.

    Writes a page with all rows and charts to the folder --out.
    """
    from tombola.paper.registry import CLAIMS
    from tombola.paper.reproduce import reproduce as run
    from tombola.parallel.progress import is_interactive

    if list_claims:
        _list_claims(as_json=as_json)
        return
    known = {kind.name: kind for kind in CLAIMS}
    names = split_commas(claims) or tuple(known)
    for name in names:
        if name not in known:
            raise ParameterError(
                f"--claims: expected names of {', '.join(known)}, got {name!r}; write one of those."
            )
    results = run(
        [known[name]() for name in names],
        out,
        full=full,
        seed=seed,
        workers=workers,
        inject_faults=inject_faults,
        # A terminal has a bar instead.
        on_done=None if is_interactive() else _log_lines(),
    )
    if as_json:
        typer.echo(json.dumps([result.data() for result in results], ensure_ascii=False))
    else:
        _print_results(results)
        show(
            f"{written_line(out / 'index.html')} (rows and charts are in the same folder)",
            soft=True,
        )
    raise typer.Exit(
        0 if all(result.as_expected and result.all_caught for result in results) else 1
    )


def _list_claims(*, as_json: bool) -> None:
    from tombola.paper.registry import CLAIMS

    if as_json:
        fields = ("name", "source", "statement", "expected")
        facts = [{field: str(getattr(claim, field)) for field in fields} for claim in CLAIMS]
        typer.echo(json.dumps(facts))
        return
    rows = [(claim.name, claim.source.split(" (")[0], claim.expected) for claim in CLAIMS]
    show_cells(("claim", "source", "expected"), rows)
    show("The statement of a claim, and its check:")
    show(f"  tombola cite {CLAIMS[0].name}", soft=True)
    show(f"  tombola reproduce --claims {CLAIMS[0].name}", soft=True)


def _log_lines() -> "Callable[[str], None]":
    """Return a function that logs a finished claim's name and the seconds so far."""
    start = time.monotonic()

    def log(name: str) -> None:
        typer.echo(f"{time.monotonic() - start:5.0f} s: {name} measured", err=True)

    return log


def _print_results(results: "Sequence[ClaimResult]") -> None:
    """Print every claim, and then every fault, with its measured values."""
    for result in results:
        note = "as expected" if result.as_expected else f"EXPECTED: {result.claim.expected}"
        show(f"{result.claim.name} ({result.claim.source}): {result.verdict.outcome} ({note})")
        show(_indented(result.verdict.measured))
    faults = [fault for result in results for fault in result.faults]
    if faults:
        show("\nFaults")
    for fault in faults:
        show(f'{fault.claim}, "{fault.fault}": {"caught" if fault.caught else "NOT CAUGHT"}')
        show(_indented(f"{fault.outcome}: {fault.measured}"))
    caught = sum(fault.caught for fault in faults)
    show(
        f"\n{sum(result.as_expected for result in results)} of {plural(len(results), 'claim')} "
        "as expected"
    )
    if faults:
        show(f"{caught} of {plural(len(faults), 'fault')} caught")


def _indented(text: str) -> str:
    width = shutil.get_terminal_size().columns  # 80 if the output is not a terminal
    return textwrap.fill(text, width - 1, initial_indent="  ", subsequent_indent="  ")
