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
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers, RngState
from tombola.bounds.budget import next_solve
from tombola.budget.budget import Balance, BudgetRun, BudgetTerms
from tombola.budget.optimum import (
    UnreachableError,
    best_mix,
    best_mix_one_resource,
    target_as_budget,
)
from tombola.engine.arrivals import ArrivalSchedule, max_in_flight
from tombola.engine.compiler import Kernel
from tombola.engine.loop import Accumulators, RowStream
from tombola.engine.runner import Runner
from tombola.engine.state_vector import lazy_zeros
from tombola.errors import ParameterError
from tombola.feedback.base import LiveKernels
from tombola.feedback.budgeted import BudgetedFeedback
from tombola.learners.budgeted.base import BudgetedLearner
from tombola.policies.base import FIRST_BLOCK, FeatureRows, Router, feature_count
from tombola.policies.models import Fitted, Model, Ridge, Trees, as_models, losses_of, with_mean

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


@dataclass(frozen=True, eq=False)
class RoutedLPFeedback(FeatureRows, BudgetedFeedback):
    """Feedback model of `RoutedLP`: features first, then losses and costs of all actions."""

    # The mixin has a default; the budget is always given.
    budget_run: BudgetRun = field(kw_only=True)

    @classmethod
    def for_learner(
        cls,
        learner: Any,
        horizon: int,
        *,
        actions: int,
        budget_run: BudgetRun | None,
        features: int | None,
    ) -> Self:
        if budget_run is None or budget_run.limits.amounts.size != 1:
            raise ParameterError(
                "RoutedLP: expected a pool with costs and one budget, got another; give one "
                "resource, budget=Budget(90.0)."
            )
        width = feature_count("RoutedLP", features)
        return cls(
            actions + budget_run.limits.added, horizon, features=width, budget_run=budget_run
        )

    def play(
        self,
        learner: Any,
        rng: RngState,
        table: RowStream,
        arrivals: ArrivalSchedule,
        accumulators: Accumulators,
        features: Floats | None,
    ) -> tuple[Balance, None]:
        assert features is not None
        router = _ListRouter(
            self.actions,
            self.horizon,
            features=self.features,
            budget_run=self.budget_run,
            rows=np.ascontiguousarray(features[table.order]),
        )
        runner = Runner(learner, router, rng, max_in_flight(arrivals))
        runner.play(table, arrivals, accumulators)
        return self.balance(runner.workspace), None

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        raise ParameterError(
            "Session: expected a learner for live use, got RoutedLP, which needs a table with all "
            "losses and costs; write play(RoutedLP(), pool, budget=...), and for a session "
            "ThriftyLP() or EmpiricalLP()."
        )

    def make_observe(self, observe: Kernel) -> Kernel:
        """Return `observe_round` with costs in their own unit, as models are trained on them."""

        def observe_round(state: Any, round: int, workspace: Any, slot: int) -> None:
            observe(state, round, workspace.played[slot], workspace.row, workspace.raw)

        return observe_round


class _State(NamedTuple):
    """Rows seen and mixes of the rows to come; T rounds, k actions.

    round: rounds played. seen: rows with known losses. lost: their total loss.
    following: number of rows seen at which the linear program is solved again.
    filled: number of rounds whose mix is known.
    fitted: 1 for each action that fitted when the program was solved, shape (k,).
    mixes: probabilities of the actions in each round, T x k.
    answered: round of each row seen, from 0. losses, costs: of the rows seen, T x k.
    """

    round: Floats
    seen: Floats
    lost: Floats
    following: Floats
    filled: Floats
    fitted: Floats
    mixes: Floats
    answered: Floats
    losses: Floats
    costs: Floats


@dataclass(frozen=True, repr=False)
class RoutedLP(Router, BudgetedLearner):
    """Choose the action of each row by its features, within a hard budget.

    One resource. Full rows with costs are seen after each play. It is a learner for `play` and
    `compare`, on a pool with features and costs; not for a session.

    models: of losses and costs: those of this package, or regressors of scikit-learn.
    growth: the linear program that mixes actions and routers is solved again when the number of
        rows seen has grown by this factor.
    supports_target: True, it plays at the least cost for a mean loss (`Budget(target=...)`).

    >>> import numpy as np
    >>> from tombola import Budget, Pool, play
    >>> easy = np.arange(600) % 2
    >>> costs = np.stack([0.0 * easy, 1.0 + 0 * easy], 1)
    >>> pool = Pool(np.stack([1.0 - easy, 0.0 * easy], 1), costs=costs, features=easy)
    >>> trace = play(RoutedLP(models=(Ridge(),)), pool, budget=Budget(300.0), seed=1)
    >>> trace.loss < 60, trace.balance.left[0] >= 0
    (True, True)
    >>> trace = play(RoutedLP(models=(Ridge(),)), pool, budget=Budget(target=0.1), seed=1)
    >>> trace.loss / 600 < 0.11, float(trace.costs.sum()) / 600 < 0.5
    (True, True)
    """

    feedback: ClassVar[Any] = RoutedLPFeedback
    supports_target: ClassVar[bool] = True

    models: Sequence[Any] = _DEFAULT_MODELS
    growth: float = 1.2

    def __post_init__(self) -> None:
        _validate.real("RoutedLP", "growth", self.growth, above=1)
        object.__setattr__(self, "models", as_models("RoutedLP", self.models))

    def init(self, terms: BudgetTerms) -> _State:
        rounds = terms.horizon
        k = terms.actions
        return _State(
            round=np.zeros(1),
            seen=np.zeros(1),
            lost=np.zeros(1),
            following=np.zeros(1),
            filled=np.zeros(1),
            fitted=np.zeros(k),
            mixes=lazy_zeros(rounds, k),
            answered=np.zeros(rounds),
            losses=lazy_zeros(rounds, k),
            costs=lazy_zeros(rounds, k),
        )

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        t = int(state.round[0])
        for action in range(mix.size):
            mix[action] = state.mixes[t, action]
        state.round[0] += 1.0

    @staticmethod
    def observe(state: _State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        n = int(state.seen[0])
        for action in range(losses.size):
            state.losses[n, action] = losses[action]
            state.costs[n, action] = costs[action, 0]
            state.lost[0] += played[action] * losses[action]
        state.answered[n] = round - 1
        state.seen[0] += 1.0

    @staticmethod
    def needs_plan(state: _State, fits: Floats) -> bool:
        if state.seen[0] >= state.following[0] or state.round[0] >= state.filled[0]:
            return True
        # An action that fitted when the program was solved no longer does.
        is_stale = False
        for action in range(fits.size):
            is_stale = is_stale or (state.fitted[action] > 0.0 and fits[action] == 0.0)
        return is_stale


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

    free = measured(0.0)
    scale = float(costs.max())
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


@dataclass(frozen=True, eq=False)
class _ListRouter(RoutedLPFeedback):
    """A play of `RoutedLP` over a list: its rows in their order, and what was trained on them."""

    rows: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    models: list[Fitted] = field(default_factory=list)
    columns: list[Any] = field(default_factory=list)  # routers, mix, usable actions of the program

    def plan(self, learner: RoutedLP, state: _State, workspace: Any, rng: RngState) -> None:
        """Train, solve the program again if it is due, and mix the rows to come."""
        seen = int(state.seen[0])
        fits = workspace.tracker.fits.copy()
        stale = bool(((state.fitted > 0) & (fits == 0)).any())
        if seen >= state.following[0] or stale:
            state.following[0] = next_solve(seen, self.horizon, learner.growth) if seen else 1
            state.fitted[:] = fits
            self._solve(learner, state, workspace, fits)
        routers, mix, usable = self.columns
        t = int(state.round[0])
        end = min(self.horizon, t + int(state.following[0]) - seen)
        state.mixes[t:end] = mix[: self.actions]
        for router, share in zip(routers, mix[self.actions :], strict=True):
            if share > 0:  # only columns in the mix are predicted
                chosen = _route(router.model.predict(self.rows[t:end]), router.price, usable)
                state.mixes[np.arange(t, end), chosen] += share
        state.filled[0] = end

    def _solve(self, learner: RoutedLP, state: _State, workspace: Any, fits: Floats) -> None:
        """Train the models if enough rows came since, and find the best mix of all columns."""
        seen = int(state.seen[0])
        limits = self.limits
        usable = fits.copy()
        if limits.added and limits.target < math.inf:
            # An added null action has loss 1, and does not help to reach a target.
            usable[limits.null] = 0.0
        if seen == 0 or not usable.any():
            mix = np.zeros(self.actions)
            mix[limits.null] = 1.0
            self.columns[:] = [[], mix, usable]
            return
        losses = state.losses[:seen]
        costs = state.costs[:seen]
        trained = self.models[0].out_of_bag.shape[0] if self.models else 0
        due = max(trained + 1, int(trained * _TRAINING_GROWTH)) if trained else FIRST_BLOCK
        if seen >= due:
            # Losses and costs side by side, not centred, because null has a known loss.
            targets = np.concatenate([losses, costs], axis=1)
            rows = self.rows[state.answered[:seen].astype(np.int64)]
            self.models[:] = with_mean([model.fit(rows, targets, seen) for model in learner.models])
            trained = seen
        tracker = workspace.tracker
        spent = float(tracker.spent[0] / tracker.unit_ticks[0])
        left = self.horizon - seen
        rates = _Rates(
            cost=max(0.0, float(limits.amounts[0]) - spent) / left,
            # Infinite without a target.
            loss=(limits.target * self.horizon - float(state.lost[0])) / left,
        )
        routers = [
            router
            for model in self.models
            for router in _routers_at(model, losses[:trained], costs[:trained], rates, usable)
        ]
        mean_losses = np.append(losses.mean(axis=0), [router.loss for router in routers])
        mean_costs = np.append(costs.mean(axis=0), [router.cost for router in routers])
        candidates = np.flatnonzero(np.append(usable > 0, np.ones(len(routers), bool)))
        mix = np.zeros(mean_losses.size)
        mix[candidates] = rates.best_mix(mean_losses[candidates], mean_costs[candidates])
        self.columns[:] = [routers, mix, usable]
