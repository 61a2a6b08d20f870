"""Verdict: what a race has found, as numbers of candidates and as a sentence."""

import math
from typing import TYPE_CHECKING

from tombola.racing.bets import SLACK
from tombola.racing.elimination import Elimination
from tombola.racing.gate import Gate
from tombola.racing.top import Top
from tombola.racing.within import Within

if TYPE_CHECKING:
    from tombola.racing._race import Race


def answer_of(field: Elimination) -> list[int]:
    """Return the candidates that answer the question, or, as long as it is open, those it is among."""
    if isinstance(field, Gate):
        return [c for c, passed in field.judged.items() if passed]
    if isinstance(field, Within) and field.chosen is not None:
        return [field.chosen]
    if field.seen == field.population:
        found = _least(field, field.top if isinstance(field, Top) else 1)
        return found[:1] if isinstance(field, Within) else found  # of equals, each is near enough to the best
    return field.active


def proved_by(field: Elimination) -> bool | None:
    """Return True if the question is answered, False if a gate is not passed, None if it is open."""
    if isinstance(field, Gate):
        judged = field.judged
        if not all(judged.values()):
            return False
        return True if len(judged) == field.candidates - 1 else None
    wanted = field.top if isinstance(field, Top) else 1
    return True if field.done and len(answer_of(field)) <= wanted else None


def _least(field: Elimination, wanted: int) -> list[int]:
    """Return the best of those in the race when all rows are known: as many as wanted, and who ties with the last."""
    totals = {a: float(field.state.total[a]) for a in field.active}
    last = sorted(totals.values())[min(wanted, len(totals)) - 1]
    return [a for a in totals if totals[a] <= last + SLACK * field.population]


def verdict_of(race: "Race") -> str:
    """Return the sentence that says what was found, how sure it is, and what it took."""
    if race.failure is not None:
        call = race.failure
        return f"stopped, undecided: {call.candidate} failed on row {call.row}; {_effort(race)}"
    if isinstance(race.field, Gate):
        return f"{_gate(race, race.field)}; {_effort(race)}"
    return f"{_found(race) if race.proved else _open(race)}; {_effort(race)}"


def _found(race: "Race") -> str:
    names, settings = _list(race.answer), race.settings
    if settings.top > 1:
        claim = f"{names} are the best {settings.top} of {_field(race)}"
    elif is_near(race):
        claim = f"{names} is within {settings.within:g} of the best of {_field(race)}"
    else:
        claim = f"{names} is the best of {_field(race)}"
    return f"{claim}{_surely(race)}{_margin(race)}"


def is_near(race: "Race") -> bool:
    """Tell whether the answer is only known to be near enough to the best: somebody else may be better, or as good."""
    return isinstance(race.field, Within) and len(race.active) > 1


def _open(race: "Race") -> str:
    if race.rows_counted == len(race.rows) and math.isfinite(race.field.population):
        last = max(race.means[name] for name in race.answer)
        ahead = tuple(name for name in race.answer if race.means[name] < last - SLACK)
        tied = tuple(name for name in race.answer if name not in ahead)
        behind = f", behind {_list(ahead)}" if ahead else ""
        return f"not separable on this list: {_list(tied)} have the same mean loss on all rows{behind}{_surely(race)}"
    wanted = f"the best {race.settings.top}" if race.settings.top > 1 else "the best"
    words = f"{wanted} of {_field(race)} is among {_list(race.active)}{_surely(race)}{_margin(race)}"
    if race.rows_counted == len(race.rows):
        return f"not separable on this list: {words}"
    return f"{'undecided' if race.done else 'open'}: {words}"


def _gate(race: "Race", gate: Gate) -> str:
    base, within = race.settings.baseline, race.settings.within
    true = f"not worse than {base} by more than {within:g}" if within else f"better than {base}"
    false = f"worse than {base} by more than {within:g}" if within else f"not better than {base}"
    said = []
    for c, name in enumerate(race.candidates):
        if name != base:
            words = (
                {True: f"is {true}", False: f"is {false}"}[gate.judged[c]]
                if c in gate.judged
                else f"may be {true} or not"
            )
            said.append(f"{name} {words} ({_difference(gate, c)})")
    return f"{', '.join(said)}{_target(race)}{_surely(race)}"


def _difference(gate: Gate, candidate: int) -> str:
    """Return how a candidate stands against the baseline, in the rows in which it was asked."""
    ahead, rows = gate.ahead(candidate)
    if rows == 0:
        return "no row yet"
    if abs(ahead) <= SLACK:
        return f"the same mean loss on {rows:,} rows"
    return f"mean loss {'higher' if ahead < 0 else 'lower'} by {abs(ahead):.3g} on {rows:,} rows"


def _margin(race: "Race") -> str:
    """Return by how much the leader leads, if there is somebody else in the race."""
    others = sorted(float(race.field.state.total[a]) for a in race.field.active)
    if len(others) < 2 or not race.rows_counted:
        return ""
    ahead = (others[1] - others[0]) / race.rows_counted
    exact = "exactly " if race.rows_counted == race.field.population else ""
    return f", where {race.leader} leads by {exact}{ahead:.3g} in mean loss"


def _field(race: "Race") -> str:
    return f"{len(race.candidates)} candidates{_target(race)}"


def _target(race: "Race") -> str:
    rows = len(race.rows)
    return f" on these {rows:,} rows" if math.isfinite(race.field.population) else " on rows like these"


def _surely(race: "Race") -> str:
    if is_exact(race.field):
        return ", for certain: the whole table is known"
    return f", with probability {1 - race.settings.level:.4g} or more"


def is_exact(field: Elimination) -> bool:
    """Tell whether all rows were counted, and nobody was dropped before the last one."""
    early = any(0 < out < field.population for out in field.state.out)
    return field.seen == field.population and not early and not isinstance(field, Gate)


def _effort(race: "Race") -> str:
    calls, saved = race.calls_made, race.calls_saved
    share = saved / (calls + saved)
    spent = f", cost {race.cost:.6g}" if race.cost else ""
    failed = f", {race.failures:,} failed" if race.failures else ""
    return f"{race.rows_counted:,} rows, {calls:,} calls{failed}{spent}, {saved:,} saved ({share:.0%})"


def _list(names: tuple[str, ...]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "nobody"
