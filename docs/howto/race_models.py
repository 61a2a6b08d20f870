"""Find the best model on a benchmark with a race that drops models early."""

from tombola import demo, race
from tombola.racing import plan

pool = demo.evaluation(seed=0)  # 5,000 questions, 6 models: 1 where the answer is wrong
models = {name: column for column, name in enumerate(pool.actions)}


def evaluate(model, question):
    """Return the loss of a model on a question, and the cost, by table look-up.

    The loss is 0 if the answer is right.
    """
    return float(pool.losses[question, model]), 0.002


best = race(models, range(pool.rows), evaluate, kind="losses", seed=1, workers=1)
print(best.verdict)
for drop in best.dropped:
    print(f"  {drop.candidate} was dropped after {drop.row} questions, against {drop.against}")

near = race(models, range(pool.rows), evaluate, kind="losses", seed=1, workers=1, within=0.02)
print(f"\nWithin 2 points of the best:\n{near.verdict}")

print("\nNumber of calls over 100 shuffles of this table:")
for one in plan(pool, seed=1, levels=(0.05, 0.01), shuffles=100):
    low, high = one.calls_range
    print(f"  level {one.settings.level}: {one.calls:,.0f} of {one.total_calls:,} calls", end=" ")
    print(f"({low:,.0f} to {high:,.0f} in 90 % of the shuffles), wrong in {one.wrong:.0%}")
