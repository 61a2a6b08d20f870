"""Bounds: exactly on all small pools where they are below T, else their terms; broken bounds are caught."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from tombola import Pool, bounds, learners, play
from tombola.bounds import common
from tombola.bounds.bandit import _ucb2_counts
from tombola.bounds.budget import _lp_radius, lp_margin
from tombola.bounds.common import growing_counts, harmonic, sum_of_inverse_roots
from tombola.bounds.frugal import (
    _best_index_excess,
    _frugal_counts,
    _other_index_deficit,
    frugal_first_block,
)
from tombola.bounds.switching import _radius
from tombola.lab.exact import random_order, worst_pool
from tombola.learners import AdaHedge, FollowTheLeader, FrugalUCB, Hedge, HedgeAnytime
from tombola.learners.base import Learner
from tombola.paper.extensions.switching import trap_pool
from twin_cases import parsed

ROUNDING = 1e-12
LATE = parsed(
    'FollowTheLeader Hedge Hedge(rate=1.0) Hedge(order="given",delay=2) HedgeAnytime AdaHedge '
    "AdaHedge(kappa=1.0)",
    "FlipFlop SuccessiveElimination",
)
PROMPT = parsed(
    "UCB1 UCB2 UCB2(alpha=0.1) FrugalUCB(price=0.0) FrugalUCB(price=0.0,scale=2.0) "
    "ExploreThenCommit",
    "ExploreThenCommit(rounds=1) SerflingElimination(price=0.0) BernsteinElimination(price=0.0) "
    "Thrifty(price=0.0)",
    "SimulationSuccessiveElimination(price=0.0) BatchedExp3(price=0.0) "
    "TsallisSwitching(price=0.0) Exp3 TsallisInf",
)
# Learners with a bound below T at some of the small sizes; that of the others is T there, which no
# pool can exceed.
SMALL = [*LATE[:7], *parsed("Exp3")]
LARGER = [*LATE[:7], *parsed("ExploreThenCommit")]
# Bandit learners with a bound on bad plays plus the drift, whose actions depend on the losses
# within four rounds.
DRIFTING = [
    *PROMPT[:5],
    *parsed(
        "ExploreThenCommit(rounds=1) Thrifty(price=0.0) UCB2WithoutReplacement BlockUCB "
        "BatchedExp3(block=1)"
    ),
]


def kinds(k: int) -> list[tuple[float, ...]]:
    """Return all rows of zeros and ones."""
    return list(itertools.product([0.0, 1.0], repeat=k))


def closest(learner: Learner, k: int, horizons: range, share: float = 1.0) -> float:
    """Return the largest (worst regret over all 0/1 pools) / (share of the bound) over horizons and delays."""
    found = 0.0
    for T in horizons:
        for d in range(T + 1):
            bound = learner.bound(k, T, d)
            if bound is None:
                assert d > 0
                break
            regret, _ = worst_pool(learner, kinds(k), T, delay=d)
            found = max(found, regret / (share * bound))
    return found


@pytest.mark.parametrize("learner", SMALL, ids=repr)
@pytest.mark.usefixtures("short_work")
def test_regret_bound_on_all_small_pools(learner: Learner) -> None:
    """All 0/1 pools with two actions up to T = 4, and with three up to T = 3, and all delays: exact."""
    assert closest(learner, 2, range(1, 5)) <= 1 + ROUNDING
    assert closest(learner, 3, range(1, 4)) <= 1 + ROUNDING
    assert any((learner.bound(2, T) or T) < T for T in range(1, 5)), (
        "a bound of T cannot be exceeded"
    )


@pytest.mark.full
@pytest.mark.parametrize("learner", LARGER, ids=repr)
def test_regret_bound_on_all_larger_pools(learner: Learner) -> None:
    """The same up to T = 8 with two actions and T = 5 with three."""
    assert closest(learner, 2, range(5, 9)) <= 1 + ROUNDING
    assert closest(learner, 3, range(4, 6)) <= 1 + ROUNDING
    assert any((learner.bound(2, T) or T) < T for T in range(5, 9))


def exact_drift(learner: Learner, rows: tuple[tuple[float, ...], ...]) -> float:
    """Return the mean over all orders of the loss beyond the pool means of the actions played."""
    means = np.mean(rows, axis=0)
    orders = sorted({*itertools.permutations(rows)})  # equally likely, with or without equal rows
    traces = [play(learner, Pool(order), order="given", seed=0) for order in orders]
    return math.fsum(
        float(trace.losses.sum() - means[trace.actions].sum()) for trace in traces
    ) / len(orders)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("learner", DRIFTING, ids=repr)
def test_drift_of_bandit_learners_on_all_small_pools(learner: Learner) -> None:
    """The term of their bounds that is not capped: at most (pi/4) sqrt(T) on all 0/1 pools of four
    rows.

    The actions depend on the rows seen, so the remaining rows differ from the pool, and the drift
    is positive.
    """
    pools = itertools.combinations_with_replacement(kinds(2), 4)
    drifts = [exact_drift(learner, pool) for pool in pools]
    assert max(drifts) <= bounds.drift(4, 2) + ROUNDING
    assert max(drifts) > bounds.drift(4, 2) / 20


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("learner", [Hedge(), HedgeAnytime(), FollowTheLeader()], ids=repr)
def test_half_bound_fails_on_small_pool(learner: Learner) -> None:
    assert closest(learner, 2, range(1, 5), share=0.5) > 1


@pytest.mark.parametrize(
    "learner", parsed("UCB1 UCB2 FrugalUCB Thrifty ExploreThenCommit SerflingElimination"), ids=repr
)
def test_bounds_without_delay_are_none_with_it(learner: Learner) -> None:
    assert learner.bound(2, 100) is not None
    assert learner.bound(2, 100, delay=1) is None


UNPROVED = parsed(
    "BirthdayTest Uniform FixedAction(action=0) UCB1(scale=0.5) KLUCB KLUCB(c=3) ThompsonSampling",
    "UCB2WithoutReplacement BlockUCB BettingElimination LazyOptimisticSimulation(base=UCB1)",
)


@pytest.mark.parametrize("learner", UNPROVED, ids=repr)
def test_no_bound_is_claimed_where_none_is_proved(learner: Learner) -> None:
    assert learner.bound(2, 100) is None


@pytest.mark.parametrize("learner", [*LATE, *PROMPT], ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3, 100])
def test_bounds_are_numbers_up_to_horizon(learner: Learner, k: int) -> None:
    assert learner.bound(1, 5) == 0
    for T in (1, 2, 3, 50, 100_000):
        for d in (0, 1, T, 2 * T):
            bound = learner.bound(k, T, d)
            assert bound is None or 0 <= bound <= T


# The delay identity (Theorem 3)

POOLS = {
    "bits": np.random.default_rng(0).integers(0, 2, (7, 3)).astype(float),
    "uniform": np.random.default_rng(1).random((7, 3)),
    "one better": np.tile([0.2, 0.7, 0.4], (7, 1)),
    "cycle": np.eye(3)[[0, 1, 2, 0, 1, 2, 0]],
    "ties": np.vstack([np.ones((3, 3)), np.zeros((4, 3))]),
    "opposed": np.array([[0.0, 1.0, 0.5]] * 4 + [[1.0, 0.0, 0.5]] * 3),
}


def shift(learner: Learner, losses: np.ndarray) -> list[float]:
    """Return phi_n = E <p_n, g of a row not revealed>, n = 0..T-1, from all orders, without the tree of `exact`."""
    T = len(losses)
    best = int(losses.sum(axis=0).argmin())
    gaps = losses - losses[:, [best]]
    phi = np.zeros(T)
    orders = list(itertools.permutations(range(T)))
    for order in orders:
        trace = play(learner, Pool(losses[list(order)]), order="given", seed=0)
        phi += trace.expected_losses - losses[list(order), best]
    assert gaps.mean(axis=0).min() >= 0
    return list(phi / len(orders))


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize(
    "learner", [FollowTheLeader(), Hedge(), HedgeAnytime(), AdaHedge()], ids=repr
)
@pytest.mark.parametrize(
    "name", ["small", *(pytest.param(name, marks=pytest.mark.full) for name in POOLS)]
)
def test_delay_is_shift(learner: Learner, name: str) -> None:
    """R_d = d phi_0 + sum_{n < T-d} phi_n on all T! orders, d = 0..T; phi_n >= 0 for a rate fixed in advance."""
    losses = POOLS[name] if name in POOLS else np.random.default_rng(3).random((4, 3)).round(1)
    phi, T = shift(learner, losses), len(losses)
    for d in range(T + 1):
        shifted = d * phi[0] + sum(phi[: max(0, T - d)]) if d < T else T * phi[0]
        assert random_order(learner, Pool(losses), delay=d) == pytest.approx(shifted, abs=1e-12)
    if not isinstance(learner, AdaHedge):
        assert min(phi) >= -1e-12


# Formulas


@pytest.mark.parametrize("T", [5, 6, 20, 1000])
def test_drift_of_counts_has_at_most_ln_t(T: int) -> None:
    h = T * sum(1 / t for t in range(2, T + 1)) / (T - 1)
    assert bounds.drift_of_counts(T, [3.0, 2.0], [1.0, 0.5]) == pytest.approx(
        math.sqrt(3 * h) + math.sqrt(2 * h) / 2
    )
    assert h <= math.log(T)
    assert bounds.drift_of_counts(1, [1.0]) == 0


@pytest.mark.parametrize("T", [2, 3, 10, 1000, 10**5])
def test_drift_of_two_actions_exceeds_plain_sum(T: int) -> None:
    """(1/2) sum_t sd(M_t), straight from the proof, is at most (pi/4) sqrt(T), and not much below it."""
    n = np.arange(T, dtype=np.float64)
    exact = float(np.sum(np.sqrt(n / ((T - 1) * (T - n))))) / 2
    assert exact <= bounds.drift(T, 2) <= exact + 1


@pytest.mark.parametrize(("T", "k", "delay"), [(2**10, 2, 0), (1000, 5, 3), (2**14, 3, 40)])
def test_simulation_bound_equals_plain_sum(T: int, k: int, delay: int) -> None:
    drift, leaders, others, n = 1.0, 0.0, 0.0, 1
    while n < T:
        drift += (
            math.sqrt(2 * math.log(k))
            * min(n, T - n)
            * T
            / (T - n)
            * math.sqrt((T - n + 1) / (T * n))
            + delay
        )
        leaders += min(
            n, 1 + math.sqrt(2 * math.log(k)) * sum(1 / math.sqrt(i) for i in range(1, n))
        )
        others, n = others + n / 8, 2 * n
    assert bounds.simulation(T, k, delay=delay) == pytest.approx(min(drift + leaders, T), rel=1e-12)
    assert drift + leaders < T or T < 2**14
    own = bounds.simulation(T, k, delay=delay, base=lambda n: n / 8)
    assert own == pytest.approx(min(drift + others, T), rel=1e-12)
    assert drift + others < T


@pytest.mark.parametrize(
    ("T", "k", "price"), [(2**44, 2, 1.0), (2**44 + 12345, 3, 0.5), (2**40, 6, 0.0)]
)
def test_paper_elimination_bound_equals_plain_sum(T: int, k: int, price: float) -> None:
    """Rounds of block i cost 4 e_{i-1}, with the radius of the paper; only at such horizons is that below T."""
    i0 = math.ceil(math.log2(k))
    regret = 2.0 ** (i0 + 1) + 1 + bounds.drift(T, k)
    for i in range(i0 + 1, math.ceil(math.log2(T))):
        regret += (min(2 ** (i + 1), T) - 2**i) * 4 * _radius(T, k, i - 1)
    assert regret < T
    switches = bounds.simulation_elimination_switches(T, k)
    assert bounds.simulation_elimination(T, k, price) == pytest.approx(
        regret + price * switches, rel=1e-12
    )


@pytest.mark.parametrize(("T", "k", "rate"), [(2**12, 2, 0.5), (5000, 3, 0.9), (2**9, 2, 1.0)])
def test_serfling_lp_bound_equals_plain_sum(T: int, k: int, rate: float) -> None:
    """A block costs radius + margin + (1/T + radius + margin) / rate a round, 1 where nothing is played."""
    sizes = growing_counts(T, 2.0)
    log = math.log(len(sizes) * 2 * (2 * k + 1) / 0.05)
    total, blind = 1.0, 0
    for n, end in zip(sizes, [*sizes[1:], T], strict=True):
        r, m = _lp_radius(n, T, log), lp_margin(n, end - n, T, log)
        loss = r + m + (1 / T + r + m) / rate
        blind += rate - 1 / T <= m
        total += (end - n) * (1.0 if rate - 1 / T <= m else min(1.0, loss))
    assert 0 < blind < len(sizes)
    assert bounds.serfling_lp(T, k, 1, rate, 0.05) == pytest.approx(min(total, T), rel=1e-12)


def test_simulation_has_corrected_constant() -> None:
    """The concentration term alone: below 4.18 sqrt(T ln k) at every T, and above 4.17 from about 285,000 on."""

    def constant(T: int) -> float:
        return (bounds.simulation(T, 2, base=lambda _: 0.0) - 1) / math.sqrt(T * math.log(2))

    assert constant(285_212) > 4.17
    largest = max(constant(int(2**i * x)) for i in range(7, 40) for x in np.arange(1, 2, 0.01))
    assert 4.178 < largest < 4.18


def naive_frugal(T: int, k: int, block: int, s: float, parts: int = 2) -> tuple[float, float]:
    """A and B of Theorem 2 by plain sums: every R, and the integral on a grid of 4,000 points from the left."""
    G = []
    n = block
    while n < T:
        G.append(n)
        n += max(block, math.ceil(n / parts))
    x = np.arange(4000) / 4000
    A = 0.0
    for R in range(1, T + 1):
        tail = sum(
            math.exp(s / (math.e * k)) * (n * k / R) ** s * np.exp(-2 * n * x * x)
            for n in G
            if n < R / k
        )
        later = [n for n in G if n >= R / k]
        if later:
            tail = tail + np.exp(-2 * later[0] * x * x)
        A += float(np.mean(np.minimum(1.0, tail)))
    length = dict(zip(G, np.diff([*G, T]), strict=True))
    share = T / k
    B = sum(
        (k - 1)
        * length[n]
        * min(1, math.sqrt(s * math.log(share / n) / (2 * n)) + 1 / (4 * math.sqrt(n)))
        for n in G
        if n < share
    )
    v = {n: math.sqrt(math.log(math.e * n / share) / (2 * n)) for n in G if n >= share}
    if v:
        B += T * max(sum(length[m] * v[m] for m in v if m <= n) / n for n in v)
        B += sum(
            (k - 1)
            * length[n]
            * math.exp(-2 * n * y * y)
            * min(math.sqrt(math.pi / (8 * n)), 1 / (4 * n * y))
            for n, y in v.items()
        )
    return A, B


@pytest.mark.parametrize(
    ("T", "k", "block", "s"),
    [(300, 2, 16, 1.0), (400, 5, 1, 1.0), (200, 3, 4, 2.0), (90, 40, 1, 1.0)],
)
def test_frugal_ucb_bound_equals_plain_sum(T: int, k: int, block: int, s: float) -> None:
    A, B = naive_frugal(T, k, block, s)
    assert A * 0.999 <= _best_index_excess(T, k, block, s) <= 1.04 * A + 1
    assert _other_index_deficit(T, k, block, s) == pytest.approx(B)
    assert all(
        later - n == max(block, math.ceil(n / 2))
        for n, later in itertools.pairwise(_frugal_counts(T, block))
    )


@pytest.mark.parametrize(("T", "k"), [(300, 2), (200, 5), (90, 40)])
def test_thrifty_bound_equals_plain_sum(T: int, k: int) -> None:
    """Budget, first plays, A and B on the list that grows by eighths, drift, tolls, switches, each by a plain sum."""
    A, B = naive_frugal(T, k, 1, 0.7, parts=8)
    assert A * 0.999 <= _best_index_excess(T, k, 1, 0.7, 8) <= 1.04 * A + 1
    assert _other_index_deficit(T, k, 1, 0.7, 8) == pytest.approx(B)
    indices = k - 1 + _best_index_excess(T, k, 1, 0.7, 8) + B + bounds.drift(T, k)
    assert bounds.thrifty_exploration_budget(T, k) == pytest.approx(indices)
    G = [n for n in _frugal_counts(T, 1, 8) if n < T / k]
    blocks = (
        k * (len(G) + 1) - 1
    )  # of all actions at a count just above those of the list that are below T/k
    regret = bounds.thrifty(T, k, 2.0) - bounds.thrifty(T, k, 0.0)
    assert bounds.thrifty(T, k, 0.0) == pytest.approx(min(T, 2 * indices))
    assert regret <= 2.0 * (blocks + k) + 16 * sum(1 / R for R in range(1, T + 1))


def gap_bound(T: int, gaps: list[float], scale: float, price: float) -> float:
    """Bound sum D_a E N_a for FrugalUCB with scale > 1 and these gaps (docs/theory/frugal.md, "With gaps")."""
    k, least, block = len(gaps) + 1, min(gaps), frugal_first_block(T, len(gaps) + 1, price)
    c = math.exp(scale / (math.e * k))
    own = [
        (12 * scale * max(1, math.log(T * D * D / (8 * scale * k))) + 12) / D + 2 * block * D
        for D in gaps
    ]
    shared = 16 * k * (1 + 2.84 * c / (scale - 1)) / least
    return sum(own) + shared + 8 * price * (1 + max(0.0, math.log(max(1e-300, 8 * price / least))))


@pytest.mark.parametrize(
    ("k", "gap", "price"), [(2, 0.5, 0.0), (2, 0.5, 10.0), (5, 0.5, 1.0), (3, 0.25, 1.0)]
)
def test_bound_with_gaps_of_frugal_ucb(k: int, gap: float, price: float) -> None:
    """The mean over eight orders of sum D_a N_a: below the bound, which is below T/2, and above a hundredth of it."""
    T, scale = 2**14, 2.0
    pool = trap_pool(T, k, gap)
    gaps = np.asarray(pool.means) - pool.means[0]
    learner = FrugalUCB(price, scale=scale)
    paid = [
        float(play(learner, pool, switching_price=price, seed=seed).plays @ gaps)
        for seed in range(8)
    ]
    bound = gap_bound(T, gaps[1:].tolist(), scale, price)
    assert bound < T / 2
    assert bound / 100 < np.mean(paid) < bound


def test_constant_of_frugal_ucb() -> None:
    """A + B <= 8.1 sqrt(k T) at scale 1, 6.9 at 1.5 and 6.8 at 2, over five horizons, four k and two first blocks."""
    for scale, constant in ((1.0, 8.1), (1.5, 6.9), (2.0, 6.8)):
        for T, k, block in itertools.product((2**6, 2**10, 2**14, 2**18), (2, 10, 1000), (1, 16)):
            if k < T:
                total = _best_index_excess(T, k, block, scale) + _other_index_deficit(
                    T, k, block, scale
                )
                assert total <= constant * math.sqrt(k * T)


def naive_empirical(
    T: int, k: int, m: int, rho: float, delta: float, growth: float, rng: int
) -> float:
    """Theorem 4a with its sums written out; blocks as the learner has them."""
    n = [1]
    while n[-1] < T:
        rest = T - (T - n[-1]) / growth**2
        n.append(max(n[-1] + 1, math.floor(min(n[-1] * growth, rest))))
    N = len(n) - 1
    log = math.log(N * (m + 1) * (k + 2) / delta)
    L = [n[i + 1] - n[i] for i in range(N)]
    e = [math.sqrt(min(1 - (x - 1) / T, (1 - x / T) * (1 + 1 / x)) * log / (2 * x)) for x in n[:N]]
    ahead = [T / (T - n[i]) * e[i] for i in range(N)]
    z = [1 - (L[i] - 1) / (T - n[i]) + rng for i in range(N)]

    def eta(i: int) -> float:
        fallen = sum(L[j] * ahead[j] / (T - n[j + 1]) for j in range(i))
        return fallen + math.sqrt(
            log / 2 * sum(L[j] * z[j] / (T - n[j + 1]) ** 2 for j in range(i))
        )

    safe = list(
        itertools.takewhile(lambda i: (T - n[i + 1]) * (rho - eta(i + 1)) >= 1, range(N - 1))
    )
    total = sum(L[i] * min(1, e[i] + ahead[i] + (e[i] + eta(i)) / (rho + e[i])) for i in safe)
    total += (
        1
        + sum(L[i] for i in range(N) if i not in safe)
        + math.sqrt(log / 2 * sum(L[i] * z[i] for i in safe))
    )
    return min(T, total)


@pytest.mark.parametrize(
    ("T", "rho", "growth"), [(1000, 0.5, 1.2), (3000, 0.9, 1.5), (5000, 0.1, 2.0), (20, 0.5, 1.2)]
)
def test_empirical_lp_bound_equals_plain_sum(T: int, rho: float, growth: float) -> None:
    for sampled in (True, False):
        naive = naive_empirical(T, 4, 2, rho, 0.1, growth, int(sampled))
        assert bounds.empirical_lp(T, 4, 2, rho, 0.1, growth, sampled=sampled) == pytest.approx(
            naive
        )


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_plays_of_ucb2_fall_with_gap(alpha: float) -> None:
    plays = [bounds.ucb2_plays(gap, 5000, alpha) for gap in np.linspace(0, 1, 60)]
    assert plays == sorted(plays, reverse=True)
    assert plays[0] == 5000
    assert _ucb2_counts(5000, alpha) == sorted(
        {math.ceil((1 + alpha) ** r) for r in range(200)} & set(range(5000))
    )


def test_small_horizons_are_bounded_to_round() -> None:
    """Of T rounds only T - 1 can switch; and exploring 2 of 10 rounds for each of two actions leaves F = 6."""
    assert [bounds.elimination_switches(T, 5) for T in (1, 2, 3)] == [0, 1, 2]
    assert bounds.explore_then_commit(10, 2, 2) == pytest.approx(
        2 + math.sqrt(2 * math.log(2) * (6 + 2) * (6 + 1) / 2)
    )


def test_erm_bound_with_many_labellings() -> None:
    """With fewer rows than the dimension, n / v counts as 1."""
    wanted = math.sqrt(4 * (10 * math.log(2 * math.e) + math.log(4 / 0.05)) / 5)
    assert bounds.uniform_convergence_corrected(5, 10, 0.05) == pytest.approx(wanted)


def test_paper_simulation_bound_uses_its_margin() -> None:
    """Three of its epsilons, unless another margin is given; at a horizon where it says something."""
    arguments = (2**40, 2, 1, 1.0, 0.05)
    assert (
        bounds.budget_simulation(*arguments)
        == bounds.budget_simulation(*arguments, margin=3.0)
        < 2**40
    )
    assert bounds.budget_simulation(*arguments, margin=4.0) > bounds.budget_simulation(*arguments)


def test_simulation_bound_checks_conditions() -> None:
    T, k = 4096, 3
    hedge = [bounds.hedge(2**i, k) for i in range(12)]
    expected = bounds.simulation(T, k, 5, base=lambda n: hedge[n.bit_length() - 1])
    faithful = learners.Simulation(Hedge(), learners.LemmaSchedule(5))
    assert faithful.bound(k, T, 5) == faithful.bound(k, T, 2) == expected
    assert faithful.bound(k, T, 6) is None
    assert (
        learners.Simulation(Hedge(), learners.LemmaSchedule(5), past="all").bound(k, T, 5) is None
    )
    assert learners.Simulation(Hedge(), learners.PaperSchedule(5)).bound(k, T, 5) is None
    assert learners.Simulation(learners.BirthdayTest()).bound(k, T) is None
    growing = learners.Simulation(Hedge()).bound(k, T)
    assert growing is not None
    assert learners.Simulation(Hedge()).bound(k, T, 5) == growing + 5
    assert learners.Simulation(Hedge(), learners.GrowingSchedule(1.5)).bound(k, T) is None
    assert learners.Simulation(FollowTheLeader()).bound(k, T) == bounds.simulation(T, k)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000, 12345])
def test_sums_in_constant_time_equal_sums(count: int) -> None:
    roots = math.fsum(1 / math.sqrt(n) for n in range(1, count + 1))
    assert sum_of_inverse_roots(count) == pytest.approx(roots, rel=1e-13)
    assert harmonic(count) == pytest.approx(
        math.fsum(1 / n for n in range(1, count + 1)), rel=1e-13
    )


def test_simulation_bound_takes_logarithmic_time() -> None:
    assert bounds.simulation(10**15, 2) < 10**9


def test_leader_may_gain_by_a_delay() -> None:
    """Both orders of two rows: regret 1/2 without delay and 0 with it, so no bound holds for both."""
    regrets = []
    for delay in (0, 1):
        pools = [Pool([[0.0, 1.0], [1.0, 0.0]]), Pool([[1.0, 0.0], [0.0, 1.0]])]
        plays = [
            play(FollowTheLeader(), pool, order="given", delay=delay, seed=0) for pool in pools
        ]
        regrets.append(sum(trace.loss for trace in plays) / 2 - 1.0)
    assert regrets == [0.5, 0.0]


def test_bound_of_a_long_list_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of 100 GB has billions of rows; five arrays of that length were made."""
    whole = bounds.follow_the_leader(300_000, 3, delay=2)
    monkeypatch.setattr(common, "_TERMS_AT_A_TIME", 1000)
    tracemalloc.start()
    try:
        assert bounds.follow_the_leader(300_000, 3, delay=2) == pytest.approx(whole, rel=1e-12)
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()
