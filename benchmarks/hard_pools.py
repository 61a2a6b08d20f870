"""Hardest pools of every learner at small horizons: `benchmarks/hard_pools.py [HORIZONS] [LEARNERS]`.

Pools have two actions, exactly one of which loses in each row. A regret without a star is the exact
worst case over all pools and orders; one with a star is the largest that a search found, measured
again on other orders. "game" is the minimax regret of all learners with that feedback.
"""

import sys
from itertools import groupby

import numpy as np

from tombola import learners
from tombola.lab import hardest_pool, minimax
from tombola.learners.base import Learner

# Reductions need a base; the other parameters are those of the defaults.
REDUCTIONS: dict[str, Learner] = {
    "Simulation": learners.Simulation(learners.FollowTheLeader()),
    "Interleaved": learners.Interleaved(learners.Hedge(), delay=0),
    "OptimisticSimulation": learners.OptimisticSimulation(learners.UCB1()),
    "LazyOptimisticSimulation": learners.LazyOptimisticSimulation(learners.UCB1()),
    "FixedAction": learners.FixedAction(0),
}
TITLE = 28
CELL = 26


def all_learners() -> list[tuple[str, str, Learner]]:
    """Return feedback, name and learner of every class with full or bandit feedback."""
    found = []
    for name in learners.__all__:
        kind = getattr(learners, name)
        feedback = getattr(kind, "feedback", "")
        if feedback in ("full", "bandit"):
            found.append((feedback, name, REDUCTIONS.get(name) or kind()))
    return sorted(found, key=lambda entry: (entry[0] != "full", entry[1]))


def describe(learner: Learner, horizon: int) -> str:
    """Return the worst regret, its share of the bound, and the losses of the worst pool."""
    worst = hardest_pool(learner, horizon)
    bound = learner.bound(2, horizon)
    ratio = f"{worst.regret / bound:.2f}" if bound else "no bound"
    star = " " if worst.is_worst else "*"
    ones = int(np.asarray(worst.pool.losses)[:, 0].sum())
    return f"{worst.regret:.3f}{star} {ratio} ({ones}, {horizon - ones})"


def main() -> None:
    horizons = [int(text) for text in sys.argv[1:] if text.isdigit()] or [8, 12, 16]
    names = {text for text in sys.argv[1:] if not text.isdigit()}
    print(f"{'learner':{TITLE}}" + "".join(f"{f'T = {T}':>{CELL}}" for T in horizons))
    for feedback, group in groupby(all_learners(), key=lambda entry: entry[0]):
        if not names:
            values = [minimax(T, rows=np.eye(2)).value for T in horizons]
            game = "".join(f"{value:{CELL}.3f}" for value in values)
            print(f"{f'game, {feedback}':{TITLE}}" + game)
        for _, name, learner in group:
            if not names or name in names:
                cells = "".join(f"{describe(learner, T):>{CELL}}" for T in horizons)
                print(f"{name:{TITLE}}" + cells, flush=True)


if __name__ == "__main__":
    main()
