"""RoutedLP: routing by features under a hard budget (Theorem C6).

It solves one linear program over actions, null action and routers. A router is a trained model at a
price of the resource: it plays the action (or null) with the least predicted loss + price x
predicted cost.

The program is solved again when the number of rows seen has grown by `growth`. It chooses a mix of
columns whose mean cost is at most the rate, which is the budget left per row left. The columns are
the k actions, the null action, and two routers of each model: one whose mean cost is just above the
rate, and one just below it. Their prices are found by bisection. All columns are measured with true
losses and costs; routers by their out-of-bag choices, never by rows they were trained on. An action
is played only if its largest possible cost fits into the budget, so no router can overspend.

With a target, loss and cost exchange their roles: the cheapest mix of columns with a mean loss that
still reaches it.

Theorem C6 is for models that are trained on one half of the rows and measured on the other. No
bound is proved for out-of-bag measurement. The budget is never exceeded in either case.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers, RngState, Seed
from tombola.bounds.budget import next_solve
from tombola.budget.budget import Balance, Budget, BudgetRun, ResolvedBudget, n_resources
from tombola.budget.optimum import (
    UnreachableError,
    best_mix,
    best_mix_one_resource,
    target_as_budget,
)
from tombola.budget.tracker import (
    BudgetTracker,
    balance_of,
    charge,
    draw_and_reserve,
    mask_unaffordable,
    new_tracker,
    update_affordable,
)
from tombola.engine.compiler import compile_loop, expected_rounds
from tombola.errors import ParameterError
from tombola.policies.models import Fitted, Model, Ridge, Trees, as_models, losses_of, with_mean
from tombola.policies.routed import FIRST_BLOCK, PolicyTrace, arrange
from tombola.pool import Pool
from tombola.rng import RngStreams, choice

# Halvings of the price interval on a logarithmic scale; the two last prices differ by less than
# 1e-9 of the largest.
_BISECTIONS = 40
# Models are trained again when the rows seen have grown by this factor, as in `Routed`.
_TRAINING_GROWTH = 1.5
# Models of losses and costs that compete: trees, and a linear model.
_DEFAULT_MODELS: tuple[Model, ...] = (Trees(10), Ridge())


class _Router(NamedTuple):
    """A model at one price, and the mean loss and cost of its out-of-bag choices."""

    model: Fitted
    price: float  # of one unit of cost, in losses
    loss: float
    cost: float


@dataclass(frozen=True)
class RoutedLP:
    """Choose the action of each row by its features, within a hard budget.

    One resource. Full rows with costs are seen after each play.

    models: of losses and costs: those of this package, or regressors of scikit-learn.
    growth: the linear program that mixes actions and routers is solved again when the number of
        rows seen has grown by this factor.

    >>> import numpy as np
    >>> easy = np.arange(600) % 2
    >>> pool = Pool(np.stack([1.0 - easy, 0.0 * easy], 1), costs=np.stack([0.0 * easy, 1.0 + 0 * easy], 1))
    >>> trace = RoutedLP(models=(Ridge(),)).play(pool, easy[:, None], Budget(300.0), seed=1)
    >>> trace.loss < 60, trace.balance.left[0] >= 0
    (True, True)
    >>> trace = RoutedLP(models=(Ridge(),)).play(pool, easy[:, None], Budget(target=0.1), seed=1)
    >>> trace.loss / 600 < 0.11, trace.spent / 600 < 0.5
    (True, True)
    """

    models: Sequence[Any] = _DEFAULT_MODELS
    growth: float = 1.2

    def __post_init__(self) -> None:
        _validate.real("RoutedLP", "growth", self.growth, above=1)
        object.__setattr__(self, "models", as_models("RoutedLP", self.models))

    def play(
        self,
        pool: Pool,
        features: Any = None,
        budget: Budget | None = None,
        *,
        order: str = "random",
        seed: Seed,
    ) -> "BudgetedRoutedTrace":
        """Play the whole list once within the budget; return actions, losses and costs.

        With `Budget(..., target=...)` it plays at the least cost for this mean loss. Raises
        ParameterError without a budget, and unless pool and budget have exactly one resource. Other
        parameters as in `Routed.play`.
        """
        if (
            budget is None
            or pool.costs is None
            or n_resources(pool) != 1
            or len(budget.per_resource) != 1
        ):
            raise ParameterError(
                "RoutedLP: expected a pool with costs and one budget, got another; give one "
                "resource."
            )
        streams = RngStreams(seed)
        rows, losses, table = arrange("RoutedLP", pool, features, order, streams)
        resolved = budget.resolve(pool.k, 1, pool.costs, horizon=pool.rows)
        tracker, _ = new_tracker(BudgetRun(resolved, "fits", mixed=False), pool.rows)
        costs = np.asarray(pool.costs, np.float64).reshape(pool.rows, pool.k)[rows]
        if resolved.added:  # a null action, with loss 1 and cost 0
            losses, costs = (
                np.column_stack([losses, np.ones(rows.size)]),
                np.column_stack([costs, np.zeros(rows.size)]),
            )
        run = _Run(self, losses, costs, table, tracker, streams.learner(self))
        run.play(resolved)
        return BudgetedRoutedTrace(
            rows, losses, run.actions, costs, balance_of(tracker, resolved.amounts)
        )


def _route(predictions: Floats, price: float, fits: Floats) -> Integers:
    """Return the action of each row: argmin of loss + price x cost over fitting ones."""
    k = predictions.shape[1] // 2
    total = predictions[:, :k] + price * predictions[:, k:]
    return np.asarray(
        np.where(np.isfinite(total) & (fits > 0), total, np.inf).argmin(axis=1), np.int64
    )


def _routers_at(
    model: Fitted, losses: Floats, costs: Floats, rates: "_Rates", fits: Floats
) -> list[_Router]:
    """Return the routers at the two prices around the rate; one if cost is no limit.

    They are measured by their out-of-bag choices on the training rows, with true `losses` and
    `costs`.
    """

    def measured(price: float) -> _Router:
        chosen = _route(model.out_of_bag, price, fits)
        return _Router(
            model,
            price,
            float(losses_of(losses, chosen).mean()),
            float(losses_of(costs, chosen).mean()),
        )

    free, scale = measured(0.0), float(costs.max())
    if scale == 0.0 or not rates.may_save(free):
        return [free]
    low, high = free, measured(1e6 / scale)
    for _ in range(_BISECTIONS):
        # Geometric steps from a small price: useful prices span several orders of magnitude.
        middle = measured(np.sqrt(max(low.price, 1e-6 / scale) * high.price))
        low, high = (middle, high) if rates.may_save(middle) else (low, middle)
    return [low, high]


class _Rates(NamedTuple):
    """The limits per row to come: budget left, and loss that still reaches the target."""

    cost: float
    loss: float

    def may_save(self, router: _Router) -> bool:
        """Return whether a router reaches the target or, without one, exceeds the budget."""
        return router.loss < self.loss if self.loss < math.inf else router.cost > self.cost

    def best_mix(self, losses: Floats, costs: Floats) -> Floats:
        """Return the cheapest mix that reaches the target, or the best within the budget."""
        if self.loss < math.inf:
            try:
                return best_mix(
                    *target_as_budget(losses, costs[:, None], np.array([self.cost]), self.loss)[0]
                )[0]
            except UnreachableError:
                pass
        within = costs <= self.cost
        # Without a null action every mix may be too dear: then the cheapest column.
        if not within.any():
            return np.asarray(np.arange(costs.size) == costs.argmin(), np.float64)
        return best_mix_one_resource(1.0 - losses, costs, self.cost)


class _Run:
    """One play: the table in the order of arrival, the models, and the actions played."""

    def __init__(
        self,
        router: RoutedLP,
        losses: Floats,
        costs: Floats,
        features: Floats,
        tracker: BudgetTracker,
        rng: RngState,
    ) -> None:
        self.router, self.losses, self.costs, self.features = router, losses, costs, features
        self.tracker, self.rng = tracker, rng
        self.actions, self.models = np.zeros(len(losses), np.int64), list[Fitted]()

    def play(self, limits: ResolvedBudget) -> None:
        """Play all rounds; train models and solve the program again as rows are seen."""
        rounds, seen, trained = len(self.losses), 0, FIRST_BLOCK
        while seen < rounds:
            if seen >= trained:
                # Losses and costs side by side, not centred, because null has a known loss.
                targets = np.concatenate([self.losses[:seen], self.costs[:seen]], axis=1)
                self.models = with_mean(
                    [one.fit(self.features[:seen], targets, seen) for one in self.router.models]
                )
                trained = max(seen + 1, int(seen * _TRAINING_GROWTH))
            end = min(rounds, next_solve(seen, rounds, self.router.growth) if seen else 1)
            spent = float(self.tracker.spent[0] / self.tracker.unit_ticks[0])
            lost = float(losses_of(self.losses[:seen], self.actions[:seen]).sum())
            rate = max(0.0, float(limits.amounts[0]) - spent) / (rounds - seen)
            enough = (limits.target * rounds - lost) / (rounds - seen)  # infinite without a target
            update_affordable(self.tracker)
            fits, usable = self.tracker.fits.copy(), self.tracker.fits.copy()
            if limits.added and limits.target < math.inf:
                usable[limits.null] = (
                    0.0  # an added null action has loss 1, and does not help to reach a target
                )
            columns, mix = self._columns(seen, end, _Rates(rate, enough), usable)
            scratch = (np.zeros(fits.size), np.zeros(fits.size), np.zeros(1))
            table = (columns, mix, self.costs[seen:end], self.actions[seen:end])
            arguments = (self.tracker, self.rng, fits, *table, *scratch)
            with expected_rounds(end - seen, fits.size):
                # The block ends early when an action that fitted at its start no longer does.
                seen += int(compile_loop(_play_columns, arguments)(*arguments))

    def _columns(self, seen: int, end: int, rates: _Rates, fits: Floats) -> tuple[Integers, Floats]:
        """Return the action of every column in rounds seen..end, and the mix."""
        k = self.losses.shape[1]
        fixed = np.tile(np.arange(k), (end - seen, 1))
        if seen == 0 or not fits.any():
            mix = np.zeros(k)
            mix[self.tracker.null] = 1.0
            return fixed, mix
        n = self.models[0].out_of_bag.shape[0] if self.models else 0
        losses, costs = self.losses[:n], self.costs[:n]
        routers = [
            router
            for model in self.models
            for router in _routers_at(model, losses, costs, rates, fits)
        ]
        mean_losses = np.append(self.losses[:seen].mean(axis=0), [one.loss for one in routers])
        mean_costs = np.append(self.costs[:seen].mean(axis=0), [one.cost for one in routers])
        usable = np.flatnonzero(np.append(fits > 0, np.ones(len(routers), bool)))
        mix, actions = np.zeros(mean_losses.size), [fixed]
        mix[usable] = rates.best_mix(mean_losses[usable], mean_costs[usable])
        for one, share in zip(routers, mix[k:], strict=True):
            # Only columns in the mix are predicted.
            predictions = (
                one.model.predict(self.features[seen:end])
                if share > 0
                else np.zeros((end - seen, 2 * k))
            )
            actions.append(_route(predictions, one.price, fits)[:, None])
        return np.concatenate(actions, axis=1), mix


def _play_columns(
    tracker: Any,
    rng: RngState,
    fits: Floats,
    columns: Integers,
    mix: Floats,
    costs: Floats,
    actions: Integers,
    one_hot: Floats,
    played: Floats,
    reserved: Floats,
) -> int:
    """Play rounds of one block until an action stops fitting; return their number.

    columns, mix: action of each column, rounds x columns, and its probability.
    one_hot, played, reserved: scratch space.
    """
    for t in range(actions.size):
        update_affordable(tracker)
        if t > 0:
            for a in range(fits.size):
                if fits[a] > 0.0 and tracker.fits[a] == 0.0:
                    return t
        column = choice(mix, rng)
        for a in range(one_hot.size):
            one_hot[a] = 0.0
        one_hot[columns[t, column]] = 1.0
        mask_unaffordable(tracker, one_hot)
        action, _ = draw_and_reserve(tracker, one_hot, rng, played, reserved)
        charge(tracker, played, reserved, costs[t].reshape((-1, 1)))
        actions[t] = action
    return int(actions.size)


@dataclass(frozen=True, eq=False, repr=False)
class BudgetedRoutedTrace(PolicyTrace):
    """Trace of one pass of `RoutedLP` over a list under a budget.

    order, losses, actions: as in `PolicyTrace`. With an added null action, the last column of
        `losses` is 1.
    costs: of all actions, like `losses`; 0 for an added null action.
    balance: the budget at the end.
    """

    costs: Floats
    balance: Balance

    @property
    def spent(self) -> float:
        """The total cost of the actions played, in the unit of the pool's costs."""
        return float(losses_of(self.costs, self.actions).sum())

    def __repr__(self) -> str:
        return (
            f"BudgetedRoutedTrace({len(self.losses)} rows, loss {self.loss:.4g}, spent "
            f"{self.spent:.4g})"
        )
