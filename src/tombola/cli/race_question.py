"""What a race is asked for, as options of the commands that begin one."""

import math
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tombola.cli.options import Seeds

if TYPE_CHECKING:
    from tombola.racing import Settings

Ask: TypeAlias = "Callable[[Iterable[str]], Settings]"

Level = Annotated[float, typer.Option(help="The probability with which the answer may be wrong.")]
Within = Annotated[
    float, typer.Option(help="So much more mean loss, in [0, 1], than the best (or baseline) is good enough.")
]
Top = Annotated[int, typer.Option(help="Ask for the best so many.", min=1)]
Baseline = Annotated[str, typer.Option(help="Ask whether the others are better than this candidate: a gate.")]
Future = Annotated[bool, typer.Option("--future", help="The answer is about rows like these, not about this list.")]
MaxCalls = Annotated[int | None, typer.Option(help="Stop after so many calls; the answer is who is left.", min=1)]
MaxCost = Annotated[float | None, typer.Option(help="Stop when the answers have cost so much.", min=0)]
OnFailure = Annotated[str, typer.Option(help="worst: a failed call counts as loss 1; stop: it ends the race.")]


def question(
    seed: Seeds = 1,
    level: Level = 0.05,
    within: Within = 0.0,
    top: Top = 1,
    baseline: Baseline = "",
    future: Future = False,  # noqa: FBT002 - a flag
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    on_failure: OnFailure = "worst",
) -> Ask:
    """Return what gives the settings of this question to candidates."""

    def ask(candidates: Iterable[str]) -> "Settings":
        from tombola.racing import Settings

        population = math.inf if future else None
        limits: Any = {"max_calls": max_calls, "max_cost": max_cost, "on_failure": on_failure}
        return Settings(tuple(candidates), seed, level, within, top, baseline or None, population, **limits)

    return ask


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `question`; what they say is its argument `ask`."""
    asked, own = dict(signature(question).parameters), dict(signature(command).parameters)
    del own["ask"]

    @wraps(command)
    def asking_command(**given: Any) -> None:
        said = {name: given.pop(name) for name in asked}
        command(**given, ask=question(**said))

    parameters = sorted([*own.values(), *asked.values()], key=lambda one: one.default is not one.empty)
    asking_command.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    asking_command.__annotations__ = {one.name: one.annotation for one in parameters}
    return asking_command
