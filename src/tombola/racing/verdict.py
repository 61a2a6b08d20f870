"""Answers of an elimination rule, their correctness, and the verdict sentence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tombola._formatting import join_names, plural
from tombola._types import Floats
from tombola.racing.options import RaceSettings
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import MAX_LOSS_SHARE, ROUNDING_SLACK
from tombola.racing.rules.gate import Gate, holds_on_list
from tombola.racing.rules.ranks import Place, Ranks
from tombola.racing.rules.top import Top
from tombola.racing.rules.within import Within
from tombola.units import Units

if TYPE_CHECKING:
    from tombola.racing._race import Race

# Names that a sentence spells out at most; the rest is counted. More make it hard to read.
_MAX_NAMES = 10
# Groups that a sentence spells out at most; the rest is counted.
_MAX_GROUPS = 12
# Medians of the fifths of a normal law: equally likely errors of an edge, in standard errors.
_LIKELY_EDGES = (-1.28, -0.52, 0.0, 0.52, 1.28)
# Error of an edge at the ends of the 90 % range, in standard errors. On shared pools 92 % of the
# races end in the range; 1.645 would give 96 %.
_RANGE_EDGE = 1.3


class Answers:
    """Names of the answer of an elimination rule; base of `Race` and `Result`."""

    rule: Elimination
    settings: RaceSettings

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of all candidates, in the order of the settings."""
        return self.settings.candidates

    @property
    def answer(self) -> tuple[str, ...]:
        """Names that answer the question; while it is open, all that still may."""
        return tuple(self.candidates[a] for a in answer_of(self.rule))

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the candidates that were not dropped."""
        return tuple(self.candidates[a] for a in self.rule.active)

    @property
    def leader(self) -> str | None:
        """Name of the active candidate with the smallest mean loss; None before any row."""
        return self.candidates[self.rule.leader] if self.rule.rows_seen else None

    @property
    def mean_losses(self) -> dict[str, float]:
        """Mean loss, in [0, 1], by candidate, up to its drop; NaN without rows."""
        state = self.rule.state
        counts = np.where(state.active > 0, state.rows_seen[0], state.drop_row)
        return {
            name: float(total / count) if count else math.nan
            for name, total, count in zip(self.candidates, state.total_loss, counts, strict=True)
        }

    @property
    def rank_sets(self) -> dict[str, tuple[int, int]]:
        """First and last possible rank, from 1, by name; empty without question="ranks".

        With probability at least 1 - level all rank sets hold simultaneously, after every row.
        """
        if isinstance(self.rule, Ranks):
            sets = zip(self.candidates, self.rule.rank_sets(), strict=True)
            return {name: (int(low), int(high)) for name, (low, high) in sets}
        return (
            {self.candidates[self.rule.candidate]: self.rule.rank_set()}
            if isinstance(self.rule, Place)
            else {}
        )


@dataclass(frozen=True, eq=False, repr=False)
class Result(Answers):
    """Answer of a race, for the whole list or for one group of rows.

    `rule` has the evidence of the list or group; `over`: no more of its rows will be counted.
    """

    rule: Elimination
    settings: RaceSettings
    over: bool

    def __repr__(self) -> str:
        return f"Result({self.text!r})"

    @property
    def proved(self) -> bool | None:
        """True if the answer is proved, None while open, False if a candidate fails the gate."""
        return is_proved(self.rule)

    @property
    def rows_counted(self) -> int:
        """Number of rows of the list or group that were used as evidence so far."""
        return self.rule.rows_seen

    @property
    def text(self) -> str:
        """The answer in a few words, without its confidence.

        >>> from tombola.racing import Race
        >>> Race(["a", "b"], rows=5, seed=1).whole.text
        'open: a or b'
        """
        if isinstance(self.rule, Gate):
            states = {True: "passes", False: "fails", None: "open"}
            others = [c for c in range(self.rule.candidates) if c != self.rule.baseline]
            return ", ".join(
                f"{self.candidates[c]} {states[self.rule.decisions.get(c)]}" for c in others
            )
        if isinstance(self.rule, Place):
            return f"rank {rank_text(self.rule.rank_set())}"
        if self.proved:
            return _join(self.answer)
        if self.rule.rows_seen == self.rule.population and not isinstance(self.rule, Ranks):
            return f"tie: {_join(self.answer)}"
        return f"{'undecided' if self.over else 'open'}: {_join(self.answer, ' or ')}"


def answer_of(rule: Elimination) -> list[int]:
    """Return the numbers of the candidates that answer the question of a rule.

    While the question is open, these are all candidates that may be the answer. `Gate`: the
    candidates that passed so far. `Ranks`: the candidates that may be among the first `top`, best
    first. `Place`: the candidate itself.
    """
    if isinstance(rule, Gate):
        return [c for c, passed in rule.decisions.items() if passed]
    if isinstance(rule, Place):
        return [rule.candidate]
    if isinstance(rule, Ranks):
        return _possible_top(rule)
    if isinstance(rule, Within) and rule.chosen is not None:
        return [rule.chosen]
    if rule.rows_seen == rule.population:
        best = _smallest_totals(rule, rule.top if isinstance(rule, Top) else 1)
        # Candidates that tie are all within the tolerance; one of them is enough.
        return best[:1] if isinstance(rule, Within) else best
    return rule.active


def is_proved(rule: Elimination) -> bool | None:
    """Return True if the question of a rule is answered, None if it is open.

    False only for `Gate`, if a candidate is proved not to pass the comparison with the baseline.
    """
    if isinstance(rule, Gate):
        decisions = rule.decisions
        if not all(decisions.values()):
            return False
        return True if len(decisions) == rule.candidates - 1 else None
    if isinstance(rule, Place):
        first, last = rule.rank_set()
        return True if first == last else None
    if isinstance(rule, Ranks):
        sets = rule.rank_sets()[_possible_top(rule)]
        return True if (sets[:, 0] == sets[:, 1]).all() else None
    target = rule.top if isinstance(rule, Top) else 1
    return True if rule.done and len(answer_of(rule)) <= target else None


def _possible_top(rule: Ranks) -> list[int]:
    """Return the candidates that may be among the first `top`, by rank sets."""
    first, last = rule.rank_sets().T
    possible = [a for a in range(rule.candidates) if first[a] <= rule.top]
    return sorted(possible, key=lambda a: (first[a], last[a]))


def _smallest_totals(rule: Elimination, count: int) -> list[int]:
    """Return the `count` candidates with the smallest total loss, with ties."""
    totals = {a: float(rule.state.total_loss[a]) for a in rule.active}
    last = sorted(totals.values())[min(count, len(totals)) - 1]
    return [a for a in totals if totals[a] <= last + ROUNDING_SLACK * rule.population]


def is_wrong(rule: Elimination, totals: Floats) -> bool:
    """Return whether the conclusion of a rule is false, given the whole table.

    For simulations; `totals` has the total loss of each candidate over the whole list. An open
    answer is wrong if it excludes the true one.

    >>> from tombola.racing.rules.best import Best
    >>> rule = Best(candidates=2, rows=1, population=1, level=0.05)
    >>> rule.update(np.array([0.0, 1.0]))
    >>> is_wrong(rule, np.array([0.0, 1.0])), is_wrong(rule, np.array([1.0, 0.0]))
    (False, True)
    """
    if isinstance(rule, Gate):
        leads = totals[rule.baseline] - totals
        return any(
            passed != holds_on_list(float(leads[c]), rule.margin, rule.rows)
            for c, passed in rule.decisions.items()
        )
    slack = ROUNDING_SLACK * rule.rows
    if isinstance(rule, Place | Ranks):
        # The order that the rank sets cover, shape (k, k): by total loss, ties in file order.
        lead = totals[None, :] - totals[:, None]
        ahead = (lead > slack) | ((np.abs(lead) <= slack) & np.triu(np.ones(lead.shape, bool), 1))
        if isinstance(rule, Ranks):
            return bool((rule.before & ~ahead).any())
        first, last = rule.rank_set()
        return not first <= 1 + int(ahead[:, rule.candidate].sum()) <= last
    if isinstance(rule, Top):
        inside = answer_of(rule)
        outside = [a for a in range(rule.candidates) if a not in inside]
        return bool(outside) and max(totals[inside]) > min(totals[outside]) + slack
    allowed = rule.within * rule.rows if isinstance(rule, Within) else 0.0
    best = float(np.min(totals))
    if is_proved(rule):
        return any(totals[a] > best + allowed + slack for a in answer_of(rule))
    return bool(min(totals[a] for a in answer_of(rule)) > best + allowed + slack)


class Forecast(NamedTuple):
    """Estimated number of rows that a race still needs, and a 90 % range of it."""

    mean: int
    low: int
    high: int


def rows_remaining(rule: Elimination) -> Forecast | None:
    """Estimate how many more rows the rule needs; None before the first row.

    A difference of losses with mean D and variance v needs n = 2 v ln(1 / level) / D^2 rows of an
    infinite population, and n / (1 + n / N) of a list of N rows. However small v is, one row
    multiplies a wealth by at most about 1 + D, because the next row may be the worst possible. This
    needs at least n = ln(1 / level) / ln(1 + D) rows, and N (1 - exp(-n / N)) of a list. D is known
    only up to its standard error, so the mean is over equally likely values of D, and the range is
    that of an interval of D. Measured (docs/theory/race.md, section 7), without a guarantee.
    """
    if rule.done:
        return Forecast(0, 0, 0)
    if rule.rows_seen == 0:
        return None
    questions = rule.open_questions()
    mean = math.ceil(sum(_rows_at(rule, questions, z) for z in _LIKELY_EDGES) / len(_LIKELY_EDGES))
    return Forecast(mean, *(_rows_at(rule, questions, z) for z in (_RANGE_EDGE, -_RANGE_EDGE)))


def _rows_at(rule: Elimination, questions: list[OpenQuestion], z: float) -> int:
    """Return the rows that all questions need, if every edge is z standard errors above its estimate."""
    n, N, left, needed = rule.rows_seen, rule.population, rule.rows - rule.rows_seen, 1
    for estimate, variance, threshold in questions:
        edge = estimate + z * math.sqrt(variance / n * (1.0 - n / N))
        if edge <= 0.0:
            return left
        by_noise = 2.0 * max(variance, edge * edge) * math.log(threshold) / (edge * edge)
        by_growth = math.log(threshold) / math.log1p(MAX_LOSS_SHARE * edge)
        lower = by_growth if N == math.inf else -N * math.expm1(-by_growth / N)
        needed = max(needed, min(math.ceil(max(by_noise / (1.0 + by_noise / N), lower)) - n, left))
    return needed


def is_exact(rule: Elimination) -> bool:
    """Return whether the answer of a rule is certain, not only probable.

    It is certain if all rows were counted and no candidate was dropped before the last one, or if
    no outcome of the other rows could change any drop.
    """
    dropped = rule.state.active == 0.0
    single = isinstance(rule, Gate) or dropped.sum() == rule.candidates - (
        rule.top if isinstance(rule, Top) else 1
    )
    if rule.done and single and np.isinf(rule.state.wealth_at_drop[dropped]).all():
        return True
    early = any(0 < row < rule.population for row in rule.state.drop_row)
    if rule.rows_seen < rule.population or early or isinstance(rule, Gate):
        return False
    # Pairs of `Ranks` and bounds of `Place` may have been decided earlier; then the totals must
    # agree with them.
    return not isinstance(rule, Place | Ranks) or not is_wrong(rule, rule.state.total_loss)


def is_within_only(result: Result) -> bool:
    """Return whether the answer is proved only up to `within`: others are active."""
    return isinstance(result.rule, Within) and len(result.active) > 1


def verdict_of(race: "Race") -> str:
    """Return one sentence about a race: answer, confidence, groups, rows and calls."""
    if race.failed_call is not None:
        call = race.failed_call
        return f"stopped, undecided: {call.candidate} failed on row {call.row}; {_effort(race)}"
    return "; ".join(filter(None, [_result_text(race.whole), _groups_text(race), _effort(race)]))


def _result_text(result: Result) -> str:
    """Return the answer for the list or one group as a clause with its confidence."""
    rule, settings, names = result.rule, result.settings, _join(result.answer)
    if isinstance(rule, Gate):
        return _gate_text(result, rule)
    field = f"{plural(len(result.candidates), 'candidate')}{_scope(result)}"
    if isinstance(rule, Place):
        return _place_text(result, rule, field)
    if isinstance(rule, Ranks):
        return _ranks_text(result, rule, field)
    if not result.proved:
        return _open_text(result, field)
    claim = f"{names} is the best of {field}"
    if settings.top > 1:
        claim = f"{names} are the best {settings.top} of {field}"
    elif is_within_only(result):
        claim = f"{names} is within {settings.within:g} of the best of {field}"
    return f"{claim}{_confidence(result)}{_lead(result)}"


def _groups_text(race: "Race") -> str:
    if race.strata is None:
        return ""
    found = race.by_group
    texts = [f"{name}: {result.text}" for name, result in list(found.items())[:_MAX_GROUPS]]
    more = [f"{len(found) - _MAX_GROUPS} more"] if len(found) > _MAX_GROUPS else []
    sure = f", all with probability {1 - race.settings.level:.4g} or more"
    if all(is_exact(result.rule) for result in (race.whole, *found.values())):
        sure = ", for certain"
    return (
        f"by {race.strata.title}{sure if any(map(_has_proof, found.values())) else ''}: "
        f"{'; '.join([*texts, *more])}"
    )


def _has_proof(result: Result) -> bool:
    """Return whether anything is proved: a drop, a decision, or a narrower rank set."""
    if isinstance(result.rule, Ranks | Place):
        return any(ranks != (1, len(result.candidates)) for ranks in result.rank_sets.values())
    return result.proved is not None or len(result.active) < len(result.candidates)


def _open_text(result: Result, field: str) -> str:
    if result.rows_counted == result.rule.population:
        means = result.mean_losses
        last = max(means[name] for name in result.answer)
        ahead = [name for name in result.answer if means[name] < last - ROUNDING_SLACK]
        tied = _join([name for name in result.answer if name not in ahead])
        tie = f"{tied} have the same mean {result.settings.units.quantity} on all rows"
        return (
            f"{_open_prefix(result)}: "
            f"{tie}{f', behind {_join(ahead)}' if ahead else ''}{_confidence(result)}"
        )
    text = f"nothing is proved{_yet(result)}, each of {field} may be the best"
    if len(result.active) < len(result.candidates):
        target = f"the best {result.settings.top}" if result.settings.top > 1 else "the best"
        text = f"{target} of {field} is among {_join(result.active)}{_confidence(result)}"
    return f"{_open_prefix(result)}: {text}{_lead(result)}"


def _ranks_text(result: Result, rule: Ranks, field: str) -> str:
    if result.proved:
        scope = "the order" if rule.top == rule.candidates else f"the first {rule.top} in order"
        return f"{scope} of {field}: {_join(result.answer)}{_confidence(result)}"
    if not _has_proof(result) and not is_exact(rule):
        return f"{_open_prefix(result)}: no rank of {field} is proved{_yet(result)}"
    sets = result.rank_sets
    texts = [f"{rank_text(sets[name])} {name}" for name in result.answer]
    open_ranks = sum(first != last for first, last in sets.values())
    return (
        f"{_open_prefix(result)}: {open_ranks} of {plural(len(sets), 'rank')} are not "
        f"settled{_scope(result)}; ranks "
        f"still possible: {_join(texts)}{_confidence(result)}"
    )


def _place_text(result: Result, rule: Place, field: str) -> str:
    name, ranks = result.candidates[rule.candidate], rule.rank_set()
    if rule.is_contradictory:
        return (
            f"contradiction: the rank of {name} was proved above {ranks[0] - 1} and below "
            f"{ranks[1] + 1}, which "
            f"happens with probability {result.settings.level:g} or less; start again with "
            "another seed"
        )
    if result.proved:
        return f"{name} has rank {ranks[0]} of {field}{_confidence(result)}"
    text = f"nothing is proved{_yet(result)} of the rank of {name} among {field}"
    if _has_proof(result) or is_exact(rule):
        text = f"{name} has a rank from {ranks[0]} to {ranks[1]} of {field}{_confidence(result)}"
    return f"{_open_prefix(result)}: {text}"


def _open_prefix(result: Result) -> str:
    if result.rows_counted == result.rule.rows:
        return "not separable " + (
            "by these rows" if math.isinf(result.rule.population) else "on this list"
        )
    return "undecided" if result.over else "open"


def _yet(result: Result) -> str:
    return "" if result.over else " yet"


def rank_text(ranks: tuple[int, int]) -> str:
    """Return the ranks that a candidate may have as text.

    >>> rank_text((2, 2)), rank_text((2, 5))
    ('2', '2 to 5')
    """
    first, last = ranks
    return f"{first}" if first == last else f"{first} to {last}"


def _gate_text(result: Result, gate: Gate) -> str:
    base, within = result.settings.baseline, result.settings.within
    true = f"not worse than {base} by more than {within:g}" if within else f"better than {base}"
    false = f"worse than {base} by more than {within:g}" if within else f"not better than {base}"
    proved: list[str] = []
    undecided: list[str] = []
    for c, name in enumerate(result.candidates):
        if name != base:
            decision, difference = (
                gate.decisions.get(c),
                _difference(gate, c, result.settings.units),
            )
            if decision is None:
                undecided.append(f"{name} ({difference})")
            else:
                proved.append(f"{name} is {true if decision else false} ({difference})")
    parts = [f"{', '.join(proved)}{_scope(result)}{_confidence(result)}"] if proved else []
    if undecided:
        prefix = f"{_open_prefix(result)}{'' if proved else _scope(result)}"
        parts.append(
            f"{prefix}: nothing is proved{_yet(result)} on whether {_join(undecided, ' or ')} is "
            f"{true}"
        )
    return "; ".join(parts)


def _difference(gate: Gate, candidate: int, units: Units) -> str:
    advantage, rows = gate.advantage(candidate)
    if rows == 0:
        return "no row yet" if gate.decisions.get(candidate) is None else "by answers on file"
    if abs(advantage) <= ROUNDING_SLACK:
        return f"the same mean {units.quantity} on {plural(rows, 'row')}"
    more = "higher" if (advantage > 0) == units.scores else "lower"
    return (
        f"mean {units.quantity} {more} by {units.gap(abs(advantage)):.3g} on {plural(rows, 'row')}"
    )


def _lead(result: Result) -> str:
    """Return the lead of the leader, if another candidate is active."""
    losses = {a: float(result.rule.state.total_loss[a]) for a in result.rule.active}
    if len(losses) < 2 or not result.rows_counted:
        return ""
    totals = sorted(losses.values())
    lead = (totals[1] - totals[0]) / result.rows_counted
    if lead <= ROUNDING_SLACK:
        level = [
            result.candidates[a]
            for a, total in losses.items()
            if total <= totals[0] + ROUNDING_SLACK
        ]
        return f", where {_join(level)} are level"
    exact = "exactly " if result.rows_counted == result.rule.population else ""
    units = result.settings.units
    return f", where {result.leader} leads by {exact}{units.gap(lead):.3g} in mean {units.quantity}"


def _scope(result: Result) -> str:
    if math.isinf(result.rule.population):
        return " on rows like these"
    return " on this row" if result.rule.rows == 1 else f" on these {result.rule.rows:,} rows"


def _confidence(result: Result) -> str:
    if is_exact(result.rule):
        known = result.rows_counted == result.rule.population
        return (
            ", for certain: "
            f"{'the whole table is known' if known else 'the other rows cannot change it'}"
        )
    return f", with probability {1 - result.settings.level:.4g} or more"


def calls_text(race: "Race") -> str:
    """Return the number of calls of a race as text, such as "3 of 42 calls".

    While answers are missing: "2 of 42 calls answered, 3 issued".
    """
    issued, answered = race.calls_made, race.calls_answered
    total = plural(issued + race.calls_saved, "call")
    return (
        f"{issued:,} of {total}"
        if answered == issued
        else f"{answered:,} of {total} answered, {issued:,} issued"
    )


def _effort(race: "Race") -> str:
    calls, saved = race.calls_made, race.calls_saved
    all_calls = calls + saved
    # Calls that are not made yet are saved only once the race is over.
    made, rest = plural(calls, "call"), f", {saved:,} saved ({saved / max(all_calls, 1):.0%})"
    if not race.done or not all(part.rule.done for part in (race.whole, *race.by_group.values())):
        # Nor are those that a limit has stopped: the question is open.
        made, rest = calls_text(race), ""
    elif calls > race.calls_answered:
        made += f" ({calls - race.calls_answered:,} without an answer)"
    elif not all_calls:
        rest = ""
    on_file = f", {race.calls_on_file:,} on file" if race.calls_on_file else ""
    # A race for run times costs the seconds it takes.
    unit = " seconds" if race.settings.unit == "seconds" else ""
    spent = f", cost {race.cost:.6g}{unit}" if race.cost else ""
    failed = f", {race.failures:,} failed" if race.failures else ""
    return f"{plural(race.rows_counted, 'row')}, {made}{failed}{spent}{on_file}{rest}"


def _join(names: Sequence[str], last: str = " and ") -> str:
    return join_names(names, limit=_MAX_NAMES, last=last) or "none"
