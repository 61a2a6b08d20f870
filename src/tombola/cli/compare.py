"""`tombola compare`: which learner to use for a table."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tombola.cli.answers import check_page, show_answer, write_page
from tombola.cli.options import CORES, Json, Page, Seeds, Workers, words
from tombola.cli.printing import show
from tombola.cli.reading import Missing, Rescale, TableArgument, TableOptions, with_table_options


@with_table_options
def compare(
    table: TableArgument,
    table_options: TableOptions,
    feedback: Annotated[
        str, typer.Option(help="bandit: see the loss of the played action; full: see the whole row.")
    ] = "bandit",
    learners: Annotated[
        str,
        typer.Option(
            help="Such as UCB2, UCB2(alpha=.3) or mine.py:MyLearner, with commas between; those that suit if left out."
        ),
    ] = "",
    orders: Annotated[
        str, typer.Option("--orders", "--order", help="random, iid or given, or several with commas between.")
    ] = "random",
    repetitions: Annotated[int, typer.Option(help="How many shuffles.", min=1)] = 40,
    delay: Annotated[int, typer.Option(help="Rounds between a play and its feedback.", min=0)] = 0,
    switching_price: Annotated[float, typer.Option(help="What a change of action costs, in losses.", min=0)] = 0.0,
    budget: Annotated[
        str, typer.Option(help="What may be spent in all, in the unit of the costs; with commas for several resources.")
    ] = "",
    target: Annotated[
        float | None,
        typer.Option(help="A mean loss that is enough: reach it at least cost; .1 for 90 % right.", min=0, max=1),
    ] = None,
    rescale: Rescale = False,  # noqa: FBT002 - a flag
    missing: Missing = "error",
    fresh: Annotated[bool, typer.Option("--fresh", help="Use nothing that was kept of an earlier run.")] = False,  # noqa: FBT002 - a flag
    cluster: Annotated[
        str, typer.Option(help="The address of a Dask scheduler, such as tcp://HOST:8786: its workers do the work.")
    ] = "",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Say which learner would have done best on this table, worked through in random order."""
    from tombola.advice import CompareRequest, Conditions, answer_to
    from tombola.advice.learner_list import parted
    from tombola.persistence.result_cache import default_cache_dir
    from tombola.readers import read_table

    check_page(out, table)
    question = CompareRequest(
        Conditions(feedback, delay, switching_price), parted(learners), words(orders), amounts_in(budget),
        repetitions, seed, target,
    )  # fmt: skip
    read = read_table(table, rescale=rescale, missing=missing, **table_options)
    name = "standard input" if table == "-" else Path(table).name
    with _workers_at(cluster):
        answer = answer_to(
            read, question, name=name, workers=workers, keep=None if fresh else default_cache_dir("compare")
        )
    if out is not None:
        write_page(answer, out)
    if as_json:
        typer.echo(json.dumps(answer.data(), allow_nan=False))
        return
    show_answer(answer)
    if answer.known:
        show(f"{answer.known} of {repetitions} repetitions were kept from an earlier run; --fresh plays them again")
    if out is not None:
        show(f"the page is {out}")


def _workers_at(address: str) -> AbstractContextManager[object]:
    """Return where the work is done: on this machine, or on the cluster at this address."""
    from tombola.errors import ParameterError

    if not address:
        return nullcontext()
    try:
        from tombola._cluster import connect
    except ImportError:
        raise ParameterError(
            "--cluster: expected Dask, which is not installed; write pip install 'tombola[cluster]'."
        ) from None
    return connect(address)


def amounts_in(text: str) -> tuple[float, ...]:
    """Return the amounts of a budget, as they are written on the command line."""
    from tombola.errors import ParameterError

    try:
        return tuple(float(word) for word in words(text))
    except ValueError:
        raise ParameterError(
            f"--budget: expected an amount, or several with commas between, got {text!r}; write --budget 90."
        ) from None
