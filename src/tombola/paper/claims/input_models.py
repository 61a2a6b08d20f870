"""Claims about input models: Theorems A.1, B.1 and C.1.

C.1 (L918), concentration (Hoeffding 1963, Serfling 1974): for 0/1 pools the mean of s rows is
hypergeometric, so every probability is a finite sum. For all pools of N rows and all s: the printed
tail 2 exp(-s x^2) at every deviation (valid, but wider than needed by sqrt(2), erratum 48), and the
intervals of `tombola.evidence` at four levels.

A.1 (L844), distance from mixtures of i.i.d. draws (Diaconis and Freedman 1980): their norm is twice
the total variation distance; the paper prints their constant for the total variation distance, and
an error term as large as the main term (erratum 46). For users: the miss probabilities of an
interval on fresh samples and on the list differ by at most the distance.

B.1 (L885): i.i.d. <= random order <= adversarial for every learner, computed exactly on small
inputs, and played: on the worst pool the mean over orders is the exact value.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from tombola._play import play
from tombola._types import Floats, Seed
from tombola.evidence import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.lab.exact import Regrets, worst_case
from tombola.learners import UCB1, FollowTheLeader, Hedge
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Outcome, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.rows import Row, Rows, distinct, levels, matching, select
from tombola.report.chart import Chart, Line
from tombola.rng import repetition_seeds

# Absolute tolerance in comparisons of a mean in [0, 1] with the end of an interval: far above
# rounding errors, below the distance 1/N of two means.
_ROUNDING = 1e-12
# Class of confidence intervals of `tombola.evidence`: (rows of the pool, miss probability, number
# of columns) -> object with `extend(rows)`, `lows` and `highs`.
_Intervals: TypeAlias = Callable[[float, float, int], Any]
# Levels (miss probabilities) of the intervals that C.1 tests.
_LEVELS = (0.5, 0.2, 0.05, 0.01)
# Level of the intervals in the chart of C.1, and of the interval of A.1.
_SHOWN = 0.05
# Confidence intervals by name.
_KINDS: dict[str, _Intervals] = {
    "hoeffding": Hoeffding,
    "serfling": Serfling,
    "bernstein": EmpiricalBernsteinSerfling,
}
# Distribution of the ones among the first rows (C.1: by rows N and rows seen s) or of the red balls
# among 2k draws from 2n balls (A.1: by n and k).
_Law: TypeAlias = Callable[[int, int], Floats]
# Limit of n/k times the distance between 2k draws without and with replacement from 2n balls, by
# Diaconis and Freedman (1980), in their norm: twice the total variation distance.
DISTANCE_CONSTANT = math.sqrt(2 / (math.pi * math.e))
# Values of n/k in A.1.
_SHARES = (10, 100, 1000)
# Largest k for which the interval of A.1 is computed: it takes time k^2.
_MAX_INTERVAL_DRAWS = 300


def _intervals_by_ones(interval: _Intervals, population: float, seen: int, level: float) -> Any:
    """Return intervals of a 0/1 mean: entry j for j ones among the rows seen."""
    confidence = interval(population, level, seen + 1)
    confidence.extend((np.arange(seen)[:, None] < np.arange(seen + 1)).astype(np.float64))
    return confidence


def _with_half_radius(interval: _Intervals) -> _Intervals:
    """Return a constructor of intervals with half the radius: a fault."""
    # The radius is proportional to sqrt(ln(2 / level)), so a larger level halves it.
    return lambda population, level, actions: interval(
        population, min(0.999, 2 * (level / 2) ** 0.25), actions
    )


def _ones_in_random_order(N: int, s: int, ones: Any = None) -> Floats:
    """Return the distribution of the ones among s of N rows in random order.

    ones: number of ones in the pool; None is one row of the result for each number from 0 to N.
    """
    from scipy.stats import hypergeom

    return np.asarray(
        hypergeom.pmf(np.arange(s + 1), N, np.arange(N + 1)[:, None] if ones is None else ones, s)
    )


def _ones_with_replacement(N: int, s: int, ones: Any = None) -> Floats:
    """Return the same as `_ones_in_random_order` for s draws with replacement."""
    from scipy.stats import binom

    return np.asarray(
        binom.pmf(np.arange(s + 1), s, (np.arange(N + 1)[:, None] if ones is None else ones) / N)
    )


def _deviation_tails(law: Floats, N: int, s: int) -> tuple[Floats, Floats]:
    """Return the deviations of all 0/1 pools of N rows, and their exact tails."""
    # Both have the shape of `law`. A deviation is |mean of s rows - mean of the pool|; a tail is
    # P(a deviation at least as large).
    ones = np.arange(N + 1)[:, None]
    seen = np.arange(s + 1)[None, :]
    deviations = np.abs(seen * N - ones * s)  # integers, so that ties are exact
    reached = deviations[:, None, :] >= deviations[:, :, None]
    return deviations / (N * s), np.einsum("kij,kj->ki", reached, law)


def _largest_excess(exact: Floats, exponents: Floats) -> float:
    """Return the largest probability / (2 exp(-exponent)), above 1 for a violated bound."""
    # It is computed in logarithms to avoid underflow.
    possible = exact > 0
    logs = np.log(exact[possible]) - math.log(2) + exponents[possible]
    return math.exp(min(700.0, float(logs.max())))


def _reds_without_replacement(n: int, k: int) -> Floats:
    """Return P(j red) in 2k draws from n red and n black balls, shape (2k + 1,)."""
    return _ones_in_random_order(2 * n, 2 * k, n)


def _reds_with_replacement(n: int, k: int) -> Floats:
    """Return the same as `_reds_without_replacement` for draws with replacement."""
    return _ones_with_replacement(2 * n, 2 * k, n)


def _total_variation(one: Floats, other: Floats) -> float:
    """Return the total variation distance of two distributions on the same values."""
    return math.fsum(np.abs(one - other)) / 2


def replacement_distance(n: int, k: int) -> float:
    """Return the total variation distance of 2k draws without and with replacement.

    The distributions are those of the red balls among 2k draws from n red and n black balls.

    >>> round(replacement_distance(100, 1) * 100, 3)
    0.251
    """
    return _total_variation(_reds_without_replacement(n, k), _reds_with_replacement(n, k))


def _least_distance(law: Floats, n: int, k: int) -> float:
    """Return a lower bound on the distance to any mixture of i.i.d. draws."""
    # It is the difference on the event that separates both distributions. A mixture gives the event
    # at most the largest probability under one binomial distribution, over p in 0, 1/200, .., 1.
    from scipy.stats import binom

    event = np.flatnonzero(law > _reds_with_replacement(n, k))
    most = max(float(binom.pmf(event, 2 * k, p).sum()) for p in np.linspace(0, 1, 201))
    return float(law[event].sum()) - most


class DeFinetti(Claim, name="de-finetti", expected="holds as corrected"):
    """Distance of draws without and with replacement: about 0.242 k/n.

    Title: How far a shuffled list is from fresh samples
    Source: Theorem A.1 (L844)
    Statement: 2k draws without replacement from n red and n black balls are √(2/(πe)) k/n away from
        every mixture of i.i.d. draws, in total variation, as n grows.
    Meaning: The first few rows of a long shuffled list look like fresh samples; the difference
        grows with the share of the list seen. Guarantees for samples may fail on the list, but only
        late.
    Limits: Passes if, for k ≥ 100 and k/n ≤ 1/100, the exact distance is the printed constant times
        k/n, or half of it (the corrected constant), up to a relative error of 1/k + k/n; if no
        mixture of i.i.d. draws is nearer; and if a confidence interval at level 5 % misses at most
        5 % of the lists, and differs on i.i.d. samples by at most the distance.
    Alt: With more draws the scaled distance settles at half of the printed constant.
    """

    law: _Law = component(_reds_without_replacement)
    norm: Callable[[Floats, Floats], float] = component(_total_variation)
    interval: _Intervals = component(Serfling)

    def units(self, *, full: bool) -> list[Unit]:
        counts = (1, 2, 5, 10, 30, 100, 300, 1000, *((3000, 10_000) if full else ()))
        return [{"k": k, "n": share * k} for k in counts for share in _SHARES]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        n = unit["n"]
        k = unit["k"]
        law = self.law(n, k)
        replaced = _reds_with_replacement(n, k)
        row = {**unit, "distance": self.norm(law, replaced), "least": _least_distance(law, n, k)}
        if k <= _MAX_INTERVAL_DRAWS:
            ends = _intervals_by_ones(self.interval, 2 * n, 2 * k, _SHOWN)
            outside = (ends.lows > 0.5 + _ROUNDING) | (ends.highs < 0.5 - _ROUNDING)
            row |= {
                "on_list": float(law[outside].sum()),
                "on_samples": float(replaced[outside].sum()),
            }
        return [row]

    def verdict(self, rows: Rows) -> Verdict:
        far = [row for row in rows if row["k"] >= 100 and row["n"] >= 100 * row["k"]]
        scaled = [row["distance"] * row["n"] / row["k"] for row in far]
        omitted = [1 / row["k"] + row["k"] / row["n"] for row in far]
        tried = [row for row in rows if row["k"] <= _MAX_INTERVAL_DRAWS]
        unbeaten = bool((select(rows, "least") >= select(rows, "distance") - 1e-9).all())
        missed = float(select(tried, "on_list").max())
        gaps = np.abs(select(tried, "on_samples") - select(tried, "on_list")) - select(
            tried, "distance"
        )
        measured = (
            f"n/k times the distance is {min(scaled):.4f} to {max(scaled):.4f} for k ≥ 100, k/n "
            "≤ 1/100; "
            f"{'no' if unbeaten else 'a'} mixture is nearer; an interval at 5 % misses "
            f"{100 * missed:.3g} % of lists"
        )
        texts = (
            f"{DISTANCE_CONSTANT:.4f} k/n + O(k/n)",
            f"{DISTANCE_CONSTANT / 2:.4f} k/n + o(k/n) as k → ∞",
        )
        sound = [
            pvalues.exact(ok) for ok in (unbeaten, missed <= _SHOWN, float(gaps.max()) <= _ROUNDING)
        ]
        printed, corrected = (
            all(
                abs(value / constant - 1) <= most
                for value, most in zip(scaled, omitted, strict=True)
            )
            for constant in (DISTANCE_CONSTANT, DISTANCE_CONSTANT / 2)
        )
        outcome: Outcome = "holds" if printed else "holds as corrected"
        return self.verdict_from(
            [*sound, pvalues.exact(printed or corrected)], measured, *texts, outcome=outcome
        )

    def chart(self, rows: Rows) -> Chart:
        scaled = [
            {**row, "share": row["n"] // row["k"], "scaled": row["distance"] * row["n"] / row["k"]}
            for row in rows
        ]
        bands = [
            exact_column(scaled, f"k/n = 1/{share}", "k", "scaled", share=share)
            for share in _SHARES
        ]
        constants = {
            "printed: √(2/πe)": DISTANCE_CONSTANT,
            "corrected: half of it": DISTANCE_CONSTANT / 2,
        }
        curves = {name: lambda _, value=value: value for name, value in constants.items()}
        lines = reference_lines(levels(rows, "k"), curves)
        return self.make_chart(
            "n/k × total variation distance", bands, lines, x_label="pairs of draws, k", log="x"
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle: red first": {"law": lambda n, k: np.eye(2 * k + 1)[min(n, 2 * k)]},
            "draws with replacement": {"law": _reds_with_replacement},
            "twice as many balls": {"law": lambda n, k: _reds_without_replacement(2 * n, k)},
            "the norm of Diaconis and Freedman": {
                "norm": lambda law, other: 2 * _total_variation(law, other)
            },
            "half of Serfling's radius": {"interval": _with_half_radius(Serfling)},
        }


# The learner of B.1 that is also played on its worst pools.
_PLAYED = "follow the leader"
_LEARNERS: dict[str, Learner] = {_PLAYED: FollowTheLeader(), "Hedge": Hedge(), "UCB1": UCB1()}
# All rows of two losses 0 or 1.
_ROW_KINDS = list(itertools.product([0.0, 1.0], repeat=2))
# Input model -> text of the chart.
_MODELS = {"iid": "i.i.d. draws", "random": "random order", "adversarial": "adversarial order"}
# Tolerance of inequalities between exact values.
_REGRET_ROUNDING = 1e-9


class Hierarchy(Claim, name="hierarchy", expected="holds", alpha=5e-4):
    """Worst-case regrets over all inputs with two actions and losses 0 or 1.

    Title: Three models of the same rows
    Source: Theorem B.1 (L885)
    Statement: Every learner's worst regret on i.i.d. rows is at most its worst in random order, and
        that at most its worst in adversarial order.
    Meaning: A shuffled list is easier than its worst order, and not quite as easy as fresh samples.
        A guarantee for the worst order always holds for a shuffled list; a guarantee for fresh
        samples need not.
    Limits: Passes if both inequalities hold between the exact worst regrets of every learner at
        every T from 1 to 6 (8 in a full run), and if the mean regret of follow the leader over
        plays of its worst pool does not differ from the exact one (two-sided t-test).
    Alt: The worst regret in random order lies between that on i.i.d. rows and that in adversarial
        order.
    """

    exact: Callable[..., Regrets] = component(worst_case)
    order: OrderLike = "random"

    def units(self, *, full: bool) -> list[Unit]:
        horizons = range(1, 9 if full else 7)
        plays = 4000 if full else 500
        return [
            unit
            for name in _LEARNERS
            for unit in grid(learner=name, T=horizons, plays=plays * (name == _PLAYED))
        ]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        about = {"learner": unit["learner"], "T": unit["T"]}
        learner = _LEARNERS[unit["learner"]]
        regrets = self.exact(learner, _ROW_KINDS, unit["T"])
        rows: list[Row] = [
            {
                **about,
                "kind": "exact",
                **{model: float(getattr(regrets, model)) for model in _MODELS},
            }
        ]
        for child in repetition_seeds(seed, unit["plays"]):
            trace = play(learner, regrets.random_input, order=self.order, seed=child)
            rows.append({**about, "kind": "play", "regret": trace.expected_regret})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        exact = matching(rows, kind="exact")
        played = matching(rows, kind="play")
        gaps = [(row["random"] - row["iid"], row["adversarial"] - row["random"]) for row in exact]
        ordered = [min(gap) >= -_REGRET_ROUNDING for gap in gaps]
        strict = sum(min(gap) > _REGRET_ROUNDING for gap in gaps)
        agree = [
            pvalues.mean_equals(
                select(played, "regret", **where), select(exact, "random", **where)[0]
            )
            for where in (
                dict(zip(("learner", "T"), at, strict=True))
                for at in distinct(played, "learner", "T")
            )
        ]
        measured = (
            f"both inequalities in {sum(ordered)} of {len(exact)} exact comparisons up to T = "
            f"{levels(exact, 'T')[-1]}, both strict in {strict}; plays "
            f"{'differ' if self.any_rejected(agree) else 'agree'}"
        )
        checks = [*map(pvalues.exact, ordered), *agree]
        return self.verdict_from(checks, measured, "i.i.d. ≤ random order ≤ adversarial")

    def chart(self, rows: Rows) -> Chart:
        name = rows[0]["learner"]
        mine = matching(rows, kind="exact", learner=name)
        bands = [exact_column(mine, words, "T", model) for model, words in _MODELS.items()]
        return self.make_chart("worst expected regret, exact", bands, log="", subtitle=f": {name}")

    def faults(self) -> dict[str, Overrides]:
        def wrong(change: Callable[[Regrets], Regrets]) -> Overrides:
            return {"exact": lambda *inputs: change(self.exact(*inputs))}

        return {
            "no shuffle": {"order": "given"},
            "draws with replacement": {"order": "iid"},
            "i.i.d. taken for random order": wrong(
                lambda r: r._replace(iid=r.random, random=r.iid)
            ),
            "random taken for adversarial order": wrong(
                lambda r: r._replace(random=r.adversarial, adversarial=r.random)
            ),
            "a comparator that is not the best": wrong(
                lambda r: r._replace(adversarial=r.adversarial - 1.0)
            ),
        }


class Concentration(Claim, name="concentration", expected="holds"):
    """Tail probability of the sample mean and coverage of intervals, all 0/1 pools.

    Title: How well the first rows estimate the mean of the list
    Source: Theorem C.1 (L918)
    Statement: The mean of s rows in random order differs from the mean of the list by x or more
        with probability at most 2 exp(−s x²).
    Meaning: For every list, the rows seen so far estimate its mean up to a known radius, which
        shrinks to 0 at the end of the list. Hoeffding's original radius is the printed one divided
        by √2.
    Limits: Passes if, for every 0/1 pool of 1 to 100 rows and every s, the exact probability of a
        difference x or more is at most 2 exp(−s x²) for all x, and every confidence interval misses
        the mean of the list with an exact probability of at most its level. Nothing is sampled.
    Alt: The exact radius lies below Serfling's, and Serfling's below Hoeffding's and the printed
        one; the first two shrink to 0 as all rows are seen.
    """

    law: _Law = component(_ones_in_random_order)
    rate: float = 1.0  # factor in the exponent of the printed tail
    intervals: Mapping[str, _Intervals] = component(_KINDS)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(N=(1, 2, 3, 5, 10, 20, 50, 100, 200) if full else (1, 2, 3, 5, 10, 20, 50, 100))

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        N = unit["N"]
        for s in range(1, N + 1):
            law = self.law(N, s)
            deviations, exact = _deviation_tails(law, N, s)
            row: dict[str, Any] = {
                "N": N,
                "s": s,
                "printed": _largest_excess(exact, self.rate * s * deviations**2),
            }
            means = np.arange(N + 1)[:, None] / N
            for name, interval in self.intervals.items():
                row[name] = 0.0  # largest miss probability over all pools, in units of the level
                for level in _LEVELS:
                    ends = _intervals_by_ones(interval, N, s, level)
                    outside = (means < ends.lows - _ROUNDING) | (means > ends.highs + _ROUNDING)
                    row[name] = max(
                        row[name], float(np.where(outside, law, 0.0).sum(axis=1).max()) / level
                    )
                intervals = _intervals_by_ones(interval, N, s, _SHOWN)
                row[f"{name}_radius"] = float((intervals.highs - intervals.lows).max()) / 2
            row["printed_radius"] = math.sqrt(math.log(2 / _SHOWN) / (self.rate * s))
            yield {**row, "exact_radius": float(np.where(exact > _SHOWN, deviations, 0.0).max())}

    def verdict(self, rows: Rows) -> Verdict:
        worst = {name: float(select(rows, name).max()) for name in self.intervals}
        printed = float(select(rows, "printed").max())
        measured = (
            f"largest probability over the printed bound {printed:.3f}; misses of the intervals "
            "over their level "
            + (", ".join(f"{name} {value:.2f}" for name, value in worst.items()))
        )
        words = ("2 exp(−s x²)", "2 exp(−2 s x²)")
        outcome: Outcome = "holds" if printed <= 1 else "refuted as printed"
        return self.verdict_from(
            [pvalues.exact(max(worst.values()) <= 1)], measured, *words, outcome=outcome
        )

    def chart(self, rows: Rows) -> Chart:
        N = levels(rows, "N")[-1]
        names = {
            "exact": "exact, worst pool",
            "serfling": "Serfling",
            "printed": "printed",
            "hoeffding": "Hoeffding",
        }
        exact, serfling, *others = (
            exact_column(rows, words, "s", f"{name}_radius", N=N) for name, words in names.items()
        )
        bands = (exact, serfling)
        lines = [Line(other.name, other.x, other.middle) for other in others]
        return self.make_chart(
            "radius at 5 %", bands, lines, x_label=f"rows seen, s (of N = {N})", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle: ones first": {
                "law": lambda N, s: np.eye(s + 1)[np.minimum(np.arange(N + 1), s)]
            },
            "draws with replacement": {"law": _ones_with_replacement},
            "half of Hoeffding's radius": {
                "intervals": {**self.intervals, "hoeffding": _with_half_radius(Hoeffding)}
            },
            "half of Serfling's radius": {
                "intervals": {**self.intervals, "serfling": _with_half_radius(Serfling)}
            },
            "a pool taken for half its size": {
                "intervals": {
                    **self.intervals,
                    "serfling": lambda N, *rest: Serfling(max(N // 2, rest[1] - 1), *rest),
                }
            },
            "the exponent 4 s x²": {"rate": 4.0},
        }
