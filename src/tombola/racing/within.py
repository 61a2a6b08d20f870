"""Within: stop when some candidate is shown to be within a tolerance of the best (Theorem 2 of docs/theory/race.md).

Half of the level goes to dropping, as in `Best`. The other half goes to gamblers for pairs (a, b), number k + a k + b,
who bet that a is not worse than b by the tolerance and share it; the race ends with a when that is shown against every
other candidate in the race.
"""

from typing import Any

from tombola.racing.best import sift
from tombola.racing.bets import certain, gamble
from tombola.racing.field import Field, Question, State, finish
from tombola.types import Floats


class Within(Field):
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
        return self.start(gamblers=k + k * k, goal=2.0 / self.level, margin=self.within, pairs=k)

    def questions(self) -> list[Question]:
        """Return what is still open: whether the leader is near enough to the others."""
        best, k = self.leader, self.candidates
        open_pairs = [b for b in self.active if b != best and not self.state.settled[best, b]]
        return [
            Question(self.gap(best, b) + self.within, self.variance(k + best * k + b), self.state.goal * (k - 1))
            for b in open_pairs
        ]

    @staticmethod
    def take(state: State, losses: Floats) -> None:
        """Take in one row, drop whom it proves out, and see whether a candidate is near enough to the best."""
        settle(state, losses)
        sift(state, losses)
        finish(state, 1.0)
        choose(state)

    @property
    def chosen(self) -> int | None:
        """The candidate that is shown to be near enough, if there is one yet."""
        return next((a for a, chosen in enumerate(self.state.judged) if chosen), None)


def settle(state: Any, losses: Floats) -> None:
    """Let the gamblers of the pairs in the race bet on this row, before it is counted."""
    k = losses.size
    for a in range(k):
        for b in range(k):
            if a != b and state.active[a] > 0.0 and state.active[b] > 0.0 and state.settled[a, b] == 0.0:
                lead, d = state.total[b] - state.total[a], losses[b] - losses[a]
                wealth = gamble(state, k + a * k + b, lead, d, -state.margin)
                sure = certain(lead + d, -state.margin, state.population, state.seen[0] + 1.0)
                if wealth >= state.goal * (k - 1) or sure:
                    state.settled[a, b] = 1.0


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
