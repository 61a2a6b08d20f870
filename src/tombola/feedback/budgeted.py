"""Feedback under a budget: losses and costs, of all actions or of the one played.

The budget tracker decides which actions may be played, for all learners alike. Learners receive
costs in the common scale of `Budget`. The kernel `observe_round` passes a round to the learner;
only that kernel and the codec depend on the kind of feedback.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola._formatting import plural
from tombola._types import Floats, Integers, RngState
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
from tombola.engine.compiler import Kernel
from tombola.engine.loop import (
    SPENT,
    Accumulators,
    Play,
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
    read_ticket,
    write_ticket,
)
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.base import EMPTY_CELLS, NEEDS_PLAN, TABLE_FULL, FeedbackModel, LiveKernels
from tombola.feedback.codec import EncodedOutcome, copy_into, loss_or_reward, parse_loss, parse_row

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    decide: Kernel
    observe_round: Kernel
    unpack_outcome: Kernel
    needs_plan: Kernel


class _Workspace(NamedTuple):
    """Scratch arrays: the tracker, a ring buffer of plays in flight, the current row.

    played: share of each action in each play in flight (a single 1, unless play is fluid), shape
        (ring, k).
    actions, probabilities: the drawn action of each play in flight, and its probability, shape
        (ring,).
    reserved: costs reserved for each play in flight, in ticks, shape (ring, resources).
    row: losses of the current row, shape (k,).
    raw, scaled: its costs in cost units and in the common scale of `Budget`, shape (k, resources).
    affordable, played_copy: copies of `tracker.fits` and of one play for the learner, which may
        write into them.
    n_listed: number of actions without an added null action.
    comparator: loss of the comparator per round.
    """

    tracker: BudgetTracker
    played: Floats
    actions: Integers
    probabilities: Floats
    reserved: Floats
    row: Floats
    raw: Floats
    scaled: Floats
    affordable: Floats
    played_copy: Floats
    n_listed: int
    comparator: float


@dataclass(frozen=True, eq=False)
class BudgetedFeedback(FeedbackModel):
    """Reveal losses and costs of all actions; the tracker enforces the budget.

    An outcome is the losses of the listed actions, then their costs, action by action. An added
    null action is the last action and not part of the outcome. In fluid play (`budget_run.mixed`)
    every action is played with its share of the mix, instead of one action drawn.

    budget_run: resolved budget, stop rule, and whether play is fluid.
    """

    full_feedback: ClassVar[bool] = True
    supports_amend: ClassVar[bool] = False

    budget_run: BudgetRun

    @property
    def limits(self) -> ResolvedBudget:
        """The budget of the play, in cost units."""
        return self.budget_run.limits

    @property
    def resources(self) -> int:
        """The number of resources of the budget."""
        return int(self.limits.worst.shape[1])

    @property
    def n_listed_actions(self) -> int:
        return self.actions - self.limits.added

    @property
    def outcome_width(self) -> int:
        return self.n_listed_actions * (1 + self.resources)

    @property
    def terms(self) -> BudgetTerms:
        """The budget as the learner knows it before play, with costs scaled to [0, 1]."""
        tracker, rate = new_tracker(self.budget_run, self.horizon)
        prices = self.limits.prices * tracker.scale
        limits = self.limits
        return BudgetTerms(
            self.actions,
            self.resources,
            self.horizon,
            rate,
            limits.null,
            prices,
            limits.added,
            limits.target,
        )

    def init(self, learner: Any) -> Any:
        if self.limits.target < math.inf and not learner.supports_target:
            raise ParameterError(
                f"target: {type(learner).__name__} supports budgets only, got a target of "
                f"{self.limits.target:g}; "
                "write EmpiricalLP(), or ThriftyLP() where only the action played is seen."
            )
        return learner.init(self.terms)

    def workspace(self, ring: int) -> _Workspace:
        k = self.actions
        m = self.resources
        tracker, _ = new_tracker(self.budget_run, self.horizon)
        return _Workspace(
            tracker=tracker,
            played=np.zeros((ring, k)),
            actions=np.zeros(ring, np.int64),
            probabilities=np.zeros(ring),
            reserved=np.zeros((ring, m)),
            row=np.zeros(k),
            raw=np.zeros((k, m)),
            scaled=np.zeros((k, m)),
            affordable=np.zeros(k),
            played_copy=np.zeros(k),
            n_listed=self.n_listed_actions,
            comparator=float(self.budget_run.comparator),
        )

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        kernels = learner.kernels(self.actions, self.horizon)
        decide = _make_decide(kernels.mix)
        observe_round = self.make_observe(kernels.observe)
        return {
            "look_ahead": _look_ahead,
            "reveal": _make_reveal(observe_round),
            "pauses": _make_pauses(kernels.needs_plan),
            "turn": _make_turn(decide, observe_round),
            "decide": decide,
            "observe_round": observe_round,
            "unpack_outcome": _unpack_row_outcome if self.full_feedback else _unpack_action_outcome,
            "needs_plan": kernels.needs_plan,
        }

    def make_observe(self, observe: Kernel) -> Kernel:
        """Return the kernel `observe_round`, which reveals a round to the learner.

        It calls `observe`, a kernel of the learner, with the play at index `slot` of the ring
        buffers, and with the losses and scaled costs of the current row: of all actions, or with
        bandit feedback of the action played.
        """

        def observe_round(state: Any, round: int, workspace: _Workspace, slot: int) -> None:
            for action in range(workspace.played_copy.size):
                workspace.played_copy[action] = workspace.played[slot, action]
            observe(state, round, workspace.played_copy, workspace.row, workspace.scaled)

        return observe_round

    def balance(self, workspace: _Workspace) -> Balance:
        return balance_of(workspace.tracker, self.limits.amounts)

    def plan(self, learner: Any, state: Any, workspace: _Workspace, rng: RngState) -> None:
        learner.plan(
            state=state,
            left=remaining(workspace.tracker),
            fits=workspace.tracker.fits.copy(),
            rng=rng,
        )

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
        if budget_run is None:
            raise ParameterError(
                f"budget: {type(learner).__name__} needs one, got none; write for example "
                "budget=Budget(90.0)."
            )
        # With bandit feedback one action is observed, so a mix of all actions cannot be played.
        if budget_run.mixed and not cls.full_feedback:
            raise ParameterError(
                f"play: mixed is for learners with full feedback, got {type(learner).__name__}, "
                "which has bandit "
                "feedback; leave mixed out."
            )
        return cls(actions + budget_run.limits.added, horizon, budget_run)

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        runner = Runner(learner, self, rng)
        memory = runner.memory
        workspace = runner.workspace
        prices = self.limits.prices
        hand = (
            memory,
            rng,
            workspace.tracker,
            workspace.affordable,
            workspace.played[0],
            workspace.reserved[0],
        )
        outcome = np.zeros(self.outcome_width)
        losses, costs = self._outcome_views(outcome)
        act = runner.compile(_live_act, *hand, EMPTY_CELLS)
        step = runner.compile(
            _live_observe, memory, workspace, prices, outcome, EMPTY_CELLS, 1, 0, 1.0, 1
        )

        def observe_fast(cells: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            is_exact = has_native_types(ticket) and label is None
            is_exact = is_exact and copy_into(losses, loss) and copy_into(costs, cost)
            return is_exact and step(
                memory, workspace, prices, outcome, cells, *ticket, ticket.round
            )

        def observe(cells: Floats, index: int, round: int, numbers: EncodedOutcome) -> bool:
            outcome[:] = numbers
            return bool(
                step(
                    memory,
                    workspace,
                    prices,
                    outcome,
                    cells,
                    index,
                    *read_ticket(cells, index),
                    round,
                )
            )

        return LiveKernels(partial(act, *hand), observe_fast, observe, runner)

    def _outcome_views(self, outcome: Floats) -> tuple[Floats, Floats]:
        """Return views of an encoded outcome: losses and costs, in the user's shapes."""
        costs = outcome[self.n_listed_actions :]
        return outcome[: self.n_listed_actions], costs if self.resources == 1 else costs.reshape(
            self.n_listed_actions, -1
        )

    def encode(self, round: int, action: int, outcome: Mapping[str, Any]) -> EncodedOutcome:
        losses = parse_row(self.n_listed_actions, *loss_or_reward(round, outcome, "cost"))
        return (*losses.tolist(), *self.parse_costs("Session.observe", action, outcome.get("cost")))

    def parse_costs(self, owner: str, action: int, cost: Any) -> tuple[float, ...]:
        which = slice(0, self.n_listed_actions) if self.full_feedback else slice(action, action + 1)
        worst = self.limits.worst[which]
        prices = self.limits.prices[which]
        if cost is None and not np.isnan(prices).any():
            return tuple(prices.ravel().tolist())
        if cost is None:
            raise FeedbackError(
                f"{owner}: expected a cost, since it is not on the price list, got none; write "
                "cost=..."
            )
        try:
            table = np.array(cost, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            table = np.full(0, np.nan)
        if table.ndim < 2 and table.size == worst.size and 1 in worst.shape:
            table = table.reshape(worst.shape)
        if table.shape != worst.shape or not ((table >= 0) & (table <= worst)).all():
            raise FeedbackError(
                f"{owner}: cost must be {plural(worst.shape[0], 'action')} x "
                f"{plural(worst.shape[1], 'resource')}, "
                f"from 0 to the worst cost declared, got {' '.join(repr(cost).split())}; declare "
                "a larger worst cost "
                "from the start."
            )
        if (other := np.argwhere((table != prices) & ~np.isnan(prices))).size:
            row, resource = other[0].tolist()
            raise FeedbackError(
                f"{owner}: cost must be the price declared, {prices[row, resource]:g} for action "
                f"{which.start + row}, got {table[row, resource]:g}; leave that price out of the "
                "list from the "
                "start, and declare its worst cost."
            )
        return tuple(table.ravel().tolist())

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {
            "loss": outcome[: self.n_listed_actions],
            "cost": np.reshape(outcome[self.n_listed_actions :], (self.n_listed_actions, -1)),
        }

    def decode(self, outcome: EncodedOutcome) -> tuple[Any, tuple[float, ...]]:
        return outcome[: self.n_listed_actions], outcome[self.n_listed_actions :]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[action] if action < self.n_listed_actions else 1.0

    def costs(self, action: int, outcome: EncodedOutcome) -> tuple[float, ...]:
        first = self.n_listed_actions + action * self.resources
        return (
            outcome[first : first + self.resources]
            if action < self.n_listed_actions
            else (0.0,) * self.resources
        )

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        return {"loss": losses, "cost": costs}


@dataclass(frozen=True, eq=False)
class BudgetedBanditFeedback(BudgetedFeedback):
    """Reveal loss and costs of the action played; the tracker enforces the budget.

    An outcome is the loss, then one cost per resource. Costs on the price list may be left out, and
    so may the outcome of an added null action, which has loss 1 and cost 0. `budget_run.mixed` must
    be False.
    """

    full_feedback: ClassVar[bool] = False

    @property
    def outcome_width(self) -> int:
        return 1 + self.resources

    def make_observe(self, observe: Kernel) -> Kernel:

        def observe_round(state: Any, round: int, workspace: _Workspace, slot: int) -> None:
            action = workspace.actions[slot]
            observe(
                state,
                round,
                action,
                workspace.probabilities[slot],
                workspace.row[action],
                workspace.scaled[action],
            )

        return observe_round

    def _outcome_views(self, outcome: Floats) -> tuple[Floats, Floats]:
        return outcome[:1].reshape(()), outcome[1:].reshape(()) if self.resources == 1 else outcome[
            1:
        ]

    def encode(self, round: int, action: int, outcome: Mapping[str, Any]) -> EncodedOutcome:
        costs = self.parse_costs("Session.observe", action, outcome.get("cost"))
        if action < self.n_listed_actions:
            return (parse_loss(*loss_or_reward(round, outcome, "cost")), *costs)
        if (
            any(value is not None for value in outcome.values())
            and parse_loss(*loss_or_reward(round, outcome, "cost")) != 1.0
        ):
            raise FeedbackError(
                f"Session.observe: the added null action of round {round} has loss 1, got "
                f"{dict(outcome)}; "
                "write observe(ticket)."
            )
        return (1.0, *costs)

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {"loss": outcome[0], "cost": outcome[1:]}

    def decode(self, outcome: EncodedOutcome) -> tuple[Any, tuple[float, ...]]:
        return outcome[0], outcome[1:]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[0]

    def costs(self, action: int, outcome: EncodedOutcome) -> tuple[float, ...]:
        return outcome[1:]

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        return (
            {"loss": float(losses[action]), "cost": costs[action]}
            if action < self.n_listed_actions
            else {}
        )


def _look_ahead(table: RowStream, t: int) -> None:
    """Prefetch losses and costs of the row that is played some rounds after t."""
    prefetch_row(table.losses, table.order, t, table.losses.shape[1])
    prefetch_row(table.costs, table.order, t, table.costs.shape[1])


def _copy_row(table: RowStream, workspace: _Workspace, t: int) -> None:
    """Copy losses and costs of round t into the workspace; learners see the copy only."""
    source = table.order[t]
    resources = workspace.tracker.scale.size
    for action in range(workspace.row.size):
        label = table.labels[action]
        workspace.row[action] = table.losses[source, label] if label >= 0 else 1.0
        for j in range(resources):
            cost = float(table.costs[source, label * resources + j]) if label >= 0 else 0.0
            workspace.raw[action, j] = cost
            workspace.scaled[action, j] = cost * workspace.tracker.scale[j]


def _make_pauses(needs_plan: Kernel) -> Kernel:
    """Return the kernel `pauses`: update the affordable actions, then ask the learner."""

    def pauses(state: Any, workspace: _Workspace) -> bool:
        update_affordable(workspace.tracker)
        _copy_affordable(workspace.tracker, workspace.affordable)
        return bool(
            workspace.tracker.flags[STOPPED] == 0.0 and needs_plan(state, workspace.affordable)
        )

    return pauses


def _copy_affordable(tracker: BudgetTracker, affordable: Floats) -> None:
    """Copy the affordable actions, so that no learner can change the tracker."""
    for action in range(affordable.size):
        affordable[action] = tracker.fits[action]


def _make_reveal(observe_round: Kernel) -> Kernel:
    """Return the kernel `reveal`, which charges the play of round s and reveals it."""

    def reveal(state: Any, table: RowStream, workspace: _Workspace, s: int) -> None:
        slot = s % workspace.played.shape[0]
        _copy_row(table, workspace, s)
        charge(workspace.tracker, workspace.played[slot], workspace.reserved[slot], workspace.raw)
        observe_round(state, s + 1, workspace, slot)

    return reveal


def _make_turn(decide: Kernel, observe_round: Kernel) -> Kernel:
    def turn(state: Any, mix: Floats, rng: RngState, play: Play, t: int) -> None:
        table = play.table
        workspace = play.workspace
        accumulators = play.accumulators
        slot = t % workspace.played.shape[0]
        action, probability = decide(
            state, mix, rng, workspace.tracker, workspace.played[slot], workspace.reserved[slot]
        )
        workspace.actions[slot] = action
        workspace.probabilities[slot] = probability
        _copy_row(table, workspace, t)
        _record_play(accumulators, t, action, probability, workspace, slot)
        if reveal_immediately(play, t):
            charge(
                workspace.tracker, workspace.played[slot], workspace.reserved[slot], workspace.raw
            )
            observe_round(state, t + 1, workspace, slot)

    return turn


def _record_play(
    accumulators: Accumulators,
    t: int,
    action: int,
    probability: float,
    workspace: _Workspace,
    slot: int,
) -> None:
    """Add the play in flight `workspace.played[slot]` of round t to the accumulators."""
    played = workspace.played[slot]
    loss = 0.0
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


def _make_decide(propose: Kernel) -> Kernel:
    """Return the kernel `decide`, which chooses a play and reserves its cost."""

    def decide(
        state: Any,
        mix: Floats,
        rng: RngState,
        tracker: BudgetTracker,
        played: Floats,
        reserved: Floats,
    ) -> tuple[int, float]:
        if tracker.flags[STOPPED] == 0.0:
            propose(state, mix)
        if tracker.flags[CLOSED] == 1.0:  # also set whenever STOPPED is
            set_null_mix(tracker, mix)
        mask_unaffordable(tracker, mix)
        return draw_and_reserve(tracker, mix, rng, played, reserved)

    return decide


def _live_act(
    memory: Floats,
    rng: RngState,
    tracker: BudgetTracker,
    affordable: Floats,
    played: Floats,
    reserved: Floats,
    cells: Floats,
) -> tuple[int, int, float]:
    """Update the tracker, choose one action and write its ticket, as `live_act` does."""
    update_affordable(tracker)
    _copy_affordable(tracker, affordable)
    if tracker.flags[STOPPED] == 0.0 and needs_plan(view(memory), affordable):
        return NEEDS_PLAN, 0, 0.0
    if not has_capacity(cells):
        return TABLE_FULL, 0, 0.0
    action, probability = decide(view(memory), mix_slice(memory), rng, tracker, played, reserved)
    return write_ticket(cells, action, probability), action, probability


def _live_observe(
    memory: Floats,
    workspace: _Workspace,
    prices: Floats,
    outcome: Floats,
    cells: Floats,
    index: int,
    action: int,
    probability: float,
    round: int,
) -> bool:
    """Observe an outcome of a pending ticket; False, and no change, if not valid.

    The learner comes first: if it raises, the ticket is still pending and its worst cost still
    reserved.
    """
    if not is_pending(cells, index, action, probability) or not unpack_outcome(
        workspace, prices, action, outcome
    ):
        return False
    for i in range(outcome.size):
        cells[index, OUTCOME_START + i] = outcome[i]
    for other in range(workspace.played.shape[1]):
        workspace.played[0, other] = 1.0 if other == action else 0.0
    for j in range(workspace.reserved.shape[1]):
        workspace.reserved[0, j] = workspace.tracker.worst[action, j]
    workspace.actions[0] = action
    workspace.probabilities[0] = probability
    observe_round(view(memory), round, workspace, 0)
    mark_answered(cells, index)
    charge(workspace.tracker, workspace.played[0], workspace.reserved[0], workspace.raw)
    return True


def _unpack_row_outcome(
    workspace: _Workspace, prices: Floats, action: int, outcome: Floats
) -> bool:
    """Copy losses, then costs, of all listed actions into the row; return validity."""
    resources = prices.shape[1]
    last = workspace.row.size - 1
    workspace.row[last] = 1.0
    workspace.raw[last, :] = 0.0
    workspace.scaled[last, :] = 0.0
    for other in range(workspace.n_listed):
        first = workspace.n_listed + other * resources
        if not _unpack_action(
            workspace, prices, other, outcome[other], outcome[first : first + resources]
        ):
            return False
    return True


def _unpack_action(
    workspace: _Workspace, prices: Floats, action: int, loss: float, costs: Floats
) -> bool:
    """Copy loss and costs of one action into the current row; return validity."""
    workspace.row[action] = loss
    valid = 0.0 <= loss <= 1.0
    for j in range(costs.size):
        cost = costs[j]
        price = prices[action, j]
        valid = (
            valid
            and 0.0 <= cost <= workspace.tracker.worst_costs[action, j]
            and (cost == price or math.isnan(price))
        )
        workspace.raw[action, j] = cost
        workspace.scaled[action, j] = cost * workspace.tracker.scale[j]
    return valid


def _unpack_action_outcome(
    workspace: _Workspace, prices: Floats, action: int, outcome: Floats
) -> bool:
    """Copy loss and costs of the action into the current row; return validity."""
    return (action < workspace.n_listed or outcome[0] == 1.0) and _unpack_action(
        workspace, prices, action, outcome[0], outcome[1:]
    )
