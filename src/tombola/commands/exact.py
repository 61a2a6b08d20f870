"""`tombola exact`: the exact worst case of small inputs."""

from typing import Annotated

import typer

from tombola.commands.printing import grid, show


def exact(
    learner: Annotated[str, typer.Argument(help="A learner without parameters, such as FollowTheLeader.")],
    horizon: Annotated[int, typer.Option("--T", help="Rounds; the inputs are enumerated.", min=1)] = 5,
    actions: Annotated[int, typer.Option("--k", help="Actions.", min=1)] = 2,
) -> None:
    """Give the exact worst-case regret over all 0/1 inputs of a small size, in the three input models."""
    from itertools import product

    from tombola.exact import worst_case
    from tombola.recipe import learner_called

    regrets = worst_case(learner_called(learner), [list(row) for row in product((0, 1), repeat=actions)], horizon)
    table = grid("input model", "worst expected regret")
    for model, value in zip(("i.i.d. (on a grid)", "random order", "adversarial"), regrets[:3], strict=True):
        table.add_row(model, f"{value:.10g}")
    show(table)
