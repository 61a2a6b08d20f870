"""Minimax regret in random order, on i.i.d. rows and in adversarial order, and their ratios.

Values are those of linear programs (`tombola.lab.minimax`). The laws of i.i.d. rows are on grids, so
the i.i.d. value is a lower bound and the ratio random order / i.i.d. an upper one. With two actions
and full information pools and laws have rows in which exactly one action loses, which are the
hardest ones; with bandit feedback they have all rows, because there such a row would tell the loss
of the other action.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tombola.lab import adversarial_minimax, iid_minimax, minimax
from tombola.lab.games import Feedback


class Game(NamedTuple):
    """Actions, feedback, horizons, and parts of the grids of laws."""

    actions: int
    feedback: Feedback
    horizons: Sequence[int]
    grids: Sequence[int]


GAMES = (
    Game(2, "full", (2, 4, 6, 8, 10, 12, 14, 16, 32, 64), (24, 48)),
    Game(2, "bandit", (2, 4, 6, 8, 10, 12), (12, 24)),
    Game(3, "full", (2, 3, 4, 5, 6, 7, 8), (6, 8, 9)),
    Game(3, "bandit", (2, 3, 4, 5, 6), (6, 8, 9)),
)


def main() -> None:
    chosen = {int(text) for text in sys.argv[1:]} or set(range(len(GAMES)))
    head = ("k", "feedback", "T", "i.i.d.", "random", "adversarial", "random / i.i.d.")
    print("".join(f"{word:>16}" for word in head))
    for number, game in enumerate(GAMES):
        if number not in chosen:
            continue
        one_loses = game.actions == 2 and game.feedback == "full"
        rows = np.eye(2) if one_loses else None
        for T in game.horizons:
            value = minimax(T, game.actions, feedback=game.feedback, rows=rows).value
            iid = max(
                iid_minimax(T, game.actions, feedback=game.feedback, rows=rows, grid=grid)
                for grid in game.grids
            )
            cells = [str(game.actions), game.feedback, str(T), f"{iid:.4f}", f"{value:.4f}"]
            # Known by dynamic programming for full information, and slow beyond these sizes.
            known = game.feedback == "full" and T <= (16 if game.actions == 2 else 8)
            cells += [
                f"{adversarial_minimax(T, game.actions):.4f}" if known else "",
                f"{value / iid:.3f}",
            ]
            print("".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
