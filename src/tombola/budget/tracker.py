"""Budget tracker: balance in ticks, and kernels that decide affordable actions.

Nothing is ever overspent. `room`, the amount minus spent and reserved ticks, is an integer and
hence exact (see `tombola.budget.budget`). A play is made only if its worst cost in ticks is at most
the room, and that much is reserved. When its cost is known, the reservation is released and the
cost charged; rounding is monotone, so a cost of at most the worst has at most its ticks. So spent +
reserved <= amount holds after every step, for every learner, stop rule and delay, also if feedback
is lost.

In fluid play the cost is a sum over actions. Unless it is all of one action, it counts as 1 + slack
times the computed sum, which is not below the exact sum: at most k - 1 of k actions have a cost, so
a product is rounded at most k + 1 times, each time by at most half a unit in the last place, and
slack is k units. A mix that may need that much more than the room is scaled down. Learners receive
copies, and a mix that is not a distribution is not played at all.
"""

import math
from typing import NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.budget.budget import Balance, BudgetRun, ticks_per_unit
from tombola.engine.intrinsics import no_inline
from tombola.errors import ParameterError
from tombola.rng import choice

# Indices in `BudgetTracker.flags`. 1 means: only the null action may be played, to the end; only
# the null action may be played in this round; every mix is affordable in this round.
STOPPED, CLOSED, _AMPLE = range(3)
# Smallest positive float64. A product loses at most this much by underflow, so it is added once per
# product.
_MIN_POSITIVE = 5e-324
# Largest deviation of the sum of a mix from 1; a mix beyond it is replaced by the null action.
_MIX_TOLERANCE = 1e-6


class BudgetTracker(NamedTuple):
    """Balance and limits of a budget in play, in ticks.

    A tick is a small unit of cost; sums of whole ticks are exact (`ticks_per_unit`). Kernels change
    its arrays in place. In the common scale, costs are in [0, 1] and every resource has the same
    budget per round.

    amounts, spent: total budget, and costs of the rounds with feedback so far, in ticks, shape
        (resources,).
    reserved: worst costs of the plays whose feedback is still to come, in ticks, shape
        (resources,).
    worst: largest possible cost of each action, in ticks, shape (actions, resources).
    largest: maximum of `worst` over the actions, in ticks, shape (resources,).
    worst_costs: as `worst`, in cost units, shape (actions, resources).
    unit_ticks, scale: factors from cost units to ticks and to the common scale, shape (resources,).
    fits: 1 for each action that is affordable now, else 0, shape (actions,).
    flags: 0 or 1, shape (3,), indexed by STOPPED and CLOSED (`update_affordable`) and _AMPLE (every
        mix is affordable).
    null: index of the null action, which costs nothing.
    slack: relative rounding error of fluid costs.
    strict: whether the stop rule is "strict".
    fluid: whether a round charges the mean cost of its mix (all actions, by probability) instead of
        one action drawn.
    """

    amounts: Floats
    spent: Floats
    reserved: Floats
    worst: Floats
    largest: Floats
    worst_costs: Floats
    unit_ticks: Floats
    scale: Floats
    fits: Floats
    flags: Floats
    null: int
    slack: float
    strict: bool
    fluid: bool


def new_tracker(budget_run: BudgetRun, horizon: int) -> tuple[BudgetTracker, float]:
    """Return a tracker with nothing spent, and the rate of the common scale.

    The rate is the budget per round when costs are scaled to [0, 1], the same for every resource.
    Raises ParameterError for an unknown stop rule.
    """
    limits, stop, mixed, _ = budget_run
    if stop not in ("strict", "fits"):
        raise ParameterError(
            f"play: stop must be 'strict' or 'fits', got {stop!r}; write stop='fits'."
        )
    unit_ticks = ticks_per_unit(limits.amounts)
    largest = limits.worst.max(axis=0)
    binds = (limits.amounts > 0) & (largest > 0)
    with np.errstate(over="ignore"):
        common = min([float(horizon), *(limits.amounts[binds] / largest[binds]).tolist()])
        scale = np.where(binds, common / np.where(binds, limits.amounts, 1.0), 0.0)
    scale = np.minimum(scale, np.finfo(np.float64).max)  # amounts near the smallest float overflow
    worst = np.array(
        [
            [_to_ticks(cost, ticks) for cost, ticks in zip(row, unit_ticks, strict=True)]
            for row in limits.worst
        ]
    )
    actions, resources = worst.shape
    tracker = BudgetTracker(
        amounts=np.floor(limits.amounts * unit_ticks),
        spent=np.zeros(resources),
        reserved=np.zeros(resources),
        worst=worst,
        largest=worst.max(axis=0),
        worst_costs=np.ascontiguousarray(limits.worst),
        unit_ticks=unit_ticks,
        scale=scale,
        fits=np.ones(actions),
        flags=np.zeros(3),
        null=limits.null,
        slack=actions * 2.0**-52,
        strict=stop == "strict",
        fluid=mixed,
    )
    return tracker, common / horizon


def balance_of(tracker: BudgetTracker, amounts: Floats) -> Balance:
    """Return amounts, spending and reservations of a tracker in cost units.

    Spent and reserved amounts are rounded up by less than a tick per play. `amounts` are those of
    the user, in cost units.
    """
    spent = tracker.spent / tracker.unit_ticks
    reserved = tracker.reserved / tracker.unit_ticks
    return Balance(tuple(amounts.tolist()), tuple(spent.tolist()), tuple(reserved.tolist()))


def remaining(tracker: BudgetTracker) -> Floats:
    """Return the unspent amounts of a tracker in common scale, shape (resources,).

    Infinite for a resource of amount 0, or that no action uses. Reservations are not deducted.
    """
    left = (tracker.amounts - tracker.spent) / tracker.unit_ticks * tracker.scale
    return np.where(tracker.scale > 0, left, np.inf)


def _to_ticks(cost: float, unit_ticks: float) -> float:
    """Return a cost rounded up to whole ticks; exact, since a unit is a power of two."""
    if cost > 0.0:
        return max(
            1.0, float(np.ceil(cost * unit_ticks))
        )  # at least one, since the product may underflow
    return 0.0


@no_inline
def _cost_in_ticks(tracker: BudgetTracker, played: Floats, costs: Floats, resource: int) -> float:
    """Return an upper bound in ticks on the cost of a play; `costs` are in cost units."""
    total = 0.0
    share = 0.0
    paid = 0
    for action in range(played.size):
        if played[action] > 0.0 and costs[action, resource] > 0.0:
            total += played[action] * costs[action, resource]
            share += played[action]
            paid += 1
    if paid > 1 or share != 1.0:
        total = total * (1.0 + tracker.slack) + paid * _MIN_POSITIVE  # rounding and underflow
    return _to_ticks(total, tracker.unit_ticks[resource])


def update_affordable(tracker: BudgetTracker) -> None:
    """Update `fits` and `flags`: the actions that are affordable; a kernel.

    Rule "strict" (the paper) sets flags only. Once less than the largest worst cost of any action
    is unspent, STOPPED is 1: only the null action may be played, to the end. While reservations
    leave less than that, CLOSED is 1: only the null action may be played for now. Rule "fits" sets
    `fits[a]` to 1 if the worst cost of action a is at most the amount neither spent nor reserved,
    else to 0; in fluid play, to 0 only if a resource that it needs is used up.
    """
    if tracker.flags[STOPPED] == 1.0:
        return
    enough = True
    ample = True
    wealthy = True
    for j in range(tracker.amounts.size):
        unspent = tracker.amounts[j] - tracker.spent[j]
        room = unspent - tracker.reserved[j]
        enough = enough and room >= tracker.largest[j]
        ample = ample and room >= tracker.largest[j] * (2.0 if tracker.fluid else 1.0)
        wealthy = wealthy and unspent >= tracker.largest[j]
    if tracker.strict:
        tracker.flags[CLOSED] = 0.0 if enough else 1.0
        tracker.flags[STOPPED] = 0.0 if wealthy else 1.0
    elif not ample or tracker.flags[_AMPLE] == 0.0:
        _check_actions(tracker)
    tracker.flags[_AMPLE] = 1.0 if ample else 0.0


@no_inline
def _check_actions(tracker: BudgetTracker) -> None:
    """Mark affordable actions; in fluid play, all that need no used-up resource."""
    for action in range(tracker.fits.size):
        tracker.fits[action] = 1.0
        for j in range(tracker.amounts.size):
            room = tracker.amounts[j] - tracker.spent[j] - tracker.reserved[j]
            if tracker.worst[action, j] > room and (not tracker.fluid or room == 0.0):
                tracker.fits[action] = 0.0


def mask_unaffordable(tracker: BudgetTracker, mix: Floats) -> None:
    """Move the shares of unaffordable actions to the null action, in place; a kernel.

    In fluid play all other shares are then scaled down in its favour, until the worst cost of the
    mix fits.
    """
    if tracker.flags[_AMPLE] == 1.0:
        return
    for action in range(mix.size):
        if tracker.fits[action] == 0.0:
            mix[tracker.null] += mix[action]
            mix[action] = 0.0
    if tracker.fluid:
        _scale_to_fit(tracker, mix)


@no_inline
def _scale_to_fit(tracker: BudgetTracker, mix: Floats) -> None:
    """Move shares to the null action until the worst cost of the mix fits."""
    for _ in range(3):
        share = 1.0
        for j in range(tracker.amounts.size):
            room = tracker.amounts[j] - tracker.spent[j] - tracker.reserved[j]
            needed = _cost_in_ticks(tracker, mix, tracker.worst_costs, j)
            if needed > room:
                share = min(share, room / needed * (1.0 - 1e-12))
        if share == 1.0:
            return
        for action in range(mix.size):
            if action != tracker.null:
                mix[tracker.null] += (1.0 - share) * mix[action]
                mix[action] *= share
    set_null_mix(tracker, mix)


@no_inline
def set_null_mix(tracker: BudgetTracker, mix: Floats) -> None:
    """Set a mix to 1 at the null action of the tracker and 0 elsewhere, in place."""
    for action in range(mix.size):
        mix[action] = 0.0
    mix[tracker.null] = 1.0


def draw_and_reserve(
    tracker: BudgetTracker, mix: Floats, rng: RngState, played: Floats, reserved: Floats
) -> tuple[int, float]:
    """Draw an action and reserve its worst cost; return action and probability.

    A kernel. In fluid play nothing is drawn, the whole mix is played, and (null action, NaN) is
    returned. If the mix is not a distribution, or the worst cost of the play exceeds the budget
    left, the null action is played and (null action, NaN) is returned.

    played: output, share of each action in this play, shape (actions,): the mix in fluid play, else
        a single 1.
    reserved: output, ticks reserved per resource, shape (resources,).
    """
    action = tracker.null
    probability = math.nan
    if not tracker.fluid:
        action = choice(mix, rng)
        probability = mix[action]
    for other in range(mix.size):
        played[other] = mix[other] if tracker.fluid else 0.0
    if not tracker.fluid:
        played[action] = 1.0
    fits = _is_distribution(mix)
    for j in range(reserved.size):
        reserved[j] = _cost_in_ticks(tracker, played, tracker.worst_costs, j)
        fits = fits and reserved[j] <= tracker.amounts[j] - tracker.spent[j] - tracker.reserved[j]
    if not fits:
        set_null_mix(tracker, played)
        action = tracker.null
        probability = math.nan
    for j in range(reserved.size):
        reserved[j] = reserved[j] if fits else 0.0
        tracker.reserved[j] += reserved[j]
    return action, probability


def _is_distribution(mix: Floats) -> bool:
    """Return whether shares are nonnegative and sum to 1 within `_MIX_TOLERANCE`."""
    total = 0.0
    for action in range(mix.size):
        if not mix[action] >= 0.0:
            return False
        total += mix[action]
    return abs(total - 1.0) <= _MIX_TOLERANCE


def charge(tracker: BudgetTracker, played: Floats, reserved: Floats, costs: Floats) -> None:
    """Charge the cost of a play to the tracker, and release its reservation; a kernel.

    played, reserved: as written by `draw_and_reserve`.
    costs: of the row, in cost units, shape (actions, resources).
    """
    for j in range(reserved.size):
        tracker.spent[j] += _cost_in_ticks(tracker, played, costs, j)
        tracker.reserved[j] -= reserved[j]
