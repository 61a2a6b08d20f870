"""Mean of the candidate that a race chose, with an interval that survives the choice.

The naive mean of a winner is too good: it was chosen because it looked good. Here every candidate
has a confidence sequence at its share of the level, so all of them hold together, at all times, and
with them that of any candidate that is picked by looking (docs/theory/race.md, section 11).
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tombola.evidence.betting import Betting
from tombola.statements import Conclusion, Counts, Quantity, Statement

if TYPE_CHECKING:
    from tombola.racing._race import Race

# Sums of answers that are all known are rounded.
_ROUNDING = 1e-12


class ChosenMean(NamedTuple):
    """Mean loss, in [0, 1], of a candidate that was chosen by its answers.

    naive: mean of the answers counted, which is too good for a winner.
    low, high: interval of the mean that the race is about; it allows for the choice.
    rows: rows that it is from.
    """

    name: str
    naive: float
    low: float
    high: float
    rows: int


def chosen_means(race: "Race") -> tuple[ChosenMean, ...]:
    """Return the means of the candidates that answer the question, or of the leader if it is open.

    All intervals hold simultaneously with probability at least 1 - level, whenever the race ends.
    Empty before the first row, where no candidate is chosen, and with answers="once" or passes: there
    bets that change from row to row are not covered by a theorem.

    >>> from tombola.racing import Race
    >>> race = Race(["a", "b"], rows=200, seed=1)
    >>> while not race.done:
    ...     for call in race.calls():
    ...         _ = race.record(call, loss=float(call.candidate == "b" or call.row_index % 4 == 0))
    >>> [mean] = race.chosen_means()
    >>> mean.name, mean.low < 0.25 < mean.high
    ('a', True)
    """
    means = (_mean_of(race, name) for name in _chosen(race))
    return tuple(mean for mean in means if mean is not None)


def _chosen(race: "Race") -> tuple[str, ...]:
    if race.settings.answers == "once" or race.settings.passes is not None:
        return ()
    if race.rank_sets:
        return tuple(name for name, ranks in race.rank_sets.items() if ranks == (1, 1))
    if race.proved is not None:
        return race.answer
    return () if race.leader is None else (race.leader,)


def _mean_of(race: "Race", name: str) -> ChosenMean | None:
    """Return the mean of a candidate at its share of the level; None without answers."""
    _, losses = race.counted_losses(name)
    column = race.answers[:, race.candidates.index(name)]
    if race.reading == "recorded" and not np.isnan(column).any():
        mean = math.fsum(column) / len(column)
        return ChosenMean(name, mean, mean, mean, len(column))
    if not len(losses):
        return None
    population = len(race.rows) if race.reading == "recorded" else math.inf
    level = race.settings.level / len(race.candidates)
    sequence = Betting(population=population, level=level)
    sequence.extend(losses)
    low, high = sequence.interval()
    return ChosenMean(name, math.fsum(losses) / len(losses), low, high, len(losses))


def mean_statement(race: "Race", mean: ChosenMean) -> Statement:
    """Return the claim about the mean of a chosen candidate, in the unit of the race."""
    units = race.settings.units
    ends = sorted((units.number(mean.low), units.number(mean.high)))
    is_exact = mean.high - mean.low <= _ROUNDING
    return Statement(
        "exact" if is_exact else "proved",
        race.reading,
        (Conclusion("mean", (mean.name,), interval=(ends[0], ends[1])),),
        level=0.0 if is_exact else race.settings.level,
        quantity=Quantity(units.quantity, higher_is_better=units.scores),
        counts=Counts(rows=len(race.rows), counted=mean.rows),
    )


def mean_text(race: "Race", mean: ChosenMean) -> str:
    """Return a sentence on the mean of a chosen candidate, beside its naive mean."""
    statement = mean_statement(race, mean)
    if statement.verdict == "exact":
        return str(statement)
    naive = f"{race.settings.units.number(mean.naive):.4g}"
    return f"{statement}; the mean there is {naive}, and the interval allows for the choice"
