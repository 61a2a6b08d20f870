"""Play a learner over a pool: `play`, and the runner that `compare` shares."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from tombola import _validate
from tombola._types import AnyLearner, Floats, Integers, Order, Seed
from tombola.budget.budget import NO_BALANCE, Balance, Budget, BudgetRun, Stop, n_resources
from tombola.budget.optimum import optimum
from tombola.classification.learner import LabelLearner
from tombola.classification.predictors import best_losses, predict_all
from tombola.delay import DelayLike, RowDelays, round_delays
from tombola.engine.arrivals import from_delays
from tombola.engine.compiler import Workload
from tombola.engine.loop import SWITCHES, Accumulators, RowStream, new_accumulators
from tombola.errors import LearnerError, ParameterError
from tombola.feedback import feedback_type, make_feedback_model
from tombola.order import OrderLike, as_order_model
from tombola.pool import Pool, as_pool
from tombola.rng import RngStreams
from tombola.tables.to_pool import Table
from tombola.trace import Trace, best_action_losses

if TYPE_CHECKING:
    from tombola.classification.pool import LabelledPool
    from tombola.policies.record import RouterRecord


class Played(NamedTuple):
    """Result of `run_learner`: the totals of a play, its balance, and the record of a router."""

    accumulators: Accumulators
    balance: Balance = NO_BALANCE
    router: "RouterRecord | None" = None


def play(
    learner: AnyLearner,
    pool: "Pool | LabelledPool | Table | ArrayLike",
    order: OrderLike = "random",
    delay: DelayLike | RowDelays = 0,
    switching_price: float = 0.0,
    *,
    budget: Budget | None = None,
    stop: Stop = "fits",
    mixed: bool = False,
    kind: Literal["losses", "scores"] | None = None,
    range: tuple[float, float] | None = None,
    seed: Seed,
) -> Trace:
    """Play a learner over the rows of a pool and return the trace.

    The trace has the action, loss and cost of each round, and the regret.

    learner: a learner; on a labelled pool, a learner of labels; a router (`tombola.policies`) needs
        a pool with features.
    pool: a pool, an array of losses with one column per action, or a data frame, which needs
        `kind`.
    order: "random", "iid", "given", or an array with the row of each round, every row once, from 0.
    delay: rounds between a play and its feedback: one number, one per round, a function of the
        round (from 1), or one per row (`RowDelays`).
    switching_price: loss added to the regret for each change of the action.
    budget: amounts or target, for learners under a budget on a pool with costs. The worst cost of a
        play is reserved until its feedback arrives.
    stop: "fits" plays any action with a worst cost that fits; "strict" is the paper's rule: only
        the null action once less than one largest cost of a resource is left.
    mixed: fluid play as in the paper: every action is played with its share of the mix.
    kind: "losses" (lower is better) or "scores" (higher is better), for an array or a data frame.
    range: the smallest and the largest possible number of an array or a data frame; None for 0 and
        1.
    seed: seed of the order and of the learner.

    >>> from tombola import FollowTheLeader
    >>> trace = play(FollowTheLeader(), Pool([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), order="given", seed=0)
    >>> trace.actions.tolist(), trace.loss, trace.regret
    ([0, 0, 0], 1.0, 0.0)

    >>> from tombola.learners import EmpiricalLP
    >>> pool = Pool.from_rewards([[0.0, 1.0]] * 8, costs=[[0.0, 1.0]] * 8)
    >>> trace = play(EmpiricalLP(), pool, budget=Budget(4.0), mixed=True, seed=0)
    >>> round(trace.reward, 9), round(trace.regret, 9), trace.overspent
    (4.0, 0.0, (False,))
    """
    price = _validate.real("play", "switching_price", switching_price, least=0)
    pool = cast("Pool | LabelledPool", as_pool(pool, kind=kind, range=range))
    budget_run = resolve_budget(pool, budget, stop, mixed=mixed)
    streams = RngStreams(seed)
    model = as_order_model(order)
    with workload_of([pool], budget).active():
        rows = model.arrange(pool.rows, streams.order())
        accumulators, balance, router = run_learner(
            learner,
            pool,
            rows,
            None,
            delay,
            streams,
            budget_run,
            marks=np.zeros(0, np.int64),
            per_round=True,
        )
    return Trace(
        learner=learner,
        order_model=model,
        order=rows,
        actions=np.full(rows.size, -1) if mixed else accumulators.actions,
        probabilities=accumulators.probabilities + np.nan if mixed else accumulators.probabilities,
        losses=accumulators.losses,
        expected_losses=accumulators.expected,
        plays=accumulators.plays,
        comparator=partial(comparator_losses, learner, pool, rows, budget),
        switches=int(accumulators.sums[SWITCHES]),
        switching_price=price,
        costs=accumulators.costs,
        balance=balance,
        router=router,
        mixed=mixed,
        full_feedback=feedback_type(learner).full_feedback,
        labels=np.zeros(0, np.int64) if isinstance(pool, Pool) else pool.labels[rows],
        names=action_names(pool, budget_run),
        ids=getattr(pool, "ids", None),
    )


def action_names(pool: "Pool | LabelledPool", budget_run: BudgetRun | None) -> tuple[str, ...]:
    """Return the names of the actions; an added null action comes last."""
    names = pool.actions if isinstance(pool, Pool) else ("0", "1")
    return (*names, "none of them") if budget_run is not None and budget_run.limits.added else names


def comparator_losses(
    learner: AnyLearner, pool: "Pool | LabelledPool", rows: Order, budget: Budget | None
) -> Floats:
    """Return the loss of the comparator in every round, shape (rounds,).

    It is the best fixed action, with a budget the mean loss of the best mix within it, for labels
    the best hypothesis of the learner's class.

    rows: row of each round, from 0.
    """
    if not isinstance(pool, Pool):
        return best_losses(cast(LabelLearner, learner), pool, rows)
    if budget is not None:
        return np.full(rows.size, 1.0 - optimum(pool, budget).value)
    return best_action_losses(pool, rows)


def run_learner(
    learner: AnyLearner,
    pool: "Pool | LabelledPool",
    rows: Order,
    labels: Integers | None,
    delay: DelayLike | RowDelays,
    streams: RngStreams,
    budget_run: BudgetRun | None = None,
    *,
    marks: Integers,
    per_round: bool,
) -> Played:
    """Play a learner over rows; return the accumulators, the balance and a router's record.

    The accumulators have the totals of loss, comparator loss, switches, costs and plays, at the end
    and at the marks. The balance has the amounts, spending and reservations of the budget. Raises
    LearnerError if learner and pool do not fit.

    rows: row of each round, from 0.
    labels: column of the pool that each action of the learner stands for, a permutation; None for
        the order of the table.
    streams: random generators of this repetition; that of the learner is used.
    budget_run: resolved budget (`resolve_budget`); None without one.
    marks: increasing rounds, from 1, at which the accumulators store all totals; may be empty.
    per_round: whether to store action, probability, loss and costs of every round too.
    """
    arrivals = from_delays(round_delays(delay, rows))
    if not isinstance(pool, Pool):
        return Played(
            predict_all(
                learner, pool, rows, arrivals, streams.learner(learner), marks, per_round=per_round
            )
        )
    if isinstance(learner, LabelLearner):
        raise LearnerError(
            f"play: {type(learner).__name__} predicts labels, got a pool of losses; give it a "
            "LabelledPool."
        )
    columns = np.arange(pool.k) if labels is None else labels
    costs: Any = np.zeros((0, 0))
    if budget_run is not None:
        budget_run = budget_run._replace(limits=budget_run.limits.relabelled(columns))
        costs = np.asarray(pool.costs).reshape(pool.rows, -1)
    features = None
    if feedback_type(learner).uses_features:
        features = _features_of(pool, learner)
    feedback_model = make_feedback_model(
        learner,
        rows.size,
        actions=pool.k,
        budget_run=budget_run,
        features=None if features is None else features.shape[1],
    )
    best = int(np.flatnonzero(columns == pool.best)[0])
    columns = np.append(columns, -1) if feedback_model.actions > pool.k else columns
    resources = 0 if budget_run is None else budget_run.limits.amounts.size
    accumulators = new_accumulators(
        feedback_model.actions,
        rows.size,
        marks,
        resources=resources,
        per_round=per_round,
        expects=learner.mixes,
    )
    # A memory map as a plain array, the type that Numba supports.
    losses: Any = np.asarray(pool.losses)
    table = RowStream(losses, costs, columns, rows, best)
    balance, router = feedback_model.play(
        learner, streams.learner(learner), table, arrivals, accumulators, features
    )
    return Played(accumulators, balance, router)


def _features_of(pool: Pool, learner: AnyLearner) -> Floats:
    if pool.features is None:
        raise ParameterError(
            f"{type(learner).__name__}: expected a pool with features, got none; write "
            "Pool(losses, features=...)."
        )
    return np.asarray(pool.features, np.float64)


def resolve_budget(
    pool: "Pool | LabelledPool",
    budget: Budget | None,
    stop: Stop = "fits",
    *,
    mixed: bool = False,
    best: bool = False,
) -> BudgetRun | None:
    """Return the budget of a pool with its stop rule; None without a budget.

    Raises ParameterError if the budget does not fit the pool, and for fluid play without a budget.

    stop, mixed: as in `play`: the rule that ends play at the budget, and whether play is fluid.
    best: whether to compute the mean loss of the best fixed mix too, for the regret; else it is
        NaN.
    """
    if budget is None:
        if mixed:
            raise ParameterError(
                "play: mixed is for play within a budget, got none; write budget=Budget(90.0)."
            )
        return None
    candidate: Any = budget
    if not isinstance(candidate, Budget) or not isinstance(pool, Pool):
        raise ParameterError(
            f"play: budget must be a Budget, for a Pool, got {budget!r}; write budget=Budget(90.0)."
        )
    limits = budget.resolve(pool.k, n_resources(pool), pool.costs)
    return BudgetRun(limits, stop, mixed, 1.0 - optimum(pool, budget).value if best else math.nan)


def workload_of(
    pools: "Sequence[Pool | LabelledPool]", budget: Budget | None = None, repetitions: int = 1
) -> Workload:
    """Return the estimated time of one learner on all pools, in plain Python.

    Plays inside of `with workload_of(pools).active():` use it to decide whether kernels are
    compiled or interpreted.

    repetitions: number of plays on each pool.
    """
    actions = max(pool.k if isinstance(pool, Pool) else 2 for pool in pools)
    rounds = repetitions * sum(pool.rows for pool in pools)
    if not all(isinstance(pool, Pool) for pool in pools):
        return Workload(math.inf)  # hypothesis classes search in every round: compiling always pays
    # Under a budget a round takes about three times as long: the tracker reads the costs of every
    # action.
    return Workload.of_rounds(rounds, actions if budget is None else 3 * actions)


def log_spaced(horizon: int) -> Integers:
    """Return about twelve rounds per power of ten, including the first and the last.

    >>> log_spaced(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 10]
    """
    count = max(1, int(np.ceil(np.log10(max(horizon, 1)) * 12)) + 1)
    points = np.unique(np.round(np.logspace(0, np.log10(horizon), count)).astype(np.int64))
    return np.unique(np.append(points, horizon))
