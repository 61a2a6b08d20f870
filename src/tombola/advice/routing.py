"""Routing in a comparison: play a policy that chooses actions by features.

A router is a trained model that chooses the action by the features of a row. Without a budget the
policy is `Routed`: a guard draws whether the router or a safe learner plays. Under a budget it is
`RoutedLP`. The answer is one of three sentences: route by features, features do not help, or the
comparison with the best fixed mix at the same cost. The guarantee of the guard is about the loss
averaged over its random draws, so both the averaged and the realised figure are shown.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import _statistics
from tombola._formatting import format_estimate, format_number, plural
from tombola._play import play
from tombola._statistics import Estimate
from tombola._types import Floats, Seed
from tombola.advice.text import interval_data, mean_in_units, mix_text
from tombola.budget.budget import Budget
from tombola.budget.optimum import best_per_row, optimum
from tombola.budget.target import target_regret
from tombola.delay import RowDelays
from tombola.parallel.parallel_map import parallel_map
from tombola.policies.explain import (
    Importance,
    block_means,
    feature_importance,
    gain_of_twice_the_rows,
    tree_in_words,
)
from tombola.policies.routed import Routed
from tombola.policies.routed_lp import RoutedLP
from tombola.pool import Pool
from tombola.rng import repetition_seeds
from tombola.units import UNIT_LOSSES, Units

if TYPE_CHECKING:
    from tombola.advice.request import CompareRequest
    from tombola.tables.to_pool import Table

# Training takes about a millisecond a row, so that routing has fewer repetitions than the learners;
# and enough for an interval, since the answer depends on it.
_MIN_REPETITIONS = 5
_MAX_REPETITIONS = 10
# Rounds at which the curve of rows won is drawn: enough for a smooth line.
_CURVE_POINTS = 200
# Budgets at which the curve of cost against loss is measured, as shares of the cost of the best
# fixed action.
_QUALITY_SHARES = (0.1, 0.3, 0.6, 1.0)


class _RoutingRow(NamedTuple):
    """The router, or a reference such as the best fixed action; `spent`: total cost."""

    name: str
    mean_loss: Estimate
    spent: Estimate | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    """Figures of the page that explain the router; total losses are in rows (loss 1).

    The guard draws in each round whether the router or the safe learner, which uses no features,
    plays.

    starts: training rows of the router in each block, shape (blocks,).
    curve: mean loss of the router in each block, repetitions x blocks.
    twice: expected fall of the mean loss with twice the rows of the list, an extrapolation.
    capital: loss in rows that the guard may still risk, repetitions x points of `Routing.rounds`.
    won: loss of the safe learner minus that of routing (averaged over the guard's draws), shape
        (repetitions,).
    importance: features with the loss per row that each saves, the largest first.
    tree: a decision tree of two levels, one sentence per leaf.
    """

    starts: Floats
    curve: Floats
    twice: float
    capital: Floats
    won: Floats
    importance: tuple[Importance, ...]
    tree: tuple[str, ...]

    def twice_text(self, units: Units) -> str:
        """Return the expected fall of the mean loss with twice the rows, as a sentence."""
        if self.twice < 0.00005:
            return "Twice the rows would bring nothing that the curve shows (an extrapolation)."
        change = (
            f"{units.gap(self.twice):.4f} {'more' if units.scores else 'less'} {units.quantity}"
        )
        return f"Twice the rows would bring about {change} a row (an extrapolation)."

    @property
    def won_text(self) -> str:
        """Sentence on rows won against the safe learner in the best and the worst order."""
        lost = int((self.won < 0).sum())
        return (
            f"Against the safe learner: {format_number(float(self.won.max()))} rows won in the "
            "best order, "
            f"{format_number(abs(float(self.won.min())))} "
            f"{'lost' if self.won.min() < 0 else 'won'} in the worst; "
            f"{lost} of {plural(self.won.size, 'order')} lost."
        )


@dataclass(frozen=True, eq=False)
class Routing:
    """Result of routing by features on a table; total losses are in rows (loss 1).

    policy: "Routed", or "RoutedLP" under a budget.
    fixed: the name of the best fixed action, or the description of the best fixed mix.
    gain: mean loss of `fixed` minus mean loss of routing (averaged over the guard's draws), paired
        over the orders. With a target: mean cost saved, less twice the price of each loss above the
        target.
    share_of_gap: gain as a share of the largest possible one, which plays the best action of every
        row.
    against_safe: loss of routing minus that of the safe learner, averaged over the guard's draws;
        None under a budget.
    rows: router and references.
    rounds, won: rounds of the curve, and rows won against the safe learner up to each, repetitions
        x rounds.
    risk: loss in rows that the guard lets routing cost on average.
    quality: under a budget, cost and mean loss of routing at several budgets.
    """

    policy: str
    fixed: str
    gain: Estimate
    share_of_gap: Estimate
    against_safe: Estimate | None
    rows: tuple[_RoutingRow, ...]
    rounds: Floats
    won: Floats
    risk: float
    delay: int
    budget: float | None
    n_features: int
    target: float | None = None
    explanation: Explanation | None = None
    units: Units = UNIT_LOSSES
    quality: tuple[tuple[float, float], ...] = ()

    @cached_property
    def helps(self) -> bool:
        """Whether choosing by features helps: the 95 % interval of its gain is above 0."""
        return self.gain.low > 0

    @cached_property
    def sentence(self) -> str:
        """Whether to route by features, and the gain, in one sentence."""
        if self.target is not None:
            return self._target_sentence
        if self.budget is not None:
            routed = next(row for row in self.rows if row.name == self.policy)
            cost = f"within the budget of {format_number(self.budget)}"
            if self.helps:
                return (
                    f"Route by features: {cost} {self._mean_text(routed)}, {self._gain_text} "
                    "than the best fixed mix at the same cost, known in advance."
                )
            return f"Features do not help here: the best fixed mix at the same cost ({self.fixed})."
        if self.helps:
            return (
                f"Route by features: on this list {self._gain_text} {self.units.quantity} a row "
                "than always "
                f"{self.fixed}; on average {self._average} at most {format_number(self.risk)} "
                "rows worse than not "
                "routing, for all features."
            )
        return f"Features do not help here: {self.fixed}."

    @property
    def _target_sentence(self) -> str:
        routed, mix = self.rows[:2]
        assert routed.spent is not None
        assert mix.spent is not None
        if not self.helps:
            return (
                "Features do not help here: the cheapest fixed mix that reaches the target "
                f"({self.fixed})."
            )
        saved = 100 * (1 - routed.spent.value / mix.spent.value)
        return (
            f"Route by features: {self._mean_text(routed)} (target "
            f"{self.units.number(self.target or 0.0):.4g}) for "
            f"{format_estimate(routed.spent)}, {saved:.0f} % less than the cheapest fixed mix "
            "that reaches the target, "
            "known in advance."
        )

    @cached_property
    def detail(self) -> str:
        """The figures behind the answer, and the feedback that routing needs, as text."""
        count = self.gain.repetitions
        share = f"{100 * self.share_of_gap.value:.0f} % of the gap to the best action of every row"
        if self.budget is not None or self.target is not None:
            limit = (
                "the target is aimed at, not guaranteed"
                if self.budget is None
                else "the budget is never exceeded"
            )
            within = "at the same target" if self.target is not None else "within the budget"
            return (
                f"{self.policy} with {plural(self.n_features, 'feature')} closes {share} "
                f"{within}, over "
                f"{plural(count, 'order')}; {limit}. It needs a table with all losses and costs: "
                "play(RoutedLP(), pool, budget=...) in Python; a session has no routing within a "
                "budget."
            )
        assert self.against_safe is not None
        averaged, realised = (
            next(r for r in self.rows if r.name.endswith(end)) for end in ("averaged", "realised")
        )
        worse = self.against_safe.value
        return (
            f"{self.policy} with {plural(self.n_features, 'feature')} closes {share}, over "
            f"{plural(count, 'order')}. "
            f"Mean {self.units.quantity} averaged over the guard's draws "
            f"{self.mean(averaged).value:.4f}, realised "
            f"{self.mean(realised).value:.4f}; against "
            f"the safe learner {format_number(abs(worse))} rows "
            f"{'worse' if worse > 0 else 'better'} on average "
            f"{self._average}. It needs the outcomes of all actions of a row, from a table or "
            "recorded in a session."
        )

    @property
    def _average(self) -> str:
        # Theorem C3 holds on every order; with delay, C3' is about the mean over orders.
        return "over the guard's draws and over orders" if self.delay else "over the guard's draws"

    @property
    def _gain_text(self) -> str:
        gain = self.gain if self.target is not None else self.gain.linear(self.units.gap(1.0))
        return f"{format_estimate(gain)} {'more' if self.units.scores else 'less'}"

    def mean(self, row: _RoutingRow) -> Estimate:
        """Return the mean loss of one of `rows`, converted to the unit of the table."""
        return mean_in_units(row.mean_loss, self.units)

    def _mean_text(self, row: _RoutingRow) -> str:
        return f"a mean {self.units.quantity} of {format_estimate(self.mean(row))}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result of routing as JSON data; losses are in [0, 1].

        Keys: policy, fixed, features (their number), risk, sentence, detail, helps, repetitions,
            quality, explanation;
        gain, share_of_gap, rows_worse, and mean_loss and cost by name in losses: dicts with value,
            low, high, or None.
        """
        return {
            "policy": self.policy,
            "sentence": self.sentence,
            "detail": self.detail,
            "helps": self.helps,
            "fixed": self.fixed,
            "features": self.n_features,
            "risk": None if self.against_safe is None else self.risk,
            "gain": interval_data(self.gain),
            "share_of_gap": interval_data(self.share_of_gap),
            "rows_worse": interval_data(self.against_safe),
            "repetitions": self.gain.repetitions,
            "explanation": self._explanation_data(),
            "quality": [{"cost": cost, "mean_loss": loss} for cost, loss in self.quality],
            "losses": {
                row.name: {
                    "mean_loss": interval_data(row.mean_loss),
                    "cost": interval_data(row.spent),
                }
                for row in self.rows
            },
        }

    def _explanation_data(self) -> dict[str, Any] | None:
        explanation = self.explanation
        if explanation is None:
            return None
        curve = [] if not explanation.starts.size else explanation.curve.mean(axis=0).tolist()
        return {
            "learning_curve": {"rows": explanation.starts.tolist(), "mean_loss": curve},
            "gain_of_twice_the_rows": explanation.twice,
            "rows_won": explanation.won.tolist(),
            "tree": list(explanation.tree),
            "importance": {feature.name: feature.gain for feature in explanation.importance},
        }


def skip_reason(table: "Table", request: "CompareRequest") -> str | None:
    """Return the reason why features are not used, as a sentence; None if they are."""
    if request.conditions.switching_price > 0:
        return "features are not used: routing ignores the switching price"
    if len(request.amounts) > 1:
        return "features are not used: routing has one budget only"
    return None


def run_routing(table: "Table", request: "CompareRequest", *, workers: int = 1) -> Routing:
    """Play the routing policy in 5 to 10 orders, and compare it with fixed actions.

    Call it only if `skip_reason` returns None.

    >>> import numpy as np
    >>> from tombola.advice.default_learners import Conditions
    >>> from tombola.advice.request import CompareRequest
    >>> from tombola.tables.to_pool import Table
    >>> side = np.arange(120) % 2
    >>> pool = Pool(np.stack([side, 1 - side], axis=1), ["left", "right"], features=side)
    >>> run_routing(Table(pool, None, []), CompareRequest(Conditions("full"), repetitions=5)).helps
    True
    """
    count = min(_MAX_REPETITIONS, max(_MIN_REPETITIONS, request.repetitions))
    seeds = [(seed,) for seed in repetition_seeds(request.seed, count)]
    one = _budgeted_run if request.has_budget else partial(_full_run, delay=request.delay(table))
    runs = list(
        parallel_map(
            partial(one, table.pool, request), seeds, workers=workers, label="routing by features"
        )
    )
    columns = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    if request.has_budget:
        columns["quality"] = np.array(_quality(table.pool, request, seeds[0][0]))
        return _budgeted_routing(table, request, columns)
    return replace(_full_routing(table.pool, request, columns), units=table.units)


def _full_run(
    pool: Pool, request: "CompareRequest", seed: Seed, *, delay: int | RowDelays
) -> dict[str, Any]:
    trace = play(Routed(), pool, request.orders[0], delay, seed=seed)
    router = trace.router
    assert router is not None
    probabilities = router.stakes.probabilities
    won = np.cumsum(probabilities * (router.safe_losses - router.router_losses))
    return {
        "averaged": trace.expected_loss,
        "realised": trace.loss,
        "safe": router.safe_loss,
        "router": router.router_loss,
        "fixed": float(router.losses[:, pool.best].sum()),
        "oracle": float(router.losses.min(axis=1).sum()),
        "won": won[_curve_rounds(pool.rows) - 1],
        "curve": block_means(router),
        "starts": np.array([block.start for block in router.blocks], np.float64),
        "capital": router.stakes.capital[_curve_rounds(pool.rows) - 1],
    }


def _full_routing(pool: Pool, request: "CompareRequest", runs: dict[str, Floats]) -> Routing:
    router = Routed()
    name = pool.actions[pool.best]
    lines = {
        "Routed, averaged": "averaged",
        "Routed, realised": "realised",
        "router without guard": "router",
        f"safe: {type(router.safe).__name__}": "safe",
        f"always {name}": "fixed",
        "best action of every row": "oracle",
    }
    gap = np.maximum(runs["fixed"] - runs["oracle"], 1e-12)
    return Routing(
        "Routed",
        name,
        _statistics.mean((runs["fixed"] - runs["averaged"]) / pool.rows),
        _statistics.mean((runs["fixed"] - runs["averaged"]) / gap),
        _statistics.mean(runs["averaged"] - runs["safe"]),
        tuple(
            _RoutingRow(line, _statistics.mean(runs[key] / pool.rows))
            for line, key in lines.items()
        ),
        _curve_rounds(pool.rows).astype(np.float64),
        runs["won"],
        router.risk,
        request.conditions.delay,
        None,
        len(pool.feature_names),
        explanation=_explain(pool, router, runs),
    )


def _explain(pool: Pool, router: Routed, runs: dict[str, Floats]) -> Explanation:
    # Rows with delays of their own have no common blocks, and no learning curve.
    curve = runs["curve"]
    starts = runs["starts"][0]
    twice = 0.0
    if starts.size > 1:
        lengths = np.diff(np.append(starts, pool.rows))
        twice = gain_of_twice_the_rows(starts, curve.mean(axis=0), lengths, pool.rows)
    return Explanation(
        starts,
        curve,
        twice,
        runs["capital"],
        runs["won"][:, -1],
        feature_importance(pool, router.models),
        tree_in_words(pool),
    )


def _quality(pool: Pool, request: "CompareRequest", seed: Seed) -> list[tuple[float, float]]:
    """Return cost and mean loss of RoutedLP on one order, at `_QUALITY_SHARES`."""
    null = request.budget(pool)
    assert null is not None
    whole = float(np.asarray(pool.costs, np.float64).reshape(pool.rows, pool.k)[:, pool.best].sum())
    points = []
    for part in _QUALITY_SHARES if whole > 0 else ():
        budget = Budget(part * whole, null=null.null)
        trace = play(RoutedLP(), pool, request.orders[0], budget=budget, seed=seed)
        points.append((float(trace.costs.sum()), trace.loss / pool.rows))
    return points


def _budgeted_run(pool: Pool, request: "CompareRequest", seed: Seed) -> dict[str, Any]:
    trace = play(RoutedLP(), pool, request.orders[0], budget=request.budget(pool), seed=seed)
    return {"loss": trace.loss, "spent": float(trace.costs.sum())}


def _budgeted_routing(
    table: "Table", request: "CompareRequest", runs: dict[str, Floats]
) -> Routing:
    pool = table.pool
    budget = request.budget(pool)
    assert budget is not None
    best = optimum(pool, budget)
    oracle = best_per_row(pool, budget)
    losses = runs["loss"] / pool.rows
    costs = runs["spent"] / pool.rows
    targeted = target_regret(pool, budget)
    mix_loss = float(pool.means @ best.mix[: pool.k] + best.mix[pool.k :].sum())
    if targeted is None:
        gains = mix_loss - losses
        gap = mix_loss - oracle
        shares = gains / max(gap, 1e-12)
    else:
        gains = (
            -targeted.regret(np.full(len(losses), pool.rows), runs["loss"], runs["spent"])
            / pool.rows
        )
        shares = (targeted.cost - costs) / max(targeted.cost - oracle, 1e-12)
    exact = np.ones(len(gains))
    return Routing(
        "RoutedLP",
        mix_text(pool, best, table.units),
        _statistics.mean(gains),
        _statistics.mean(shares),
        None,
        (
            _RoutingRow("RoutedLP", _statistics.mean(losses), _statistics.mean(runs["spent"])),
            _RoutingRow(
                "best fixed mix",
                _statistics.mean(mix_loss * exact),
                _statistics.mean(pool.rows * best.cost[0] * exact),
            ),
        ),
        np.zeros(0),
        np.zeros((len(gains), 0)),
        Routed().risk,
        0,
        float(request.amounts[0]) if request.amounts else None,
        len(pool.feature_names),
        request.target,
        units=table.units,
        quality=tuple((float(cost), float(loss)) for cost, loss in runs["quality"]),
    )


def _curve_rounds(rows: int) -> Any:
    return np.unique(np.linspace(1, rows, min(rows, _CURVE_POINTS)).astype(np.int64))
