"""Naive twins of classification: every hypothesis tried on every row, straight from the definitions (spec 6)."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

Row = Sequence[float]
Hypothesis = tuple[
    int, int, tuple[float, ...]
]  # feature, label to begin with, values before which the label switches


class LineTwin:
    """Try every feature, label to begin with, and set of at most `switches` values before which the label switches."""

    def __init__(
        self, switches: int, entries: int, ties: str, uniform: Callable[[], float]
    ) -> None:
        self.switches, self.entries, self.ties, self.uniform = switches, entries, ties, uniform
        self.seen: list[tuple[Row, int, Fraction]] = []

    def learn(self, row: Row, label: int, weight: float) -> None:
        self.seen.append((row, label, Fraction(weight)))

    def minimisers(self) -> list[Hypothesis]:
        """All labellings of least error, by feature, label to begin with, and cuts, a missing cut last."""
        found: list[tuple[Fraction, Hypothesis]] = []
        for feature in range(len(self.seen[0][0])):
            values = sorted({row[feature] for row, _, _ in self.seen})
            for entry in range(self.entries):
                sets = [
                    c for n in range(self.switches + 1) for c in itertools.combinations(values, n)
                ]
                padded = sorted(c + (math.inf,) * (self.switches - len(c)) for c in sets)
                for cuts in padded:
                    h = (feature, entry, tuple(c for c in cuts if c < math.inf))
                    found.append(
                        (
                            sum(
                                (w for row, y, w in self.seen if label_of(h, row) != y), Fraction(0)
                            ),
                            h,
                        )
                    )
        least = min(error for error, _ in found)
        return [h for error, h in found if error == least]

    def predict(self, row: Row) -> int:
        """Choose one of them, and where in its gap each cut lies."""
        if not self.seen:
            return 0
        best = self.minimisers()
        rank = {"first": 0, "last": len(best) - 1, "middle": (len(best) - 1) // 2}.get(self.ties)
        feature, entry, cuts = best[
            math.floor(self.uniform() * len(best)) if rank is None else rank
        ]
        values = sorted({row[feature] for row, _, _ in self.seen})
        placed = [
            self.place(max((v for v in values if v < cut), default=-math.inf), cut) for cut in cuts
        ]
        if self.ties == "first" and len(cuts) == self.switches - 1:
            placed.append(float(np.nextafter(values[-1], math.inf)))
        return label_of((feature, entry, tuple(placed)), row)

    def place(self, low: float, high: float) -> float:
        """Put a cut above `low` and not above `high`."""
        share = self.uniform() if self.ties == "random" else 0.5
        if self.ties == "last":
            return high
        if low == -math.inf:
            return low
        above = float(np.nextafter(low, math.inf))
        return (
            above
            if self.ties == "first"
            else min(max((1.0 - share) * low + share * high, above), high)
        )


def label_of(h: Hypothesis, row: Row) -> int:
    """Switch at every cut passed."""
    feature, entry, cuts = h
    return (entry + sum(row[feature] >= cut for cut in cuts)) % 2


def vc(matrix: Sequence[Sequence[int]]) -> int:
    """The largest set of columns with all patterns."""
    points = len(matrix[0])
    sizes = [
        size
        for size in range(points + 1)
        for columns in itertools.combinations(range(points), size)
        if len({tuple(h[c] for c in columns) for h in matrix}) == 2**size
    ]
    return max(sizes)


def littlestone(hypotheses: frozenset[tuple[int, ...]]) -> int:
    """The deepest complete mistake tree: some point splits into two parts that are both one less deep."""
    if len(hypotheses) == 1:
        return 0
    deepest = 0
    for point in range(len(next(iter(hypotheses)))):
        ones = frozenset(h for h in hypotheses if h[point] == 1)
        if ones and ones != hypotheses:
            deepest = max(deepest, 1 + min(littlestone(ones), littlestone(hypotheses - ones)))
    return deepest


def rectangle_error(
    points: Sequence[Row], labels: Sequence[int], weights: Sequence[float]
) -> Fraction:
    """The least error of all boxes whose sides go through points, and of none."""
    xs, ys = sorted({p[0] for p in points}), sorted({p[1] for p in points})
    boxes: list[tuple[float, float, float, float]] = [(1, 0, 1, 0)]
    for (left, right), (low, high) in itertools.product(
        itertools.combinations_with_replacement(xs, 2),
        itertools.combinations_with_replacement(ys, 2),
    ):
        boxes.append((left, right, low, high))
    return min(
        error_of(
            [int(b[0] <= p[0] <= b[1] and b[2] <= p[1] <= b[3]) for p in points], labels, weights
        )
        for b in boxes
    )


def halfplane_error(
    points: Sequence[Row], labels: Sequence[int], weights: Sequence[float]
) -> Fraction:
    """The least error of all labellings that a linear program separates."""
    from scipy.optimize import linprog

    distinct = sorted({tuple(p) for p in points})
    least = None
    for signs in itertools.product((-1, 1), repeat=len(distinct)):
        rows = [[-s * p[0], -s * p[1], -s] for s, p in zip(signs, distinct, strict=True)]
        done = linprog([0, 0, 0], A_ub=rows, b_ub=[-1] * len(distinct), bounds=[(None, None)] * 3)
        if done.status == 0:
            label = {p: int(s > 0) for s, p in zip(signs, distinct, strict=True)}
            error = error_of([label[p[0], p[1]] for p in points], labels, weights)
            least = error if least is None else min(least, error)
    assert least is not None
    return least


def error_of(given: Sequence[int], labels: Sequence[int], weights: Sequence[float]) -> Fraction:
    """The weight of the rows labelled wrong."""
    return sum(
        (Fraction(w) for g, y, w in zip(given, labels, weights, strict=True) if g != y), Fraction(0)
    )
