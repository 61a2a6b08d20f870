"""`tombola demo`: a walk through a demo pool."""

from typing import Annotated

import typer

from tombola.cli.answers import check_page, show_ranking, show_sentences, write_page
from tombola.cli.options import CORES, Page, Seeds, Workers
from tombola.cli.printing import show


def demo(
    pool: Annotated[
        str,
        typer.Argument(
            help="call_list, solvers, evaluation, gpu_models, language_models, or digits (needs scikit-learn)."
        ),
    ] = "call_list",
    out: Page = None,
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Walk through a demo pool in a minute, saying what is done."""
    from tombola.cli.demo_script import walk

    check_page(out)
    last = None
    for number, step in enumerate(walk(pool, seed=seed, workers=workers), start=1):
        show(f"{number}. {step.heading}\n{step.text}")
        last = step.answer or last
        if step.answer is not None:
            show_sentences(step.answer)
            show_ranking(step.answer)
        show("")
    if out is not None and last is not None:
        write_page(last, out)
        show(f"the page is {out}")
