"""The comparator under a budget: OPT_LP, the best fixed mix within the budget.

    OPT_LP = max r . x   such that   c_j . x <= rho_j for every resource j,   x a mix

with the mean rewards r and mean costs c_j of the actions, and the budget per round rho_j. For one
resource a best mix has at most two actions and is found directly; for more, HiGHS solves the LP.
With a target, loss and cost exchange their roles: minimise the mean cost subject to a mean loss of
at most the target.
"""

import math
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import Budget, n_resources
from tombola.errors import ParameterError
from tombola.pool import Pool

_CHUNK = 1 << 16  # rows per read, so that a memory-mapped table is not loaded at once
# basis status codes of HiGHS
_LOWER = 0.0
_BASIC = 1.0
_UPPER = 2.0
# of the warm-started simplex
_TOLERANCE = 1e-10
_MAX_PIVOTS = 12
# Largest cost / rate in a linear program; an action above it counts as forbidden. The solver HiGHS
# rejects much larger numbers.
_MAX_COST_RATIO = 1e9
# Message of UnreachableError if no mix keeps within a budget.
_OUT_OF_REACH = (
    "OPT_LP: some mix must keep within the budget, got costs for which none does; "
    "write Budget(..., null='add')."
)
# Linear program of a budget: mean rewards, shape (k,); mean costs, shape (k, resources); rates,
# shape (resources,).
Program: TypeAlias = tuple[Floats, Floats, Floats]
_programs = threading.local()
# Prices that are searched: this factor to both sides of (largest value / largest cost), by halvings
# of the exponent.
_PRICE_RANGE = 1e6
_PRICE_HALVINGS = 60


class UnreachableError(ParameterError):
    """Raised if no mix keeps within the budget, or none reaches the target."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Hold the best fixed mix and the linear program that it solves.

    It is the result of the function `optimum`.

    value: mean reward per round of the mix, which is 1 - its mean loss; also with a target.
    mix: probability of each action, shape (k,); an added null action is the last one.
    cost: mean cost per round of the mix, in cost units, shape (resources,).
    program: the linear program (mean rewards, mean costs, budget per round), shapes (k,), (k,
        resources) and (resources,); for a target, as returned by `target_as_budget`.
    unit: factor from dual prices of the program to `prices`; 1 without a target.
    """

    value: float
    mix: Floats
    cost: Floats
    program: Program
    unit: float = 1.0  # of the objective

    @cached_property
    def prices(self) -> Floats:
        """The dual prices, shape (resources,): marginal reward of one more unit of each.

        A price is 0 if the constraint is slack. With a target, the first price is the marginal cost
        of one loss less. At a kink of the value, where left and right derivatives differ, a price
        is one number between the two.
        """
        return self.unit * dual_prices(*self.program)


def optimum(pool: Pool, budget: Budget) -> Optimum:
    """Return the best fixed mix of a pool within the budget (the paper's OPT_LP).

    A mix is a probability for each action, the same in all rows; the best one has the largest mean
    reward, 1 - loss. With a target, it is the cheapest mix whose mean loss is at most the target.
    Regret is measured against `pool.rows * value`. Raises UnreachableError if no mix keeps within
    the budget or reaches the target, and ParameterError for a pool without costs. The amounts are
    for one pass over all rows.

    >>> pool = Pool.from_rewards([[0.0, 1.0]] * 4, costs=[[0.0, 1.0]] * 4)
    >>> optimum(pool, Budget(1.0)).value
    0.25
    >>> best = optimum(pool, Budget(target=0.25))
    >>> best.mix.tolist(), best.cost.tolist(), best.prices.tolist()
    ([0.25, 0.75], [0.75], [1.0])
    """
    limits = budget.resolve(pool.k, n_resources(pool), pool.costs)
    rewards = 1.0 - pool.means
    costs = mean_costs(pool)
    rates = limits.amounts / pool.rows
    if limits.target < math.inf:
        program, unit = target_as_budget(1.0 - rewards, costs, rates, limits.target)
        mix = _reaching(program, pool, limits.target)
        whole = np.append(mix, 0.0) if limits.added else mix
        return Optimum(float(rewards @ mix), whole, costs.T @ mix, program, unit)
    if limits.added:
        rewards = np.append(rewards, 0.0)
        costs = np.vstack([costs, np.zeros(costs.shape[1])])
    mix, _ = best_mix(rewards, costs, rates)
    return Optimum(float(rewards @ mix), mix, costs.T @ mix, (rewards, costs, rates))


def best_per_row(pool: Pool, budget: Budget) -> float:
    """Return the least mean loss of any choice of an action per row within the budget.

    With a target, the least mean cost of any such choice with a mean loss of at most the target.
    NaN if there is no such choice. Raises ParameterError unless the costs have exactly one
    resource.

    It is the optimum of a linear program in which a row may be shared between actions: no rule that
        chooses an action for each row has less loss within the budget. By duality it is the largest
        value, over prices p >= 0, of (mean over rows of min_a (loss + p cost)) - p rate, where rate
        is the budget per row.

    >>> pool = Pool([[1.0, 0.0], [0.0, 0.0]], costs=[[0.0, 1.0], [0.0, 1.0]])
    >>> best_per_row(pool, Budget(1.0)), optimum(pool, Budget(1.0)).value
    (0.0, 0.75)
    >>> best_per_row(pool, Budget(target=0.0)), float(optimum(pool, Budget(target=0.0)).cost[0])
    (0.5, 1.0)
    """
    limits = budget.resolve(pool.k, n_resources(pool), pool.costs)
    if n_resources(pool) != 1:
        raise ParameterError(
            f"best_per_row: expected costs of one resource, got {n_resources(pool)}; give one "
            "cost for each action."
        )
    losses = np.asarray(pool.losses, np.float64)
    costs = np.asarray(pool.costs, np.float64).reshape(pool.rows, pool.k)
    if limits.target < math.inf:
        return _least_mean(costs, losses, limits.target)
    if limits.added:
        losses = np.column_stack([losses, np.ones(pool.rows)])
        costs = np.column_stack([costs, np.zeros(pool.rows)])
    return _least_mean(losses, costs, float(limits.amounts[0]) / pool.rows)


def _least_mean(values: Floats, limited: Floats, limit: float) -> float:
    """Return the least mean value with the mean of `limited` <= `limit`, or NaN."""
    index = np.arange(len(values))

    def at_price(price: float) -> tuple[float, float]:
        chosen = (values + price * limited).argmin(axis=1)
        return float(values[index, chosen].mean()), float(limited[index, chosen].mean())

    if float(limited.min(axis=1).mean()) > limit:
        return math.nan
    value, other = at_price(0.0)
    if other <= limit:
        return value
    scale = max(float(values.max()), 1e-300) / float(limited.max())
    low, high = scale / _PRICE_RANGE, scale * _PRICE_RANGE
    for _ in range(_PRICE_HALVINGS):
        # Geometric steps: useful prices span several orders of magnitude.
        middle = math.sqrt(low * high)
        low, high = (middle, high) if at_price(middle)[1] > limit else (low, middle)
    value, other = at_price(high)
    return value + high * (other - limit)


def _reaching(program: Program, pool: Pool, target: float) -> Floats:
    """Return the mix of a program from `target_as_budget`, or raise UnreachableError."""
    try:
        return best_mix(*program)[0]
    except UnreachableError:
        least = float(pool.means.min())
        if least <= target:
            needed = pool.rows * float(optimum(pool, Budget(target=target, null="add")).cost[0])
            raise UnreachableError(
                f"target: a mean loss of {target:g} needs at least {needed:.4g}, got a smaller "
                "budget; write a larger "
                "budget, or a larger target."
            ) from None
        raise UnreachableError(
            f"target: some mix must have a mean loss of at most {target:g}, got none, for the "
            f"least is {least:.4g}, of "
            f"{pool.actions[pool.best]}; write a larger target."
        ) from None


def target_as_budget(
    losses: Floats, costs: Floats, rates: Floats, target: float
) -> tuple[Program, float]:
    """Return the program that minimises cost under a loss target, and its unit.

    The program is (rewards, costs, rates), as in `dual_prices`. The roles are exchanged: the reward
    of an action is minus its cost of resource 0, divided by the unit; its first cost is its loss;
    the first rate is the target. The costs and rates of the resources follow, without those whose
    rate no cost exceeds. The unit is the largest cost of resource 0, or 1 if that is 0.

    losses, costs: means of each action, shapes (k,) and (k, resources).
    rates: budget per round of each resource, shape (resources,).
    """
    unit = float(costs[:, 0].max()) or 1.0
    binding = costs.max(axis=0) > rates
    shift = min(0.0, float(losses.min()))  # shares of a mix sum to 1, so a shift changes only signs
    limited = np.column_stack([losses - shift, costs[:, binding]])
    return (-costs[:, 0] / unit, limited, np.append(target - shift, rates[binding])), unit


def frontier(pool: Pool) -> tuple[Floats, Floats, list[int]]:
    """Return the corners of the smallest mean loss as a function of the mean cost.

    Returns mean cost, mean loss and action of each corner, from the cheapest to the one of least
    loss. Between corners the function is linear: a mix of the two actions attains it. Raises
    ParameterError unless there is exactly one resource.
    """
    if n_resources(pool) != 1:
        raise ParameterError(
            f"frontier: expected costs of one resource, got {n_resources(pool)}; give Pool one "
            "cost for each action."
        )
    rewards = 1.0 - pool.means
    costs = mean_costs(pool)[:, 0]
    corners: list[int] = []
    for action in _frontier(rewards, costs, np.arange(pool.k)).tolist():
        while len(corners) > 1 and _below(corners[-2], corners[-1], action, rewards, costs):
            corners.pop()
        corners.append(int(action))
    return costs[corners], 1.0 - rewards[corners], corners


def _below(first: int, middle: int, last: int, rewards: Floats, costs: Floats) -> bool:
    """Return whether the middle action is on or below the line between two others."""
    rise = (rewards[last] - rewards[first]) * (costs[middle] - costs[first])
    return bool((rewards[middle] - rewards[first]) * (costs[last] - costs[first]) <= rise)


def dual_prices(rewards: Floats, costs: Floats, rates: Floats) -> Floats:
    """Return the dual prices of a linear program of a budget, shape (resources,).

    rewards, costs: mean reward and mean costs of each action, shapes (k,) and (k, resources).
    rates: budget per round of each resource, shape (resources,).

    A price is the mean reward that one more unit of the rate adds. Together they are the p >= 0
    that minimises rates . p + max_a (rewards[a] - costs[a] . p); infinite for a resource of rate 0
    that would add reward. Raises UnreachableError if no mix keeps within the rates.
    """
    from scipy.optimize import linprog

    k, m = costs.shape
    size = np.where(
        rates > 0, rates, 1.0
    )  # relative to the rate: tolerances of the solver are absolute
    scaled = np.where(rates > 0, costs / size, (costs > 0) * _MAX_COST_RATIO)
    solution = linprog(
        np.append(rates / size, 1.0),
        A_ub=-np.column_stack([np.minimum(scaled, _MAX_COST_RATIO), np.ones(k)]),
        b_ub=-rewards,
        bounds=[(0, None)] * m + [(None, None)],
        method="highs-ds",
    )
    if solution.x is None:
        raise UnreachableError(_OUT_OF_REACH)
    prices: Floats = solution.x[:m] / size
    prices[(rates == 0) & (prices > 0)] = np.inf
    return prices


def mean_costs(pool: Pool) -> Floats:
    """Return the mean cost of each action over all rows, shape (actions, resources)."""
    table: Any = pool.costs
    totals = np.zeros(table.shape[1:])
    for start in range(0, pool.rows, _CHUNK):
        totals += table[start : start + _CHUNK].sum(axis=0, dtype=np.float64)
    return np.asarray(totals / pool.rows)


def best_mix(
    rewards: Floats, costs: Floats, rates: Floats, basis: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return a best mix, shape (k,), and a basis that warm-starts a similar program.

    rewards, costs, rates: as in `dual_prices`.

    The basis is opaque: pass it to the next call, for example when the means have changed by one
    more row; None starts anew. Raises UnreachableError if no mix keeps within the rates.
    """
    if costs.shape[1] == 1:
        return best_mix_one_resource(rewards, costs[:, 0], float(rates[0])), np.zeros(0)
    return _best_mix_many_resources(rewards, costs, rates, basis)


def best_mix_one_resource(rewards: Floats, costs: Floats, rate: float) -> Floats:
    """Return the best mix for one resource, the probability of each action, (k,).

    rewards, costs: mean reward and mean cost of each action, shape (k,); rate: largest mean cost of
        the mix.

    It is one action that costs at most the rate, or a mix of one such action and one dearer action
    that costs exactly the rate. Raises UnreachableError if every action costs more than the rate.
    """
    mix = np.zeros(rewards.size)
    within = np.flatnonzero(costs <= rate)
    if within.size == 0:
        raise UnreachableError(_OUT_OF_REACH)
    low, high = (
        _frontier(rewards, costs, within),
        _frontier(rewards, costs, np.flatnonzero(costs > rate)),
    )
    best = low[int(np.argmax(rewards[low]))]
    mix[best] = 1.0
    if high.size == 0:
        return mix
    shares = (rate - costs[low][:, None]) / (costs[high] - costs[low][:, None])
    values = rewards[low][:, None] + shares * (rewards[high] - rewards[low][:, None])
    at = np.unravel_index(int(np.argmax(values)), values.shape)
    if values[at] > rewards[best]:
        mix[best] = 0.0
        mix[low[at[0]]] = 1.0 - shares[at]
        mix[high[at[1]]] = shares[at]
    return mix


def _frontier(rewards: Floats, costs: Floats, actions: Any) -> Any:
    """Return the actions that no cheaper action equals or beats."""
    order = actions[np.lexsort((actions, -rewards[actions], costs[actions]))]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(rewards[order])[:-1]])
    return order[rewards[order] > before]


def _best_mix_many_resources(
    rewards: Floats, costs: Floats, rates: Floats, basis: Floats | None
) -> tuple[Floats, Floats]:
    """Return the best mix by HiGHS, and its basis; they depend on the arguments alone."""
    size = np.where(
        (rates > 0) & np.isfinite(rates), rates, 1.0
    )  # the tolerances of HiGHS are absolute
    with np.errstate(over="ignore"):
        shares = np.where(
            rates > 0, np.minimum(costs / size, _MAX_COST_RATIO), (costs > 0).astype(np.float64)
        )
    known = basis is not None and basis.size > 0 and basis[0] >= 0
    if basis is not None and known:
        mix = _pivot(rewards, shares, rates / size, basis)
        if mix is not None:
            return mix
    return _program(*costs.shape).solve(rewards, shares, rates / size, basis if known else None)


def _pivot(
    rewards: Floats, costs: Floats, rates: Floats, basis: Floats
) -> tuple[Floats, Floats] | None:
    """Return an optimal mix and its basis by simplex pivots; None if that fails.

    Primal pivots while the basis is feasible, dual pivots while it is dual feasible.
    """
    (k, m), basic = costs.shape, np.flatnonzero(basis == _BASIC)
    if basic.size != m + 1 or basis[k + m] == _BASIC or not np.isfinite(rates).all():
        return None
    table = np.zeros((k + m, m + 1))  # constraint matrix: costs and slacks, then the sum of the mix
    table[:k, :m] = costs
    table[:k, m] = 1.0
    table[k:, :m] = np.eye(m)
    worth = np.append(rewards, np.zeros(m))
    limits = np.append(rates, 1.0)
    for _ in range(_MAX_PIVOTS):
        try:
            inverse = np.linalg.inv(table[basic])
        except np.linalg.LinAlgError:
            return None
        values = limits @ inverse
        gains = worth - table @ (inverse @ worth[basic])
        short = int(values.argmin())
        best = int(gains.argmax())
        if values[short] >= -_TOLERANCE and gains[best] <= _TOLERANCE:
            mix = np.zeros(k)
            codes = np.append(np.full(k, _LOWER), np.full(m + 1, _UPPER))
            codes[basic] = _BASIC
            inside = basic < k
            mix[basic[inside]] = np.maximum(values[inside], 0.0)
            return mix / mix.sum(), codes
        if values[short] >= -_TOLERANCE:
            share = table[best] @ inverse
            basic[_least_ratio(values, share)] = best
        elif gains[best] <= _TOLERANCE:
            basic[short] = _least_ratio(-gains, -(table @ inverse[:, short]))
        else:
            return None
    return None


def _least_ratio(upper: Floats, lower: Floats) -> int:
    """Return the index of the smallest ratio upper / lower with positive lower."""
    places = np.flatnonzero(lower > _TOLERANCE)
    return (
        int(places[(np.maximum(upper[places], 0.0) / lower[places]).argmin()]) if places.size else 0
    )


class _Program:
    """The LP of k actions and m resources in HiGHS, solved repeatedly."""

    def __init__(self, k: int, m: int) -> None:
        import highspy

        make: Any = highspy.Highs  # has no types
        self._solver = make()
        options: dict[str, Any] = {
            "output_flag": False,
            "presolve": "off",
            "solver": "simplex",
            "threads": 1,
        }
        for name, value in options.items():
            self._solver.setOptionValue(name, value)
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._statuses = {
            status.value: status for status in highspy.HighsBasisStatus.__members__.values()
        }
        self._basis = highspy.HighsBasis()
        self._model = model = highspy.HighsLp()
        model.num_col_ = k
        model.num_row_ = m + 1
        model.sense_ = highspy.ObjSense.kMaximize
        model.col_lower_ = np.zeros(k)
        model.col_upper_ = np.full(k, np.inf)
        model.row_lower_ = np.append(np.full(m, -np.inf), 1.0)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.arange(k + 1, dtype=np.int32) * (m + 1)
        model.a_matrix_.index_ = np.tile(np.arange(m + 1, dtype=np.int32), k)
        self._values = np.ones((k, m + 1))

    def solve(
        self, rewards: Floats, costs: Floats, rates: Floats, basis: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return the best mix and its basis."""
        solver = self._solver
        model = self._model
        self._values[:, :-1] = costs
        model.col_cost_ = rewards
        model.row_upper_ = np.append(rates, 1.0)
        model.a_matrix_.value_ = self._values.ravel()
        solver.passModel(model)
        if basis is not None:
            statuses = [self._statuses[code] for code in basis.tolist()]
            self._basis.col_status = statuses[: rewards.size]
            self._basis.row_status = statuses[rewards.size :]
            self._basis.valid = True
            solver.setBasis(self._basis)
        solver.run()
        if solver.getModelStatus() != self._optimal and basis is not None:
            # Rarely the simplex method gets stuck at an old basis: start anew.
            solver.clearSolver()
            solver.run()
        if solver.getModelStatus() != self._optimal:
            raise UnreachableError(_OUT_OF_REACH)
        mix = np.maximum(np.array(solver.getSolution().col_value), 0.0)
        found = solver.getBasis()
        return mix / mix.sum(), np.array(
            [float(status.value) for status in (*found.col_status, *found.row_status)]
        )


def _program(k: int, m: int) -> _Program:
    """Return the solver of this size for this thread; HiGHS is not thread-safe."""
    by_size: dict[tuple[int, int], _Program] = _programs.__dict__.setdefault("by_size", {})
    if (k, m) not in by_size:
        by_size[k, m] = _Program(k, m)
    return by_size[k, m]
