"""Lemma 3.1 (L215): the birthday test stops early on i.i.d. input.

The round tau in which it stops has E[tau] <= 2 sqrt(T). The lemma is stated for large T and holds for every T (erratum
4). The expectation is a finite sum, computed exactly here, and estimated by playing the test on i.i.d. draws. The lemma
is about all i.i.d. laws on the T losses. The uniform law has the largest mean: E[tau] is the sum of n! e_n(p), and
elementary symmetric polynomials are Schur-concave. This is computed exactly over all laws with probabilities j/12, and
two other laws are played.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tombola import bounds, instances
from tombola._play import play
from tombola._types import Seed
from tombola.learners import BirthdayTest, FollowTheLeader
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import mean_band, reference_lines
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Denominator of the laws that are enumerated.
_DENOMINATOR = 12
# Numbers of losses of the laws that are enumerated: divisors of the denominator.
_FEW_LOSSES = (2, 3, 4, 6)
# Key of the uniform law in `_LAWS`.
_UNIFORM = "uniform"
# Weights of the T losses; the uniform law is played at all horizons, the others at one.
_LAWS: dict[str, Callable[[int], list[int]]] = {
    _UNIFORM: lambda T: [1] * T,
    "half on one": lambda T: [T - 1] + [1] * (T - 1),
    "rising": lambda T: list(range(1, T + 1)),
}


def _mean_of_law(weights: list[int]) -> Fraction:
    """Return E[tau] for i.i.d. draws with these weights, exactly.

    tau is the first round whose draw has come before. E[tau] is the sum over n of P(the first n draws differ) = n!
    e_n(p), with e_n the elementary symmetric polynomial.

    >>> _mean_of_law([1, 1]), _mean_of_law([2, 0]), float(_mean_of_law([1] * 16)) == bounds.birthday_mean(16)
    (Fraction(5, 2), Fraction(2, 1), True)
    """
    symmetric = [Fraction(1)] + [Fraction(0)] * len(weights)
    for weight in weights:
        for n in range(len(weights), 0, -1):
            symmetric[n] += symmetric[n - 1] * Fraction(weight, sum(weights))
    return sum((math.factorial(n) * value for n, value in enumerate(symmetric)), Fraction(0))


def _partitions(total: int, parts: int, largest: int | None = None) -> Iterator[list[int]]:
    """Yield all decreasing lists of `parts` integers, 0 or more, that sum to `total`.

    >>> list(_partitions(3, 2))
    [[3, 0], [2, 1]]
    """
    most = total if largest is None else min(total, largest)
    if parts == 1:
        yield from [[total]] if total <= most else []
        return
    for first in range(most, -1, -1):
        yield from ([first, *rest] for rest in _partitions(total - first, parts - 1, first))


@dataclass(frozen=True)
class Birthday(Claim, name="birthday", expected="holds", alpha=5e-4, verdict_only=("mean", "bound", "law_mean")):
    """Mean of tau, the round in which the birthday test stops: at most 2 sqrt(T).

    The mean is computed exactly and measured in plays.

    T = 16 to 4,096 losses, all different (16,384 in a full run).

    Fields, which faults replace: test (function from the horizon T to the learner), order (order of the rows, argument
    of `play`), mean (function from T to the exact mean of tau), bound (function from T to the limit of that mean),
    law_mean (function from the weights of the losses to the exact mean of tau on i.i.d. draws).

    Title: The birthday lemma
    Source: Lemma 3.1 (L215)
    Statement: On i.i.d. rows the birthday test stops after at most 2 √T rounds, on average.
    Meaning: Draw from T different rows with replacement, and some row soon repeats, like birthdays in a classroom.
        A learner can use this to detect i.i.d. draws. In a shuffled list every row comes once.
    Limits: Passes if the exact mean, a finite sum, is at most 2 √T; if the mean over plays does not differ from it
        (two-sided t-test), also for two distributions of the losses that are not uniform; and if no distribution with
        probabilities j/12, j an integer, has a larger exact mean than the uniform one.
    """

    test: Callable[[int], Learner] = component(BirthdayTest)
    order: OrderLike = "iid"
    mean: Callable[[int], float] = component(bounds.birthday_mean)
    bound: Callable[[int], float] = component(bounds.birthday)
    law_mean: Callable[[list[int]], Fraction] = component(_mean_of_law)

    def units(self, *, full: bool) -> list[Unit]:
        uniform: list[Unit] = [{"T": 4**i, "plays": 4000 if full else 400} for i in range(2, 8 if full else 7)]
        return uniform + [{"T": 64, "plays": 4000 if full else 400, "law": law} for law in _LAWS if law != _UNIFORM]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, law = unit["T"], unit.get("law", _UNIFORM)
        rows = _repeated_pool(T, _LAWS[law](T))
        taus = (
            _stopping_round(self.test(T), rows, self.order, child) for child in repetition_seeds(seed, unit["plays"])
        )
        return [{"T": T, "law": law, "play": r, "tau": tau} for r, tau in enumerate(taus)]

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T", law=_UNIFORM)
        worst = max(self.mean(T) / self.bound(T) for T in at)
        agree = [pvalues.mean_equals(select(rows, "tau", T=T, law=_UNIFORM), self.mean(T)) for T in at]
        for T, law in sorted({(row["T"], row["law"]) for row in rows if row["law"] != _UNIFORM}):
            exact_mean = float(self.law_mean(_LAWS[law](T)))
            agree.append(pvalues.mean_equals(select(rows, "tau", T=T, law=law), exact_mean))
        maximisers = {T: self._maximisers(T) for T in _FEW_LOSSES}
        even = [found == [[_DENOMINATOR // T] * T] for T, found in maximisers.items()]
        even += [pvalues.ROUNDING > abs(float(self.law_mean([1] * T)) - self.mean(T)) for T in _FEW_LOSSES]
        words = "differ from it" if self.any_rejected(agree) else "agree with it"
        measured = f"exact mean at most {worst:.2f} of 2 √T; plays {words}; the uniform law is the only "
        measured += f"maximiser for {sum(even[: len(_FEW_LOSSES)])} of {len(_FEW_LOSSES)} numbers of losses"
        return self.verdict_from([*agree, pvalues.exact(all(even)), pvalues.exact(worst <= 1)], measured, "2 √T")

    def _maximisers(self, T: int) -> list[list[int]]:
        """Return the laws on T losses with the largest mean.

        All laws with probabilities j/12 are tried.
        """
        means = [(self.law_mean(law), law) for law in _partitions(_DENOMINATOR, T)]
        largest = max(mean for mean, _ in means)
        return [law for mean, law in means if mean == largest]

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="round in which the test stops",
            bands=(mean_band(rows, "measured", "T", "tau", law=_UNIFORM),),
            lines=reference_lines(levels(rows, "T", law=_UNIFORM), {"2 √T": self.bound, "exact": self.mean}),
            alt="The measured round in which the test stops lies on its exact mean, below 2 √T at every horizon.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no test": {"test": lambda _: FollowTheLeader()},
            "a grid with one point less": {"test": lambda T: BirthdayTest(T - 1)},
            "no draws: rows as listed": {"order": "given"},
            "draws without replacement": {"order": "random"},
            "the mean as printed": {"mean": lambda T: self.mean(T) - 1},
            "the bound 1.25 √T": {"bound": lambda T: 1.25 * T**0.5},
            "the first repetition not counted": {"law_mean": lambda law: _mean_of_law(law) - 1},
            "every law taken for uniform": {"law_mean": lambda law: _mean_of_law([1] * len(law))},
        }


def _repeated_pool(T: int, weights: list[int]) -> Pool:
    """Return the rows of the birthday pool with these weights, several times.

    Four times or more: enough rounds for the test to stop.

    >>> _repeated_pool(2, [1, 1]).losses[:, 0].tolist()
    [0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0]
    """
    rows = np.repeat(instances.birthday(T).losses, weights, axis=0)
    return Pool(np.tile(rows, (4, 1)))


def _stopping_round(learner: Learner, rows: Pool, order: OrderLike, seed: Seed) -> int:
    """Return tau, the round in which the test stops, in one play.

    Action 1 has no loss and the test restarts from scratch, so the play leaves action 0 exactly two rounds after tau,
    which is at most T + 3.
    """
    trace = play(learner, rows, order=order, seed=seed)
    return int(np.argmax(trace.actions != 0)) - 1
