"""Routed in live use: decide on a row, settle an answered row, train.

A ticket records the decision: the stake (probability of the router), the choices of router and safe
learner, and the capital. A session that is opened again takes the router's choices from the record
and recomputes everything else, so that it needs the last training only, and no trained model is
ever written to a file.

Answers may come in any order. `Routed(delays="any")` reserves the stake of every row not yet
answered: Theorem C3 with reserve holds for delays of every kind. `delays="independent"` is for
delays that do not depend on the rows: row n + 1 is settled as if it were played after n answers
(Theorem C3'), and of several rounds with the same n only the first may play the router, so that
answers may come in batches.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola import _validate
from tombola._formatting import plural
from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetRun
from tombola.engine.compiler import compile_step
from tombola.engine.tickets import (
    ANSWER_INDEX,
    OUTCOME_START,
    ROUNDS,
    is_pending,
    mark_answered,
    read_ticket,
    write_ticket,
)
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback import FullFeedback, make_feedback_model
from tombola.feedback.base import TABLE_FULL, LiveKernels
from tombola.feedback.codec import EncodedOutcome, are_losses
from tombola.policies.guard import CAPITAL, PENDING, Guard, release, settle, stake_of
from tombola.policies.models import Fitted, actions_of, choose, fit_models
from tombola.rng import RngStreams, new_rng, uniform

if TYPE_CHECKING:
    from tombola.policies.routed import Routed

# Columns of a decision in the ticket table: the stake, which is the probability of playing the
# router; the action that the router chose, -1 without a router; that of the safe learner; the
# capital of the guard before the round; the action of the present router, which settles the row.
# The last one differs from `ROUTER` if models were trained while the row was in flight. The
# features of the row follow.
STAKE, ROUTER, SAFE, CAPITAL_BEFORE, _SETTLED, DECISION_WIDTH = range(6)
# Choice of the router, in a decision, while no model beats the best fixed action.
_NO_ROUTER = -1
# Leading numbers of a decision in a log: stake, choices of router and safe learner, capital.
# Further ones are the choices of new models for the rows in flight.
_LOGGED = 4


class RouterState(NamedTuple):
    """Hold the capital of the guard, and the model."""

    capital: float  # rows that the guard may still risk
    answered: int  # rows with feedback
    trained_on: int  # rows of the last training, 0 before it
    model: str | None  # its name, None without a router


def split_rng(rng: RngState) -> tuple[np.random.SeedSequence, RngState]:
    """Return a seed for the safe learner, and a random generator for the guard.

    No model and no learner sees the guard's generator: otherwise a router could lose without limit.
    """
    safe, guard = np.random.SeedSequence([int(word) for word in rng]).spawn(2)
    return safe, new_rng(guard)


class FeaturePolicy:
    """Mixin of learners that choose by features; their repr has only changed parameters.

    >>> from tombola.policies import Routed
    >>> Routed(risk=2.0)
    Routed(risk=2.0)
    """

    # Training takes longer than loading the compiler, so that sessions never interpret the kernels.
    plans: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    mixes: ClassVar[bool] = False

    def __repr__(self) -> str:
        policy: Any = self
        names, default = [one.name for one in fields(policy)], type(self)()
        changed = [name for name in names if getattr(self, name) != getattr(default, name)]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Mixin of feedback models that show the features of a row before the decision."""

    features: int = 1

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
        """Return the model for a learner and a number of features; none with a budget."""
        if budget_run is not None:
            raise ParameterError(
                f"budget: expected none with {type(learner).__name__}, got one; leave it out, or "
                "play RoutedLP."
            )
        make: Any = cls  # with the fields of the feedback model, which the mixin does not have
        width = _validate.integer("Session", "features", features, least=1)
        return make(actions, horizon, features=width)  # type: ignore[no-any-return]

    @property
    def n_features(self) -> int:
        """The number of features of a row."""
        return self.features

    def encode_features(self, given: Any) -> Floats:
        """Return the features given to `Session.act`, NaN for a missing one."""
        try:
            row = np.atleast_1d(np.array(given, dtype=np.float64))
        except (TypeError, ValueError):
            row = np.zeros(0)
        count = self.features
        if row.shape != (count,) or np.isinf(row).any():
            raise FeedbackError(
                f"Session.act: features must be {plural(count, 'number')}, NaN for a missing "
                "one, got "
                f"{given!r}; write act(features), or give Session the number of features."
            )
        return row


@dataclass(frozen=True, eq=False)
class RoutedFeedback(FeatureRows, FullFeedback):
    """Feedback model of `Routed`: features before the decision, all losses after it."""

    n_decision: ClassVar[int] = DECISION_WIDTH

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        router = LiveRouter(learner, self, rng)
        # There is no fast path: models take longer than the checks of an outcome.
        return LiveKernels(
            router.act, lambda *_: False, router.observe, router, router.repeat, router.decision
        )


class LiveRouter:
    """Play a `Routed` in a session; the methods are those of `LiveKernels`.

    `cells` is the matrix of the ticket table. ParameterError if the safe learner does not see whole
    rows.
    """

    mix, workspace = None, None

    def __init__(self, routed: "Routed", model: RoutedFeedback, rng: RngState) -> None:
        self.routed, self.shown = routed, OUTCOME_START + model.actions
        self.losses = np.zeros(model.actions)
        seed, self.guard_rng = split_rng(rng)
        safe = make_feedback_model(routed.safe, model.horizon, actions=model.actions)
        if not isinstance(safe, FullFeedback):
            raise ParameterError(
                f"Routed: expected a safe learner that sees whole rows, got {routed.safe!r}; "
                "write FollowTheLeader()."
            )
        # Compiled, because plain NumPy integers warn of the wrap-around by which the generator
        # works.
        self.draw = compile_step(uniform, (self.guard_rng,))
        self.safe = safe.step_runner(routed.safe, RngStreams(seed).learner(routed.safe))
        self.account = Guard(routed.risk, routed.worst).new_state()
        self.reserves = routed.delays == "any"
        self.starts = routed.block_starts(model.horizon)
        self.answered: list[int] = []  # rounds in the order of their answers
        self.model: Fitted | None = None
        self.block = (
            self.trained
        ) = -1  # number of the block, of the present rows and of the fitted model
        self.safe_action, self.safe_after = 0, -1  # the safe learner acts once after n answers
        self.used = (-1, 0.0)  # the last n with a router in play, and its stake
        self.block_rounds: list[int] = []  # the first round of each block
        self.choices: dict[
            int, list[float]
        ] = {}  # new models' choices for rows in flight, by round

    @property
    def state(self) -> RouterState:
        """The capital of the guard, the rows answered, and the model in use."""
        rows = self.starts[self.trained] if self.trained >= 0 else 0
        name = None if self.model is None else type(self.model).__name__
        return RouterState(float(self.account[CAPITAL]), len(self.answered), rows, name)

    def act(self, cells: Floats, features: Floats) -> tuple[int, int, float]:
        """Choose the action of a row, write its ticket into `cells`; return round, action, probability.

        The round is `TABLE_FULL` if the ticket table has no free row. Models are trained first if
        enough rows were answered since the last training.
        """
        if cells[0, ROUNDS] >= len(cells) - 1:
            return TABLE_FULL, 0, 0.0
        new_block = self._advance()
        if self.trained != self.block:
            self._train(cells)
        choices = self._choices(cells) if new_block and not self.reserves else []
        router = (
            _NO_ROUTER
            if self.model is None
            else int(actions_of(self.model.predict(features[None]))[0])
        )
        return self._decide(cells, features, router, choices)

    def repeat(
        self, cells: Floats, features: Floats, decision: list[float], *, force: bool
    ) -> tuple[int, int, float]:
        """Repeat a recorded decision: as `act`, with the router's choices of the record.

        No trained model is needed. A malformed record raises ValueError.

        decision: result of the method `decision`.
        force: take stake, safe choice and capital from the record too, because an answer was
            amended since.
        """
        if cells[0, ROUNDS] >= len(cells) - 1:
            return TABLE_FULL, 0, 0.0
        self._advance()
        choices = decision[_LOGGED:]
        in_flight = len(self._in_flight(cells)) if choices else 0
        is_complete = (
            len(decision) >= _LOGGED and len(choices) == in_flight and 0 <= decision[STAKE] <= 1
        )
        if not is_complete or not all(
            map(self._is_choice, (decision[ROUTER], decision[SAFE], *choices))
        ):
            raise ValueError("malformed decision")
        return self._decide(
            cells, features, int(decision[ROUTER]), choices, decision if force else None
        )

    def _is_choice(self, number: Any) -> bool:
        return (
            type(number) is float
            and number.is_integer()
            and _NO_ROUTER <= number < len(self.losses)
        )

    def decision(self, cells: Floats, round: int) -> list[float]:
        """Return the record of the decision in a round, from 1, for the event log.

        In this order: stake, action of the router (-1 without one), action of the safe learner,
        capital of the guard before the round. With `delays="independent"`, if a block begins in
        this round, the actions of the new router for the rows without feedback follow.
        """
        logged: list[float] = cells[round, self.shown : self.shown + _LOGGED].tolist()
        return logged + self.choices.get(round, [])

    def observe(self, cells: Floats, index: int, round: int, outcome: EncodedOutcome) -> bool:
        """Learn the losses of a pending ticket, as `LiveKernels.observe`."""
        self.losses[:] = outcome
        if not is_pending(cells, index, *read_ticket(cells, index)) or not are_losses(self.losses):
            return False
        cells[index, OUTCOME_START : self.shown] = self.losses
        stake, router, safe, _, settled = cells[
            index, self.shown : self.shown + DECISION_WIDTH
        ].tolist()
        played = self._difference(int(safe), int(router))
        release(self.account, stake, played)
        n = len(self.answered)
        if self.reserves:
            settle(self.account, stake, played)
        elif self.used[0] == n:
            settle(self.account, self.used[1], self._difference(self.safe_action, int(settled)))
        self.answered.append(index)
        mark_answered(cells, index)
        self.safe.learn(n + 1, int(safe), 1.0, tuple(self.losses.tolist()))
        return True

    def _advance(self) -> bool:
        """Move to the block of the rows answered so far; return whether it is a new one."""
        before = self.block
        while self.block + 1 < len(self.starts) and self.starts[self.block + 1] <= len(
            self.answered
        ):
            self.block += 1
        return self.block > before

    def _train(self, cells: Floats) -> None:
        """Fit the models of the block to the rows that were answered before it starts."""
        rows = cells[self.answered[: self.starts[self.block]]]
        losses = rows[:, OUTCOME_START : self.shown]
        features = np.ascontiguousarray(rows[:, self.shown + DECISION_WIDTH :])
        fitted = fit_models(
            self.routed.models, features, np.ascontiguousarray(losses), seed=self.block
        )
        self.model, _ = choose(fitted, losses)
        self.trained = self.block

    def _in_flight(self, cells: Floats) -> Any:
        return np.flatnonzero(cells[1 : int(cells[0, ROUNDS]) + 1, ANSWER_INDEX] == 0) + 1

    def _choices(self, cells: Floats) -> list[float]:
        """Return the choices of a new model for the rows in flight."""
        rounds = self._in_flight(cells)
        if self.model is None or not len(rounds):
            return [float(_NO_ROUTER)] * len(rounds)
        return [
            float(one)
            for one in actions_of(self.model.predict(cells[rounds, self.shown + DECISION_WIDTH :]))
        ]

    def _safe(self) -> int:
        """Return the choice of the safe learner now; it is drawn once per answer."""
        n = len(self.answered)
        if self.safe_after != n:
            self.safe_action, self.safe_after = int(self.safe.act(n)[0]), n
        return self.safe_action

    def _decide(
        self,
        cells: Floats,
        features: Floats,
        router: int,
        choices: list[float],
        record: list[float] | None = None,
    ) -> tuple[int, int, float]:
        n, safe, capital = len(self.answered), self._safe(), float(self.account[CAPITAL])
        waits = self._waits(n)
        stake = (
            0.0
            if waits
            else stake_of(self.account, float(self.account[PENDING]) if self.reserves else 0.0)
        )
        routed = self.draw(self.guard_rng) < stake
        if record is not None:
            stake, safe, capital = record[STAKE], int(record[SAFE]), record[CAPITAL_BEFORE]
        if not waits:
            self.used = n, stake
        self.account[PENDING] += stake
        chosen = safe if router == _NO_ROUTER else router
        action = chosen if routed else safe
        probability = 1.0 if chosen == safe else stake if routed else 1.0 - stake
        in_flight = self._in_flight(cells) if choices else []
        round_ = write_ticket(cells, action, probability)
        if choices:
            cells[in_flight, self.shown + _SETTLED] = choices
            self.choices[round_] = choices
        while len(self.block_rounds) <= self.block:
            self.block_rounds.append(round_)
        start = self.shown + DECISION_WIDTH
        cells[round_, self.shown : start] = stake, router, safe, capital, router
        cells[round_, start:] = features
        return round_, action, probability

    def _waits(self, n: int) -> bool:
        """Return whether Theorem C3' lets no router play: before or twice after an answer."""
        return not self.reserves and (n == 0 or n == self.used[0])

    def _difference(self, safe: int, router: int) -> float:
        """Return safe loss - router loss of the row that is being observed."""
        return 0.0 if router == _NO_ROUTER else float(self.losses[safe] - self.losses[router])
