"""Which model is best on a benchmark: a race, which asks each model only as long as it may still be the best."""

from tombola import demo, race
from tombola.racing import plan

pool = demo.evaluation(seed=0)  # 5,000 questions, 6 models: 1 where the answer is wrong
models = {name: column for column, name in enumerate(pool.actions)}


def evaluate(model, question):
    """Ask a model a question, here by looking it up; return the loss, 0 if it is right, and what the call cost."""
    return float(pool.losses[question, model]), 0.002


found = race(models, range(pool.rows), evaluate, seed=1, workers=1)
print(found.verdict)
for fell in found.dropped:
    print(f"  {fell.candidate} fell after {fell.row} questions, against {fell.against}")

near = race(models, range(pool.rows), evaluate, seed=1, workers=1, within=0.02)
print(f"\nGood enough, if nothing is better by more than 2 points:\n{near.verdict}")

print("\nWhat such a race takes, over 100 shuffles of this table:")
for one in plan(pool, seed=1, levels=(0.05, 0.01), shuffles=100):
    low, high = one.calls_range
    print(f"  level {one.settings.level}: {one.calls:,.0f} of {one.total_calls:,} calls", end=" ")
    print(f"({low:,.0f} to {high:,.0f} in 90 % of the shuffles), wrong in {one.wrong:.0%}")
