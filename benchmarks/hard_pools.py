"""Hardest pools of every learner at small horizons: `benchmarks/hard_pools.py [HORIZONS]`.

Pools have two actions, exactly one of which loses in each row. A regret without a star is the exact
worst case over all pools and orders; one with a star is the largest that a search found, measured
again on other orders. "game" is the minimax regret of all learners with that feedback.
"""

import sys

import numpy as np

from tombola import learners
from tombola.lab import hardest_pool, minimax
from tombola.learners.base import Learner

FULL = ("FollowTheLeader", "Hedge", "HedgeAnytime", "AdaHedge", "FlipFlop")
BANDIT = (
    "UCB1", "UCB2", "KLUCB", "EpsilonGreedy", "ExploreThenCommit", "SuccessiveElimination",
    "Exp3", "TsallisInf", "ThompsonSampling",
)  # fmt: skip


def main() -> None:
    horizons = [int(text) for text in sys.argv[1:]] or [8, 12, 16]
    print(f"{'learner':24}" + "".join(f"{f'T = {T}':>26}" for T in horizons))
    for feedback, names in (("full", FULL), ("bandit", BANDIT)):
        values = [minimax(T, rows=np.eye(2)).value for T in horizons]
        print(f"{f'game, {feedback}':24}" + "".join(f"{value:26.3f}" for value in values))
        for name in names:
            learner: Learner = getattr(learners, name)()
            cells = []
            for T in horizons:
                worst = hardest_pool(learner, T)
                bound = learner.bound(2, T)
                ratio = f"{worst.regret / bound:.2f}" if bound else "no bound"
                star = " " if worst.is_worst else "*"
                ones = int(np.asarray(worst.pool.losses)[:, 0].sum())
                cells.append(f"{worst.regret:.3f}{star} {ratio} ({ones}, {T - ones})")
            print(f"{name:24}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
