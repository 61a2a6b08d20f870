"""Base of the elimination rules: state, and compiled update per row.

A rule (`Best`, `Within`, `Top`, `Gate`, `Ranks`, `Place`) defines the initial state (the fields of
`EliminationState` and its own ones) and the kernel `step(state, losses)`, which processes one row
and drops candidates. It also owns its answer: who it is, whether it is proved, certain or wrong,
and the conclusions that `tombola.statements` writes as a sentence. Losses of dropped candidates are
not read. The state after n rows is a function of the first n rows of the shuffled list only, so late
and out-of-order answers cannot change it.
"""

import math
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Order, Rows
from tombola.engine.compiler import Kernel, compile_loop, expected_rounds
from tombola.engine.state_vector import flatten, unflattener
from tombola.racing.rules.bets import (
    FRESH_WEIGHTS,
    MIXTURE_WEIGHTS,
    ROUNDING_SLACK,
    STRATEGY_WEIGHTS,
)
from tombola.racing.rules.opponents import MOST_CANDIDATES
from tombola.statements import Conclusion, Counts, Quantity, Reading, Standing, Statement, Verdict
from tombola.units import Units

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    step: Kernel


class EliminationState(NamedTuple):
    """State of a rule after `rows_seen` rows; k candidates numbered from 0.

    A rule adds fields of its own; its class lists them. A bettor is an e-process against one null
    hypothesis. The last seven fields are None without predictions. d is the difference of the
    losses of candidate and opponent, g the predicted one.

    active             (k,) 1 while a candidate is in the race, else 0
    total_loss         (k,) sum of losses over the rows counted
    drop_row           (k,) rows counted at the drop; 0 while active, or if answers on file dropped
                       it
    dropped_against    (k,) the opponent it was dropped against, -1 while active
    opponent           (k,) `Best`, `Within`: the opponent on the last row, -1 before
    wealth_at_drop     (k,) wealth of the bet that dropped it; infinite if the outcome was certain
    current_wealth     (k,) wealth of the bet against it now
    rows_seen          (1,) rows counted
    done               (1,) 1 when the question is answered or no row is left
    wealth             (bettors, 4) wealth by strategy; 8 with predictions, 5 for pairs of a sample
    squared_residuals  (bettors,) sum over the rows bet on, for the variance estimate
    n_bets             (bettors,) number of terms of this sum
    known_loss         (k,) sum of the answers on file, over the rows after the current one
    known_gain         (k,) the same of 1 - loss
    rows               length of the list
    population         infinite if rows are i.i.d. draws
    threshold          wealth at which a bet decides
    last_row           number of rows after which the race ends; infinite if only calls are limited
    offset             (k,) predicted_mean minus the prediction of the current row
    predicted_mean     (k,) mean prediction over the rows left, the current one included
    predicted_seen     (k,) sum of the present predictions over the rows counted
    residual_low       (k, k) smallest possible d - g over the rows left
    residual_variance  (k, k) estimated variance of d - g
    fitted_rows        (1,) number of rows of this estimate
    prior_noise        (k,) variance before the first fit; 0 if the whole column is known
    moves_stakes       1 if wealth moves to the bets with the larger expected growth, else 0
    products           (k, k) sum of products of losses, of active candidates; None with a single
                       opponent
    ranked, opponents  (k + 1,) scratch space for numbers of candidates, with products
    """

    active: Floats
    total_loss: Floats
    drop_row: Floats
    dropped_against: Floats
    opponent: Floats
    wealth_at_drop: Floats
    current_wealth: Floats
    rows_seen: Floats
    done: Floats
    wealth: Floats
    squared_residuals: Floats
    n_bets: Floats
    known_loss: Floats
    known_gain: Floats
    rows: float
    population: float
    threshold: float
    last_row: float
    offset: Floats | None = None
    predicted_mean: Floats | None = None
    predicted_seen: Floats | None = None
    residual_low: Floats | None = None
    residual_variance: Floats | None = None
    fitted_rows: Floats | None = None
    prior_noise: Floats | None = None
    moves_stakes: float | None = None
    products: Floats | None = None
    ranked: Floats | None = None
    opponents: Floats | None = None


@cache
def _state_type(rule: str, own: tuple[str, ...]) -> Any:
    """Return the named tuple of a rule: `EliminationState` and its own fields."""
    return namedtuple(f"{rule}State", EliminationState._fields + own, module=__name__)


class OpenQuestion(NamedTuple):
    """An undecided comparison, from which the rows still needed are estimated.

    edge: mean difference of losses so far, plus the tolerance of the question. It is in favour of
        the decision; if it is 0 or less, more rows like those so far do not decide it.
    variance: of this difference on one row.
    threshold: wealth that decides the comparison.
    """

    edge: float
    variance: float
    threshold: float


class Elimination(ABC):
    """Base class of elimination rules for k candidates, numbered from 0, on a list.

    population: `rows`, if the question is about this list; infinite, if rows are i.i.d. draws.
    level: probability of a wrong answer, at most.

    `update` adds the rows one by one, in random order. `play` runs a whole table. A subclass defines
    `init`, `step` and `open_questions`, and may define `settle`. It sets `supports_predictions =
    True` if `step` bets by `bets.bet`, which uses predictions. `answer`, `proved`, `is_exact`,
    `is_wrong`, `conclusions` and `questions` are those of rules that drop all but the best; other
    rules override them.
    """

    # Candidates asked for: a race for the best ends with one.
    target = 1
    # Mean loss above the best that the answer may have.
    tolerance = 0.0
    # Whether an answer excludes that another candidate is equally good.
    excludes_ties = False

    # Whether `step` can bet on adjusted losses: those minus their predictions from history
    # (`use_predictions`).
    supports_predictions = False
    has_predictions = False
    # Whether `step` bets against means of several candidates (`opponents`).
    averages_opponents = False
    # Whether rows come without end, and only decisions end the race (`never_end`).
    is_endless = False
    _moves_stakes = False

    def __init__(self, candidates: int, rows: int, population: float, level: float) -> None:
        self.candidates = candidates
        self.rows = rows
        self.population = population
        self.level = level
        self._build()

    def _build(self) -> None:
        state = self.init()
        self._initial = flatten(state, self.candidates)
        self.memory = self._initial.copy()
        self._row = np.zeros(self.candidates)
        self._view = unflattener(state)
        self.state = self._view(self.memory)
        self.kernels = {"view": self._view, "step": type(self).step}
        self.settle_kernels = {"view": self._view, "settle": type(self).settle}
        self._loops: dict[Any, Kernel] = {}

    def use_predictions(self, *, moves_stakes: bool = False) -> None:
        """Bet on adjusted losses too, from the first row; resets the rule.

        An adjusted loss is the loss minus its prediction, plus the mean prediction of the rows
        left. Four fifths of the wealth of every bettor then bet on these. `InformedRule` calls it,
        and writes the predictions into `state`.

        moves_stakes: let the expected growth divide the wealth instead, row by row.
        """
        self.has_predictions = True
        self._moves_stakes = moves_stakes
        self._build()

    def never_end(self) -> None:
        """Let only decisions end the race, not the number of rows; resets the rule.

        `rows` is then the number of rounds that the bets plan for.
        """
        self.is_endless = True
        self._build()

    @abstractmethod
    def init(self) -> Any:
        """Return the state before the first row, built by `initial_state`."""

    def initial_state(
        self, *, bettors: int, threshold: float, weights: Any = None, **own: float | Floats
    ) -> Any:
        """Return a state with all candidates active and bettors of wealth 1.

        A bettor, a row of `state.wealth`, is an e-process against one null hypothesis; at
        `threshold` its bet decides. `weights` are its initial wealths by strategy; None: those of
        `bet`. `own` are the fields of the rule itself; a kernel can change arrays, not numbers.
        """
        k = self.candidates
        zeros = np.zeros(k)
        if weights is None:
            weights = STRATEGY_WEIGHTS
            if self.has_predictions:
                weights = FRESH_WEIGHTS if math.isinf(self.population) else MIXTURE_WEIGHTS
        common = EliminationState(
            active=np.ones(k),
            total_loss=zeros,
            drop_row=zeros,
            dropped_against=np.full(k, -1.0),
            opponent=np.full(k, -1.0),
            wealth_at_drop=zeros,
            current_wealth=np.ones(k),
            rows_seen=np.zeros(1),
            done=np.full(1, float(k == 1)),
            wealth=np.tile(weights, (bettors, 1)),
            squared_residuals=np.zeros(bettors),
            n_bets=np.zeros(bettors),
            known_loss=zeros,
            known_gain=zeros,
            rows=self.rows,
            population=self.population,
            threshold=threshold,
            last_row=math.inf if self.is_endless else self.rows,
        )
        if self.has_predictions:
            common = common._replace(
                offset=zeros,
                predicted_mean=zeros,
                predicted_seen=zeros,
                residual_low=np.full((k, k), -1.0),
                residual_variance=np.zeros((k, k)),
                fitted_rows=np.zeros(1),
                prior_noise=zeros,
                moves_stakes=float(self._moves_stakes),
            )
        elif self.averages_opponents and 2 < k <= MOST_CANDIDATES:
            # With predictions the least residual of a mean would have to be known: the leader alone
            # is the opponent there.
            common = common._replace(
                products=np.zeros((k, k)), ranked=np.zeros(k + 1), opponents=np.zeros(k + 1)
            )
        return _state_type(type(self).__name__, tuple(own))(*common, *own.values())

    @staticmethod
    @abstractmethod
    def step(state: Any, losses: Floats) -> None:
        """Update the state by one row: bet, count the row, drop candidates; a kernel.

        `losses` are in [0, 1], one per candidate; those of dropped candidates are not read.
        """

    @staticmethod  # noqa: B027 - a rule need not override it
    def settle(state: Any) -> None:
        """Draw the conclusions that answers on file make certain before the first row.

        A kernel. `known_loss` and `known_gain` of the state, the sums of loss and of 1 - loss over
        the answers on file of each candidate, must be over all rows. A rule without such
        conclusions leaves the state as it is.
        """

    def update(self, losses: Floats) -> None:
        """Process the next row, in random order; losses of dropped ones are not read."""
        self._update(self.memory, losses)

    @cached_property
    def _update(self) -> Kernel:
        # A live race waits for its calls: on short lists interpreting is faster than compiling.
        with expected_rounds(self.rows, len(self.state.wealth)):
            return compile_loop(_update_row, (self.memory, self._row), **self.kernels)

    def reset(self) -> None:
        """Set the state back to the one before the first row; nothing is returned."""
        self.memory[:] = self._initial

    def play(self, table: Rows, order: Order) -> int:
        """Run a whole race on a table, from the start; return the number of losses read.

        table: losses in [0, 1], shape (rows, k). order: row indices in random order; a part of them
            stops early.
        """
        self.reset()
        rows = table.view()
        # Pools are read-only. A writeable array has another type and would be compiled again.
        rows.flags.writeable = False
        if rows.dtype not in self._loops:
            self._loops[rows.dtype] = compile_loop(
                _play_table, (self.memory, rows, order, self._row), **self.kernels
            )
        return int(self._loops[rows.dtype](self.memory, rows, order, self._row))

    @property
    def active(self) -> list[int]:
        """Numbers of the candidates that were not dropped, ascending, from 0."""
        return [int(a) for a in np.flatnonzero(self.state.active)]

    @property
    def leader(self) -> int:
        """Number of the active candidate with the smallest total loss; lowest in a tie."""
        return min(self.active, key=lambda a: float(self.state.total_loss[a]))

    @property
    def answer(self) -> list[int]:
        """Numbers of the candidates that answer the question; while it is open, all that may.

        After the last row of a list, equal totals are all in the answer.
        """
        if self.rows_seen == self.population:
            return self.smallest_totals(self.target)
        return self.active

    @property
    def proved(self) -> bool | None:
        """True if the question is answered, None if it is open, False if it is refuted.

        Only a comparison with a baseline can be refuted: a candidate fails it.
        """
        return True if self.done and len(self.answer) <= self.target else None

    @property
    def is_exact(self) -> bool:
        """Whether the answer is certain, not only probable.

        It is certain if every drop was: no outcome of the rows left could have changed it, or it
        was at the last row, where the totals decide.
        """
        state = self.state
        dropped = state.active == 0.0
        certain = np.isinf(state.wealth_at_drop) | (state.drop_row == self.population)
        is_known = self.rows_seen == self.population
        is_alone = dropped.sum() >= self.candidates - self.target
        return bool(self.done and (is_known or is_alone) and certain[dropped].all())

    def is_wrong(self, totals: Floats) -> bool:
        """Return whether the answer is false, given the total losses over the whole list.

        For simulations. An open answer is wrong if it excludes the true one.

        >>> from tombola.racing.rules.best import Best
        >>> rule = Best(candidates=2, rows=1, population=1, level=0.05)
        >>> rule.update(np.array([0.0, 1.0]))
        >>> rule.is_wrong(np.array([0.0, 1.0])), rule.is_wrong(np.array([1.0, 0.0]))
        (False, True)
        """
        answer = self.answer
        last = min(self.target, len(answer)) - 1
        allowed = (self.tolerance + ROUNDING_SLACK) * self.rows
        return bool(np.sort(totals[answer])[last] > np.sort(totals)[last] + allowed)

    @property
    def ranks(self) -> dict[int, tuple[int, int]]:
        """First and last possible rank, from 1, by candidate; empty if ranks are not asked."""
        return {}

    def conclusions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        """Return what is established: the answer, a tie, or who may still be the answer.

        names: of the candidates. units: conversion of differences to the user's unit.
        """
        k = self.candidates
        subject = tuple(names[a] for a in self.answer)
        if self.proved:
            # Strict only if certain: of two equal candidates either may be the one that stays.
            is_alone = len(self.smallest_totals(self.target)) <= self.target
            strict = self.excludes_ties or (self.is_exact and is_alone)
            return (Conclusion("best", subject, field=k, top=self.target, strict=strict),)
        if self.rows_seen == self.population:
            totals = self.state.total_loss
            last = max(totals[a] for a in self.answer) - ROUNDING_SLACK * self.rows
            tied = tuple(names[a] for a in self.answer if totals[a] >= last)
            ahead = " and ".join(names[a] for a in self.answer if totals[a] < last)
            return (Conclusion("tied", tied, than=ahead, field=k, top=self.target),)
        if len(self.active) == k:
            return ()
        # Best first, since a sentence names only the first of many.
        left = sorted(self.answer, key=lambda a: float(self.state.total_loss[a]))
        return (Conclusion("among", tuple(names[a] for a in left), field=k, top=self.target),)

    def questions(self, names: Sequence[str], units: Units) -> tuple[Conclusion, ...]:
        """Return what is open, as conclusions that would answer it; parameters as above."""
        if self.proved is not None or self.conclusions(names, units):
            return ()
        subject = tuple(names[a] for a in self.answer)
        return (Conclusion("best", subject, field=self.candidates, top=self.target),)

    def standing(self, names: Sequence[str], units: Units) -> Standing | None:
        """Return who leads, if several candidates are active and a row is counted."""
        totals = {a: float(self.state.total_loss[a]) for a in self.active}
        is_known = self.rows_seen == self.population
        if len(totals) < 2 or not self.rows_seen or (is_known and not self.proved):
            return None
        first, second = sorted(totals.values())[:2]
        slack = ROUNDING_SLACK * self.rows_seen
        leaders = tuple(names[a] for a, total in totals.items() if total <= first + slack)
        gap = units.gap((second - first) / self.rows_seen)
        return Standing(leaders, gap, is_final=is_known)

    def statement(
        self,
        names: Sequence[str],
        units: Units,
        level: float,
        *,
        reading: Reading = "recorded",
        reason: str = "",
    ) -> Statement:
        """Return what the rule has established so far.

        names: of the candidates. units: of the losses, for texts.
        level: of the whole race, which groups may share.
        reading: what the answers stand for.
        reason: why no more rows will come, though the question is open; "" if they may.
        """
        verdict: Verdict = "running"
        if self.proved is False:
            verdict = "refuted"
        elif self.proved:
            verdict = "exact" if self.is_exact else "proved"
        elif self.done:
            verdict = "undecided"
        elif reason:
            verdict = "stopped"
        return Statement(
            verdict,
            reading,
            self.conclusions(names, units),
            self.questions(names, units),
            level=0.0 if self.is_exact else level,
            quantity=Quantity(units.quantity, higher_is_better=units.scores),
            counts=Counts(rows=self.rows, counted=self.rows_seen),
            standing=self.standing(names, units),
            reason=reason,
        )

    def smallest_totals(self, count: int) -> list[int]:
        """Return the `count` active candidates with the smallest total loss, with ties."""
        totals = {a: float(self.state.total_loss[a]) for a in self.active}
        last = sorted(totals.values())[min(count, len(totals)) - 1]
        return [a for a in totals if totals[a] <= last + ROUNDING_SLACK * self.rows]

    @abstractmethod
    def open_questions(self) -> list[OpenQuestion]:
        """Return the undecided comparisons of two candidates.

        `verdict.rows_remaining` estimates from them how many more rows are needed.
        """

    def questions_about_leader(self) -> list[OpenQuestion]:
        """Return the comparisons of the other active candidates with the leader.

        The bettor of the leader b against candidate a is number a k + b.
        """
        best = self.leader
        k = self.candidates
        return [
            OpenQuestion(self.gap(best, b), self.variance(b * k + best), self.state.threshold)
            for b in self.active
            if b != best
        ]

    def gap(self, better: int, worse: int) -> float:
        """Return the mean loss of `worse` minus that of `better`, over the rows counted."""
        return float(self.state.total_loss[worse] - self.state.total_loss[better]) / max(
            self.rows_seen, 1
        )

    def variance(self, bettor: int) -> float:
        """Return the variance of the differences that a bettor has bet on; 0 before any.

        bettor: row of `state.wealth`.
        """
        return float(self.state.squared_residuals[bettor] / max(self.state.n_bets[bettor], 1.0))

    @property
    def rows_seen(self) -> int:
        """Number of rows processed so far."""
        return int(self.state.rows_seen[0])

    @property
    def done(self) -> bool:
        """Whether the question is answered or no row is left."""
        return bool(self.state.done[0])


def _update_row(memory: Floats, losses: Floats) -> None:
    """Process one row of losses, shape (k,); `memory` is the flat state vector."""
    step(view(memory), losses)  # noqa: F821


def _play_table(memory: Floats, table: Rows, order: Order, row: Floats) -> int:
    """Process rows until the race is over; return the number of losses read."""
    state = view(memory)  # noqa: F821
    calls = 0
    for i in range(order.size):
        if state.done[0] > 0.0:
            break
        for a in range(row.size):
            if state.active[a] > 0.0:
                row[a] = table[order[i], a]
                calls += 1
        step(state, row)  # noqa: F821
    return calls
