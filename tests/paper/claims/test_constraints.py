"""Claims about budgets: regret on three actions, slopes, bounds, prices, and the least regret of any learner."""

from typing import Any

import numpy as np
import pytest

from pools import OWN, REAL, SHARED
from tombola import Trace, instances, play
from tombola.bounds import budget as bounds
from tombola.budget.budget import Budget, BudgetTerms
from tombola.learners import (
    BudgetedLearner,
    BudgetSimulation,
    DualDescent,
    EmpiricalLP,
    PrimalDual,
    SerflingLP,
)
from tombola.paper.claims import constraints
from tombola.paper.source_faults import injected
from tombola.pool import Pool

LONG = 2**16


def traces(learner: BudgetedLearner, T: int, rate: float, count: int, **how: Any) -> list[Trace]:
    """Play on `count` pools of three actions, fluid unless told otherwise."""
    how = {"mixed": True, **how}
    return [
        play(
            learner,
            instances.three_actions(T, seed=s),
            budget=Budget(rate * T, worst=1.0, null=0),
            seed=s,
            **how,
        )
        for s in range(count)
    ]


def mean_regret(learner: BudgetedLearner, T: int, rate: float, count: int, **how: Any) -> float:
    return float(np.mean([trace.regret for trace in traces(learner, T, rate, count, **how)]))


@pytest.mark.full
def test_budget_simulation_regret() -> None:
    """Means of 3 runs whose standard deviation is about 90: off by 300 with probability below 1e-8; seeds are fixed."""
    assert mean_regret(BudgetSimulation(), LONG, 0.5, 3, stop="strict") == pytest.approx(
        7281, abs=300
    )
    with pytest.warns(UserWarning, match="never plays"):
        assert mean_regret(BudgetSimulation(), LONG, 0.1, 1, stop="strict") == pytest.approx(
            0.2 * LONG, abs=1
        )


@pytest.mark.parametrize(("rate", "most"), [(0.5, 15), (0.1, 40)])
@pytest.mark.full
def test_empirical_lp_regret_is_small(rate: float, most: float) -> None:
    """Each of 5 fluid runs is about 2 or 5, with a spread of the same size; seeds are fixed."""
    for stop in ("strict", "fits"):
        assert mean_regret(EmpiricalLP(growth=1.2), LONG, rate, 5, stop=stop) < most


@pytest.mark.parametrize(
    "learner",
    [
        DualDescent(),
        # Compiled for 5 seconds each; other tests of this file bound their regret in every run.
        pytest.param(PrimalDual(), marks=pytest.mark.full),
        pytest.param(EmpiricalLP(), marks=pytest.mark.full),
    ],
    ids=repr,
)
def test_practical_learners_have_root_regret(learner: BudgetedLearner) -> None:
    """Slope of log regret (at least 1) on log T, from means of 16 runs that are within a fifth of
    their value.

    Seeds are fixed; with others a slope of .5 would pass .65 with probability below 1e-3.
    """
    sizes = [2**i for i in range(9, 16, 2)]
    regrets = [max(1.0, mean_regret(learner, T, 0.5, 16)) for T in sizes]
    slope = np.polyfit(np.log(sizes), np.log(regrets), 1)[0]
    assert slope < 0.65


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize(
    ("learner", "T", "rate", "count"),
    [
        pytest.param(SerflingLP(), 2**14, 0.5, 5, marks=pytest.mark.full),
        (SerflingLP(), 2**14, 0.2, 5),
        (EmpiricalLP(), 2**16, 0.5, 3),
        (EmpiricalLP(), 2**16, 0.2, 3),
    ],
)
def test_bounds_of_linear_programs(
    request: pytest.FixtureRequest, learner: Any, T: int, rate: float, count: int, mixed: bool
) -> None:
    """Each run may fail with probability .05 by the theorem, in truth with far less; seeds are fixed."""
    if isinstance(learner, SerflingLP):
        request.getfixturevalue("short_work")
    bound = learner.bound(BudgetTerms(3, 1, T, rate, 0), 0.05)
    assert bound is not None
    for trace in traces(learner, T, rate, count, mixed=mixed, stop="strict"):
        assert trace.regret <= bound < T
        if isinstance(learner, SerflingLP):
            assert trace.balance.left[0] >= 1
            assert trace.plays[1:].sum() > T / 8
        else:
            assert bound < trace.regret + trace.reward, "playing nothing loses more than the bound"


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize(
    ("T", "k", "rate"), [(4096, 3, 0.5), (4096, 3, 0.05), (500, 25, 0.1), (797, 57, 0.5)]
)
def test_serfling_lp_first_play(T: int, k: int, rate: float) -> None:
    rng = np.random.default_rng(1)
    losses, costs = rng.random((T, k)), rng.random((T, k))
    losses[:, 0], costs[:, 0] = 1.0, 0.0
    pool = Pool(losses, costs=costs)
    trace = play(
        SerflingLP(), pool, budget=Budget(rate * T, worst=1.0, null=0), stop="strict", seed=1
    )
    first = bounds.serfling_lp_first_play(T, k, 1, rate, 0.05)
    played = np.flatnonzero(np.asarray(trace.actions) != 0)
    assert (first is None) == (played.size == 0)
    assert first is None or played[0] + 1 >= first


@pytest.mark.usefixtures("short_work")
def test_primal_dual_bound_on_iid_rows() -> None:
    for trace in traces(PrimalDual(), 4096, 0.5, 5, order="iid", stop="strict"):
        assert trace.regret <= bounds.primal_dual(4096, 3, 1, 0.5, 0.05)


def test_printed_and_corrected_bounds() -> None:
    printed = bounds.budget_simulation_printed(2**24, 3, 1, 0.5, 0.05)
    corrected = bounds.budget_simulation(2**24, 3, 1, 0.5, 0.05)
    assert printed < corrected < 2**24
    first, later = (
        bounds.budget_first_play(2**16, 3, 1, 0.5, 0.05, margin=margin) for margin in (2.0, 3.0)
    )
    assert first < later
    roots = [bounds.serfling_lp(2**i, 3, 1, 0.5, 0.05) / 2 ** (i / 2) for i in (20, 24, 28)]
    assert max(roots) < 1.1 * min(roots), "of order sqrt(T), up to ln ln T"
    assert bounds.serfling_lp(1, 3, 1, 0.5, 0.05) == 1


SHARES = {0.25: 93.0, 0.5: 95.0, 0.75: 97.0}


PRICED = ["swebench_bash", "routellm_mmlu", "frugalml_yelp", "frugalml_rafdb", "frugalml_command"]


@pytest.mark.full
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ["own_language_models", *(PRICED if REAL else [])])
def test_empirical_lp_on_real_prices(name: str, share: float) -> None:
    """Means over 5 (500 rows: 20) runs, whose standard deviation is below 1.5 %; seeds are fixed."""
    data = {} if name in OWN else np.load(SHARED / f"{name}.npz", allow_pickle=True)
    pool = OWN[name]() if name in OWN else Pool(data["loss"], costs=data["cost"])
    assert pool.costs is not None
    whole = float(pool.costs[:, pool.best].sum(dtype=np.float64))
    percents = []
    for seed in range(20 if pool.rows < 1000 else 5):
        trace = play(EmpiricalLP(), pool, budget=Budget(share * whole, null="add"), seed=seed)
        assert not any(trace.overspent)
        percents.append(100 * trace.reward / trace.comparator_reward)
    assert np.mean(percents) >= (99.0 if pool.rows > 10_000 else SHARES[share])


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("resources", "delay"), [(1, 0), (2, 7), (5, 50)])
def test_every_affordable_play_is_made(resources: int, delay: int) -> None:
    assert constraints._affordable_plays(resources, delay) == (99, 99)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("fault", ["reservations forgotten", "costs rounded down"])
def test_affordable_plays_show_faults_of_the_tracker(fault: str) -> None:
    with injected(constraints.Constraints().source_faults()[fault]):
        made, affordable = constraints._affordable_plays(2, delay=7)
    assert made > affordable


@pytest.mark.parametrize("margin", [2.0, 3.0])
def test_first_play_formula_is_that_of_the_bound(margin: float) -> None:
    for T, m, rate in ((2**16, 1, 0.8), (2**14, 5, 0.4), (2**18, 2, 0.2)):
        assert constraints._first_play_formula(T, m, rate, margin, 0) == bounds.budget_first_play(
            T, 3, m, rate, 0.05, margin
        )


@pytest.mark.parametrize("T", [2, 4, 8, 16])
def test_least_regret_is_a_sixteenth(T: int) -> None:
    assert constraints._least_regret(T) == pytest.approx(T / 16, abs=1e-9)
    assert constraints._regrets_by_spending(T).max(axis=0).min() >= T / 16 - 1e-12
