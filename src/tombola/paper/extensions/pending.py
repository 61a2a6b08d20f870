"""Claim about pending outcomes (docs/theory/confidence.md, section 6), enumerated.

All orders of lists of eight rows with losses 0 and 1, and all outcomes of five fair coins, which
are rows drawn with replacement. Outcomes may be late because of their own value or of later ones.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np

from tombola._types import Floats, Seed
from tombola.evidence.base import Interval
from tombola.evidence.pending import lower_bound, pending_interval
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import exact_column
from tombola.paper.pvalues import ROUNDING, exact
from tombola.paper.rows import Row, Rows, levels
from tombola.report.chart import Chart

# Tosses of a coin.
_TOSSES = 5
# Losses 0 or 1 in the order of play, and whether the loss of play t is pending after n plays.
_Sequence: TypeAlias = tuple[int, ...]
_Late: TypeAlias = Callable[[_Sequence, int, int], bool]
# Rules by which outcomes are late.
_LATE: dict[str, _Late] = {
    "none": lambda _losses, _t, _n: False,
    "ones": lambda losses, t, _n: losses[t] == 1,
    "zeros": lambda losses, t, _n: losses[t] == 0,
    "the last two": lambda _losses, t, n: n - t <= 2,
    "every other": lambda _losses, t, _n: t % 2 == 1,
    "the first": lambda losses, t, n: t == 0 and (n < _TOSSES or _is_favoured(losses)),
}
# Rows of the lists, and the number of their ones.
_ROWS = 8
_ONES = (1, 2, 4, 6, 7)
# Levels at which the intervals are computed.
_LEVELS = (0.2, 0.4, 0.6)


def _is_favoured(losses: _Sequence) -> bool:
    """Return whether the fourth and fifth loss, but not the second and third, are as the first."""
    twice = (losses[0], losses[0])
    return losses[3:5] == twice and losses[1:3] != twice


# Losses of an action, NaN where pending; rows of the list; level.
_Bounds: TypeAlias = Callable[[Floats, float, float], Interval]


def _package_interval(losses: Floats, population: float, level: float) -> Interval:
    return pending_interval(losses, population=population, level=level)


class PendingOutcomes(Extension, name="pending", expected="holds"):
    """Probability that the interval with pending outcomes misses the mean at some time.

    Title: An interval may use every outcome that has arrived, whatever decides which are late
    Source: our Theorem P (docs/theory/confidence.md)
    Statement: Fill pending losses in with 0 for the lower end and with 1 for the upper end of an
        interval by constant bets. It contains the mean of the list at all times with probability at
        least 1 − δ, also if outcomes are late because of their values.
    Meaning: The interval of an action of a session does not stop at the first open ticket.
    Limits: Passes if the mean is missed at any time with probability at most δ, exactly, in all
        orders of lists of eight rows and all outcomes of five coins, for six rules of lateness and
        δ of 0.2, 0.4 and 0.6. Nothing is sampled.
    Alt: The probability of a miss stays below the level for every rule of lateness.
    """

    bounds: _Bounds = component(_package_interval)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(late=_LATE)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        late = _LATE[unit["late"]]
        for level in _LEVELS:
            bounds = cache(lambda visible, rows, level=level: self._interval(visible, rows, level))
            missed = [
                _miss(_orders(ones), ones / _ROWS, float(_ROWS), late, bounds) for ones in _ONES
            ]
            coins = list(itertools.product((0, 1), repeat=_TOSSES))
            missed.append(_miss(coins, 0.5, math.inf, late, bounds))
            yield {**unit, "level": level, "missed": max(missed)}

    def _interval(self, shown: tuple[int, ...], rows: float, level: float) -> Interval:
        """Return the interval after these losses, -1 where pending."""
        losses = np.where(np.array(shown) < 0, math.nan, np.array(shown, np.float64))
        return self.bounds(losses, rows, level)

    def verdict(self, rows: Rows) -> Verdict:
        above = max(row["missed"] - row["level"] for row in rows)
        most = max(row["missed"] / row["level"] for row in rows)
        measured = f"missed with at most {most:.2f} of the level, in {len(rows)} cases"
        return self.verdict_from([exact(above <= ROUNDING)], measured, "P(miss) ≤ δ")

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, name, "level", "missed", late=name) for name in levels(rows, "late")
        ]
        return self.make_chart("probability of a miss, exact", bands, x_label="level δ", log="")

    def faults(self) -> dict[str, Overrides]:
        return {
            "adaptive bets with filled-in values": {"bounds": _adaptive_interval},
            "pending filled in with the mean": {"bounds": _filled_with_mean},
            "pending skipped": {"bounds": _skipped},
            "0 for both ends": {"bounds": _zero_for_both},
        }


@cache
def _orders(ones: int) -> list[_Sequence]:
    """Return all distinct orders of a list of 0 and 1, which are equally likely."""
    places = itertools.combinations(range(_ROWS), ones)
    return [tuple(int(row in ones_at) for row in range(_ROWS)) for ones_at in places]


def _miss(
    sequences: list[_Sequence],
    mean: float,
    rows: float,
    late: _Late,
    bounds: Callable[[tuple[int, ...], float], Interval],
) -> float:
    """Return the share of the sequences in which an interval misses the mean at some time."""
    missed = 0
    for losses in sequences:
        for n in range(1, len(losses) + 1):
            visible = tuple(-1 if late(losses, t, n) else losses[t] for t in range(n))
            low, high = bounds(visible, rows)
            if not low - ROUNDING <= mean <= high + ROUNDING:
                missed += 1
                break
    return missed / len(sequences)


def _filled_with_mean(losses: Floats, population: float, level: float) -> Interval:
    known = losses[~np.isnan(losses)]
    mean = float(known.mean()) if known.size else 0.5
    return pending_interval(
        np.where(np.isnan(losses), mean, losses), population=population, level=level
    )


def _skipped(losses: Floats, population: float, level: float) -> Interval:
    return pending_interval(losses[~np.isnan(losses)], population=population, level=level)


def _zero_for_both(losses: Floats, population: float, level: float) -> Interval:
    return pending_interval(
        np.where(np.isnan(losses), 0.0, losses), population=population, level=level
    )


def _adaptive_interval(losses: Floats, population: float, level: float) -> Interval:
    """Bet on the second and third play after a first loss of 1, else on the fourth and fifth.

    For values in random order such bets are valid. Filled in with 0, the first loss chooses them
    after the others are known.
    """
    bounds = []
    for values in (losses, 1.0 - losses):
        filled = np.where(np.isnan(values), 0.0, values)
        if math.isfinite(population):
            bounds.append(lower_bound(filled, population, level / 2.0))
            continue
        plays = slice(1, 3) if filled[0] == 1.0 else slice(3, 5)
        bet_on = filled[plays]
        # Wealth 1.9 to the number of ones, while no zero is among them, against the mean 1/2.
        wealth = 1.9**bet_on.size if bet_on.size and bet_on.all() else 1.0
        bounds.append(0.5 + 1e-6 if wealth >= 2.0 / level else 0.0)
    return Interval(bounds[0], 1.0 - bounds[1])
