"""Top: find the best m candidates (Theorem 3 of docs/theory/race.md).

One bettor per set of m candidates bets that the set is not one of m best. In every row it bets that
the worst member is worse than the mean of the best few candidates outside; past rows determine
which. A set is rejected when its wealth reaches 1 / level, or when its worst member is certainly
worse. A candidate is dropped when all sets with it are rejected. A set of m best candidates is ever
rejected with probability at most the level: there is no union bound over its members.

If there are too many sets to list, three quarters of the level (`_PAIR_SHARE`) drop candidates by
the bets of all pairs (`_update_pairs`), until the sets of active candidates are few enough; the
rest of the level is for these.
"""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import (
    ROUNDING_SLACK,
    bet,
    is_refuted,
    total_wealth,
)
from tombola.racing.rules.elimination import best_two, count_row, drop, finish, n_active
from tombola.racing.rules.opponents import (
    add_products,
    bet_against_mean,
    rank_candidates,
)

# Largest number of sets that are listed: a row takes about 50 ns per set, and most sets are
# rejected soon.
_MAX_SETS = 5000
# Share of the level that is spent on pairs, if there are more sets than that: pairs then drop most
# candidates.
_PAIR_SHARE = 0.75
# Largest number of candidates in the mean that a member bets against.
_MOST_OPPONENTS = 4
# Pseudo-rows of the variance of a difference.
_PSEUDO_ROWS = 10.0
# A larger mean must be better by this factor: among equal ones rounding must not decide.
_FACTOR = 1.0 + 1e-9


class Top(Elimination):
    """Rule for the best `top` candidates, in any order among themselves.

    Other parameters as in `Elimination`. A set below is a possible answer: `top` of the candidates.
    Own fields of the state, beside `top`:

    pair_threshold    wealth of pairs that drops a candidate
    members           (sets, k) 1 for the members of a set
    n_sets            (1,) number of sets not rejected: the first rows of `members`; 0 while there
                      are too many
    rejection_wealth  (k,) least wealth at which a set with the candidate was rejected
    pair_wealth       (k,) scratch space for the wealth of pairs
    """

    supports_predictions = True
    averages_opponents = True

    def __init__(
        self, candidates: int, rows: int, population: float, level: float, top: int
    ) -> None:
        self.top = top
        self.target = top
        super().__init__(candidates, rows, population, level)

    def init(self) -> Any:
        k = self.candidates
        sets = math.comb(k, self.top)
        uses_pairs = sets > _MAX_SETS
        sets = min(sets, _MAX_SETS)
        state = self.initial_state(
            bettors=sets + uses_pairs * k * k,
            threshold=1.0 / ((1.0 - uses_pairs * _PAIR_SHARE) * self.level),
            top=float(self.top),
            pair_threshold=self.top / (_PAIR_SHARE * self.level),
            members=np.zeros((sets, k)),
            n_sets=np.zeros(1),
            rejection_wealth=np.full(k, math.inf),
            pair_wealth=np.zeros(k),
        )
        _list_sets(state)
        return state

    def open_questions(self) -> list[OpenQuestion]:
        """Return one comparison per set of `top` candidates that is still to be rejected.

        It asks whether the worst member of the set is worse than the best candidate outside of it.
        If the sets are too many to list, there is one comparison per active candidate behind the
        first `top`, with the last of these.
        """
        state = self.state
        k = self.candidates
        loss = state.total_loss
        if state.n_sets[0] == 0.0:
            ranked = sorted(self.active, key=lambda a: float(loss[a]))
            pairs = len(state.wealth) - k * k
            last = ranked[self.top - 1]
            threshold = state.pair_threshold * (k - self.top)
            return [
                OpenQuestion(self.gap(last, b), self.variance(pairs + last * k + b), threshold)
                for b in ranked[self.top :]
            ]
        questions = []
        for s in range(int(state.n_sets[0])):
            members = state.members[s]
            worst = max((a for a in self.active if members[a]), key=lambda a: float(loss[a]))
            best = min((a for a in self.active if not members[a]), key=lambda a: float(loss[a]))
            # The leading set is the answer; it is not to be rejected.
            if loss[worst] > loss[best]:
                questions.append(
                    OpenQuestion(self.gap(best, worst), self.variance(s), state.threshold)
                )
        return questions

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        if state.n_sets[0] == 0.0:
            _list_sets(state)
        if state.wealth.shape[0] > state.members.shape[0]:
            _update_pairs(state, losses)
        rank_candidates(
            state.ranked, state.active, state.total_loss, _MOST_OPPONENTS + int(state.top)
        )
        for s in range(int(state.n_sets[0])):
            _bet_against_set(state, state.products, losses, s)
        leader, _ = best_two(state.active, state.total_loss)
        add_products(state.products, state.active, losses)
        count_row(state, losses)
        if state.rows_seen[0] >= state.population:
            _drop_by_totals(state)
        else:
            _reject_and_drop(state, leader)

    @staticmethod
    def settle(state: Any) -> None:
        k = state.total_loss.size
        first = state.members.shape[0]
        if state.wealth.shape[0] > first:
            for a in range(k):
                for b in range(k):
                    if a != b and is_refuted(state, b, a, 0.0, 0.0, 0.0):
                        state.wealth[first + a * k + b, 0] = math.inf
        _reject_and_drop(state, 0)


def _drop_by_totals(state: Any) -> None:
    """Drop the candidates behind `top` others after the last row of a list.

    A set that was rejected before, by its wealth, may be the best one after all: the totals of the
    active candidates are known, and decide.
    """
    k = state.total_loss.size
    slack = ROUNDING_SLACK * state.population
    for b in range(k):
        state.current_wealth[b] = 0.0
        ahead = 0
        best = -1
        for a in range(k):
            if state.active[a] > 0.0 and state.total_loss[a] < state.total_loss[b] - slack:
                ahead += 1
                best = a if best < 0 or state.total_loss[a] < state.total_loss[best] else best
        if state.active[b] > 0.0 and ahead >= state.top:
            # Marked, and dropped below: a drop here would change the count of those ahead.
            state.current_wealth[b] = math.inf
            state.dropped_against[b] = best
    for b in range(k):
        if state.active[b] > 0.0 and state.current_wealth[b] == math.inf:
            drop(state, b, int(state.dropped_against[b]), math.inf)
    finish(state, state.top)


def _reject_and_drop(state: Any, leader: int) -> None:
    """Reject sets after a row is counted, and drop the candidates in no set left."""
    uses_pairs = state.wealth.shape[0] > state.members.shape[0]
    k = state.total_loss.size
    for b in range(k):
        if state.active[b] > 0.0:
            state.current_wealth[b] = math.inf if state.n_sets[0] > 0.0 else 0.0
    for s in range(int(state.n_sets[0]) - 1, -1, -1):
        _reject_set(state, s)
    for b in range(k):
        # Certain only if no set with b was rejected by its wealth.
        if state.current_wealth[b] >= state.threshold:
            state.current_wealth[b] = min(state.current_wealth[b], state.rejection_wealth[b])
        if uses_pairs and state.active[b] > 0.0:
            by_pairs = _mean_of_smallest(state, b) * state.threshold / state.pair_threshold
            state.current_wealth[b] = max(state.current_wealth[b], by_pairs)
    _drop_beaten(state, leader)
    finish(state, state.top)


def _list_sets(state: Any) -> None:
    """List all sets of `top` active candidates in `state.members`, if there is space."""
    k = state.active.size
    sets = 1.0
    members = state.members
    m = int(state.top)
    for i in range(m):
        sets *= (n_active(state) - i) / (i + 1.0)
    if round(sets) > members.shape[0]:
        return
    state.n_sets[0] = round(sets)
    count = 0
    for c in range(k):
        if state.active[c] > 0.0 and count < m:
            members[0, c] = 1.0
            count += 1
    for s in range(1, int(state.n_sets[0])):
        # The next set in lexicographic order: the last member that can move to the right does,
        # those behind it follow.
        following = -1
        behind = 0
        moved = k - 1
        while not (
            members[s - 1, moved] > 0.0 and following >= 0 and members[s - 1, following] == 0.0
        ):
            if state.active[moved] > 0.0:
                behind += members[s - 1, moved] > 0.0
                following = moved
            moved -= 1
        for c in range(k):
            if c < moved:
                members[s, c] = members[s - 1, c]
            elif c > moved and behind >= 0 and state.active[c] > 0.0:
                members[s, c] = 1.0
                behind -= 1


def _bet_against_set(state: Any, products: Any, losses: Floats, s: int) -> None:
    """Bet on one row, before it is counted, that set s is not one of m best."""
    worst = -1
    best = -1
    for c in range(losses.size):
        if state.active[c] > 0.0:
            if state.members[s, c] > 0.0:
                worst = c if worst < 0 or state.total_loss[c] > state.total_loss[worst] else worst
            else:
                best = c if best < 0 or state.total_loss[c] < state.total_loss[best] else best
    if products is None:
        lead = state.total_loss[worst] - state.total_loss[best]
        bet(state, s, worst, best, lead, losses[worst] - losses[best], 0.0)
    else:
        size = 0
        for place in range(_MOST_OPPONENTS + int(state.top)):
            if place < state.ranked.size:
                candidate = int(state.ranked[place])
                if candidate < 0 or state.members[s, candidate] == 0.0:
                    state.opponents[size] = candidate
                    size += 1
        bet_against_mean(state, products, losses, s, worst, _MOST_OPPONENTS, _PSEUDO_ROWS, _FACTOR)


def _reject_set(state: Any, s: int) -> None:
    """Reject set s if its wealth suffices, or a member is certainly worse.

    The row is counted already. `state.current_wealth` of every member becomes at most the wealth of
    the set.
    """
    worst = -1
    best = -1
    for c in range(state.active.size):
        if state.members[s, c] > 0.0:
            # The largest smallest possible total of a member, and the smallest largest possible one
            # of another.
            low = state.total_loss[c] + state.known_loss[c]
            worst = (
                c if worst < 0 or low > state.total_loss[worst] + state.known_loss[worst] else worst
            )
        elif state.active[c] > 0.0:
            high = state.total_loss[c] - state.known_gain[c]
            best = c if best < 0 or high < state.total_loss[best] - state.known_gain[best] else best
    wealth = total_wealth(state.wealth[s])
    if is_refuted(
        state,
        worst,
        best,
        state.total_loss[worst] - state.total_loss[best],
        0.0,
        state.rows_seen[0],
    ):
        wealth = math.inf
    for c in range(state.active.size):
        if state.members[s, c] > 0.0:
            state.current_wealth[c] = min(state.current_wealth[c], wealth)
            if wealth >= state.threshold:
                state.rejection_wealth[c] = min(state.rejection_wealth[c], wealth)
    if wealth >= state.threshold:
        _delete_set(state, s)


def _delete_set(state: Any, s: int) -> None:
    """Delete set s from the list; the last one takes its place."""
    state.n_sets[0] -= 1.0
    last = int(state.n_sets[0])
    for c in range(state.active.size):
        state.members[s, c] = state.members[last, c]
    for j in range(state.wealth.shape[1]):
        state.wealth[s, j] = state.wealth[last, j]
    state.squared_residuals[s] = state.squared_residuals[last]
    state.n_bets[s] = state.n_bets[last]


def _update_pairs(state: Any, losses: Floats) -> None:
    """Bet on one row for all active pairs; bettor (a, b) bets that a is better."""
    k = losses.size
    first = state.members.shape[0]
    for a in range(k):
        for b in range(k):
            if a != b and state.active[a] > 0.0 and state.active[b] > 0.0:
                lead = state.total_loss[b] - state.total_loss[a]
                d = losses[b] - losses[a]
                bet(state, first + a * k + b, b, a, lead, d, 0.0)
                if is_refuted(state, b, a, lead + d, 0.0, state.rows_seen[0] + 1.0):
                    state.wealth[first + a * k + b, 0] = math.inf


def _mean_of_smallest(state: Any, b: int) -> float:
    """Return E_b of Theorem 3: the mean of the k - m smallest pair wealths against b."""
    k = state.total_loss.size
    first = state.members.shape[0]
    pair_wealth = state.pair_wealth
    for a in range(k):
        pair_wealth[a] = total_wealth(state.wealth[first + a * k + b]) if a != b else -1.0
    # Discard the m - 1 largest; -1 marks b itself and the discarded ones.
    for _ in range(int(state.top) - 1):
        largest = 0
        for a in range(1, k):
            if pair_wealth[a] > pair_wealth[largest]:
                largest = a
        pair_wealth[largest] = -1.0
    amount = 0.0
    for a in range(k):
        amount += max(pair_wealth[a], 0.0)
    return float(amount / (k - state.top))


def _drop_beaten(state: Any, leader: int) -> None:
    """Drop the largest wealths from the threshold on, until `top` candidates are left."""
    while n_active(state) > state.top:
        worst = -1
        for b in range(state.current_wealth.size):
            if state.active[b] > 0.0 and state.current_wealth[b] >= state.threshold:
                worst = (
                    b
                    if worst < 0 or state.current_wealth[b] > state.current_wealth[worst]
                    else worst
                )
        if worst < 0:
            break
        drop(state, worst, leader, state.current_wealth[worst])
        for s in range(int(state.n_sets[0]) - 1, -1, -1):
            if state.members[s, worst] > 0.0:
                _delete_set(state, s)
