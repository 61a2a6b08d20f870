"""Ranks: the order of candidates from pairwise e-processes (docs/theory/ranks.md).

H_ab is the hypothesis "L(a) <= L(b)". Its e-process E_ab bets on the differences loss(a) - loss(b).
Rejecting H_ab proves "b before a". With k candidates there are M = k (k - 1) / 2 unordered pairs; a
pair is rejected at E_ab >= M / level (Corollary 1). Then, with probability at least 1 - level, no
claim contradicts the order by mean loss, ties in file order, at any time. The union runs over M
hypotheses and not over k (k - 1), because of H_ab and H_ba the order by mean loss makes only one
relevant.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import ROUNDING_SLACK, STRATEGY_WEIGHTS, is_certainly_worse
from tombola.racing.rules.elimination import count_row, drop
from tombola.racing.rules.pair_bets import bet_on_pair, pair_weights, share_of_goal
from tombola.statements import Conclusion, Reading, Statement
from tombola.units import Units


class Ranks(Elimination):
    """Rule for the order of all candidates, or of the `top` first ones (0: of all).

    Other parameters as in `Elimination`. A candidate is asked no more when its order against every
    other candidate is proved. Own fields of the state, beside `top`:

    goal_share        1 / goal of the bets towards the last row (`tombola.racing.rules.pair_bets`)
    before            (k, k) 1 at [a, b] once "a before b" is proved, directly or by transitivity
    """

    def __init__(
        self, candidates: int, rows: int, population: float, level: float, *, top: int = 0
    ) -> None:
        self.top = top or candidates
        super().__init__(candidates, rows, population, level)

    def init(self) -> Any:
        k = self.candidates
        threshold = n_pairs(k) / self.level
        return self.initial_state(
            bettors=k * k,
            threshold=threshold,
            weights=pair_weights(self.population),
            goal_share=share_of_goal(threshold),
            top=float(self.top),
            before=np.zeros((k, k)),
        )

    @property
    def answer(self) -> list[int]:
        """Numbers of the candidates that may be among the first `top`, best first."""
        first, last = self.rank_sets().T
        possible = [a for a in range(self.candidates) if first[a] <= self.top]
        return sorted(possible, key=lambda a: (first[a], last[a]))

    @property
    def proved(self) -> bool | None:
        sets = self.rank_sets()[self.answer]
        return True if (sets[:, 0] == sets[:, 1]).all() else None

    @property
    def is_exact(self) -> bool:
        # Pairs may have been decided earlier; then the totals must agree with them.
        early = (self.state.active == 0.0) & (self.state.drop_row < self.population)
        return (
            self.rows_seen == self.population
            and not early.any()
            and not self.is_wrong(self.state.total_loss)
        )

    def is_wrong(self, totals: Floats) -> bool:
        return bool((self.before & ~order_of(totals, self.rows)).any())

    @property
    def ranks(self) -> dict[int, tuple[int, int]]:
        return {a: (int(low), int(high)) for a, (low, high) in enumerate(self.rank_sets())}

    def conclusions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        k = self.candidates
        if self.proved:
            subject = tuple(names[a] for a in self.answer)
            # A certain order without ties is strict; else ties are in the order of the file.
            return (Conclusion("order", subject, field=k, top=self.top, strict=self.is_exact),)
        ranks = self.ranks
        if all(interval == (1, k) for interval in ranks.values()) and not self.is_exact:
            return ()
        return tuple(
            Conclusion("rank", (names[a],), field=k, interval=ranks[a], strict=self.is_exact)
            for a in self.answer
        )

    def questions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        if self.proved or self.conclusions(names, units):
            return ()
        return (Conclusion("order", tuple(names), field=self.candidates, top=self.top),)

    def standing(self, names: Sequence[str], units: Units) -> None:
        """Return None: candidates are dropped when their rank is proved, also the leader."""

    def rank_sets(self) -> "np.typing.NDArray[np.int64]":
        """Return first and last possible rank, from 1, of every candidate, shape (k, 2)."""
        return rank_sets(self.before)

    @property
    def before(self) -> "np.typing.NDArray[np.bool_]":
        """The proved order, shape (k, k): True at [a, b] if a has a smaller mean loss."""
        return np.asarray(self.state.before > 0.0)

    def open_questions(self) -> list[OpenQuestion]:
        """Return the undecided neighbours by mean loss, which need the most rows."""
        # Totals of dropped candidates are over fewer rows, so only active ones are compared.
        order = sorted(self.active, key=lambda a: float(self.state.total_loss[a]))
        before = self.before
        first = self.rank_sets()[:, 0]
        return [
            OpenQuestion(
                self.gap(a, b), self.variance(b * self.candidates + a), self.state.threshold
            )
            for a, b in pairwise(order)
            if not (before[a, b] or before[b, a]) and first[a] <= self.top
        ]

    @property
    def leader(self) -> int:
        """Number of the candidate with the smallest first possible rank, then mean loss."""
        state = self.state
        first = self.rank_sets()[:, 0]
        rows = np.where(state.active > 0, state.rows_seen[0], state.drop_row)
        return min(
            range(self.candidates),
            key=lambda a: (int(first[a]), float(state.total_loss[a] / max(rows[a], 1.0))),
        )

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        _bet_on_pairs(state, losses)
        count_row(state, losses)
        _settle_certain(state)
        if state.rows_seen[0] >= state.population:
            _order_by_totals(state)
        _stop_settled(state)


class EndlessRanks(Ranks):
    """Rule for the order of all candidates, for a sample of open length.

    No bet aims at a last row, so that the evidence at n rows does not depend on how many follow: it
    may be looked at while a table grows.
    """

    # Rows after which the rule would stop: more than a table has.
    _MANY_ROWS = 10**9

    def __init__(self, candidates: int, population: float, level: float) -> None:
        super().__init__(candidates, self._MANY_ROWS, population, level)

    def init(self) -> Any:
        k = self.candidates
        return self.initial_state(
            bettors=k * k,
            threshold=n_pairs(k) / self.level,
            weights=STRATEGY_WEIGHTS,
            goal_share=0.0,
            top=float(self.top),
            before=np.zeros((k, k)),
        )


def _bet_on_pairs(state: Any, losses: Floats) -> None:
    """Bet on one row for all pairs without a proved order; bettor a k + b holds E_ab."""
    k = losses.size
    for a in range(k):
        if state.active[a] > 0.0:
            for b in range(k):
                if (
                    b != a
                    and state.active[b] > 0.0
                    and state.before[a, b] == 0.0
                    and state.before[b, a] == 0.0
                ):
                    wealth = bet_on_pair(
                        state,
                        a * k + b,
                        state.total_loss[a] - state.total_loss[b],
                        losses[a] - losses[b],
                    )
                    if wealth >= state.threshold:
                        _add_order(state, b, a)


def _settle_certain(state: Any) -> None:
    """Record the pairs whose order no outcome of the rows left can change."""
    k = state.total_loss.size
    for a in range(k):
        if state.active[a] > 0.0:
            for b in range(k):
                undecided = state.before[a, b] == 0.0 and state.before[b, a] == 0.0
                if b != a and state.active[b] > 0.0 and undecided:
                    lead = state.total_loss[a] - state.total_loss[b]
                    if is_certainly_worse(lead, state.population, state.rows_seen[0]):
                        _add_order(state, b, a)


def _order_by_totals(state: Any) -> None:
    """Replace the order by that of the totals after the last row, if all are known.

    A pair that was decided before, by its wealth, may be wrong; totals of dropped candidates are
    not known.
    """
    k = state.total_loss.size
    slack = ROUNDING_SLACK * state.population
    for a in range(k):
        if state.active[a] == 0.0:
            return
    for a in range(k):
        for b in range(k):
            lead = state.total_loss[b] - state.total_loss[a]
            state.before[a, b] = 1.0 if lead > slack else 0.0


def _add_order(state: Any, first: int, second: int) -> None:
    """Record "first before second" and its transitive closure (Italiano 1986)."""
    before = state.before
    k = state.total_loss.size
    for u in range(k):
        if (u == first or before[u, first] > 0.0) and before[u, second] == 0.0:
            for v in range(k):
                if v == second or before[second, v] > 0.0:
                    before[u, v] = 1.0


def _stop_settled(state: Any) -> None:
    """Drop candidates with a proved rank; end the race when the top is proved."""
    k = state.total_loss.size
    places = 0
    for a in range(k):
        ahead = 0
        behind = 0
        for b in range(k):
            ahead += state.before[b, a] > 0.0
            behind += state.before[a, b] > 0.0
        if ahead + behind >= k - 1:
            # The rank of a is proved, and it is 1 + ahead.
            places += ahead < state.top
            if state.active[a] > 0.0:
                drop(state, a, -1, state.threshold)
        elif state.active[a] > 0.0 and ahead >= state.top:
            # More candidates than asked for are proved to be ahead of a.
            drop(state, a, -1, state.threshold)
    if places >= min(state.top, k) or state.rows_seen[0] >= state.last_row:
        state.done[0] = 1.0


def n_pairs(k: int) -> int:
    """Return k (k - 1) / 2, the number of pairs of k candidates; at least 1."""
    return max(1, k * (k - 1) // 2)


def rank_sets(before: "np.typing.NDArray[np.bool_]") -> "np.typing.NDArray[np.int64]":
    """Return first and last possible rank of every candidate, shape (k, 2).

    `before` is a transitive order, (k, k). The ranks are 1 + number of candidates before, and k -
    number after it.

    >>> rank_sets(np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool)).tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    k = before.shape[0]
    return np.stack([1 + before.sum(axis=0), k - before.sum(axis=1)], axis=1).astype(np.int64)


def order_of(totals: Floats, rows: int) -> "np.typing.NDArray[np.bool_]":
    """Return the order that rank sets cover, bool, shape (k, k): by total loss, ties as in the file.

    >>> order_of(np.array([2.0, 1.0, 2.0]), 5).astype(int).tolist()
    [[0, 0, 1], [1, 0, 1], [0, 0, 0]]
    """
    lead = totals[None, :] - totals[:, None]
    is_tie = np.abs(lead) <= ROUNDING_SLACK * rows
    return np.asarray(np.where(is_tie, np.triu(np.ones(lead.shape, bool), 1), lead > 0.0))


def close_transitively(before: "np.typing.NDArray[np.bool_]") -> "np.typing.NDArray[np.bool_]":
    """Return the transitive closure of an order of k candidates, bool, shape (k, k).

    >>> close_transitively(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)).tolist()[0]
    [False, True, True]
    """
    closed = before.copy()
    for middle in range(closed.shape[0]):  # Warshall (1962)
        closed |= closed[:, middle, None] & closed[None, middle, :]
    return closed


class Place(Elimination):
    """Rule for the rank of one candidate (Corollary 3 of docs/theory/ranks.md).

    `candidate` is its number a; other parameters as in `Elimination`. Let E_ab be the wealth of
    bets against "a is at least as good as b". "The rank of a is larger than r" is proved once the
    mean of the k - r smallest E_ab, b != a, reaches 2 / level; "smaller than r" in the same way
    with E_ba. There is no union bound over candidates or ranks. Own fields of the state, beside
    `goal_share` (see `Ranks`) and `candidate`:

    e_values          (2, k) E_ab and E_ba, by opponent b
    rank_range        (2,) first and last rank still possible
    is_used           (k,) scratch space for means of the smallest e-values
    """

    def __init__(
        self, candidates: int, rows: int, population: float, level: float, *, candidate: int
    ) -> None:
        self.candidate = candidate
        super().__init__(candidates, rows, population, level)

    def init(self) -> Any:
        k = self.candidates
        threshold = 2.0 / self.level
        return self.initial_state(
            bettors=2 * k,
            threshold=threshold,
            weights=pair_weights(self.population),
            goal_share=share_of_goal(threshold),
            candidate=float(self.candidate),
            e_values=np.ones((2, k)),
            rank_range=np.array([1.0, float(k)]),
            is_used=np.zeros(k),
        )

    def rank_set(self) -> tuple[int, int]:
        """Return the first and the last rank that `candidate` may have; 1 is the best."""
        first, last = self.state.rank_range
        return int(first), int(last)

    @property
    def is_contradictory(self) -> bool:
        """Whether no rank is possible, which has probability at most `level`."""
        first, last = self.rank_set()
        return first > last

    @property
    def answer(self) -> list[int]:
        return [self.candidate]

    @property
    def proved(self) -> bool | None:
        first, last = self.rank_set()
        return True if first == last else None

    @property
    def is_exact(self) -> bool:
        return self.rows_seen == self.population

    def is_wrong(self, totals: Floats) -> bool:
        first, last = self.rank_set()
        rank = 1 + int(order_of(totals, self.rows)[:, self.candidate].sum())
        return not first <= rank <= last

    @property
    def ranks(self) -> dict[int, tuple[int, int]]:
        return {self.candidate: self.rank_set()}

    def conclusions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        k = self.candidates
        ranks = self.rank_set()
        if self.is_contradictory or (ranks == (1, k) and not self.is_exact):
            return ()
        subject = (names[self.candidate],)
        return (Conclusion("rank", subject, field=k, interval=ranks, strict=self.is_exact),)

    def questions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        if self.proved or self.conclusions(names, units):
            return ()
        return (Conclusion("rank", (names[self.candidate],), field=self.candidates),)

    def standing(self, names: Sequence[str], units: Units) -> None:
        """Return None: the question is about one candidate."""

    def statement(
        self,
        names: Sequence[str],
        units: Units,
        level: float,
        *,
        reading: Reading = "recorded",
        reason: str = "",
    ) -> Statement:
        if self.is_contradictory:
            first, last = self.rank_set()
            reason = (
                f"by a contradiction: the rank of {names[self.candidate]} was proved above "
                f"{first - 1} and below {last + 1}, which happens with probability {level:g} or "
                "less; start again with another seed"
            )
            statement = super().statement(names, units, level, reading=reading, reason=reason)
            return replace(statement, verdict="stopped")
        return super().statement(names, units, level, reading=reading, reason=reason)

    def open_questions(self) -> list[OpenQuestion]:
        a = self.candidate
        threshold = self.state.threshold
        evidence = self.state.e_values.max(axis=0)
        undecided = [b for b in self.active if b != a and evidence[b] < threshold]
        return [OpenQuestion(abs(self.gap(a, b)), self.variance(b), threshold) for b in undecided]

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        k = losses.size
        a = int(state.candidate)
        for b in range(k):
            if b != a and state.active[b] > 0.0:
                lead = state.total_loss[a] - state.total_loss[b]
                d = losses[a] - losses[b]
                state.e_values[0, b] = bet_on_pair(state, b, lead, d)
                state.e_values[1, b] = bet_on_pair(state, k + b, -lead, -d)
        count_row(state, losses)
        for b in range(k):
            if b != a and state.active[b] > 0.0:
                lead = state.total_loss[a] - state.total_loss[b]
                if is_certainly_worse(lead, state.population, state.rows_seen[0]):
                    state.e_values[0, b] = math.inf
                if is_certainly_worse(-lead, state.population, state.rows_seen[0]):
                    state.e_values[1, b] = math.inf
        if state.rows_seen[0] >= state.population:
            _place_by_totals(state, a)
        else:
            _narrow_place(state, a)


def _place_by_totals(state: Any, a: int) -> None:
    """Set the rank set of a from the totals after the last row: all places of a tie."""
    slack = ROUNDING_SLACK * state.population
    state.rank_range[0] = 1.0
    state.rank_range[1] = 0.0
    for b in range(state.total_loss.size):
        lead = state.total_loss[a] - state.total_loss[b]
        state.rank_range[0] += 1.0 if lead > slack else 0.0
        state.rank_range[1] += 1.0 if lead >= -slack else 0.0
    state.done[0] = 1.0


def _narrow_place(state: Any, a: int) -> None:
    """Move the ends of the rank set as far as the e-values of this row allow."""
    k = state.total_loss.size
    # If the rank of a is r or less, k - r hypotheses H_ab are true. The mean falls with r, so the
    # first r that is not rejected ends the search.
    while (
        state.rank_range[0] < k
        and _mean_of_smallest(state, 0, a, k - int(state.rank_range[0])) >= state.threshold
    ):
        state.rank_range[0] += 1.0
    # If the rank of a is r or more, r - 1 hypotheses H_ba are true.
    while (
        state.rank_range[1] > 1
        and _mean_of_smallest(state, 1, a, int(state.rank_range[1]) - 1) >= state.threshold
    ):
        state.rank_range[1] -= 1.0
    if state.rank_range[0] >= state.rank_range[1] or state.rows_seen[0] >= state.last_row:
        state.done[0] = 1.0


def _mean_of_smallest(state: Any, side: int, skip: int, count: int) -> float:
    """Return the mean of the `count` smallest e-values of a side, except for `skip`."""
    values = state.e_values[side]
    used = state.is_used
    total = 0.0
    for b in range(values.size):
        used[b] = 0.0
    for _ in range(count):
        least = -1
        for b in range(values.size):
            if b != skip and used[b] == 0.0 and (least < 0 or values[b] < values[least]):
                least = b
        used[least] = 1.0
        total += values[least]
    return float(total / count)
