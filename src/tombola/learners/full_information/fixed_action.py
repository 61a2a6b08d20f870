"""FixedAction: the same action always; the comparator as a learner."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.errors import ParameterError
from tombola.learners.base import Feedback, Learner


class _State(NamedTuple):
    """The index of the action that is played in every round."""

    action: float


@dataclass(frozen=True)
class FixedAction(Learner):
    """Play the action with index `action` in every round.

    The regret is 0 if it is the best action, and linear otherwise.

    action: index of the action, from 0.
    feedback: "full", the learner observes the losses of all actions.
    learns: False, it is a baseline.
    names_actions: True, `compare` must not renumber the actions for it.

    >>> from tombola import Pool, play
    >>> play(FixedAction(1), Pool([[1.0, 0.0]] * 3), order="given", seed=0).actions.tolist()
    [1, 1, 1]
    """

    action: int
    feedback: ClassVar[Feedback] = "full"
    learns: ClassVar[bool] = False
    names_actions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _validate.integer("FixedAction", "action", self.action, least=0)

    def init(self, actions: int, horizon: int) -> _State:
        """Return the state, which is the action; ParameterError if it is not < `actions`."""
        if self.action >= actions:
            raise ParameterError(
                f"FixedAction: action must be one of the {actions} actions 0..{actions - 1}, got {self.action}; "
                f"write for example action={actions - 1}."
            )
        return _State(action=float(self.action))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        """Return the fixed action in `state`, and probability 1; ignore `rng`."""
        return int(state.action), 1.0

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        """Do nothing: this learner ignores `losses`; `state` never changes."""
