"""Run times of a race on seconds: total, timeouts and PAR10 of each candidate."""

from collections.abc import Iterable
from typing import NamedTuple

from tombola.racing._race import Race
from tombola.racing.events import Event

# PAR10, penalised average run time: a call without a solution counts ten times the time limit, as is usual for solvers.
_PENALTY_FACTOR = 10.0


class RunTimes(NamedTuple):
    """Run times of one candidate, over its answered calls.

    name: name of the candidate.
    calls: number of answered calls.
    seconds: total run time in seconds; a timeout counts as the time limit.
    timeouts: number of calls that reached the time limit.
    failures: number of calls that failed before the time limit.
    par10: mean over the calls of the seconds of a solved call, or ten time limits for another; NaN without calls.
    """

    name: str
    calls: int
    seconds: float
    timeouts: int
    failures: int
    par10: float


def run_times(race: Race, events: Iterable[Event], cap: float) -> list[RunTimes]:
    """Return the run times of all candidates, in their order.

    The candidates of a race answer different rows, so compare PAR10 only of those that ran to the end.

    race: the race, with --loss seconds.
    events: events of the race; answers have the loss seconds / cap, and the seconds as cost.
    cap: the time limit in seconds.

    >>> race = Race(["a", "b"], rows=2, seed=1)
    >>> events = [Event("answer", 1, 0.5, 30.0), Event("answer", 2, 1.0, 60.0)]
    >>> [(one.seconds, one.timeouts, one.par10) for one in run_times(race, events, 60.0)]
    [(30.0, 0, 30.0), (60.0, 1, 600.0)]
    """
    answers: dict[str, list[Event]] = {name: [] for name in race.candidates}
    for event in events:
        if event.kind == "answer":
            answers[race.call(event.ticket).candidate].append(event)
    return [_of_candidate(name, found, cap) for name, found in answers.items()]


def _of_candidate(name: str, answers: list[Event], cap: float) -> RunTimes:
    timeouts = sum(not one.failed and one.loss == 1.0 for one in answers)
    failures = sum(one.failed for one in answers)
    solved = sum(one.cost for one in answers if not one.failed and one.loss != 1.0)
    penalty = _PENALTY_FACTOR * cap * (timeouts + failures)
    par10 = (solved + penalty) / len(answers) if answers else float("nan")
    return RunTimes(name, len(answers), sum(one.cost for one in answers), timeouts, failures, par10)
