"""Publish a leaderboard with the ranks that each model may have."""

from tombola import demo, race, rank
from tombola.pool import Pool

pool = demo.evaluation(seed=0)  # 5,000 questions, 6 models: 1 where the answer is wrong
board = Pool(pool.losses[:500], actions=pool.actions)

ranking = rank(board)
print(ranking)
second, third = (ranking.names[a] for a in ranking.order()[1:3])
print(f"\n{ranking.compare(second, third, 'beyond')}")

models = {name: column for column, name in enumerate(pool.actions)}
order = race(
    models,
    range(pool.rows),
    lambda model, row: float(pool.losses[row, model]),
    kind="losses",
    seed=1,
    workers=1,
    question="ranks",
)
print(f"\nWhile the table fills:\n{order.verdict}")
