"""Routed: exact laws that shares cannot check."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from hostile_models import KINDS, HostileModel
from tombola import Pool, compare, play
from tombola.checks import check_learner
from tombola.delay import RowDelays
from tombola.errors import ParameterError
from tombola.learners import UCB1
from tombola.paper.source_faults import SourceFault, injected
from tombola.policies import Ridge, Routed, Trees
from tombola.policies import routed_feedback as module
from tombola.policies.models import FittedTrees, choose, fit_models
from tombola.policies.trees import flatten_trees

pytestmark = pytest.mark.usefixtures("plainly")
SMALL = Trees(3, trees=5)


def example(rows: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(rows, 3))
    losses = (generator.random((rows, 3)) < 0.3 + 0.4 * (features[:, [0, 1, 2]] > 0)).astype(float)
    return losses, features


@pytest.mark.parametrize(("kind", "fault"), [*((kind, False) for kind in KINDS), ("worst", True)])
def test_hostile_models_cost_at_most_risk(kind: str, fault: bool) -> None:
    """The fault: a router that has lost its capital is played on."""
    losses, excess = example()[0], []
    endless = SourceFault("policies.guard:stake_of", "state[CAPITAL] - reserved", "3.0")
    with injected(endless) if fault else nullcontext():
        for seed in range(5):
            hostile = Routed(models=(HostileModel(kind, losses),))
            trace = play(hostile, Pool(losses, features=np.arange(120.0)), seed=seed)
            excess.append(trace.expected_loss - trace.router.safe_loss)
    assert (max(excess) <= 3.0 + 1e-9) is not fault


def same_until(row: int) -> bool:
    """Return whether choices and stakes up to a row stay the same when all losses from it on change."""
    losses, features = example()
    changed = losses.copy()
    changed[row:] = 1.0 - changed[row:]
    routed = Routed(models=(Ridge(),))
    before, after = (
        play(routed, Pool(table, features=features), order="given", seed=1).router
        for table in (losses, changed)
    )
    same = (before.router_actions == after.router_actions) & (
        before.stakes.probabilities == after.stakes.probabilities
    )
    return bool(same[: row + 1].all())


@pytest.mark.parametrize("row", [54, 55, 80, 119])
def test_choice_of_a_round_ignores_losses_of_later_rows(row: int) -> None:
    """L1: losses of rows >= t are changed; what is decided up to t must not change. A block starts at row 54."""
    assert same_until(row)


def test_training_on_later_rows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of L1: models are fitted to the rows of their own block, too."""
    ahead = SourceFault(
        "policies.routed_feedback:_ListRouter._train",
        "workspace.answered[:start]",
        "np.arange(min(120, int(1.5 * start)))",
    )
    monkeypatch.setattr(module, "choose", lambda fitted, losses: (fitted[0], 0.0))
    with injected(ahead):
        assert not all(same_until(row) for row in range(56, 81, 6))


@pytest.mark.parametrize(("model", "fault"), [(SMALL, False), (Ridge(), False), (SMALL, True)])
def test_out_of_bag_prediction_ignores_own_loss(model: Any, fault: bool) -> None:
    """L2. The bootstrap is drawn before the losses are seen, so the trees of a row out of bag do
    not change.

    Predictions of the whole forest, the fault, do.
    """
    losses, features = example(60)
    centred = losses - losses.mean(axis=1, keepdims=True)
    changed = centred.copy()
    changed[7] += [0.5, -0.25, -0.25]
    fitted = [model.fit(features, table, seed=3) for table in (centred, changed)]
    first, second = (one.predict(features)[7] if fault else one.out_of_bag[7] for one in fitted)
    # Ridge chooses its penalty by all rows; only the choice among penalties may move the
    # prediction.
    tolerance = 1e-12 if model is SMALL else 0.05
    assert (np.abs(first - second).max() > (1e-6 if fault else tolerance)) is np.bool_(fault)


def test_constant_added_to_a_row_changes_no_model() -> None:
    """L3, with losses on a grid of 1/8 so that sums are exact. It moves models of plain losses, the fault."""
    generator = np.random.default_rng(2)
    losses, features = generator.integers(0, 5, (64, 4)) / 8, generator.normal(size=(64, 2))
    shifted = losses + generator.integers(0, 3, (64, 1)) / 8
    first, second = (
        fit_models((SMALL, Ridge()), features, table, seed=1) for table in (losses, shifted)
    )
    for one, other in zip(first, second, strict=True):
        assert np.allclose(one.predict(features), other.predict(features), atol=1e-12)
    plain, moved = (
        Ridge().fit(features, table, 1).predict(features) for table in (losses, shifted)
    )
    assert np.abs(plain - moved).max() > 0.01


@pytest.mark.parametrize("fault", [False, True])
def test_probabilities_permute_with_the_actions(
    fault: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4: the fault breaks ties of almost equal predictions by the number of the action."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(200, 3))
    losses = np.clip(0.5 + 0.3 * np.sign(features) + generator.uniform(-0.2, 0.2, (200, 3)), 0, 1)
    order = np.array([2, 0, 1])
    if fault:
        actions_of: Any = vars(module)["actions_of"]
        monkeypatch.setattr(module, "actions_of", lambda x: actions_of(np.round(x)))
    plain, permuted = (
        play(
            Routed(models=(Ridge(),)), Pool(table, features=features), order="given", seed=1
        ).router
        for table in (losses, losses[:, order])
    )
    same = np.allclose(plain.stakes.probabilities, permuted.stakes.probabilities) and (
        (plain.router_actions == order[permuted.router_actions]).all()
    )
    assert same is not fault


def test_walked_trees_equal_scikit_learn_to_the_bit() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is an extra")
    losses, features = example(90)
    forest = ensemble.ExtraTreesRegressor(
        8, min_samples_leaf=3, bootstrap=True, random_state=4
    ).fit(features.astype(np.float32), losses)
    assert (
        flatten_trees(forest).predict(features) == forest.predict(features.astype(np.float32))
    ).all()


@pytest.mark.parametrize("kind", ["linear", "forest", "boosted", "plain object"])
def test_regressors_of_scikit_learn_are_models(kind: str) -> None:
    """As they are, in a list; a row's own loss never changes its out-of-bag prediction (L2)."""
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression

    class Nearest:
        def fit(self, x: np.ndarray, y: np.ndarray) -> None:
            self.x, self.y = x, y

        def predict(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(self.y[np.abs(x[:, None] - self.x[None]).sum(axis=2).argmin(axis=1)])

    regressor: Any = {
        "linear": LinearRegression(),
        "forest": RandomForestRegressor(5, min_samples_leaf=3),
        "boosted": GradientBoostingRegressor(n_estimators=5),
        "plain object": Nearest(),
    }[kind]
    router = Routed(models=[regressor])
    losses, features = example(60)
    features[::5, 1] = np.nan
    first, again = (play(router, Pool(losses, features=features), seed=1) for _ in range(2))
    assert first.actions.tolist() == again.actions.tolist()
    (fitted,) = fit_models(router.models, features, losses, seed=0)
    assert isinstance(fitted, FittedTrees) == (kind == "forest")
    changed = losses.copy()
    changed[7] = 1.0 - changed[7]
    (other,) = fit_models(router.models, features, changed, seed=0)
    assert (other.out_of_bag[7] == fitted.out_of_bag[7]).all()
    assert (other.predict(features) != fitted.predict(features)).any()


@pytest.mark.parametrize("fault", [False, True])
def test_no_router_where_features_are_noise(fault: bool) -> None:
    """L7: the mean excess over the safe learner on 12 orders is within 3 standard errors of 0.

    The fault: predictions of trees that saw the row make noise look useful; the guard alone does
    not hide it.
    """
    generator, excess = np.random.default_rng(5), []
    losses = (generator.random((300, 3)) < [0.3, 0.4, 0.5]).astype(float)
    features = generator.normal(size=(300, 4))
    in_bag = SourceFault("policies.models:_out_of_bag", "unseen[tree, drawn] = False", "pass")
    with injected(in_bag) if fault else nullcontext():
        for seed in range(12):
            trace = play(Routed(models=(SMALL,)), Pool(losses, features=features), seed=seed)
            excess.append(trace.expected_loss - trace.router.safe_loss)
    is_zero = abs(np.mean(excess)) <= 3 * np.std(excess, ddof=1) / np.sqrt(12)
    assert is_zero is np.bool_(not fault)


def test_router_is_chosen_only_if_it_beats_the_best_fixed_action() -> None:
    losses, features = example(40)
    losses[:, 0] = 0.0
    assert choose(fit_models((SMALL, Ridge()), features, losses, seed=0), losses)[0] is None


def test_useful_features_are_used_also_with_delay() -> None:
    side = np.random.default_rng(1).integers(0, 2, 500)
    losses = np.stack([side, 1 - side], axis=1).astype(float)
    for delay in (0, 20):
        trace = play(Routed(models=(Ridge(),)), Pool(losses, features=side), delay=delay, seed=2)
        assert trace.router.share_of_gap > 0.7


def test_short_lists_and_missing_features() -> None:
    assert Routed(growth=1.5).block_starts(16) == []
    assert Routed(growth=1.01).block_starts(17) == [16]
    losses, features = example(100)
    features[::3, 1] = features[:, 2] = np.nan
    pool = Pool(losses, features=features)
    assert np.isfinite(play(Routed(models=(SMALL, Ridge())), pool, seed=1).expected_loss)
    short = Pool(losses[:10], features=features[:10])
    trace = play(Routed(models=(SMALL,)), short, seed=1)
    assert trace.expected_loss == trace.router.safe_loss
    with pytest.raises(ParameterError, match="expected a pool with features, got none"):
        play(Routed(), Pool(losses), seed=1)


def test_router_is_a_learner() -> None:
    assert len(check_learner(Routed(models=(Ridge(),)))) == 13
    side = np.arange(200) % 2
    pool = Pool(np.stack([side, 1 - side], axis=1), features=side)
    runs = compare(pool, [Routed(models=(Ridge(),)), UCB1()], repetitions=3, seed=1)
    assert runs.ranking() == ["Routed", "UCB1"]
    trace = play(Routed(models=(Ridge(),)), pool, seed=1)
    assert trace.expected_loss == pytest.approx(trace.router.expected_loss, abs=1e-12)
    with pytest.raises(ParameterError, match="safe learner that sees whole rows"):
        play(Routed(safe=UCB1()), pool, seed=1)


@pytest.mark.parametrize("fault", [False, True])
def test_delays_that_depend_on_row_and_outcome_cost_at_most_risk(fault: bool) -> None:
    """Rows that the router answers badly come back last. On every order at most `risk` is lost.

    The fault: stakes in flight are not reserved.
    """
    losses, excess = example()[0], []
    # A row is late if its actions differ, and later if action 0 is wrong.
    late = RowDelays((30 * (np.ptp(losses, axis=1) > 0) + 10 * losses[:, 0]).astype(int))
    forgetful = SourceFault(
        "policies.guard:place_stake", "state[PENDING] if state[_RESERVES] > 0.0 else 0.0", "0.0"
    )
    with injected(forgetful) if fault else nullcontext():
        for seed in range(6):
            hostile = Routed(models=(HostileModel("worst", losses),))
            pool = Pool(losses, features=np.arange(120.0))
            trace = play(hostile, pool, delay=late, seed=seed)
            excess.append(trace.expected_loss - trace.router.safe_loss)
    assert (max(excess) <= 3.0 + 1e-9) is not fault


def test_safe_learner_starts_uniformly_with_delay() -> None:
    """Before the first answer the first column was played in every round, whatever its losses.

    In 200 rounds an action of four is played 50 times with standard deviation 6: 20 or 80 would be
    5 of them.
    """
    losses = np.zeros((260, 4))
    losses[:, 0] = 1.0
    pool = Pool(losses, features=np.arange(260.0))
    trace = play(Routed(models=(Ridge(),)), pool, delay=199, seed=1)
    counts = np.bincount(trace.router.safe_actions[:200], minlength=4)
    assert counts.min() > 20
    assert counts.max() < 80
