"""Language models under a dollar cap: how many right answers five dollars buy."""

import numpy as np

from tombola import Budget, demo, play
from tombola.learners import EmpiricalLP, ThriftyLP

DOLLARS = 5.0

pool = demo.language_models(seed=0)  # 2,000 prompts, 4 models: right or wrong, and what it costs
prices = np.asarray(pool.costs)[:, :, 0]
for action, name in enumerate(pool.actions):
    all_prompts = prices[:, action].sum()
    print(f"{name:>8}: {1 - pool.means[action]:6.1%} right, ${all_prompts:5.2f} for all prompts")

budget = Budget(
    DOLLARS, null="add"
)  # null: leave a prompt unanswered, which costs nothing and counts as wrong
trace = play(EmpiricalLP(), pool, budget=budget, order="random", seed=1)
alone = play(
    ThriftyLP(), pool, budget=budget, order="random", seed=1
)  # sees the model that it calls, and no other

print(f"\nWith ${DOLLARS:.2f}, in random order:")
for action, name in enumerate(pool.actions):
    affordable = np.cumsum(prices[trace.order, action]) <= DOLLARS
    right = (1 - pool.losses[trace.order, action])[affordable].sum()
    print(f"  only {name:>6}, until the money is gone: {right:5.0f} right")
print(f"  EmpiricalLP:                           {trace.reward:5.0f} right")
print(f"  ThriftyLP, one call a prompt:          {alone.reward:5.0f} right")
print(f"  the best fixed mix, known beforehand:  {trace.comparator_reward:5.0f} right")

print(
    "\nplays:",
    {name: int(n) for name, n in zip([*pool.actions, "unanswered"], trace.plays, strict=True)},
)
print(f"spent ${trace.balance.spent[0]:.4f} of ${DOLLARS:.2f}; overspent: {trace.overspent[0]}")
