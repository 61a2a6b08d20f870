"""Naive twins of the folder evidence: a few lines each, from the sources, and slow."""

import math
from itertools import pairwise
from typing import Any


def left(m: Any, values: Any, i: Any, N: Any) -> Any:
    """Return the mean of the unseen rows of a pool with mean m, before value i is drawn."""
    return m if N == math.inf else (N * m - sum(values[:i])) / (N - i)


def gains(n: Any, N: Any) -> Any:
    """Return N / (N - i) for i = 0..n-1."""
    return [1.0 if N == math.inf else N / (N - i) for i in range(n)]


def guesses(values: Any) -> Any:
    """Return the regularised mean and variance before every value (Waudby-Smith and Ramdas 2024)."""
    means = [(0.5 + sum(values[:i])) / (i + 1) for i in range(len(values))]
    squares = [(x - m) ** 2 for x, m in zip(values, means, strict=True)]
    return means, [(0.25 + sum(squares[:i])) / (i + 1) for i in range(len(values))]


def bets(values: Any, N: Any, level: Any) -> Any:
    """Return the bets before they are capped."""
    _, variances = guesses(values)
    g = gains(len(values), N)
    return [
        g[i]
        * math.sqrt(
            2
            * math.log(2 / level)
            / (variances[i] * sum(x * x for x in g[: i + 1]) * math.log(i + 2))
        )
        for i in range(len(values))
    ]


def intersect(ends: Any, values: Any, N: Any) -> Any:
    """Return the running intersection of intervals with each other and with the certain range."""
    low, high = 0.0, 1.0
    for n, (a, b) in enumerate(ends, start=1):
        seen = 0.0 if N == math.inf else sum(values[:n]) / N
        most = 1.0 if N == math.inf else seen + (N - n) / N
        low, high = max(low, a, seen), min(high, b, most)
    return low, high


def hoeffding_sequence(values: Any, N: Any, level: Any) -> Any:
    """Robbins' mixture for sum g_i (x_i - m_i), which is linear in m; tuned for 100 values."""
    g = gains(len(values), N)
    twice = 2 * math.log(1 / level)
    r = 25 / (twice + math.log(1 + twice))
    ends = []
    for n in range(1, len(values) + 1):
        at = [sum(g[i] * (values[i] - left(m, values, i, N)) for i in range(n)) for m in (0.0, 1.0)]
        V = sum(x * x for x in g[:n]) / 4
        reach = math.sqrt((V + r) * (twice + math.log(1 + V / r)))
        fall = at[0] - at[1]
        ends.append(((at[0] - reach) / fall, (at[0] + reach) / fall))
    return intersect(ends, values, N)


def bernstein_sequence(values: Any, N: Any, level: Any) -> Any:
    """Waudby-Smith and Ramdas 2020: sum b_i (x_i - m_i) stays below ln(2 / level) + costs, and its mirror image."""
    means, _ = guesses(values)
    b = [min(0.5, bet) for bet in bets(values, N, level)]
    ends = []
    for n in range(1, len(values) + 1):
        at = [sum(b[i] * (values[i] - left(m, values, i, N)) for i in range(n)) for m in (0.0, 1.0)]
        cost = sum((values[i] - means[i]) ** 2 * (-math.log(1 - b[i]) - b[i]) for i in range(n))
        reach, fall = math.log(2 / level) + cost, at[0] - at[1]
        ends.append(((at[0] - reach) / fall, (at[0] + reach) / fall))
    return intersect(ends, values, N)


def variance(values: Any, m: Any = None) -> Any:
    """Return the variance with a pseudo-value; with m that under the hypothesis "the mean is m"."""
    n = len(values)
    means = [(0.5 + sum(values[:i])) / (i + 1) for i in range(n + 1)]
    v = (0.25 + sum((x - mean) ** 2 for x, mean in zip(values, means[:n], strict=True))) / (n + 1)
    if m is None:
        return v
    return v * min(max(m * (1 - m) / (means[n] * (1 - means[n])), 0.25), 1)


def bets_against(m: Any, top: Any, values: Any, N: Any, v: Any) -> Any:
    """Return the bets of the four strategies against mean m; `top` is the largest mean bet against."""
    n, S = len(values), sum(values)
    g = 1.0 if N == math.inf else N / (N - n)
    gap = max((S - n * m) / (n + 30), 0.2 * math.sqrt(v) * math.sqrt(30 / (n + 30)))
    wished = [g * gap / (v + gap**2)] + [g * c / math.sqrt(v) for c in (0.35, 0.125, 0.04)]
    return [min(bet, 0.95 / max(left(top, values, n, N), 1e-12)) for bet in wished]


def within_reach(m: Any, values: Any, v: Any) -> Any:
    """Return whether a mean is less than two standard errors above the estimate."""
    n, S = len(values), sum(values)
    return m < (0.5 + S) / (n + 1) + 2 * math.sqrt(v / (n + 1))


def multiplied(wealths: Any, m: Any, top: Any, values: Any, x: Any, N: Any, v: Any) -> Any:
    """Return the four wealths against m after the next value x."""
    bets = bets_against(m, top, values, N, v)
    return [
        w * (1 + b * (x - left(m, values, len(values), N)))
        for w, b in zip(wealths, bets, strict=True)
    ]


def total_wealth(wealths: Any) -> Any:
    """Return the weighted wealth of the four strategies."""
    return wealths[0] / 2 + sum(wealths[1:]) / 6


def bet_wealth(m: Any, values: Any, N: Any) -> Any:
    """Return the wealth against "the mean is at most m" after every value; infinite when that is impossible."""
    wealths, found = [1.0] * 4, []
    for n, x in enumerate(values):
        v = variance(values[:n], m)
        if within_reach(m, values[:n], v):
            wealths = multiplied(wealths, m, m, values[:n], x, N, v)
        sure = N != math.inf and sum(values[: n + 1]) / N > m + 1e-9
        found.append(math.inf if sure else total_wealth(wealths))
    return found


def betting_floors(values: Any, N: Any, level: Any, ceilings: Any, size: Any) -> Any:
    """Return the largest refuted mean after every value, on a grid of `size` that is refined when
    half empty.

    `ceilings` are the upper ends of the interval before every value.
    """
    cells, floor, found = [((j + 1) / size, [1.0] * 4) for j in range(size)], 0.0, []
    for n, x in enumerate(values):
        past, v = values[:n], variance(values[:n])
        near = sum(within_reach(m, past, v) for m, _ in cells)
        active = min(near + 1, len(cells))
        top = cells[active - 1][0] if cells else 1.0
        cells = [
            (m, multiplied(wealths, m, top, past, x, N, v) if j < active else wealths)
            for j, (m, wealths) in enumerate(cells)
        ]
        while cells and (
            cells[0][0] < sum(values[: n + 1]) / N or total_wealth(cells[0][1]) >= 2 / level
        ):
            floor = cells.pop(0)[0]
        while len(cells) > 2 and cells[-2][0] >= ceilings[n]:
            cells.pop()
        if 0 < 2 * len(cells) <= size and cells[-1][0] - floor > 1e-9:
            lower = [floor] + [m for m, _ in cells[:-1]]
            pairs = [
                [((a + m) / 2, wealths), (m, wealths)]
                for a, (m, wealths) in zip(lower, cells, strict=True)
            ]
            cells = [cell for pair in pairs for cell in pair]
        found.append(floor)
    return found


def ranks(values: Any, rng: Any) -> Any:
    """Return the smoothed rank of every value among those before it and itself, in 256 bins."""
    bins = [int(x * 255 + 0.5) for x in values]
    return [
        (sum(b < bins[i] for b in bins[:i]) + rng[i] * sum(b == bins[i] for b in bins[: i + 1]))
        / (i + 1)
        for i in range(len(values))
    ]


def order_wealth(
    ranked: Any, strategies: Any, mixing_rate: Any, warmup: Any, third: Any = 1 / 3
) -> Any:
    """Return the total wealth after every rank; strategies with a rate bet on their running mean."""
    wealths, totals, means, side = (
        [share for _, _, share, *_ in strategies],
        [],
        [0.0] * len(strategies),
        0.0,
    )
    for n, p in enumerate(ranked, start=1):
        off, slower = p - 0.5, 1.0 if n <= warmup else warmup / n
        payoffs = [
            off,
            off * side,
            12 * off**2 - 1,
            -math.log(p) - 1,
            -math.log(1 - p) - 1,
            (p > 2 / 3) - third,
            (p < 1 / 3) - third,
        ]
        all_, hand, new = sum(wealths), mixing_rate * slower, []
        for w, memory, (kind, stake, share, rate, _, _) in zip(
            wealths, means, strategies, strict=True
        ):
            if rate:
                stake = (
                    min(max(12 * memory, -1.9), 1.9)
                    if kind == 0
                    else min(max(4.5 * memory, -1.425), 1.425)
                )
            new.append(((1 - hand) * w + hand * all_ * share) * (1 + stake * payoffs[int(kind)]))
        for j, (kind, _, _, rate, least, turn) in enumerate(strategies):
            forgets = max(rate * slower, least)
            means[j] = turn * ((1 - forgets) * means[j] + forgets * payoffs[int(kind)])
        wealths, side = new, 1.0 if off > 0 else -1.0
        totals.append(sum(wealths))
    return totals


def order_statistic(values: Any) -> Any:
    """Return the larger exponent of a list: of its CUSUM as a Brownian bridge, of its first ten autocorrelations."""
    n, mean = len(values), sum(values) / len(values)
    off = [x - mean for x in values]
    square = sum(x * x for x in off)
    if square / n <= 1e-18:
        return 0.0
    furthest = max(abs(sum(off[: i + 1])) for i in range(n))
    found = [
        sum(off[i] * off[i - lag] for i in range(lag, n)) / square for lag in range(1, min(11, n))
    ]
    Q = n * (n + 2) * sum(r * r / (n - lag) for lag, r in enumerate(found, start=1))
    tail = math.exp(-Q / 2) * sum(
        (Q / 2) ** i / math.factorial(i) for i in range(5)
    )  # of chi-square, ten degrees
    return max(2 * furthest**2 / square - math.log(2), -math.log(tail))


def rank_among(own: Any, others: Any, limit: Any) -> Any:
    """Return the share of statistics >= `own`, itself counted; limit / l once `limit` of l are."""
    found = 0
    for done, other in enumerate(others, start=1):
        found += other >= own - 1e-9
        if found == limit:
            return limit / done
    return (found + 1) / (len(others) + 1)


def renumber(order: Any, rule: Any) -> Any:
    """Number the rounds in which a rule plays 1, 2, ... and the others T, T-1, ..., and return the rows by number."""
    played: list[Any] = []
    passed: list[Any] = []
    for t, row in enumerate(order):
        (played if rule(order[:t]) else passed).append(row)
    return tuple(played + passed[::-1])


def decreasing(values: Any) -> Any:
    """Return whether the values do not increase."""
    return all(a >= b for a, b in pairwise(values))
