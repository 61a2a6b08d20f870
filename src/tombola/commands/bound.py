"""`tombola bound`: a bound as a number."""

from typing import Annotated

import typer

from tombola.commands.printing import grid, show

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}  # the options are the bound's own parameters


def bound(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A bound, such as simulation; without a name, all are listed.")] = "",
) -> None:
    """Give a bound as a number: tombola bound simulation --T 65536 --k 2 --d 10."""
    from tombola.bounds.ask import ask, listing

    if not name:
        table = grid("bound", "options", "what it bounds")
        for row in listing():
            table.add_row(*row)
        show(table)
        return
    found = ask(name, context.args)
    show("none" if found is None else f"{found:.10g}")
