"""Gate: is a candidate better than the baseline, or not worse than it by more than a margin (Theorem 4).

Two gamblers a candidate: number c bets on the statement, number k + c against it. Only one of them bets on something
false, so each has the whole share of the level of its candidate; the candidates share it. After the last row the answer
is exact.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.racing.bets import SLACK, certain, gamble
from tombola.racing.elimination import Doubt, Elimination, State, count_in, drop


class Gate(Elimination):
    """The race of every candidate against a baseline; a margin of 0 asks whether it is better.

    >>> import numpy as np
    >>> field = Gate(candidates=2, rows=100, population=100, level=0.05, baseline=0, margin=0.0)
    >>> field.play(np.array([[0.5, 0.1]] * 100), np.arange(100, dtype=np.uint32)) < 50
    True
    >>> field.judged
    {1: True}
    """

    def __init__(
        self, candidates: int, rows: int, population: float, level: float, baseline: int, margin: float
    ) -> None:
        self.baseline, self.margin = baseline, margin
        super().__init__(candidates, rows, population, level)

    def init(self) -> State:
        """Return the state before the first row."""
        k, goal = self.candidates, (self.candidates - 1) / self.level
        return self.start(gamblers=2 * k, goal=goal, margin=self.margin, special=self.baseline)

    def doubts(self) -> list[Doubt]:
        """Return what is still open: on which side of the margin the others are."""
        cases = [c for c in self.active if c != self.baseline]
        return [Doubt(abs(self.gap(c, self.baseline) + self.margin), self.variance(c), self.state.goal) for c in cases]

    @staticmethod
    def take(state: State, losses: Floats) -> None:
        """Take in one row, and judge the candidates about whom it proves something."""
        base = int(state.special)
        for c in range(losses.size):
            if c != base and state.active[c] > 0.0:
                judge(state, c, base, losses[base] - losses[c])
        count_in(state, losses)
        open_cases = 0
        for c in range(losses.size):
            if c != base and state.active[c] > 0.0:
                if state.judged[c] != 0.0:
                    drop(state, c, base, state.worth[c])
                else:
                    open_cases += 1
        if open_cases == 0 or state.seen[0] >= state.rows:
            state.done[0] = 1.0

    def ahead(self, candidate: int) -> tuple[float, int]:
        """Return by how much a candidate's mean loss is below the baseline's, and on how many rows."""
        rows = int(self.state.out[candidate]) or self.seen
        return float(self.state.room[candidate]) / max(rows, 1), rows

    @property
    def judged(self) -> dict[int, bool]:
        """The candidates about whom the statement is proved (True), or its opposite (False)."""
        return {c: bool(says > 0) for c, says in enumerate(self.state.judged) if says != 0}


def judge(state: Any, c: int, base: int, d: float) -> None:
    """Let both gamblers of a candidate bet on a row not yet counted; d is the baseline's loss minus its own."""
    k = state.total.size
    lead, seen = state.total[base] - state.total[c], state.seen[0] + 1.0
    ahead, behind = gamble(state, c, lead, d, -state.margin), gamble(state, k + c, -lead, -d, state.margin)
    state.room[c] = lead + d
    if certain(lead + d, -state.margin, state.population, seen):
        ahead = math.inf
    if certain(-lead - d, state.margin, state.population, seen):
        behind = math.inf
    state.worth[c] = max(ahead, behind)
    if ahead >= state.goal or behind >= state.goal:
        state.judged[c] = 1.0 if ahead >= behind else -1.0
    elif seen >= state.population:
        state.judged[c] = 1.0 if exceeds(lead + d, state.margin, state.population) else -1.0
        state.worth[c] = math.inf


def exceeds(lead: float, margin: float, population: float) -> bool:
    """Tell whether the statement is true of the whole list: better for a margin of 0, else not worse by more."""
    slack = SLACK * population
    return bool(lead > slack if margin == 0.0 else lead >= -margin * population - slack)
