"""Theorem 5.3 (L775): ERM in random order, for finite VC dimension.

In adversarial order the Littlestone dimension decides, which is infinite for thresholds on the line. With labels by a
threshold, ERM errs on a point with label 0 if it is larger than all such points before it. In random order the j-th of
them is the largest so far with probability 1/j, so the mean number of mistakes is a harmonic number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola import bounds
from tombola._play import play
from tombola._types import Seed
from tombola.classification import (
    ERM,
    AllLabellings,
    Intervals,
    LabelLearner,
    LabelledPool,
    Thresholds,
    attack_thresholds,
)
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import mean_band, reference_lines
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Regret bound of ERM as printed and as corrected, for the verdict.
_WORDS = ("8 √(v T ln(T/v))", "1 + π √(2 v T ln(eT/v))")


def _labelled_pools(horizon: int, generator: np.random.Generator) -> dict[str, LabelledPool]:
    """Return the pools of the claim, by name.

    Labels are by a threshold, or in random order with half of them 1.
    """
    points = np.arange(horizon, dtype=np.float64)
    random_labels = generator.permutation(np.arange(horizon) % 2)
    return {
        "realizable": LabelledPool(points, (points >= horizon // 2).astype(int)),
        "random": LabelledPool(points, random_labels),
    }


def _mean_threshold_mistakes(T: int) -> float:
    """Return the mean mistakes of ERM on labels by a threshold: 1 + 1/2 + .. + 2/T.

    ERM with ties "first" predicts 1 above the largest 0 seen, so it errs when a 0 is a record. In round 1 it predicts 0
    and errs on a 1 instead, which is equally likely. T is even.

    >>> _mean_threshold_mistakes(4)
    1.5
    """
    return float(np.sum(1 / np.arange(1, T // 2 + 1)))


@dataclass(frozen=True)
class Classification(Claim, name="classification", expected="holds as corrected", alpha=5e-4, verdict_only=("bound",)):
    """Mistakes of ERM over thresholds in random order and in the worst order.

    Pools of T = 64 to 16,384 points on the line with two labels: random ones, and labels by a threshold. In the worst
    order an adversary chooses the next point after every prediction.

    Fields, which faults replace: learner (the learner under test), order (order of the rows, argument of `play`), delay
    (delay of the labels in rounds), bound (function from T and the VC dimension to the limit of the mean regret).

    Title: VC dimension is enough in random order, and not in the worst order
    Source: Theorem 5.3 (L775)
    Statement: In random order the empirical risk minimiser (ERM) has regret at most 8 √(v T ln(T/v)) on T rows, where v
        is the VC dimension of the class.
    Meaning: Label the rows of a shuffled list one by one, always by the rule that fits best so far. For
        thresholds on one number this makes a dozen mistakes on a million rows. In the worst order every row is a
        mistake.
    Limits: Passes if the mean regret is at most the corrected bound on both kinds of labels (t-test); if the mean
        number of mistakes with a threshold does not differ from its exact value, a harmonic number (two-sided t-test);
        if the adversary causes a mistake in every round; and if ERM over all labellings of 99 points makes exactly 99
        mistakes, at most the corrected bound.
    """

    learner: LabelLearner = component(ERM(Thresholds()))
    order: OrderLike = "random"
    delay: int = 0
    bound: Callable[[int, int], float] = component(bounds.erm)

    def units(self, *, full: bool) -> list[Unit]:
        count = 120 if full else 60
        return [*({"T": 4**i, "plays": count} for i in range(3, 10 if full else 8)), {"T": 100, "plays": 0}]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        if unit["plays"] == 0:
            return [self._near_the_horizon(unit["T"], seed)]
        rows: list[Row] = []
        for repetition, child in enumerate(repetition_seeds(seed, unit["plays"])):
            for kind, pool in _labelled_pools(unit["T"], np.random.default_rng(child)).items():
                regret = play(self.learner, pool, self.order, self.delay, seed=child).regret
                rows.append({"T": unit["T"], "kind": kind, "play": repetition, "regret": float(regret)})
        rounds = min(unit["T"], 1024)
        mistakes = attack_thresholds(self.learner, rounds, seed=seed).mistakes
        return [*rows, {"T": rounds, "kind": "bad order", "play": 0, "regret": float(mistakes)}]

    def _near_the_horizon(self, horizon: int, seed: Seed) -> Row:
        """Play all labellings of T - 1 points with labels 1.

        ERM predicts 0 on every new point.
        """
        pool = LabelledPool(np.minimum(np.arange(horizon), horizon - 2).astype(float), np.ones(horizon, int))
        regret = play(ERM(AllLabellings(horizon - 1)), pool, self.order, seed=seed).regret
        return {"T": horizon, "kind": "v = T - 1", "play": 0, "regret": float(regret)}

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T", kind="random")
        hard, easy = ({T: select(rows, "regret", T=T, kind=kind) for T in at} for kind in ("random", "realizable"))
        attacked = [row["regret"] == row["T"] for row in rows if row["kind"] == "bad order"]
        near, printed = float(select(rows, "regret", kind="v = T - 1")[0]), bounds.erm_printed(100, 99)
        checks = [
            *(pvalues.mean_at_most(hard[T], self.bound(T, 1)) for T in at),
            *(pvalues.mean_at_most(easy[T], self.bound(T, 1)) for T in at),
            *(pvalues.mean_equals(easy[T], _mean_threshold_mistakes(T)) for T in at),
            *map(pvalues.exact, attacked),
            pvalues.exact(near == 99 and near <= self.bound(100, 99)),
        ]
        last = at[-1]
        measured = (
            f"T = {last}: {easy[last].mean():.2f} mistakes with a threshold (exactly "
            f"{_mean_threshold_mistakes(last):.2f}), "
            f"{hard[last].mean() / last**0.5:.2f} √T with random labels; "
            f"all labellings of 99 points, T = 100: {near:.0f} against a printed {printed:.1f}"
        )
        return self.verdict_from(checks, measured, *_WORDS, outcome="holds as corrected" if near > printed else "holds")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="mistakes above the best threshold",
            bands=(
                mean_band(rows, "shuffled, random labels", "T", "regret", kind="random"),
                mean_band(rows, "shuffled, threshold", "T", "regret", kind="realizable"),
            ),
            lines=(
                *reference_lines(levels(rows, "T", kind="bad order"), {"bad order": float}),
                *reference_lines(levels(rows, "T", kind="random"), {"corrected bound": lambda T: self.bound(T, 1)}),
            ),
            alt="In the worst order every round is a mistake; in random order mistakes grow like √T or log T.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "labels that never come": {"delay": 10**6},
            "a class that is too rich": {"learner": ERM(Intervals())},
            "the bound as printed": {"bound": bounds.erm_printed},
        }
