"""Compare under a budget: many plays of several budgeted learners, on the same orders, with what they spend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from tombola import validate
from tombola.budget import Budget, resources_of
from tombola.budgeted import BudgetedLearner, BudgetTrace, play_budget
from tombola.delay import DelayLike, RowDelays
from tombola.optimum import optimum
from tombola.pool import Pool
from tombola.progress import tracked
from tombola.runs import COMPARATOR, EXPECTED, LOSS, SWITCHES, Cell, Runs, Setting
from tombola.streams import repetitions as seeds_of
from tombola.types import Floats, Rounds, Seed

MARKS = 60


class Spent(NamedTuple):
    """What a learner spent up to the marked rounds (repetition x mark x resource), and played (repetition x round)."""

    rounds: Rounds
    amounts: Floats
    actions: Rounds


@dataclass(frozen=True, eq=False)
class BudgetRuns:
    """Runs whose comparator is the best fixed mix within the budget, the spending, and the names of the actions."""

    runs: Runs
    spent: dict[Setting, Spent]
    budget: Budget
    actions: tuple[str, ...]


def compare_budget(
    pool: Pool,
    learners: Mapping[str, BudgetedLearner],
    budget: Budget,
    orders: Sequence[str] = ("random",),
    *,
    repetitions: int = 20,
    delay: DelayLike | RowDelays = 0,
    workers: int = 1,
    seed: Seed,
) -> BudgetRuns:
    """Play every learner on the same orders of the pool within the budget, and return all runs.

    >>> from tombola.budgeted import DualDescent, EmpiricalLP, instances
    >>> pool = instances.three_actions(256, seed=0)
    >>> learners = {"lp": EmpiricalLP(), "dual": DualDescent()}
    >>> done = compare_budget(pool, learners, Budget(128.0), repetitions=3, seed=0)
    >>> bool((done.spent[Setting(256, "random", "lp")].amounts <= 128.0).all())
    True
    """
    count = validate.whole("compare_budget", "repetitions", repetitions, least=1)
    limits = budget.limits(pool.k, resources_of(pool), pool.costs)
    best = optimum(pool, budget).value
    seeds = seeds_of(seed, count)
    tasks = [(order, name, r) for order in orders for name in learners for r in range(count)]
    play_one = partial(_outcome, pool=pool, budget=budget, delay=delay, best=best)
    pieces = [(learners[name], order, seeds[r]) for order, name, r in tasks]
    gathered: dict[Setting, list[tuple[Rounds, Floats, Floats, Floats, Rounds]]] = {}
    for (order, name, _), one in zip(tasks, tracked(play_one, pieces, workers=workers, label="compare"), strict=True):
        gathered.setdefault(Setting(pool.rows, order, name), []).append(one)
    cells = {
        s: Cell(ones[0][0], np.stack([one[1] for one in ones]), np.stack([one[2] for one in ones]))
        for s, ones in gathered.items()
    }
    spent = {
        s: Spent(ones[0][0], np.stack([one[3] for one in ones]), np.stack([one[4] for one in ones]))
        for s, ones in gathered.items()
    }
    names = (*pool.actions, "none of them") if limits.added else pool.actions
    return BudgetRuns(Runs(cells, 0.0), spent, budget, names)


def _outcome(
    learner: BudgetedLearner,
    order: str,
    seed: Seed,
    *,
    pool: Pool,
    budget: Budget,
    delay: DelayLike | RowDelays,
    best: float,
) -> tuple[Rounds, Floats, Floats, Floats, Rounds]:
    """Play once, and keep the sums at the marks."""
    trace = play_budget(learner, pool, budget, order, delay, seed=seed)
    marks = np.unique(np.linspace(1, trace.horizon, MARKS).astype(np.int64))
    return marks, _sums(trace, marks, best), trace.plays, trace.spending[marks - 1], trace.actions


def _sums(trace: BudgetTrace, marks: Rounds, best: float) -> Floats:
    sums = np.zeros((marks.size, 4))
    sums[:, LOSS] = sums[:, EXPECTED] = marks - np.cumsum(trace.rewards)[marks - 1]
    sums[:, COMPARATOR] = marks * (1.0 - best)
    changes = np.append(0, np.cumsum(trace.actions[1:] != trace.actions[:-1]))
    sums[:, SWITCHES] = changes[marks - 1]
    return sums
