"""Test advice on real tables; mean ranks come from one half of them.

    python benchmarks/advice.py play ../shared/pools runs            play the missing runs
    python benchmarks/advice.py play ../shared/pools runs switching  only one kind of conditions
    python benchmarks/advice.py ranks ../shared/pools runs           the table in
                                                                     src/tombola/advice/default_learners.py
    python benchmarks/advice.py check ../shared/pools runs           advice from 40 orders, tested
                                                                     on 40 other orders

The halves are every second table by name. Runs are cached in a folder by table, conditions and
seed, but not by the version of the code: delete those of a learner that has changed. Each line of
`check` has the table, the conditions, the advised learner, its regret on other orders, the best
default learner there (or a random fixed action), and whether the two are tied.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from measure import geometric_mean
from tombola._result_cache import ResultCache, read_runs, write_runs
from tombola.advice import CompareRequest, Conditions, run_comparison
from tombola.advice.advise import advise
from tombola.runs import Runs
from tombola.tables import read_table
from tombola.tables.to_pool import Table

REPETITIONS, DELAY, PRICE = 40, 100, 5.0
ADVICE_SEED, TEST_SEED = 1, 2
# A regret below this share of the rows counts as none.
NEGLIGIBLE_REGRET = 1e-3
CONDITIONS: dict[str, Conditions] = {
    conditions.kind: conditions
    for conditions in (
        Conditions("full"),
        Conditions("bandit"),
        Conditions("full", delay=DELAY),
        Conditions("bandit", delay=DELAY),
        Conditions("bandit", switching_price=PRICE),
    )
}


class Case(NamedTuple):
    """A table under conditions of one kind, its half, and the cache of its runs."""

    name: str
    table: Table
    half: int
    kind: str
    cache: ResultCache

    def key(self, seed: int) -> str:
        """Return the key of the cached runs of a seed."""
        return f"{self.name}-{self.kind.replace(' ', '_')}-{seed}"

    def runs(self, seed: int) -> Runs | None:
        """Return the cached runs of a seed; None if they were not played."""
        return read_runs(self.cache, self.key(seed), (0, REPETITIONS))

    @property
    def random_action_loss(self) -> float | None:
        """The loss of a random fixed action; None under a budget."""
        return (
            None
            if self.kind == "budget"
            else float(self.table.pool.means.mean()) * self.table.pool.rows
        )

    def request(self, seed: int) -> CompareRequest:
        """Return the comparison to run.

        A budget is the mean of the costs of the cheapest and of the best action.
        """
        if self.kind != "budget":
            return CompareRequest(CONDITIONS[self.kind], repetitions=REPETITIONS, seed=seed)
        pool = self.table.pool
        assert pool.costs is not None
        means = pool.costs[:, :, 0].mean(axis=0)
        amount = float(pool.rows * (means.min() + means[pool.best]) / 2)
        return CompareRequest(
            Conditions("full"), amounts=(amount,), repetitions=REPETITIONS, seed=seed
        )


def read_cases(folder: Path, cache: ResultCache) -> Iterator[Case]:
    """Yield every table under all conditions, small tables first."""
    paths = sorted(path for path in folder.glob("*.npz") if "logged" not in path.stem)
    tables = [(path.stem, read_table(path), place % 2) for place, path in enumerate(paths)]
    for name, table, half in sorted(tables, key=lambda one: one[1].pool.losses.size):
        has_cost = table.pool.costs is not None and table.pool.costs.shape[2] == 1
        for kind in (*CONDITIONS, *(["budget"] if has_cost else [])):
            yield Case(name, table, half, kind, cache)


def play(folder: Path, cache: ResultCache, kinds: list[str]) -> None:
    for case in read_cases(folder, cache):
        for seed in (ADVICE_SEED, TEST_SEED):
            if (not kinds or case.kind in kinds) and case.runs(seed) is None:
                runs = run_comparison(case.table, case.request(seed)).runs
                write_runs(cache, case.key(seed), (0, REPETITIONS), runs)
                print(case.name, case.kind, seed, flush=True)


def print_ranks(folder: Path, cache: ResultCache) -> None:
    ranks: dict[str, dict[str, list[int]]] = {}
    for case in read_cases(folder, cache):
        runs = case.runs(ADVICE_SEED) if case.half == 0 else None
        for rank, name in enumerate([] if runs is None else runs.ranking(), start=1):
            ranks.setdefault(case.kind, {}).setdefault(name, []).append(rank)
    print("MEAN_RANKS: dict[str, dict[str, float]] = {")
    for kind, of_learner in ranks.items():
        means = {name: float(np.mean(values)) for name, values in of_learner.items()}
        print(f'    "{kind}": {{')
        for name in sorted(means, key=lambda name: means[name]):
            print(f'        "{name}": {means[name]:.2f},')
        print("    },")
    print("}")


class Score(NamedTuple):
    """Advice on other orders; `ratio` is its regret to the least one."""

    tied: bool
    ratio: float
    worse_than_random: bool
    text: str


def score_advice(case: Case, before: Runs, runs: Runs) -> Score:
    """Compare the advice from the runs before with the best choice in other runs."""
    advice = advise(before, case.kind, case.random_action_loss)
    best = runs.ranking()[0]
    least, pool, random_loss = runs.regret(best), case.table.pool, case.random_action_loss
    random_regret = (
        None if random_loss is None else random_loss - float(pool.means.min()) * pool.rows
    )
    advised = runs.regret(advice.learner)
    regret, lowest, worse = advised.value, least.value, False
    tied = advice.learner == best or runs.difference(advice.learner, best).low <= 0
    if random_regret is not None:
        lowest = min(least.value, random_regret)
        if advice.fixed_action:
            regret, tied = random_regret, random_regret <= least.high
        else:
            worse = advised.low > random_regret
            tied = advised.low <= random_regret if random_regret < least.value else tied
    floor = NEGLIGIBLE_REGRET * pool.rows
    ratio = (max(regret, 0.0) + floor) / (max(lowest, 0.0) + floor)
    name = "stay" if advice.fixed_action else advice.learner
    return Score(tied, ratio, worse, f"{name:<24} {regret:9.1f}  best {best:<24} {lowest:9.1f}")


def check(folder: Path, cache: ResultCache) -> None:
    halves: tuple[list[Score], list[Score]] = [], []
    for case in read_cases(folder, cache):
        before, runs = case.runs(ADVICE_SEED), case.runs(TEST_SEED)
        if before is None or runs is None:
            print(f"{case.name:<22} {case.kind:<12} not played")
            continue
        score = score_advice(case, before, runs)
        halves[case.half].append(score)
        marks = ("" if score.tied else "   NOT TIED") + (
            "  WORSE" if score.worse_than_random else ""
        )
        print(f"{case.name:<22} {case.kind:<12} {score.text}  ratio {score.ratio:.2f}{marks}")
    names = ("where the ranks come from", "the other half", "both")
    for name, scores in zip(names, (*halves, halves[0] + halves[1]), strict=True):
        if scores:
            tied, worse = (
                np.mean([one.tied for one in scores]),
                sum(one.worse_than_random for one in scores),
            )
            ratio = geometric_mean(one.ratio for one in scores)
            counts = (
                f"{len(scores)} pairs, best or tied in {tied:.1%}, ratio {ratio:.3f}, "
                f"worse than blind {worse}"
            )
            print(f"{name}: {counts}")


if __name__ == "__main__":
    command, pools, runs_folder, *kinds = sys.argv[1:]
    if command == "play":
        play(Path(pools), ResultCache(Path(runs_folder)), kinds)
    else:
        {"ranks": print_ranks, "check": check}[command](Path(pools), ResultCache(Path(runs_folder)))
