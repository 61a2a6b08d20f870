"""Simulation with successive elimination (paper, switching costs, Section 4.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds import switching
from tombola.learners.bandit.counts import drop_inferior, observe_mean
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real


class _State(NamedTuple):
    width: float  # factor of the squared radius
    first: float  # rounds before the first block
    # acted, start: rounds played, and rounds before the current block.
    acted: Floats
    start: Floats
    # left, active: the first `left` entries of `active` are the active actions.
    left: Floats
    active: Floats
    # radii, seen, means: radius, answers and mean loss of each action.
    radii: Floats
    seen: Floats
    means: Floats


def _begin_block(state: _State, acted: int) -> None:
    """Begin a block after `acted` rounds; drop inferior actions, except at the first."""
    if state.start[0] > 0.0 and state.left[0] > 1.0:
        for action in range(state.radii.size):
            state.radii[action] = state.width / math.sqrt(state.start[0])
        drop_inferior(state.left, state.active, state.seen, state.means, state.radii)
    state.start[0] = acted


@dataclass(frozen=True)
class SimulationSuccessiveElimination(Learner):
    """Play each active action for one stretch of a block, then drop; blocks double.

    Rounds 1 .. 2^i0, i0 = ceil(log2 k), play the actions in turn. Block i = i0, i0 + 1, .. is rounds 2^i + 1 ..
    2^(i+1): each of the |A| active actions plays floor(2^i / |A|) of them, the last one also the rest. Then a is
    dropped if mean(a) - e > min_b (mean(b) + e), e = sqrt(10 k (ln T)^3 / 2^i), by all losses seen. Faithful to the
    paper: its radius is so wide that at usual horizons nothing is ever dropped
        (`bounds.first_elimination_horizon`);
    `SerflingElimination` is the tight version. It makes at most
    `bounds.switching.simulation_elimination_switches` switches.

    price: cost of a switch, in losses, 0 or more; only `bound` uses it.

    >>> from tombola import Pool, play
    >>> play(SimulationSuccessiveElimination(), Pool([[1.0, 0.0]] * 16), seed=0).actions.tolist()
    [0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    """

    price: float = real(1.0, least=0, most=1e12)
    feedback: ClassVar[Feedback] = "bandit"
    learns: ClassVar[bool] = False  # not within a few hundred rounds

    def init(self, actions: int, horizon: int) -> _State:
        width = math.sqrt(10 * actions) * math.pow(math.log(horizon), 1.5)
        first = float(1 << (actions - 1).bit_length())
        everyone = np.arange(actions, dtype=np.float64)
        left = np.full(1, float(actions))
        return _State(
            width, first, np.zeros(1), np.zeros(1), left, everyone, *np.zeros((3, actions))
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        acted = int(state.acted[0])
        first = int(state.first)
        state.acted[0] += 1.0
        if acted < first:
            return acted % state.active.size, 1.0
        if acted == first or acted == 2 * int(state.start[0]):
            _begin_block(state, acted)
        start = int(state.start[0])
        left = int(state.left[0])
        turn = min((acted - start) // (start // left), left - 1)
        return int(state.active[turn]), 1.0

    observe = staticmethod(observe_mean)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return None if delay > 0 else switching.simulation_elimination(horizon, actions, self.price)
