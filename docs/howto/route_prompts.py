"""Route prompts to language models under a dollar cap.

The best fixed mix at the same cost is the reference.
"""

import numpy as np

from tombola import Budget, Pool, play
from tombola.budget import optimum
from tombola.learners import EmpiricalLP
from tombola.policies import Ridge, RoutedLP

rng = np.random.default_rng(0)
T = 2_000
length, is_math = rng.lognormal(5, 0.6, T), rng.random(T) < 0.4
# The small model is wrong on most mathematics; the large one is right nearly everywhere, at twelve
# times the price.
wrong = np.stack([np.where(is_math, 0.75, 0.15), np.where(is_math, 0.15, 0.1)], axis=1)
losses = (rng.random((T, 2)) < wrong).astype(float)
costs = np.outer(length, [1e-5, 12e-5])
pool = Pool(
    losses, ["small", "large"], costs=costs, features=np.stack([np.log(length), is_math], axis=1)
)

for action, name in enumerate(pool.actions):
    print(
        f"{name:>5}: {1 - pool.means[action]:.1%} right, ${costs[:, action].sum():.2f} for all "
        "prompts"
    )

for dollars in (5.0, 10.0, 20.0):
    budget = Budget(dollars, null="add")  # null: leave a prompt unanswered
    routed = [
        play(RoutedLP(models=(Ridge(),)), pool, budget=budget, seed=seed) for seed in range(5)
    ]
    mixed = [play(EmpiricalLP(), pool, budget=budget, seed=seed) for seed in range(5)]
    right = T - np.mean([trace.loss for trace in routed])
    print(
        f"${dollars:5.2f}: RoutedLP {right:5.0f} right, EmpiricalLP "
        f"{np.mean([t.reward for t in mixed]):5.0f}, "
        f"best fixed mix, known in advance, {T * optimum(pool, budget).value:5.0f}; "
        f"spent at most ${max(trace.costs.sum() for trace in routed):.2f}"
    )
