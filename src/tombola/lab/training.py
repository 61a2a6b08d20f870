"""Simulation without its coins: the mean of all trainings in place of one.

With full information the later states of Simulation do not depend on the actions that it plays, and
its loss is linear in the frequencies of a training. So its expected regret is that of a learner
that plays the mean frequencies of the base over all i.i.d. sequences of past rows. Sequences after
which the base is in the same state are merged. The order of past rows does not matter, so they are
kept sorted: the exact computation then merges their orders, too.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tombola._types import Floats, RngState
from tombola.errors import ParameterError
from tombola.lab.trees import LossTree, Options, Snapshot
from tombola.learners.base import Learner
from tombola.learners.reductions.simulation import (
    N_KEPT,
    Simulation,
    State,
    begin_training,
    keeps_row,
)
from tombola.learners.reductions.training import PythonLearner
from tombola.pool import Pool

# Largest number of choices of the base in one training.
_MAX_CHOICES = 500_000


def with_exact_trainings(learner: Any) -> Any:
    """Return `MeanSimulation` for a `Simulation`, and any other learner as it is."""
    if type(learner) is not Simulation or isinstance(learner.base, PythonLearner):
        return learner
    return MeanSimulation(
        with_exact_trainings(learner.base),
        learner.schedule,
        learner.past,
        learner.waiting,
        free_action=learner.free_action,
    )


@dataclass(frozen=True)
class MeanSimulation(Simulation):
    """Play the mean frequencies of the base over all trainings.

    >>> from tombola import FollowTheLeader, Pool, play
    >>> rows = Pool([[1, 0], [0, 1], [1, 0]])
    >>> play(MeanSimulation(FollowTheLeader()), rows, order="given", seed=0).expected_losses.tolist()
    [1.0, 0.0, 0.75]
    """

    def plan(self, state: State, rng: RngState) -> None:
        past = state.past[: int(state.counters[N_KEPT])]
        rounds = begin_training(state)
        if past.shape[0] > 0 and isinstance(self.base, Learner):
            state.played[:] = _mean_frequencies(self.base, past.tobytes(), past.shape, rounds)

    @staticmethod
    def observe(state: State, round: int, losses: Floats) -> None:
        if not keeps_row(state, round):
            return
        place = int(state.counters[N_KEPT])
        while place > 0 and is_before(losses, state.past[place - 1]):
            for action in range(losses.size):
                state.past[place, action] = state.past[place - 1, action]
            place -= 1
        for action in range(losses.size):
            state.past[place, action] = losses[action]
        state.counters[N_KEPT] += 1.0


def is_before(losses: Floats, others: Floats) -> bool:
    """Return whether a row comes before another one, compared from its first loss; a kernel."""
    for action in range(losses.size):
        if losses[action] != others[action]:
            return bool(losses[action] < others[action])
    return False


@lru_cache(maxsize=4096)
def _mean_frequencies(base: Learner, past: bytes, shape: tuple[int, int], rounds: int) -> Floats:
    """Return the expected share of each action in the plays of a training.

    past: bytes of the sorted past rows, of this shape.
    """
    rows = np.frombuffer(past).reshape(shape)
    options = Options(delay=0, budget=None, stop="fits", limit=_MAX_CHOICES)
    tree = LossTree("Simulation", base, Pool(rows), rounds, options)
    shares = tree.counts / len(rows)
    frequencies = np.zeros(shape[1])
    # States of the base after the rounds so far, with their probability.
    level: dict[Any, tuple[float, Snapshot]] = {b"": (1.0, tree.start())}
    entered = 0
    for draw in range(1, rounds + 1):
        following: dict[Any, tuple[float, Snapshot]] = {}
        for weight, snapshot in level.values():
            choices = tree.choices(snapshot, 0)
            entered += len(choices)
            if entered > _MAX_CHOICES:
                raise ParameterError(
                    f"Simulation: expected a training with at most {_MAX_CHOICES} choices of its "
                    f"base, got more for {rounds} rounds of {base!r}; write a smaller horizon, or "
                    "compare(...) to estimate its regret from many orders."
                )
            for choice in choices:
                frequencies[choice.action] += weight * choice.probability / rounds
            # With full information the state does not depend on the action played.
            after = choices[0].after
            for kind, share in enumerate(shares.tolist()):
                learned = tree.observe(after, draw, choices[0].action, 1.0, kind)
                key = tree.key(learned)
                known = following.get(key, (0.0, learned))[0]
                following[key] = (known + weight * share, learned)
        level = following
    return frequencies
