"""RoutedLP: never above the budget, better than a mix where features tell the cheap rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tombola import Budget, Pool, play
from tombola.errors import ParameterError
from tombola.learners import EmpiricalLP
from tombola.policies import Ridge, RoutedLP
from tombola.policies.routed_lp import routers_at

pytestmark = pytest.mark.usefixtures("plainly")


@dataclass(frozen=True)
class Hostile:
    """A model that predicts that the dearest action is free and perfect, or nonsense."""

    kind: str

    def fit(self, features: np.ndarray, targets: np.ndarray, seed: int) -> Any:
        kind, width = self.kind, targets.shape[1]

        class Fitted:
            out_of_bag = np.zeros(targets.shape)

            def predict(self, features: np.ndarray) -> np.ndarray:
                if kind == "nan":
                    return np.full((len(features), width), np.nan)
                lies = np.zeros((len(features), width))
                lies[:, 0] = -1.0  # the first action is said to be best and free
                return lies

        return Fitted()


def example(rows: int, seed: int) -> tuple[Pool, np.ndarray]:
    generator = np.random.default_rng(seed)
    easy = generator.integers(0, 2, rows)
    losses = np.stack([(generator.random(rows) < 0.1), (generator.random(rows) < np.where(easy, 0.1, 0.8))], 1)
    costs = np.stack([generator.uniform(0.5, 2.0, rows), generator.uniform(0.0, 0.1, rows)], 1)
    return Pool(losses.astype(float), costs=costs), easy[:, None].astype(float)


@pytest.mark.parametrize("kind", ["lies", "nan"])
def test_hostile_models_never_overspend(kind: str) -> None:
    for seed in range(25):
        pool, features = example(60, seed)
        amount = float(np.random.default_rng(seed).uniform(0, 40))
        trace = RoutedLP(models=(Hostile(kind),)).play(pool, features, Budget(amount, null="add"), seed=seed)
        assert trace.spent <= amount
        assert trace.balance.left[0] >= 0.0


def test_budget_of_zero_plays_null() -> None:
    pool, features = example(30, 1)
    trace = RoutedLP(models=(Ridge(),)).play(pool, features, Budget(0.0, null="add"), seed=1)
    assert trace.spent == 0.0
    assert trace.loss == 30.0


def test_features_beat_the_best_mix() -> None:
    routed, mixed = 0.0, 0.0
    for seed in range(3):
        pool, features = example(900, seed)
        budget = Budget(900 * 0.6, null="add")
        routed += RoutedLP(models=(Ridge(),)).play(pool, features, budget, seed=seed).loss
        mixed += play(EmpiricalLP(), pool, budget=budget, seed=seed).loss
    assert routed < 0.85 * mixed


def test_columns_are_measured_with_true_costs() -> None:
    """B1 and B3: predicted costs of 0 must not make a router look free; measured costs are the true ones."""
    pool, features = example(80, 2)
    losses, costs = np.asarray(pool.losses, float), np.asarray(pool.costs).reshape(80, 2)
    fitted = Hostile("lies").fit(features, np.concatenate([losses, costs], 1), 0)
    fitted.out_of_bag[:, 0] = -1.0
    routers = routers_at(fitted, losses, costs, rate=0.2, fits=np.ones(2))
    assert routers[0].cost == pytest.approx(costs[:, 0].mean())
    assert all(one.loss == pytest.approx(losses[:, 0].mean()) for one in routers)


def test_router_with_price_zero_within_rate_stands_alone() -> None:
    pool, features = example(80, 3)
    losses, costs = np.asarray(pool.losses, float), np.asarray(pool.costs).reshape(80, 2)
    fitted = Ridge().fit(features, np.concatenate([losses, costs], 1), 0)
    assert [one.price for one in routers_at(fitted, losses, costs, rate=10.0, fits=np.ones(2))] == [0.0]
    low, high = routers_at(fitted, losses, costs, rate=0.3, fits=np.ones(2))
    assert high.cost <= 0.3 < low.cost


def test_several_resources_are_refused() -> None:
    pool = Pool([[0.0, 1.0]] * 5, costs=np.ones((5, 2, 2)))
    with pytest.raises(ParameterError, match="one resource"):
        RoutedLP().play(pool, np.zeros(5), Budget([1.0, 1.0], null="add"), seed=1)
