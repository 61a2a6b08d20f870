"""Within: find a candidate close to the best (Theorem 2 of docs/theory/race.md).

A share of the level is spent on dropping candidates, as in `Best`: half of it, or nearly all for
small tolerances, which dropping settles sooner. With the rest, every candidate b holds one account
for each other candidate a, with equal initial wealth. In rows where a is close to the leader, the
account bets against "a is worse than b by the tolerance or more". When a is dropped, the deposit of
its accounts, but not their gains, moves to the accounts for the remaining candidates. The race ends
with a when every other active candidate has wealth 1 / (rest of the level) in its account for a.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import (
    ROUNDING_SLACK,
    STRATEGY_WEIGHTS,
    bet,
    is_refuted,
    total_wealth,
)
from tombola.racing.rules.elimination import best_two, bet_and_drop, drop_hopeless, finish
from tombola.statements import Conclusion
from tombola.units import Units

# Share of the level that is spent on dropping candidates, by tolerance in units of 1 / sqrt(rows),
# about the noise of the means. A tolerance below 1 is rarely shown before the others are dropped,
# so that it must not slow the drops.
_DROP_SHARES = ((0.2, 0.999), (1.0, 0.97), (1.5, 0.9), (math.inf, 0.5))


def _drop_share(within: float, rows: int) -> float:
    """Return the share of the level that is spent on dropping candidates.

    >>> [_drop_share(within, 400) for within in (0.005, 0.01, 0.06, 0.1)]
    [0.999, 0.97, 0.9, 0.5]
    """
    return next(share for end, share in _DROP_SHARES if within * math.sqrt(rows) < end)


class Within(Elimination):
    """Rule for a candidate with mean loss at most `within` above the smallest.

    Other parameters as in `Elimination`. `chosen` is the answer. Own fields of the state; "a is too
    bad" for "a is worse than b by the tolerance or more":

    tolerance         `within`, above 0
    settling_wealth   wealth of bets against "a is too bad" that refutes it
    settled           (k, k) 1 at [a, b] once "a is too bad" is refuted
    deposit           (k, k) wealth, at [a, b], put into bets against "a is too bad", without gains
    is_chosen         (k,) 1 for the answer
    """

    supports_predictions = True
    averages_opponents = True

    def __init__(
        self, candidates: int, rows: int, population: float, level: float, within: float
    ) -> None:
        self.within = within
        self.tolerance = within
        super().__init__(candidates, rows, population, level)

    def init(self) -> Any:
        k = self.candidates
        drops = _drop_share(self.within, self.rows)
        share = 1.0 / max(k - 1, 1)
        state = self.initial_state(
            bettors=k + k * k,
            threshold=1.0 / (drops * self.level),
            tolerance=self.within,
            settling_wealth=1.0 / ((1.0 - drops) * self.level),
            settled=np.zeros((k, k)),
            deposit=np.full((k, k), share),
            is_chosen=np.zeros(k),
        )
        state.wealth[k:] *= share
        return state

    def open_questions(self) -> list[OpenQuestion]:
        best = self.leader
        k = self.candidates
        others = [b for b in self.active if b != best]
        threshold = self.state.settling_wealth * len(others)
        return [
            OpenQuestion(
                self.gap(best, b) + self.within, self.variance(_account(k, best, b)), threshold
            )
            for b in others
            if not self.state.settled[best, b]
        ]

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        _update_accounts(state, losses)
        bet_and_drop(state, losses)
        _close_accounts(state)
        finish(state, 1.0)
        _choose(state)

    @staticmethod
    def settle(state: Any) -> None:
        k = state.total_loss.size
        drop_hopeless(state)
        for a in range(k):
            for b in range(k):
                if state.active[b] > 0.0 and state.active[a] == 0.0:
                    _redistribute(state, a, b)
                elif a != b and is_refuted(state, b, a, 0.0, -state.tolerance, 0.0):
                    state.settled[a, b] = 1.0
        finish(state, 1.0)
        _choose(state)

    @property
    def answer(self) -> list[int]:
        if self.chosen is not None:
            return [self.chosen]
        # Candidates that tie are all within the tolerance; one of them is enough.
        return super().answer[:1] if self.rows_seen == self.population else self.active

    def is_wrong(self, totals: Floats) -> bool:
        # If all others were dropped, the answer is the best, without a tolerance.
        allowed = (self.within * (len(self.active) > 1) + ROUNDING_SLACK) * self.rows
        return bool(min(totals[a] for a in self.answer) > np.min(totals) + allowed)

    def conclusions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        if not self.proved or len(self.active) == 1:
            return super().conclusions(names, units)
        subject = (names[self.answer[0]],)
        margin = units.gap(self.within)
        return (Conclusion("within", subject, field=self.candidates, amount=margin),)

    @property
    def chosen(self) -> int | None:
        """Number of the candidate proved to be within the tolerance; None while open."""
        return next((a for a, chosen in enumerate(self.state.is_chosen) if chosen), None)


def _update_accounts(state: Any, losses: Floats) -> None:
    """Bet on one row before counting it, in accounts for candidates near the leader."""
    k = losses.size
    leader, _ = best_two(state.active, state.total_loss)
    for a in range(k):
        close = (
            state.total_loss[a] <= state.total_loss[leader] + state.rows_seen[0] * state.tolerance
        )
        for b in range(k):
            if close and b != a and state.active[a] > 0.0 and state.active[b] > 0.0:
                lead = state.total_loss[b] - state.total_loss[a]
                d = losses[b] - losses[a]
                wealth = bet(state, _account(k, a, b), b, a, lead, d, -state.tolerance)
                certain = is_refuted(
                    state, b, a, lead + d, -state.tolerance, state.rows_seen[0] + 1.0
                )
                if wealth >= state.settling_wealth or certain:
                    state.settled[a, b] = 1.0


def _account(k: int, a: int, b: int) -> int:
    """Return the row of `state.wealth` of the account that b holds for a."""
    return k + a * k + b


def _close_accounts(state: Any) -> None:
    """Move the deposits for candidates dropped in this row to other accounts."""
    for a in range(state.total_loss.size):
        if state.drop_row[a] == state.rows_seen[0]:
            for b in range(state.total_loss.size):
                if state.active[b] > 0.0:
                    _redistribute(state, a, b)


def _redistribute(state: Any, a: int, b: int) -> None:
    """Move min(wealth, deposit) of b's account for a in equal parts to its others."""
    k = state.total_loss.size
    others = 0.0
    for c in range(k):
        others += state.active[c] if c != b else 0.0
    if others > 0.0:
        # Gains stay behind: otherwise the sum of deposits could exceed 1, and Theorem 2 would not
        # hold.
        part = min(total_wealth(state.wealth[_account(k, a, b)]), state.deposit[a, b]) / others
        for c in range(k):
            if c != b and state.active[c] > 0.0:
                state.deposit[c, b] += part
                for j in range(STRATEGY_WEIGHTS.size):
                    state.wealth[_account(k, c, b), j] += part * STRATEGY_WEIGHTS[j]


def _choose(state: Any) -> None:
    """End the race if a candidate is settled; of several, take the smallest loss.

    After the last row of a list the totals of the active candidates are known, and decide.
    """
    chosen = -1
    is_known = state.rows_seen[0] >= state.population
    for a in range(state.total_loss.size):
        settled = state.active[a] > 0.0
        for b in range(state.total_loss.size):
            if b != a and state.active[b] > 0.0 and state.settled[a, b] == 0.0 and not is_known:
                settled = False
        if settled and (chosen < 0 or state.total_loss[a] < state.total_loss[chosen]):
            chosen = a
    if chosen >= 0:
        state.is_chosen[chosen] = 1.0
        state.done[0] = 1.0
