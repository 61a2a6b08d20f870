"""Base of the feedback models: kernels of the loop, and a codec of outcomes.

A feedback model defines which part of a row a learner sees after the delay. It binds the learner's
kernels to the names that the loop calls, and it encodes, decodes and validates the outcomes that a
session observes. An encoded outcome is a tuple of `outcome_width` floats. Another kind of feedback
is another module of this folder.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola._types import Floats, Integers, RngState
from tombola.budget.budget import NO_BALANCE, Balance, BudgetRun
from tombola.engine.arrivals import ArrivalSchedule, max_in_flight
from tombola.engine.compiler import Kernel
from tombola.engine.loop import Accumulators, RowStream
from tombola.engine.runner import INVALID_ACTION, Runner, reject_invalid_action
from tombola.engine.state_vector import mix_slice
from tombola.engine.tickets import OUTCOME_START, ROUNDS, Ticket, has_capacity, write_ticket
from tombola.engine.vectors import dot
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.codec import EncodedOutcome
from tombola.rng import choice

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    choose: Kernel
    needs_plan: Kernel
    learn_again: Kernel


class LiveKernels(NamedTuple):
    """Compiled single-round kernels of a learner, which write into a ticket table.

    Built by `FeedbackModel.live_kernels`. `cells` is the matrix of the table; a ticket is pending
    until its outcome is observed.

    `act(cells, *features) -> (round, action, probability)` issues a ticket. The round is
    `NEEDS_PLAN` or `TABLE_FULL` if nothing was issued. `observe_fast(cells, ticket, loss, cost,
    label) -> bool` is the fast path for arguments of the expected types; it returns False and
    changes nothing for anything else. `observe(cells, index, round, outcome) -> bool` takes an
    encoded outcome for the ticket in row `index` of the table; False if it is not pending or the
    outcome is not valid. In a session, `index` equals `round`. `runner` holds the learner and its
    state; None for learners of labels. `decision(cells, round) -> list` returns the decision of a
    router in a round, as numbers for the event log. `repeat(cells, features, decision, force=...)`
    is `act` with the choices of such a record, for the replay of a log; with `force`, stake, safe
    action and capital are taken from it too. Both are None for learners that need no record,
    because the replay of `act` gives the same actions. `replay()` returns a kernel that repeats the
    events of a table on the learner alone, see `live_replay`; None if no session replays them.
    """

    act: Callable[..., tuple[int, int, float]]
    observe_fast: Callable[[Floats, Ticket, Any, Any, Any], bool]
    observe: Callable[[Floats, int, int, EncodedOutcome], bool]
    runner: Any
    repeat: Callable[..., tuple[int, int, float]] | None = None
    decision: Callable[[Floats, int], list[float]] | None = None
    replay: Callable[[], Callable[[Floats, Integers, int], int]] | None = None

    def learn(self, cells: Floats, index: int, round: int, outcome: EncodedOutcome) -> None:
        """Observe a valid outcome of a pending ticket, as `observe`; raise FeedbackError otherwise."""
        if not self.observe(cells, index, round, outcome):
            raise FeedbackError(
                f"learn: expected the outcome of a pending round, got {outcome} for round "
                f"{round}; encode it first."
            )


# Returned in place of the round of a ticket: nothing was issued, because the learner must plan
# first.
NEEDS_PLAN = -1
# Returned in place of the round of a ticket: nothing was issued, because the ticket table has no
# free row.
TABLE_FULL = 0
# Example of `TicketTable.cells`, from which the compiler takes the type of the argument.
EMPTY_CELLS = np.zeros((1, 1))
# Example of a history of events, likewise.
_EMPTY_HISTORY = np.zeros(1, np.int64)


class StepRunner:
    """Play a learner one round at a time, for a caller that stores the plays.

    Built by `FeedbackModel.step_runner`. `played` is the number of rounds played so far.
    """

    def __init__(self, kernels: LiveKernels, outcome_width: int) -> None:
        self.runner = kernels.runner
        self._act = kernels.act
        self._learn = kernels.learn
        # A ticket table of one row, which holds the ticket in use.
        self._cells = np.zeros((2, OUTCOME_START + outcome_width))

    def act(self, played: int) -> tuple[int, float]:
        """Return the next action, from 0, and its probability; plan first if needed.

        Raises LearnerError for an invalid action, and for a learner that still needs to plan after
        100 plans.
        """
        self._cells[0, ROUNDS] = 0.0
        try:
            while (ticket := self._act(self._cells))[0] == NEEDS_PLAN:
                self.runner.plan(played)
        except IndexError as error:
            reject_invalid_action(self.runner.learner, self.runner.memory, error)
            raise
        return ticket[1:]

    def plan(self, played: int) -> None:
        """Call the learner's `plan` while it needs it, before `act` does; play nothing."""
        self._cells[0, ROUNDS] = 1.0  # the table is full, so `act` issues nothing
        while self._act(self._cells)[0] == NEEDS_PLAN:
            self.runner.plan(played)

    def learn(self, round: int, action: int, probability: float, outcome: EncodedOutcome) -> None:
        """Pass the encoded outcome of a play to the learner, once per play, in any order of rounds (from 1)."""
        self._cells[0, ROUNDS] = 1.0
        self._cells[1, :OUTCOME_START] = (action, probability, 0.0)
        self._learn(self._cells, 1, round, outcome)


@dataclass(frozen=True, eq=False)
class FeedbackModel(ABC):
    """Define the feedback that a learner receives: kernels and codec of outcomes.

    An outcome is the feedback of one round. It has three forms: the keyword arguments of
    `Session.observe`, the encoded outcome (a tuple of floats), and the entry of `Session.outcomes`.
    A workspace is the named tuple of scratch arrays that the kernels share. There is one subclass
    per kind of feedback; it defines the abstract methods, and, except for labels, `workspace` and
    `kernels` for the loop.

    actions, horizon: number of actions and of rounds.
    full_feedback: whether an outcome has the losses of all actions.
    default_actions, names: number and names of the actions, if the model prescribes them; else
        None.
    n_decision: floats of the ticket table, before the features, that record the decision of a
        router.
    uses_features: whether a row shows its features before the decision.
    supports_amend: whether a session can correct an outcome later; not under a budget, whose costs
        are spent.
    """

    actions: int
    horizon: int

    full_feedback: ClassVar[bool] = False
    default_actions: ClassVar[int | None] = None
    names: ClassVar[tuple[str, ...] | None] = None
    n_decision: ClassVar[int] = 0
    uses_features: ClassVar[bool] = False
    supports_amend: ClassVar[bool] = True

    @property
    @abstractmethod
    def outcome_width(self) -> int:
        """The number of floats of an encoded outcome, see `encode`."""

    @property
    def n_features(self) -> int:
        """The number of features of a row that `Session.act` takes; 0 if none."""
        return 0

    @classmethod
    def for_learner(
        cls,
        learner: Any,
        horizon: int,
        *,
        actions: int,
        budget_run: BudgetRun | None,
        features: int | None,
    ) -> Self:
        """Return the model for a learner; ParameterError if an argument does not fit.

        actions: number of actions, without an added null action.
        budget_run: resolved budget and stop rule, required by learners under a budget; else None.
        features: number of features of a row, required by learners that use them; else None.
        """
        if budget_run is not None:
            raise ParameterError(
                f"budget: expected a learner for budgets, got {type(learner).__name__}; write "
                "for example "
                "EmpiricalLP(), or leave the budget out."
            )
        if features is not None:
            raise ParameterError(
                f"features: expected a learner that uses them, got {type(learner).__name__}; "
                "write for example "
                "Routed() or ERM(Thresholds()), or leave the features out."
            )
        return cls(actions, horizon)

    @property
    def n_listed_actions(self) -> int:
        """The number of actions in a table or an outcome: all but an added null action."""
        return self.actions

    def balance(self, workspace: Any) -> Balance:
        """Return amounts, spending and reservations in cost units; empty without a budget."""
        return NO_BALANCE

    def parse_costs(self, owner: str, action: int, cost: Any) -> tuple[float, ...]:
        """Return the costs of an outcome as `encode` does; FeedbackError if they are not valid.

        owner: name of the function that the user called, for the error message.
        cost: as the user gave it; None for the known prices.
        """
        if cost is not None:
            raise FeedbackError(
                f"{owner}: expected no cost without a budget, got {cost!r}; leave it out."
            )
        return ()

    def init(self, learner: Any) -> Any:
        """Return the state of a learner before the first round, a named tuple."""
        return learner.init(actions=self.actions, horizon=self.horizon)

    def workspace(self, ring: int) -> Any:
        """Return new scratch arrays of the kernels, a named tuple private to the model.

        ring: largest number of plays without feedback at any time, the size of ring buffers.
        """
        raise NotImplementedError

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the functions that the loop and live kernels call, by global name.

        The loop calls `look_ahead` (prefetch a row), `reveal` (pass feedback to the learner),
        `pauses` (return whether it must plan) and `turn` (play a round). The other names depend on
        the subclass: they are called by the live kernels, which play single rounds of a session
        (`LiveKernels`).
        """
        raise NotImplementedError

    def plan(self, learner: Any, state: Any, workspace: Any, rng: RngState) -> None:
        """Call the learner's `plan`, in plain Python; it changes state and rng in place.

        Under a budget, `plan` also gets the unspent budget and the affordable actions.
        """
        learner.plan(state=state, rng=rng)

    def play(
        self,
        learner: Any,
        rng: RngState,
        table: RowStream,
        arrivals: ArrivalSchedule,
        accumulators: Accumulators,
        features: Floats | None,
    ) -> tuple[Balance, Any]:
        """Play all rows of a table; return the balance, and the record of a router or None.

        rng: random generator of the learner.
        accumulators: those of the play, which are filled in.
        features: of the rows of the pool, for models with `uses_features`; else None.
        """
        runner = Runner(learner, self, rng, max_in_flight(arrivals))
        runner.play(table, arrivals, accumulators)
        return self.balance(runner.workspace), None

    @abstractmethod
    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        """Return the kernels that play one round at a time, for a new play."""

    def step_runner(self, learner: Any, rng: RngState) -> StepRunner:
        """Return a runner that plays a learner one round at a time, from the first."""
        return StepRunner(self.live_kernels(learner, rng), self.outcome_width)

    def encode_features(self, features: Any) -> Any:
        """Return the validated features given to `Session.act`; FeedbackError for learners without features."""
        raise FeedbackError(f"Session.act: expected no features, got {features!r}; write act().")

    @abstractmethod
    def encode(self, round: int, action: int, outcome: Mapping[str, Any]) -> EncodedOutcome:
        """Return the feedback of a round as `outcome_width` floats, the encoded outcome.

        Raises FeedbackError if it is not valid. The class docstring of each model has the layout.

        round: from 1, for error messages.
        outcome: the keyword arguments of `Session.observe` by name; None stands for a missing one.
        """

    @abstractmethod
    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        """Return keyword arguments of `Session.observe` that encode to this outcome."""

    def validate(self, action: int, outcome: EncodedOutcome) -> EncodedOutcome:
        """Return an encoded outcome, such as one from a file; FeedbackError if it is not valid."""
        return self.encode(0, action, self.to_observe_kwargs(outcome))

    @abstractmethod
    def decode(self, outcome: EncodedOutcome) -> Any:
        """Return an encoded outcome in the form of `Session.outcomes`, which documents it."""

    @abstractmethod
    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        """Return the loss in [0, 1] of an action; 1 for an added null action.

        outcome: encoded outcome of the round; with bandit feedback, `action` is the action played.
        """

    def costs(self, action: int, outcome: EncodedOutcome) -> tuple[float, ...]:
        """Return the cost of an action, per resource, in cost units; parameters as of `loss`."""
        return ()

    @abstractmethod
    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return keyword arguments of `Session.observe` for a row of a table.

        Empty for an added null action, with bandit feedback under a budget.

        losses, costs: of all actions, shapes (k,) and (k, resources).
        """


def make_choose(kernels: Any) -> Kernel:
    """Return the kernel `choose(state, mix, rng) -> (action, probability)`.

    It calls the learner's `act`, and raises IndexError for an invalid action. For a learner that
    returns a mix, it draws the action from the mix, which it writes into `mix`, shape (k,).

    kernels: as returned by `Learner.kernels`.
    """
    act = kernels.act
    mix_of_state = kernels.mix

    def choose_plain(state: Any, mix: Floats, rng: RngState) -> tuple[int, float]:
        action, probability = act(state, rng)
        # NaN fails the first comparison; a fraction would be rounded down, and a whole float such
        # as 2.0 is exact.
        if not 0 <= action < mix.size or int(action) != action:
            mix[0] = action
            raise IndexError(INVALID_ACTION)
        return int(action), float(probability)

    def choose_mixed(state: Any, mix: Floats, rng: RngState) -> tuple[int, float]:
        mix_of_state(state, mix)
        action = choice(mix, rng)
        return action, mix[action]

    return choose_plain if mix_of_state is None else choose_mixed


def make_loop_kernels(
    kernels: Any,
    look_ahead: Kernel,
    make_reveal: Callable[[Kernel], Kernel],
    make_turn: Callable[..., Kernel],
) -> dict[str, Kernel]:
    """Return the kernels of a learner without a budget, by global name.

    kernels: as returned by `Learner.kernels`.
    look_ahead: kernel that prefetches the row of a later round.
    make_reveal: `make_reveal(observe)` returns the kernel `reveal(state, table, workspace, s)`,
        which passes the feedback of round s to the learner's kernel `observe`.
    make_turn: `make_turn(choose, observe, expect)` returns the kernel `turn`, which plays a round.
        `expect(row, action, mix)` is the expected loss of the round over the learner's own
        randomness.
    """
    choose = make_choose(kernels)
    observe = kernels.observe
    needs_plan = kernels.needs_plan

    def pauses(state: Any, workspace: Any) -> bool:
        return bool(needs_plan(state))

    return {
        "look_ahead": look_ahead,
        "reveal": make_reveal(observe),
        "pauses": pauses,
        "turn": make_turn(choose, observe, _expect_plain if kernels.mix is None else _expect_mixed),
        "choose": choose,
        "observe": observe,
        "needs_plan": needs_plan,
    }


def _expect_mixed(row: Floats, action: int, mix: Floats) -> float:
    """Return the mean loss of a row under the mix; `action` is ignored."""
    return dot(mix, row)


def _expect_plain(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the action; `mix` is ignored."""
    return float(row[action])


def live_act(memory: Floats, rng: RngState, cells: Floats) -> tuple[int, int, float]:
    """Choose one action and write its ticket; return round, action, probability.

    A kernel. The round is `NEEDS_PLAN` or `TABLE_FULL` if nothing was issued.

    memory: state vector of the learner. cells: matrix of the ticket table.
    """
    if needs_plan(view(memory)):
        return NEEDS_PLAN, 0, 0.0
    if not has_capacity(cells):
        return TABLE_FULL, 0, 0.0
    action, probability = choose(view(memory), mix_slice(memory), rng)
    return write_ticket(cells, action, probability), action, probability


def make_replay(runner: Runner) -> Callable[[Floats, Integers, int], int]:
    """Return `live_replay` for a learner in play, without the arguments that are its own.

    An invalid action raises LearnerError.
    """
    own = runner.memory, runner.rng, runner.workspace.row
    replay = runner.compile(live_replay, *own, EMPTY_CELLS, _EMPTY_HISTORY, 0)

    def checked(cells: Floats, history: Integers, first: int) -> int:
        try:
            return int(replay(*own, cells, history, first))
        except IndexError as error:
            reject_invalid_action(runner.learner, runner.memory, error)
            raise

    return checked


def live_replay(
    memory: Floats, rng: RngState, row: Floats, cells: Floats, history: Integers, first: int
) -> int:
    """Repeat events on a learner; return the index of the one before which it must plan, or the end.

    A kernel. It calls `learn_again(state, row, cells, round)`, which passes a stored outcome to the
    learner. The tickets of the table stay as they are: an action that the learner would choose now
    is not written.

    row: scratch array.
    history: events in order: 0 for a ticket, the round for an outcome.
    first: index in it of the first event to repeat.
    """
    for index in range(first, history.size):
        round_ = history[index]
        if round_ > 0:
            learn_again(view(memory), row, cells, round_)
        elif needs_plan(view(memory)):
            return index
        else:
            choose(view(memory), mix_slice(memory), rng)
    return int(history.size)
