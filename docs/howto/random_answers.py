"""Agents that answer differently each time: race them, rank their runs."""

import tempfile
from pathlib import Path

import numpy as np

from tombola import demo, race, rank

# 200 questions; an agent is right with probability .85 where it was right here, else .25.
pool = demo.evaluation(seed=0)
right = np.where(pool.losses[:200] == 0.0, 0.85, 0.25)
agents = {name: column for column, name in enumerate(pool.actions)}


def play(candidates, seed, **options):
    """Race agents on fresh answers, and print what the race says."""
    rng = np.random.default_rng(seed)

    def score(agent, question):
        return float(rng.random() < right[question, agent])

    found = race(candidates, range(200), score, seed=1, workers=1, progress=False, **options)
    print(found.pilot_text or "No pilot.")
    print(f"{found.verdict}\n")


twins = {"v6": agents["v6"], "v6 again": agents["v6"]}
print("The same agent twice, as if answers were fixed:")
play(twins, 3, answers="fixed")
print("The same agent twice, by default:")
play(twins, 3)
print("Two agents, at most 1,500 calls:")
play({name: agents[name] for name in ("v5", "v6")}, 4, max_calls=1500)

# The usual table: every agent ran every question five times.
rng = np.random.default_rng(5)
lines = ["model,question,run,score"]
for name, column in agents.items():
    lines += [
        f"{name},q{question},{run},{int(rng.random() < right[question, column])}"
        for question in range(200)
        for run in range(1, 6)
    ]
with tempfile.TemporaryDirectory() as folder:
    table = Path(folder) / "runs.csv"
    table.write_text("\n".join(lines))
    print(rank(table))
