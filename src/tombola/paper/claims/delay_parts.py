"""What the claims on delayed feedback share: learners by name, pools, their plays in random order, and the bounds."""

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tombola import bounds, instances
from tombola._compare import compare
from tombola._types import Seed
from tombola.learners import FollowTheLeader, GrowingSchedule, Hedge, LemmaSchedule, Simulation
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Measure, Measures, Unit, pick
from tombola.pool import Pool

Learners: TypeAlias = Mapping[str, Callable[[int], Learner]]
LEARNERS: dict[str, Callable[[int], Learner]] = {
    "Simulation": lambda d: Simulation(FollowTheLeader(), LemmaSchedule(delay=d)),
    "Simulation, not waiting": lambda _: Simulation(FollowTheLeader(), GrowingSchedule()),
    "follow the leader": lambda _: FollowTheLeader(),
    "Hedge": lambda d: Hedge(order="given", delay=d),
}
POOLS: dict[str, Callable[[int], Pool]] = {
    "split": lambda T: instances.split(T, 0.75),
    "gap": lambda T: instances.gap(T, 4, 0.4, seed=1),
    "balanced": lambda T: instances.balanced(T, 8, seed=1),
    "hard": lambda T: instances.split(T, 0.5 + 0.5 / math.sqrt(T)),
}


def bound_of(learner: str, T: int, k: int, d: int) -> float:
    """Return the proved bound of a learner in random order.

    >>> bound_of("follow the leader", 100, 2, 3) < bound_of("Simulation", 100, 2, 3)
    True
    """
    return bounds.follow_the_leader(T, k, d) if learner == "follow the leader" else bounds.simulation(T, k, d)


def measure(unit: Unit, learners: Learners, order: OrderLike, delay: Callable[[int], int], seed: Seed) -> list[Measure]:
    """Play learners on a pool; `delay` says how late feedback really comes for a delay that all are told."""
    T, d = unit["T"], unit["d"]
    pool = POOLS[unit["pool"]](T)
    named = {name: learner(d) for name, learner in learners.items()}
    runs = compare(pool, named, order, delay=delay(d), repetitions=unit["plays"], relabel=False, seed=seed)
    about = {"pool": unit["pool"], "T": T, "k": pool.k, "d": d}
    return [
        {**about, "learner": name, "play": r, "regret": float(regret)}
        for name in learners
        for r, regret in enumerate(runs.regrets(name, expected=True))
    ]


def against(rows: Measures, bound: Callable[[str, int, int, int], float]) -> tuple[list[float], float]:
    """Return, for every setting of the rows, the probability of its mean under the bound, and the largest mean over bound."""
    settings = sorted({(row["pool"], row["learner"], row["T"], row["k"], row["d"]) for row in rows})
    found, worst = [], 0.0
    for pool, name, T, k, d in settings:
        regrets, most = pick(rows, "regret", pool=pool, learner=name, T=T, d=d), bound(name, T, k, d)
        found.append(pvalues.at_most(regrets, most))
        worst = max(worst, float(regrets.mean()) / most)
    return found, worst
