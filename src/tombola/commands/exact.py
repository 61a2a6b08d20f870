"""`tombola exact`: exact expected regrets on small inputs, in the words of `tombola.exact`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola.commands.printing import grid as table_of
from tombola.commands.printing import show

if TYPE_CHECKING:
    from tombola.budget import Budget


def exact(
    learner: Annotated[str, typer.Argument(help="Such as FollowTheLeader, Exp3 or Hedge(rate=0.5).")],
    table: Annotated[
        str, typer.Argument(help="A small table, for the regret on it in random order; left out: the worst inputs.")
    ] = "",
    horizon: Annotated[
        int | None,
        typer.Option("--horizon", "--T", help="Rounds; the inputs are enumerated. 5 if left out.", min=1),
    ] = None,
    actions: Annotated[
        int | None,
        typer.Option(
            "--actions", "--k", help="Actions; for a learner of labels, points of the line. 2 if left out.", min=1
        ),
    ] = None,
    grid: Annotated[
        int | None, typer.Option(help="I.i.d. chances are multiples of 1/grid; 12 if left out.", min=1)
    ] = None,
    delay: Annotated[int, typer.Option(help="Rounds between a play and its feedback.", min=0)] = 0,
    budget: Annotated[
        str, typer.Option(help="What may be spent on the table; with commas for several resources.")
    ] = "",
    limit: Annotated[int, typer.Option(help="The largest tree to walk, in nodes.", min=1)] = 2_000_000,
) -> None:
    """Give the exact expected regret on a small table, or the worst over all 0/1 inputs of a small size."""
    from tombola.exact import random_order, worst_case
    from tombola.live.naming import learner_named

    asked: Any = learner_named(learner)
    if table:
        _refuse_beside(table, {"horizon": horizon, "actions": actions, "grid": grid})
        pool = _pool(table, delay)
        regret = random_order(asked, pool, delay=delay, budget=_budget(pool, budget), limit=limit)
        show(f"expected regret in random order: {regret:.10g}")
        return
    kinds = _kinds(asked, actions or 2)
    regrets = worst_case(
        asked, kinds, horizon or 5, grid=grid or 12, delay=delay, budget=_budget(kinds, budget), limit=limit
    )
    found = table_of("input model", "worst expected regret")
    for model, value in zip(("i.i.d. (on a grid)", "random order", "adversarial"), regrets[:3], strict=True):
        found.add_row(model, f"{value:.10g}")
    show(found)


def _refuse_beside(table: str, given: dict[str, int | None]) -> None:
    """Refuse what says which inputs to enumerate where there is a table, which is the input."""
    from tombola.errors import ParameterError

    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"exact: expected a table or --{name}, which is for inputs that are enumerated, got both, {table} and "
                f"{value}; leave out --{name}."
            )


def _pool(table: str, delay: int) -> Any:
    from tombola.errors import ParameterError
    from tombola.readers import read_table

    read = read_table(table)
    if delay == 0 and read.delays is not None and read.delays.any():
        raise ParameterError(
            f"exact: expected one delay for all rows, got {table}, whose rows have delays of their own; write --delay "
            f"{read.delays.max()}, or leave out that column."
        )
    return read.pool


def _budget(pool: Any, text: str) -> "Budget | None":
    from tombola.commands.compare import amounts_in
    from tombola.tables.answer import budget_on

    return budget_on(pool, amounts_in(text)) if text else None


def _kinds(learner: Any, actions: int) -> Any:
    """Return all 0/1 rows; for a learner of labels, all points with either label."""
    from tombola.exact import zero_one
    from tombola.hypotheses.labelled_pool import LabelledPool
    from tombola.labels.learner import LabelLearner
    from tombola.pool import Pool

    if not isinstance(learner, LabelLearner):
        return Pool(zero_one(actions))
    points = [point for point in range(actions) for _ in range(2)]
    return LabelledPool(points, [0, 1] * actions)
