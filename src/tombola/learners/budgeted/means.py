"""States of learners that plan by a linear program, and the kernels they share."""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import BudgetTerms
from tombola.budget.optimum import UnreachableError, best_mix, target_as_budget


class RowState(NamedTuple):
    """State of learners that plan by the means of whole rows.

    growth, log: parameter of the learner, and logarithm of its radii, if it has any.
    target, idle: mean loss to reach, infinite without one; added null action, which cannot reach
        it, -1 if none.
    lost: total loss so far.
    seen, losses, costs: number of rows, and their sums, shapes (1,), (k,) and (k, m).
    following: number of rows at which the next plan is due.
    played, fitted, basis: mix of the last plan, 1 for each action affordable then, and basis of its
        LP, -1 for none.
    """

    growth: float
    horizon: float
    log: float
    null: float
    target: float
    idle: float
    lost: Floats
    seen: Floats
    losses: Floats
    costs: Floats
    following: Floats
    played: Floats
    fitted: Floats
    basis: Floats


class AnswerState(NamedTuple):
    """State of learners that plan by the means of the actions played, as `RowState`.

    prices, ceilings: known costs, NaN where unknown, and largest rewards: 1, and 0 for an added
        null action.
    answered: number of rounds with feedback; `following` is its value at which the next plan is
        due.
    seen, means, costs: observations, mean loss (k,) and mean costs (k, m) of each action.
    marks: values of `seen` at which the next plan is due.
    """

    growth: float
    horizon: float
    log: float
    target: float
    idle: float
    prices: Floats
    ceilings: Floats
    answered: Floats
    seen: Floats
    means: Floats
    costs: Floats
    marks: Floats
    following: Floats
    played: Floats
    fitted: Floats
    basis: Floats


def _shared_fields(terms: BudgetTerms, growth: float, log: float) -> dict[str, Any]:
    """Return the fields of both states, for a first plan that plays the null action."""
    k = terms.actions
    return {
        "growth": float(growth),
        "horizon": float(terms.horizon),
        "log": log,
        "target": terms.target,
        "idle": float(terms.null) if terms.added else -1.0,
        "costs": np.zeros((k, terms.resources)),
        "played": np.eye(k)[terms.null],
        "fitted": np.ones(k),
        "basis": np.full(k + terms.resources + 1, -1.0),
    }


def new_row_state(terms: BudgetTerms, growth: float, log: float = 0.0) -> RowState:
    """Return the state before the first row."""
    return RowState(
        **_shared_fields(terms, growth, log),
        null=float(terms.null),
        lost=np.zeros(1),
        seen=np.zeros(1),
        losses=np.zeros(terms.actions),
        following=np.ones(1),
    )


def new_answer_state(terms: BudgetTerms, growth: float, log: float = 0.0) -> AnswerState:
    """Return the state before the first feedback."""
    k = terms.actions
    ceilings = np.ones(k)
    ceilings[terms.null] = 0.0 if terms.added else 1.0
    return AnswerState(
        **_shared_fields(terms, growth, log),
        prices=np.full((k, terms.resources), np.nan) if terms.prices is None else terms.prices,
        ceilings=ceilings,
        answered=np.zeros(1),
        seen=np.zeros(k),
        means=np.zeros(k),
        marks=np.zeros(k),
        following=np.zeros(1),
    )


def add_row(
    seen: Floats, losses_sum: Floats, costs_sum: Floats, losses: Floats, costs: Floats
) -> None:
    """Add a row to the sums of losses (k,) and costs (k, m), and count it, in place; a kernel."""
    seen[0] += 1.0
    for action in range(losses.size):
        losses_sum[action] += losses[action]
        for j in range(costs.shape[1]):
            costs_sum[action, j] += costs[action, j]


def add_costs(state: Any, action: int, costs: Floats) -> None:
    """Add the costs of an observed play to their means in place; a kernel.

    It also counts the round in `state.answered`, and makes a plan due if the action has been
    observed `state.marks` times; `state.seen` counts this play already.
    """
    state.answered[0] += 1.0
    for j in range(costs.size):
        state.costs[action, j] += (costs[j] - state.costs[action, j]) / state.seen[action]
    if state.seen[action] >= state.marks[action]:
        state.following[0] = 0.0


def means_of(state: RowState) -> tuple[Floats, Floats]:
    """Return mean rewards, 1 - loss, (k,) and mean costs (k, m) of the rows seen."""
    seen = float(state.seen[0])
    return 1.0 - state.losses / seen, state.costs / seen


def write_planned_mix(state: Any, mix: Floats) -> None:
    """Copy the mix of the last plan, at first the null action, into `mix`; a kernel."""
    for action in range(mix.size):
        mix[action] = state.played[action]


def plan_is_due(state: Any, answered: float, fits: Floats) -> bool:
    """Return whether to plan: enough new feedback, or a planned action does not fit.

    A kernel. A planned action does not fit if it has a positive probability, was affordable when it
    was planned, and is no longer (`fits` is 0).
    """
    if answered >= state.following[0]:
        return True
    for action in range(fits.size):
        if fits[action] == 0.0 and state.played[action] > 0.0 and state.fitted[action] == 1.0:
            return True
    return False


def schedule_next_plan(state: Any, fits: Floats) -> float:
    """Schedule the next plan of a bandit learner; return the rounds without feedback.

    Their number is at least 1. The next plan is due when the observations of an action have grown
    by the factor `growth`, or the rounds without feedback have shrunk by it.
    """
    answered = int(state.answered[0])
    state.fitted[:] = fits
    state.marks[:] = np.maximum(state.seen + 1, np.floor(state.growth * state.seen))
    remaining = max(1.0, state.horizon - answered)
    state.following[0] = max(answered + 1, math.floor(state.horizon - remaining / state.growth))
    return float(remaining)


def loss_to_reach_target(state: Any, lost: float, remaining: float) -> float:
    """Return the mean loss of the remaining rounds that reaches the target overall.

    `remaining` is the number of those rounds. Negative if the loss so far, `lost`, exceeds the
    target; infinite without a target.
    """
    return (
        float((state.target * state.horizon - lost) / remaining)
        if state.target < math.inf
        else math.inf
    )


def _write_cheapest_mix(
    state: Any, rewards: Floats, costs: Floats, rates: Floats, actions: Any, needed_loss: float
) -> bool:
    """Write the cheapest mix of mean loss at most `needed_loss`; return success."""
    active = actions[actions != state.idle]
    if active.size == 0:
        return False
    try:
        mix, _ = best_mix(
            *target_as_budget(1.0 - rewards[active], costs[active], rates, needed_loss)[0]
        )
    except UnreachableError:
        return False
    state.played[:] = 0.0
    state.played[active] = mix
    return True


def solve(
    state: Any,
    rewards: Floats,
    costs: Floats,
    rates: Floats,
    actions: Any,
    needed_loss: float = math.inf,
) -> None:
    """Write the mix of the largest reward within the rates into `state.played`.

    If `needed_loss` is finite, and some mix within the rates has at most that mean loss, it is the
    cheapest such mix. The LP is warm-started from the last basis. Raises UnreachableError if no mix
    keeps within the rates.

    rewards, costs, rates: means of all actions, shapes (k,) and (k, m), and budget per round, shape
        (m,).
    actions: indices of the actions that may be used; the others get probability 0.
    """
    if needed_loss < math.inf and _write_cheapest_mix(
        state, rewards, costs, rates, actions, needed_loss
    ):
        return
    everyone = actions.size == rewards.size
    mix, basis = best_mix(
        rewards[actions], costs[actions], rates, state.basis if everyone else None
    )
    state.played[:] = 0.0
    state.played[actions] = mix
    if everyone and basis.size:
        state.basis[:] = basis


def share_unseen(state: Any, rewards: Floats, costs: Floats) -> None:
    """Share the planned probability of actions never observed among their equals.

    Equal are affordable actions without feedback that have the same reward and costs in the LP,
    which picks one of them arbitrarily. Each gets the same part of their total probability, in
    place in `state.played`.
    """
    unseen = (state.seen == 0.0) & (state.fitted == 1.0)
    if not unseen.any():
        return
    for action in np.flatnonzero(unseen & (state.played > 0.0)).tolist():
        alike = np.flatnonzero(
            unseen & (rewards == rewards[action]) & (costs == costs[action]).all(axis=1)
        )
        state.played[alike] = state.played[alike].sum() / alike.size
