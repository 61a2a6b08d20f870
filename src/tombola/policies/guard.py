"""Guard: routing costs at most `risk` rows above the safe learner (Theorem C3).

Losses are counted in rows: one row is a loss of 1. The theorem holds for every router.

b_t and a_t are the losses of the safe learner and of the router in round t, both seen after the
round (full information). d_t = b_t - a_t. The router is played with probability p_t = min(1, rate_t
* C_t), the stake. The capital C_t starts at `risk` and grows by p_t d_t. rate_t, in [0.02, 0.5], is
Kelly's rate for the past differences: their sum over the sum of their squares, after ten imagined
rows. Since p_t <= C_t and d_t >= -1, the capital never falls below 0, so the loss averaged over the
guard's random draws is at most that of the safe learner plus `risk`, for every order and every
router.

The promise is about this average. The realised loss has the noise of the draws. The guard's random
stream must not be visible to the models: a router that sees the draw can lose without limit.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.engine.compiler import compile_loop, expected_rounds

# Kelly's rate on the past, as if ten rows with a mean gain of 1/2 had been seen before.
_PRIOR_GAIN, _PRIOR_SQUARES = 5.0, 10.0
# Limits of Kelly's rate, the share of the capital that is staked: never stop, and never stake more
# than half.
_MIN_RATE, _MAX_RATE = 0.02, 0.5
# Positions in the state of the guard: the capital, in rows that routing may still lose on average;
# sums of the differences safe loss - router loss, and of their squares; the second account, in rows
# that routing may still lose on every order, infinite without the limit `worst`; the sum of the
# stakes of rows without feedback.
CAPITAL, _GAIN, _SQUARES, ACCOUNT, PENDING = range(5)


class Stakes(NamedTuple):
    """Hold the accounts of the guard, round by round; each field has shape (T,).

    probabilities: probability of playing the router, the stake.
    capital: rows that the router may still lose on average, before the round.
    reserve: second account, for the limit `worst`, less the stakes of rows without feedback;
        infinite without `worst`.
    """

    probabilities: Floats
    capital: Floats
    reserve: Floats


@dataclass(frozen=True)
class Guard:
    """Limit the cost of a router: `risk` rows on average, `worst` rows at most.

    A router chooses actions by features. Its cost is the loss above that of a safe learner, which ignores features, in
    rows: one row is a loss of 1.

    risk: largest cost, averaged over the guard's draws.
    worst: largest cost on every order; None for no such limit.

    With a constant delay, the cost of row n + 1 is charged as if it were played with the policies
    after n answers (Theorem C3', docs/theory/context.md): then the mean cost over orders and draws
    is at most `risk`. `worst` adds a second account, which reserves the stake of every row without
    feedback, and bounds every single order.
    """

    risk: float = 3.0
    worst: float | None = None

    def __post_init__(self) -> None:
        _validate.real("Guard", "risk", self.risk, least=0)
        if self.worst is not None:
            _validate.real("Guard", "worst", self.worst, least=0)

    def new_state(self) -> Floats:
        """Return the five numbers of the guard before the first round; `settle` changes them."""
        return np.array([self.risk, 0.0, 0.0, np.inf if self.worst is None else self.worst, 0.0])

    def stakes(self, settled: Floats, played: Floats, delay: int = 0) -> Stakes:
        """Return the probability of playing the router in every round, with the accounts.

        A difference is the loss of the safe learner minus that of the router on the same row, in
        [-1, 1], shape (T,).

        settled: differences of the policies that know all earlier rows.
        played: differences of the policies that were played, which know the rows up to `delay`
            rounds before.
        delay: constant delay of the feedback, in rounds.

        >>> guard = Guard(risk=2.0)
        >>> lost = np.full(50, -1.0)
        >>> bool((guard.stakes(lost, lost).probabilities).sum() <= 2.0)
        True
        """
        rounds = settled.size
        stakes = Stakes(np.zeros(rounds), np.zeros(rounds), np.zeros(rounds))
        arguments = (stakes, self.new_state(), settled, played, int(delay))
        with expected_rounds(rounds, actions=0):
            compile_loop(_run_guard, arguments)(*arguments)
        return stakes


def stake_of(state: Floats, reserved: float) -> float:
    """Return the stake: the probability, in [0, 1], of playing the router now.

    At most half of the free capital, and at most the second account less its pending stakes.

    state: of the guard, as returned by `Guard.new_state`.
    reserved: part of the capital, in rows, that is at stake already, on rows with unknown losses; 0
        for none.
    """
    rate = min(
        max((_PRIOR_GAIN + state[_GAIN]) / (_PRIOR_SQUARES + state[_SQUARES]), _MIN_RATE), _MAX_RATE
    )
    stake = min(1.0, rate * (state[CAPITAL] - reserved))
    if state[ACCOUNT] - state[PENDING] < stake:
        stake = state[ACCOUNT] - state[PENDING]
    return float(max(0.0, stake))


def settle(state: Floats, stake: float, difference: float) -> None:
    """Add stake * (safe loss - router loss) of a row to the capital; a kernel.

    The sums for later stakes are updated too. Parameters as `release`.
    """
    state[CAPITAL] += stake * difference
    state[_GAIN] += difference
    state[_SQUARES] += difference * difference


def release(state: Floats, stake: float, difference: float) -> None:
    """Free the stake of a played row, add stake * difference to the account; a kernel.

    state: of the guard, as returned by `Guard.new_state`; changed in place.
    stake: probability of playing the router on that row.
    difference: safe loss - router loss, in [-1, 1].
    """
    state[PENDING] -= stake
    state[ACCOUNT] += stake * difference


def _run_guard(stakes: Any, state: Floats, settled: Floats, played: Floats, delay: int) -> None:
    """Fill in the stakes of all rounds; round t (from 0) uses t - delay answers."""
    for t in range(settled.size):
        n = t - delay
        if n > 0:
            release(state, stakes.probabilities[n - 1], played[n - 1])
        stakes.capital[t] = state[CAPITAL]
        # With delay, no router before the first answer: p_0 = 0 in Theorem C3'.
        if n >= 1 or delay == 0:
            stake = stake_of(state, 0.0)
            stakes.probabilities[t] = stake
            state[PENDING] += stake
            # Row n is settled with the stake and the policies of n answers, as if it were played
            # now.
            settle(state, stake, settled[n])
        stakes.reserve[t] = state[ACCOUNT] - state[PENDING]
