"""Advice on real tables: the ranks behind it on one half of them, and how good it is on the other.

    python benchmarks/advice.py play ../shared/pools runs            play what is not there yet
    python benchmarks/advice.py play ../shared/pools runs switching  one setting only
    python benchmarks/advice.py ranks ../shared/pools runs           the table in src/tombola/advice/default_learners.py
    python benchmarks/advice.py check ../shared/pools runs           advised on 40 orders, judged on 40 fresh ones

The halves are every second table by name. The runs are kept in a folder, a file for each table, setting and seed, and
reused by later versions of the code: remove those of a learner that has changed. Each line has the table, the setting,
the advised learner, its regret on fresh orders, the best of all default_learners there (one action picked at random
among them), and whether the two are tied.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tombola.advice import CompareRequest, Conditions, run_comparison
from tombola.advice.advise import advise
from tombola.persistence.result_cache import ResultCache, read_runs, write_runs
from tombola.pool import Pool
from tombola.readers import read_table
from tombola.readers.to_pool import Table
from tombola.runs import Runs

REPETITIONS, DELAY, PRICE = 40, 100, 5.0
ADVISED, FRESH = 1, 2  # the seeds
FEEDBACK_MODELS = (
    Conditions("full"),
    Conditions("bandit"),
    Conditions("full", delay=DELAY),
    Conditions("bandit", delay=DELAY),
    Conditions("bandit", switching_price=PRICE),
)


class Case(NamedTuple):
    """A table in a setting: in which half the table is, and where its runs are kept."""

    name: str
    table: Table
    half: int
    kind: str
    kept: Path

    def key(self, seed: int) -> str:
        """Return the key under which the runs of a seed are cached."""
        return f"{self.name}-{self.kind.replace(' ', '_')}-{seed}"

    def runs(self, seed: int) -> Runs | None:
        """Return the runs of a seed, if they were played."""
        return read_runs(ResultCache(self.kept), self.key(seed), (0, REPETITIONS))

    @property
    def random_action_loss(self) -> float | None:
        """The loss of a random fixed action; None under a budget."""
        return None if self.kind == "budget" else float(self.table.pool.means.mean()) * self.table.pool.rows


def cases(folder: Path, kept: Path) -> Iterator[Case]:
    """Give every table in every setting, the small tables first."""
    paths = sorted(path for path in folder.glob("*.npz") if "logged" not in path.stem)
    tables = [(path.stem, read_table(path), place % 2) for place, path in enumerate(paths)]
    for name, table, half in sorted(tables, key=lambda one: one[1].pool.losses.size):
        for kind in (conditions.kind for conditions in FEEDBACK_MODELS):
            yield Case(name, table, half, kind, kept)
        if table.pool.costs is not None and table.pool.costs.shape[2] == 1:
            yield Case(name, table, half, "budget", kept)


def question(case: Case, seed: int) -> CompareRequest:
    if case.kind == "budget":
        amounts = (half_way(case.table.pool),)
        return CompareRequest(Conditions("full"), amounts=amounts, repetitions=REPETITIONS, seed=seed)
    conditions = next(one for one in FEEDBACK_MODELS if one.kind == case.kind)
    return CompareRequest(conditions, repetitions=REPETITIONS, seed=seed)


def half_way(pool: Pool) -> float:
    """Return a budget half-way between playing the cheapest action always and the best one always."""
    assert pool.costs is not None
    means = pool.costs[:, :, 0].mean(axis=0)
    return float(pool.rows * (means.min() + means[pool.best]) / 2)


def play(folder: Path, kept: Path, kinds: list[str]) -> None:
    for case in cases(folder, kept):
        for seed in (ADVISED, FRESH):
            if (not kinds or case.kind in kinds) and case.runs(seed) is None:
                runs = run_comparison(case.table, question(case, seed)).runs
                write_runs(ResultCache(kept), case.key(seed), (0, REPETITIONS), runs)
                print(case.name, case.kind, seed, flush=True)


def ranks(folder: Path, kept: Path) -> None:
    places: dict[str, dict[str, list[int]]] = {}
    for case in cases(folder, kept):
        runs = case.runs(ADVISED) if case.half == 0 else None
        for place, name in enumerate([] if runs is None else runs.ranking(), start=1):
            places.setdefault(case.kind, {}).setdefault(name, []).append(place)
    print("MEAN_RANKS: dict[str, dict[str, float]] = {")
    for kind, found in places.items():
        means = {name: float(np.mean(ones)) for name, ones in found.items()}
        print(f'    "{kind}": {{')
        for name in sorted(means, key=lambda name: means[name]):
            print(f'        "{name}": {means[name]:.2f},')
        print("    },")
    print("}")


class Judged(NamedTuple):
    """Advice, judged on fresh orders."""

    tied: bool
    ratio: float
    worse_than_blind: bool
    words: str


def judged(case: Case, before: Runs, runs: Runs) -> Judged:
    advice = advise(before, case.kind, case.random_action_loss)
    best = runs.ranking()[0]
    least = runs.regret(best)
    pool = case.table.pool
    blind = None if case.random_action_loss is None else case.random_action_loss - float(pool.means.min()) * pool.rows
    mine = blind if advice.fixed_action and blind is not None else runs.regret(advice.learner).value
    lowest = least.value if blind is None else min(least.value, blind)
    if advice.fixed_action and blind is not None:
        tied = blind <= least.high
    elif blind is not None and blind < least.value:
        tied = runs.regret(advice.learner).low <= blind
    else:
        tied = advice.learner == best or runs.difference(advice.learner, best).low <= 0
    worse = blind is not None and not advice.fixed_action and runs.regret(advice.learner).low > blind
    floor = 1e-3 * pool.rows  # a regret below a thousandth of the rows is none
    ratio = (max(mine, 0.0) + floor) / (max(lowest, 0.0) + floor)
    words = f"{'stay' if advice.fixed_action else advice.learner:<24} {mine:9.1f}  best {best:<24} {lowest:9.1f}"
    return Judged(tied, ratio, worse, words)


def check(folder: Path, kept: Path) -> None:
    halves: dict[int, list[Judged]] = {0: [], 1: []}
    for case in cases(folder, kept):
        before, fresh = case.runs(ADVISED), case.runs(FRESH)
        if before is None or fresh is None:
            print(f"{case.name:<22} {case.kind:<12} not played")
            continue
        one = judged(case, before, fresh)
        halves[case.half].append(one)
        marks = "" if one.tied else "   NOT TIED"
        marks += "  WORSE" if one.worse_than_blind else ""
        print(f"{case.name:<22} {case.kind:<12} {one.words}  ratio {one.ratio:.2f}{marks}")
    names = ("where the ranks come from", "the other half", "both")
    for which, ones in zip(names, (halves[0], halves[1], halves[0] + halves[1]), strict=True):
        if ones:
            mean = float(np.exp(np.mean([np.log(one.ratio) for one in ones])))
            share = float(np.mean([one.tied for one in ones]))
            worse = sum(one.worse_than_blind for one in ones)
            print(
                f"{which}: {len(ones)} pairs, best or tied in {share:.1%}, ratio {mean:.3f}, worse than blind {worse}"
            )


if __name__ == "__main__":
    what, folder, kept, *kinds = sys.argv[1:]
    if what == "play":
        play(Path(folder), Path(kept), kinds)
    else:
        {"ranks": ranks, "check": check}[what](Path(folder), Path(kept))
