"""Solver choice with bandit feedback.

Only the run time of the solver that ran is known.
"""

from tombola import UCB2, Exp3, compare, demo
from tombola.learners import KLUCB, ThompsonSampling, Uniform

CUTOFF = 900  # seconds; a loss is run time / cutoff

pool = demo.solvers(seed=0)  # 1,000 instances, 5 solvers
for name, mean in zip(pool.actions, pool.means, strict=True):
    print(f"{name:>8}: {CUTOFF * mean:6.1f} seconds an instance")

learners = [UCB2(), KLUCB(), ThompsonSampling(), Exp3(), Uniform()]
runs = compare(pool, learners, repetitions=20, seed=1)

best = pool.actions[pool.best]
print(
    f"\nhours lost to always running {best}, over {pool.rows} instances (mean of 20 shuffles, 95 "
    "% interval):"
)
for name in runs.ranking():
    hours = [CUTOFF / 3600 * value for value in runs.regret(name)[:3]]
    print(f"{name:>18}: {hours[0]:5.1f}  ({hours[1]:.1f} to {hours[2]:.1f})")

first, second = runs.ranking()[:2]
gap = runs.difference(second, first)
print(
    f"\n{second} minus {first}, shuffle by shuffle: {CUTOFF / 3600 * gap.value:.2f} hours", end=" "
)
print("(significant)" if gap.low > 0 else "(not significant)")
