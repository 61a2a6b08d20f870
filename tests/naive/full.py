"""Naive twins of the full-feedback learners, in 50-digit decimals straight from the formulas of their sources."""

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

Row = Sequence[float]
DIGITS = Context(prec=50, Emin=MIN_EMIN, Emax=MAX_EMAX)
NOTHING = Decimal("1e-40")


class Twin:
    """What all twins share: the number of actions, the horizon, the parameters, and the rows seen."""

    def __init__(self, k: int, T: int, **parameters: Any) -> None:
        self.k, self.T = k, T
        vars(self).update(parameters)
        self.rows: list[list[Decimal]] = []

    def acted(self, action: int) -> None:
        """Full feedback: what was played does not matter."""

    def observe(self, row: Row, t: int = 0) -> None:
        self.rows.append([Decimal(float(loss)) for loss in row])


class FollowTheLeader(Twin):
    """All actions with the smallest total."""

    def best(self) -> set[int]:
        return argmin(self.k, self.rows)


class BirthdayTest(Twin):
    """Action 0 up to and including the first loss off the grid or seen before; then the leader of later rows."""

    grid: int | None = None

    def best(self) -> set[int]:
        points: list[int] = []
        grid = self.grid or self.T
        for t, row in enumerate(self.rows):
            scaled = Fraction(row[0]) * grid
            on_grid = [i for i in range(1, grid + 1) if abs(scaled - i) <= Fraction(1, 10**6)]
            if not on_grid or on_grid[0] in points:
                return argmin(self.k, self.rows[t + 1 :])
            points.append(on_grid[0])
        return {0}


class FixedAction(Twin):
    """Always the same action."""

    action = 0

    def best(self) -> set[int]:
        return {self.action}


class Uniform(Twin):
    """Always 1/k."""

    def mix(self) -> list[float]:
        return [1 / self.k] * self.k


class Hedge(Twin):
    """w_a proportional to exp(-rate L_a), rate = sqrt(8 ln k / T) or as given."""

    rate: float | None = None

    def mix(self) -> list[float]:
        with localcontext(DIGITS):
            rate = (
                (8 * Decimal(self.k).ln() / self.T).sqrt()
                if self.rate is None
                else Decimal(self.rate)
            )
            return [float(w) for w in weights(sums(self.k, self.rows), rate)]


class HedgeAnytime(Twin):
    """w_a proportional to exp(-rate L_a), rate = 2 sqrt(ln k / t) in round t without delay."""

    def mix(self) -> list[float]:
        with localcontext(DIGITS):
            rate = 2 * (Decimal(self.k).ln() / (len(self.rows) + 1)).sqrt()
            return [float(w) for w in weights(sums(self.k, self.rows), rate)]


class AdaHedge(Twin):
    """Rate kappa ln k / Delta, where Delta sums delta_t = h_t - m_t over the rows."""

    kappa = 2.0

    def rate(self, delta: Decimal) -> Decimal | None:
        """Infinite before there is any gap."""
        plain = rate(self.k, delta)
        return None if plain is None else Decimal(self.kappa) * plain

    def mix(self) -> list[float]:
        with localcontext(DIGITS):
            delta = Decimal(0)
            for t in range(len(self.rows)):
                delta += mixability_gap(self.k, self.rows[:t], self.rows[t], self.rate(delta))
            return [float(w) for w in weights(sums(self.k, self.rows), self.rate(delta))]


class FlipFlop(Twin):
    """Two regimes with a Delta each.

    Flip: infinite rate, while Delta_flip <= (phi/alpha) Delta_flop.
    Flop: rate ln k / Delta_flop, while Delta_flop <= alpha Delta_flip.
    """

    def mix(self) -> list[float]:
        phi, alpha = Decimal("2.37"), Decimal("1.243")
        with localcontext(DIGITS):
            flip, flop, flipping = Decimal(0), Decimal(0), True
            for t in range(len(self.rows)):
                now = None if flipping else rate(self.k, flop)
                delta = mixability_gap(self.k, self.rows[:t], self.rows[t], now)
                if flipping:
                    flip += delta
                    flipping = flip <= phi / alpha * flop
                else:
                    flop += delta
                    flipping = flop > alpha * flip
            return [
                float(w)
                for w in weights(sums(self.k, self.rows), None if flipping else rate(self.k, flop))
            ]


def sums(k: int, rows: list[list[Decimal]]) -> list[Decimal]:
    """L_a: the total loss of every action."""
    with localcontext(DIGITS):
        return [sum((row[a] for row in rows), Decimal(0)) for a in range(k)]


def argmin(k: int, rows: list[list[Decimal]]) -> set[int]:
    """The actions whose total is the smallest, within 1e-9."""
    totals = sums(k, rows)
    return {a for a in range(k) if totals[a] <= min(totals) + Decimal("1e-9")}


def rate(k: int, delta: Decimal) -> Decimal | None:
    """ln k / Delta; None stands for an infinite rate."""
    return None if delta < NOTHING else Decimal(k).ln() / delta


def weights(totals: list[Decimal], eta: Decimal | None) -> list[Decimal]:
    """w_a = exp(-eta L_a) / sum_b exp(-eta L_b), and its limit for an infinite rate."""
    if eta is None:
        unscaled = [Decimal(int(total == min(totals))) for total in totals]
    else:
        unscaled = [(-eta * total).exp() for total in totals]
    return [w / sum(unscaled) for w in unscaled]


def mixability_gap(
    k: int, before: list[list[Decimal]], row: list[Decimal], eta: Decimal | None
) -> Decimal:
    """delta = h - m, with h = w . l and m = -1/eta ln sum_a w_a exp(-eta l_a).

    For an infinite rate, m = L*_t - L*_{t-1}.
    """
    totals = sums(k, before)
    w = weights(totals, eta)
    h = sum((w[a] * row[a] for a in range(k)), Decimal(0))
    if eta is None:
        m = min(sums(k, [*before, row])) - min(totals)
    else:
        m = -sum((w[a] * (-eta * row[a]).exp() for a in range(k)), Decimal(0)).ln() / eta
    return h - m if h - m > NOTHING else Decimal(0)
