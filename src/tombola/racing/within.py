"""Within: stop when some candidate is shown to be within a tolerance of the best (Theorem 2 of docs/theory/race.md).

Half of the level goes to dropping, as in `Best`. With the other half every candidate b opens an account for each other
one, a, with an equal share of its money; it is bet, in the rows where a leads, on a being no worse than b by the
tolerance. When a is dropped, the money of its accounts, but not what they have won, goes to those of the candidates
left. The race ends with a when every other candidate in the race has 2 / level in its account for a.
"""

from typing import Any

from tombola._types import Floats
from tombola.racing.best import sift
from tombola.racing.bets import STAKE, certain, gamble, total
from tombola.racing.elimination import Doubt, Elimination, State, best_two, finish


class Within(Elimination):
    """The race for a candidate whose mean loss is at most `within` above the best one's.

    >>> import numpy as np
    >>> field = Within(candidates=2, rows=100, population=100, level=0.05, within=0.5)
    >>> field.play(np.array([[0.0, 0.1]] * 100), np.arange(100, dtype=np.uint32)) < 30
    True
    >>> field.chosen
    0
    """

    def __init__(self, candidates: int, rows: int, population: float, level: float, within: float) -> None:
        self.within = within
        super().__init__(candidates, rows, population, level)

    def init(self) -> State:
        """Return the state before the first row."""
        k = self.candidates
        first = self.start(gamblers=k + k * k, goal=2.0 / self.level, margin=self.within, pairs=k)
        share = 1.0 / max(k - 1, 1)
        first.wealth[k:] *= share
        first.deposit[:] = share
        return first

    def doubts(self) -> list[Doubt]:
        """Return what is still open: whether the leader is near enough to the others."""
        best, k = self.leader, self.candidates
        others = [b for b in self.active if b != best]
        goal = self.state.goal * len(others)
        return [
            Doubt(self.gap(best, b) + self.within, self.variance(account(k, best, b)), goal)
            for b in others
            if not self.state.settled[best, b]
        ]

    @staticmethod
    def take(state: State, losses: Floats) -> None:
        """Take in one row, drop whom it proves out, and see whether a candidate is near enough to the best."""
        settle(state, losses)
        sift(state, losses)
        close_accounts(state)
        finish(state, 1.0)
        choose(state)

    @property
    def chosen(self) -> int | None:
        """The candidate that is shown to be near enough, if there is one yet."""
        return next((a for a, chosen in enumerate(self.state.judged) if chosen), None)


def settle(state: Any, losses: Floats) -> None:
    """Let all bet on those who are within the tolerance of the leader so far, in a row not yet counted."""
    leader, _ = best_two(state)
    for a in range(losses.size):
        if state.active[a] > 0.0 and state.total[a] <= state.total[leader] + state.seen[0] * state.margin:
            bet_on(state, losses, a)


def bet_on(state: Any, losses: Floats, a: int) -> None:
    """Let all others bet on a in this row."""
    k = losses.size
    for b in range(k):
        if b != a and state.active[b] > 0.0:
            lead, d = state.total[b] - state.total[a], losses[b] - losses[a]
            wealth = gamble(state, account(k, a, b), lead, d, -state.margin)
            sure = certain(lead + d, -state.margin, state.population, state.seen[0] + 1.0)
            if wealth >= state.goal or sure:
                state.settled[a, b] = 1.0


def account(k: int, a: int, b: int) -> int:
    """Return the number of the account that b has for a; the first k gamblers are those of `sift`."""
    return k + a * k + b


def close_accounts(state: Any) -> None:
    """Share out what the candidates dropped in this row leave behind."""
    for a in range(state.total.size):
        if state.out[a] == state.seen[0]:
            for b in range(state.total.size):
                if state.active[b] > 0.0:
                    share_out(state, a, b)


def share_out(state: Any, a: int, b: int) -> None:
    """Give the money of b's account for a, without its gains, to b's accounts for the others in the race."""
    k, others = state.total.size, 0.0
    for c in range(k):
        others += state.active[c] if c != b else 0.0
    if others > 0.0:
        part = min(total(state.wealth[account(k, a, b)]), state.deposit[a, b]) / others
        for c in range(k):
            if c != b and state.active[c] > 0.0:
                state.deposit[c, b] += part
                for j in range(STAKE.size):
                    state.wealth[account(k, c, b), j] += part * STAKE[j]


def choose(state: Any) -> None:
    """End the race if some candidate is near enough to all others in the race; of several, take the least loss."""
    chosen = -1
    for a in range(state.total.size):
        if state.active[a] > 0.0 and near_all(state, a) and (chosen < 0 or state.total[a] < state.total[chosen]):
            chosen = a
    if chosen >= 0:
        state.judged[chosen] = 1.0
        state.done[0] = 1.0


def near_all(state: Any, a: int) -> bool:
    """Tell whether a is shown to be near enough to every other candidate in the race."""
    near = True
    for b in range(state.total.size):
        if b != a and state.active[b] > 0.0 and state.settled[a, b] == 0.0:
            near = False
    return near
