"""Betting martingale for one difference (docs/theory/race.md, section 1).

The null hypothesis is "the mean of d over the list is at most `shift`", where d is the loss of one
candidate minus the loss of its opponent. Let `lead` be the sum of d over the n rows seen. Under the
null, the mean of d over the remaining rows is at most m = (N shift - lead) / (N - n). So 1 + bet (d
- m) has expectation at most 1 for every bet in [0, 1 / (1 + m)] that depends on past rows only. A
wealth is an average of products of such factors. By Ville's inequality it reaches 1 / level with
probability at most `level` under the null.

The choice of bets affects only the speed under the alternative, not validity. Each bettor splits
its wealth over four strategies, one column of `wealth` each. Two bet the estimated edge by the
Kelly rule: one with a prior worth PRIOR_ROWS rows, one with a prior worth PRIOR_SHARE of the list.
Two bet a fixed amount.
"""

import math
from typing import Any

import numpy as np

from tombola.engine.intrinsics import no_inline

# Initial wealth of the four strategies; sums to 1. Half is on the first one, which adapts; the
# others insure against lists where it fails. Other weights changed the calls by at most 2 %
# (docs/theory/race.md, section 7).
STRATEGY_WEIGHTS = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
# Initial wealth of the eight strategies with predictions: a fifth on the losses, the rest on the
# adjusted losses (loss minus its prediction plus the mean prediction of the rows left). If the
# predictions are useless, the wealth is at least a fifth of the wealth without them.
MIXTURE_WEIGHTS = np.concatenate([0.2 * STRATEGY_WEIGHTS, 0.8 * STRATEGY_WEIGHTS])
# The same on rows drawn with replacement: a tenth bets on the losses by the first strategy. Of the
# rest, two parts bet by the Kelly rule, seven the planned bet. Chosen on simulated laws of row
# difficulty (docs/theory/random_answers.md).
FRESH_WEIGHTS = np.array([0.1, 0.0, 0.0, 0.0, 0.2, 0.0, 0.7, 0.0])
# Planned bet, in units of the best bet for the least difference that the calls could prove.
_PLANNED = 1.2
# Least divisor in the cap of a bet on adjusted losses. It bounds these bets by 0.95 / MIN_REACH:
# larger ones magnify rounding errors.
_MIN_REACH = 1e-3
# Pseudo-rows of difference 0 in the prior of the first strategy, which shrink its bets in the first
# rows. Other values changed the calls by at most 2 % (docs/theory/race.md, section 7).
PRIOR_ROWS = 20.0
# Pseudo-rows of difference 0 in the prior of the second strategy, as a share of the list: more
# cautious on long lists.
_PRIOR_SHARE = 0.03
# Pseudo-rows of the variance that history suggests for adjusted losses.
_PRIOR_FITTED = 2.0
# Least variance of an adjusted difference, in squared losses (a deviation of 0.001): keeps bets on
# constant ones finite.
MIN_VARIANCE = 1e-6
# Bets of the third and fourth strategy: large for clear differences, small for noisy ones.
_FIXED_BETS = (0.8, 0.3)
# Least share of the wealth on losses, and on adjusted losses, where stakes move; and the least
# wealth that is moved.
_LEAST_SHARE = 0.1
_MIN_STAKE = 1e-30
# Largest share of its wealth that a strategy may lose in one row. Below 1, so that no strategy goes
# bankrupt, and near 1, because the cap limits how fast the wealth grows on clear differences.
MAX_LOSS_SHARE = 0.95
# Tolerance per row for rounding in a sum of losses: totals that differ by at most this times the
# rows are equal. It is far above the rounding error of a double, 1e-16, and far below a difference
# of means that matters.
ROUNDING_SLACK = 1e-9


@no_inline
def update_wealth(state: Any, bettor: int, lead: float, d: float, shift: float) -> float:
    """Bet on the next difference of one bettor; return its total wealth.

    A bettor is an e-process against "the mean difference is at most `shift`"; its wealth is split
    over strategies.

    bettor: row of `state.wealth`, which has one column per strategy.
    lead: sum of d over the rows before this one.
    d: the difference of this row, loss of the candidate minus loss of its opponent, in [-1, 1].
    shift: largest mean difference under the null hypothesis.
    """
    return bet_at_variance(state, bettor, lead, d, shift, variance_so_far(state, bettor))


def variance_so_far(state: Any, bettor: int) -> float:
    """Return the estimated variance of d of one bettor, from its rows so far; a kernel."""
    return float((0.5 + state.squared_residuals[bettor]) / (state.n_bets[bettor] + 2.0))


def bet_at_variance(
    state: Any, bettor: int, lead: float, d: float, shift: float, variance: float
) -> float:
    """Bet as `update_wealth`, with this variance of d, which past rows determine."""
    n = state.rows_seen[0]
    population = state.population
    wealth = state.wealth[bettor]
    # A difference D of the means makes E[d - m] = D N / (N - n): bets grow as the list runs out.
    gain = _gain(state)
    m = shift if population == math.inf else (population * shift - lead) / (population - n)
    # If m >= 1, no d exceeds m, and every bet could only lose.
    if m < 1.0:
        # If m <= -1, the null is already impossible, and no bet can lose.
        cap = MAX_LOSS_SHARE / (1.0 + m) if m > -1.0 else math.inf
        excess = gain * (lead - n * shift)
        first = gain * shrunk_edge(excess, gain * n + PRIOR_ROWS, variance)
        second = gain * shrunk_edge(excess, gain * n + _PRIOR_SHARE * state.rows, variance)
        wealth[0] *= 1.0 + min(_kelly(first, variance), cap) * (d - m)
        wealth[1] *= 1.0 + min(_kelly(second, variance), cap) * (d - m)
        wealth[2] *= 1.0 + min(gain * _FIXED_BETS[0], cap) * (d - m)
        wealth[3] *= 1.0 + min(gain * _FIXED_BETS[1], cap) * (d - m)
        residual = d - lead / (n + 10.0)
        state.squared_residuals[bettor] += residual * residual
        state.n_bets[bettor] += 1.0
    return total_wealth(wealth)


def bet(state: Any, bettor: int, b: int, o: int, lead: float, d: float, shift: float) -> float:
    """Bet on one row against "L(b) - L(o) <= shift"; return the total wealth.

    Candidate b, opponent o. L is the mean loss over the population; `lead` is the sum of loss(b) -
    loss(o) before this row, d that on this row; `bettor` is the row of `state.wealth`. With
    predictions, `state.wealth` has 8 columns instead of 4; the second half bets on adjusted losses:
    minus their predictions, plus the mean prediction of the rows left.
    """
    _move_stakes(state, state.offset, bettor, b, o, lead, shift)
    _update_adjusted(state, state.offset, bettor, b, o, lead, d, shift)
    return update_wealth(state, bettor, lead, d, shift)


@no_inline
def expected_growth(state: Any, b: int, o: int) -> float:
    """Return the expected growth of log wealth on the next row, betting against b.

    The bet is on loss(b) - loss(o), where o is the opponent, adjusted by predictions. Opponents are
    chosen by it; validity does not depend on it, because only past rows are used.
    """
    m, low, variance, excess = _outlook(state, b, o, state.total_loss[b] - state.total_loss[o], 0.0)
    n = state.rows_seen[0]
    gain = _gain(state)
    return largest_growth(
        gain * shrunk_edge(excess, gain * n + PRIOR_ROWS, variance), variance, m - low
    )


def _gain(state: Any) -> float:
    """Return N / (N - n): how much bets grow as the list runs out; 1 if it never does."""
    if state.population == math.inf:
        return 1.0
    return float(state.population / (state.population - state.rows_seen[0]))


def largest_growth(edge: float, variance: float, reach: float) -> float:
    """Return the largest expected growth of log wealth in one row, to second order.

    edge: expected difference d minus m, its largest mean under the null hypothesis.
    variance: of d.
    reach: m minus the smallest possible d, which bounds the bet.
    """
    size = min(_kelly(edge, variance), MAX_LOSS_SHARE / max(reach, _MIN_REACH))
    return size * edge - 0.5 * size * size * (variance + edge * edge)


def _outlook(
    state: Any, b: int, o: int, lead: float, shift: float
) -> tuple[float, float, float, float]:
    """Return m, low, variance and excess of the adjusted difference y on the next row.

    m: largest mean of y under the null. low: smallest possible y. excess: sum of y above the null
        on the rows so far.
    """
    n = state.rows_seen[0]
    population = state.population
    fitted = state.fitted_rows[0]
    left = population - n
    g_mean = state.predicted_mean[b] - state.predicted_mean[o]
    g_seen = state.predicted_seen[b] - state.predicted_seen[o]
    noise = _PRIOR_FITTED * (state.prior_noise[b] + state.prior_noise[o])
    variance = max(
        (noise + fitted * state.residual_variance[b, o]) / (fitted + _PRIOR_FITTED), MIN_VARIANCE
    )
    if population == math.inf:
        # Rows drawn with replacement: `predicted_mean` is over all rows of the list, and
        # `predicted_seen` sums prediction minus mean (docs/theory/random_answers.md, Theorem R1).
        return shift, state.residual_low[b, o] + g_mean, variance, lead - g_seen - n * shift
    # Regression estimate of the difference of the means: mean residual so far, and mean prediction
    # of the list.
    excess = (
        population / left * (lead - g_seen + n * ((g_seen + left * g_mean) / population - shift))
    )
    return (population * shift - lead) / left, state.residual_low[b, o] + g_mean, variance, excess


@no_inline
def _update_adjusted(
    state: Any, offset: Any, bettor: int, b: int, o: int, lead: float, d: float, shift: float
) -> None:
    """Update the strategies that bet on the adjusted difference y of one row.

    y = d - g(row) + mean of g over the rows left, where g is the predicted difference. y has the
    same conditional mean as d, and is at least `low`, so bets up to 1 / (m - low) keep the factor
    nonnegative (docs/theory/race.md, section 9). Columns 4 to 7 of `state.wealth` change. Without
    predictions `offset` is None, and Numba leaves out the body.
    """
    if offset is None:
        return
    n = state.rows_seen[0]
    wealth = state.wealth[bettor]
    m, low, variance, excess = _outlook(state, b, o, lead, shift)
    if m < 1.0:
        y = d + offset[b] - offset[o]
        cap = MAX_LOSS_SHARE / max(m - low, _MIN_REACH)
        gain = _gain(state)
        cautious = gain * shrunk_edge(excess, gain * n + PRIOR_ROWS, variance)
        bold = gain * shrunk_edge(excess, gain * n + _PRIOR_SHARE * state.rows, variance)
        # Fixed bets are in units of the largest possible loss.
        unit = gain / max(-low, _MIN_REACH)
        wealth[4] *= 1.0 + min(_kelly(cautious, variance), cap) * (y - m)
        wealth[5] *= 1.0 + min(_kelly(bold, variance), cap) * (y - m)
        large = unit * _FIXED_BETS[0]
        if state.population == math.inf:
            large = planned_bet(state.threshold, state.rows, variance)
        wealth[6] *= 1.0 + min(large, cap) * (y - m)
        wealth[7] *= 1.0 + min(unit * _FIXED_BETS[1], cap) * (y - m)


def planned_bet(threshold: float, rounds: float, variance: float) -> float:
    """Return the bet for a difference that just reaches the threshold in the last round.

    A difference D and a bet D / variance let the logarithm of the wealth grow by D^2 / (2 variance)
    a round, so D = sqrt(2 variance log(threshold) / rounds).
    """
    return _PLANNED * math.sqrt(2.0 * math.log(threshold) / (rounds * variance))


@no_inline
def _move_stakes(
    state: Any, offset: Any, bettor: int, b: int, o: int, lead: float, shift: float
) -> None:
    """Move wealth between the bets on losses and on adjusted losses, by their expected growth.

    The total does not change, and only past rows are used: any such rule is valid. Without it a
    known incumbent that is not the leader would cost most of the wealth. Only where
    `state.moves_stakes` is 1; without predictions `offset` is None, and Numba leaves out the body.
    """
    if offset is None or state.moves_stakes == 0.0:
        return
    n = state.rows_seen[0]
    population = state.population
    gain = _gain(state)
    m, low, variance, excess = _outlook(state, b, o, lead, shift)
    edge = gain * shrunk_edge(excess, gain * n + PRIOR_ROWS, variance)
    adjusted = largest_growth(edge, variance, m - low)
    m = shift if population == math.inf else (population * shift - lead) / (population - n)
    variance = variance_so_far(state, bettor)
    edge = gain * shrunk_edge(gain * (lead - n * shift), gain * n + PRIOR_ROWS, variance)
    plain = largest_growth(edge, variance, 1.0 + m)
    squares = adjusted * adjusted + plain * plain
    share = adjusted * adjusted / max(squares, _MIN_STAKE)
    share = min(max(share, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    wealth = state.wealth[bettor]
    half = wealth.size // 2
    on_losses = total_wealth(wealth[:half])
    on_adjusted = total_wealth(wealth[half:])
    if on_losses > _MIN_STAKE and on_adjusted > _MIN_STAKE:
        total = on_losses + on_adjusted
        for j in range(half):
            wealth[j] *= (1.0 - share) * total / on_losses
            wealth[half + j] *= share * total / on_adjusted


def shrunk_edge(excess: float, count: float, variance: float) -> float:
    """Estimate how far the mean of a difference is above the null; at least 0.

    The estimate is the mean of the law Normal(excess / count, variance / count), restricted to
    positive values: exact for excess = 0 and in the limit of large excess. Validity of the test
    does not depend on it.

    excess: sum over rows of the difference minus its mean under the null; count: rows, pseudo-rows
        included.
    """
    mean = excess / count
    return 0.5 * (mean + math.sqrt(mean * mean + 2.55 * variance / count))


def _kelly(edge: float, variance: float) -> float:
    """Return the bet with the largest expected log growth, to second order."""
    return edge / (variance + edge * edge)


def total_wealth(wealth: Any) -> float:
    """Return the sum of the wealth of one bettor over its strategies."""
    amount = 0.0
    for j in range(wealth.size):
        amount += wealth[j]
    return amount


def is_refuted(state: Any, b: int, o: int, lead: float, shift: float, rows_seen: float) -> bool:
    """Return whether no outcome of the rows left makes "L(b) - L(o) <= shift" true.

    A kernel for candidate b and opponent o. L is the mean loss over the population; always False
    for an infinite one. Unknown losses of b count as 0 and those of o as 1; answers on file count
    as they are. `lead` is the sum of loss(b)
    - loss(o) over the first `rows_seen` rows, the current one included.
    """
    if state.population == math.inf:
        return False
    most = state.population - rows_seen - state.known_gain[o] - state.known_loss[b]
    return bool(lead - state.population * shift > most + ROUNDING_SLACK * state.population)


def is_certainly_worse(lead: float, population: float, rows_seen: float) -> bool:
    """Return whether candidate a certainly has a larger total loss than b; a kernel.

    It has if even loss 0 of a and loss 1 of b on all rows left could not change `lead`, its total
    loss minus that of b over the first `rows_seen` rows. Always False for an infinite population.
    """
    if population == math.inf:
        return False
    return bool(lead > population - rows_seen + ROUNDING_SLACK * population)
