"""RoutedLP: never above the budget, better than a mix where features tell the cheap rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tombola import Budget, Pool, Session, compare, play
from tombola.budget.optimum import best_per_row, optimum
from tombola.errors import ParameterError
from tombola.feedback import budgeted
from tombola.learners import EmpiricalLP
from tombola.paper.source_faults import SourceFault, injected
from tombola.policies import Ridge, RoutedLP
from tombola.policies import routed_lp as module
from tombola.policies.routed_lp import _Rates, _routers_at

pytestmark = pytest.mark.usefixtures("plainly")


@dataclass(frozen=True)
class Hostile:
    """A model that predicts that the first action, which is the dearest, is best and free, or nonsense."""

    kind: str

    def fit(self, features: np.ndarray, targets: np.ndarray, seed: int) -> Any:
        row = (
            np.full(targets.shape[1], np.nan)
            if self.kind == "nan"
            else -np.eye(targets.shape[1])[0]
        )
        return SimpleNamespace(
            out_of_bag=np.zeros(targets.shape), predict=lambda rows: np.tile(row, (len(rows), 1))
        )


def example(rows: int, seed: int) -> tuple[Pool, np.ndarray]:
    generator = np.random.default_rng(seed)
    easy = generator.integers(0, 2, rows)
    losses = np.stack(
        [(generator.random(rows) < 0.1), (generator.random(rows) < np.where(easy, 0.1, 0.8))], 1
    )
    costs = np.stack([generator.uniform(0.5, 2.0, rows), generator.uniform(0.0, 0.1, rows)], 1)
    features = easy[:, None].astype(float)
    return Pool(losses.astype(float), costs=costs, features=features), features


def overspends(runs: int, first: int = 0) -> int:
    """Return in how many runs a hostile router spends more than the budget; lists of 24 rows, all kinds of costs."""
    found = 0
    for seed in range(first, first + runs):
        generator = np.random.default_rng(seed)
        pool, _ = example(24, seed)
        amount = float(generator.choice([0.0, 0.1, 1.0, 3.7, 20.0]) * generator.random())
        # Training begins after FIRST_BLOCK rows, so that the last third is routed.
        router = RoutedLP(models=(Hostile("lies" if seed % 2 else "nan"),))
        delay = int(generator.integers(0, 4))
        trace = play(router, pool, delay=delay, budget=Budget(amount, null="add"), seed=seed)
        found += trace.costs.sum() > amount or trace.balance.left[0] < 0.0
    return found


@pytest.mark.parametrize(
    ("runs", "first"),
    [(150, 0), *(pytest.param(1_000, 1_000 * part, marks=pytest.mark.full) for part in range(10))],
)
def test_hostile_models_never_overspend(runs: int, first: int) -> None:
    """10,000 runs in all with `full`."""
    assert overspends(runs, first) == 0


def test_budget_asked_with_predicted_costs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """B1: the fault lets the tracker reserve the predicted cost, which the hostile model puts at 0."""
    monkeypatch.setattr(budgeted, "mask_unaffordable", lambda tracker, mix: None)

    def reserve_nothing(
        tracker: Any, mix: Any, rng: Any, played: Any, reserved: Any
    ) -> tuple[int, float]:
        played[:] = mix
        reserved[:] = 0.0
        return int(mix.argmax()), 1.0

    monkeypatch.setattr(budgeted, "draw_and_reserve", reserve_nothing)
    assert overspends(60) > 0


def test_budget_of_zero_plays_null() -> None:
    pool, _ = example(30, 1)
    trace = play(RoutedLP(models=(Ridge(),)), pool, budget=Budget(0.0, null="add"), seed=1)
    assert trace.costs.sum() == 0.0
    assert trace.loss == 30.0


def test_features_beat_the_best_mix() -> None:
    routed, mixed = 0.0, 0.0
    for seed in range(3):
        pool, _ = example(900, seed)
        budget = Budget(900 * 0.6, null="add")
        routed += play(RoutedLP(models=(Ridge(),)), pool, budget=budget, seed=seed).loss
        mixed += play(EmpiricalLP(), pool, budget=budget, seed=seed).loss
    assert routed < 0.85 * mixed


def columns(out_of_bag: Any) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """Return routers of a model with these out-of-bag predictions, the true losses and costs, and the model."""
    pool, features = example(80, 2)
    losses, costs = np.asarray(pool.losses, float), np.asarray(pool.costs).reshape(80, 2)
    fitted = Hostile("lies").fit(features, np.concatenate([losses, costs], 1), 0)
    fitted.out_of_bag[:] = out_of_bag(losses, costs)
    return (
        _routers_at(fitted, losses, costs, _Rates(0.2, math.inf), fits=np.ones(2)),
        losses,
        costs,
        fitted,
    )


def test_columns_are_measured_out_of_bag() -> None:
    """B2: the choices that are measured are those of `out_of_bag`; predictions of training rows choose otherwise."""
    (only, *_), losses, costs, fitted = columns(
        lambda x, c: np.hstack([1 - np.eye(2)[[1] * 80], 0 * c])
    )
    assert (only.loss, only.cost) == (
        pytest.approx(losses[:, 1].mean()),
        pytest.approx(costs[:, 1].mean()),
    )
    in_bag = module._route(fitted.predict(np.zeros((80, 1))), 0.0, np.ones(2))
    assert losses[np.arange(80), in_bag].mean() != pytest.approx(only.loss)


def test_price_is_found_by_true_costs() -> None:
    """B3: predicted costs of 0 must not make a router look free; the measured cost is the true one at every price."""
    routers, losses, costs, _ = columns(lambda x, c: np.hstack([np.eye(2)[[1] * 80], 0 * c]))
    assert (
        len(routers) == 2
    )  # by predicted costs the router would be within the rate, and stand alone
    assert all(one.cost == pytest.approx(costs[:, 0].mean()) for one in routers)
    assert all(one.loss == pytest.approx(losses[:, 0].mean()) for one in routers)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        (
            "model.out_of_bag,",
            "model.predict(np.zeros((len(losses), 1))),",
            test_columns_are_measured_out_of_bag,
        ),
        (
            "losses_of(costs, chosen)",
            "losses_of(model.out_of_bag, chosen + fits.size)",
            test_price_is_found_by_true_costs,
        ),
    ],
    ids=["B2", "B3"],
)
def test_columns_that_trust_the_model_are_caught(
    old: str, new: str, check: Callable[[], None]
) -> None:
    """B2, B3: columns measured in-bag, and a price found by predicted costs."""
    with (
        injected(SourceFault("policies.routed_lp:_routers_at", old, new)),
        pytest.raises(AssertionError),
    ):
        check()


def test_target_is_reached_for_less_than_by_the_best_mix() -> None:
    for seed in range(3):
        pool, _ = example(1200, seed)
        budget = Budget(target=0.15, null="add")
        trace = play(RoutedLP(models=(Ridge(),)), pool, budget=budget, seed=seed)
        spent = float(trace.costs.sum()) / 1200
        assert trace.loss / 1200 < 0.17
        assert spent < 0.8 * float(optimum(pool, budget).cost[0])
        assert spent > best_per_row(pool, budget)


def test_target_out_of_reach_spends_on_the_best() -> None:
    pool, _ = example(400, 1)
    trace = play(RoutedLP(models=(Ridge(),)), pool, budget=Budget(target=0.0, null="add"), seed=1)
    assert trace.loss / 400 < 0.14


def test_router_with_price_zero_within_rate_stands_alone() -> None:
    pool, features = example(80, 3)
    losses, costs = np.asarray(pool.losses, float), np.asarray(pool.costs).reshape(80, 2)
    fitted = Ridge().fit(features, np.concatenate([losses, costs], 1), 0)
    assert [
        one.price
        for one in _routers_at(fitted, losses, costs, _Rates(10.0, math.inf), fits=np.ones(2))
    ] == [0.0]
    low, high = _routers_at(fitted, losses, costs, _Rates(0.3, math.inf), fits=np.ones(2))
    assert high.cost <= 0.3 < low.cost


def test_several_resources_are_refused() -> None:
    pool = Pool([[0.0, 1.0]] * 5, costs=np.ones((5, 2, 2)), features=np.zeros(5))
    with pytest.raises(ParameterError, match="one resource"):
        play(RoutedLP(), pool, budget=Budget([1.0, 1.0], null="add"), seed=1)
    with pytest.raises(ParameterError, match="needs a table with all losses and costs"):
        Session(RoutedLP(), 2, 5, budget=Budget(1.0, worst=1.0, null="add"), features=1)


def test_compare_plays_it_beside_other_learners() -> None:
    pool, _ = example(400, 1)
    budget = Budget(240.0, null="add")
    learners = [RoutedLP(models=(Ridge(),)), EmpiricalLP()]
    runs = compare(pool, learners, budget=budget, repetitions=3, delay=5, seed=1)
    assert runs.ranking()[0] == "RoutedLP"
    assert runs.spent("RoutedLP")[1].max() <= 240.0
