"""Hostile learners under a budget, and hostile costs; whether too much is spent is told in exact fractions."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from tombola import play
from tombola.budget import Budget, Terms
from tombola.budgets import BudgetedLearner
from tombola.engine.player import Player
from tombola.pool import Pool
from tombola.trace import Trace
from tombola.types import Coins, Floats

MOODS = 12


class State(NamedTuple):
    """What it is in the mood for, the rounds seen so far, the null action, and all that was played."""

    mood: float
    seen: Floats
    null: float
    log: Floats


@dataclass(frozen=True)
class Hostile(BudgetedLearner):
    """A learner that proposes what is no mix, and writes into all that it is shown."""

    mood: int

    def init(self, terms: Terms) -> State:
        """Return the state before the first round."""
        return State(float(self.mood), np.zeros(1), float(terms.null), np.zeros((terms.horizon, terms.actions)))

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        """Write anything but a mix, mostly."""
        mood, last, k = int(state.mood), mix.size - 1, float(mix.size)
        for action in range(mix.size):
            mix[action] = 0.0
            if mood == 1:
                mix[action] = math.nan
            elif mood == 2:
                mix[action] = math.inf
            elif mood == 3:
                mix[action] = -1.0
            elif mood == 4:
                mix[action] = 1e300
            elif mood == 5:
                mix[action] = 1.0 / k + 1e-7
            elif mood == 6:
                mix[action] = 1.0 / k
            elif mood == 7:
                mix[action] = 2.0 if action == 0 else -1.0 / max(k - 1.0, 1.0)
            elif mood == 8:
                mix[action] = 1.0 if action == 0 else 1e-17
            elif mood == 9:
                mix[action] = 1.0 if action == int(state.seen[0]) % mix.size else 0.0
            elif mood == 10:
                mix[action] = 1e-320 if action < last else 1.0
            elif mood == 11:
                mix[action] = math.nan if action == int(state.null) else 1.0

    @staticmethod
    def observe(state: State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        """Write down what was played, then write into everything."""
        state.seen[0] += 1.0
        for action in range(played.size):
            state.log[round - 1, action] = played[action]
        for action in range(played.size):
            played[action], losses[action] = -7.0, math.nan
            for j in range(costs.shape[1]):
                costs[action, j] = -1e300

    @staticmethod
    def due(state: State, fits: Floats) -> bool:
        """Say that everything fits, and ask to plan now and then."""
        for action in range(fits.size):
            fits[action] = 1.0
        return int(state.seen[0]) % 5 == 3

    def plan(self, state: State, left: Floats, fits: Floats, coins: Coins) -> None:
        """Write into all that is shown."""
        left[:], fits[:] = np.inf, 1.0
        state.seen[0] += 1.0


@lru_cache(maxsize=2)
def pool_of(number: int) -> Pool:
    """Return a small pool with costs of some ugly kind."""
    coins = np.random.default_rng([17, number])
    T, k, m = (int(coins.integers(1, top)) for top in (24, 5, 3))
    costs = coins.random((T, k, m))
    kind = coins.integers(7)
    if kind == 1:
        costs = np.round(costs)
    elif kind == 2:
        costs = np.ceil(costs * 3) / 10
    elif kind == 3:
        costs = costs**-3.0
    elif kind == 4:
        costs *= 10.0 ** coins.integers(-290, 290, size=m)
    elif kind == 5:
        costs[coins.random((T, k, m)) < 0.7] = 0.0
    elif kind == 6:
        costs = 1.0 - costs * 2.0**-50
    return Pool(coins.integers(0, 3, (T, k)) / 2, costs=costs)


def budget_of(pool: Pool, coins: np.random.Generator) -> Budget:
    """Return amounts from nothing to plenty, many of them exact sums of costs."""
    costs: Any = pool.costs
    some = costs[coins.integers(0, pool.rows, 3), coins.integers(0, pool.k, 3)].sum(axis=0)
    totals = costs.max(axis=1).sum(axis=0)
    choices = [0.0 * totals, some, totals * coins.random(), np.nextafter(some, 0), totals / 2, costs.max(axis=(0, 1))]
    return Budget([float(choices[coins.integers(6)][j]) for j in range(totals.size)], null="add")


def overspent(number: int, learner: BudgetedLearner | None = None) -> bool:
    """Play once, and tell in exact fractions whether more was spent, or is reserved, than there was."""
    coins = np.random.default_rng([18, number])
    pool = pool_of(number // MOODS)
    budget = budget_of(pool, coins)
    stop: Any = ("strict", "fits")[int(coins.integers(2))]
    delay = (0, 0, 2, pool.rows + 1)[int(coins.integers(4))]
    players: list[Player] = []
    with mock.patch.object(Player, "play", _keeping(players)):
        trace = play(
            learner or Hostile(number % MOODS), pool, "given", delay, budget=budget, stop=stop,
            mixed=bool(coins.integers(2)), seed=number,
        )  # fmt: skip
    return any(over(trace, pool, players[0].state.log, j) for j in range(len(trace.ledger.amounts)))


def over(trace: Trace, pool: Pool, log: Floats, resource: int) -> bool:
    """Tell whether the exact cost of what was played, with what is reserved for the rest, is above the amount."""
    costs: Any = pool.costs
    paid = costs[trace.order, :, resource]
    played = log[:, : pool.k]
    amount, reserved = Fraction(trace.ledger.amounts[resource]), Fraction(trace.ledger.reserved[resource])
    if reserved < 0 or not ((played >= 0.0) & (played <= 1.0)).all():
        return True
    if math.fsum((played * paid).ravel()) + reserved < 0.999999 * amount:
        return False  # far from it
    pairs = zip(played.ravel().tolist(), paid.ravel().tolist(), strict=True)
    return reserved + sum(Fraction(p) * Fraction(c) for p, c in pairs) > amount


def _keeping(players: list[Player]) -> Any:
    def play_on(self: Player, *arguments: Any) -> None:
        players.append(self)
        _play(self, *arguments)

    return play_on


_play = Player.play
_steps: dict[Any, Any] = {}
_step = Player.step


def remembered(player: Player, function: Any, *arguments: Any) -> Any:
    """Look every loop up once: the compiler's fingerprint of a learner takes longer than these plays."""
    key = (function, type(player.learner))
    if key not in _steps:
        _steps[key] = _step(player, function, *arguments)
    return _steps[key]


def count_overspent(first: int, count: int) -> int:
    """Play many times, and return how often too much was spent."""
    with mock.patch.object(Player, "step", remembered):
        return sum(overspent(number) for number in range(first, first + count))
