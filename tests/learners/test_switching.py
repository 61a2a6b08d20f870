"""Learners for switching costs: against their naive twins, their bounds by enumeration, and what they must show."""

import math

import numpy as np
import pytest

from naive import switching as naive
from pools import REAL, SHARED
from tombola import UCB2, Pool, compare, instances, play
from tombola.bounds import drift, thrifty_exploration_budget
from tombola.bounds import switching as bounds
from tombola.learners import (
    BatchedExp3,
    BernsteinElimination,
    BettingElimination,
    BlockUCB,
    FrugalUCB,
    SerflingElimination,
    SimulationSuccessiveElimination,
    Thrifty,
    TsallisSwitching,
    UCB2WithoutReplacement,
)
from tombola.learners.base import Learner
from twin_cases import Case, after, follow, new_live, steps


@pytest.mark.parametrize(
    ("rows", "actions", "price"),
    [pytest.param(6000, 2, 1.0, marks=pytest.mark.full), (2500, 3, 10.0)],
)
def test_exploration_budget_of_thrifty_runs_out(rows: int, actions: int, price: float) -> None:
    """Without noise a few losses suffice, but not for the index: it decides once the exploration budget is spent."""
    losses = np.full((rows, actions), 0.9)
    losses[:, 0] = 0.6
    follow(Case(Thrifty(price), naive.Thrifty, {"price": price}), losses, after(rows))
    live = new_live(Thrifty(price), losses)
    actions_played = [action for action, _ in steps(live, losses, after(rows, 0))]
    assert set(actions_played[200:900]) == {0}
    assert set(actions_played[900:]) == set(range(actions))
    assert (
        0 <= live.runner.state.exploration_budget[0] < thrifty_exploration_budget(rows, actions) / 5
    )


# Switches, and what elimination can do


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 8, 16])
@pytest.mark.parametrize("T", [1, 2, 3, 16, 33, 255, 256])
def test_switches_of_eliminations_stay_below_their_bound(k: int, T: int) -> None:
    """Balanced rows, so that hardly anything is dropped, and rows with one bad action, so that it is."""
    bad = np.tile((np.arange(k) == 0).astype(float), (T, 1))
    for pool in (instances.balanced(T, k, seed=k), Pool(bad)):
        faithful = play(SimulationSuccessiveElimination(), pool, seed=0).switches
        tight = play(SerflingElimination(delta=0.5), pool, seed=0).switches
        assert faithful <= bounds.simulation_elimination_switches(T, k)
        betting = play(BettingElimination(delta=0.5), pool, seed=0).switches
        assert tight <= bounds.elimination_switches(T, k, 0.5)
        assert betting <= bounds.elimination_switches(T, k, 0.5)


@pytest.mark.parametrize(("k", "T"), [(2, 64), (4, 256), (5, 512), (7, 128), (16, 1024)])
def test_switches_of_the_faithful_learner_are_exact_when_nothing_is_dropped(k: int, T: int) -> None:
    pool = instances.balanced(T, k, seed=0)
    i0 = math.ceil(math.log2(k))
    wraps = (
        2**i0 - 1
    ) % k == 0  # the rounds in turn end with the action that begins the first block
    switches = play(SimulationSuccessiveElimination(), pool, seed=0).switches
    assert switches == bounds.simulation_elimination_switches(T, k) - (1 if wraps else 0)


def test_every_active_action_has_the_count_at_which_actions_may_be_dropped() -> None:
    """After each stage the counts of the active actions are those that the union bound is over."""
    losses = np.random.default_rng(0).random((3000, 5)) * [1.0, 1.0, 0.6, 0.4, 0.1]
    counts = bounds.elimination_counts(3000, 5, 0.5)
    live, seen, active = new_live(SerflingElimination(delta=0.5), losses), set(), set(range(5))
    for t, _ in enumerate(steps(live, losses, after(3000, 0))):
        now = set(live.runner.state.active[: int(live.runner.state.left[0])].astype(int).tolist())
        if now != active:
            seen.add(len(now))
            dropped = active - now
            assert all(live.runner.state.seen[a] in counts for a in dropped), t
            active = now
    assert len(seen) >= 2, "actions are dropped at different times"


@pytest.mark.parametrize(
    "radius",
    [
        SerflingElimination(delta=0.2),
        BernsteinElimination(delta=0.2),
        pytest.param(
            BettingElimination(delta=0.2), marks=pytest.mark.full
        ),  # 28 s of processor time
    ],
)
def test_the_best_action_is_dropped_seldom(radius: Learner) -> None:
    """At most delta = 0.2 of 200 shuffles of a pool with small gaps; a rate of 0.2 alarms with probability < 1e-4."""
    pool, lost = instances.gap(400, 3, 0.04, seed=1), 0
    for seed in range(200):
        losses = np.random.default_rng(seed).permutation(pool.losses)
        live = new_live(radius, losses)
        list(steps(live, losses, after(400, 0)))
        lost += 2.0 not in live.runner.state.active[: int(live.runner.state.left[0])]
    assert lost <= 62


def test_betting_drops_in_the_middle_of_a_stage() -> None:
    """Its intervals hold at all counts, so it need not wait for one of those that Serfling's are read at."""
    losses = np.random.default_rng(0).random((3000, 5)) * [1.0, 1.0, 0.6, 0.4, 0.1]
    counts = bounds.elimination_counts(3000, 5, 0.5)
    live, left = new_live(BettingElimination(delta=0.5), losses), 5
    for _ in steps(live, losses, after(3000, 0)):
        left = int(live.runner.state.left[0])
    assert left == 1
    assert live.runner.state.active[0] == 4
    assert any(int(count) not in counts for count in live.runner.state.counts[:4])


@pytest.mark.parametrize("k", [2, 3, 8])
def test_elimination_is_possible_exactly_from_the_horizon_it_names(k: int) -> None:
    T = bounds.first_elimination_horizon(k)
    assert bounds.difference_needed(T, k) < 1 <= bounds.difference_needed((T - 1) // 2 + 1, k)
    assert bounds.difference_needed(T - 1, k) >= 1
    best = np.zeros((1, k))
    best[0, :-1] = 1.0
    pool = Pool(np.repeat(best, T, axis=0))
    assert play(SimulationSuccessiveElimination(), pool, order="given", seed=0).actions[-1] == k - 1
    shorter = Pool(np.repeat(best, T - 1, axis=0))
    actions = play(SimulationSuccessiveElimination(), shorter, order="given", seed=0).actions
    assert set(actions[(T - 1) // 2 :].tolist()) == set(range(k))


# Bounds


@pytest.mark.parametrize("T", [1, 2, 10, 1000, 10**6])
def test_drift_is_just_above_its_sum(T: int) -> None:
    """The sum of sqrt((t-1) (T-t+2) ln k / (2T)) / (T-t+1), straight from the proof."""
    left = np.arange(1, T + 1, dtype=np.float64)
    exact = float(np.sum(np.sqrt((T - left) * (left + 1) * math.log(3) / (2 * T)) / left))
    assert exact <= drift(T, 3) <= exact + 3


def test_the_tight_bound_grows_like_the_root_of_t_log_t() -> None:
    ratios = [
        bounds.elimination(2**i, 2, price=0.0) / math.sqrt(2 * 2**i * math.log(2**i))
        for i in (24, 32, 40)
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < 6
    printed = [
        bounds.simulation_elimination(2**i, 2) / bounds.elimination(2**i, 2) for i in (24, 32, 40)
    ]
    assert printed == sorted(printed)


@pytest.mark.parametrize("price", [0.0, 0.3, 1.0, 10.0])
def test_the_block_of_batched_exp3_is_the_best_for_its_bound(price: float) -> None:
    tuned = bounds.batched_exp3(5000, 3, price)
    assert tuned <= 1.02 * min(
        bounds.batched_exp3(5000, 3, price, block) for block in range(1, 300)
    )


@pytest.mark.parametrize("order", ["random", "given"])
@pytest.mark.parametrize("price", [0.0, 1.0, 5.0])
def test_regret_stays_below_the_bounds_that_hold_in_every_order(order: str, price: float) -> None:
    """Mean over 30 plays, plus four standard errors, on the split pool and on a random walk."""
    for pool in (instances.split(500), instances.random_walk(500, 3, seed=1)):
        learners = [BatchedExp3(price=price), TsallisSwitching(price=price)]
        runs = compare(pool, learners, order, repetitions=30, switching_price=price, seed=3)
        for learner in learners:
            regrets = runs.regrets(type(learner).__name__)
            bound = learner.bound(pool.k, pool.rows)
            assert bound is not None
            assert regrets.mean() + 4 * regrets.std() / math.sqrt(30) < bound


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("learner", [SerflingElimination(), BernsteinElimination()])
def test_regret_in_random_order_stays_below_bound(learner: Learner) -> None:
    pool = instances.gap(2**12, 2, 0.3, seed=0)
    regrets = compare(pool, [learner], repetitions=10, switching_price=1.0, seed=0).regrets(
        type(learner).__name__
    )
    bound = learner.bound(2, 2**12)
    assert bound is not None
    assert float(regrets.max()) < bound < 2**12


# What must be seen


@pytest.fixture(scope="module")
def gap_pool() -> Pool:
    return instances.gap(2**16, 2, 0.1, seed=1)


@pytest.mark.full
def test_betting_drops_sooner_where_losses_are_small() -> None:
    """Means .05 against .02: the paired 95 % interval of 10 plays is below 0 by far (false alarm below 1e-6)."""
    pool = instances.gap(2**14, 5, 0.03, mean=0.05, seed=3)
    learners = {
        "betting": BettingElimination(delta=0.1),
        "Serfling": SerflingElimination(delta=0.1),
    }
    runs = compare(pool, learners, repetitions=10, switching_price=1.0, seed=0)
    assert runs.difference("betting", "Serfling").high < -50


def test_frugal_ucb_does_not_switch_at_the_end(gap_pool: Pool) -> None:
    for seed in range(10):
        actions = play(FrugalUCB(), gap_pool, seed=seed).actions
        assert np.count_nonzero(np.diff(actions[3 * 2**14 :])) <= 1


@pytest.mark.parametrize("price", [0.0, 1.0, 20.0, 1000.0])
def test_frugal_ucb_switches_less_when_it_costs_more(price: float) -> None:
    pool = instances.gap(2**12, 4, 0.2, seed=0)
    few, many = (
        compare(pool, [FrugalUCB(price=p)], repetitions=10, seed=0)
        .cell("FrugalUCB")
        .sums[:, -1, 3]
        .mean()
        for p in (2 * price + 1, price)
    )
    assert few <= many
    assert price < 1000 or many <= 1


@pytest.mark.full
@pytest.mark.parametrize(
    "pool",
    [
        instances.gap(2**16, 2, 0.1, seed=1),
        instances.gap(2**16, 10, 0.1, seed=2),
        instances.gap(2**16, 5, 0.03, mean=0.05, seed=3),
        *(["aslib_qbf_2014"] if REAL else []),
    ],
    ids=["k=2 gap .1", "k=10 gap .1", "k=5 .05 against .02", *(["aslib_qbf_2014"] if REAL else [])],
)
def test_frugal_ucb_beats_all_others(pool: Pool | str) -> None:
    """Paired differences of 40 plays, all of the interval below 0."""
    table = Pool(np.load(SHARED / f"{pool}.npz")["loss"]) if isinstance(pool, str) else pool
    others: dict[str, Learner] = {
        "faithful": SimulationSuccessiveElimination(),
        "Serfling": SerflingElimination(delta=0.1),
        "Serfling 1/T": SerflingElimination(),
        "Bernstein": BernsteinElimination(delta=0.1),
        "Betting": BettingElimination(delta=0.1),
        "UCB2": UCB2(),
        "UCB2 without replacement": UCB2WithoutReplacement(),
        "BlockUCB": BlockUCB(),
        "BatchedExp3": BatchedExp3(),
        "TsallisSwitching": TsallisSwitching(),
    }
    runs = compare(
        table, {"best": FrugalUCB(), **others}, repetitions=40, switching_price=1.0, seed=0
    )
    for name in others:
        assert runs.difference("best", name).high < 0
