"""Budget, balance, ticks, and OPT_LP against brute force and scipy."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tombola import play
from tombola.budget.budget import _AMOUNT_BITS, Budget, BudgetRun, ticks_per_unit
from tombola.budget.optimum import (
    _best_mix_many_resources,
    _pivot,
    best_mix,
    best_mix_one_resource,
    optimum,
)
from tombola.budget.tracker import (
    CLOSED,
    STOPPED,
    BudgetTracker,
    _cost_in_ticks,
    _to_ticks,
    charge,
    new_tracker,
    update_affordable,
)
from tombola.errors import ParameterError, PoolError
from tombola.feedback.budgeted import _make_decide
from tombola.learners import EmpiricalLP
from tombola.pool import Pool

AMOUNTS = (
    st.floats(0, 1e300, allow_subnormal=False)
    | st.integers(0, 10**6).map(float)
    | st.sampled_from([5e-324, 0.1])
)


@given(AMOUNTS, st.floats(0, 1e300))
@example(1e300, 1e-300)
def test_ticks_round_costs_up_and_amounts_down(amount: float, cost: float) -> None:
    one = ticks_per_unit(np.array([amount]))[0]
    assert math.frexp(one)[0] == 0.5, "a power of two"
    whole = float(np.floor(amount * one))
    assert 0 <= whole < 2**_AMOUNT_BITS
    assert Fraction(whole) / Fraction(one) <= Fraction(amount)
    with np.errstate(over="ignore"):
        counted = _to_ticks(cost, float(one))
    assert math.isinf(counted) or counted == math.ceil(Fraction(cost) * Fraction(float(one)))
    assert amount == 0 or amount < 1e-290 or whole >= 2 ** (_AMOUNT_BITS - 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_mix_cost_covers_exact_sum(k: int, seed: int) -> None:
    """In exact fractions: free is free, one whole action costs what it costs, and a mix at most its
    slack more.

    A whole action with dust of another is a mix, though the sum of their costs is rounded to that
    of the first.
    """
    generator = np.random.default_rng(seed)
    costs = generator.random((k, 1)) * 10.0 ** generator.integers(-320, 300)
    costs[generator.random(k) < 0.3] = 0.0
    costs[0] = 0.0
    limits = Budget(max(1e-300, 3 * costs.max()), worst=1.0, null=0).resolve(k, 1)
    tracker, _ = new_tracker(BudgetRun(limits, mixed=True), 9)
    whole, unit = np.eye(k)[generator.integers(k)], Fraction(float(tracker.unit_ticks[0]))
    mix = np.where(generator.random(k) < 0.5, generator.dirichlet(np.full(k, 0.1)), 0.0)
    free_dust, dust = np.where(costs[:, 0] == 0.0, mix, whole), np.where(whole == 0.0, 1e-17, whole)
    slack = Fraction(3 * tracker.slack)
    for played, more in (
        (whole, 0),
        (free_dust, 0),
        (dust, slack),
        (mix, slack),
        (np.full(k, 1 / k), slack),
    ):
        products = [
            Fraction(p) * Fraction(c)
            for p, c in zip(played.tolist(), costs[:, 0].tolist(), strict=True)
        ]
        exact = sum(products) * unit
        most = exact * (1 + more) + (k * Fraction(5e-324) * unit if more else 0)
        assert math.ceil(exact) <= _cost_in_ticks(tracker, played, costs, 0) <= math.ceil(most)
    assert _cost_in_ticks(tracker, np.full(k, 1e-200), np.full((k, 1), 1e-200), 0) >= 1.0, (
        "products that underflow"
    )


def naively_looked(tracker: BudgetTracker, unit: float) -> tuple[bool, bool, list[bool]]:
    """Return whether it is closed, and has stopped for good, and which actions fit, in whole numbers."""
    amounts, spent, reserved, worst = (
        (array / unit).tolist() for array in (*tracker[:3], tracker.worst)
    )
    room = [a - s - r for a, s, r in zip(amounts, spent, reserved, strict=True)]
    most = [max(column) for column in zip(*worst, strict=True)]
    closed = any(r < top for r, top in zip(room, most, strict=True))
    stopped = any(a - s < top for a, s, top in zip(amounts, spent, most, strict=True))
    if tracker.strict:
        return closed, stopped, [True] * len(worst)
    if tracker.fluid:
        return (
            False,
            False,
            [all(w == 0 or r > 0 for w, r in zip(row, room, strict=True)) for row in worst],
        )
    return False, False, [all(w <= r for w, r in zip(row, room, strict=True)) for row in worst]


@settings(deadline=None)
@given(
    st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from(["strict", "fits"]), st.booleans()
)
def test_look_into_tracker_is_naive_one(m: int, seed: int, stop: Any, mixed: bool) -> None:
    """Small whole numbers, so that ties are common; more and more is spent, and reservations come and go."""
    generator = np.random.default_rng(seed)
    limits = Budget(
        [8.0] * m, worst=generator.integers(0, 5, (3, m)).astype(float), null="add"
    ).resolve(3, m)
    tracker, _ = new_tracker(BudgetRun(limits, stop, mixed=mixed), 9)
    unit = float(tracker.unit_ticks[0])
    for _ in range(5):
        update_affordable(tracker)
        now = (
            bool(tracker.flags[CLOSED]),
            bool(tracker.flags[STOPPED]),
            [one == 1.0 for one in tracker.fits],
        )
        assert now == naively_looked(tracker, unit)
        assert set(tracker.fits.tolist()) <= {0.0, 1.0}
        tracker.spent[:] += (
            unit
            * np.floor(generator.random(m) * ((tracker.amounts - tracker.spent) / unit + 1))
            * generator.integers(0, 2, m)
        )
        tracker.reserved[:] = unit * np.floor(
            generator.random(m) * ((tracker.amounts - tracker.spent) / unit + 1)
        )


def test_learner_is_not_asked_after_strict_stop() -> None:
    asked: list[Any] = []

    def propose(state: Any, mix: Any) -> None:
        asked.append(state)
        mix[:] = 0.0, 1.0, 0.0

    limits = Budget(3.0, worst=[2.0, 1.0, 0.0], null=2).resolve(3, 1)
    tracker, _ = new_tracker(BudgetRun(limits, "strict"), 9)
    decide, rng, actions = _make_decide(propose), np.ones(4, np.uint64), []
    for _ in range(4):
        update_affordable(tracker)
        played, reserved = np.zeros(3), np.zeros(1)
        actions.append(decide(None, np.zeros(3), rng, tracker, played, reserved)[0])
        charge(tracker, played, reserved, limits.worst)
    assert actions == [1, 1, 2, 2], "one unit is left, less than the most a play can cost"
    assert len(asked) == 2


def test_integer_costs_are_exact_in_ticks() -> None:
    pool = Pool.from_rewards([[0.0, 1.0]] * 30, costs=[[0.0, 1.0]] * 30)
    assert play(EmpiricalLP(), pool, budget=Budget(29.0), seed=0).balance.left[0] <= 1
    tenths = Pool.from_rewards([[0.0, 1.0]] * 200, costs=[[0.0, 0.1]] * 200)
    spent = play(EmpiricalLP(), tenths, budget=Budget(10.0), seed=0)
    assert spent.plays[1] in (98, 99), "a hundred floats 0.1 add up to more than 10"


def test_resources_share_the_common_scale() -> None:
    generator = np.random.default_rng(0)
    costs = generator.random((50, 3, 2))
    costs[:, 0] = 0
    rewards = generator.random((50, 3))
    unit = play(
        EmpiricalLP(), Pool.from_rewards(rewards, costs=costs), budget=Budget([10.0, 8.0]), seed=3
    )
    far = costs * np.array([2.0**40, 2.0**-60])
    moved = play(
        EmpiricalLP(),
        Pool.from_rewards(rewards, costs=far),
        budget=Budget([10 * 2.0**40, 8 * 2.0**-60]),
        seed=3,
    )
    assert moved.actions.tolist() == unit.actions.tolist()
    assert moved.regret == pytest.approx(unit.regret)
    limits = Budget([10.0, 8.0]).resolve(3, 2, costs)
    tracker, rate = new_tracker(BudgetRun(limits), 50)
    assert (costs * tracker.scale).max() <= 1
    assert rate * 50 == pytest.approx(float((limits.amounts * tracker.scale)[0]))
    assert rate * 50 == pytest.approx(float((limits.amounts * tracker.scale)[1]))


def test_pivots_from_similar_basis_are_optimal() -> None:
    """Against the program solved afresh, in a walk of 400 steps through programs, every second one with ties."""
    generator, reached = np.random.default_rng(0), 0
    for number in range(100):
        k, m = int(generator.integers(2, 14)), int(generator.integers(2, 5))
        rewards, costs, rates = (
            generator.random(k),
            generator.random((k, m)),
            generator.random(m) * 0.5 + 0.05,
        )
        if number % 2:
            rewards, costs = np.round(rewards * 4) / 4, np.round(costs * 4) / 4
        costs[0] = 0.0
        _, basis = _best_mix_many_resources(rewards, costs, rates, None)
        for _ in range(4):
            rewards = np.clip(rewards + 0.05 * generator.normal(size=k), 0, 1)
            costs, rates = (
                costs * generator.uniform(0.9, 1.1, (k, m)),
                rates * generator.uniform(0.96, 1.04, m),
            )
            afresh, other = _best_mix_many_resources(rewards, costs, rates, None)
            warm, _ = best_mix(rewards, costs, rates, basis)
            assert rewards @ warm == pytest.approx(rewards @ afresh, abs=1e-7)
            found = _pivot(rewards, costs / rates, np.ones(m), basis)
            if found is None:
                basis = other
                continue
            mix, basis = found
            assert mix.min() >= 0
            assert (costs.T @ mix <= rates + 1e-9).all()
            assert rewards @ mix == pytest.approx(rewards @ afresh, abs=1e-9)
            reached += 1
    assert reached > 350


def test_smallest_amount_and_listed_null_action_are_accepted() -> None:
    assert (
        Budget(float(np.finfo(float).tiny)).per_resource.size == Budget(0.0).per_resource.size == 1
    )
    assert Budget(10.0, worst=1.0, null=0, prices=[None, 0.5]).resolve(2, 1).worst.tolist() == [
        [0.0],
        [0.5],
    ]


def test_optimum_of_pool_with_added_null_action() -> None:
    pool = Pool.from_rewards([[0.5, 1.0]] * 4, costs=[[1.0, 4.0]] * 4)
    best = optimum(pool, Budget(4.0, null="add"))
    assert best.value == 0.5
    assert best.mix.tolist() == [1.0, 0.0, 0.0]
    assert optimum(pool, Budget(0.0, null="add")).mix.tolist() == [0.0, 0.0, 1.0]
    assert optimum(pool, Budget(100.0, null="add")).value == 1.0


GOOD = Pool.from_rewards([[0.0, 1.0]] * 3, costs=[[0.0, 1.0]] * 3)
TARGET_PENALTY = Pool.from_rewards([[0.0, 1.0]] * 3, costs=[[1.0, 1.0]] * 3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Budget(-1.0),
        lambda: Budget(math.nan),
        lambda: Budget(math.inf),
        lambda: Budget([]),
        lambda: Budget("much"),  # type: ignore[arg-type]
        lambda: Budget(1e-310),
        lambda: Budget([1.0, 5e-324]),
        lambda: Budget(1.0, worst=1e-310),
        lambda: Budget(1.0, worst=-1.0),
        lambda: Budget(1.0, worst="much"),
        lambda: Budget(1.0, null=True),
        lambda: Budget(1.0, null="append"),  # type: ignore[arg-type]
        lambda: play(EmpiricalLP(), TARGET_PENALTY, budget=Budget(1.0), seed=0),
        lambda: play(EmpiricalLP(), GOOD, budget=Budget(1.0, null=1), seed=0),
        lambda: play(EmpiricalLP(), GOOD, budget=Budget(1.0, null=7), seed=0),
        lambda: play(EmpiricalLP(), GOOD, budget=Budget([1.0, 2.0]), seed=0),
        lambda: play(EmpiricalLP(), GOOD, budget=Budget(1.0, worst=0.5), seed=0),
        lambda: play(EmpiricalLP(), GOOD, budget=Budget(1.0, worst=[1.0, 2.0, 3.0]), seed=0),
        lambda: play(EmpiricalLP(), GOOD, budget=3.0, seed=0),  # type: ignore[arg-type]
        lambda: play(EmpiricalLP(), GOOD, budget=Budget(1.0), stop="soft", seed=0),  # type: ignore[arg-type]
        lambda: play(EmpiricalLP(), Pool([[0.0]]), budget=Budget(1.0), seed=0),
        lambda: Budget(1.0).resolve(2, 1),
        lambda: Budget(10.0, worst=1.0, null=0, prices=[0.5, None]).resolve(2, 1),
        lambda: Pool([[0.0, 1.0]], costs=[[0.0, -1.0]]),
        lambda: Pool([[0.0, 1.0]], costs=[[0.0, math.nan]]),
        lambda: best_mix_one_resource(np.ones(2), np.ones(2), 0.5),
        lambda: _best_mix_many_resources(np.ones(2), np.ones((2, 2)), np.full(2, 0.5), None),
    ],
)
def test_bad_input_is_rejected(wrong: Any, one_sentence: Any) -> None:
    with pytest.raises((ParameterError, PoolError)) as caught:
        wrong()
    one_sentence(caught.value)


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("stop", ["strict", "fits"])
def test_budget_of_nothing_spends_nothing(stop: Any, mixed: bool) -> None:
    generator = np.random.default_rng(0)
    costs = generator.random((30, 3, 2))
    costs[:, 0] = 0
    costs[:, 1, 0] = 0
    pool = Pool.from_rewards(generator.random((30, 3)), costs=costs)
    trace = play(EmpiricalLP(), pool, budget=Budget([0.0, 10.0]), stop=stop, mixed=mixed, seed=0)
    assert trace.balance.spent[0] == 0
    assert trace.plays[2] == 0
    assert (trace.plays[1] > 0) == (stop == "fits"), (
        "action 1 costs nothing of what there is nothing of"
    )
    assert not any(trace.overspent)
    assert play(
        EmpiricalLP(), GOOD, budget=Budget(0.0), stop=stop, mixed=mixed, seed=0
    ).plays.tolist() == [3.0, 0.0]


def test_strict_stops_and_fits_continues() -> None:
    rewards = np.tile([0.0, 0.5, 1.0], (40, 1))
    costs = np.tile([0.0, 1.0, 8.0], (40, 1))
    pool = Pool.from_rewards(rewards, costs=costs)
    strict = play(EmpiricalLP(), pool, budget=Budget(30.0), stop="strict", seed=0)
    fits = play(EmpiricalLP(), pool, budget=Budget(30.0), stop="fits", seed=0)
    assert strict.balance.left[0] < 8 or strict.balance.spent[0] <= 30
    assert fits.balance.left[0] < 1 + 1e-9 or fits.plays[0] <= 3
    assert fits.reward > strict.reward
