"""Elimination with Serfling's radius for switching costs."""

from dataclasses import dataclass

from tombola.bounds import switching
from tombola.confidence.intervals import serfling_radius
from tombola.learners.switching.stages import StagedElimination, State


@dataclass(frozen=True)
class SerflingElimination(StagedElimination):
    """Play active actions in stages, and drop the inferior ones after each.

    A stage ends when the count of each has grown by half.

    Action a is dropped if mean(a) - r(a) > min_b (mean(b) + r(b)), r = sqrt((1 - (n-1)/T) ln(k S / delta) / (2 n)), for
    the n losses seen of an action, k actions and S ends of stages in all (Serfling 1974): the radius shrinks to 0 as
    the pool is used up. The first stage is as long as the first drop needs.

    delta: probability that the best action is dropped; None is 1/T. Then the regret is at most
        `bounds.switching.elimination`, of order sqrt(k T ln T) + price k ln T. A small delta is for the proof; 0.1
        plays better.
    price: cost of a switch, in losses; only `bound` uses it.

    >>> from tombola import Pool, play
    >>> trace = play(SerflingElimination(delta=0.1), Pool([[1.0, 0.0]] * 60), seed=0)
    >>> trace.actions.tolist() == [0] * 9 + [1] * 51
    True
    """

    @staticmethod
    def radius(state: State, action: int) -> float:
        """Return Serfling's radius of a mean loss, from the number of losses seen.

        state: as returned by `init`. action: index of the action, from 0.
        """
        return serfling_radius(state.seen[action], state.population, state.level)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        """Return a bound on regret plus switching costs; None if `delay` > 0.

        actions, horizon, delay: number of actions and of rounds, and delay of the feedback in rounds.
        """
        return None if delay > 0 else switching.elimination(horizon, actions, self.price, self.delta)
