"""Gradient descent in random order (docs/theory/batch_to_online.md, last section).

Garber, Korcia and Levy 2020; Sherman, Koren and Mansour 2021. The losses are not strongly convex one
by one, only their mean is. In random order gradient descent with steps 1 / (alpha t) has logarithmic
regret; in the given order of the list below its regret is linear.
"""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from tombola._types import Floats, Seed
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.pvalues import ROUNDING, exact, growth, means_at_most
from tombola.paper.rows import Row, Rows, levels, matching, select
from tombola.report.chart import Chart

# Shares of the losses x, -x and 2 (x - 0.4)^2 in the list.
_SHARES = (0.06, 0.64, 0.3)
# Minimum of the losses that are strongly convex.
_CENTRE = 0.4
# Strong convexity of the mean loss: the mean of the second derivatives.
_ALPHA = 4 * _SHARES[2]
# Largest derivative of a loss on [-1, 1], at x = -1.
_SLOPE = 4 * (1 + _CENTRE)
# Rows of the list whose orders are all enumerated.
_SMALL = 10

# Derivative of the loss b x + c (x - 0.4)^2 at x: (b, c, x) -> number.
_Gradient = Callable[[float, float, float], float]
# Step of round t = 1, 2, ...
_Step = Callable[[int], float]


def _rows(horizon: int) -> Floats:
    """Return the losses b x + c (x - 0.4)^2 as (b, c): all x, then all -x, then the others."""
    counts = [round(share * horizon) for share in _SHARES[:2]]
    counts.append(horizon - sum(counts))
    return np.repeat(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]]), counts, axis=0)


def _descend(
    rows: Floats, step: _Step, gradient: _Gradient, clip: Callable[[float], float]
) -> float:
    """Return the total loss of gradient descent from 0 on the rows in their order."""
    x = total = 0.0
    for t, (b, c) in enumerate(rows.tolist(), start=1):
        total += b * x + c * (x - _CENTRE) ** 2
        x = clip(x - step(t) * gradient(b, c, x))
    return total


def _smallest_loss(rows: Floats) -> float:
    """Return the smallest total loss of a point of [-1, 1]."""
    b, c = rows.sum(axis=0).tolist()
    best = min(1.0, max(-1.0, _CENTRE - b / (2 * c)))
    return float(b * best + c * (best - _CENTRE) ** 2)


def _twin(rows: Floats) -> float:
    """Return the total loss of gradient descent, written again from the definition."""
    points = [0.0]
    for t in range(1, len(rows)):
        b, c = rows[t - 1]
        moved = points[-1] - (b + 2 * c * (points[-1] - _CENTRE)) / (_ALPHA * t)
        points.append(float(np.clip(moved, -1, 1)))
    return math.fsum(
        b * x + c * (x - _CENTRE) ** 2 for (b, c), x in zip(rows.tolist(), points, strict=True)
    )


class RandomOrderConvex(Extension, name="random-order-convex", expected="holds", alpha=1e-4):
    """Regret of gradient descent on losses that are strongly convex only in sum.

    Title: Gradient descent on losses that are strongly convex in sum
    Source: our check of Garber, Korcia and Levy 2020 and Sherman, Koren and Mansour 2021
        (docs/theory/batch_to_online.md)
    Statement: On the losses x, −x and 2(x − 0.4)² in random order, gradient descent with steps 1/(αt), α the
        strong convexity of the mean loss, has a regret of order log T; with all x first, then all
        −x, it is linear.
    Meaning: A shuffled list gives the rate of strongly convex losses, although no single loss need
        be strongly convex. The order of the list can cost a factor of T / log T.
    Limits: Passes if in random order the mean regret is at most G² (1 + ln T) / (2α), G the largest
        slope, and grows at most as fast as ln T, in the given order it grows at least as fast as
        √T, and over all orders of 10 rows the mean equals that of a second implementation.
    Alt: The regret in random order is nearly flat, in the given order it rises in proportion to T.
    """

    step: _Step = component(lambda t: 1 / (_ALPHA * t))
    gradient: _Gradient = component(lambda b, c, x: b + 2 * c * (x - _CENTRE))
    clip: Callable[[float], float] = component(lambda x: min(1.0, max(-1.0, x)))
    shuffle: Callable[[np.random.Generator, Floats], Floats] = component(
        lambda generator, rows: generator.permutation(rows)
    )
    listed: Callable[[Floats], Floats] = component(lambda rows: rows)

    def units(self, *, full: bool) -> list[Unit]:
        sizes = (250, 1000, 4000, 16000) if full else (250, 1000, 4000)
        return grid(T=sizes, order=("random", "given")) + grid(T=_SMALL, order="all")

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        rows = _rows(unit["T"])
        best = _smallest_loss(rows)
        if unit["order"] == "all":
            orders = sorted(set(itertools.permutations(map(tuple, rows.tolist()))))
            regrets = [self._loss(np.array(order)) - best for order in orders]
            twins = [_twin(np.array(order)) - best for order in orders]
            yield {
                **unit,
                "play": 0,
                "regret": float(np.mean(regrets)),
                "twin": float(np.mean(twins)),
            }
            return
        generator = np.random.default_rng(seed)
        for play in range(20 if unit["order"] == "random" else 2):
            ordered = (
                self.shuffle(generator, rows) if unit["order"] == "random" else self.listed(rows)
            )
            yield {**unit, "play": play, "regret": self._loss(ordered) - best}

    def _loss(self, rows: Floats) -> float:
        return _descend(rows, self.step, self.gradient, self.clip)

    def verdict(self, rows: Rows) -> Verdict:
        random = matching(rows, order="random")
        in_order = matching(rows, order="given")
        sizes = levels(random, "T")
        bound = _SLOPE**2 / (2 * _ALPHA)
        checks, share = means_at_most(random, ["T"], lambda T: bound * (1 + math.log(T)))
        slow = growth(
            "at most", sizes, [select(random, "regret", T=T) for T in sizes],
            [math.log(T) for T in sizes],
        )  # fmt: skip
        fast = growth(
            "at least", sizes, [select(in_order, "regret", T=T) for T in sizes],
            [math.sqrt(T) for T in sizes],
        )  # fmt: skip
        worst = [float(select(in_order, "regret", T=T).mean()) for T in sizes]
        linear = exact(worst[-1] > bound * (1 + math.log(sizes[-1])))
        exact_rows = matching(rows, order="all")
        off = max(abs(row["regret"] - row["twin"]) for row in exact_rows)
        mean = float(select(random, "regret", T=sizes[-1]).mean())
        measured = (
            f"random order {mean:.1f} at T = {sizes[-1]} ({share:.2f} of the bound at most), given "
            f"order {worst[-1]:.0f}; over all orders of {_SMALL} rows off by {off:.0e}"
        )
        all_checks = [*checks, slow, fast, linear, exact(off < ROUNDING)]
        return self.verdict_from(all_checks, measured, "O(log T / α)")

    def chart(self, rows: Rows) -> Chart:
        bands = [
            mean_band(rows, f"{order} order", "T", "regret", order=order)
            for order in ("random", "given")
        ]
        bound = _SLOPE**2 / (2 * _ALPHA)
        lines = reference_lines(
            levels(rows, "T", order="random"),
            {"G²(1 + ln T)/(2α)": lambda T: bound * (1 + math.log(T))},
        )
        return self.make_chart("regret", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"shuffle": lambda _, rows: rows},
            "steps 1/(αT)": {"step": lambda _: 1 / (_ALPHA * 4000)},
            "steps 1": {"step": lambda _: 1.0},
            "gradient with the wrong sign": {
                "gradient": lambda b, c, x: -b - 2 * c * (x - _CENTRE)
            },
            "curvature left out of the gradient": {"gradient": lambda b, *_: b},
            "half of the interval": {"clip": lambda x: min(0.5, max(-0.5, x))},
            "given order is shuffled": {
                "listed": lambda rows: np.random.default_rng(0).permutation(rows)
            },
        }
