"""`tombola compare`: which learner to use for a table."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tombola.commands.answers import show_answer, write_page
from tombola.commands.options import CORES, Json, Page, Seeds, Workers, words
from tombola.commands.printing import show


def compare(
    table: Annotated[
        Path,
        typer.Argument(
            help="Losses, one column per action: CSV, TSV (also .gz), Parquet, Feather, NPZ, NPY, ASlib folder."
        ),
    ],
    feedback: Annotated[
        str, typer.Option(help="bandit: see the loss of the played action; full: see the whole row.")
    ] = "bandit",
    learners: Annotated[str, typer.Option(help="Learners, with commas between; those that suit if left out.")] = "",
    orders: Annotated[
        str, typer.Option("--orders", "--order", help="random, iid or given, or several with commas between.")
    ] = "random",
    repetitions: Annotated[int, typer.Option(help="How many shuffles.", min=1)] = 40,
    delay: Annotated[int, typer.Option(help="Rounds between a play and its feedback.", min=0)] = 0,
    switching_price: Annotated[float, typer.Option(help="What a change of action costs, in losses.", min=0)] = 0.0,
    budget: Annotated[
        str, typer.Option(help="What may be spent in all, in the unit of the costs; with commas for several resources.")
    ] = "",
    costs: Annotated[str, typer.Option(help="Names of the costs in the table, with commas between.")] = "",
    rewards: Annotated[bool, typer.Option("--rewards", help="The numbers are rewards: more is better.")] = False,  # noqa: FBT002 - a flag
    rescale: Annotated[  # noqa: FBT002 - a flag, on the command line
        bool, typer.Option("--rescale", help="Map the smallest number to 0 and the largest to 1.")
    ] = False,
    missing: Annotated[
        Literal["error", "drop", "worst"], typer.Option(help="error, drop or worst: what to do about missing cells.")
    ] = "error",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Say which learner would have done best on this table, worked through in random order."""
    from tombola.files import check_out
    from tombola.readers import read_table
    from tombola.tables import Circumstances, Question, answer_to

    check_out(out, table)
    question = Question(
        Circumstances(feedback, delay, switching_price), words(learners), words(orders), _amounts(budget),
        repetitions, seed,
    )  # fmt: skip
    named: Any = words(costs)
    read = read_table(
        table, kind="rewards" if rewards else None, rescale=rescale, missing=missing,
        costs=None if not named else named[0] if len(named) == 1 else list(named),
    )  # fmt: skip
    answer = answer_to(read, question, name=table.name, workers=workers)
    if out is not None:
        write_page(answer, out)
    if as_json:
        typer.echo(json.dumps(answer.data(), allow_nan=False))
        return
    show_answer(answer)
    if out is not None:
        show(f"the page is {out}")


def _amounts(text: str) -> tuple[float, ...]:
    from tombola.errors import ParameterError

    try:
        return tuple(float(word) for word in words(text))
    except ValueError:
        raise ParameterError(
            f"--budget: expected an amount, or several with commas between, got {text!r}; write --budget 90."
        ) from None
