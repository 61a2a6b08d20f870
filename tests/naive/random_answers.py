"""Naive twins for random answers, in rational numbers; nothing is shared with the package."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

ONE = Fraction(1)
# Success probabilities in thirds, as expected losses.
THIRDS = tuple(Fraction(n, 3) for n in range(4))


def laws(rows: int) -> Iterator[tuple[tuple[Fraction, Fraction], ...]]:
    """Yield the expected losses of two candidates on all lists, in thirds."""
    kinds = list(itertools.product(THIRDS, repeat=2))
    yield from itertools.combinations_with_replacement(kinds, rows)


def mean_difference(law: Any) -> Fraction:
    return Fraction(sum((a - b for a, b in law), Fraction(0)), len(law))


def difference_law(cell: tuple[Fraction, Fraction]) -> dict[int, Fraction]:
    """Return the probabilities of the difference of two independent answers of 0 and 1."""
    a, b = cell
    return {1: a * (1 - b), 0: a * b + (1 - a) * (1 - b), -1: (1 - a) * b}


def limit(shift: Fraction, g: Sequence[Fraction]) -> Fraction:
    """Return the largest bet that keeps every factor nonnegative."""
    return 1 / (1 + shift + max(g) - sum(g, Fraction(0)) / len(g))


def shrunk_means(rows: int, past: Sequence[tuple[int, int]]) -> list[Fraction]:
    """Predict each row by half of the mean of its earlier differences; 0 without any."""
    g = []
    for row in range(rows):
        earlier = [d for drawn, d in past if drawn == row]
        g.append(Fraction(sum(earlier), 2 * len(earlier)) if earlier else Fraction(0))
    return g


def no_prediction(rows: int, past: Sequence[tuple[int, int]]) -> list[Fraction]:
    return [Fraction(0)] * rows


def fresh_wealth(
    law: Any,
    rounds: int,
    shift: Fraction,
    predict: Callable[..., list[Fraction]],
    mean: Callable[[list[Fraction], set[int]], Fraction] = lambda g, _: (
        sum(g, Fraction(0)) / len(g)
    ),
    largest_bet: Callable[..., Fraction] = limit,
) -> tuple[Fraction, Fraction]:
    """Return the expected wealth after rounds with replacement, and the least factor.

    The bet is the largest one allowed; `mean` is that of the predictions, by rows drawn before.
    """
    rows = len(law)
    least = [Fraction(10)]

    def value(past: list[tuple[int, int]], wealth: Fraction) -> Fraction:
        if len(past) == rounds:
            return wealth
        g = predict(rows, past)
        bet = largest_bet(shift, g)
        centre = mean(g, {row for row, _ in past})
        total = Fraction(0)
        for row in range(rows):
            for d, p in difference_law(law[row]).items():
                if p:
                    factor = 1 + bet * (d - g[row] + centre - shift)
                    least[0] = min(least[0], factor)
                    total += p / rows * value([*past, (row, d)], wealth * factor)
        return total

    return value([], ONE), least[0]


def pass_products(
    law: Any, passes: int, shift: Fraction, *, predicted: bool, largest_bet: Any = limit
) -> tuple[Fraction, Fraction]:
    """Return the expected product over whole passes with the largest bet, and the least factor."""
    rows = len(law)
    least = [Fraction(10)]
    outcomes = [[(d, p) for d, p in difference_law(cell).items() if p] for cell in law]

    def value(past: list[tuple[int, int]], done: int) -> Fraction:
        if done == passes:
            return ONE
        g = shrunk_means(rows, past) if predicted else no_prediction(rows, past)
        bet = largest_bet(shift, g)
        centre = sum(g) / rows
        total = Fraction(0)
        for chosen in itertools.product(*outcomes):
            factors = [1 + bet * (d - g[i] + centre - shift) for i, (d, _) in enumerate(chosen)]
            least[0] = min(least[0], *factors)
            probability = math.prod((p for _, p in chosen), start=ONE)
            now = [(i, d) for i, (d, _) in enumerate(chosen)]
            total += probability * math.prod(factors, start=ONE) * value(past + now, done + 1)
        return total

    return value([], 0), least[0]


def present_wealth(law: Any, bet: Fraction, *, grows: bool = True) -> Fraction:
    """Return the expected wealth for recorded answers, read as one for expected answers.

    Rows in random order, once each; the factor uses the sum of the differences seen, noise
    included. The bet is capped at its limit.

    grows: multiply the bet by N / rows left, as the race does; else it is constant.
    """
    rows = len(law)
    total = Fraction(0)
    for order in itertools.permutations(range(rows)):
        outcomes = [[(d, p) for d, p in difference_law(law[row]).items() if p] for row in order]
        for chosen in itertools.product(*outcomes):
            wealth, lead = ONE, Fraction(0)
            for i, (d, _) in enumerate(chosen):
                m = -lead / (rows - i)
                cap = 1 / (1 + m) if m > -1 else Fraction(10**6)
                if m < 1:
                    size = bet * rows / (rows - i) if grows else bet
                    wealth *= 1 + min(size, cap) * (d - m)
                lead += d
            total += wealth * math.prod((p for _, p in chosen), start=ONE)
    return total / math.factorial(rows)


def symmetric_mean(law: Any, count: int, bet: Fraction) -> Fraction:
    """Return the expected product over the first `count` rows of a random order."""
    factors = [1 + bet * (a - b) for a, b in law]
    chosen = list(itertools.combinations(factors, count))
    return sum((math.prod(part, start=ONE) for part in chosen), Fraction(0)) / len(chosen)


def wealth_of_passes(differences: Any, shift: float, shares: Any, predictions: Any) -> list[float]:
    """Return the mean over strategies of products, pass by pass, with explicit loops.

    shares: strategy -> pass -> share of the limit; predictions: strategy -> pass -> g by row.
    """
    wealth = []
    products = [1.0] * len(shares)
    for r, row_of_pass in enumerate(differences):
        for s in range(len(shares)):
            g = predictions[s][r]
            centre = sum(g) / len(g)
            bet = shares[s][r] / (1.0 + shift + max(g) - centre)
            for d, predicted in zip(row_of_pass, g, strict=True):
                products[s] *= 1.0 + bet * (d - predicted + centre - shift)
        wealth.append(sum(products) / len(products))
    return wealth
