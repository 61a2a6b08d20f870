"""Results of a race: answers by name, its statement, and the rows still needed."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import MAX_LOSS_SHARE
from tombola.racing.settings import RaceSettings
from tombola.statements import (
    NO_SECOND_CALL,
    UNCHECKED,
    Counts,
    Quantity,
    Reading,
    Statement,
    largest_cluster_text,
)

if TYPE_CHECKING:
    from tombola.racing._race import Race

# Errors of an edge whose forecasts are averaged, in standard errors.
_LIKELY_EDGES = (-0.6, 0.0, 0.6)
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
        return tuple(self.candidates[a] for a in self.rule.answer)

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
        return {self.candidates[a]: ranks for a, ranks in self.rule.ranks.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Result(Answers):
    """Answer of a race, for the whole list or for one group of rows.

    rule: has the evidence of the list or group.
    reason: why no more of its rows will be counted, though the question is open; "" if they may.
    reading: what the answer is about.
    rows: number of rows of the list or group.
    """

    rule: Elimination
    settings: RaceSettings
    reason: str = ""
    reading: Reading = "recorded"
    rows: int = 0

    def __repr__(self) -> str:
        return f"Result({self.text!r})"

    @property
    def proved(self) -> bool | None:
        """True if the answer is proved, None while open, False if a candidate fails the gate."""
        return self.rule.proved

    @property
    def rows_counted(self) -> int:
        """Number of rows of the list or group that were used as evidence so far."""
        return self.rule.rows_seen

    @property
    def statement(self) -> Statement:
        """What is established for the list or group, at the level of the whole race."""
        settings = self.settings
        statement = self.rule.statement(
            settings.candidates,
            settings.units,
            settings.level,
            reading=self.reading,
            reason=self.reason,
        )
        return replace(
            statement,
            counts=Counts(rows=self.rows, counted=self.rows_counted),
            condition=NO_SECOND_CALL if self.reading == "expected" else "",
        )

    @property
    def text(self) -> str:
        """The answer in a few words, without its confidence.

        >>> from tombola.racing import Race
        >>> Race(["a", "b"], rows=5, seed=1).whole.text
        'open: a or b'
        """
        return self.statement.short


def statement_of(race: "Race") -> Statement:
    """Return what a race has established: the answer for the list, by groups, and counts."""
    statement = race.whole.statement if not race.settings.further else _of_metrics(race)
    if race.clusters is not None:
        statement = _of_clusters(statement, race.clusters.cluster_size)
    if race.is_unchecked:
        statement = replace(statement, remark=UNCHECKED)
    if race.failed_call is not None:
        # The failed answer is missing, so the evidence before it is no answer.
        statement = replace(statement, verdict="stopped", conclusions=(), standing=None)
        return replace(statement, reason=race.stop_reason, counts=counts_of(race))
    if race.settings.further:
        return replace(statement, counts=counts_of(race))
    parts = tuple(replace(result.statement, subject=name) for name, result in race.by_group.items())
    title = "group" if race.strata is None else race.strata.title
    return replace(statement, counts=counts_of(race), parts=parts, parts_title=title)


def _of_clusters(statement: Statement, largest: int) -> Statement:
    """Return a statement beyond this list with what it assumes of the clusters."""
    return replace(statement, condition=largest_cluster_text(largest))


def _of_metrics(race: "Race") -> Statement:
    """Return what a gate with several metrics claims: that all pass, or which are worse.

    A single metric that passes, while others are open, holds at the level only on its own, and is
    no claim of the gate (docs/theory/gate.md, Several claims).
    """
    statements = []
    for number, metric in enumerate(race.settings.metrics):
        for group in (None, *race.by_group):
            statement = race.result_of(number, group).statement
            part = f" in {metric}" + (f" on {group}" if group else "")
            conclusions, questions = (
                tuple(
                    replace(claim, subject=(claim.subject[0] + part,), advantage=None)
                    for claim in claims
                )
                for claims in (statement.conclusions, statement.questions)
            )
            statements.append(replace(statement, conclusions=conclusions, questions=questions))
    first = statements[0]
    verdict = replace(first, parts=tuple(statements[1:])).overall
    claims = [claim for statement in statements for claim in statement.conclusions]
    if verdict == "refuted":
        claims = [claim for claim in claims if claim.relation in ("worse", "not better")]
    elif verdict not in ("exact", "proved"):
        claims = []
    is_exact = all(statement.level == 0.0 for statement in statements if statement.conclusions)
    return replace(
        first,
        verdict=verdict,
        conclusions=tuple(claims),
        questions=tuple(claim for statement in statements for claim in statement.questions),
        level=0.0 if claims and is_exact else race.settings.level,
        quantity=Quantity("score"),
        standing=None,
    )


def counts_of(race: "Race") -> Counts:
    """Return the rows and calls of a race; calls are saved only once it is decided."""
    return Counts(
        rows=len(race.rows),
        counted=race.rows_counted,
        calls=race.calls_made,
        answered=race.calls_answered,
        failed=race.failures,
        on_file=race.calls_on_file,
        possible=race.calls_made + race.calls_left,
        saved=race.calls_saved,
        cost=race.cost,
        # A race for run times costs the seconds it takes.
        cost_unit="seconds" if race.settings.unit == "seconds" else "",
    )


class Forecast(NamedTuple):
    """Estimated number of rows that a race still needs, and a 90 % range of it."""

    rows: int
    low: int
    high: int


def rows_remaining(rule: Elimination) -> Forecast | None:
    """Estimate how many more rows the rule needs; None before the first row.

    A difference of losses with mean D and variance v needs n = 2 v ln(1 / level) / D^2 rows of an
    infinite population, and n / (1 + n / N) of a list of N rows. However small v is, one row
    multiplies a wealth by at most about 1 + D, because the next row may be the worst possible. This
    needs at least n = ln(1 / level) / ln(1 + D) rows, and N (1 - exp(-n / N)) of a list. D is known
    only up to its standard error: the estimate is the geometric mean over three values of D, the
    range that of an interval of D. Measured (docs/theory/race.md, section 7), without a guarantee.
    """
    if rule.done:
        return Forecast(0, 0, 0)
    if rule.rows_seen == 0:
        return None
    questions = rule.open_questions()
    logs = [math.log(_rows_at(rule, questions, z, either_way=True)) for z in _LIKELY_EDGES]
    rows = math.ceil(math.exp(sum(logs) / len(logs)))
    low, high = (_rows_at(rule, questions, z) for z in (_RANGE_EDGE, -_RANGE_EDGE))
    return Forecast(min(max(rows, low), high), low, high)


def _rows_at(
    rule: Elimination, questions: list[OpenQuestion], z: float, *, either_way: bool = False
) -> int:
    """Return the rows that all questions need, if every edge is z standard errors above its estimate.

    either_way: an edge below 0 is one of the other candidate; else it takes all rows.
    """
    n = rule.rows_seen
    N = rule.population
    left = max(rule.rows - n, 1)
    needed = 1
    for estimate, variance, threshold in questions:
        edge = estimate + z * math.sqrt(variance / n * (1.0 - n / N))
        if either_way:
            edge = abs(edge)
        if edge <= 0.0:
            return left
        by_noise = 2.0 * max(variance, edge * edge) * math.log(threshold) / (edge * edge)
        by_growth = math.log(threshold) / math.log1p(MAX_LOSS_SHARE * edge)
        lower = by_growth if N == math.inf else -N * math.expm1(-by_growth / N)
        needed = max(needed, min(math.ceil(max(by_noise / (1.0 + by_noise / N), lower)) - n, left))
    return needed
