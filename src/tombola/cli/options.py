"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer

Seeds = Annotated[int, typer.Option(help="The only source of randomness.", min=0)]
Workers = Annotated[int, typer.Option(help="How many threads share the work.", min=1)]
Page = Annotated[Path | None, typer.Option(help="A page to write, such as page.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
CORES = os.cpu_count() or 1


def check_level(level: float) -> None:
    """Refuse a level that is no probability, or says nothing."""
    from tombola.errors import ParameterError

    if not 0.0 < level < 1.0:
        raise ParameterError(f"--level: expected a probability above 0 and below 1, got {level:g}; write --level 0.05.")


def words(text: str) -> tuple[str, ...]:
    """Return what stands between commas.

    >>> words("random, given")
    ('random', 'given')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())
