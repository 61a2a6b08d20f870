"""Demo pools: made on the spot, the same each time, and each shows what it is for."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from tombola import demo
from tombola.errors import ParameterError, TombolaError
from tombola.pool import Pool

GENERATED: dict[str, Callable[..., Pool]] = {
    "language_models": demo.language_models,
    "solvers": demo.solvers,
    "evaluation": demo.evaluation,
    "call_list": lambda *horizon, seed: demo.call_list(*horizon, seed=seed).pool,
    "gpu_models": demo.gpu_models,
}


@pytest.mark.parametrize("name", GENERATED)
def test_same_seed_gives_same_pool(name: str) -> None:
    make = GENERATED[name]
    first, again, other = make(200, seed=1), make(200, seed=1), make(200, seed=2)
    assert (first.losses == again.losses).all()
    assert not (first.losses == other.losses).all()
    assert (first.rows, len(first.ids or ())) == (200, 200)
    assert make(1, seed=0).rows == 1
    with pytest.raises(ParameterError):
        make(0, seed=1)
    with pytest.raises(TombolaError):
        make(10, seed=-1)


def test_each_pool_shows_what_it_is_for() -> None:
    pool = demo.language_models(seed=0)
    assert (np.diff(pool.means) < 0).all(), "dear models are better"
    assert (np.diff(np.asarray(pool.costs).mean(axis=0)[:, 0]) > 0).all()
    pool = demo.solvers(seed=0)
    assert np.bincount(np.argmin(pool.losses, axis=1)).min() > 0.05 * pool.rows, (
        "no solver is best everywhere"
    )
    assert pool.losses.min(axis=1).mean() < 0.5 * pool.means.min()
    pool = demo.evaluation(seed=0)
    assert pool.actions[pool.best] == "v6"
    assert np.corrcoef(pool.losses.T).min() > 0.15
    means = np.sort(demo.gpu_models(seed=0).means)
    assert 0.01 < means[1] - means[0] < 0.05, "models on one GPU are close"
    calls = demo.call_list(seed=0)
    assert calls.pool.actions[calls.pool.best] == "email"
    assert 100 < np.mean(np.asarray(calls.delays)) < 140, "outcomes come late"


def test_digits() -> None:
    pool = demo.digits()
    costs = np.asarray(pool.costs)
    assert (pool.rows, pool.k) == (1797, 8)
    assert set(np.unique(pool.losses)) == {0.0, 1.0}
    assert pool.actions[pool.best] in ("neighbours", "support vectors")
    assert pool.means[pool.best] < 0.02 < 0.2 < pool.means.max()
    assert (costs == costs[0]).all()
    assert costs.min() > 0
    assert demo.digits() is pool


def test_missing_scikit_learn_is_named(
    monkeypatch: pytest.MonkeyPatch, one_sentence: Callable[[object], str]
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(TombolaError, match=r"tombola\[demo\]") as caught:
        demo.digits.__wrapped__()
    one_sentence(caught.value)
