"""Claims about the birthday test: Lemma 3.1, Theorem 3.2, and Section 4.

The test plays action 0 until one of its losses repeats, in round tau, and then follows the leader.

Lemma 3.1 (L215) is stated for large T and holds for every T (erratum 4). Of all laws on the T
losses the uniform one has the largest mean: E[tau] is the sum of n! e_n(p), and elementary
symmetric polynomials are Schur-concave.

Section 4 (L262): training for block i draws 2^i times from 2^i different rows, so tau is
distributed as on i.i.d. draws, and action 0 is played in a share (tau + 1) / 2^i of the block. tau
does not depend on the losses of the block, so the expected regret in random order is a finite sum,
about 1.51 sqrt(T).
"""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tombola import bounds, instances
from tombola._compare import compare
from tombola._play import play
from tombola._types import Floats, Seed
from tombola.learners import BirthdayTest, FixedAction, FollowTheLeader, LemmaSchedule, Simulation
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.rows import Row, Rows, distinct, levels, select
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
    """Return E[tau] for i.i.d. draws with these weights, exactly."""
    # It is the sum over n of P(the first n draws differ) = n! e_n(p), with e_n the elementary
    # symmetric polynomial.
    symmetric = [Fraction(1)] + [Fraction(0)] * len(weights)
    for weight in weights:
        for n in range(len(weights), 0, -1):
            symmetric[n] += symmetric[n - 1] * Fraction(weight, sum(weights))
    return sum((math.factorial(n) * value for n, value in enumerate(symmetric)), Fraction(0))


def _partitions(total: int, parts: int) -> Iterator[list[int]]:
    """Yield all decreasing lists of `parts` integers, 0 or more, that sum to `total`."""
    every = itertools.combinations_with_replacement(range(total, -1, -1), parts)
    return (list(law) for law in every if sum(law) == total)


class Birthday(
    Claim, name="birthday", expected="holds", alpha=5e-4, verdict_only=("mean", "bound", "law_mean")
):
    """Mean of tau, the round in which the birthday test stops: exactly and in plays.

    Title: The birthday lemma
    Source: Lemma 3.1 (L215)
    Statement: On i.i.d. rows the birthday test stops after at most 2 √T rounds, on average.
    Meaning: Draw from T different rows with replacement, and some row soon repeats, like birthdays
        in a classroom. A learner can use this to detect i.i.d. draws. In a shuffled list every row
        comes once.
    Limits: Passes if the exact mean, a finite sum, is at most 2 √T; if the mean over plays does not
        differ from it (two-sided t-test), also for two distributions of the losses that are not
        uniform; and if no distribution with probabilities j/12, j an integer, has a larger exact
        mean than the uniform one.
    Alt: The measured round in which the test stops lies on its exact mean, below 2 √T at every
        horizon.
    """

    test: Callable[[int], Learner] = component(BirthdayTest)
    order: OrderLike = "iid"
    mean: Callable[[int], float] = component(bounds.birthday_mean)
    bound: Callable[[int], float] = component(bounds.birthday)
    law_mean: Callable[[list[int]], Fraction] = component(
        _mean_of_law
    )  # from the weights of the losses

    def units(self, *, full: bool) -> list[Unit]:
        plays = 4000 if full else 400
        uniform = grid(T=[4**i for i in range(2, 8 if full else 7)], plays=plays)
        return uniform + grid(T=64, plays=plays, law=[law for law in _LAWS if law != _UNIFORM])

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        T = unit["T"]
        law = unit.get("law", _UNIFORM)
        # Four times or more: enough rounds for the test to stop.
        rows = Pool(np.tile(np.repeat(instances.birthday(T).losses, _LAWS[law](T), axis=0), (4, 1)))
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            actions = play(self.test(T), rows, order=self.order, seed=child).actions
            # Action 1 has no loss and the test restarts from scratch, so the play leaves action 0
            # exactly two rounds after tau, which is at most T + 3.
            yield {"T": T, "law": law, "play": r, "tau": int(np.argmax(actions != 0)) - 1}

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T", law=_UNIFORM)
        worst = max(self.mean(T) / self.bound(T) for T in at)
        agree = [
            pvalues.mean_equals(select(rows, "tau", T=T, law=_UNIFORM), self.mean(T)) for T in at
        ]
        for T, law in distinct([row for row in rows if row["law"] != _UNIFORM], "T", "law"):
            exact_mean = float(self.law_mean(_LAWS[law](T)))
            agree.append(pvalues.mean_equals(select(rows, "tau", T=T, law=law), exact_mean))
        even = []  # whether the uniform law is the only one with the largest mean
        for T in _FEW_LOSSES:
            means = [(self.law_mean(law), law) for law in _partitions(_DENOMINATOR, T)]
            largest = max(means)[0]
            even.append(
                [law for mean, law in means if mean == largest] == [[_DENOMINATOR // T] * T]
            )
        even += [
            pvalues.ROUNDING > abs(float(self.law_mean([1] * T)) - self.mean(T))
            for T in _FEW_LOSSES
        ]
        words = "differ from it" if self.any_rejected(agree) else "agree with it"
        measured = (
            f"exact mean at most {worst:.2f} of 2 √T; plays {words}; the uniform law is the only "
        )
        measured += (
            f"maximiser for {sum(even[: len(_FEW_LOSSES)])} of {len(_FEW_LOSSES)} numbers of losses"
        )
        return self.verdict_from(
            [*agree, pvalues.exact(all(even)), pvalues.exact(worst <= 1)], measured, "2 √T"
        )

    def chart(self, rows: Rows) -> Chart:
        bands = [mean_band(rows, "measured", "T", "tau", law=_UNIFORM)]
        lines = reference_lines(
            levels(rows, "T", law=_UNIFORM), {"2 √T": self.bound, "exact": self.mean}
        )
        return self.make_chart("round in which the test stops", bands, lines)

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


# Leads of action 1 in units of 1/sqrt(T): the hardest i.i.d. input is near 1.
_LEADS = (-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 4.0)
# Name of the i.i.d. input in which action 1 never loses; an alternative to a lead.
_ZERO = "zero"


def _iid_input(T: int, lead: float | str) -> Pool:
    """Return an i.i.d. input as a pool to draw from.

    Action 0 has the losses 1/T, .., T/T; action 1 has losses of 0 or 1.

    lead: action 1 is better by lead / sqrt(T) on average; "zero" for losses that are all 0.
    """
    losses = np.array(instances.birthday(T).losses)
    if not isinstance(lead, str):
        ones = round(T * ((T + 1) / (2 * T) - lead / T**0.5))
        losses[:, 1] = np.arange(T) * 7919 % T < ones  # spread over the losses of action 0
    return Pool(losses)


def _pool_with_repeat(T: int) -> Pool:
    """Return the birthday pool with 1/2 twice, first in the list, and without 1/T."""
    losses = np.arange(2, T + 1) / T
    rest = losses[losses != 0.5]
    return Pool(np.column_stack([np.concatenate([[0.5, 0.5], rest]), np.zeros(T)]))


def _repeat_mean(T: int) -> float:
    """Return the exact regret of the test on `_pool_with_repeat(T)`; T is even."""
    # The second 1/2 comes in round m with probability 2 (m - 1) / (T (T - 1)); action 0 is played
    # until round m + 1.
    m = np.arange(2, T + 1)
    others = float(_pool_with_repeat(T).losses[2:, 0].sum()) / (
        T - 2
    )  # the mean of the losses that come once
    return float(np.sum(2 * (m - 1) / (T * (T - 1)) * (1.0 + (np.minimum(m + 1, T) - 2) * others)))


class Separation(Claim, name="separation", expected="holds", alpha=5e-4, verdict_only=("bound",)):
    """Regret of the birthday test on i.i.d. inputs, and T/2 in random order.

    Title: One learner, one pool: i.i.d. draws and random order
    Source: Theorem 3.2 (L256)
    Statement: The birthday test has regret O(√(T log T)) on every i.i.d. input, and linear regret
        on some pool in random order.
    Meaning: A learner that works on fresh samples can fail on a shuffled list of the same rows. A
        guarantee for i.i.d. data does not apply to a shuffled list unless it is proved for random
        order.
    Limits: Passes if the mean regret on the worst of eight i.i.d. inputs, chosen on half of the
        plays and tested on the others, is at most 2 √T + 1 + √(2 ln 2) Σ 1/√n, n = 1 to T (t-test);
        if the regret in random order is (T+1)/2 in every play; and if, on a pool in which one loss
        comes twice, the mean regret does not differ from its exact value (two-sided t-test).
    Alt: In random order the regret grows in proportion to T; on the worst i.i.d. input like √T.
    """

    test: Callable[[int], Learner] = component(BirthdayTest)
    iid: OrderLike = "iid"
    order: OrderLike = "random"
    # On every i.i.d. input (L257): E[tau] rounds, then those of following the leader.
    bound: Callable[[int], float] = component(
        lambda T: bounds.birthday(T) + bounds.follow_the_leader_iid(T, 2)
    )

    def units(self, *, full: bool) -> list[Unit]:
        return grid(T=[2**i for i in range(8, 19 if full else 16, 2)], plays=200 if full else 80)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        T = unit["T"]
        pools: dict[str, Pool] = {f"iid {lead}": _iid_input(T, lead) for lead in (_ZERO, *_LEADS)}
        pools |= {"birthday": instances.birthday(T), "twice": _pool_with_repeat(T)}
        for (kind, pool), child in zip(
            pools.items(), repetition_seeds(seed, len(pools)), strict=True
        ):
            order = self.iid if kind.startswith("iid") else self.order
            plays = 3 * unit["plays"] if kind == "twice" else unit["plays"]
            runs = compare(
                pool,
                {"test": self.test(pool.rows)},
                order,
                repetitions=plays,
                relabel=False,
                seed=child,
            )
            for r, regret in enumerate(runs.regrets("test")):
                yield {"T": T, "kind": kind, "play": r, "regret": float(regret)}

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        hard = {T: worst_iid(rows, T) for T in at}
        share = max(float(regrets.mean()) / self.bound(T) for T, (_, regrets) in hard.items())
        off = max(
            float(np.abs(select(rows, "regret", T=T, kind="birthday") - (T + 1) / 2).max())
            for T in at
        )
        pair = {T: select(rows, "regret", T=T, kind="twice") for T in at}
        checks = [
            *(pvalues.mean_at_most(hard[T][1], self.bound(T)) for T in at),
            *(pvalues.mean_equals(pair[T], _repeat_mean(T)) for T in at),
            pvalues.exact(off <= 1e-9 * at[-1]),
        ]
        last = at[-1]
        measured = (
            f"on the worst i.i.d. input at most {share:.2f} of the bound; in random order (T+1)/2"
            f"{', exactly' if off <= 1e-9 * last else f' is off by {off:.3g}'}, "
            f"and {pair[last].mean() / last:.3f} T with one loss twice (exact "
            f"{_repeat_mean(last) / last:.3f} T)"
        )
        return self.verdict_from(checks, measured, "√(T log T) against T")

    def chart(self, rows: Rows) -> Chart:
        at = levels(rows, "T")
        worst_rows = [
            {"T": T, "regret": float(value)} for T in at for value in worst_iid(rows, T)[1]
        ]
        bands = (
            mean_band(rows, "random order", "T", "regret", kind="birthday"),
            mean_band(rows, "random order, one loss twice", "T", "regret", kind="twice"),
            mean_band(worst_rows, "worst i.i.d. input", "T", "regret"),
        )
        lines = reference_lines(at, {"bound on i.i.d. inputs": self.bound})
        return self.make_chart("regret of the birthday test", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "draws for the shuffle": {"order": "iid"},
            "a shuffle for the draws": {"iid": "random"},
            "no test": {"test": lambda _: FollowTheLeader()},
            "a test that never fires": {"test": lambda _: FixedAction(0)},
            "a grid with one point less": {"test": lambda T: BirthdayTest(T - 1)},
            "a twentieth of the bound": {"bound": lambda T: self.bound(T) / 20},
        }


def worst_iid(rows: Rows, T: int) -> tuple[str, Floats]:
    """Return the worst i.i.d. input, and its regrets in the second half of its plays.

    The worst one has the largest mean regret in the first half of its plays, so that the second is
    an independent test.

    rows: measurements of `Separation`, with columns T, kind (name of the input; i.i.d. ones begin
        with "iid"), play and regret.

    >>> worst_iid([{"T": 2, "kind": kind, "play": r, "regret": x + r} for kind, x in (("iid a", 1), ("iid b", 3))
    ...     for r in range(4)], 2)
    ('iid b', array([5., 6.]))
    """
    kinds = [kind for kind in levels(rows, "kind", T=T) if kind.startswith("iid")]
    plays = sorted(rows, key=lambda row: int(row["play"]))
    regrets: dict[Any, Floats] = {kind: select(plays, "regret", T=T, kind=kind) for kind in kinds}
    hardest = max(kinds, key=lambda kind: float(regrets[kind][: regrets[kind].size // 2].mean()))
    return hardest, regrets[hardest][regrets[hardest].size // 2 :]


def _mean_plays_of_test(n: int) -> float:
    """Return E min(tau + 1, n): plays of action 0 in n rounds of training on n rows."""
    going = np.concatenate([[1.0, 1.0], np.cumprod(1 - np.arange(n) / n)])[
        :n
    ]  # P[tau + 1 > t], t = 0 .. n-1
    return float(going.sum())


def _exact_regret(T: int) -> float:
    """Return the exact regret of the repaired test on the birthday pool; T = 2^i."""
    played = 1.0 + sum(_mean_plays_of_test(2**i) for i in range(T.bit_length() - 1))
    return (T + 1) / (2 * T) * played


class Repair(Claim, name="repair", expected="holds", alpha=5e-4, verdict_only=("mean",)):
    """Regret of Simulation(BirthdayTest) against its exact mean, 1.51 sqrt(T).

    Title: Simulation repairs what random order broke
    Source: Section 4, the template (L262-L290)
    Statement: Trained on its own past in i.i.d. order, the test has regret of order √T in random
        order.
    Meaning: Past rows can be drawn again with replacement. A learner for i.i.d. data can be trained
        on these draws, and its actions there are then played on the shuffled list.
    Limits: Passes if the mean regret over plays does not differ from its exact value, a finite sum
        (two-sided t-test), for T = 256 to 16,384, and if that exact value is at most 2 √T.
    Alt: Shuffled, the birthday test has regret T/2; with Simulation it runs along its exact mean,
        like √T.
    """

    learner: Callable[[int], Learner] = component(
        lambda T: Simulation(BirthdayTest(grid=T), LemmaSchedule())
    )
    order: OrderLike = "random"
    mean: Callable[[int], float] = component(_exact_regret)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(
            T=[2**i for i in range(8, 19 if full else 15, 1 if full else 2)],
            plays=400 if full else 200,
        )

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        pool = instances.birthday(unit["T"])
        learners = {"repaired": self.learner(unit["T"])}
        runs = compare(
            pool, learners, self.order, repetitions=unit["plays"], relabel=False, seed=seed
        )
        regrets = runs.regrets("repaired", expected=True)
        return [
            {"T": unit["T"], "play": r, "regret": float(regret)} for r, regret in enumerate(regrets)
        ]

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        agree = [pvalues.mean_equals(select(rows, "regret", T=T), self.mean(T)) for T in at]
        worst = max(self.mean(T) / T**0.5 for T in at)
        ratios = [float(select(rows, "regret", T=T).mean()) / T**0.5 for T in at]
        measured = (
            f"regret / √T between {min(ratios):.3f} and {max(ratios):.3f}, exact mean at T = "
            f"{at[-1]} "
            + (
                f"{self.mean(at[-1]) / at[-1] ** 0.5:.3f}; plays "
                f"{'differ' if self.any_rejected(agree) else 'agree'}"
            )
        )
        return self.verdict_from([*agree, pvalues.exact(worst <= 2)], measured, "√T")

    def chart(self, rows: Rows) -> Chart:
        without = "shuffled, without: (T+1)/2"
        inside = "exact mean with Simulation"
        bands = [mean_band(rows, "shuffled, with Simulation", "T", "regret")]
        lines = reference_lines(
            levels(rows, "T"), {without: lambda T: (T + 1) / 2, inside: self.mean}
        )
        return self.make_chart("regret of the birthday test", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "no Simulation": {"learner": BirthdayTest},
            "training in which nothing repeats": {
                "learner": lambda _: Simulation(FixedAction(0), LemmaSchedule())
            },
            "the grid of the block": {
                "learner": lambda _: Simulation(BirthdayTest(), LemmaSchedule())
            },
            "no test": {"learner": lambda _: Simulation(FollowTheLeader(), LemmaSchedule())},
            "a constant of 1.25": {"mean": lambda T: 1.25 * T**0.5},
        }
