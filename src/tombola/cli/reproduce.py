"""`tombola reproduce`: measure the claims of the paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola.cli.options import CORES, Seeds, Workers, words
from tombola.cli.printing import grid, show

if TYPE_CHECKING:
    from tombola.paper.faults import FaultRun


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for rows and pictures.")] = Path("reproduction"),
    claims: Annotated[str, typer.Option(help="Names of claims, with commas between; all if left out.")] = "",
    full: Annotated[bool, typer.Option("--full", help="Publication quality: an hour, not minutes.")] = False,  # noqa: FBT002 - a flag
    inject_faults: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--inject-faults", help="Also break the program on purpose; every claim must notice.")
    ] = False,
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Measure the claims of the paper, and say for each whether it came out as expected."""
    from tombola.errors import ParameterError
    from tombola.paper import CLAIMS
    from tombola.paper.reproduce import reproduce as run

    known = {kind.name: kind for kind in CLAIMS}
    wanted = words(claims) or tuple(known)
    for name in wanted:
        if name not in known:
            raise ParameterError(f"--claims: expected names of {', '.join(known)}, got {name!r}; write one of those.")
    done = run([known[name]() for name in wanted], out, full=full, seed=seed, workers=workers, fault_runs=inject_faults)
    table = grid("claim", "statement", "measured", "verdict")
    for one in done:
        mark = "as expected" if one.as_expected else f"expected: {one.claim.expected}"
        table.add_row(one.claim.name, one.claim.statement, one.verdict.measured, f"{one.verdict.outcome} ({mark})")
    show(table)
    if inject_faults:
        _show_faults([broken for one in done for broken in one.fault_runs])
    show(f"the page is {out / 'index.html'}; rows and pictures are beside it")
    raise typer.Exit(0 if all(one.as_expected and one.all_caught for one in done) else 1)


def _show_faults(broken: "list[FaultRun]") -> None:
    table = grid("claim", "fault", "verdict", "")
    for one in broken:
        table.add_row(one.claim, one.fault, one.outcome, "caught" if one.caught else "NOT CAUGHT")
    show(table)
    show(f"{sum(one.caught for one in broken)} of {len(broken)} faults caught")
