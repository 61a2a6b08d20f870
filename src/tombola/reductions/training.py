"""Training: the play of a learner on past rows in i.i.d. order, of which only the frequencies of actions are kept."""

from typing import Any

import numpy as np

from tombola.engine.coins import draws
from tombola.engine.compiler import specialise
from tombola.engine.loop import ROUND, Arrivals, new_tally
from tombola.engine.player import Player
from tombola.engine.queue import queue_of
from tombola.settings import Setting
from tombola.types import Coins, Floats

CHUNK = 1 << 14  # draws at a time, so that training needs no memory besides the past


def train(base: Any, setting: Setting, losses: Floats, coins: Coins, costs: Floats | None = None) -> Floats:
    """Return how often `base` plays each action in the rounds of its setting, each an independent draw from the past.

    `costs`, if there are any, has one column for each action and resource, as a pool has them.
    """
    rounds = setting.horizon
    past, prices = (read_only(part) for part in (losses, np.zeros((0, 0)) if costs is None else costs))
    player = Player(base, setting, coins)
    resources = prices.shape[1] // setting.actions
    tally = new_tally(setting.actions, 0, np.zeros(0, np.int64), resources=resources, kept=False, expects=False)
    order = np.zeros(min(rounds, CHUNK), np.uint32)
    draw_rows = specialise(draws, (order, past.shape[0], coins))
    for begun in range(0, rounds, CHUNK):
        chunk = order[: rounds - begun]
        draw_rows(chunk, past.shape[0], coins)
        tally.place[ROUND] = 0
        player.play(Arrivals(past, prices, np.arange(setting.actions), chunk, 0), queue_of(0), tally)
    return tally.plays


def read_only(array: Floats) -> Floats:
    """Return a view that cannot be written, as those of a pool: so one compiled loop serves both."""
    view = array.view()
    view.flags.writeable = False
    return view
