"""Options that `race start` and `race run` share."""

import math
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from tombola.racing import RaceSettings

MakeSettings: TypeAlias = "Callable[[Iterable[str]], RaceSettings]"

Seed = Annotated[
    int | None, typer.Option(help="Seed of the shuffle. Default: drawn, printed and stored in the file.", min=0)
]
Level = Annotated[float, typer.Option(help="Probability that the answer may be wrong.")]
Within = Annotated[
    float, typer.Option(help="Tolerance in the unit of the losses: mean loss this much above the best is good enough.")
]
Top = Annotated[int, typer.Option(help="Find the best TOP candidates.", min=1)]
Baseline = Annotated[
    str, typer.Option(help="Gate: are the others better than this candidate (with --within: not worse by more)?")
]
Future = Annotated[bool, typer.Option("--future", help="The answer is about rows like these, not about this list.")]
MaxCalls = Annotated[int | None, typer.Option(help="Stop after this many calls; the answer lists who is left.", min=1)]
MaxCost = Annotated[float | None, typer.Option(help="Cap on the total cost; calls in flight are reserved.", min=0)]
MaxCallCost = Annotated[
    float | None, typer.Option(help="Largest cost of one call, for --max-cost. Default: the largest so far.", min=0)
]
Question = Annotated[
    str, typer.Option(help="best, or ranks: the order of all, of the first TOP, or the rank of --rank-of.")
]
RankOf = Annotated[str, typer.Option(help="With --question ranks: ask only for the rank of this candidate.")]
OnFailure = Annotated[str, typer.Option(help="worst: a failed call counts as loss 1; stop: it ends the race.")]


def make_settings(
    seed: Seed = None,
    level: Level = 0.05,
    within: Within = 0.0,
    top: Top = 1,
    baseline: Baseline = "",
    future: Future = False,  # noqa: FBT002 - a flag
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_call_cost: MaxCallCost = None,
    on_failure: OnFailure = "worst",
    question: Question = "best",
    rank_of: RankOf = "",
) -> MakeSettings:
    """Return a function from candidate names to `RaceSettings` with these options."""

    def settings(candidates: Iterable[str]) -> "RaceSettings":
        from tombola.racing import RaceSettings

        population = math.inf if future else None
        limits: Any = {
            "max_calls": max_calls, "max_cost": max_cost, "max_call_cost": max_call_cost, "on_failure": on_failure,
            "question": question, "candidate": rank_of or None,
        }  # fmt: skip
        return RaceSettings(tuple(candidates), seed, level, within, top, baseline or None, population, **limits)

    return settings


def with_race_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `make_settings` to a command, as its argument `settings`."""
    options, own = dict(signature(make_settings).parameters), dict(signature(command).parameters)
    del own["settings"]

    @wraps(command)
    def run(**given: Any) -> None:
        values = {name: given.pop(name) for name in options}
        command(**given, settings=make_settings(**values))

    # Parameters without a default must come first.
    parameters = sorted([*own.values(), *options.values()], key=lambda one: one.default is not one.empty)
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
