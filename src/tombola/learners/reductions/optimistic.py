"""Simulation for bandit feedback: train a base on optimistic i.i.d. feedback.

The paper's template needs whole rows to train on. Of an action played n times only n losses are
known; so each action is simulated from its own losses, lowered to FrugalUCB's index, and the base
finds out which of them to play. The theorem, and its proof: docs/theory/optimistic.md.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds import smallest_index
from tombola.bounds.common import capped
from tombola.engine.compiler import Kernel, compile_loop, compiles
from tombola.engine.compiler import compiled as always_compiled
from tombola.engine.runner import reject_invalid_action
from tombola.engine.state_vector import flatten, lazy_zeros, mix_slice, unflattener
from tombola.errors import ParameterError
from tombola.feedback.base import make_choose
from tombola.learners.bandit.counts import least_tried_action, update_mean
from tombola.learners.base import Feedback, Learner, bound_of
from tombola.learners.switching.frugal_ucb import lower_index
from tombola.rng import choice, integers, new_rng, uniform

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    choose: Kernel
    observe: Kernel


class _State(NamedTuple):
    horizon: float
    acted: Floats
    # next action, -1 if not simulated yet; the lazy simulation: round of the last simulation
    planned: Floats
    chosen: Floats
    seen: Floats
    means: Floats
    # known, levels: count and mean of an action when its simulated mean was updated last.
    known: Floats
    levels: Floats
    # played, due_at: only the lazy simulation: plays of the base, and counts at which it simulates
    # again.
    played: Floats
    due_at: Floats
    past: Floats  # all losses of each action


def keep_probabilities(state: _State) -> Floats:
    """Return the probability of keeping a simulated loss of each action, shape (k,).

    A simulated loss is a past loss drawn at random. One that is not kept is replaced by 0, so that
    the simulated mean is `lower_index`, the index of FrugalUCB. The result is 0 for an action with
    a mean loss of 0. Every action must have feedback.
    """
    left = max(1.0, state.horizon - state.acted[0])
    actions = state.seen.size
    indices = [
        lower_index(state.levels[a], state.known[a], left, actions, state.horizon)
        for a in range(actions)
    ]
    return np.divide(indices, state.levels, out=np.zeros(actions), where=state.levels > 0.0)


def _simulate_feedback(
    memory: Floats,
    rng: RngState,
    past: Floats,
    seen: Floats,
    shares: Floats,
    rounds: int,
    plays: Floats,
) -> int:
    """Run the base on simulated rounds, count its plays, and return the last action.

    past, seen: losses observed of each action, shape (k, T), and number of them to draw from, shape
        (k,).
    shares: probability of keeping a drawn loss of each action, shape (k,); otherwise 0 replaces it.
    """
    state = view(memory)
    mix = mix_slice(memory)
    last = 0
    for _ in range(rounds):
        action, probability = choose(state, mix, rng)
        loss = 0.0
        if uniform(rng) < shares[action]:
            loss = past[action, integers(rng, int(seen[action]))]
        observe(state, action, probability, loss)
        plays[action] += 1.0
        last = action
    return last


@lru_cache(maxsize=256)
def _compile_simulation(
    base: Learner, actions: int, rounds: int, *, compiled: bool
) -> tuple[Floats, Kernel]:
    """Return the first state vector of a base, and the kernel `_simulate_feedback`."""
    state = base.init(actions=actions, horizon=rounds)
    kernels = base.kernels(actions, rounds)
    memory = flatten(state, actions)
    row = np.zeros(actions)
    arguments = (
        memory,
        new_rng(np.random.SeedSequence(0)),
        np.zeros((actions, 1)),
        row,
        row,
        1,
        row,
    )
    names = {"view": unflattener(state), "choose": make_choose(kernels), "observe": kernels.observe}
    # Simulated rounds outnumber the played ones, and the result is memoised, so compiling always
    # pays.
    with always_compiled() if compiled else nullcontext():
        return memory, compile_loop(_simulate_feedback, arguments, **names)


def _simulate(
    base: Learner, state: _State, horizon: int, rounds: int, rng: RngState
) -> tuple[int, Floats]:
    """Run a base of this horizon for `rounds`; return its last action and its plays."""
    plays = np.zeros(state.seen.size)
    initial, run = _compile_simulation(base, plays.size, horizon, compiled=compiles())
    memory = initial.copy()
    shares = keep_probabilities(state)
    try:
        return int(run(memory, rng, state.past, state.known, shares, rounds, plays)), plays
    except IndexError as error:
        reject_invalid_action(base, memory, error)
        raise


def _simulation_length(state: _State) -> int:
    """Return 2^floor(log2 t) for the next round t."""
    return 1 << (int(state.acted[0]) + 1).bit_length() - 1


@dataclass(frozen=True)
class OptimisticSimulation(Learner):
    """Play the action that a base chooses in the last round of a simulation.

    In round t the base, made for h = 2^floor(log2 t) rounds, plays a simulation of 1 to h rounds,
    their number drawn uniformly. There action a has, with probability I / m, one of its first n
    losses, drawn uniformly, and else 0. n = 1, 2, 3, 5, 8, .. is the count at which the mean m of
    these losses was updated last, and I <= m is FrugalUCB's index with the rounds that are left. So
    the simulated mean is I, and rounds are i.i.d. for every order of the rows. Every action is
    played once first. It buys generality, not a better rate: if the base has at most the regret
    R(n) on n i.i.d. rounds, the regret for k actions and T rounds in random order is at most the
    sum of R(2^i) over all 2^i <= T, plus `bounds.smallest_index`, which is of order sqrt(k T)
    (docs/theory/optimistic.md). It simulates about T/4 rounds in every round;
    `LazyOptimisticSimulation` far fewer, without the proof.

    base: any learner with feedback "bandit" that never plans; else ParameterError.

    >>> from tombola import UCB1, instances, play
    >>> play(OptimisticSimulation(UCB1()), instances.birthday(64), seed=0).regret < 32
    True
    """

    base: Learner
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        if getattr(self.base, "feedback", None) != "bandit" or self.base.plans:
            owner = type(self).__name__
            raise ParameterError(
                f"{owner}: base must be a bandit learner that acts round by round, got "
                f"{self.base!r}; "
                f"write for example {owner}(UCB1())."
            )

    def init(self, actions: int, horizon: int) -> _State:
        vectors: list[Floats] = [
            *np.zeros((7, actions)),
            lazy_zeros(actions, horizon),
        ]  # from `chosen` to `past`
        return _State(float(horizon), np.zeros(1), np.full(1, -1.0), *vectors)

    @staticmethod
    def needs_plan(state: _State) -> bool:
        return bool(state.planned[0] < 0.0 and least_tried_action(state.seen, state.chosen) < 0)

    def plan(self, state: _State, rng: RngState) -> None:
        rounds = _simulation_length(state)
        state.planned[0], _ = _simulate(self.base, state, rounds, integers(rng, rounds) + 1, rng)

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        action = int(state.planned[0])
        probability = math.nan
        if action < 0:
            action = least_tried_action(state.seen, state.chosen)
            probability = 1.0
        state.planned[0] = -1.0
        state.acted[0] += 1.0
        state.chosen[action] += 1.0
        return action, probability

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        state.past[action, int(state.seen[action])] = loss
        update_mean(state.seen, state.means, action, loss)
        known = state.known[action]
        # The simulated mean is updated once the losses have grown by half.
        if state.seen[action] >= known + max(1.0, math.ceil(0.5 * known)):
            state.known[action] = state.seen[action]
            state.levels[action] = state.means[action]

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        shares = [
            bound_of(self.base, actions=actions, horizon=2**i) for i in range(horizon.bit_length())
        ]
        if delay > 0 or any(share is None for share in shares):
            return None
        regret = smallest_index(horizon, actions) + sum(
            share for share in shares if share is not None
        )
        return capped(regret, horizon, actions)


@dataclass(frozen=True)
class LazyOptimisticSimulation(OptimisticSimulation):
    """Play `OptimisticSimulation` with few simulations.

    It simulates again when the rounds have doubled, or the losses seen of an action have grown by
    half. In between it draws each action with its share of the plays in the last simulation. No
    bound is proved, so `bound` is None.

    >>> from tombola import UCB1, instances, play
    >>> play(LazyOptimisticSimulation(UCB1()), instances.birthday(64), seed=0).regret < 32
    True
    """

    @staticmethod
    def needs_plan(state: _State) -> bool:
        if least_tried_action(state.seen, state.chosen) >= 0:
            return False
        late = state.acted[0] + 1.0 >= 2.0 * state.planned[0]
        for action in range(state.seen.size):
            late = late or state.seen[action] >= state.due_at[action]
        return bool(late)

    def plan(self, state: _State, rng: RngState) -> None:
        rounds = _simulation_length(state)
        _, plays = _simulate(self.base, state, rounds, rounds, rng)
        state.played[:] = plays / rounds
        state.planned[0] = state.acted[0] + 1.0
        state.due_at[:] = np.ceil(1.5 * state.seen)

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        action = least_tried_action(state.seen, state.chosen)
        probability = 1.0
        if action < 0:
            action = choice(state.played, rng)
            probability = state.played[action]
        state.acted[0] += 1.0
        state.chosen[action] += 1.0
        return action, probability

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return None
