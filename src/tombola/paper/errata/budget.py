"""Errata of online learning with constraints (L427-L581)."""

import math

from tombola.paper.errata.base import Evidence, erratum

# Setting of all examples: horizon, actions, resources, budget per round, failure probability.
_T = 2**16
_K = 3
_M = 1
_RATE = 0.5
_DELTA = 0.05
# Logarithm in the paper's epsilon_i, at the sizes of these errata.
_LOG = math.log(_M * _K * math.log2(_T) / _DELTA)


def _epsilon(block: int) -> float:
    """Return the paper's epsilon_i (L473) of a block i."""
    return math.sqrt(6 * 2.0**-block * _LOG)


def _spend(budget: float, cost: float, rounds: int, *, strict: bool) -> float:
    """Return the sum of equal costs until play stops.

    strict: stop when less than 1 is left, else when the budget is exceeded.
    """
    spent = 0.0
    for _ in range(rounds):
        if (strict and budget - spent < 1) or spent > budget:
            break
        spent += cost
    return spent


@erratum(
    14,
    431,
    "gap",
    "within",
    "Budget spent in round 1, against what the proof accounts for",
    "arithmetic",
)
def _first_round() -> Evidence:
    """Printed: play any action at time 1, O = {r_1, c_1}, S ∈ [0,1]^(T×k×m+1) (L432).

    Correct: play ∅; O a set of tuples, T×k×(m+1) numbers.
    """
    dearest = 1.0
    null = 0.0
    accounted = 0.0
    return Evidence(printed=dearest, corrected=null, truth=accounted)


@erratum(15, 453, "false", "within", "Spent of a budget of 10, with costs 0.9")
def _stop() -> Evidence:
    """Printed: stop when the costs exceed the budget. Correct: stop when less than 1 is left."""
    budget = 10.0
    cost = 0.9
    loose, strict = (_spend(budget, cost, 100, strict=strict) for strict in (False, True))
    return Evidence(printed=loose, corrected=strict, truth=budget)


@erratum(16, 471, "gap", "equals", "First block that is played, T = 2^16, ρ = 1/2")
def _first_block() -> Evidence:
    """Printed: otherwise ρ_i < 0. Correct: the proof needs ρ_i ≥ ρ/2: 2^i ≥ 96 ln(mk log T / δ)/ρ²."""
    scan = next(i for i in range(99) if _RATE - 2 * _epsilon(i) >= _RATE / 2)
    nonnegative = next(i for i in range(99) if _RATE - 2 * _epsilon(i) >= 0)
    return Evidence(nonnegative, math.ceil(math.log2(96 * _LOG / _RATE**2)), scan)


@erratum(17, 493, "typo", "equals", "Budget of training in block 12", "arithmetic")
def _training_budget() -> Evidence:
    """Printed: (ρ − ε_i) 2^i. Correct: (ρ − 2ε_i) 2^i."""
    i = 12
    correct = (_RATE - 2 * _epsilon(i)) * 2**i
    return Evidence(
        (_RATE - _epsilon(i)) * 2**i, 2**i * _RATE - 2 * math.sqrt(6 * 2**i * _LOG), correct
    )


@erratum(18, 526, "typo", "within", "Cost of the scaled optimum, against ρ_i", "arithmetic")
def _feasible() -> Evidence:
    """Printed: c·x ≤ ρ − ε_i, thus feasible. Correct: β(ρ + ε_i) = ρ − 2ε_i."""
    rho = 0.5
    e = 0.1
    beta = (rho - 2 * e) / (rho + e)
    return Evidence(printed=rho - e, corrected=beta * (rho + e), truth=rho - 2 * e)


@erratum(19, 536, "false", "equals", "Regret added up round by round, T = 2^16, ρ = 1/2")
def _weights() -> Evidence:
    """Printed: (6/ρ) Σ ε_i. Correct: (6/ρ) Σ 2^i ε_i."""
    factor = 6 / _RATE
    lost = sum(factor * _epsilon((t - 1).bit_length() - 1) for t in range(2, _T + 1))
    return Evidence(
        printed=factor * sum(_epsilon(i) for i in range(1, 17)),
        corrected=factor * sum(2**i * _epsilon(i) for i in range(16)),
        truth=lost,
    )


@erratum(
    20,
    547,
    "false",
    "at most",
    "Difference of two means that are ε = 0.1 from the pool's",
    "arithmetic",
)
def _two_sides() -> Evidence:
    """Printed: (c_i − c̄_i)·x ≤ ε_i. Correct: ≤ 2ε_i."""
    e = 0.1
    pool = 0.5
    # both within e of the pool, as the clean event asks
    block = pool + e
    past = pool - e
    return Evidence(printed=e, corrected=2 * e, truth=block - past)


@erratum(
    21,
    545,
    "false",
    "at most",
    "Rounds of blocks 0 .. ⌈log t⌉ − 1 at t = 5, over ρ (in the printed range: 14)",
)
def _covered() -> Evidence:
    """Printed: Σ 2^i ρ over i = 1 .. ⌈log t⌉ is ≤ ρ t for each t.

    Correct: over i = 0 .. ⌈log t⌉ − 1, and then ≤ 2ρ t.
    """
    t = 5
    blocks = sum(2**i for i in range(math.ceil(math.log2(t))))
    return Evidence(printed=t, corrected=2 * t, truth=blocks)


@erratum(
    22, 573, "typo", "within", "Probability that some training fails, against δ/3", "arithmetic"
)
def _confidence() -> Evidence:
    """Printed: δ′ = 1 − δ/(3 log T). Correct: δ′ = δ/(3 log T)."""
    log = math.log2(_T)
    share = _DELTA / (3 * log)
    return Evidence(printed=log * (1 - share), corrected=log * share, truth=_DELTA / 3)


@erratum(50, 581, "loose", "at most", "Rounds of null play, T = 2^16, ρ = 1/2")
def _null_play() -> Evidence:
    """Printed: an extra 1/ρ². Correct: 192 ln(mk log T / δ)/ρ² at most."""
    first = next(2**i for i in range(99) if _RATE - 2 * _epsilon(i) >= _RATE / 2)
    return Evidence(printed=1 / _RATE**2, corrected=2 * 96 * _LOG / _RATE**2, truth=first)
