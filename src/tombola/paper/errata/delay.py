"""Errata of the template and of delayed feedback (L262-L425)."""

import itertools
import math

from tombola import bounds
from tombola.lab.exact import worst_case
from tombola.learners import FollowTheLeader
from tombola.paper.errata.base import Evidence, erratum


def equal_rows_probability(T: int, n: int) -> float:
    """Return P(all n drawn rows are equal), for a pool of T/2 rows +1 and T/2 rows -1.

    The mean of equal rows is 1 away from that of the pool, 0.
    """
    return 2 * math.comb(T // 2, n) / math.comb(T, n)


@erratum(5, 268, "typo", "equals", "Rounds in the blocks after round 1, T = 1024")
def _blocks() -> Evidence:
    """Printed: i = 0 .. log T. Correct: the last block is ⌈log T⌉ − 1."""
    T = 1024
    log = 10
    rounds = len([t for t in range(1, T + 1) if t > 1])
    return Evidence(
        printed=sum(2**i for i in range(log + 1)),
        corrected=sum(2**i for i in range(log)),
        truth=rounds,
    )


@erratum(6, 302, "false", "equals", "Rows known before block 4, which Lemma 4.1 divides by 2^4")
def _past() -> Evidence:
    """Printed: t_i = 2^i + i d, rounds t_i, t_i+2, .. (L309).

    Correct: t_i = 2^i + 1 + (i+1) d, t_i+1, .., and round 1.
    """
    i = 4
    d = 3
    printed_rounds = set(
        itertools.chain(*(range(2**j + j * d, 2 ** (j + 1) + j * d) for j in range(i)))
    )
    fixed = {
        1,
        *itertools.chain(
            *(range(2**j + 1 + (j + 1) * d, 2 ** (j + 1) + 1 + (j + 1) * d) for j in range(i))
        ),
    }
    return Evidence(printed=len(printed_rounds), corrected=len(fixed), truth=2**i)


@erratum(8, 397, "false", "at most", "Probability of a miss, T = 1024, 16 rows, gaps ±1")
def _radius() -> Evidence:
    """Printed: a miss has probability ≤ 1/(2T²). Correct: gaps are in [−1, 1]: probability ≤ 1/T."""
    T = 1024
    n = 16
    radius = math.sqrt(math.log(2 * T) / (n / 2))
    truth = equal_rows_probability(T, n) if 1 - 2 / n < radius <= 1 else math.nan
    return Evidence(printed=1 / (2 * T**2), corrected=2 * math.exp(-n * radius**2 / 2), truth=truth)


@erratum(9, 392, "gap", "at most", "Bound by Hoeffding and a union at k = T = 1024", "arithmetic")
def _clean() -> Evidence:
    """Printed: all is clean but with probability 1/T (k ≤ T). Correct: but with probability 4(k−1)/T²."""
    T = 1024
    k = 1024
    n = 64
    epsilon = 2 * math.sqrt(math.log(T) / n)
    union = 2 * (k - 1) * 2 * math.exp(-n * epsilon**2 / 2)
    return Evidence(printed=1 / T, corrected=4 * (k - 1) / T**2, truth=union)


@erratum(10, 415, "false", "at most", "The sum at T = 2^16")
def _series() -> Evidence:
    """Printed: Σ 5√(2^i ln T) ≤ 5√(T ln T). Correct: ≤ 17.08 √(T ln T)."""
    T = 2**16
    total = sum(5 * math.sqrt(2**i * math.log(T)) for i in range(17))
    scale = math.sqrt(T * math.log(T))
    return Evidence(printed=5 * scale, corrected=17.08 * scale, truth=total)


@erratum(
    11,
    337,
    "gap",
    "tighter",
    "Difference of past and future in all blocks, T = 2^16, k = 2",
    "arithmetic",
)
def _constant() -> Evidence:
    """Printed: 5√(T log T), not proved. Correct: 6.83√(T ln k) at T = 2^n, 4.18√(T ln k) in docs/theory/delay.md."""
    T = 2**16
    k = 2
    total = sum(2 * math.sqrt(2 * math.log(k) * 2**i) for i in range(16))
    return Evidence(5 * math.sqrt(T * math.log(T)), 6.83 * math.sqrt(T * math.log(k)), total)


@erratum(12, 423, "loose", "tighter", "Worst regret in random order, T = 6, k = 2, exact")
def _leader() -> Evidence:
    """Printed: O(√(T log T) + d log T) by Simulation. Correct: d + 1 + π√(2 T ln k) by following the leader."""
    T = 6
    kinds = list(itertools.product([0.0, 1.0], repeat=2))
    truth = worst_case(FollowTheLeader(), kinds, T).random
    return Evidence(bounds.simulation_printed(T, 2), bounds.follow_the_leader(T, 2), truth)
