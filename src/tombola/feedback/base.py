"""What a setting is: what a learner meets, what it is shown of a round, and what may be told of a ticket.

A setting is a value. It gives the one loop its kernels, and a live session its steps; it reads outcomes, says which are
valid, and owns the words for those that are not. Another kind of feedback is another file in this folder.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from tombola._types import Floats, RngState
from tombola.budget.budget import NO_BALANCE, Balance, BudgetRun
from tombola.engine.compiler import Kernel
from tombola.engine.state_vector import mix_slice
from tombola.engine.tickets import OUTCOME_START, ROUNDS, Ticket, has_capacity, write_ticket
from tombola.engine.vectors import dot
from tombola.errors import FeedbackError, ParameterError
from tombola.rng import choice

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    choose: Kernel
    needs_plan: Kernel


EncodedOutcome: TypeAlias = tuple[float, ...]


class LiveKernels(NamedTuple):
    """What a learner does live, and the runner who does it, if there is one; tickets are written into cells of a book.

    `act` takes the cells, and what is shown of the row; it returns round, action and probability, or DUE or FULL instead of
    a round if it did nothing, because the learner has to plan, or the cells are full. `observe_fast` takes the cells, a
    ticket, and what was given as loss, cost and label; it tells whether the ticket was handed out and is pending, and
    that is a valid outcome of it, and only then does anything; what is not as it mostly is, it leaves to others. `tell`
    takes the cells, a row of them, its round, and an outcome, and tells the same.
    """

    act: Callable[..., tuple[int, int, float]]
    observe_fast: Callable[[Floats, Ticket, Any, Any, Any], bool]
    tell: Callable[[Floats, int, int, EncodedOutcome], bool]
    runner: Any

    def learn(self, cells: Floats, row: int, round: int, outcome: EncodedOutcome) -> None:
        """Take in an outcome that must be a valid one of a pending round."""
        if not self.tell(cells, row, round, outcome):
            raise FeedbackError(
                f"learn: expected the outcome of a pending round, got {outcome} for round {round}; parse it before."
            )


NEEDS_PLAN, TABLE_FULL = -1, 0
EMPTY_CELLS = np.zeros((1, 1))  # what cells look like to the compiler


class Live:
    """A learner in live use by somebody who keeps the tickets."""

    def __init__(self, steps: LiveKernels, width: int) -> None:
        self.runner = steps.runner
        self._act, self._learn = steps.act, steps.learn
        self._cells = np.zeros((2, OUTCOME_START + width))  # of the ticket at hand

    def act(self, played: int) -> tuple[int, float]:
        """Choose an action after so many rounds, however often the learner plans before; return it with its probability."""
        self._cells[0, ROUNDS] = 0.0
        while (found := self._act(self._cells))[0] == NEEDS_PLAN:
            self.runner.plan(played)
        return found[1:]

    def plan(self, played: int) -> None:
        """Let the learner plan, if it wants to."""
        self._cells[0, ROUNDS] = 1.0
        while self._act(self._cells)[0] == NEEDS_PLAN:
            self.runner.plan(played)

    def learn(self, round: int, action: int, probability: float, outcome: EncodedOutcome) -> None:
        """Take in what came of a ticket."""
        self._cells[0, ROUNDS], self._cells[1, :OUTCOME_START] = 1.0, (action, probability, 0.0)
        self._learn(self._cells, 1, round, outcome)


@dataclass(frozen=True, eq=False)
class FeedbackModel(ABC):
    """What a learner meets: so many actions, so many rounds, and feedback of some kind."""

    actions: int
    horizon: int

    full_feedback: ClassVar[bool] = False  # whether an outcome tells the losses of all actions, whichever was played
    supports_amend: ClassVar[bool] = True  # whether an answer may be corrected afterwards; money spent stays spent

    @property
    @abstractmethod
    def outcome_width(self) -> int:
        """How many numbers an outcome has."""

    @property
    def n_features(self) -> int:
        """How many numbers of a row are shown before an action is chosen."""
        return 0

    @classmethod
    def for_learner(
        cls, learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None, features: int | None
    ) -> Self:
        """Return the setting of a learner with so many actions and rounds; most neither spend nor see features."""
        if budget_run is not None:
            raise ParameterError(
                f"budget: expected a learner that minds a budget, got {type(learner).__name__}; write for example "
                "EmpiricalLP(), or leave the budget out."
            )
        if features is not None:
            raise ParameterError(
                f"features: expected a learner of labels, got {type(learner).__name__}; write for example "
                "ERM(Thresholds()), or leave the features out."
            )
        return cls(actions, horizon)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the actions, where the setting has names of its own."""
        return None

    @property
    def n_listed_actions(self) -> int:
        """The number of actions that were listed, without a null action that was added."""
        return self.actions

    def balance(self, workspace: Any) -> Balance:
        """Return what is spent, reserved and left: in most settings nothing costs anything."""
        return NO_BALANCE

    def budget_arrays(self, workspace: Any) -> tuple[Floats, ...]:
        """Return what a workspace keeps from one round to the next, besides the learner: in most settings nothing."""
        return ()

    def parse_costs(self, who: str, action: int, cost: Any) -> EncodedOutcome:
        """Return what was told of the costs of a play: in most settings nothing costs anything."""
        if cost is not None:
            raise FeedbackError(f"{who}: expected no cost, for there is no budget, got {cost!r}; leave it out.")
        return ()

    def init(self, learner: Any) -> Any:
        """Return the first state of a learner."""
        return learner.init(actions=self.actions, horizon=self.horizon)

    @abstractmethod
    def workspace(self, ring: int) -> Any:
        """Return what the kernels work on besides the state, for `ring` plays in flight."""

    @abstractmethod
    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return what the names in the loop, and in the steps of a session, mean for this learner."""

    def plan(self, learner: Any, state: Any, workspace: Any, rng: RngState) -> None:
        """Let the learner think."""
        learner.plan(state=state, rng=rng)

    @abstractmethod
    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        """Return what a learner does live."""

    def live(self, learner: Any, rng: RngState) -> Live:
        """Return a learner in live use by somebody who keeps the tickets."""
        return Live(self.live_kernels(learner, rng), self.outcome_width)

    def encode_features(self, given: Any) -> Any:
        """Return what is shown of a row before an action is chosen: in most settings nothing may be given."""
        raise FeedbackError(f"Session.act: expected no features, got {given!r}; write act().")

    @abstractmethod
    def encode(self, round: int, action: int, given: Mapping[str, Any]) -> EncodedOutcome:
        """Return what was told of a round, and of the action played, as `width` numbers, or say why it cannot be so."""

    @abstractmethod
    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""

    def validate(self, action: int, outcome: EncodedOutcome) -> EncodedOutcome:
        """Return an outcome of this action that comes from a file, if it is one."""
        return self.encode(0, action, self.to_observe_kwargs(outcome))

    @abstractmethod
    def decode(self, outcome: EncodedOutcome) -> Any:
        """Return an outcome as people know it."""

    @abstractmethod
    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        """Return the loss of the action that was played."""

    def costs(self, action: int, outcome: EncodedOutcome) -> EncodedOutcome:
        """Return what the action that was played cost, of each resource: in most settings nothing."""
        return ()

    @abstractmethod
    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return what `observe` is told when these are the losses, and the costs, of the row."""


def loss_or_reward(round: int, given: Mapping[str, Any], *others: str) -> tuple[Any, str]:
    """Return the loss or the reward that was given, and which it is; nothing but `others` may come with it."""
    for name, value in given.items():
        if value is not None and name not in ("loss", "reward", *others):
            raise FeedbackError(
                f"Session.observe: expected nothing but a loss or a reward for round {round}, got {name}; "
                "write observe(ticket, loss=...)."
            )
    loss, reward = given.get("loss"), given.get("reward")
    if (loss is None) == (reward is None):
        with_others = "".join(f", {name}=..." for name in others)
        raise FeedbackError(
            f"Session.observe: expected either a loss or a reward for round {round}, got "
            f"{'neither' if loss is None else 'both'}; write observe(ticket, loss=...{with_others})."
        )
    return (loss, "loss") if reward is None else (reward, "reward")


def copy_into(room: Floats, given: Any) -> bool:
    """Copy what is given into an array, if it has that shape; what numbers they are is not looked at."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return False
    if numbers.shape != room.shape:
        return False
    room[...] = numbers
    return True


def are_losses(losses: Floats) -> bool:
    """Tell whether all numbers are in [0, 1]."""
    valid = True
    for loss in losses:
        valid = valid and 0.0 <= loss <= 1.0
    return valid


def parse_row(actions: int, given: Any, name: str) -> Floats:
    """Return the losses of all actions, given as losses or as rewards."""
    row = np.zeros(actions)
    if not copy_into(row, given) or not ((row >= 0) & (row <= 1)).all():
        raise FeedbackError(
            f"Session.observe: {name} must be {actions} numbers in [0, 1], one for every action (this learner needs "
            f"the whole row), got {' '.join(repr(given).split())}; give the whole row."
        )
    return row if name == "loss" else 1.0 - row


def parse_loss(given: Any, name: str) -> float:
    """Return one loss, given as a loss or as a reward."""
    try:
        value = float(given)
    except (OverflowError, TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise FeedbackError(
            f"Session.observe: {name} must be one number in [0, 1], got {given!r}; rescale it before you observe."
        )
    return value if name == "loss" else 1.0 - value


def make_choose(kernels: Any) -> Kernel:
    """Return the kernel that lets a learner name its action, or write its mix and have the coin thrown for it."""
    act, mix_of_state = kernels.act, kernels.mix

    def choose_plain(state: Any, mix: Floats, rng: RngState) -> tuple[int, float]:
        action, probability = act(state, rng)
        if action < 0 or action >= mix.size:
            raise IndexError("act must return an action in 0..k-1")
        return int(action), float(probability)

    def choose_mixed(state: Any, mix: Floats, rng: RngState) -> tuple[int, float]:
        mix_of_state(state, mix)
        action = choice(mix, rng)
        return action, mix[action]

    return choose_plain if mix_of_state is None else choose_mixed


def make_expected_loss(kernels: Any) -> Kernel:
    """Return the kernel that averages the loss of a round over the learner's own coin, if it throws one."""
    return expect_plain if kernels.mix is None else expect_mixed


def expect_mixed(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the round, averaged over the learner's own coin."""
    return dot(mix, row)


def expect_plain(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the round: there was no coin."""
    return float(row[action])


def make_pauses(needs_plan: Kernel) -> Kernel:
    """Return the kernel that stops the loop when the learner is due to plan."""

    def pauses(state: Any, workspace: Any) -> bool:
        return bool(needs_plan(state))

    return pauses


def live_act(memory: Floats, rng: RngState, cells: Floats) -> tuple[int, int, float]:
    """Choose one action, live, and write its ticket."""
    if needs_plan(view(memory)):
        return NEEDS_PLAN, 0, 0.0
    if not has_capacity(cells):
        return TABLE_FULL, 0, 0.0
    action, probability = choose(view(memory), mix_slice(memory), rng)
    return write_ticket(cells, action, probability), action, probability
