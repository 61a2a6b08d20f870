"""Kernels of elimination: bet on a row, and drop candidates (docs/theory/race.md, Theorem 1).

`bet_and_drop` is the step of `Best` and `Within`. `Top`, `Gate` and `Ranks` decide in their own
step, and call `drop`.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.engine.intrinsics import no_inline
from tombola.racing.rules.bets import (
    bet,
    bet_at_variance,
    expected_growth,
    is_refuted,
    variance_so_far,
)
from tombola.racing.rules.opponents import (
    add_products,
    bet_against_mean,
    rank_candidates,
)

# Largest number of candidates in the mean that a candidate bets against.
MOST_OPPONENTS = 8
# Pseudo-rows of the variance of a difference.
_PSEUDO_ROWS = 2.0
# A larger mean must be better by this factor: most of a small gain is noise.
_FACTOR = 1.1


def bet_and_drop(state: Any, losses: Floats) -> None:
    """Bet on one row against every active candidate, count it, and drop candidates.

    A kernel, as `Elimination.step` (docs/theory/race.md, Theorem 1). Bettor b bets against
    candidate b.
    """
    leader, runner = best_two(state.active, state.total_loss)
    rank_candidates(state.ranked, state.active, state.total_loss, MOST_OPPONENTS + 1)
    below = 0
    for b in range(losses.size):
        if state.active[b] > 0.0:
            o = leader if b != leader else runner
            state.current_wealth[b] = bet_against(state, state.offset, state.products, losses, b, o)
            below += state.current_wealth[b] < state.threshold
    add_products(state.products, state.active, losses)
    count_row(state, losses)
    for b in range(losses.size):
        # If every wealth has reached the threshold, the leader stays, so that one candidate is
        # left.
        reached = state.active[b] > 0.0 and state.current_wealth[b] >= state.threshold
        if reached and (below > 0 or b != leader):
            drop(state, b, int(state.opponent[b]), state.current_wealth[b])
    drop_hopeless(state)


@no_inline
def bet_against(state: Any, offset: Any, products: Any, losses: Floats, b: int, o: int) -> float:
    """Bet on one row that candidate b is not the best; return the wealth.

    o: the best other candidate. It is the opponent, or with `products` the first of several whose
        mean is. With predictions a known candidate may be.
    offset: None without predictions; Numba then leaves out their part, which is slow to compile.
    """
    if offset is not None:
        known = _known_opponent(state, b, o)
        state.opponent[b] = known
        lead = state.total_loss[b] - state.total_loss[known]
        return bet(state, b, b, known, lead, losses[b] - losses[known], 0.0)
    state.opponent[b] = o
    if products is None:
        lead = state.total_loss[b] - state.total_loss[o]
        d = losses[b] - losses[o]
        return bet_at_variance(state, b, lead, d, 0.0, variance_so_far(state, b))
    size = 0
    for place in range(MOST_OPPONENTS + 1):
        if place < state.ranked.size and state.ranked[place] != b:
            state.opponents[size] = state.ranked[place]
            size += 1
    return bet_against_mean(state, products, losses, b, b, MOST_OPPONENTS, _PSEUDO_ROWS, _FACTOR)


def _known_opponent(state: Any, b: int, best: int) -> int:
    """Return the opponent of b on the next row, with predictions: `best`, or a known candidate.

    Any choice by past rows is valid. A known candidate has no residual and allows larger bets, so
    that it may drop b sooner than the best other one does; the expected growth of the wealth
    decides.
    """
    opponent = best
    largest = expected_growth(state, b, opponent)
    for o in range(state.active.size):
        if state.prior_noise[o] == 0.0 and state.active[o] > 0.0 and o != b:
            growth = expected_growth(state, b, o)
            if growth > largest:
                opponent = o
                largest = growth
    return opponent


def drop_hopeless(state: Any) -> None:
    """Drop the candidates that can no longer catch up on the rows left; a kernel.

    Each is compared with the candidate whose largest possible total loss is smallest.
    """
    leader = _smallest_bound(state)
    for b in range(state.total_loss.size):
        if (
            b != leader
            and state.active[b] > 0.0
            and is_refuted(
                state,
                b,
                leader,
                state.total_loss[b] - state.total_loss[leader],
                0.0,
                state.rows_seen[0],
            )
        ):
            drop(state, b, leader, math.inf)


def _smallest_bound(state: Any) -> int:
    """Return the active candidate with the smallest largest possible total loss."""
    smallest = -1
    for a in range(state.total_loss.size):
        if state.active[a] > 0.0 and (
            smallest < 0
            or state.total_loss[a] - state.known_gain[a]
            < state.total_loss[smallest] - state.known_gain[smallest]
        ):
            smallest = a
    return smallest


@no_inline
def best_two(active: Floats, total_loss: Floats) -> tuple[int, int]:
    """Return the two active candidates of least total loss, best first; a kernel.

    -1 stands for a missing one. Inlined, it would be typed as the literal -1 at first, and Numba
    would compile every function that it is passed to twice.
    """
    first, second = -1, -1
    for a in range(total_loss.size):
        if active[a] > 0.0:
            if first < 0 or total_loss[a] < total_loss[first]:
                first, second = a, first
            elif second < 0 or total_loss[a] < total_loss[second]:
                second = a
    return first, second


def drop(state: Any, candidate: int, against: int, wealth: float) -> None:
    """Drop a candidate, and record row, opponent and wealth in the state; a kernel.

    `against` is -1 for all others together; `wealth` is infinite if the outcome is certain.
    """
    state.active[candidate] = 0.0
    state.drop_row[candidate] = state.rows_seen[0]
    state.dropped_against[candidate] = against
    state.wealth_at_drop[candidate] = wealth


def count_row(state: Any, losses: Floats) -> None:
    """Add a row to `total_loss` of the active candidates and to `rows_seen`; a kernel."""
    for a in range(losses.size):
        if state.active[a] > 0.0:
            state.total_loss[a] += losses[a]
    state.rows_seen[0] += 1.0


def finish(state: Any, target: float) -> None:
    """Set `state.done` if at most `target` candidates, or no row, are left; a kernel."""
    if n_active(state) <= target or state.rows_seen[0] >= state.last_row:
        state.done[0] = 1.0


def n_active(state: Any) -> float:
    """Return the number of active candidates, as a float; a kernel."""
    count = 0.0
    for a in range(state.active.size):
        count += state.active[a]
    return count
