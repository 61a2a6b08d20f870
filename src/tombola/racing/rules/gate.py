"""Gate: compare candidates with a baseline (Theorem 4 of docs/theory/race.md).

The statement about candidate c is "c is better than the baseline", or with a margin "c is not worse
than the baseline by more than the margin". Two bettors per candidate: index c bets on the
statement, index k + c on its negation. One of the two nulls is true, so only one bettor can err,
and each may use the candidate's whole share of the level. After the last row the answer is exact.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import ROUNDING_SLACK, bet, is_refuted
from tombola.racing.rules.elimination import count_row, drop
from tombola.statements import Conclusion, Relation
from tombola.units import Units


class Gate(Elimination):
    """Rule that compares each candidate with a baseline; `decisions` has the answers.

    `baseline` is the number of a candidate; other parameters as in `Elimination`. A margin of 0
    asks "better than the baseline"; above 0, "not worse by more than the margin", in mean loss.
    `worse_level`: probability of a wrong negation; None: `level`. It is smaller where a gate has
    several metrics, of which any may be called worse. Own fields of the state, beside `margin`,
    `baseline` and `worse_threshold`:

    decision          (k,) 1 statement proved, -1 refuted, 0 open; decided candidates are dropped
    total_advantage   (k,) total loss of the baseline minus that of the candidate
    """

    supports_predictions = True

    def __init__(
        self,
        candidates: int,
        rows: int,
        population: float,
        level: float,
        baseline: int,
        margin: float,
        worse_level: float | None = None,
    ) -> None:
        self.baseline = baseline
        self.margin = margin
        self.worse_level = level if worse_level is None else worse_level
        super().__init__(candidates, rows, population, level)

    def init(self) -> Any:
        k = self.candidates
        threshold = (k - 1) / self.level
        return self.initial_state(
            bettors=2 * k,
            threshold=threshold,
            margin=self.margin,
            baseline=float(self.baseline),
            worse_threshold=(k - 1) / self.worse_level,
            decision=np.zeros(k),
            total_advantage=np.zeros(k),
        )

    def open_questions(self) -> list[OpenQuestion]:
        threshold = self.state.threshold
        return [
            OpenQuestion(abs(self.gap(c, self.baseline) + self.margin), self.variance(c), threshold)
            for c in self.active
            if c != self.baseline
        ]

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        base = int(state.baseline)
        for c in range(losses.size):
            if c != base and state.active[c] > 0.0:
                _decide(state, c, base, losses[base] - losses[c])
        count_row(state, losses)
        _drop_decided(state, base)

    @staticmethod
    def settle(state: Any) -> None:
        base = int(state.baseline)
        for c in range(state.total_loss.size):
            if c != base and is_refuted(state, base, c, 0.0, -state.margin, 0.0):
                state.decision[c] = 1.0
                state.current_wealth[c] = math.inf
            elif c != base and is_refuted(state, c, base, 0.0, state.margin, 0.0):
                state.decision[c] = -1.0
                state.current_wealth[c] = math.inf
        _drop_decided(state, base)

    def advantage(self, candidate: int) -> tuple[float, int]:
        """Return (mean loss of the baseline minus that of a candidate, rows it is over)."""
        decided = self.state.decision[candidate] != 0.0
        rows = int(self.state.drop_row[candidate]) if decided else self.rows_seen
        return float(self.state.total_advantage[candidate]) / max(rows, 1), rows

    @property
    def answer(self) -> list[int]:
        return [c for c, passed in self.decisions.items() if passed]

    @property
    def proved(self) -> bool | None:
        decisions = self.decisions
        if not all(decisions.values()):
            return False
        return True if len(decisions) == self.candidates - 1 else None

    @property
    def is_exact(self) -> bool:
        decided = list(self.decisions)
        wealth = self.state.wealth_at_drop[decided]
        return len(decided) == self.candidates - 1 and bool(np.isinf(wealth).all())

    def is_wrong(self, totals: Floats) -> bool:
        leads = totals[self.baseline] - totals
        return any(
            passed != holds_on_list(float(leads[c]), self.margin, self.rows)
            for c, passed in self.decisions.items()
        )

    def conclusions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        return tuple(
            self._comparison(c, names, units, holds=holds) for c, holds in self.decisions.items()
        )

    def questions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        undecided = [c for c in self.active if c != self.baseline]
        return tuple(self._comparison(c, names, units, holds=True) for c in undecided)

    def _comparison(
        self, candidate: int, names: Sequence[str], units: Units, *, holds: bool
    ) -> Conclusion:
        # Refuting "better" leaves "not better", not "worse": of two equal ones neither is worse.
        relation: Relation = "better" if holds else "not better"
        if self.margin:
            relation = "not worse" if holds else "worse"
        advantage, rows = self.advantage(candidate)
        return Conclusion(
            relation,
            (names[candidate],),
            than=names[self.baseline],
            field=self.candidates,
            amount=units.gap(self.margin),
            advantage=units.gap(advantage) if rows else None,
            rows=rows,
        )

    def standing(self, names: Sequence[str], units: Units) -> None:
        """Return None: every conclusion has its difference."""

    @property
    def decisions(self) -> dict[int, bool]:
        """The decided candidates: from their numbers to whether they pass the gate."""
        return {c: bool(sign > 0) for c, sign in enumerate(self.state.decision) if sign != 0}


def _decide(state: Any, c: int, base: int, d: float) -> None:
    """Bet on one row for and against c; d is loss of baseline minus loss of c."""
    k = state.total_loss.size
    lead = state.total_loss[base] - state.total_loss[c]
    seen = state.rows_seen[0] + 1.0
    pro = bet(state, c, base, c, lead, d, -state.margin)
    contra = bet(state, k + c, c, base, -lead, -d, state.margin)
    state.total_advantage[c] = lead + d
    if is_refuted(state, base, c, lead + d, -state.margin, seen):
        pro = math.inf
    if is_refuted(state, c, base, -lead - d, state.margin, seen):
        contra = math.inf
    state.current_wealth[c] = max(pro, contra)
    if seen >= state.population:
        # The whole list is known: compare the totals.
        state.decision[c] = 1.0 if holds_on_list(lead + d, state.margin, state.population) else -1.0
        state.current_wealth[c] = math.inf
    elif pro >= state.threshold or contra >= state.worse_threshold:
        is_proved = pro / state.threshold >= contra / state.worse_threshold
        state.decision[c] = 1.0 if is_proved else -1.0


def _drop_decided(state: Any, base: int) -> None:
    """Drop the decided candidates; end the race if all are, or no row is left."""
    undecided = 0
    for c in range(state.total_loss.size):
        if c != base and state.active[c] > 0.0:
            if state.decision[c] != 0.0:
                drop(state, c, base, state.current_wealth[c])
            else:
                undecided += 1
    if undecided == 0 or state.rows_seen[0] >= state.last_row:
        state.done[0] = 1.0


def holds_on_list(lead: float, margin: float, population: float) -> bool:
    """Return whether a candidate passes the gate on the whole list, up to rounding.

    `lead` is the total loss of the baseline minus that of the candidate. Without a margin it must
    be above 0, with one at least -margin * population.
    """
    slack = ROUNDING_SLACK * population
    return bool(lead > slack if margin == 0.0 else lead >= -margin * population - slack)
