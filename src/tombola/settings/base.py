"""What a setting is: what a learner meets, what it is shown of a round, and what may be told of a ticket.

A setting is a value. It gives the one loop its kernels, and a live session its steps; it reads outcomes, says which are
valid, and owns the words for those that are not. Another kind of feedback is another file in this folder.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from tombola.budget import NOTHING, Allowance, Ledger
from tombola.engine.coins import draw
from tombola.engine.compiler import Kernel
from tombola.engine.memory import mix_of
from tombola.engine.player import Player
from tombola.engine.vectors import dot
from tombola.errors import FeedbackError, ParameterError
from tombola.types import Coins, Floats

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    choose: Kernel
    due: Kernel


Numbers: TypeAlias = tuple[float, ...]
Learn: TypeAlias = Callable[[int, int, float, Numbers, Numbers], None]


class Live(NamedTuple):
    """The steps of a session, and the player who takes them, if there is one.

    `halts` tells whether the learner wants to plan; `act` takes what is shown of the row; `learn` takes the round, the
    action and the chance of a ticket, its outcome, and what was shown.
    """

    halts: Callable[[], bool] | None
    act: Callable[..., tuple[int, float]]
    learn: Learn
    player: Any


@dataclass(frozen=True, eq=False)
class Setting(ABC):
    """What a learner meets: so many actions, so many rounds, and feedback of some kind."""

    actions: int
    horizon: int

    one_loss: ClassVar[bool] = False  # whether one number in [0, 1] is a whole outcome, just as it is

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers an outcome has."""

    @property
    def whole_rows(self) -> bool:
        """Whether an outcome tells the losses of all actions, whichever was played."""
        return False

    @property
    def context(self) -> int:
        """How many numbers of a row are shown before an action is chosen."""
        return 0

    @classmethod
    def made(
        cls, learner: Any, horizon: int, *, actions: int, allowance: Allowance | None, features: int | None
    ) -> Self:
        """Return the setting of a learner with so many actions and rounds; most neither spend nor see features."""
        if allowance is not None:
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
    def listed(self) -> int:
        """The number of actions that were listed, without a null action that was added."""
        return self.actions

    @property
    def amendable(self) -> bool:
        """Whether an answer may be corrected afterwards; money spent stays spent."""
        return True

    def ledger(self, desk: Any) -> Ledger:
        """Return what is spent, reserved and left: in most settings nothing costs anything."""
        return NOTHING

    def holdings(self, desk: Any) -> tuple[Floats, ...]:
        """Return what a desk keeps from one round to the next, besides the learner: in most settings nothing."""
        return ()

    def costs_told(self, who: str, action: int, cost: Any) -> Numbers:
        """Return what was told of the costs of a play: in most settings nothing costs anything."""
        if cost is not None:
            raise FeedbackError(f"{who}: expected no cost, for there is no budget, got {cost!r}; leave it out.")
        return ()

    def init(self, learner: Any) -> Any:
        """Return the first state of a learner."""
        return learner.init(self.actions, self.horizon)

    @abstractmethod
    def desk(self, ring: int) -> Any:
        """Return what the kernels work on besides the state, for `ring` plays in flight."""

    @abstractmethod
    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return what the names in the loop, and in the steps of a session, mean for this learner."""

    def plan(self, learner: Any, state: Any, desk: Any, coins: Coins) -> None:
        """Let the learner think."""
        learner.plan(state, coins)

    def live(self, learner: Any, coins: Coins) -> Live:
        """Return the steps of a session."""
        player = Player(learner, self, coins)
        memory = player.memory
        act = partial(player.step(step_choose, memory, coins), memory, coins)
        halts = partial(player.step(step_due, memory), memory) if learner.plans else None
        return Live(halts, act, self.learn_step(player), player)

    @abstractmethod
    def learn_step(self, player: Player) -> Learn:
        """Return the step that takes in an outcome."""

    def show(self, given: Any) -> Any:
        """Return what is shown of a row before an action is chosen: in most settings nothing."""
        if given is not None:
            raise FeedbackError(f"Session.act: expected no features, got {given!r}; write act().")
        return ()

    @abstractmethod
    def parse(self, round: int, action: int, given: Mapping[str, Any]) -> Numbers:
        """Return what was told of a round, and of the action played, as `width` numbers, or say why it cannot be so."""

    @abstractmethod
    def as_given(self, outcome: Numbers) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""

    def checked(self, action: int, outcome: Numbers) -> Numbers:
        """Return an outcome of this action that comes from a file, if it is one."""
        return self.parse(0, action, self.as_given(outcome))

    @abstractmethod
    def told(self, outcome: Numbers) -> Any:
        """Return an outcome as people know it."""

    @abstractmethod
    def loss(self, action: int, outcome: Numbers) -> float:
        """Return the loss of the action that was played."""

    def costs(self, action: int, outcome: Numbers) -> Numbers:
        """Return what the action that was played cost, of each resource: in most settings nothing."""
        return ()

    @abstractmethod
    def answer(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return what `observe` is told when these are the losses, and the costs, of the row."""


def either(round: int, given: Mapping[str, Any], *others: str) -> tuple[Any, str]:
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


def row_of(actions: int, given: Any, name: str) -> Floats:
    """Return the losses of all actions, given as losses or as rewards."""
    try:
        row = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        row = np.full(0, math.nan)
    if row.shape != (actions,) or not ((row >= 0) & (row <= 1)).all():
        raise FeedbackError(
            f"Session.observe: {name} must be {actions} numbers in [0, 1], one for every action (this learner needs "
            f"the whole row), got {' '.join(repr(given).split())}; give the whole row."
        )
    return row if name == "loss" else 1.0 - row


def number_of(given: Any, name: str) -> float:
    """Return one loss, given as a loss or as a reward."""
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise FeedbackError(
            f"Session.observe: {name} must be one number in [0, 1], got {given!r}; rescale it before you observe."
        )
    return value if name == "loss" else 1.0 - value


def chooser(kernels: Any) -> Kernel:
    """Return the kernel that lets a learner name its action, or write its mix and have the coin thrown for it."""
    act, mix_of_state = kernels.act, kernels.mix

    def choose_plain(state: Any, mix: Floats, coins: Coins) -> tuple[int, float]:
        action, chance = act(state, coins)
        if action < 0 or action >= mix.size:
            raise IndexError("act must return an action in 0..k-1")
        return int(action), float(chance)

    def choose_mixed(state: Any, mix: Floats, coins: Coins) -> tuple[int, float]:
        mix_of_state(state, mix)
        action = draw(mix, coins)
        return action, mix[action]

    return choose_plain if mix_of_state is None else choose_mixed


def expecter(kernels: Any) -> Kernel:
    """Return the kernel that averages the loss of a round over the learner's own coin, if it throws one."""
    return expect_plain if kernels.mix is None else expect_mixed


def expect_mixed(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the round, averaged over the learner's own coin."""
    return dot(mix, row)


def expect_plain(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the round: there was no coin."""
    return float(row[action])


def halter(due: Kernel) -> Kernel:
    """Return the kernel that stops the loop when the learner is due to plan."""

    def halts(state: Any, desk: Any) -> bool:
        return bool(due(state))

    return halts


def step_choose(memory: Floats, coins: Coins) -> tuple[int, float]:
    """Choose one action, live."""
    action, chance = choose(view(memory), mix_of(memory), coins)
    return action, chance


def step_due(memory: Floats) -> bool:
    """Tell whether the learner wants to plan, live."""
    return bool(due(view(memory)))
