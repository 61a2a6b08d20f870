"""Growth of time and memory of a play as rows and actions double.

    python benchmarks/growth.py

Processor seconds of the best of three plays, and the largest memory that Python and NumPy allocate
during one. The exponent e of "time grows as n^e" is the slope of a line through the logarithms;
1 is linear.
"""

import tracemalloc
from functools import partial

import numpy as np

from bandits import play_pool, random_pool
from measure import best_times
from tombola import UCB1, FollowTheLeader, Hedge, Learner, Simulation
from tombola.learners import Thrifty

LEARNERS: tuple[Learner, ...] = (
    FollowTheLeader(),
    Hedge(),
    UCB1(),
    Thrifty(price=1.0),
    Simulation(FollowTheLeader()),
)
# Rows at ten actions, and actions at 2^15 rows.
ROWS = [2**n for n in range(16, 21)]
ACTIONS = [2**n for n in range(2, 8)]


def measure(learner: Learner, sizes: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Return the seconds and the megabytes of a play at each size, (rows, actions)."""
    seconds, megabytes = [], []
    for rows, actions in sizes:
        ours = partial(play_pool, learner, random_pool(rows, actions))
        ours()  # compiles
        seconds.append(best_times({"play": ours}, turns=3)["play"])
        tracemalloc.start()
        ours()
        megabytes.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    return seconds, megabytes


def exponent(sizes: list[int], values: list[float]) -> float:
    """Return the slope of log(values) on log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def main() -> None:
    """Print one line for each learner, with rows and with actions doubled."""
    for title, sizes, numbers in (
        ("rows, 10 actions", [(rows, 10) for rows in ROWS], ROWS),
        ("actions, 2^15 rows", [(2**15, actions) for actions in ACTIONS], ACTIONS),
    ):
        print(f"| {title} | {' | '.join(map(str, numbers))} | exponent | MB, first and last |")
        for learner in LEARNERS:
            seconds, megabytes = measure(learner, sizes)
            times = " | ".join(f"{1e3 * value:.1f} ms" for value in seconds)
            print(
                f"| {type(learner).__name__} | {times} | {exponent(numbers, seconds):.2f} | "
                f"{megabytes[0]:.1f}, {megabytes[-1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
