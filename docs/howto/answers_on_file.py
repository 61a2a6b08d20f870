"""Answers on file: an incumbent and old results make a race cheaper."""

import numpy as np

from tombola import Pool
from tombola.racing import plan, race

# 800 questions. Six old models answered all of them; two new ones have not been asked yet.
rng = np.random.default_rng(7)
difficulty = rng.normal(0.0, 1.0, 800)
skills = [0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1.2, 0.7]
wrong = (difficulty[:, None] + rng.normal(0.0, 0.7, (800, 8)) > skills).astype(float)
old, new = wrong[:, :6], wrong[:, 6:]

# The best old model is the incumbent. It takes part, and its answers are on file.
incumbent = int(np.argmin(old.mean(axis=0)))
losses = {"incumbent": old[:, incumbent], "new A": new[:, 0], "new B": new[:, 1]}
names, questions = list(losses), [f"question {row}" for row in range(800)]


def ask(model: str, question: str) -> float:
    """Return 0 if the model answers correctly, else 1. Replace this by a call of your model."""
    return float(losses[model][int(question.split()[1])])


history = np.delete(old, incumbent, axis=1)
settings = {"kind": "losses", "seed": 1, "workers": 1, "progress": False}
for title, side in (
    ("nothing on file", {}),
    ("incumbent on file", {"known": {"incumbent": losses["incumbent"]}}),
    ("and history", {"known": {"incumbent": losses["incumbent"]}, "history": history}),
):
    done = race(names, questions, ask, **settings, **side)
    print(f"{title:18} {done.calls_made:5} calls: {done.answer[0]}")

# One order is luck. A plan averages over many, on a table that is complete.
pool = Pool(np.column_stack(list(losses.values())), actions=names)
for title, side in (
    ("nothing on file", {}),
    ("incumbent on file", {"known": ["incumbent"]}),
    ("and history", {"known": ["incumbent"], "history": history}),
):
    [one] = plan(pool, seed=2, shuffles=40, **side)
    low, high = one.calls_range
    print(
        f"{title:18} {one.calls:5.0f} calls on average, 90 % of the races {low:.0f} to {high:.0f}"
    )
