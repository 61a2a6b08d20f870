"""Errata of online learning with constraints (L427-L581)."""

import math

from tombola.claims.evidence.base import Erratum, Evidence

T, K, M, RATE, DELTA = 2**16, 3, 1, 0.5, 0.05
LOG = math.log(M * K * math.log2(T) / DELTA)


def epsilon(block: int) -> float:
    """Return the paper's epsilon_i (L473).

    >>> round(epsilon(12), 4)
    0.1003
    """
    return math.sqrt(6 * 2.0**-block * LOG)


def spend(budget: float, cost: float, rounds: int, *, strict: bool) -> float:
    """Return what equal costs add up to until the stop: when the budget is exceeded, or when less than 1 is left.

    >>> spend(10, 0.9, 100, strict=True) <= 10 < spend(10, 0.9, 100, strict=False)
    True
    """
    spent = 0.0
    for _ in range(rounds):
        if (strict and budget - spent < 1) or spent > budget:
            break
        spent += cost
    return spent


def _first_round() -> Evidence:
    dearest, null, accounted = 1.0, 0.0, 0.0
    return Evidence(printed=dearest, corrected=null, truth=accounted)


def _stop() -> Evidence:
    budget, cost = 10.0, 0.9
    loose, strict = (spend(budget, cost, 100, strict=strict) for strict in (False, True))
    return Evidence(printed=loose, corrected=strict, truth=budget)


def _first_block() -> Evidence:
    scan = next(i for i in range(99) if RATE - 2 * epsilon(i) >= RATE / 2)
    nonnegative = next(i for i in range(99) if RATE - 2 * epsilon(i) >= 0)
    return Evidence(nonnegative, math.ceil(math.log2(96 * LOG / RATE**2)), scan)


def _training_budget() -> Evidence:
    i = 12
    given = (RATE - 2 * epsilon(i)) * 2**i
    return Evidence((RATE - epsilon(i)) * 2**i, 2**i * RATE - 2 * math.sqrt(6 * 2**i * LOG), given)


def _feasible() -> Evidence:
    rho, e = 0.5, 0.1
    beta = (rho - 2 * e) / (rho + e)
    return Evidence(printed=rho - e, corrected=beta * (rho + e), truth=rho - 2 * e)


def _weights() -> Evidence:
    factor = 6 / RATE
    lost = sum(factor * epsilon((t - 1).bit_length() - 1) for t in range(2, T + 1))
    return Evidence(
        printed=factor * sum(epsilon(i) for i in range(1, 17)),
        corrected=factor * sum(2**i * epsilon(i) for i in range(16)),
        truth=lost,
    )


def _two_sides() -> Evidence:
    e, pool = 0.1, 0.5
    block, past = pool + e, pool - e  # both within e of the pool, as the clean event asks
    return Evidence(printed=e, corrected=2 * e, truth=block - past)


def _covered() -> Evidence:
    t = 5
    blocks = sum(2**i for i in range(math.ceil(math.log2(t))))
    return Evidence(printed=t, corrected=2 * t, truth=blocks)


def _confidence() -> Evidence:
    log = math.log2(T)
    share = DELTA / (3 * log)
    return Evidence(printed=log * (1 - share), corrected=log * share, truth=DELTA / 3)


def _null_play() -> Evidence:
    first = next(2**i for i in range(99) if RATE - 2 * epsilon(i) >= RATE / 2)
    return Evidence(printed=1 / RATE**2, corrected=2 * 96 * LOG / RATE**2, truth=first)


ERRATA = (
    Erratum(
        14, 431, "gap", "play any action at time 1, O = {r_1, c_1}, S ∈ [0,1]^(T×k×m+1) (L432)",
        "play ∅; O a set of tuples, T×k×(m+1) numbers",
        "budget spent in round 1, against what the proof accounts for", "within", _first_round, "arithmetic",
    ),
    Erratum(
        15, 453, "false", "stop when the costs exceed the budget", "stop when less than 1 is left",
        "spent of a budget of 10, with costs 0.9", "within", _stop,
    ),
    Erratum(
        16, 471, "gap", "otherwise ρ_i < 0", "the proof needs ρ_i ≥ ρ/2: 2^i ≥ 96 ln(mk log T / δ)/ρ²",
        "first block that is played, T = 2^16, ρ = 1/2", "equals", _first_block,
    ),
    Erratum(
        17, 493, "typo", "(ρ − ε_i) 2^i", "(ρ − 2ε_i) 2^i",
        "budget of training in block 12", "equals", _training_budget, "arithmetic",
    ),
    Erratum(
        18, 526, "typo", "c·x ≤ ρ − ε_i, thus feasible", "β(ρ + ε_i) = ρ − 2ε_i",
        "cost of the scaled optimum, against ρ_i", "within", _feasible, "arithmetic",
    ),
    Erratum(
        19, 536, "false", "(6/ρ) Σ ε_i", "(6/ρ) Σ 2^i ε_i",
        "regret added up round by round, T = 2^16, ρ = 1/2", "equals", _weights,
    ),
    Erratum(
        20, 547, "false", "(c_i − c̄_i)·x ≤ ε_i", "≤ 2ε_i",
        "difference of two means that are ε = 0.1 from the pool's", "at most", _two_sides, "arithmetic",
    ),
    Erratum(
        21, 545, "false", "Σ 2^i ρ over i = 1 .. ⌈log t⌉ is ≤ ρ t for each t", "over i = 0 .. ⌈log t⌉ − 1, and then ≤ 2ρ t",
        "rounds of blocks 0 .. ⌈log t⌉ − 1 at t = 5, over ρ (in the printed range: 14)", "at most", _covered,
    ),
    Erratum(
        22, 573, "typo", "δ′ = 1 − δ/(3 log T)", "δ′ = δ/(3 log T)",
        "chance that some training fails, against δ/3", "within", _confidence, "arithmetic",
    ),
    Erratum(
        50, 581, "loose", "an extra 1/ρ²", "192 ln(mk log T / δ)/ρ² at most",
        "rounds of null play, T = 2^16, ρ = 1/2", "at most", _null_play,
    ),
)  # fmt: skip
