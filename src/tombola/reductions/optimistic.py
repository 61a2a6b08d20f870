"""Simulation for bandit feedback: train a base on what was seen, made i.i.d. and optimistic.

The paper's template needs whole rows to train on. Of an action played n times only n losses are known; so each action
is simulated from its own losses, lowered by its radius, and the base finds out which of them to play. The theorem, and
its proof: docs/theory/optimistic.md.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tombola import validate
from tombola.bounds import drift
from tombola.engine.coins import below, new_coins, uniform
from tombola.engine.compiler import Kernel, compiles, specialise
from tombola.engine.memory import blank, mix_of, pack, viewer
from tombola.errors import ParameterError
from tombola.learners.bandit.counts import learn, least_tried
from tombola.learners.base import Feedback, Learner, MixedLearner
from tombola.settings.base import chooser
from tombola.types import Coins, Floats

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    choose: Kernel
    observe: Kernel


class State(NamedTuple):
    """ln(2 k T / delta), rounds acted, the action to play (-1: not simulated yet), every loss seen of each action."""

    depth: float
    acted: Floats
    planned: Floats
    chosen: Floats
    seen: Floats
    means: Floats
    past: Floats


class LazyState(NamedTuple):
    """The same, with the mix of the last simulation, and the counts and the round at which the next is due."""

    depth: float
    acted: Floats
    planned: Floats
    chosen: Floats
    seen: Floats
    means: Floats
    past: Floats
    played: Floats
    due_at: Floats


def keep(state: Any, action: int, loss: float) -> None:
    """Keep a loss of an action."""
    state.past[action, int(state.seen[action])] = loss
    learn(state.seen, state.means, action, loss)


def kept_share(state: Any) -> Floats:
    """Return the chance with which a simulated loss is kept, so that its mean is (mean - radius)^+."""
    radii = np.sqrt(state.depth / (2.0 * state.seen))
    shares: Floats = np.maximum(0.0, state.means - radii) / np.maximum(state.means, radii)
    return shares


class Tale(NamedTuple):
    """What simulated rounds are made of: the losses seen, how many of each action, and the share that is kept."""

    past: Floats
    seen: Floats
    shares: Floats


def imagine(memory: Floats, coins: Coins, tale: Tale, rounds: int, plays: Floats) -> int:
    """Let the base play simulated rounds, count what it plays, and return the last action."""
    state, mix = view(memory), mix_of(memory)
    last = 0
    for _ in range(rounds):
        action, chance = choose(state, mix, coins)
        loss = 0.0
        if uniform(coins) < tale.shares[action]:
            loss = tale.past[action, below(coins, int(tale.seen[action]))]
        observe(state, action, chance, loss)
        plays[action] += 1.0
        last = action
    return last


@lru_cache(maxsize=256)
def fresh(base: Learner, actions: int, rounds: int, *, compiled: bool) -> tuple[Floats, Kernel]:
    """Return the first memory of a base for so many rounds, and `imagine` specialised to it, compiled or plain."""
    state, kernels = base.init(actions, rounds), base.kernels(actions, rounds)
    memory, row = pack(state, actions), np.zeros(actions)
    arguments = (memory, new_coins(np.random.SeedSequence(0)), Tale(np.zeros((actions, 1)), row, row), 1, row)
    names = {"view": viewer(state), "choose": chooser(kernels), "observe": kernels.observe}
    return memory, specialise(imagine, arguments, **names)


def simulate(base: Learner, state: Any, horizon: int, rounds: int, coins: Coins, plays: Floats) -> int:
    """Play so many rounds of a fresh run that the base takes for `horizon` rounds, and return the last action."""
    memory, run = fresh(base, plays.size, horizon, compiled=compiles())
    return int(run(memory.copy(), coins, Tale(state.past, state.seen, kept_share(state)), rounds, plays))


def power(state: Any) -> int:
    """Return 2^floor(log2 t) for the round t to come."""
    return 1 << (int(state.acted[0]) + 1).bit_length() - 1


@dataclass(frozen=True)
class OptimisticSimulation(Learner):
    """In every round, let a fresh `base` play simulated rounds, and play what it plays in one of them, drawn blindly.

    In round t the base plays h = 2^floor(log2 t) rounds in which action a answers, with chance (m - r)^+ / m, one of
    its n losses seen so far, drawn uniformly, and else 0: m is their mean and r = sqrt(ln(2 k T / delta) / (2 n)). So
    its simulated mean is (m - r)^+, and rounds are i.i.d., whatever the order of the rows. Every action is played once
    first. `base` is any bandit learner that acts round by round; delta = None is 1/T. It buys generality, not a better
    rate: with R_A its regret on i.i.d. rounds and L = ln(2 k T / delta), the regret in random order is at most
    k + sum R_A(2^i) + 2 sqrt(2 k T L) + delta T + drift (docs/theory/optimistic.md). It simulates T/4 rounds in every
    round; `LazyOptimisticSimulation` far fewer, without the proof.

    >>> from tombola import UCB1, instances, play
    >>> play(OptimisticSimulation(UCB1()), instances.birthday(64), seed=0).regret < 32
    True
    """

    base: Learner
    delta: float | None = None
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        refuse(self, self.base, self.delta)

    def init(self, actions: int, horizon: int) -> State:
        """Start with nothing seen."""
        depth = optimism(actions, horizon, self.delta)
        chosen, seen, means = np.zeros((3, actions))
        return State(depth, np.zeros(1), np.full(1, -1.0), chosen, seen, means, blank(actions, horizon))

    @staticmethod
    def due(state: State) -> bool:
        """Simulate before every round, once all actions have answered."""
        return bool(state.planned[0] < 0.0 and least_tried(state.seen, state.chosen) < 0)

    def plan(self, state: State, coins: Coins) -> None:
        """Run the base up to a round drawn blindly, and take its action there."""
        rounds = power(state)
        state.planned[0] = simulate(
            self.base, state, rounds, below(coins, rounds) + 1, coins, np.zeros(state.seen.size)
        )

    @staticmethod
    def act(state: State, coins: Coins) -> tuple[int, float]:
        """Play an action never answered, or the one that was simulated; its chance has no formula."""
        action, chance = int(state.planned[0]), math.nan
        if action < 0:
            action, chance = least_tried(state.seen, state.chosen), 1.0
        state.planned[0] = -1.0
        state.acted[0] += 1.0
        state.chosen[action] += 1.0
        return action, chance

    @staticmethod
    def observe(state: State, action: int, chance: float, loss: float) -> None:
        """Keep the loss."""
        keep(state, action, loss)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        """Bound the regret in random order, if the base has a bound; none is known with delay."""
        powers = [2**i for i in range(horizon.bit_length())]
        shares = [self.base.bound(actions, rounds) for rounds in powers]
        if delay > 0 or any(share is None for share in shares):
            return None
        depth, level = optimism(actions, horizon, self.delta), 1 / horizon if self.delta is None else self.delta
        spread = 2 * math.sqrt(2 * actions * horizon * depth) + drift(horizon, actions)
        regret = actions + sum(share for share in shares if share is not None) + spread + level * horizon
        return 0.0 if actions == 1 else min(float(horizon), regret)


@dataclass(frozen=True)
class LazyOptimisticSimulation(MixedLearner):
    """The same with few simulations: again when the rounds have doubled, or the answers of an action grown by half.

    In between it plays the frequencies of the last one. No bound is proved, so `bound` is None.

    >>> from tombola import UCB1, instances, play
    >>> play(LazyOptimisticSimulation(UCB1()), instances.birthday(64), seed=0).regret < 32
    True
    """

    base: Learner
    delta: float | None = None
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        refuse(self, self.base, self.delta)

    def init(self, actions: int, horizon: int) -> LazyState:
        """Start with nothing seen."""
        depth = optimism(actions, horizon, self.delta)
        chosen, seen, means, played, due_at = np.zeros((5, actions))
        past = blank(actions, horizon)
        return LazyState(depth, np.zeros(1), np.zeros(1), chosen, seen, means, past, played, due_at)

    @staticmethod
    def due(state: LazyState) -> bool:
        """Simulate when the round has doubled or an action has answered half as often again."""
        if least_tried(state.seen, state.chosen) >= 0:
            return False
        late = state.acted[0] + 1.0 >= 2.0 * state.planned[0]
        for action in range(state.seen.size):
            late = late or state.seen[action] >= state.due_at[action]
        return bool(late)

    def plan(self, state: LazyState, coins: Coins) -> None:
        """Run the base, and keep how often it played each action."""
        rounds = power(state)
        plays = np.zeros(state.seen.size)
        simulate(self.base, state, rounds, rounds, coins, plays)
        state.played[:] = plays / rounds
        state.planned[0] = state.acted[0] + 1.0
        state.due_at[:] = np.ceil(1.5 * state.seen)

    @staticmethod
    def mix(state: LazyState, mix: Floats) -> None:
        """Play an action never answered, or the frequencies of the last simulation."""
        missing = least_tried(state.seen, state.chosen)
        state.acted[0] += 1.0
        for action in range(mix.size):
            mix[action] = state.played[action] if missing < 0 else 0.0
        if missing >= 0:
            mix[missing] = 1.0
            state.chosen[missing] += 1.0

    @staticmethod
    def observe(state: LazyState, action: int, chance: float, loss: float) -> None:
        """Keep the loss."""
        keep(state, action, loss)


def optimism(actions: int, horizon: int, delta: float | None) -> float:
    """Return ln(2 k T / delta), with delta = 1/T if None."""
    return math.log(2 * actions * horizon * horizon if delta is None else 2 * actions * horizon / delta)


def refuse(learner: Learner, base: Learner, delta: float | None) -> None:
    """Refuse a base that cannot be simulated."""
    owner = type(learner).__name__
    if delta is not None:
        validate.number(owner, "delta", delta, above=0, below=1)
    if base.feedback != "bandit" or base.plans:
        raise ParameterError(
            f"{owner}: base must be a bandit learner that acts round by round, got {base!r}; "
            f"write for example {owner}(UCB1())."
        )
