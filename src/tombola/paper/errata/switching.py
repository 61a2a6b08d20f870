"""Errata of bandits with switching costs (L583-L685)."""

import math
from itertools import pairwise

from tombola.paper.errata.base import Evidence, erratum


def _round_robin(T: int, k: int) -> list[int]:
    """Return the actions of SimulationSuccessiveElimination while none is dropped."""
    first = (k - 1).bit_length()
    actions = [t % k for t in range(min(2**first, T))]
    for i in range(first, (T - 1).bit_length()):
        length = 2**i // k
        actions += [min(t // length, k - 1) for t in range(min(2 ** (i + 1), T) - 2**i)]
    return actions


@erratum(
    24,
    586,
    "false",
    "equals",
    "Growth of the theorem's bound over √T, from T = 2^10 to 2^30",
    "arithmetic",
)
def _rate() -> Evidence:
    """Printed: suffers O(√T). Correct: O(√(kT log³T))."""
    small, large = (math.sqrt(T * math.log(T) ** 3) / math.sqrt(T) for T in (2.0**10, 2.0**30))
    return Evidence(printed=1, corrected=3**1.5, truth=large / small)


@erratum(25, 606, "typo", "equals", "Mean of nine losses of 1/2, as L608 has it")
def _count() -> Evidence:
    """Printed: ℓ̂(a) is over n(a), which is updated after the loop (L611).

    Correct: n(a) counts every play, before L608.
    """
    losses = [0.5] * 9  # one at the start, eight in a block
    return Evidence(printed=sum(losses) / 1, corrected=sum(losses) / len(losses), truth=0.5)


@erratum(26, 610, "typo", "equals", "Rounds of block 4")
def _block_end() -> Evidence:
    """Printed: up to 2^(i+1) − 1. Correct: up to 2^(i+1)."""
    i = 4
    lengths = [len(range(2**i + 1, end + 1)) for end in (2 ** (i + 1) - 1, 2 ** (i + 1))]
    return Evidence(printed=lengths[0], corrected=lengths[1], truth=2**i)


@erratum(27, 629, "loose", "tighter", "Switches at T = 1024, k = 4, nothing dropped")
def _switches() -> Evidence:
    """Printed: k+1 switches a block, 2k log T in all. Correct: 2^i0 − 1 + k(⌈log T⌉ − i0)."""
    T = 1024
    k = 4
    played = _round_robin(T, k)
    truth = sum(a != b for a, b in pairwise(played))
    return Evidence(printed=2 * k * math.log2(T), corrected=3 + k * (10 - 2), truth=truth)


@erratum(28, 631, "typo", "equals", "Gap of the mean 0.3 among 0.2, 0.3, 0.7", "arithmetic")
def _best() -> Evidence:
    """Printed: a* has maximum loss. Correct: minimum loss."""
    means = [0.2, 0.3, 0.7]
    played = means[1]
    return Evidence(printed=played - max(means), corrected=played - min(means), truth=0.1)


@erratum(29, 635, "typo", "equals", "Last round of block 4 in its last sub-block")
def _sub_blocks() -> Evidence:
    """Printed: g ∈ [j]. Correct: g ∈ {0, .., j−1}."""
    i = 4
    j = 4
    ends = [2**i * (1 + (g + 1) / j) for g in (j, j - 1)]
    return Evidence(printed=ends[0], corrected=ends[1], truth=2 ** (i + 1))


@erratum(30, 637, "gap", "at most", "Weight in the mean of rounds in no sub-block, k = 2, block 3")
def _uncovered() -> Evidence:
    """Printed: clean sub-blocks mean clean estimates. Correct: plus 2k/2^i for the start."""
    k = 2
    i = 3
    played = _round_robin(2 ** (i + 1), k)
    of_the_start = sum(action == 0 for action in played[:k]) / played.count(0)
    return Evidence(printed=0, corrected=2 * k / 2**i, truth=of_the_start)


@erratum(
    31, 643, "typo", "tighter", "Probability of a miss by Hoeffding as printed, T = 4", "arithmetic"
)
def _tail() -> Evidence:
    """Printed: with replacement; probability T^−5. Correct: without replacement; 2T^−10."""
    T = 4.0
    rows = 16
    radius = math.sqrt(10 * math.log(T) / rows)
    return Evidence(printed=T**-5, corrected=2 * T**-10, truth=2 * math.exp(-rows * radius**2))


@erratum(32, 663, "typo", "equals", "Plays of an action in blocks 1 to 4, k = 2")
def _index() -> Evidence:
    """Printed: T(a) = Σ_j T_i(a). Correct: T(a) = Σ_j T_j(a)."""
    k = 2
    i = 4
    plays = [2**j // k for j in range(1, i + 1)]
    return Evidence(
        printed=len(plays) * plays[-1],
        corrected=sum(plays),
        truth=_round_robin(2 ** (i + 1), k)[k:].count(0),
    )


@erratum(33, 671, "loose", "tighter", "Error of a mean under the clean event, T = 2^20")
def _jensen() -> Evidence:
    """Printed: √(10 ln³T / T(a)) by Jensen. Correct: (1+√2) √(10 ln T / T(a)): blocks double."""
    k = 2
    T = 2**20
    plays = [2**j / k for j in range(1, 20)]
    log = math.log(T)
    total = sum(plays)
    truth = sum(math.sqrt(10 * n * log) for n in plays) / total
    return Evidence(
        math.sqrt(10 * log**3 / total), (1 + math.sqrt(2)) * math.sqrt(10 * log / total), truth
    )


@erratum(34, 672, "gap", "at least", "Fewest plays of an action after block 2, k = 3")
def _plays() -> Evidence:
    """Printed: T(a) ≥ 2^(i+1)/k. Correct: T(a) ≥ 2^i/k; the radius has room for it."""
    k = 3
    i = 2
    played = _round_robin(2 ** (i + 1), k)
    fewest = min(played.count(action) for action in range(k))
    return Evidence(printed=2 ** (i + 1) / k, corrected=2**i / k, truth=fewest)


@erratum(35, 681, "false", "at most", "Largest gap that survives block i−1, in units of ε_i")
def _survivors() -> Evidence:
    """Printed: regret of a round ≤ 2ε_i. Correct: ≤ 4ε_(i−1) = 4√2 ε_i."""
    radius = math.sqrt(2)  # that of the block before, in units of the one of this block
    accuracy = radius / math.sqrt(2)  # the claim at L656, with the 5 and the 10 as printed
    gaps = [g / 1000 for g in range(10_000) if g / 1000 - 2 * accuracy - radius <= radius]
    return Evidence(printed=2, corrected=4 * math.sqrt(2), truth=max(gaps))
