"""Theorem (paper L782): in random order ERM learns every class of finite VC dimension, and thresholds need no more.

In adversarial order Littlestone dimension decides, which is infinite for thresholds on the line.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tombola import LabelledPool, bounds
from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, band, levels, pick
from tombola.labels import ERM, AllLabellings, Thresholds, attack_thresholds
from tombola.playing import play
from tombola.report.chart import Chart, Line
from tombola.streams import repetitions
from tombola.types import Seed


def pools(horizon: int, rng: np.random.Generator) -> dict[str, LabelledPool]:
    """Return the pools of the claim: labels by a threshold, and labels by fair coins."""
    points = np.arange(horizon, dtype=np.float64)
    coins = rng.permutation(np.arange(horizon) % 2)
    return {
        "realizable": LabelledPool(points, (points >= horizon // 2).astype(int)),
        "coins": LabelledPool(points, coins),
    }


@dataclass(frozen=True)
class Classification(Claim):
    """ERM over thresholds: logarithmic or sqrt(T) regret in random order, a mistake a round in Littlestone order."""

    learner: Any = None

    name: ClassVar[str] = "classification"
    title: ClassVar[str] = "Shuffled, VC dimension is enough; in bad order, nothing is"
    source: ClassVar[str] = "Theorem 6 (L782)"
    statement: ClassVar[str] = (
        "In random order the empirical risk minimiser has regret at most 8 √(v T ln(T/v)), v the VC dimension."
    )
    meaning: ClassVar[str] = (
        "Label the rows of a shuffled list one by one, always by the rule that fits best so far. For thresholds on one "
        "number that costs a dozen mistakes on a million rows. The same rows in a malicious order cost a mistake each."
    )
    expected: ClassVar[Outcome] = "holds as corrected"

    def units(self, *, full: bool) -> list[Unit]:
        """Play at doubling horizons, and on the class of all labellings of 99 points."""
        count = 200 if full else 30
        return [*({"T": 4**i, "plays": count} for i in range(3, 10 if full else 8)), {"T": 100, "plays": 0}]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Count mistakes above the best hypothesis."""
        if unit["plays"] == 0:
            return [self._near_the_horizon(unit["T"], seed)]
        learner = ERM(Thresholds()) if self.learner is None else self.learner
        rows: list[Row] = []
        for repetition, child in enumerate(repetitions(seed, unit["plays"])):
            for kind, pool in pools(unit["T"], np.random.default_rng(child)).items():
                regret = play(learner, pool, seed=child).regret
                rows.append({"T": unit["T"], "kind": kind, "play": repetition, "regret": float(regret)})
        rounds = min(unit["T"], 1024)
        mistakes = attack_thresholds(learner, rounds, seed=seed).mistakes
        return [*rows, {"T": rounds, "kind": "bad order", "play": 0, "regret": float(mistakes)}]

    def _near_the_horizon(self, horizon: int, seed: Seed) -> Row:
        """All labellings of T - 1 points, all labels 1: ERM that guesses 0 is wrong on every new point."""
        pool = LabelledPool(np.minimum(np.arange(horizon), horizon - 2).astype(float), np.ones(horizon, int))
        regret = play(ERM(AllLabellings(horizon - 1)), pool, seed=seed).regret
        return {"T": horizon, "kind": "v = T - 1", "play": 0, "regret": float(regret)}

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for regret below the corrected bound everywhere, a mistake a round in bad order, and look at the printed one."""
        at = levels(rows, "T", kind="coins")
        coins = [float(pick(rows, "regret", T=T, kind="coins").mean()) / T**0.5 for T in at]
        easy = [float(pick(rows, "regret", T=T, kind="realizable").mean()) / np.log(T) for T in at]
        below = all(
            pick(rows, "regret", T=T, kind=kind).max() <= bounds.erm(T, 1)
            for T in at
            for kind in ("coins", "realizable")
        )
        attacked = all(pick(rows, "regret", T=T, kind="bad order")[0] == T for T in levels(rows, "T", kind="bad order"))
        near = pick(rows, "regret", kind="v = T - 1")[0]
        printed = bounds.erm_printed(100, 99)
        measured = (
            f"{easy[-1]:.2f} ln T mistakes with a threshold, {coins[-1]:.2f} √T with coins; "
            f"all labellings of 99 points, T = 100: {near:.0f} against a printed {printed:.1f}"
        )
        right = below and attacked and max(coins) < 1.5 and near <= bounds.erm(100, 99)
        outcome: Outcome = "refuted" if not right else "holds as corrected" if near > printed else "holds"
        return Verdict(outcome, measured, "8 √(v T ln(T/v))", "1 + π √(2 v T ln(eT/v))")

    def chart(self, rows: Rows) -> Chart:
        """Show mistakes above the best threshold."""
        at = levels(rows, "T", kind="coins")
        x = np.array(at, dtype=np.float64)
        bad = levels(rows, "T", kind="bad order")
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="mistakes above the best threshold",
            bands=(
                band(rows, "shuffled, coins", "T", "regret", kind="coins"),
                band(rows, "shuffled, threshold", "T", "regret", kind="realizable"),
            ),
            lines=(
                Line("bad order", np.array(bad, dtype=np.float64), np.array(bad, dtype=np.float64)),
                Line("corrected bound", x, np.array([bounds.erm(T, 1) for T in at])),
            ),
            alt="In bad order every round is a mistake; shuffled, mistakes grow like the square root or the logarithm of T.",
        )


@dataclass(frozen=True)
class UniformConvergence(Claim):
    """The largest error of any threshold's error rate, estimated from n of T rows, against the radius of the lemma."""

    factor: float = 1.0

    name: ClassVar[str] = "uniform-convergence"
    title: ClassVar[str] = "All rules at once, from a part of the list"
    source: ClassVar[str] = "Lemma 5 (L704)"
    statement: ClassVar[str] = (
        "After n of T shuffled rows, the error rates of all hypotheses are known at once, up to ½(√(8v ln(2en/v)/n) + √(8 ln(2/δ)/n))."
    )
    meaning: ClassVar[str] = (
        "Having seen part of a shuffled list, you may trust the error rate of every rule you could choose, not only of one "
        "chosen before. The printed radius does not follow from the paper's proof; the corrected one does, and a direct "
        "argument for finite lists gives a far smaller one."
    )
    expected: ClassVar[Outcome] = "holds as corrected"

    def units(self, *, full: bool) -> list[Unit]:
        """Take parts of a pool of 1024 rows."""
        return [
            {"n": n, "T": 1024, "plays": 20_000 if full else 1000, "delta": 0.05} for n in (16, 32, 64, 128, 256, 512)
        ]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Measure the largest deviation over all thresholds, on coin labels."""
        rng, T, n = np.random.default_rng(seed if isinstance(seed, int) else seed.spawn(1)[0]), unit["T"], unit["n"]
        labels = np.arange(T) % 2
        whole = deviations(labels, np.ones(T, bool))
        largest = []
        for _ in range(unit["plays"]):
            seen = np.zeros(T, bool)
            seen[rng.permutation(T)[:n]] = True
            largest.append(float(np.abs(deviations(labels, seen) - whole).max()))
        return [
            {"n": n, "T": T, "delta": unit["delta"], "play": i, "largest": value} for i, value in enumerate(largest)
        ]

    def verdict(self, rows: Rows) -> Verdict:
        """Count misses of the radii, and compare the printed one with what its proof gives."""
        misses, shares, smaller = 0.0, [], True
        for n in levels(rows, "n"):
            T, delta = int(pick(rows, "T", n=n)[0]), float(pick(rows, "delta", n=n)[0])
            largest = pick(rows, "largest", n=n)
            radius = self.factor * bounds.uniform_convergence(n, T, 1, delta)
            misses = max(misses, float((largest > radius).mean()) / delta)
            shares.append(float(np.quantile(largest, 1 - delta)) / radius)
            smaller = smaller and bounds.uniform_convergence_printed(
                n, 1, delta
            ) < bounds.uniform_convergence_corrected(n, 1, delta)
        measured = f"95 % quantile at most {max(shares):.2f} of the direct radius; misses at most {misses:.2f} of those allowed"
        if misses > 1.5:
            return Verdict("refuted", measured)
        outcome: Outcome = "holds as corrected" if smaller else "holds"
        return Verdict(outcome, measured, "½(√(8v ln(2en/v)/n) + …)", "√(4(v ln(2en/v) + ln(4/δ))/n)")

    def chart(self, rows: Rows) -> Chart:
        """Show the largest deviation under the three radii."""
        at = levels(rows, "n")
        x, T, delta = np.array(at, dtype=np.float64), int(rows[0]["T"]), float(rows[0]["delta"])
        radii = {
            "proved by the paper's route": [bounds.uniform_convergence_corrected(n, 1, delta) for n in at],
            "printed": [bounds.uniform_convergence_printed(n, 1, delta) for n in at],
            "direct": [bounds.uniform_convergence(n, T, 1, delta) for n in at],
        }
        return Chart(
            title=self.title,
            x_label="rows seen, n",
            y_label="largest error over all thresholds",
            bands=(band(rows, "measured mean", "n", "largest"),),
            lines=tuple(Line(name, x, np.array(values)) for name, values in radii.items()),
            alt="The measured largest error lies below the direct radius, which is far below the printed and the corrected one.",
        )


def deviations(labels: Any, seen: Any) -> Any:
    """Return the error rate of every threshold on the rows seen, rows in order of their feature."""
    ones, zeros = labels * seen, (1 - labels) * seen
    below = np.concatenate([[0], np.cumsum(ones)])
    above = zeros.sum() - np.concatenate([[0], np.cumsum(zeros)])
    return (below + above) / seen.sum()
