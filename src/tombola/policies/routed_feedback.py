"""Feedback of `Routed`: features before the decision, the losses of all actions after it.

The kernels of the loop are those of full feedback around the safe learner, with the guard between.
The loop pauses at block starts: models are trained, and the choices of the new router are written
down for the rows of the block.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola._types import Floats, Integers, RngState
from tombola.budget.budget import NO_BALANCE, Balance, BudgetRun
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import Kernel
from tombola.engine.loop import (
    Accumulators,
    Play,
    RowStream,
    copy_row,
    record_action,
    record_loss,
    reveal_immediately,
)
from tombola.engine.runner import Runner
from tombola.errors import ParameterError
from tombola.feedback import FullFeedback, feedback_type
from tombola.feedback.base import LiveKernels, make_loop_kernels
from tombola.feedback.full import look_ahead
from tombola.policies.base import FeatureRows
from tombola.policies.guard import (
    ACCOUNT,
    ANSWERS,
    CAPITAL,
    PENDING,
    Guard,
    Stakes,
    place_stake,
    take_answer,
)
from tombola.policies.models import Fitted, actions_of, choose, fit_models
from tombola.policies.record import Block, RouterRecord, as_actions
from tombola.rng import RngStreams, new_rng, uniform

if TYPE_CHECKING:
    from tombola.policies.routed import Routed

# Columns of a decision: the stake, which is the probability of playing the router; the action that
# the router chose, `NO_ROUTER` without one; that of the safe learner; the capital of the guard
# before the round. The fifth is the second account less the stakes in flight in a list; in a
# session, the action of the present router, which settles the row: it differs from `ROUTER` if
# models were trained while the row was in flight.
STAKE, ROUTER, SAFE, CAPITAL_BEFORE, RESERVE, DECISION_WIDTH = range(6)
SETTLED = RESERVE
# Choice of the router, in a decision, while no model beats the best fixed action.
NO_ROUTER = -1


@dataclass(frozen=True, eq=False)
class RoutedFeedback(FeatureRows, FullFeedback):
    """Feedback model of `Routed`: features before the decision, all losses after it."""

    n_decision: ClassVar[int] = DECISION_WIDTH

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
        if feedback_type(learner.safe) is not FullFeedback:
            raise ParameterError(
                f"Routed: expected a safe learner that sees whole rows, got {learner.safe!r}; "
                "write FollowTheLeader()."
            )
        return super().for_learner(
            learner, horizon, actions=actions, budget_run=budget_run, features=features
        )

    def play(
        self,
        learner: Any,
        rng: RngState,
        table: RowStream,
        arrivals: ArrivalSchedule,
        accumulators: Accumulators,
        features: Floats | None,
    ) -> tuple[Balance, RouterRecord]:
        assert features is not None
        safe_seed, guard_rng = split_rng(rng)
        router = _ListRouter(
            self.actions,
            self.horizon,
            features=self.features,
            routed=learner,
            rows=np.ascontiguousarray(features[table.order]),
            losses=np.asarray(table.losses[table.order][:, table.labels], np.float64),
            delay=arrivals.delay,
            guard_rng=guard_rng,
        )
        runner = Runner(learner, router, RngStreams(safe_seed).learner(learner.safe))
        runner.play(table, arrivals, accumulators)
        return NO_BALANCE, router.record(runner.workspace)

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        from tombola.policies.live import LiveRouter

        router = LiveRouter(learner, self, rng)
        # There is no fast path: models take longer than the checks of an outcome.
        return LiveKernels(
            router.act, lambda *_: False, router.observe, router, router.repeat, router.decision
        )


class _Workspace(NamedTuple):
    """Arrays of the guarded loop; T rounds, k actions.

    row: the current row, shape (k,).
    guard: state of the guard. draws: its random generator.
    decisions: of each round, shape (T, DECISION_WIDTH).
    choices: actions of the present router on each row, `NO_ROUTER` without one, shape (T,).
    answered: rounds in the order of their answers, shape (T,).
    cursor: number of answers at which models are trained again, first round without a choice, and
        number of rounds played.
    safe: action of the safe learner, and the number of answers after which it was drawn.
    """

    row: Floats
    guard: Floats
    draws: RngState
    decisions: Floats
    choices: Integers
    answered: Integers
    cursor: Integers
    safe: Integers


# Positions in `_Workspace.cursor`.
_TRAIN_AT, _CHOSEN, _PLAYED = range(3)


@dataclass(frozen=True, eq=False)
class _ListRouter(RoutedFeedback):
    """A play of `Routed` over a list: rows and losses in their order, and the trainings."""

    routed: Any = None
    rows: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    losses: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    delay: int = 0  # -1 if it is not constant
    guard_rng: RngState = field(default_factory=lambda: np.zeros(4, np.uint64))
    blocks: list[Block] = field(default_factory=list)
    models: list[Fitted | None] = field(default_factory=list)  # the router of each block

    def init(self, learner: "Routed") -> Any:
        return learner.safe.init(actions=self.actions, horizon=self.horizon)

    def kernels(self, learner: "Routed") -> dict[str, Kernel]:
        safe = learner.safe.kernels(self.actions, self.horizon)
        kernels = make_loop_kernels(safe, look_ahead, _make_reveal, _make_turn)
        return {**kernels, "pauses": _make_pauses(safe.needs_plan)}

    def workspace(self, ring: int) -> Any:
        rounds = self.horizon
        starts = self.routed.block_starts(rounds)
        return _Workspace(
            row=np.zeros(self.actions),
            # A constant delay does not depend on the rows, so that Theorem C3' holds; without delay
            # both rules are the same.
            guard=Guard(self.routed.risk, self.routed.worst).new_state(reserves=self.delay <= 0),
            draws=self.guard_rng,
            decisions=np.zeros((rounds, DECISION_WIDTH)),
            choices=np.full(rounds, NO_ROUTER, np.int64),
            answered=np.zeros(rounds, np.int64),
            cursor=np.array([starts[0] if starts else rounds + 1, rounds, 0]),
            safe=np.array([0, -1]),
        )

    def plan(self, learner: Any, state: Any, workspace: _Workspace, rng: RngState) -> None:
        """Train at a block start, choose for the rows to come, or let the safe learner plan."""
        answers = int(workspace.guard[ANSWERS])
        played = int(workspace.cursor[_PLAYED])
        if answers < workspace.cursor[_TRAIN_AT] and played < workspace.cursor[_CHOSEN]:
            learner.safe.plan(state=state, rng=rng)
            return
        first = played
        if answers >= workspace.cursor[_TRAIN_AT]:
            start = self._train(workspace, answers)
            # With a constant delay the new router also settles the rows in flight.
            first = played if self.delay < 0 else start
        end = self.blocks[-1].end
        model = self.models[-1]
        last = self.horizon
        if model is None:
            workspace.choices[first:] = NO_ROUTER
        else:
            last = min(last, first + end - answers if self.delay < 0 else end + self.delay)
            last = max(last, played + 1)
            workspace.choices[first:last] = actions_of(model.predict(self.rows[first:last]))
        workspace.cursor[_CHOSEN] = last

    def _train(self, workspace: _Workspace, answers: int) -> int:
        """Fit the models of the block to the rows answered before it; return its start."""
        starts = self.routed.block_starts(self.horizon)
        number = int(np.searchsorted(starts, answers, side="right")) - 1
        start = int(starts[number])
        is_last = number + 1 == len(starts)
        rounds = workspace.answered[:start]
        losses = self.losses[rounds]
        fitted = fit_models(self.routed.models, self.rows[rounds], losses, seed=number)
        model, loss = choose(fitted, losses)
        name = None if model is None else type(model).__name__
        end = self.horizon if is_last else starts[number + 1]
        self.blocks.append(Block(start, end, name, loss))
        self.models.append(model)
        workspace.cursor[_TRAIN_AT] = self.horizon + 1 if is_last else end
        return start

    def record(self, workspace: _Workspace) -> RouterRecord:
        """Return the decisions of a play that is over."""
        decisions = workspace.decisions
        safe = decisions[:, SAFE].astype(np.int64)
        stakes = Stakes(*(decisions[:, column].copy() for column in _ACCOUNTS))
        # With other delays blocks start at answers, not at rounds.
        blocks = () if self.delay < 0 else tuple(self.blocks)
        return RouterRecord(
            self.losses, safe, as_actions(decisions[:, ROUTER], safe), stakes, blocks
        )


# Columns of a decision in the order of the fields of `Stakes`.
_ACCOUNTS = (STAKE, CAPITAL_BEFORE, RESERVE)


def split_rng(rng: RngState) -> tuple[np.random.SeedSequence, RngState]:
    """Return a seed for the safe learner, and a random generator for the guard.

    No model and no learner sees the guard's generator: otherwise a router could lose without limit.
    """
    safe, guard = np.random.SeedSequence([int(word) for word in rng]).spawn(2)
    return safe, new_rng(guard)


def _make_pauses(needs_plan: Kernel) -> Kernel:
    def pauses(state: Any, workspace: _Workspace) -> bool:
        cursor = workspace.cursor
        return bool(
            workspace.guard[ANSWERS] >= cursor[_TRAIN_AT]
            or cursor[_PLAYED] >= cursor[_CHOSEN]
            or needs_plan(state)
        )

    return pauses


def _make_reveal(observe: Kernel) -> Kernel:
    """Return the kernel `reveal`: the guard settles the row of round s, the safe learner learns."""

    def reveal(state: Any, table: RowStream, workspace: _Workspace, s: int) -> None:
        copy_row(table, s, workspace.row)
        _answer(workspace, s)
        observe(state, int(workspace.guard[ANSWERS]), workspace.row)

    return reveal


def _answer(workspace: _Workspace, s: int) -> None:
    """Settle the row of round s, which is in `workspace.row`; a kernel."""
    row = workspace.row
    decision = workspace.decisions[s]
    played = difference(row, int(decision[SAFE]), int(decision[ROUTER]))
    settled = difference(row, workspace.safe[0], workspace.choices[s])
    workspace.answered[int(workspace.guard[ANSWERS])] = s
    take_answer(workspace.guard, decision[STAKE], played, settled)


def difference(losses: Floats, safe: int, router: int) -> float:
    """Return safe loss - router loss of a row, 0 without a router; a kernel."""
    return 0.0 if router < 0 else float(losses[safe] - losses[router])


def _make_turn(choose: Kernel, observe: Kernel, expect: Kernel) -> Kernel:
    def turn(state: Any, mix: Floats, rng: RngState, play: Play, t: int) -> None:
        workspace = play.workspace
        guard = workspace.guard
        # The safe learner acts once after each answer, and in every round before the first.
        if workspace.safe[1] != guard[ANSWERS] or guard[ANSWERS] == 0.0:
            workspace.safe[0], _ = choose(state, mix, rng)
            workspace.safe[1] = int(guard[ANSWERS])
        safe = workspace.safe[0]
        router = workspace.choices[t]
        chosen = safe if router < 0 else router
        decision = workspace.decisions[t]
        decision[CAPITAL_BEFORE] = guard[CAPITAL]
        stake = place_stake(guard)
        is_routed = uniform(workspace.draws) < stake
        decision[STAKE] = stake
        decision[ROUTER] = router
        decision[SAFE] = safe
        decision[RESERVE] = guard[ACCOUNT] - guard[PENDING]
        action = chosen if is_routed else safe
        copy_row(play.table, t, workspace.row)
        record_action(play.accumulators, t, action, probability_of(stake, chosen, safe, action))
        record_loss(
            play.accumulators,
            t,
            workspace.row[action],
            stake * workspace.row[chosen] + (1.0 - stake) * workspace.row[safe],
            workspace.row[play.table.best],
        )
        workspace.cursor[_PLAYED] = t + 1
        if reveal_immediately(play, t):
            _answer(workspace, t)
            observe(state, t + 1, workspace.row)

    return turn


def probability_of(stake: float, router: int, safe: int, action: int) -> float:
    """Return the probability of the action played, 1 if both policies choose it; a kernel."""
    if router == safe:
        return 1.0
    return stake if action == router else 1.0 - stake
