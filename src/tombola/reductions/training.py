"""Training: the play of a learner on past rows in i.i.d. order, of which only the frequencies of actions are kept."""

import numpy as np

from tombola.engine.coins import draws
from tombola.engine.compiler import specialise
from tombola.engine.loops import ROUND, Table, Waiting, new_tally
from tombola.engine.player import Player
from tombola.learners.base import Learner
from tombola.reductions.external import External
from tombola.types import Coins, Floats

CHUNK = 1 << 14  # draws at a time, so that training needs no memory besides the past


def train(base: Learner | External, past: Floats, rounds: int, coins: Coins) -> Floats:
    """Return how often `base` plays each action in `rounds` independent uniform draws from the rows of `past`."""
    if isinstance(base, External):
        return base.train(past, rounds, coins)
    rows, actions = past.shape
    past = past.view()
    past.flags.writeable = False
    player = Player(base, actions, rounds, coins)
    tally = new_tally(actions, 0, np.zeros(0, np.int64), full=False, expects=False)
    none = np.zeros(0, np.int64)
    at_once = Waiting(0, none, none, np.zeros(1, np.int64), np.zeros(1), np.zeros(1))
    order = np.zeros(min(rounds, CHUNK), np.uint32)
    draw_rows = specialise(draws, (order, rows, coins))
    for begun in range(0, rounds, CHUNK):
        chunk = order[: rounds - begun]
        draw_rows(chunk, rows, coins)
        tally.place[ROUND] = 0
        player.play(Table(past, np.arange(actions), chunk, 0), at_once, tally)
    return tally.plays
