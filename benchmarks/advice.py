"""Advice on real tables: the ranks behind it on one half of them, and how good it is on the other.

    python benchmarks/advice.py ranks ../shared/pools     the table in src/tombola/tables/prior.py, from the first half
    python benchmarks/advice.py check ../shared/pools     advised on 40 orders, judged on 40 fresh ones, both halves

The halves are every second table by name. Each line says: the table, the setting, what was advised, its regret on fresh
orders, the best of all contestants there (one action picked blindly among them), and whether the two are tied.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tombola.readers import read_table
from tombola.readers.pooling import Table
from tombola.tables import Answer, Circumstances, Question, answer_to

REPETITIONS, DELAY, PRICE = 40, 100, 5.0
SETTINGS = (
    Circumstances("full"),
    Circumstances("bandit"),
    Circumstances("full", delay=DELAY),
    Circumstances("bandit", delay=DELAY),
    Circumstances("bandit", switching_price=PRICE),
)


def tables(folder: Path) -> list[tuple[str, Table]]:
    return [(path.stem, read_table(path)) for path in sorted(folder.glob("*.npz")) if "logged" not in path.stem]


def half_way(table: Table) -> float:
    """Return a budget half-way between playing the cheapest action always and the best one always."""
    pool = table.pool
    assert pool.costs is not None
    means = pool.costs[:, :, 0].mean(axis=0)
    return float(pool.rows * (means.min() + means[pool.best]) / 2)


def questions(table: Table, seed: int) -> Iterator[tuple[str, Question]]:
    for met in SETTINGS:
        yield met.kind, Question(met, repetitions=REPETITIONS, seed=seed)
    if table.pool.costs is not None and table.pool.costs.shape[2] == 1:
        yield "budget", Question(Circumstances("full"), amounts=(half_way(table),), repetitions=REPETITIONS, seed=seed)


def ranks(folder: Path) -> None:
    places: dict[str, dict[str, list[int]]] = {}
    for _, table in tables(folder)[::2]:
        for kind, question in questions(table, seed=1):
            for place, name in enumerate(answer_to(table, question, workers=2).runs.ranking(), start=1):
                places.setdefault(kind, {}).setdefault(name, []).append(place)
    print("RANKS: dict[str, dict[str, float]] = {")
    for kind, found in places.items():
        means = {name: float(np.mean(ones)) for name, ones in found.items()}
        cells = ", ".join(f'"{name}": {means[name]:.2f}' for name in sorted(means, key=lambda name: means[name]))
        print(f'    "{kind}": {{{cells}}},', flush=True)
    print("}")


class Judged(NamedTuple):
    """Advice, judged on fresh orders."""

    tied: bool
    ratio: float
    worse_than_blind: bool


def judged(advised: Answer, fresh: Answer) -> tuple[Judged, str]:
    advice, runs = advised.advice, fresh.runs
    best = runs.ranking()[0]
    least = runs.regret(best)
    optimum = float(fresh.pool.means.min()) * fresh.pool.rows
    blind = None if fresh.blind is None else fresh.blind - optimum
    mine = blind if advice.stays and blind is not None else runs.regret(advice.learner).value
    lowest = least.value if blind is None else min(least.value, blind)
    if advice.stays and blind is not None:
        tied = blind <= least.high
    elif blind is not None and blind < least.value:
        tied = runs.regret(advice.learner).low <= blind
    else:
        tied = advice.learner == best or runs.difference(advice.learner, best).low <= 0
    worse = blind is not None and not advice.stays and runs.regret(advice.learner).low > blind
    floor = 1e-3 * fresh.pool.rows  # a regret below a thousandth of the rows is none
    ratio = (max(mine, 0.0) + floor) / (max(lowest, 0.0) + floor)
    words = f"{'stay' if advice.stays else advice.learner:<24} {mine:9.1f}  best {best:<24} {lowest:9.1f}"
    return Judged(tied, ratio, worse), words


def check(folder: Path) -> None:
    halves: dict[int, list[Judged]] = {0: [], 1: []}
    for index, (name, table) in enumerate(tables(folder)):
        begun = perf_counter()
        for (kind, first), (_, second) in zip(questions(table, 1), questions(table, 2), strict=True):
            one, words = judged(answer_to(table, first, workers=2), answer_to(table, second, workers=2))
            halves[index % 2].append(one)
            mark = "" if one.tied else "   NOT TIED"
            print(
                f"{name:<22} {kind:<12} {words}  ratio {one.ratio:.2f}{mark}{'  WORSE' * one.worse_than_blind}",
                flush=True,
            )
        print(f"  {perf_counter() - begun:.0f} s", flush=True)
    for half, ones in halves.items():
        if ones:
            mean = float(np.exp(np.mean([np.log(one.ratio) for one in ones])))
            share = float(np.mean([one.tied for one in ones]))
            worse = sum(one.worse_than_blind for one in ones)
            which = "where the ranks come from" if half == 0 else "the other half"
            print(
                f"{which}: {len(ones)} pairs, best or tied in {share:.0%}, ratio {mean:.3f}, worse than blind {worse}"
            )


if __name__ == "__main__":
    {"ranks": ranks, "check": check}[sys.argv[1]](Path(sys.argv[2]))
