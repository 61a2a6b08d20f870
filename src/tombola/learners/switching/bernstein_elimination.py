"""Elimination with the empirical Bernstein-Serfling radius, for small variances (Bardenet and Maillard 2015)."""

from dataclasses import dataclass
from typing import ClassVar

from tombola import validate
from tombola.bounds import switching
from tombola.confidence.radius import bernstein_serfling, serfling
from tombola.learners.bandit.statistics import learn
from tombola.learners.base import Feedback, Learner
from tombola.learners.switching.stages import State, drop, first_state, next_play, next_stage, stage_over
from tombola.types import Coins


def radius(state: State, action: int) -> float:
    """Return the smaller of the two radii, each at half the level."""
    seen, level = state.seen[action], 0.5 * state.level
    variance = state.squares[action] / max(seen, 1.0)
    return min(serfling(seen, state.population, level), bernstein_serfling(seen, state.population, variance, level))


@dataclass(frozen=True)
class BernsteinElimination(Learner):
    """Play as `SerflingElimination`, with a radius that also uses the variance seen.

    The radius is the smaller one of Serfling's and of the empirical Bernstein-Serfling radius, each at half the level:
    about sqrt(2 v L / n) + 4.5 L / n for the variance v seen, L = ln(7 k S / delta). It drops sooner where losses are
    nearly constant, and hardly later elsewhere.

    >>> from tombola import Pool, play
    >>> pool = Pool([[0.1, 0.0]] * 10_000)
    >>> from tombola.learners.switching.serfling_elimination import SerflingElimination
    >>> play(BernsteinElimination(), pool, seed=0).regret < play(SerflingElimination(), pool, seed=0).regret
    True
    """

    delta: float | None = None
    price: float = 1.0
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        validate.number("BernsteinElimination", "price", self.price, least=0)
        if self.delta is not None:
            validate.number("BernsteinElimination", "delta", self.delta, above=0, below=1)

    def init(self, actions: int, horizon: int) -> State:
        """Start with all actions active."""
        return first_state(actions, horizon, self.delta)

    @staticmethod
    def act(state: State, coins: Coins) -> tuple[int, float]:
        """Play the action whose stretch it is; at the end of a stage, drop actions first."""
        if stage_over(state):
            if state.left[0] > 1.0:
                for action in range(state.radii.size):
                    state.radii[action] = radius(state, action)
                drop(state.left, state.active, state.seen, state.means, state.radii)
            next_stage(state)
        return next_play(state), 1.0

    @staticmethod
    def observe(state: State, action: int, chance: float, loss: float) -> None:
        """Update the mean of the action and the sum of squared distances from it (Welford 1962)."""
        before = state.means[action]
        learn(state.seen, state.means, action, loss)
        state.squares[action] += (loss - before) * (loss - state.means[action])

    def bound(self, actions: int, horizon: int) -> float:
        """Bound the regret in random order, with the price of the switches: Serfling's at half the level."""
        delta = 1 / horizon if self.delta is None else self.delta
        return switching.elimination(horizon, actions, self.price, delta / 2) + delta / 2 * horizon
