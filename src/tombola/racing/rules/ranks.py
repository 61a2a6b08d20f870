"""Ranks: the order of candidates from pairwise e-processes (docs/theory/ranks.md).

H_ab is the hypothesis "L(a) <= L(b)". Its e-process E_ab bets on the differences loss(a) - loss(b).
Rejecting H_ab proves "b before a". With k candidates there are M = k (k - 1) / 2 unordered pairs; a
pair is rejected at E_ab >= M / level (Corollary 1). Then, with probability at least 1 - level, no
claim contradicts the order by mean loss, ties in file order, at any time. The union runs over M
hypotheses and not over k (k - 1), because of H_ab and H_ba the order by mean loss makes only one
relevant.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import is_certainly_worse
from tombola.racing.rules.elimination import count_row, drop
from tombola.racing.rules.pair_bets import bet_on_pair, pair_weights, share_of_goal


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
        return self._initial_state(n_pairs(self.candidates) / self.level)

    def _initial_state(self, threshold: float, **own: Floats) -> Any:
        k = self.candidates
        return self.initial_state(
            bettors=k * k,
            threshold=threshold,
            weights=pair_weights(self.population),
            goal_share=share_of_goal(threshold),
            top=float(self.top),
            before=np.zeros((k, k)),
            **own,
        )

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
        before, first = self.before, self.rank_sets()[:, 0]
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
        state, first = self.state, self.rank_sets()[:, 0]
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
        _stop_settled(state)


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


def _add_order(state: Any, first: int, second: int) -> None:
    """Record "first before second" and its transitive closure (Italiano 1986)."""
    before, k = state.before, state.total_loss.size
    for u in range(k):
        if (u == first or before[u, first] > 0.0) and before[u, second] == 0.0:
            for v in range(k):
                if v == second or before[second, v] > 0.0:
                    before[u, v] = 1.0


def _stop_settled(state: Any) -> None:
    """Drop candidates with a proved rank; end the race when the top is proved."""
    k, places = state.total_loss.size, 0
    for a in range(k):
        ahead, behind = 0, 0
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
    if places >= min(state.top, k) or state.rows_seen[0] >= state.rows:
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


def close_transitively(before: "np.typing.NDArray[np.bool_]") -> "np.typing.NDArray[np.bool_]":
    """Return the transitive closure of an order of k candidates, bool, shape (k, k).

    >>> close_transitively(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)).tolist()[0]
    [False, True, True]
    """
    closed = before.copy()
    for middle in range(closed.shape[0]):  # Warshall (1962)
        closed |= closed[:, middle, None] & closed[None, middle, :]
    return closed


class Blocks(Ranks):
    """Rule for the order of blocks (Corollary 3 of docs/theory/ranks.md).

    Parameters as in `Ranks`. A block is a set of candidates whose order among themselves stays
    open. The rule proves the order between blocks. It needs less wealth per pair than `Ranks`, (k -
    1) / level, because only the k - 1 pairs of neighbours in the true order must hold. "u before a"
    is proved once no chain of pairs that are not rejected leads from a to u. Own fields of the
    state, beside those of `Ranks`:

    rejected          (k, k) 1 at [a, b] once "a is at least as good as b" is rejected
    reached, stack    (k,) scratch space for the search of chains
    """

    def init(self) -> Any:
        k = self.candidates
        own = {"rejected": np.zeros((k, k)), "reached": np.zeros(k), "stack": np.zeros(k)}
        return self._initial_state(max(1, k - 1) / self.level, **own)

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        k, news = losses.size, 0
        for a in range(k):
            for b in range(k):
                both = state.active[a] > 0.0 and state.active[b] > 0.0
                if a != b and both and state.rejected[a, b] == 0.0:
                    wealth = bet_on_pair(
                        state,
                        a * k + b,
                        state.total_loss[a] - state.total_loss[b],
                        losses[a] - losses[b],
                    )
                    if wealth >= state.threshold:
                        state.rejected[a, b] = 1.0
                        news += 1
        count_row(state, losses)
        for a in range(k):
            for b in range(k):
                both = state.active[a] > 0.0 and state.active[b] > 0.0
                if a != b and both and state.rejected[a, b] == 0.0:
                    lead = state.total_loss[a] - state.total_loss[b]
                    if is_certainly_worse(lead, state.population, state.rows_seen[0]):
                        state.rejected[a, b] = 1.0
                        news += 1
        if news > 0:
            _prove_blocks(state)
        _stop_settled(state)


def _prove_blocks(state: Any) -> None:
    """Record "u before a" for all u that no chain of pairs not rejected reaches."""
    k, reached, stack = state.total_loss.size, state.reached, state.stack
    for a in range(k):
        for b in range(k):
            reached[b] = 0.0
        reached[a], stack[0], height = 1.0, float(a), 1
        while height > 0:
            height -= 1
            v = int(stack[height])
            for b in range(k):
                if reached[b] == 0.0 and state.rejected[v, b] == 0.0:
                    reached[b], stack[height] = 1.0, float(b)
                    height += 1
        for u in range(k):
            # A contradiction has probability at most `level`; the first of the two claims stays.
            if reached[u] == 0.0 and state.before[a, u] == 0.0:
                state.before[u, a] = 1.0


class Place(Elimination):
    """Rule for the rank of one candidate (Corollary 4 of docs/theory/ranks.md).

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
        k, threshold = self.candidates, 2.0 / self.level
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

    def open_questions(self) -> list[OpenQuestion]:
        a, threshold, evidence = (
            self.candidate,
            self.state.threshold,
            self.state.e_values.max(axis=0),
        )
        undecided = [b for b in self.active if b != a and evidence[b] < threshold]
        return [OpenQuestion(abs(self.gap(a, b)), self.variance(b), threshold) for b in undecided]

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        k, a = losses.size, int(state.candidate)
        for b in range(k):
            if b != a and state.active[b] > 0.0:
                lead, d = state.total_loss[a] - state.total_loss[b], losses[a] - losses[b]
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
        _narrow_place(state, a)


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
    if state.rank_range[0] >= state.rank_range[1] or state.rows_seen[0] >= state.rows:
        state.done[0] = 1.0


def _mean_of_smallest(state: Any, side: int, skip: int, count: int) -> float:
    """Return the mean of the `count` smallest e-values of a side, except for `skip`."""
    values, used, total = state.e_values[side], state.is_used, 0.0
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
