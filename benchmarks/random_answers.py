"""Races, gates and passes on random answers: false claims for equal agents, and power.

    python benchmarks/random_answers.py [--repetitions 400] [--only equal|power|passes|rivals] [--rival evalsig]

Races are simulated many at a time; `check` compares their wealth with that of the package. Seeds are
fixed below: SEED plus the number of the cell. Every cell prints its share and standard error.
"""

import argparse
import math
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tombola.evidence.finished_runs import pass_wealth
from tombola.racing import RaceSettings
from tombola.racing.fresh_answers import FreshAnswers, next_fit
from tombola.racing.rules.bets import FRESH_WEIGHTS
from tombola.racing.side_information import SideInformation

SEED = 20261118
LEVEL = 0.05
WITHIN = 0.02
# Laws of the success probability of a row.
DIFFICULTY: dict[str, Any] = {
    "beta(.6, .4)": lambda rng, rows: rng.beta(0.6, 0.4, rows),
    "uniform": lambda rng, rows: rng.random(rows),
    "all 1/2": lambda _, rows: np.full(rows, 0.5),
}
# Runs of a row in the comparison with other tests.
RIVAL_RUNS = 5
EQUAL = [(89, 5), (500, 1), (500, 2)]
# rows, runs, law of the second candidate, gap, and share and calls of the trial of rows drawn with
# replacement and of whole passes, with 60 repetitions
POWER: list[tuple[int, int, str, float, tuple[float, float], tuple[float, float]]] = [
    (89, 5, "same", 0.10, (0.68, 583), (0.58, 730)),
    (89, 5, "same", 0.15, (1.0, 308), (0.92, 540)),
    (89, 5, "other", 0.10, (0.57, 672), (0.30, 810)),
    (89, 5, "other", 0.15, (0.92, 410), (0.77, 659)),
    (500, 2, "same", 0.05, (0.43, 1496), (0.32, 1867)),
    (500, 2, "same", 0.10, (0.98, 706), (0.90, 1450)),
    (500, 5, "other", 0.05, (0.72, 2969), (0.48, 4400)),
    (500, 5, "other", 0.10, (1.0, 1014), (1.0, 1917)),
]


def probabilities(rng: Any, rows: int, law: str, gap: float) -> Any:
    """Return success probabilities (rows, 2); the second candidate is better by the gap."""
    first = rng.beta(0.6, 0.4, rows)
    second = first.copy()
    if law == "other":
        moved = rng.permutation(rows)[: rows // 2]
        second[moved] = second[rng.permutation(moved)]
    return np.stack([first, np.minimum(second + gap, 1.0)], axis=1)


class Bettor:
    """One bettor of many races at once: "the mean difference is at most shift", d = sign (a - b)."""

    def __init__(self, races: int, sign: float, shift: float) -> None:
        self.sign, self.shift = sign, shift
        self.wealth = np.tile(
            np.array([FRESH_WEIGHTS[0], FRESH_WEIGHTS[4], FRESH_WEIGHTS[6]]), (races, 1)
        )
        self.squares = np.zeros(races)
        self.first = np.full(races, np.inf)


class Races:
    """Many races of two candidates on rows drawn with replacement: the arithmetic of `FreshAnswers`.

    `check` compares the wealth with that of the package. p: success probabilities (races, rows, 2).
    """

    def __init__(self, p: Any, bettors: list[Bettor], threshold: float, rounds: int) -> None:
        self.p, self.bettors, self.threshold, self.rounds = p, bettors, threshold, rounds
        shape = p.shape[:2]
        self.count, self.total, self.squares, self.g = (np.zeros(shape) for _ in range(4))
        self.lead, self.seen, self.residual, self.residual2 = (np.zeros(shape[0]) for _ in range(4))
        self.n, self.next_fit = 0, next_fit(0)

    def play(self, rng: Any) -> None:
        """Make all rounds; `first` of a bettor is the round at which it reaches the threshold."""
        races, rows = self.p.shape[:2]
        every = np.arange(races)
        for _ in range(self.rounds):
            row = rng.integers(rows, size=races)
            lost = rng.random((races, 2)) >= self.p[every, row]
            self.update(row, lost[:, 0] * 1.0 - lost[:, 1])

    def update(self, row: Any, d: Any) -> None:
        """Bet on one round of every race: rows (races,), differences a - b."""
        every, n = np.arange(len(d)), self.n
        mean, g = self.g.mean(axis=1), self.g[np.arange(len(d)), row]
        spread = self.residual2 / max(n, 1) - (self.residual / max(n, 1)) ** 2
        variance = np.maximum((0.5 + n * np.maximum(spread, 0.0)) / (n + 2.0), 1e-6)
        for one in self.bettors:
            sign, shift = one.sign, one.shift
            plain = (0.5 + one.squares) / (n + 2.0)
            reach = shift + 1.0 + ((sign * self.g).max(axis=1) - sign * mean)
            y = sign * (d - g + mean) - shift
            cap = 0.95 / np.maximum(reach, 1e-3)
            own = kelly(sign * self.lead - n * shift, n + 20.0, plain)
            one.wealth[:, 0] *= 1.0 + np.minimum(own, 0.95 / (1.0 + shift)) * (sign * d - shift)
            bet = kelly(sign * (self.lead - self.seen) - n * shift, n + 20.0, variance)
            one.wealth[:, 1] *= 1.0 + np.minimum(bet, cap) * y
            planned = 1.2 * np.sqrt(2.0 * math.log(self.threshold) / (self.rounds * variance))
            one.wealth[:, 2] *= 1.0 + np.minimum(planned, cap) * y
            one.squares += (sign * d - sign * self.lead / (n + 10.0)) ** 2
            reached = one.wealth.sum(axis=1) >= self.threshold
            one.first = np.where(reached & np.isinf(one.first), n + 1.0, one.first)
        self.lead += d
        self.seen += g - mean
        self.residual += d - g
        self.residual2 += (d - g) ** 2
        self.count[every, row] += 1.0
        self.total[every, row] += d
        self.squares[every, row] += d * d
        self.n += 1
        if self.n >= self.next_fit:
            self.next_fit = next_fit(self.n)
            self.predict()

    def predict(self) -> None:
        """Set the predicted difference of every row, shrunk to the mean."""
        repeated = self.count >= 2.0
        freedom = ((self.count - 1.0) * repeated).sum(axis=1)
        within = ((self.squares - self.total**2 / np.maximum(self.count, 1.0)) * repeated).sum(
            axis=1
        )
        noise = within / np.maximum(freedom, 1.0)
        mean = self.total.sum(axis=1) / self.n
        between = np.maximum(self.squares.sum(axis=1) / self.n - mean**2 - noise, 0.0)
        # The package counts the repeated answers of both candidates.
        ratio = np.clip(noise / np.maximum(between, 1e-300), 0.05, 50.0)
        weight = np.where(2.0 * freedom < 20.0, 3.0, np.where(between > 0.0, ratio, 50.0))[:, None]
        self.g = (weight * mean[:, None] + self.total) / (weight + self.count)


def kelly(excess: Any, count: float, variance: Any) -> Any:
    """Return the bet of the Kelly rule on a shrunk edge, as `racing.rules.bets`."""
    mean = excess / count
    edge = 0.5 * (mean + np.sqrt(mean * mean + 2.55 * variance / count))
    return edge / (variance + edge * edge)


def bettors_of(question: str, races: int) -> tuple[list[Bettor], float]:
    """Return the bettors of a question, the first one against a (or for the gate), and the threshold."""
    if question == "race":
        # b is better if a is refuted, and conversely; half of the level excludes ties.
        return [Bettor(races, 1.0, 0.0), Bettor(races, -1.0, 0.0)], 2.0 / LEVEL
    return [Bettor(races, 1.0, -WITHIN), Bettor(races, -1.0, WITHIN)], 1.0 / LEVEL


def race(rng: Any, p: Any, rounds: int, question: str = "race") -> tuple[Any, Any, Any]:
    """Return by race: calls, whether the first bettor won, and whether the second did."""
    bettors, threshold = bettors_of(question, len(p))
    Races(p, bettors, threshold, rounds).play(rng)
    first, second = (one.first for one in bettors)
    calls = 2.0 * np.minimum(np.minimum(first, second), rounds)
    return calls, first < second, second < first


def check() -> None:
    """Compare the wealth of `Races` with that of the rules of the package, round by round."""
    rng = np.random.default_rng(1)
    questions: dict[str, Any] = {"race": {}, "gate": {"baseline": "a", "within": WITHIN}}
    for question, settings in questions.items():
        rows, rounds = 9, 150
        rule = RaceSettings(
            ("a", "b"), level=LEVEL, answers="random", max_calls=2 * rounds, **settings
        ).rule(rows)
        fresh = FreshAnswers(
            rule, SideInformation(np.full((rows, 2), math.nan), np.zeros((rows, 0)))
        )
        bettors, threshold = bettors_of(question, 1)
        assert threshold == rule.state.threshold
        many = Races(rng.random((1, rows, 2)), bettors, threshold, rounds)
        for _ in range(rounds):
            row = int(rng.integers(rows))
            losses = (rng.random(2) < 0.5).astype(np.float64)
            if rule.done:
                break
            fresh.update(row, losses)
            many.update(np.array([row]), losses[:1] - losses[1:])
            wealth = rule.state.wealth.sum(axis=1)
            # The gate has the bettors of k candidates twice: for b, and against b.
            own = [wealth[0], wealth[1]] if question == "race" else [wealth[1], wealth[3]]
            np.testing.assert_allclose([one.wealth.sum() for one in bettors], own, rtol=1e-9)


def cell(name: str, shares: Any, calls: Any = None, target: str = "") -> None:
    share = float(np.mean(shares))
    error = math.sqrt(share * (1 - share) / len(shares))
    spent = "" if calls is None else f", {np.mean(calls):,.0f} calls"
    print(f"{name}: {share:.3f} ({error:.3f}){spent}{target}", flush=True)


def equal(repetitions: int) -> None:
    """The same agent twice: some difference claimed; gate within .02 refuted."""
    number = 0
    for law, draw in DIFFICULTY.items():
        for rows, runs in EQUAL:
            for question in ("race", "gate"):
                number += 1
                rng = np.random.default_rng(SEED + number)
                p = np.stack([draw(rng, rows) for _ in range(repetitions)])
                p = np.repeat(p[..., None], 2, axis=2)
                _, first, second = race(rng, p, rows * runs, question)
                wrong = first | second if question == "race" else second
                cell(f"equal, {law}, {rows} x {runs}, {question} wrong", wrong)


def power(repetitions: int) -> None:
    """A gap: share decided for the better one, and calls, of the race; then of an oracle."""
    for number, (rows, runs, law, gap, trial, _) in enumerate(POWER):
        rng = np.random.default_rng(SEED + 100 + number)
        p = np.stack([probabilities(rng, rows, law, gap) for _ in range(repetitions)])
        calls, first, second = race(rng, p, rows * runs)
        target = f"; trial {trial[0]:g}, {trial[1]:g} calls; {second.mean():.3f} for the worse one"
        cell(f"race, {rows} x {runs}, {law}, gap {gap:g}", first, calls, target)
        calls, first = oracle(rng, p, rows * runs)
        cell("    an oracle that knows the law of every row", first, calls)


def oracle(rng: Any, p: Any, rounds: int) -> tuple[Any, Any]:
    """Return calls and decisions of the bet of the Kelly rule with perfect predictions.

    It knows the gap, the noise and the expected answers to every row: about the best possible.
    """
    races, rows = p.shape[:2]
    delta = p[..., 1] - p[..., 0]
    gap = delta.mean(axis=1)
    noise = (p * (1.0 - p)).sum(axis=2).mean(axis=1)
    reach = 1.0 + delta.max(axis=1) - gap
    bet = np.minimum(gap / (noise + gap**2), 0.95 / reach)
    wealth, first, every = np.ones(races), np.full(races, np.inf), np.arange(races)
    for n in range(rounds):
        row = rng.integers(rows, size=races)
        lost = rng.random((races, 2)) >= p[every, row]
        wealth *= 1.0 + bet * (lost[:, 0] * 1.0 - lost[:, 1] - delta[every, row] + gap)
        first = np.where((wealth >= 2.0 / LEVEL) & np.isinf(first), n + 1.0, first)
    return 2.0 * np.minimum(first, rounds), np.isfinite(first)


def answers(rng: Any, p: Any, runs: int) -> Any:
    return (rng.random((runs, *p.shape)) < p).astype(np.float64)


def passes(repetitions: int) -> None:
    """Finished runs, looks at the ends of passes: equal agents, then the gaps."""
    for number, (rows, runs) in enumerate(EQUAL):
        rng = np.random.default_rng(SEED + 200 + number)
        claims = []
        for _ in range(repetitions):
            values = answers(rng, probabilities(rng, rows, "same", 0.0), runs)
            d = values[..., 1] - values[..., 0]
            claims.append(float(max(_most(d), _most(-d)) >= 2 / LEVEL))
        cell(f"passes, equal, {rows} x {runs}, some difference", claims)
    for number, (rows, runs, law, gap, _, trial) in enumerate(POWER):
        rng = np.random.default_rng(SEED + 300 + number)
        decided, calls = [], []
        for _ in range(repetitions):
            values = answers(rng, probabilities(rng, rows, law, gap), runs)
            wealth = pass_wealth(values[..., 1] - values[..., 0], level=LEVEL / 2)
            reached = np.flatnonzero(wealth >= 2 / LEVEL)
            decided.append(float(reached.size > 0))
            calls.append(2 * rows * (1 + int(reached[0]) if reached.size else runs))
        target = f"; trial {trial[0]:g}, {trial[1]:g} calls"
        cell(f"passes, {rows} x {runs}, {law}, gap {gap:g}", decided, calls, target)


def _most(differences: Any, planned: int | None = None) -> float:
    return float(pass_wealth(differences, level=LEVEL / 2, planned=planned).max())


def looks(values: Any) -> Iterator[Any]:
    """Yield the answers (runs, rows, 2) at the ends of the passes."""
    for count in range(1, len(values) + 1):
        yield values[:count]


def whole_passes(values: Any, planned: int) -> bool:
    """Return whether Theorem R2 tells the candidates apart at the end of some pass so far."""
    d = values[..., 1] - values[..., 0]
    return max(_most(d, planned), _most(-d, planned)) >= 2 / LEVEL


def t_test(values: Any) -> bool:
    """Return whether a paired t-test of all answers rejects at the level, at this look."""
    from scipy.stats import ttest_rel

    flat = values.reshape(-1, 2)
    return bool(ttest_rel(flat[:, 0], flat[:, 1]).pvalue < LEVEL)


def row_t_test(values: Any) -> bool:
    """Return whether a paired t-test of the means of the rows rejects at this look."""
    from scipy.stats import ttest_rel

    means = values.mean(axis=0)
    return bool(ttest_rel(means[:, 0], means[:, 1]).pvalue < LEVEL)


def rivals(repetitions: int, only: str = "") -> None:
    """Other tests on the same data, looked at after every pass; packages if installed."""
    tests: dict[str, Any] = {
        "tombola, whole passes": partial(whole_passes, planned=RIVAL_RUNS),
        "paired t-test": t_test,
        "paired t-test of rows": row_t_test,
        **installed_rivals(),
    }
    tests = {name: test for name, test in tests.items() if only in name}
    settings = [(89, RIVAL_RUNS, "same", 0.0), (89, RIVAL_RUNS, "same", 0.10)]
    for rows, runs, law, gap in settings:
        for name, test in tests.items():
            rng = np.random.default_rng(SEED + 400 + int(100 * gap))
            claims, calls = [], []
            for _ in range(repetitions):
                values = answers(rng, probabilities(rng, rows, law, gap), runs)
                ends = [count for count, seen in enumerate(looks(values), 1) if test(seen)]
                claims.append(float(bool(ends)))
                calls.append(2 * rows * (ends[0] if ends else runs))
            cell(f"{name}, {rows} x {runs}, {law}, gap {gap:g}", claims, calls)


def installed_rivals() -> dict[str, Any]:
    """Return tests of other packages that are installed: evalsig, evalstats."""
    found: dict[str, Any] = {}
    try:
        evalsig: Any = import_module("evalsig")

        def frame(values: Any, candidate: int) -> Any:
            items = [
                evalsig.ItemResult(f"q{row} run {run}", float(score), f"q{row}", run)
                for run, scores in enumerate(values)
                for row, score in enumerate(scores[:, candidate])
            ]
            return evalsig.RunFrame(str(candidate), str(candidate), "task", "score", items)

        def with_evalsig(values: Any) -> bool:
            return bool(
                evalsig.compare(
                    frame(values, 0), frame(values, 1), cluster="row", n_resamples=2000
                ).significant
            )

        found["evalsig compare"] = with_evalsig
    except ImportError:
        pass
    try:
        evalstats: Any = import_module("evalstats")

        def with_evalstats(values: Any) -> bool:
            # Candidates x rows x runs.
            scores = np.transpose(values, (2, 1, 0))
            result = evalstats.pairwise_differences(scores, 0, 1, n_bootstrap=2000)
            return bool(result.p_value < LEVEL)

        found["evalstats pairwise_differences"] = with_evalstats
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--only", choices=["equal", "power", "passes", "rivals"])
    parser.add_argument("--rival", default="", help="part of the name of one test of rivals")
    chosen = parser.parse_args()
    check()
    for study in (equal, power, passes, rivals):
        if chosen.only in (None, study.__name__):
            more = {"only": chosen.rival} if study is rivals else {}
            study(chosen.repetitions, **more)


if __name__ == "__main__":
    main()
