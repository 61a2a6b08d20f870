"""Simulation for constraints: the paper's template under budgets (Section 4.2)."""

import warnings
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.budget import budget_epsilon, budget_first_play
from tombola.budget.budget import BudgetRun, BudgetTerms, ResolvedBudget
from tombola.engine.state_vector import lazy_zeros
from tombola.errors import ParameterError
from tombola.feedback import BudgetedFeedback
from tombola.learners.budgeted.base import BudgetedLearner
from tombola.learners.budgeted.primal_dual import PrimalDual
from tombola.learners.parameters import integer, real
from tombola.learners.reductions.schedule import LemmaSchedule, block_is_due, in_any_block, in_block
from tombola.learners.reductions.training import train

# Positions in `_State.counters`.
_N_ACTED = 0
_N_KEPT = 1
_BLOCK = 2


class _State(NamedTuple):
    horizon: float
    rate: float
    null: float
    counters: (
        Floats  # rounds acted, rows kept, current block (indexed by _N_ACTED, _N_KEPT, _BLOCK)
    )
    # starts, lengths: of the blocks.
    starts: Floats
    lengths: Floats
    played: Floats  # mix of the current block
    # losses, costs: past rows, shapes (T, k) and (T, k m).
    losses: Floats
    costs: Floats


@dataclass(frozen=True)
class BudgetSimulation(BudgetedLearner):
    """Train `base` on i.i.d. draws from past rows, and play its average mix.

    With rho the budget per round, m resources, k actions and T rounds, block i has the rate rho_i =
    rho - margin * epsilon_i, epsilon_i = sqrt(6 * 2^-i ln(m k log2(T) / delta)). A block with rho_i
    < rho / 2 plays the null action, as the proof demands, and so does round 1, whose cost is not in
    the proof. These blocks take 96 ln(m k log2(T) / delta) / rho^2 rounds: if the horizon is
    shorter, only null is played, and `init` warns.

    base: learner under a budget that observes whole rows, a `BudgetedLearner`.
    delta: error probability of the proof.
    margin: 2 as printed; the proof of zero violation adds up to 3 epsilon_i (erratum 20: the next
        block differs from the past by 2 epsilon_i, not one), so it needs 3. Either way the stop
        rule keeps the budget.
    delay: d, in rounds; each block waits d rounds for its feedback, and plays null meanwhile.

    Play it with `stop="strict", mixed=True` to be faithful to the paper.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> pool = instances.three_actions(8192, seed=0)
    >>> trace = play(BudgetSimulation(), pool, budget=Budget(4096), stop="strict", mixed=True, seed=0)
    >>> int(np.flatnonzero(trace.rewards)[0] + 1) > 4096, trace.overspent
    (True, (False,))
    """

    base: BudgetedLearner = field(default_factory=PrimalDual)
    delta: float = real(0.05, above=0, below=1)
    margin: float = real(2.0, least=0)
    delay: int = integer(0, least=0)
    learns: ClassVar[bool] = False  # not within a few hundred rounds

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.base, BudgetedLearner):
            raise ParameterError(
                f"BudgetSimulation: base must be a budgeted learner, got {self.base!r}; "
                "write BudgetSimulation(PrimalDual())."
            )

    def init(self, terms: BudgetTerms) -> _State:
        k = terms.actions
        m = terms.resources
        T = terms.horizon
        first = budget_first_play(T, k, m, max(terms.rate, 1e-9), self.delta, self.margin)
        if first > T:
            warnings.warn(
                f"BudgetSimulation: with rate {terms.rate:.4g}, {k} actions, {m} resources and "
                f"delta {self.delta:g} "
                f"the first round that is not null is {first:,}, and there are {T:,} rounds, so "
                "it never plays; use "
                "EmpiricalLP, or a larger budget.",
                stacklevel=2,
            )
        blocks = LemmaSchedule(self.delay).blocks(T)
        return _State(
            horizon=float(T),
            rate=terms.rate,
            null=float(terms.null),
            counters=np.array([0.0, 0.0, -1.0]),
            starts=blocks.starts,
            lengths=blocks.lengths,
            played=np.eye(k)[terms.null],
            losses=lazy_zeros(T, k),
            costs=lazy_zeros(T, k * m),
        )

    @staticmethod
    def needs_plan(state: _State, fits: Floats) -> bool:
        return block_is_due(state.starts, int(state.counters[_BLOCK]), state.counters[_N_ACTED])

    def plan(self, state: _State, left: Floats, fits: Floats, rng: RngState) -> None:
        state.counters[_BLOCK] += 1.0
        block = int(state.counters[_BLOCK])
        n_rows = int(state.counters[_N_KEPT])
        k = state.played.size
        m = state.costs.shape[1] // k
        rate = state.rate - self.margin * budget_epsilon(
            block, int(state.horizon), k, m, self.delta
        )
        state.played[:] = 0.0
        state.played[int(state.null)] = 1.0
        if rate >= state.rate / 2 and n_rows > 0:
            past = state.losses[:n_rows], state.costs[:n_rows]
            state.played[:] = _average_mix(
                self.base, *past, int(state.lengths[block]), rate, int(state.null), rng
            )

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        state.counters[_N_ACTED] += 1.0
        within = in_block(
            state.starts, state.lengths, int(state.counters[_BLOCK]), state.counters[_N_ACTED]
        )
        for action in range(mix.size):
            mix[action] = state.played[action] if within else 0.0
        if not within:
            mix[int(state.null)] = 1.0

    @staticmethod
    def observe(state: _State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        if not in_any_block(state.starts, state.lengths, int(state.counters[_BLOCK]), float(round)):
            return
        row = int(state.counters[_N_KEPT])
        for action in range(losses.size):
            state.losses[row, action] = losses[action]
            for j in range(costs.shape[1]):
                state.costs[row, action * costs.shape[1] + j] = costs[action, j]
        state.counters[_N_KEPT] += 1.0


def _average_mix(
    base: BudgetedLearner,
    losses: Floats,
    costs: Floats,
    rounds: int,
    rate: float,
    null: int,
    rng: RngState,
) -> Floats:
    """Return the average mix of `base` on `rounds` i.i.d. draws from past rows."""
    actions = losses.shape[1]
    resources = costs.shape[1] // actions
    worst = np.ones((actions, resources))
    worst[null] = 0.0
    prices = np.where(worst == 0, 0.0, np.nan)
    limits = ResolvedBudget(
        np.full(resources, rate * rounds), worst, null, added=False, prices=prices
    )
    setting = BudgetedFeedback(actions, rounds, BudgetRun(limits, "strict", mixed=True))
    return train(base, setting, losses, rng, costs) / rounds
