"""Races, gates and passes on random answers: false claims for equal agents, and power.

    python benchmarks/random_answers.py [--repetitions 400] [--only equal|power|passes|rivals]

The rules and `FreshAnswers` are those of `Race(answers="random")`; only tickets are left out. Seeds
are fixed below: SEED plus the number of the cell. Every cell prints its share and standard error.
"""

import argparse
import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tombola.evidence.passes import pass_wealth
from tombola.racing import RaceSettings
from tombola.racing.fresh_answers import FreshAnswers
from tombola.racing.side_information import SideInformation

SEED = 20261118
LEVEL = 0.05
# Laws of the success probability of a row.
DIFFICULTY: dict[str, Any] = {
    "beta(.6, .4)": lambda rng, rows: rng.beta(0.6, 0.4, rows),
    "uniform": lambda rng, rows: rng.random(rows),
    "all 1/2": lambda _, rows: np.full(rows, 0.5),
}
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


def race(rng: Any, p: Any, rounds: int, **question: Any) -> tuple[int, bool | None]:
    """Return calls and `proved` of one race on rows drawn with replacement."""
    rows = len(p)
    settings = RaceSettings(
        ("a", "b"), level=LEVEL, answers="random", max_calls=2 * rounds, **question
    )
    rule = settings.rule(rows)
    nothing = SideInformation(np.full((rows, 2), math.nan), np.zeros((rows, 0)))
    fresh = FreshAnswers(rule, nothing)
    while not rule.done and rule.rows_seen < rounds:
        row = int(rng.integers(rows))
        fresh.update(row, (rng.random(2) >= p[row]).astype(np.float64))
    return 2 * rule.rows_seen, rule.proved


def cell(name: str, shares: list[float], calls: list[int] | None = None, target: str = "") -> None:
    share = float(np.mean(shares))
    error = math.sqrt(share * (1 - share) / len(shares))
    spent = "" if calls is None else f", {np.mean(calls):,.0f} calls"
    print(f"{name}: {share:.3f} ({error:.3f}){spent}{target}", flush=True)


def equal(repetitions: int) -> None:
    """The same agent twice: some difference claimed; gate within .02 refuted."""
    number = 0
    for law, draw in DIFFICULTY.items():
        for rows, runs in EQUAL:
            for title, question in (("race", {}), ("gate", {"baseline": "a", "within": 0.02})):
                number += 1
                rng = np.random.default_rng(SEED + number)
                claims = []
                for _ in range(repetitions):
                    p = np.repeat(draw(rng, rows)[:, None], 2, axis=1)
                    _, proved = race(rng, p, rows * runs, **question)
                    claims.append(float(proved is not None and proved != bool(question)))
                cell(f"equal, {law}, {rows} x {runs}, {title} wrong", claims)


def power(repetitions: int) -> None:
    """A gap: share decided for the better one, and calls, of the race."""
    for number, (rows, runs, law, gap, trial, _) in enumerate(POWER):
        rng = np.random.default_rng(SEED + 100 + number)
        outcomes = [
            race(rng, probabilities(rng, rows, law, gap), rows * runs) for _ in range(repetitions)
        ]
        cell(
            f"race, {rows} x {runs}, {law}, gap {gap:g}",
            [float(proved is True) for _, proved in outcomes],
            [calls for calls, _ in outcomes],
            f"; trial {trial[0]:g}, {trial[1]:g} calls",
        )


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


def _most(differences: Any) -> float:
    return float(pass_wealth(differences, level=LEVEL / 2).max())


def looks(values: Any) -> Iterator[Any]:
    """Yield the answers (runs, rows, 2) at the ends of the passes."""
    for count in range(1, len(values) + 1):
        yield values[:count]


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


def rivals(repetitions: int) -> None:
    """Other tests on the same data, looked at after every pass; packages if installed."""
    tests: dict[str, Any] = {"paired t-test": t_test, "paired t-test of rows": row_t_test}
    tests |= installed_rivals()
    settings = [(89, 5, "same", 0.0), (89, 5, "same", 0.10)]
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
                evalsig.compare(frame(values, 0), frame(values, 1), cluster="row").significant
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
    chosen = parser.parse_args()
    for study in (equal, power, passes, rivals):
        if chosen.only in (None, study.__name__):
            study(chosen.repetitions)


if __name__ == "__main__":
    main()
