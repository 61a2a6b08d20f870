"""A recorded table whose answers are made random: races, ranks and plan on it.

    python docs/studies/random_table.py swebench_bash.npz > docs/howto/output/random_table.txt

The table has `loss` (issues x models, 0 or 1) and `actions`. The package does not contain it: results
of 25 language models on the 500 issues of SWE-bench Verified, from github.com/SWE-bench (CC BY-NC 4.0).
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tombola import race, rank

# Models of rank 1 and 5, so that they differ, and the probability to solve an issue again that was
# solved, or not, in the recorded table.
RANKS = (1, 5)
AGAIN, NOW = 0.9, 0.1
RUNS = 5


def main() -> None:
    """Print what races, and ranks of finished runs, say."""
    table = np.load(sys.argv[1])
    losses = table["loss"]
    best = np.argsort(losses.mean(axis=0), kind="stable")
    chances = {
        f"model {place}": np.where(losses[:, best[place - 1]] == 0.0, AGAIN, NOW) for place in RANKS
    }
    for place, (name, chance) in zip(RANKS, chances.items(), strict=True):
        model = table["actions"][best[place - 1]]
        print(f"{name}: {model}, expected share solved {chance.mean():.3f}")
    first = next(iter(chances))
    twins = {first: chances[first], f"{first} again": chances[first]}
    play("The same model twice, as if answers were fixed:", twins, answers="fixed")
    play("The same model twice, by default:", twins)
    play("The two models, at most 3,000 calls:", chances, max_calls=3000)
    print(f"\n{RUNS} finished runs of every issue:")
    print(rank(runs_of(chances)))


def play(title: str, chances: dict[str, Any], **options: Any) -> None:
    """Race models on fresh answers, and print what the race says."""
    rng = np.random.default_rng(1)

    def score(model: str, issue: int) -> float:
        return float(rng.random() < chances[model][issue])

    rows = len(next(iter(chances.values())))
    found = race(list(chances), range(rows), score, seed=1, workers=1, progress=False, **options)
    print(f"\n{title}\n{found.pilot_text or 'No pilot.'}\n{found.verdict}")


def runs_of(chances: dict[str, Any]) -> Path:
    """Write the usual table of finished runs; its questions are the issues."""
    rng = np.random.default_rng(2)
    lines = ["model,question,run,score"]
    for model, chance in chances.items():
        for run in range(1, RUNS + 1):
            solved = rng.random(len(chance)) < chance
            lines += [f"{model},{issue},{run},{int(done)}" for issue, done in enumerate(solved)]
    path = Path(tempfile.mkdtemp()) / "runs.csv"
    path.write_text("\n".join(lines))
    return path


if __name__ == "__main__":
    main()
