"""Naive twins of the reductions for full information: Simulation from the paper's pseudo-code, interleaved copies."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from naive.full import Row, Twin
from tombola._types import RngState
from tombola.rng import choice, integers


def kinds_of_rounds(schedule: str, T: int, d: int) -> list[tuple[str, int]]:
    """Return the kind of every round in the pseudo-code of Section 4: free, buffer, or block i."""
    rounds: list[tuple[str, int]] = [("free", -1)]
    i = 0 if schedule == "lemma" else 1
    while len(rounds) < T:
        rounds += [("buffer", -1)] * d
        rounds += [("block", i)] * 2**i
        i += 1
    return rounds[:T]


def frequencies(base: Any, past: Any, n: int, rng: RngState) -> list[float]:
    """Return how often a twin plays each action on n i.i.d. draws from the past; all rows are drawn first."""
    with np.errstate(over="ignore"):
        drawn, actions = [integers(rng, len(past)) for _ in range(n)], []
        for row in drawn:
            actions.append(
                choice(np.array(base.mix()), rng) if hasattr(base, "mix") else min(base.best())
            )
            base.observe(past[row])
    return [actions.count(a) / n for a in range(base.k)]


class Simulation(Twin):
    """Section 3 and 4: train a fresh base on draws from the past, and play its frequencies in the block."""

    def __init__(
        self,
        k: int,
        T: int,
        rng: RngState,
        base: Callable[[int, int], Any],
        schedule: str = "growing",
        delay: int = 0,
        past: str = "blocks",
        waiting: str = "free",
        trainings: int = 1,
    ) -> None:
        super().__init__(k, T)
        self.rng, self.base, self.schedule, self.trainings = rng.copy(), base, schedule, trainings
        self.kinds = (
            [("block", -1)] * T if schedule == "growing" else kinds_of_rounds(schedule, T, delay)
        )
        self.keeps_all, self.goes_on = past == "all", waiting == "last"
        self.past: list[Row] = []
        self.t, self.next = 0, 1
        self.frequencies = self.played = [float(a == 0) for a in range(k)]

    def mix(self) -> list[float]:
        """Train if a block begins, or the past has doubled, and return the mix of the round."""
        if self.schedule == "growing":
            if len(self.past) >= self.next:
                self.train(len(self.past))
                self.next = 2 * len(self.past)
        elif self.kinds[self.t][0] == "block" and self.kinds[self.t] not in self.kinds[: self.t]:
            self.train(2 ** self.kinds[self.t][1])
        waits = self.kinds[self.t][0] != "block" and not self.goes_on
        self.played = [float(a == 0) for a in range(self.k)] if waits else self.frequencies
        return self.played

    def train(self, n: int) -> None:
        if self.past:
            runs = [
                frequencies(self.base(self.k, n), self.past, n, self.rng)
                for _ in range(self.trainings)
            ]
            self.frequencies = [sum(column) / self.trainings for column in zip(*runs, strict=True)]

    def acted(self, action: int) -> None:
        """Draw the action as the engine does, to keep the generators in step."""
        with np.errstate(over="ignore"):
            assert action == choice(np.array(self.played), self.rng)
        self.t += 1

    def observe(self, row: Row, t: int = 0) -> None:
        if self.keeps_all or t == 0 or self.kinds[t][0] == "block":
            self.past.append(row)


class Interleaved(Twin):
    """Weinberger and Ordentlich 2002: copy t mod (d + 1) plays round t."""

    def __init__(self, k: int, T: int, base: Callable[[int, int], Any], delay: int) -> None:
        super().__init__(k, T)
        count = min(delay + 1, T)
        self.copies = [base(k, math.ceil(T / count)) for _ in range(count)]
        self.t = 0

    def best(self) -> set[int]:
        return set(self.copies[self.t % len(self.copies)].best())

    def mix(self) -> list[float]:
        return list(self.copies[self.t % len(self.copies)].mix())

    def acted(self, action: int) -> None:
        self.t += 1

    def observe(self, row: Row, t: int = 0) -> None:
        self.copies[t % len(self.copies)].observe(row)
