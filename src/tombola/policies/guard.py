"""The stake guard: context costs at most `risk` rows against the safe learner, for every router (Theorem C3).

b_t and a_t are the losses of the safe learner and of the router in round t, both seen after the round (full
information). d_t = b_t - a_t. The router is played with probability p_t = min(1, rate_t * C_t), where the capital C_t
starts at `risk` and grows by p_t d_t. Since p_t <= C_t and d_t >= -1, the capital never falls below 0, so the loss
averaged over the guard's random draws is at most that of the safe learner plus `risk`, for every order and every router.

The promise is about this average. The realised loss has the noise of the draws. The guard's random stream must not be
visible to the models: a router that sees the draw can lose without limit.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.engine.compiler import compile_loop

# Kelly's rate on the past, as if ten rows with a mean gain of 1/2 had been seen before.
PRIOR_GAIN, PRIOR_SQUARES = 5.0, 10.0
MIN_RATE, MAX_RATE = 0.02, 0.5


class Stakes(NamedTuple):
    """The guard, round by round: the probability of the router, the capital before the round, the account `reserve`."""

    probabilities: Floats
    capital: Floats
    reserve: Floats


@dataclass(frozen=True)
class Guard:
    """The stake guard with `risk` rows at risk on average, and `worst` rows at most on every order if it is given.

    With a constant delay, row n + 1 is settled as if it were played with the policies after n answers (Theorem C3'):
    then the mean over orders and draws is at most `risk` rows worse. `worst` adds the second account, which reserves
    the stake of every row not yet answered, and bounds every single order.
    """

    risk: float = 3.0
    worst: float | None = None

    def __post_init__(self) -> None:
        _validate.real("Guard", "risk", self.risk, least=0)
        if self.worst is not None:
            _validate.real("Guard", "worst", self.worst, least=0)

    def stakes(self, settled: Floats, played: Floats, delay: int = 0) -> Stakes:
        """Return the probability of the router in every round.

        settled: b - a on row n + 1 with the policies after n answers, for n = 0, 1, ...; shape (T,).
        played: b - a on the row of round t with the policies it was played with; equal to `settled` without delay.
        delay: the number of rounds after which a row is answered.

        >>> guard = Guard(risk=2.0)
        >>> lost = np.full(50, -1.0)
        >>> bool((guard.stakes(lost, lost).probabilities).sum() <= 2.0)
        True
        """
        rounds = settled.size
        stakes = Stakes(np.zeros(rounds), np.zeros(rounds), np.zeros(rounds))
        worst = np.inf if self.worst is None else self.worst
        loop = compile_loop(run_guard, (stakes, settled, played, self.risk, worst, delay))
        loop(stakes, settled, played, float(self.risk), float(worst), int(delay))
        return stakes


def run_guard(stakes: Any, settled: Floats, played: Floats, risk: float, worst: float, delay: int) -> None:
    """Fill in the stakes of all rounds; round t (from 0) uses n = t - delay answers."""
    capital, gain, squares, account = risk, 0.0, 0.0, worst
    for t in range(settled.size):
        n = t - delay
        if n > 0 and delay > 0:
            # The answer of row n - 1 has arrived: release its reserve and book the difference really played.
            account += stakes.probabilities[n - 1] * (1.0 + played[n - 1])
        if n >= 1 or delay == 0:
            rate = min(max((PRIOR_GAIN + gain) / (PRIOR_SQUARES + squares), MIN_RATE), MAX_RATE)
            stake = min(1.0, rate * capital)
            if account < stake:
                stake = max(0.0, account)
            stakes.probabilities[t] = stake
            if delay > 0:
                account -= stake  # the worst case of a row in flight: the router loses 1 more
            stakes.capital[t] = capital
            stakes.reserve[t] = account
            # Row n is settled with the stake and the policies of n answers, as if it were played now.
            capital += stake * settled[n]
            gain += settled[n]
            squares += settled[n] * settled[n]
            if delay == 0:
                account += stake * played[t]
        else:
            stakes.capital[t] = capital
            stakes.reserve[t] = account
