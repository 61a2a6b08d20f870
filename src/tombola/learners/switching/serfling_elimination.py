"""Elimination with Serfling's radius: the paper's learner for switching costs, tight (docs/theory/switching.md)."""

from dataclasses import dataclass
from typing import ClassVar

from tombola import validate
from tombola.bounds import switching
from tombola.confidence.radius import serfling
from tombola.learners.bandit.statistics import learn
from tombola.learners.base import Feedback, Learner
from tombola.learners.switching.stages import State, drop, first_state, next_play, next_stage, stage_over
from tombola.types import Coins


@dataclass(frozen=True)
class SerflingElimination(Learner):
    """Play the active actions forth and back until the count of each has grown by half, then drop the surely worse.

    Action a is dropped if mean(a) - r(a) > min_b (mean(b) + r(b)), r = sqrt((1 - (n-1)/T) ln(k S / delta) / (2 n)),
    for the n answers of an action and S decisions in all (Serfling 1974): the radius shrinks to 0 as the pool is used
    up. The first stage is as long as it takes to drop anything. The best action stays but with chance `delta`; None is
    1/T, for which the regret is at most `bounds.switching.elimination`, of order sqrt(k T ln T) + price k ln T. A small
    delta is for the proof; 0.1 plays better. `price` is what a switch costs, in losses; only `bound` uses it.

    >>> from tombola import Pool, play
    >>> trace = play(SerflingElimination(delta=0.1), Pool([[1.0, 0.0]] * 60), seed=0)
    >>> trace.actions.tolist() == [0] * 9 + [1] * 51
    True
    """

    delta: float | None = None
    price: float = 1.0
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        validate.number("SerflingElimination", "price", self.price, least=0)
        if self.delta is not None:
            validate.number("SerflingElimination", "delta", self.delta, above=0, below=1)

    def init(self, actions: int, horizon: int) -> State:
        """Start with all actions active."""
        return first_state(actions, horizon, self.delta)

    @staticmethod
    def act(state: State, coins: Coins) -> tuple[int, float]:
        """Play the action whose stretch it is; at the end of a stage, drop actions first."""
        if stage_over(state):
            if state.left[0] > 1.0:
                for action in range(state.radii.size):
                    state.radii[action] = serfling(state.seen[action], state.population, state.level)
                drop(state.left, state.active, state.seen, state.means, state.radii)
            next_stage(state)
        return next_play(state), 1.0

    @staticmethod
    def observe(state: State, action: int, chance: float, loss: float) -> None:
        """Update the mean of the action."""
        learn(state.seen, state.means, action, loss)

    def bound(self, actions: int, horizon: int) -> float:
        """Bound the regret in random order, with the price of the switches."""
        return switching.elimination(horizon, actions, self.price, self.delta)
