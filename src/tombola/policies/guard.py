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

`place_stake` and `take_answer` are the two steps of the guard, in a list and in a session alike.
Late answers have two rules. If the guard reserves, the stake of every row in flight is set aside (C3 with
reserve, for delays of any kind). Else row n + 1 is settled as if it were played with the
policies after n answers (C3', for delays that do not depend on the rows).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.engine.compiler import compile_loop, expected_rounds

# Kelly's rate on the past, as if ten rows with a mean gain of 1/2 had been seen before.
_PRIOR_GAIN = 5.0
_PRIOR_SQUARES = 10.0
# Limits of Kelly's rate, the share of the capital that is staked: never stop, and never stake more
# than half.
_MIN_RATE = 0.02
_MAX_RATE = 0.5
# Positions in the state of the guard: the capital, in rows that routing may still lose on average;
# sums of the differences safe loss - router loss, and of their squares; the second account, in rows
# that routing may still lose on every order, infinite without the limit `worst`; the sum of the
# stakes of rows without feedback; the number of answers; the number of answers when the last stake
# was placed, -1 before, and that stake; whether stakes in flight are reserved.
CAPITAL, _GAIN, _SQUARES, ACCOUNT, PENDING, ANSWERS, _STAKED_AT, _STAKED, _RESERVES = range(9)


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

    A router chooses actions by features. Its cost is the loss above that of a safe learner, which
    ignores features, in rows: one row is a loss of 1.

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

    def new_state(self, *, reserves: bool = True) -> Floats:
        """Return the numbers of the guard before the first round; its kernels change them.

        reserves: whether the stakes of rows in flight reduce the capital that is free.
        """
        account = np.inf if self.worst is None else self.worst
        return np.array([self.risk, 0.0, 0.0, account, 0.0, 0.0, -1.0, 0.0, float(reserves)])

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
        arguments = (stakes, self.new_state(reserves=delay == 0), settled, played, int(delay))
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


def may_stake(state: Floats) -> bool:
    """Return whether a router may play in this round; a kernel.

    By Theorem C3' not before the first answer, and not twice after the same answer.
    """
    answers = state[ANSWERS]
    return bool(state[_RESERVES] > 0.0 or (answers > 0.0 and answers != state[_STAKED_AT]))


def place_stake(state: Floats) -> float:
    """Return the stake of this round, and set it aside until its row is answered; a kernel."""
    if not may_stake(state):
        return 0.0
    stake = stake_of(state, state[PENDING] if state[_RESERVES] > 0.0 else 0.0)
    record_stake(state, stake)
    return stake


def record_stake(state: Floats, stake: float) -> None:
    """Set a stake aside that was computed before; a kernel."""
    state[_STAKED_AT] = state[ANSWERS]
    state[_STAKED] = stake
    state[PENDING] += stake


def take_answer(state: Floats, stake: float, played: float, settled: float) -> None:
    """Free the stake of an answered row and settle a row; a kernel.

    stake: probability of playing the router on that row.
    played: safe loss - router loss of the actions as they were chosen, in [-1, 1].
    settled: the same with the present policies, which are those after the answers so far.
    """
    state[PENDING] -= stake
    state[ACCOUNT] += stake * played
    if state[_RESERVES] > 0.0:
        _settle(state, stake, played)
    elif state[_STAKED_AT] == state[ANSWERS]:
        # As if the row were played now: with the stake and the policies of the last round.
        _settle(state, state[_STAKED], settled)
    state[ANSWERS] += 1.0


def _settle(state: Floats, stake: float, difference: float) -> None:
    """Add stake * (safe loss - router loss) to the capital, and the sums of later stakes."""
    state[CAPITAL] += stake * difference
    state[_GAIN] += difference
    state[_SQUARES] += difference * difference


def _run_guard(stakes: Any, state: Floats, settled: Floats, played: Floats, delay: int) -> None:
    """Fill in the stakes of all rounds; round t (from 0) uses t - delay answers."""
    for t in range(settled.size):
        n = t - delay - 1
        if n >= 0:
            take_answer(state, stakes.probabilities[n], played[n], settled[n])
        stakes.capital[t] = state[CAPITAL]
        stakes.probabilities[t] = place_stake(state)
        stakes.reserve[t] = state[ACCOUNT] - state[PENDING]
