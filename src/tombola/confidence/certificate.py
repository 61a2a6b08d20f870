"""Certificate: what the losses seen so far say about the pool, with a stated probability over the shuffle.

Its target is the least mean loss over all rows of the pool. Two kinds of evidence may reach it: paired, from
differences of losses on the same rows, and unpaired, from an interval for each action. Where whole rows are seen each
has half of the level, so that either may speak; else the intervals have all of it.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tombola import _validate
from tombola._types import Floats, Rounds
from tombola.confidence.base import Interval


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known of all actions, which holds all at once with probability 1 - level.

    `rounds` is the number of rows played, `answered` that of the losses known, `loss` their sum; it is nan where rows
    were only looked at. `paired` says how far each action is from the best, at most, by differences on the same rows,
    and is infinite where an action was not compared.

    >>> from tombola.confidence import certify
    >>> first, second = [0.0] * 60, [1.0] * 60
    >>> certificate = certify([0] * 60 + [1] * 60, first + second, actions=2, population=1000, level=0.05)
    >>> certificate.best, certificate.within(0), certificate.certified(within=0.01), certificate.method
    (0, 0.0, True, 'unpaired')
    """

    names: tuple[str, ...]
    population: float
    level: float
    rounds: int
    answered: int
    loss: float
    counts: Rounds
    means: Floats
    lows: Floats
    highs: Floats
    paired: Floats

    def interval(self, action: int) -> Interval:
        """Return the interval that holds the mean loss of this action."""
        return Interval(float(self.lows[action]), float(self.highs[action]))

    def within(self, action: int) -> float:
        """Return by how much, at most, the mean loss of this action exceeds that of the best action."""
        return min(_apart(self.lows, self.highs, action), float(self.paired[action]))

    @property
    def best(self) -> int:
        """The action that is certified to be nearest to the best, the lowest index among equals."""
        return min(range(self.lows.size), key=self.within)

    @property
    def method(self) -> Literal["paired", "unpaired"]:
        """Which evidence says how near the best action is: differences on the same rows, or an interval for each."""
        return "paired" if self.paired[self.best] <= _apart(self.lows, self.highs, self.best) else "unpaired"

    @property
    def target(self) -> str:
        """What actions are compared with."""
        rows = f"all {self.population:,.0f} rows" if math.isfinite(self.population) else "the rows drawn from"
        return f"the least mean loss over {rows}"

    @property
    def pending(self) -> int:
        """The rounds that are not yet answered."""
        return self.rounds - self.answered

    @property
    def regret(self) -> float:
        """At most this much was lost in the rounds answered against the best action at its mean loss.

        Switches are not counted.
        """
        return self.loss - self.answered * float(self.lows.min())

    @property
    def worst_regret(self) -> float:
        """At most this much will have been lost in all rounds so far, if all that are pending fail."""
        return self.loss + self.pending - self.rounds * float(self.lows.min())

    def certified(self, within: float) -> bool:
        """Tell whether some action is within this much of the best: a rule to stop by."""
        return self.within(self.best) <= _validate.real("Certificate.certified", "within", within, least=0)

    def forecast(self, within: float) -> int | None:
        """Return about how many more rounds it takes to be certified, or None if the pool does not suffice.

        A guess, not a guarantee: the means stay as they are, and every action gets its share of rounds as so far.
        """
        goal = _validate.real("Certificate.forecast", "within", within, least=0)
        left = int(self.population - self.rounds) if math.isfinite(self.population) else 1 << 40
        if left < 0 or self._after(left) > goal:
            return None
        low, high = -1, left
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._after(middle) <= goal else (middle, high)
        return high

    def _after(self, more: int) -> float:
        """Return the certified distance of the best action after `more` rounds, if intervals shrink as roots do."""
        if more == 0:
            return self.within(self.best)
        counts = self.counts + more * self.counts / max(self.rounds, 1)
        before, after = _root(self.counts, self.population), _root(counts, self.population)
        shrink = np.where(before > 0, after / np.where(before > 0, before, 1.0), 1.0)
        lows = self.means - (self.means - self.lows) * shrink
        highs = self.means + (self.highs - self.means) * shrink
        return min(
            min(_apart(lows, highs, action), self._nearer(action, float(shrink[action]))) for action in range(lows.size)
        )

    def _nearer(self, action: int, shrink: float) -> float:
        """Return the paired distance of an action once what is uncertain about it has shrunk."""
        if not math.isfinite(self.paired[action]) or self.means.size == 1:
            return float(self.paired[action])
        ahead = float(self.means[action] - np.delete(self.means, action).min())
        return max(0.0, ahead + (float(self.paired[action]) - ahead) * shrink)

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain data; what is not known is null."""
        best = self.best
        actions = [
            {"name": name, "rows": int(count), "mean": float(mean), "low": float(low), "high": float(high)}
            for name, count, mean, low, high in zip(
                self.names, self.counts, self.means, self.lows, self.highs, strict=True
            )
        ]
        played = not math.isnan(self.loss)
        return {
            "target": self.target,
            "level": self.level,
            "rows": self.rounds,
            "population": self.population if math.isfinite(self.population) else None,
            "best": self.names[best],
            "within": self.within(best),
            "method": self.method,
            "actions": actions,
            "answered": self.answered,
            "regret so far": self.regret if played else None,
            "regret if all pending fail": self.worst_regret if played else None,
        }

    def __str__(self) -> str:
        best = self.best
        said = (
            f"after {self.rounds:,} rows, with probability {1 - self.level:g}: action {self.names[best]} is within "
            f"{self.within(best):.4g} of {self.target} ({self.method})"
        )
        if math.isnan(self.loss):
            return said
        more = f", {self.worst_regret:.4g} if all {self.pending:,} pending fail" if self.pending else ""
        return f"{said}, and the regret so far is at most {self.regret:.4g}{more}"


def _apart(lows: Floats, highs: Floats, action: int) -> float:
    """Return by how much the mean of an action may exceed the least of the others, by their intervals."""
    others = np.delete(lows, action)
    return max(0.0, float(highs[action] - others.min())) if others.size else 0.0


def _root(counts: Any, population: float) -> Floats:
    """Return sqrt(1/n - 1/N), to which the widths are about proportional; 0 for an action never or fully seen."""
    inverse = np.where(counts > 0, 1.0 / np.where(counts > 0, counts, 1.0), 0.0)
    return np.sqrt(np.maximum(inverse - 1.0 / population, 0.0))
