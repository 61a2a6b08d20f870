"""Hostile learners under a budget, and hostile costs; whether too much is spent is told in exact fractions."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from tombola import play
from tombola.budget import Budget, Ledger, Terms
from tombola.budgets import BudgetedBanditLearner, BudgetedLearner
from tombola.delay import delays_of
from tombola.engine.loop import Arrivals, new_tally
from tombola.engine.player import Player
from tombola.engine.queue import queue_of, ring_of
from tombola.playing import allowance_on
from tombola.pool import Pool
from tombola.settings import setting_of
from tombola.types import Coins, Floats

MOODS = 13


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
        write_nonsense(state, mix)

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
        return ask_now_and_then(state, fits)

    def plan(self, state: State, left: Floats, fits: Floats, coins: Coins) -> None:
        """Write into all that is shown."""
        left[:], fits[:] = np.inf, 1.0
        state.seen[0] += 1.0


@dataclass(frozen=True)
class HostileBandit(BudgetedBanditLearner):
    """The same, but told only of what it plays."""

    mood: int

    init = Hostile.init
    mix = staticmethod(Hostile.mix)
    due = staticmethod(Hostile.due)
    plan = Hostile.plan

    @staticmethod
    def observe(state: State, round: int, action: int, chance: float, loss: float, costs: Floats) -> None:
        """Write down what was played, then write into everything."""
        state.seen[0] += 1.0
        state.log[round - 1, action] = 1.0
        for j in range(costs.size):
            costs[j] = -1e300


def write_nonsense(state: State, mix: Floats) -> None:
    """Write anything but a mix, mostly."""
    mood, last, k = int(state.mood), mix.size - 1, float(mix.size)
    if mood == 12:
        mood = int(state.seen[0]) % 12
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


def ask_now_and_then(state: State, fits: Floats) -> bool:
    """Say that everything fits, and ask to plan now and then."""
    for action in range(fits.size):
        fits[action] = 1.0
    return int(state.seen[0]) % 5 == 3


def ugly_costs(coins: np.random.Generator, shape: tuple[int, int, int], far: int = 290) -> Floats:
    """Return costs of some ugly kind: tiny, huge (10^far), decimal, whole, rare, almost 1, changing, or of 32 bits."""
    costs = coins.random(shape)
    kind = coins.integers(9)
    if kind == 1:
        costs = np.round(costs)
    elif kind == 2:
        costs = np.ceil(costs * 3) / 10
    elif kind == 3:
        costs = costs**-3.0
    elif kind == 4:
        costs *= 10.0 ** coins.integers(-far, far, size=shape[2])
    elif kind == 5:
        costs[coins.random(shape) < 0.7] = 0.0
    elif kind == 6:
        costs = 1.0 - costs * 2.0**-50
    elif kind == 7:
        costs[: shape[0] // 2] *= 1e-9
    elif kind == 8:
        costs = costs.astype(np.float32).astype(np.float64)
    return costs


@lru_cache(maxsize=2)
def pool_of(number: int) -> Pool:
    """Return a small pool with costs of some ugly kind."""
    coins = np.random.default_rng([17, number])
    T, k, m = (int(coins.integers(1, top)) for top in (24, 5, 3))
    costs = ugly_costs(coins, (T, k, m))
    return Pool(coins.integers(0, 3, (T, k)) / 2, costs=costs)


def budget_of(pool: Pool, coins: np.random.Generator) -> Budget:
    """Return amounts from nothing to plenty, many of them exact sums of costs."""
    costs: Any = pool.costs
    some = costs[coins.integers(0, pool.rows, 3), coins.integers(0, pool.k, 3)].sum(axis=0)
    totals = costs.max(axis=1).sum(axis=0)
    choices = [0.0 * totals, some, totals * coins.random(), np.nextafter(some, 0), totals / 2, costs.max(axis=(0, 1))]
    return Budget([float(choices[coins.integers(6)][j]) for j in range(totals.size)], null="add")


def overspent(number: int) -> bool:
    """Play once through `play`, and tell whether more was spent, or is reserved, than there was."""
    group, mood = divmod(number, MOODS)
    question = question_of(group)
    players: list[Player] = []
    with mock.patch.object(Player, "play", _keeping(players)):
        trace = play(
            Hostile(mood), question.pool, "given", question.delay, budget=question.budget, stop=question.stop,
            mixed=question.mixed, seed=number,
        )  # fmt: skip
    return is_over(question.pool, trace.ledger, players[0].state.log, trace.actions)


class Question(NamedTuple):
    """What all moods are asked."""

    pool: Pool
    budget: Budget
    stop: Any
    delay: Any
    mixed: bool


def question_of(group: int) -> Question:
    """Return a pool with an amount, a stop rule, a delay, and whether play is fluid."""
    coins = np.random.default_rng([18, group])
    pool = pool_of(group)
    delay = (0, 0, 2, pool.rows + 1, coins.integers(0, 5, pool.rows))[int(coins.integers(5))]
    stop = ("strict", "fits")[int(coins.integers(2))]
    return Question(pool, budget_of(pool, coins), stop, delay, bool(coins.integers(2)))


class Stage:
    """A question with a player that can be put back to the start: many plays, for the price of one set-up."""

    def __init__(self, question: Question, kind: Any = Hostile) -> None:
        pool, budget, stop, delay, mixed = self.question = question
        learner, mixed = kind(0), mixed and kind is Hostile
        allowance = allowance_on(pool, budget, stop, mixed=mixed)
        self.setting = setting_of(learner, pool.rows, actions=pool.k, allowance=allowance)
        self.queue = queue_of(delays_of(delay, np.arange(pool.rows, dtype=np.uint32)))
        self.player = Player(learner, self.setting, np.zeros(4, np.uint64), ring_of(self.queue))
        self.start = self.player.memory.copy()
        costs: Any = pool.costs
        labels = np.append(np.arange(pool.k), -1)[: self.setting.actions]
        self.table = Arrivals(
            pool.losses, costs.reshape(pool.rows, -1), labels, np.arange(pool.rows, dtype=np.uint32), pool.best
        )

    def play(self, mood: int, coins: Coins) -> tuple[Floats, Any]:
        """Play from the start, and return all that was played and seen, and the actions."""
        player, purse = self.player, self.player.desk.purse
        tally = new_tally(
            self.setting.actions, self.question.pool.rows, np.zeros(0, np.int64),
            resources=purse.amounts.size, kept=True, expects=True,
        )  # fmt: skip
        player.memory[:], player.coins[:] = self.start, coins
        player.memory[int(self.start[1])] = mood
        purse.spent[:], purse.reserved[:], purse.fits[:], purse.flags[:] = 0.0, 0.0, 1.0, 0.0
        player.play(self.table, self.queue, tally)
        return player.state.log, np.full(tally.actions.size, -1) if purse.fluid else tally.actions

    def is_over(self, mood: int, coins: Coins) -> bool:
        """Play, and tell whether more was spent, or is reserved, than there was."""
        log, actions = self.play(mood, coins)
        return is_over(self.question.pool, self.setting.ledger(self.player.desk), log, actions)


def is_over(pool: Pool, ledger: Ledger, log: Floats, actions: Any) -> bool:
    """Tell, exactly, whether what was seen and is reserved, or in drawn play all that was played, is too much."""
    costs: Any = pool.costs
    drawn = np.zeros((pool.rows, pool.k))
    rounds = np.flatnonzero((actions >= 0) & (actions < pool.k))
    drawn[rounds, actions[rounds]] = 1.0
    seen = log[:, : pool.k]
    if not ((seen >= 0.0) & (seen <= 1.0)).all():
        return True
    for j, (amount, reserved) in enumerate(zip(ledger.amounts, ledger.reserved, strict=True)):
        paid = costs[:, :, j]
        if reserved < 0 or exceeds(seen, paid, reserved, amount) or exceeds(drawn, paid, 0.0, amount):
            return True
    return False


def exceeds(played: Floats, paid: Floats, reserved: float, amount: float) -> bool:
    """Tell, in exact fractions, whether the cost of what was played, with what is reserved, is above the amount."""
    if float((played * paid).sum()) + reserved < 0.999999 * amount:
        return False  # far from it: the sum of some hundred products is right to a part in a billion
    some = np.flatnonzero((played > 0.0) & (paid > 0.0))
    cost = dyadic_sum(played.ravel()[some], paid.ravel()[some])
    return cost + Fraction(reserved) > Fraction(amount)


def dyadic_sum(first: Floats, second: Floats) -> Fraction:
    """Return the exact sum of the products: every float is a whole number times a power of two."""
    (a, i), (b, j) = np.frexp(first), np.frexp(second)
    powers = (i + j).tolist()
    least = min(powers, default=0)
    whole = zip((a * 2.0**53).tolist(), (b * 2.0**53).tolist(), powers, strict=True)
    total = sum((int(x) * int(y)) << (power - least) for x, y, power in whole)
    return Fraction(total) * Fraction(2) ** (least - 106)


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


def count_overspent(first: int, count: int, kind: Any = Hostile) -> int:
    """Play many times, every question in all moods, and return how often too much was spent."""
    found = 0
    with mock.patch.object(Player, "step", remembered):
        for group in range(first // MOODS, -(-(first + count) // MOODS)):
            stage = Stage(question_of(group), kind)
            numbers = range(max(first, group * MOODS), min(first + count, (group + 1) * MOODS))
            coins = np.random.default_rng([19, group]).integers(1, 2**63, (MOODS, 4)).astype(np.uint64)
            found += sum(stage.is_over(number % MOODS, coins[number % MOODS]) for number in numbers)
    return found
