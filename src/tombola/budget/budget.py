"""Budget: the amount of each resource, or a target for the mean loss.

Amounts are in the units of the costs. They are never exceeded, not even by a rounding error. Costs
are therefore counted in ticks, integers held in float64. A tick of a resource is the power of two
for which the amount has 52 bits; a cost is rounded up to whole ticks, the amount down. Integers
below 2^53 add and subtract without error, so for the exact sums

    spent  <=  tick * (ticks spent)  <=  tick * (ticks of the amount)  <=  amount,

and a reservation is released exactly. The loss by rounding is at most one tick, 2^-51 of the
amount, per play. (The float 0.1 is a little more than a tenth: an amount of 10 pays for 99 costs of
0.1. Count in cents to have 100.) Inputs are read as the nearest float64: integers beyond 2^53 are
rounded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers, Rows
from tombola.errors import ParameterError
from tombola.pool import Pool

# Bits of an amount in ticks. One bit less than the 53 of float64, so that sums of spent and
# reserved ticks are exact.
_AMOUNT_BITS = 52
# Smallest positive amount or cost that is accepted. Smaller (subnormal) numbers have fewer bits
# than a tick needs.
_MIN_AMOUNT = float(np.finfo(np.float64).tiny)
# The null action, which costs nothing: its index, "add" for an additional last action with loss 1,
# None for the first action of cost 0.
_Null: TypeAlias = int | Literal["add"] | None
# Stop rule of a budget. "fits": play every action whose worst cost still fits. "strict" (the
# paper): only the null action once less than one largest cost of a resource is left.
Stop: TypeAlias = Literal["strict", "fits"]


@dataclass(frozen=True)
class Budget:
    """Limit the total amount of each resource.

    Raises ParameterError for invalid values, and if both amounts and target are None.

    amounts: total for all rounds: one number, or one per resource, in the units of the costs; None
        if unlimited.
    worst: largest cost of a play: a number, one per resource, or a table of actions x resources. A
        play is made only if its worst cost fits. None in `play`: the largest costs in the pool; a
        `Session` needs it, unless all prices are known.
    null: the action that costs nothing: an index, "add" for an additional last action with loss 1,
        or None for the first action with worst cost 0.
    prices: costs known in advance, per action (and resource); None or NaN where a cost is known
        only after the call. Learners know the prices, and exactly the price is reserved.
    target: mean loss to reach at the smallest cost. Unlike an amount it may be missed. It requires
        costs of one resource; an added null action does not help to reach it.

    Learners see a common scale: the costs of resource j times B / amount_j, where B = min_j
        amount_j / (largest worst cost of j), at most the number of rounds T. So costs are in [0,
        1], and every resource has the budget B and the rate B / T. A resource of amount 0 has
        scaled costs of 0; actions that may use it are never played.

    >>> Budget(90.0, null="add").per_resource.tolist()
    [90.0]
    >>> Budget(90.0, worst=3.0, prices=[0.0, None, 0.25]).resolve(actions=3, resources=1).worst.ravel().tolist()
    [0.0, 3.0, 0.25]
    >>> Budget(target=0.1, worst=[0.0, 2.0]).resolve(actions=2, resources=1, horizon=9).amounts.tolist()
    [20.0]
    """

    amounts: float | Sequence[float] | None = None
    worst: Any = None
    null: _Null = None
    prices: Any = None
    target: float | None = None

    def __post_init__(self) -> None:
        if self.amounts is None and self.target is None:
            raise ParameterError(
                "Budget: expected amounts, or a target, got neither; write for example "
                "Budget(90.0)."
            )
        amounts = self.per_resource
        if amounts.ndim > 1 or amounts.size == 0:
            raise ParameterError(
                f"Budget: amounts must be one number for each resource, got {self.amounts!r}; "
                "write for example Budget([90.0, 5.0])."
            )
        if self.target is not None:
            _validate.real("Budget", "target", self.target, least=0, most=1)
            if amounts.size > 1:
                raise ParameterError(
                    f"Budget: a target needs costs of one resource, got {amounts.size} amounts; "
                    "leave out the target."
                )
        if self.worst is not None:
            _numbers("worst", self.worst)
        if self.prices is not None:
            _numbers(
                "prices",
                np.nan_to_num(self._price_list, nan=0.0, posinf=math.inf),
                shown=self.prices,
            )
        number = isinstance(self.null, int) and not isinstance(self.null, bool)
        if not (number or self.null is None or self.null == "add"):
            raise ParameterError(
                f"Budget: null must be the index of an action, 'add' or None, got {self.null!r}; "
                "write null='add'."
            )

    @property
    def per_resource(self) -> Floats:
        """The amounts in cost units, shape (resources,); [inf] if `amounts` is None."""
        if self.amounts is None:
            return np.full(1, math.inf)
        return np.atleast_1d(_numbers("amounts", self.amounts))

    @property
    def _price_list(self) -> Floats:
        """The prices as an array, NaN where unknown; [inf] if they are not numbers."""
        try:
            return np.array(self.prices, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            return np.full(1, math.inf)

    def to_json(self) -> list[Any]:
        """Return the parameters as a list of JSON values, to be read by `Budget(*values)`.

        The target is left out if it is None.

        >>> Budget(90.0, worst=3.0, prices=[0.0, None, 0.25]).to_json()
        [[90.0], 3.0, None, [0.0, None, 0.25]]
        """
        worst = None if self.worst is None else np.asarray(self.worst, np.float64).tolist()
        prices = None if self.prices is None else self._price_list
        listed = (
            None if prices is None else np.where(np.isnan(prices), np.array(None), prices).tolist()
        )
        amounts = None if self.amounts is None else self.per_resource.tolist()
        return [amounts, worst, self.null, listed, *([] if self.target is None else [self.target])]

    def resolve(
        self, actions: int, resources: int, costs: Rows | None = None, *, horizon: int = 0
    ) -> "ResolvedBudget":
        """Return amounts, worst costs, prices and null action with defaults filled in.

        Raises ParameterError if the number of amounts is not `resources`, if the shape of worst or
        prices does not fit, if a cost exceeds its worst cost or differs from its price, or if no
        action costs nothing.

        actions: number of actions, without an added null action.
        costs: all costs, shape (rows, actions, resources); None if they are not known in advance.
        horizon: number of rounds; used only to bound the spending if there are neither amounts nor
            `costs`.
        """
        amounts = self.per_resource
        if self.target is not None and resources != 1:
            raise ParameterError(
                f"Budget: a target needs costs of one resource, got {resources}; leave out the "
                "costs of the others."
            )
        if amounts.size != resources:
            raise ParameterError(
                f"Budget: amounts must be {resources}, one for each resource of the costs, got "
                f"{amounts.size}; "
                f"write Budget({[1.0] * resources})."
            )
        prices = self._prices(actions, resources, costs)
        worst = self._worst(actions, resources, costs, prices)
        prices = np.where(worst == 0, 0.0, prices)
        if self.amounts is None:
            plays = 1.0 + (horizon if costs is None else len(costs))  # one more, for rounding up
            amounts = np.minimum(plays * worst.max(axis=0), np.finfo(np.float64).max)
        target = math.inf if self.target is None else float(self.target)
        if self.null == "add":
            worst, prices = (np.vstack([table, np.zeros(resources)]) for table in (worst, prices))
            return ResolvedBudget(amounts, worst, actions, added=True, prices=prices, target=target)
        return ResolvedBudget(
            amounts, worst, self._null(worst), added=False, prices=prices, target=target
        )

    def _prices(self, actions: int, resources: int, costs: Rows | None) -> Floats:
        """Return the price list, shape (actions, resources), NaN where unknown."""
        if self.prices is None:
            return np.full((actions, resources), math.nan)
        prices = self._price_list
        prices = prices[:, None] if prices.ndim == 1 and resources == 1 else prices
        if prices.shape != (actions, resources):
            raise ParameterError(
                f"Budget: prices must be a table of {actions} actions x {resources} resources, "
                "got shape "
                f"{prices.shape}; write None where a cost is known only after the call."
            )
        if costs is None:
            return prices
        for action, resource in np.argwhere(~np.isnan(prices)).tolist():
            price = float(prices[action, resource])
            column = costs[:, action, resource].astype(np.float64)
            if (others := column[column != price]).size:
                raise ParameterError(
                    f"Budget: prices must equal the cost in every row, got {price!r} for action "
                    f"{action}, resource "
                    f"{resource}, which once costs {float(others[0])!r}; write None there."
                )
        return prices

    def _worst(self, actions: int, resources: int, costs: Rows | None, prices: Floats) -> Floats:
        seen = (
            np.zeros((actions, resources))
            if costs is None
            else np.asarray(costs.max(axis=0), dtype=np.float64)
        )
        if self.worst is None and not np.isnan(prices).any():
            return prices
        if self.worst is None and costs is not None:
            return seen
        if self.worst is None:
            raise ParameterError(
                "Budget: worst must be given where there is no pool to take it from, got None; "
                "write for example Budget(90.0, worst=3.0)."
            )
        given = _numbers("worst", self.worst)
        if given.ndim == 1 and resources == 1 and given.size == actions:
            given = given[:, None]
        try:
            worst = np.where(np.isnan(prices), np.broadcast_to(given, (actions, resources)), prices)
        except ValueError:
            raise ParameterError(
                f"Budget: worst must be a number, {resources} of them, or a table of {actions} "
                f"actions x {resources} "
                f"resources, got shape {given.shape}; write for example worst=1.0."
            ) from None
        if isinstance(self.null, int) and given.ndim < 2 and 0 <= self.null < actions:
            worst[self.null] = np.nan_to_num(prices[self.null])  # 0, unless the price list differs
        if (seen > worst).any():
            action, resource = np.argwhere(seen > worst)[0].tolist()
            raise ParameterError(
                f"Budget: worst must cover every cost, got {worst[action, resource]:g} for "
                f"action {action}, resource "
                f"{resource}, which once costs {seen[action, resource]:g}; write a larger one, "
                "or leave it out."
            )
        return worst

    def _null(self, worst: Floats) -> int:
        free = np.flatnonzero((worst == 0).all(axis=1))
        if free.size == 0 or (self.null is not None and self.null not in free):
            raise ParameterError(
                f"Budget: null must be one of the {worst.shape[0]} actions that costs nothing, "
                "for when the budget is "
                f"used up, got {'none' if self.null is None else self.null}; write Budget(..., "
                "null='add')."
            )
        return int(free[0]) if self.null is None else int(self.null)


class ResolvedBudget(NamedTuple):
    """Hold a budget with all defaults filled in, in cost units.

    null, added: index of the action that costs nothing, and whether it was added to the user's
        actions. If so, it is the last action, and the tables have a row for it.

    amounts: shape (resources,).
    worst: largest cost of each action, shape (actions, resources).
    prices: known costs, shape (actions, resources), NaN where not known; 0 where the worst cost is
        0.
    target: mean loss to reach; infinite without a target.
    """

    amounts: Floats
    worst: Floats
    null: int
    added: bool
    prices: Floats
    target: float = math.inf

    def relabelled(self, columns: Integers) -> "ResolvedBudget":
        """Return a copy of the budget with the actions in another order.

        columns: old index of each new action; an added null action is not listed and stays last.

        >>> Budget(5.0, worst=[0.0, 2.0]).resolve(actions=2, resources=1).relabelled(np.array([1, 0])).null
        1
        """
        order = np.append(columns, columns.size) if self.added else columns
        null = int(np.flatnonzero(order == self.null)[0])
        return self._replace(worst=self.worst[order], null=null, prices=self.prices[order])


class BudgetRun(NamedTuple):
    """Resolved budget and options of one play.

    mixed: whether play is fluid: instead of drawing one action, a round charges all of them by
        their probabilities.
    comparator: mean loss per round of the best fixed mix within the budget, NaN if unknown.
    """

    limits: ResolvedBudget
    stop: Stop = "fits"
    mixed: bool = False
    comparator: float = math.nan


class BudgetTerms(NamedTuple):
    """Hold the part of a budget that a learner knows in advance, in common scale.

    In common scale costs are in [0, 1] and every resource has the same rate; see `Budget`. The null
    action costs nothing; an added one is the last action and has loss 1.

    rate: budget per round, the same for every resource.
    prices: known costs, shape (actions, resources), NaN where not known; None if none is.
    target: mean loss to reach; infinite without a target.
    """

    actions: int
    resources: int
    horizon: int
    rate: float
    null: int
    prices: Floats | None = None
    added: bool = False
    target: float = math.inf


@dataclass(frozen=True)
class Balance:
    """Amounts, spending, and reservations for plays in flight, in cost units.

    Each is a tuple with one number per resource.
    """

    amounts: tuple[float, ...]
    spent: tuple[float, ...]
    reserved: tuple[float, ...]

    @property
    def left(self) -> tuple[float, ...]:
        """The amount of each resource that is neither spent nor reserved, in cost units."""
        return tuple(
            a - s - r for a, s, r in zip(self.amounts, self.spent, self.reserved, strict=True)
        )


# The balance of a play without a budget: no resources.
NO_BALANCE = Balance((), (), ())


def ticks_per_unit(amounts: Floats) -> Floats:
    """Return the ticks per cost unit of each resource, a power of two, shape (resources,); 1 for an amount of 0.

    >>> ticks_per_unit(np.array([1.0, 0.0])).tolist() == [2.0**51, 1.0]
    True
    """
    return np.array(
        [
            math.ldexp(1.0, min(1023, _AMOUNT_BITS - math.frexp(a)[1])) if a > 0 else 1.0
            for a in amounts.tolist()
        ]
    )


def n_resources(pool: Pool) -> int:
    """Return the number of resources of a pool; ParameterError for one without costs."""
    if pool.costs is None:
        raise ParameterError(
            "Budget: the pool must have costs, got none; write Pool(losses, costs=...)."
        )
    return int(pool.costs.shape[2])


def _numbers(name: str, values: Any, shown: Any = None) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)  # a copy: the argument may change
    except (OverflowError, TypeError, ValueError):
        array = np.full(1, math.nan)
    if not ((array == 0) | (np.isfinite(array) & (array >= _MIN_AMOUNT))).all():
        raise ParameterError(
            f"Budget: {name} must be finite numbers, 0 or more, none between 0 and "
            f"{_MIN_AMOUNT:g}, got "
            f"{values if shown is None else shown!r}; write for example {name}=10.0."
        )
    return array
