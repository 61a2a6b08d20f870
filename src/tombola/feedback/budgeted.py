"""Budgets: actions cost resources, and after the delay the losses and costs of all actions are seen.

The tracker decides what may be played, for all learners alike; costs reach a learner in the common scale of `Budget`.
What a learner is told of a round is one kernel, `tell`: `budgeted_bandit` has another one, and all else is shared.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola._types import Floats, RngState, Rounds
from tombola.budget.budget import Balance, BudgetRun, BudgetTerms, ResolvedBudget
from tombola.budget.tracker import (
    CLOSED,
    STOPPED,
    BudgetTracker,
    balance_of,
    charge,
    draw_and_reserve,
    mask_unaffordable,
    new_tracker,
    remaining,
    set_null_mix,
    update_affordable,
)
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import Kernel
from tombola.engine.loop import (
    SPENT,
    Accumulators,
    RowStream,
    prefetch_row,
    record_action,
    record_loss,
    reveal_immediately,
)
from tombola.engine.runner import Runner
from tombola.engine.state_vector import mix_slice
from tombola.engine.tickets import (
    OUTCOME_START,
    Ticket,
    has_capacity,
    has_native_types,
    is_pending,
    mark_answered,
    ticket_cells,
    write_ticket,
)
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.base import (
    EMPTY_CELLS,
    NEEDS_PLAN,
    TABLE_FULL,
    EncodedOutcome,
    FeedbackModel,
    LiveKernels,
    copy_into,
    loss_or_reward,
    parse_row,
)

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    decide: Kernel
    tell: Kernel
    unpack_outcome: Kernel
    needs_plan: Kernel


class Workspace(NamedTuple):
    """The tracker; plays in flight and what is reserved for each, in a ring; the row at hand; the comparator's loss.

    A play in flight is a mix, and if it was drawn an action with its probability. A row has its losses, its costs, and its
    costs in the common scale; `shown` and `told` are copies, of what fits and of a play, which a learner may keep and
    write into; `listed` actions are not an added null.
    """

    tracker: BudgetTracker
    played: Floats
    actions: Rounds
    probabilities: Floats
    reserved: Floats
    row: Floats
    raw: Floats
    scaled: Floats
    shown: Floats
    told: Floats
    n_listed: int
    comparator: float


@dataclass(frozen=True, eq=False)
class BudgetedFeedback(FeedbackModel):
    """The losses and costs of all actions are seen, and no more is spent than allowed.

    In fluid play every action is played a little, as the mix says. An added null action is the last one, and is never
    told of.
    """

    full_feedback: ClassVar[bool] = True
    supports_amend: ClassVar[bool] = False

    budget_run: BudgetRun

    @property
    def limits(self) -> ResolvedBudget:
        """What may be spent."""
        return self.budget_run.limits

    @property
    def resources(self) -> int:
        """The number of resources."""
        return int(self.limits.worst.shape[1])

    @property
    def n_listed_actions(self) -> int:
        """The number of actions of the table, without an added null action."""
        return self.actions - self.limits.added

    @property
    def outcome_width(self) -> int:
        """How many numbers an outcome has: the losses, and the costs, of all actions."""
        return self.n_listed_actions * (1 + self.resources)

    @property
    def terms(self) -> BudgetTerms:
        """What a learner knows beforehand."""
        tracker, rate = new_tracker(self.budget_run, self.horizon)
        prices = self.limits.prices * tracker.scale
        limits = self.limits
        return BudgetTerms(
            self.actions, self.resources, self.horizon, rate, limits.null, prices, limits.added, limits.target
        )

    def init(self, learner: Any) -> Any:
        """Return the first state of a learner."""
        if self.limits.target < math.inf and not learner.supports_target:
            raise ParameterError(
                f"target: {type(learner).__name__} minds a budget only, got a target of {self.limits.target:g}; write "
                "EmpiricalLP(), or ThriftyLP() where only the action played is seen."
            )
        return learner.init(self.terms)

    def workspace(self, ring: int) -> Workspace:
        """Return a full tracker, and room for a row and for the plays in flight."""
        k, m = self.actions, self.resources
        tracker, _ = new_tracker(self.budget_run, self.horizon)
        return Workspace(
            tracker=tracker,
            played=np.zeros((ring, k)),
            actions=np.zeros(ring, np.int64),
            probabilities=np.zeros(ring),
            reserved=np.zeros((ring, m)),
            row=np.zeros(k),
            raw=np.zeros((k, m)),
            scaled=np.zeros((k, m)),
            shown=np.zeros(k),
            told=np.zeros(k),
            n_listed=self.n_listed_actions,
            comparator=float(self.budget_run.comparator),
        )

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the kernels of the loop and of the live steps."""
        kernels = learner.kernels(self.actions, self.horizon)
        decide, tell = make_decide(kernels.mix), self.make_observe(kernels.observe)
        return {
            "look_ahead": look_ahead,
            "reveal": make_reveal(tell),
            "pauses": make_pauses(kernels.needs_plan),
            "turn": make_turn(decide, tell),
            "decide": decide,
            "tell": tell,
            "unpack_outcome": self.unpack_outcome,
            "needs_plan": kernels.needs_plan,
        }

    @property
    def unpack_outcome(self) -> Kernel:
        """The kernel that writes a valid outcome into the row at hand."""
        return unpack_row_outcome

    def make_observe(self, observe: Kernel) -> Kernel:
        """Return the kernel that tells a learner of a round: here the whole row."""

        def tell(state: Any, round: int, workspace: Workspace, slot: int) -> None:
            for action in range(workspace.told.size):
                workspace.told[action] = workspace.played[slot, action]
            observe(state, round, workspace.told, workspace.row, workspace.scaled)

        return tell

    def budget_arrays(self, workspace: Workspace) -> tuple[Floats, ...]:
        """Return what the tracker holds."""
        return workspace.tracker.spent, workspace.tracker.reserved, workspace.tracker.fits, workspace.tracker.flags

    def balance(self, workspace: Workspace) -> Balance:
        """Return what is spent, reserved and left."""
        return balance_of(workspace.tracker, self.limits.amounts)

    def plan(self, learner: Any, state: Any, workspace: Workspace, rng: RngState) -> None:
        """Let the learner think, with what is left and what fits."""
        learner.plan(state=state, left=remaining(workspace.tracker), fits=workspace.tracker.fits.copy(), rng=rng)

    @classmethod
    def for_learner(
        cls, learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None, features: int | None
    ) -> Self:
        """Return the setting of a learner that may spend so much; an added null action is one more."""
        if budget_run is None:
            raise ParameterError(
                f"budget: {type(learner).__name__} needs one, got none; write for example budget=Budget(90.0)."
            )
        return cls(actions + budget_run.limits.added, horizon, budget_run)

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        """Return what a learner does live: one compiled call for a ticket, and one for what came of it."""
        runner = Runner(learner, self, rng)
        memory, workspace, prices = runner.memory, runner.workspace, self.limits.prices
        hand = memory, rng, workspace.tracker, workspace.shown, workspace.played[0], workspace.reserved[0]
        outcome = np.zeros(self.outcome_width)
        losses, costs = self.outcome_views(outcome)
        act = runner.step(step_act, *hand, EMPTY_CELLS)
        step = runner.step(live_observe, memory, workspace, prices, outcome, EMPTY_CELLS, 1, 0, 1.0, 1)

        def observe_fast(cells: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            both = has_native_types(ticket) and label is None and copy_into(losses, loss) and copy_into(costs, cost)
            return both and step(memory, workspace, prices, outcome, cells, *ticket, ticket.round)

        def tell(cells: Floats, row: int, round: int, numbers: EncodedOutcome) -> bool:
            outcome[:] = numbers
            return bool(step(memory, workspace, prices, outcome, cells, row, *ticket_cells(cells, row), round))

        return LiveKernels(partial(act, *hand), observe_fast, tell, runner)

    def outcome_views(self, outcome: Floats) -> tuple[Floats, Floats]:
        """Return the places in an outcome for losses and for costs, as they are mostly given."""
        costs = outcome[self.n_listed_actions :]
        return outcome[: self.n_listed_actions], costs if self.resources == 1 else costs.reshape(
            self.n_listed_actions, -1
        )

    def encode(self, round: int, action: int, given: Mapping[str, Any]) -> EncodedOutcome:
        """Return the losses, then the costs, of all actions that are listed."""
        losses = parse_row(self.n_listed_actions, *loss_or_reward(round, given, "cost"))
        return (*losses.tolist(), *self.parse_costs("Session.observe", action, given.get("cost")))

    def parse_costs(self, who: str, action: int, cost: Any) -> EncodedOutcome:
        """Return the costs of all actions that are listed, one after the other."""
        return self._parse_cost_table(who, cost, slice(0, self.n_listed_actions))

    def _parse_cost_table(self, who: str, cost: Any, which: slice) -> EncodedOutcome:
        """Return the costs of these actions, as given or, where nothing is given, as the price list has them."""
        worst, prices = self.limits.worst[which], self.limits.prices[which]
        if cost is None and not np.isnan(prices).any():
            return tuple(prices.ravel().tolist())
        if cost is None:
            raise FeedbackError(
                f"{who}: expected a cost, for it is not on the price list, got none; tell what it cost."
            )
        try:
            table = np.array(cost, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            table = np.full(0, np.nan)
        if table.ndim < 2 and table.size == worst.size and 1 in worst.shape:
            table = table.reshape(worst.shape)
        if table.shape != worst.shape or not ((table >= 0) & (table <= worst)).all():
            raise FeedbackError(
                f"{who}: cost must be {_count(worst.shape[0], 'action')} x {_count(worst.shape[1], 'resource')}, from "
                f"0 to the worst cost declared, got {' '.join(repr(cost).split())}; declare a larger worst cost from "
                "the start."
            )
        if (other := np.argwhere((table != prices) & ~np.isnan(prices))).size:
            row, resource = other[0].tolist()
            raise FeedbackError(
                f"{who}: cost must be the price declared, {prices[row, resource]:g} for action "
                f"{which.start + row}, got {table[row, resource]:g}; leave that price out of the list from the "
                "start, and declare its worst cost."
            )
        return tuple(table.ravel().tolist())

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {
            "loss": outcome[: self.n_listed_actions],
            "cost": np.reshape(outcome[self.n_listed_actions :], (self.n_listed_actions, -1)),
        }

    def decode(self, outcome: EncodedOutcome) -> tuple[Any, EncodedOutcome]:
        """Return the losses of all actions, and their costs one after the other."""
        return outcome[: self.n_listed_actions], outcome[self.n_listed_actions :]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        """Return the loss of the action that was played; an added null action loses 1."""
        return outcome[action] if action < self.n_listed_actions else 1.0

    def costs(self, action: int, outcome: EncodedOutcome) -> EncodedOutcome:
        """Return what the action that was played cost, of each resource; an added null action nothing."""
        first = self.n_listed_actions + action * self.resources
        return outcome[first : first + self.resources] if action < self.n_listed_actions else (0.0,) * self.resources

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the whole row with its costs."""
        return {"loss": losses, "cost": costs}


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def look_ahead(table: RowStream, t: int) -> None:
    """Ask for the losses and costs of some rounds from now."""
    prefetch_row(table.losses, table.order, t, table.losses.shape[1])
    prefetch_row(table.costs, table.order, t, table.costs.shape[1])


def fetch(table: RowStream, workspace: Workspace, t: int) -> None:
    """Copy the row of round t, so that no learner ever holds the pool."""
    source = table.order[t]
    resources = workspace.tracker.scale.size
    for action in range(workspace.row.size):
        label = table.labels[action]
        workspace.row[action] = table.losses[source, label] if label >= 0 else 1.0
        for j in range(resources):
            cost = float(table.costs[source, label * resources + j]) if label >= 0 else 0.0
            workspace.raw[action, j] = cost
            workspace.scaled[action, j] = cost * workspace.tracker.scale[j]


def make_pauses(needs_plan: Kernel) -> Kernel:
    """Return the kernel that looks into the tracker, and stops the loop when the learner is due to plan."""

    def pauses(state: Any, workspace: Workspace) -> bool:
        update_affordable(workspace.tracker)
        show(workspace.tracker, workspace.shown)
        return bool(workspace.tracker.flags[STOPPED] == 0.0 and needs_plan(state, workspace.shown))

    return pauses


def show(tracker: BudgetTracker, shown: Floats) -> None:
    """Copy what fits, so that no learner ever holds the tracker."""
    for action in range(shown.size):
        shown[action] = tracker.fits[action]


def make_reveal(tell: Kernel) -> Kernel:
    """Return the kernel that settles the play of round s, and tells the learner of it."""

    def reveal(state: Any, table: RowStream, workspace: Workspace, s: int) -> None:
        slot = s % workspace.played.shape[0]
        fetch(table, workspace, s)
        charge(workspace.tracker, workspace.played[slot], workspace.reserved[slot], workspace.raw)
        tell(state, s + 1, workspace, slot)

    return reveal


def make_turn(decide: Kernel, tell: Kernel) -> Kernel:
    """Return the kernel of a turn."""

    def turn(
        state: Any,
        mix: Floats,
        rng: RngState,
        table: RowStream,
        arrivals: ArrivalSchedule,
        workspace: Workspace,
        accumulators: Accumulators,
        t: int,
    ) -> None:
        slot = t % workspace.played.shape[0]
        action, probability = decide(
            state, mix, rng, workspace.tracker, workspace.played[slot], workspace.reserved[slot]
        )
        workspace.actions[slot], workspace.probabilities[slot] = action, probability
        fetch(table, workspace, t)
        note_play(accumulators, t, action, probability, workspace, slot)
        if reveal_immediately(arrivals, accumulators, t):
            charge(workspace.tracker, workspace.played[slot], workspace.reserved[slot], workspace.raw)
            tell(state, t + 1, workspace, slot)

    return turn


def note_play(
    accumulators: Accumulators, t: int, action: int, probability: float, workspace: Workspace, slot: int
) -> None:
    """Write down what was played in round t, what it cost and what it lost."""
    played, loss = workspace.played[slot], 0.0
    if not workspace.tracker.fluid:
        record_action(accumulators, t, action, probability)
    for other in range(played.size):
        share = played[other]
        if share > 0.0:
            loss += share * workspace.row[other]
            if workspace.tracker.fluid:
                accumulators.plays[other] += share
            for j in range(workspace.raw.shape[1]):
                accumulators.sums[SPENT + j] += share * workspace.raw[other, j]
                if accumulators.costs.size > 0:
                    accumulators.costs[t, j] += share * workspace.raw[other, j]
    record_loss(accumulators, t, loss, loss, workspace.comparator)


def make_decide(propose: Kernel) -> Kernel:
    """Return the kernel that lets a learner propose a mix, keeps what fits of it, and commits to a play."""

    def decide(
        state: Any, mix: Floats, rng: RngState, tracker: BudgetTracker, played: Floats, reserved: Floats
    ) -> tuple[int, float]:
        if tracker.flags[STOPPED] == 0.0:
            propose(state, mix)
        if tracker.flags[CLOSED] == 1.0:  # as it is whenever it has stopped
            set_null_mix(tracker, mix)
        mask_unaffordable(tracker, mix)
        action, probability = draw_and_reserve(tracker, mix, rng, played, reserved)
        return action, probability

    return decide


def step_act(
    memory: Floats,
    rng: RngState,
    tracker: BudgetTracker,
    shown: Floats,
    played: Floats,
    reserved: Floats,
    cells: Floats,
) -> tuple[int, int, float]:
    """Look into the tracker, choose one action, live, and write its ticket."""
    update_affordable(tracker)
    show(tracker, shown)
    if tracker.flags[STOPPED] == 0.0 and needs_plan(view(memory), shown):
        return NEEDS_PLAN, 0, 0.0
    if not has_capacity(cells):
        return TABLE_FULL, 0, 0.0
    action, probability = decide(view(memory), mix_slice(memory), rng, tracker, played, reserved)
    return write_ticket(cells, action, probability), action, probability


def live_observe(
    memory: Floats,
    workspace: Workspace,
    prices: Floats,
    outcome: Floats,
    cells: Floats,
    row: int,
    action: int,
    probability: float,
    round: int,
) -> bool:
    """Take in an outcome, live, and write it down, if it is valid and its ticket is pending; settle what it cost.

    A learner that falls over it comes first: then the ticket is still pending, and its worst cost reserved.
    """
    if not is_pending(cells, row, action, probability) or not unpack_outcome(workspace, prices, action, outcome):
        return False
    for i in range(outcome.size):
        cells[row, OUTCOME_START + i] = outcome[i]
    for other in range(workspace.played.shape[1]):
        workspace.played[0, other] = 1.0 if other == action else 0.0
    for j in range(workspace.reserved.shape[1]):
        workspace.reserved[0, j] = workspace.tracker.worst[action, j]
    workspace.actions[0], workspace.probabilities[0] = action, probability
    tell(view(memory), round, workspace, 0)
    mark_answered(cells, row)
    charge(workspace.tracker, workspace.played[0], workspace.reserved[0], workspace.raw)
    return True


def unpack_row_outcome(workspace: Workspace, prices: Floats, action: int, outcome: Floats) -> bool:
    """Write losses and costs of all actions into the row at hand; an added null action loses 1 and costs nothing."""
    resources = prices.shape[1]
    (
        workspace.row[workspace.row.size - 1],
        workspace.raw[workspace.row.size - 1, :],
        workspace.scaled[workspace.row.size - 1, :],
    ) = 1.0, 0.0, 0.0
    for other in range(workspace.n_listed):
        first = workspace.n_listed + other * resources
        if not unpack_action(workspace, prices, other, outcome[other], outcome[first : first + resources]):
            return False
    return True


def unpack_action(workspace: Workspace, prices: Floats, action: int, loss: float, costs: Floats) -> bool:
    """Write loss and costs of an action into the row at hand, if they are valid."""
    workspace.row[action] = loss
    valid = 0.0 <= loss <= 1.0
    for j in range(costs.size):
        cost, price = costs[j], prices[action, j]
        valid = (
            valid and 0.0 <= cost <= workspace.tracker.worst_costs[action, j] and (cost == price or math.isnan(price))
        )
        workspace.raw[action, j] = cost
        workspace.scaled[action, j] = cost * workspace.tracker.scale[j]
    return valid
