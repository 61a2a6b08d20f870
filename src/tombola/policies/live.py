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

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
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
from tombola.feedback import make_feedback_model
from tombola.feedback.base import TABLE_FULL
from tombola.feedback.codec import EncodedOutcome, are_losses
from tombola.policies.guard import (
    CAPITAL,
    PENDING,
    Guard,
    may_stake,
    place_stake,
    record_stake,
    take_answer,
)
from tombola.policies.models import Fitted, actions_of, choose, fit_models
from tombola.policies.routed_feedback import (
    CAPITAL_BEFORE,
    DECISION_WIDTH,
    NO_ROUTER,
    ROUTER,
    SAFE,
    SETTLED,
    STAKE,
    RoutedFeedback,
    difference,
    probability_of,
    split_rng,
)
from tombola.rng import RngStreams, uniform

if TYPE_CHECKING:
    from tombola.policies.routed import Routed

# Leading numbers of a decision in a log: stake, choices of router and safe learner, capital.
# Further ones are the choices of new models for the rows in flight.
_LOGGED = 4


class RouterState(NamedTuple):
    """Hold the capital of the guard, and the model."""

    capital: float  # rows that the guard may still risk
    answered: int  # rows with feedback
    trained_on: int  # rows of the last training, 0 before it
    model: str | None  # its name, None without a router


class LiveRouter:
    """Play a `Routed` in a session; the methods are those of `LiveKernels`.

    `cells` is the matrix of the ticket table.
    """

    mix = None
    workspace = None

    def __init__(self, routed: "Routed", model: RoutedFeedback, rng: RngState) -> None:
        self.routed = routed
        self.shown = OUTCOME_START + model.actions
        self.losses = np.zeros(model.actions)
        seed, self.guard_rng = split_rng(rng)
        safe = make_feedback_model(routed.safe, model.horizon, actions=model.actions)
        # Compiled, because plain NumPy integers warn of the wrap-around by which the generator
        # works.
        self.draw = compile_step(uniform, (self.guard_rng,))
        self.safe = safe.step_runner(routed.safe, RngStreams(seed).learner(routed.safe))
        self.reserves = routed.delays == "any"
        self.account = Guard(routed.risk, routed.worst).new_state(reserves=self.reserves)
        self.starts = routed.block_starts(model.horizon)
        self.answered: list[int] = []  # rounds in the order of their answers
        self.model: Fitted | None = None
        self.block = -1  # number of the block of the present rows
        self.trained = -1  # number of the block of the fitted model
        # The safe learner acts once after n answers, and in every round before the first.
        self.safe_action = 0
        self.safe_after = -1
        self.block_rounds: list[int] = []  # the first round of each block
        # Choices of new models for the rows in flight, by round.
        self.choices: dict[int, list[float]] = {}

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
            NO_ROUTER
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
            type(number) is float and number.is_integer() and NO_ROUTER <= number < len(self.losses)
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
        played = difference(self.losses, int(safe), int(router))
        settled_now = difference(self.losses, self.safe_action, int(settled))
        n = len(self.answered)
        take_answer(self.account, stake, played, settled_now)
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
            return [float(NO_ROUTER)] * len(rounds)
        features = cells[rounds, self.shown + DECISION_WIDTH :]
        return actions_of(self.model.predict(features)).astype(np.float64).tolist()  # type: ignore[no-any-return]

    def _safe(self) -> int:
        """Return the choice of the safe learner now; drawn once per answer, or before the first."""
        n = len(self.answered)
        if self.safe_after != n or n == 0:
            self.safe_action = int(self.safe.act(n)[0])
            self.safe_after = n
        return self.safe_action

    def _decide(
        self,
        cells: Floats,
        features: Floats,
        router: int,
        choices: list[float],
        record: list[float] | None = None,
    ) -> tuple[int, int, float]:
        safe = self._safe()
        capital = float(self.account[CAPITAL])
        if record is None:
            stake = place_stake(self.account)
        else:
            stake = record[STAKE]
            safe = int(record[SAFE])
            capital = record[CAPITAL_BEFORE]
            if may_stake(self.account):
                record_stake(self.account, stake)
            else:
                self.account[PENDING] += stake
        is_routed = self.draw(self.guard_rng) < stake
        chosen = safe if router == NO_ROUTER else router
        action = chosen if is_routed else safe
        probability = probability_of(stake, chosen, safe, action)
        in_flight = self._in_flight(cells) if choices else []
        round_ = write_ticket(cells, action, probability)
        if choices:
            cells[in_flight, self.shown + SETTLED] = choices
            self.choices[round_] = choices
        while len(self.block_rounds) <= self.block:
            self.block_rounds.append(round_)
        start = self.shown + DECISION_WIDTH
        cells[round_, self.shown : start] = stake, router, safe, capital, router
        cells[round_, start:] = features
        return round_, action, probability
