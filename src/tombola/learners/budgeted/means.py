"""Sums of observations and planned mixes, shared by learners of empirical means."""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import BudgetTerms
from tombola.budget.optimum import UnreachableError, best_mix, target_as_budget


def initial_plan(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields of a plan that plays the null action, as keywords.

    For k actions and m resources they are `horizon` (number of rounds), `played` (the mix, shape (k,)), `fitted` (1 for
    each action that was affordable at the last plan, shape (k,)) and `basis` (of the LP, shape (k + m + 1,); -1: none).
    Use them as `State(**initial_plan(terms), ...)`.

    terms: numbers of actions and resources, horizon and null action.
    """
    k = terms.actions
    basis = np.full(k + terms.resources + 1, -1.0)
    return {"horizon": float(terms.horizon), "played": np.eye(k)[terms.null], "fitted": np.ones(k), "basis": basis}


def initial_sums(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields of row sums, all 0, as keywords.

    They are `seen` (number of rows, shape (1,)), `losses` and `costs` (their sums, shapes (k,) and (k, m) for k actions
    and m resources), and `following` (number of rows at which the next plan is due, shape (1,); first 1). Use them as
    `State(**initial_sums(terms), ...)`.

    terms: numbers of actions and resources.
    """
    k, m = terms.actions, terms.resources
    return {"seen": np.zeros(1), "losses": np.zeros(k), "costs": np.zeros((k, m)), "following": np.ones(1)}


def initial_answers(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields of bandit feedback, nothing observed, as keywords.

    They are `prices` and `ceilings` (known costs, NaN if unknown, and largest rewards of each action), `answered`
    (rounds with feedback, shape (1,)), `seen`, `means` and `costs` (number of observations of each action, mean losses
    and mean costs), `marks` and `following` (values of `seen` and `answered` at which the next plan is due; first 0).
    For k actions and m resources, costs and prices have shape (k, m), others of each action (k,).

    terms: numbers of actions and resources, known prices and null action.
    """
    k, m = terms.actions, terms.resources
    known = {"prices": _known_prices(terms), "ceilings": reward_ceilings(terms)}
    means = {"answered": np.zeros(1), "seen": np.zeros(k), "means": np.zeros(k), "costs": np.zeros((k, m))}
    return {**known, **means, "marks": np.zeros(k), "following": np.zeros(1)}


def target_fields(terms: BudgetTerms) -> dict[str, Any]:
    """Return the state fields `target` and `idle`, as keywords.

    `target` is the mean loss to reach, infinite without one. `idle` is the index of the added null action, which has
    loss 1 and cannot reach a target; -1 if none was added.

    terms: target (infinite without one) and null action.
    """
    return {"target": terms.target, "idle": float(terms.null) if terms.added else -1.0}


def add_row(seen: Floats, losses_sum: Floats, costs_sum: Floats, losses: Floats, costs: Floats) -> None:
    """Add a row to the sums of losses and costs, and count it, in place; a kernel.

    seen: number of rows so far, shape (1,); changed.
    losses_sum, costs_sum: sums for each of k actions and m resources, shapes (k,) and (k, m); changed.
    losses, costs: the row, same shapes; not changed.
    """
    seen[0] += 1.0
    for action in range(losses.size):
        losses_sum[action] += losses[action]
        for j in range(costs.shape[1]):
            costs_sum[action, j] += costs[action, j]


def add_costs(state: Any, action: int, costs: Floats) -> None:
    """Add the costs of an observed play to their means in place; a kernel.

    It also counts the round in `state.answered`, and makes a plan due (sets `state.following` to 0) if the action has
    been observed `state.marks` times.

    state: with the fields of `initial_answers`, changed in place; `seen` counts this play already.
    action, costs: the action played, from 0, and its costs, shape (m,) for m resources.
    """
    state.answered[0] += 1.0
    for j in range(costs.size):
        state.costs[action, j] += (costs[j] - state.costs[action, j]) / state.seen[action]
    if state.seen[action] >= state.marks[action]:
        state.following[0] = 0.0


def means_of(state: Any) -> tuple[Floats, Floats]:
    """Return mean rewards (k,) and mean costs (k, m) of the rows seen.

    A reward is 1 - loss. There are k actions and m resources.

    state: with `seen` (number of rows, at least 1), `losses` and `costs` (their sums); not changed.
    """
    seen = float(state.seen[0])
    return 1.0 - state.losses / seen, state.costs / seen


def write_planned_mix(state: Any, mix: Floats) -> None:
    """Copy the mix of the last plan, `state.played`, into `mix`; a kernel.

    Before the first plan it is 1 at the null action, which costs nothing.

    state: of the learner, with the field `played`, shape (k,); not changed.
    mix: output, the probability of each action, shape (k,).
    """
    for action in range(mix.size):
        mix[action] = state.played[action]


def plan_is_due(state: Any, answered: float, fits: Floats) -> bool:
    """Return whether to plan: enough new feedback, or a planned action does not fit.

    A kernel. A planned action does not fit if it has a positive probability, was affordable when it was planned, and is
    no longer.

    state: with `following` (see `answered`), `played` (the planned mix) and `fitted` (1 for each action that was
        affordable when it was planned); not changed.
    answered: number of rounds with feedback so far; a plan is due at `state.following[0]` of them.
    fits: 1 for each action that is affordable now, else 0, shape (k,).
    """
    if answered >= state.following[0]:
        return True
    for action in range(fits.size):
        if fits[action] == 0.0 and state.played[action] > 0.0 and state.fitted[action] == 1.0:
            return True
    return False


def schedule_next_plan(state: Any, fits: Floats) -> float:
    """Schedule the next plan of a bandit learner; return the rounds without feedback.

    The result is their number: the horizon minus the rounds with feedback, at least 1. The next plan is due when the
    observations of an action have grown by the factor `growth`, or the rounds without feedback have shrunk by it.

    state: with the fields of `initial_plan` and `initial_answers`, and `growth`; changed in place.
    fits: 1 for each affordable action, else 0, shape (k,); stored in `state.fitted`.
    """
    answered = int(state.answered[0])
    state.fitted[:] = fits
    state.marks[:] = np.maximum(state.seen + 1, np.floor(state.growth * state.seen))
    remaining = max(1.0, state.horizon - answered)
    state.following[0] = max(answered + 1, math.floor(state.horizon - remaining / state.growth))
    return float(remaining)


def loss_to_reach_target(state: Any, lost: float, remaining: float) -> float:
    """Return the mean loss of the remaining rounds that reaches the target overall.

    It is (target * horizon - lost) / remaining, negative if the loss so far exceeds the target; infinite without a
    target.

    state: with the fields `target` (mean loss over all rounds) and `horizon` (number of rounds); not changed.
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

    If `needed_loss` is finite, and some mix within the rates has at most that mean loss, it is the cheapest such mix.
    The LP is warm-started from the last basis. Raises UnreachableError if no mix keeps within the rates.

    state: with `played` (output, the mix) and `basis` (of the LP), changed in place, and `idle` (index of an added null
        action, -1 if none), used only for a finite `needed_loss`.
    rewards, costs: means of all actions, shapes (k,) and (k, m).
    rates: budget per round of each resource, shape (m,).
    actions: array of the indices of the actions that may be used; the others get probability 0.
    needed_loss: largest mean loss that is allowed, infinite without a target.
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
    arbitrarily. Each gets the same part of their total probability.

    state: with `seen` (observations of each action), `fitted` (1 if it is affordable) and `played`, the planned mix,
        which is changed in place; each of shape (k,).
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

    A reward is 1 - loss. The result is 1, and 0 for an added null action, which has loss 1.

    terms: number of actions and null action.
    """
    found = np.ones(terms.actions)
    found[terms.null] = 0.0 if terms.added else 1.0
    return found
