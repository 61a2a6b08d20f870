"""Sums of observations and planned mixes, shared by learners of empirical means."""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import BudgetTerms
from tombola.budget.optimum import UnreachableError, best_mix, target_as_budget


def initial_plan(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields of a plan that plays the null action, as keywords.

    They are `horizon`, `played` (the mix), `fitted` (1 for each action that was affordable) and `basis` (of the LP; -1:
    none).

    terms: numbers of actions and resources, horizon and null action.
    """
    k = terms.actions
    basis = np.full(k + terms.resources + 1, -1.0)
    return {"horizon": float(terms.horizon), "played": np.eye(k)[terms.null], "fitted": np.ones(k), "basis": basis}


def initial_sums(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields of row sums, all 0, as keywords.

    They are `seen` (number of rows), `losses` and `costs` (sums over them), and `following` (number of rows at which
    the next plan is due; first 1).

    terms: numbers of actions and resources.
    """
    k, m = terms.actions, terms.resources
    return {"seen": np.zeros(1), "losses": np.zeros(k), "costs": np.zeros((k, m)), "following": np.ones(1)}


def initial_answers(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields of bandit feedback, nothing observed, as keywords.

    They are `prices` and `ceilings` (known costs, largest rewards), `answered` (rounds with feedback), `seen`, `means`
    and `costs` (number and means of the observations of each action), `marks` and `following` (values of `seen` and
    `answered` at which the next plan is due; first 0).

    terms: numbers of actions and resources, known prices and null action.
    """
    k, m = terms.actions, terms.resources
    known = {"prices": _known_prices(terms), "ceilings": reward_ceilings(terms)}
    means = {"answered": np.zeros(1), "seen": np.zeros(k), "means": np.zeros(k), "costs": np.zeros((k, m))}
    return {**known, **means, "marks": np.zeros(k), "following": np.zeros(1)}


def target_fields(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields `target` and `idle`, as keywords.

    `idle` is the index of the added null action, which cannot reach a target; -1 if none was added.

    terms: target (infinite without one) and null action.
    """
    return {"target": terms.target, "idle": float(terms.null) if terms.added else -1.0}


def add_row(seen: Floats, losses_sum: Floats, costs_sum: Floats, losses: Floats, costs: Floats) -> None:
    """Add a row to the sums in place; a kernel.

    seen: number of rows, shape (1,).
    losses_sum, costs_sum: sums, shapes (k,) and (k, m).
    losses, costs: the row, same shapes.
    """
    seen[0] += 1.0
    for action in range(losses.size):
        losses_sum[action] += losses[action]
        for j in range(costs.shape[1]):
            costs_sum[action, j] += costs[action, j]


def add_costs(state: Any, action: int, costs: Floats) -> None:
    """Add the costs of an observed play to their means in place; a kernel.

    It also makes a plan due if the action has been observed often enough since the last one.

    state: with the fields of `initial_answers`; `seen` counts this play already.
    action, costs: the action played, and its costs, shape (m,).
    """
    state.answered[0] += 1.0
    for j in range(costs.size):
        state.costs[action, j] += (costs[j] - state.costs[action, j]) / state.seen[action]
    if state.seen[action] >= state.marks[action]:
        state.following[0] = 0.0


def means_of(state: Any) -> tuple[Floats, Floats]:
    """Return mean rewards (k,) and mean costs (k, m) of the rows seen.

    state: with `seen` (number of rows), `losses` and `costs` (their sums).
    """
    seen = float(state.seen[0])
    return 1.0 - state.losses / seen, state.costs / seen


def write_planned_mix(state: Any, mix: Floats) -> None:
    """Copy the mix of the last plan, `state.played`, into `mix`, shape (k,); a kernel."""
    for action in range(mix.size):
        mix[action] = state.played[action]


def plan_is_due(state: Any, answered: float, fits: Floats) -> bool:
    """Return whether to plan: enough new feedback, or a planned action does not fit.

    state: with `following` (see `answered`), `played` (the planned mix) and `fitted` (affordable when it was planned).
    answered: number of rounds with feedback so far; a plan is due at `state.following[0]` of them.
    fits: 1 for each affordable action, shape (k,).
    """
    if answered >= state.following[0]:
        return True
    for action in range(fits.size):
        if fits[action] == 0.0 and state.played[action] > 0.0 and state.fitted[action] == 1.0:
            return True
    return False


def schedule_next_plan(state: Any, fits: Floats) -> float:
    """Schedule the next plan of a bandit learner; return the rounds without feedback.

    Their number is the horizon minus the rounds with feedback, at least 1.

    state: with the fields of `initial_plan` and `initial_answers`, and `growth`; changed in place.
    fits: 1 for each affordable action, shape (k,); stored in `state.fitted`.
    """
    answered = int(state.answered[0])
    state.fitted[:] = fits
    state.marks[:] = np.maximum(state.seen + 1, np.floor(state.growth * state.seen))
    remaining = max(1.0, state.horizon - answered)
    state.following[0] = max(answered + 1, math.floor(state.horizon - remaining / state.growth))
    return float(remaining)


def loss_to_reach_target(state: Any, lost: float, remaining: float) -> float:
    """Return the mean loss of the remaining rounds that reaches the target overall.

    Infinite without a target.

    state: with the fields `target` and `horizon`.
    lost: total loss so far.
    remaining: number of remaining rounds.
    """
    return float((state.target * state.horizon - lost) / remaining) if state.target < math.inf else math.inf


def _write_cheapest_mix(
    state: Any, rewards: Floats, costs: Floats, rates: Floats, actions: Any, needed_loss: float
) -> bool:
    """Write the cheapest mix of mean loss at most `needed_loss`; return success.

    state: the mix is written into `state.played`.
    rewards, costs: means of all actions, shapes (k,) and (k, m).
    rates: budget per round and resource.
    actions: indices of the actions to use.
    """
    active = actions[actions != state.idle]
    if active.size == 0:
        return False
    try:
        mix, _ = best_mix(*target_as_budget(1.0 - rewards[active], costs[active], rates, needed_loss)[0])
    except UnreachableError:
        return False
    state.played[:] = 0.0
    state.played[active] = mix
    return True


def solve(
    state: Any, rewards: Floats, costs: Floats, rates: Floats, actions: Any, needed_loss: float = math.inf
) -> None:
    """Write the mix of the largest reward within the rates into `state.played`.

    The LP is warm-started from the last basis. If `needed_loss` is finite, it is the cheapest mix with that mean loss,
    if one exists.

    state: with `played` (the mix), `basis` (of the LP) and `idle` (added null action), changed in place.
    rewards, costs: means of all actions, shapes (k,) and (k, m).
    rates: budget per round of each resource, shape (m,).
    actions: array of the indices of the actions that may be used.
    needed_loss: mean loss that is sufficient, infinite without a target.
    """
    if needed_loss < math.inf and _write_cheapest_mix(state, rewards, costs, rates, actions, needed_loss):
        return
    everyone = actions.size == rewards.size
    mix, basis = best_mix(rewards[actions], costs[actions], rates, state.basis if everyone else None)
    state.played[:] = 0.0
    state.played[actions] = mix
    if everyone and basis.size:
        state.basis[:] = basis


def share_unseen(state: Any, rewards: Floats, costs: Floats) -> None:
    """Share the planned probability of actions never observed among their equals.

    Equal are affordable actions without feedback that have the same reward and costs in the LP, which picks one of them
    arbitrarily.

    state: with `seen`, `fitted` and `played`; the mix `played` is changed in place.
    rewards, costs: values that the LP used, shapes (k,) and (k, m).
    """
    unseen = (state.seen == 0.0) & (state.fitted == 1.0)
    if not unseen.any():
        return
    for action in np.flatnonzero(unseen & (state.played > 0.0)).tolist():
        alike = np.flatnonzero(unseen & (rewards == rewards[action]) & (costs == costs[action]).all(axis=1))
        state.played[alike] = state.played[alike].sum() / alike.size


def _known_prices(terms: BudgetTerms) -> Floats:
    """Return the costs known in advance, shape (k, m), NaN where unknown."""
    return np.full((terms.actions, terms.resources), np.nan) if terms.prices is None else terms.prices


def reward_ceilings(terms: BudgetTerms) -> Floats:
    """Return the largest possible reward of each action, shape (k,).

    It is 1, and 0 for an added null action.

    terms: number of actions and null action.
    """
    found = np.ones(terms.actions)
    found[terms.null] = 0.0 if terms.added else 1.0
    return found
