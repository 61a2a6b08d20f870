"""Compare learners: repeated plays on the same orders, in parallel."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tombola import _validate
from tombola._formatting import option_text
from tombola._play import action_names, log_spaced, resolve_budget, run_learner, workload_of
from tombola._types import AnyLearner, Integers, Seed
from tombola.budget.budget import Budget, Stop
from tombola.budget.target import target_regret
from tombola.classification.pool import LabelledPool
from tombola.delay import DelayLike, RowDelays
from tombola.engine.compiler import Workload
from tombola.errors import ParameterError
from tombola.feedback import feedback_type
from tombola.learners.base import Learner, bound_of
from tombola.order import ORDER_MODELS, OrderLike, OrderModel, as_order_model, random_order
from tombola.parallel.parallel_map import parallel_map
from tombola.pool import Pool, as_pool, is_frame
from tombola.rng import RngStreams, repetition_seeds
from tombola.runs import Cell, Entry, Runs, slice_ends
from tombola.tables.to_pool import Table

# A pool of losses, or of labelled rows.
_AnyPool: TypeAlias = Pool | LabelledPool
# A pool, a table with one, or an array of losses, shape (rows, actions).
_PoolLike: TypeAlias = _AnyPool | Table | ArrayLike
# A learner, or a function that returns one for a horizon.
_LearnerLike: TypeAlias = AnyLearner | Callable[[int], AnyLearner]
# Argument of `compare`: learners by name, in a sequence, or a single one; each a learner or a
# function of the horizon.
Learners: TypeAlias = Mapping[str, _LearnerLike] | Sequence[_LearnerLike] | _LearnerLike
# One or several input models, each "random", "iid" or "given", an `OrderModel` or an array of row
# indices.
Orders: TypeAlias = Sequence[OrderLike] | OrderLike
# Direction of a table: "losses" (lower is better) or "scores" (higher is better).
Kind: TypeAlias = Literal["losses", "scores"]


def compare(
    pool: _PoolLike | Sequence[_AnyPool],
    learners: Learners,
    orders: Orders = "random",
    *,
    repetitions: int = 20,
    first: int = 0,
    delay: DelayLike | RowDelays = 0,
    switching_price: float = 0.0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    relabel: bool = True,
    marks: Sequence[int] | None = None,
    workers: int = 1,
    kind: Kind | None = None,
    range: tuple[float, float] | None = None,
    seed: Seed,
) -> Runs:
    """Play every learner on the same orders of the pool, and return all runs.

    - `pool`: a pool, an array of losses, a data frame, which needs `kind`, or several of them of
      different sizes.
    - `learners`: learners, or functions of the horizon that return one; a dict gives them names.
      Else the name is the class, or the text of the learner (repr) if two are of one class.
    - `orders`: input models "random", "iid" or "given", or several of them.
    - `repetitions`, `first`: number of repetitions, and index of the first; `first=40` continues 40
      repetitions.
    - `delay`: rounds between a play and its feedback: one number, one per round, a function of the
      round (from 1), or one per row (`RowDelays`).
    - `switching_price`: loss added for each change of the action.
    - `budget`, `stop`: budget of costs, None without one, and the rule that enforces it: "fits"
      plays any action with a worst cost that fits, "strict" only the null action once less than one
      largest cost is left. The comparator is then the best fixed mix within the budget; with a
      target, the cheapest mix that reaches it.
    - `relabel`: permute the actions in every repetition, because real tables often list their best
      action first and ties go to the lowest index.
    - `marks`: rounds at which sums are recorded, besides the end and every fortieth of the rounds;
      about twelve per power of ten if left out.
    - `workers`: number of threads; the result does not depend on it.
    - `kind`: "losses" (lower is better) or "scores" (higher is better), for arrays and data frames.
    - `range`: the smallest and the largest possible number of arrays and data frames; None for 0
      and 1.
    - `seed`: the only source of randomness.

    >>> from tombola import FollowTheLeader
    >>> from tombola.learners import Uniform
    >>> runs = compare(Pool([[0, 1], [0, 1], [1, 0]] * 10), [FollowTheLeader(), Uniform()], repetitions=3, seed=0)
    >>> runs.ranking()
    ['FollowTheLeader', 'Uniform']
    """
    count = _validate.integer("compare", "repetitions", repetitions, least=1)
    first = _validate.integer("compare", "first", first, least=0)
    workers = _validate.integer("compare", "workers", workers, least=1)
    comparison = Comparison(
        pool,
        learners,
        orders,
        delay=delay,
        switching_price=switching_price,
        budget=budget,
        stop=stop,
        relabel=relabel,
        marks=marks,
        kind=kind,
        range=range,
        seed=seed,
    )
    (runs,) = comparison.play([(first, count)], workers=workers)
    return runs


class Comparison:
    """Hold the validated parameters of `compare`, and play its repetitions.

    pools, models: the pools, and the input models that draw their orders.
    recipes: learners, or functions of the horizon that return one, by name.
    budget_runs: resolved budget and stop rule on each pool; None each without a budget.
    target_regrets: regret function under a loss target, by number of rows; empty without a target.
    """

    def __init__(
        self,
        pool: _PoolLike | Sequence[_AnyPool],
        learners: Learners,
        orders: Orders = "random",
        *,
        delay: DelayLike | RowDelays = 0,
        switching_price: float = 0.0,
        budget: Budget | None = None,
        stop: Stop = "fits",
        relabel: bool = True,
        marks: Sequence[int] | None = None,
        kind: Kind | None = None,
        range: tuple[float, float] | None = None,
        seed: Seed,
    ) -> None:
        self.delay = delay
        self.budget = budget
        self.relabel = relabel
        self.seed = seed
        self.pools = _pools(pool, kind, range)
        self.switching_price = price = _validate.real(
            "compare", "switching_price", switching_price, least=0
        )
        self.budget_runs = [
            resolve_budget(member, budget, stop, best=True) for member in self.pools
        ]
        self.marks = marks and tuple(
            _validate.integer("compare", "marks", mark, least=1) for mark in marks
        )
        regrets = {member.rows: target_regret(member, budget) for member in self.pools}
        self.target_regrets = {
            rows: regret for rows, regret in regrets.items() if regret is not None
        }
        if self.target_regrets and price > 0:
            raise ParameterError(
                "compare: expected no switching price with a target, which counts costs and not "
                "losses, "
                f"got {price:g}; leave out {option_text('switching_price')}, or the target."
            )
        self.models = _models(orders)
        self.recipes = _named(learners)

    @property
    def amounts(self) -> tuple[float, ...]:
        """The budget of each resource on the first pool, in cost units; empty without one."""
        budget_run = self.budget_runs[0]
        return () if budget_run is None else tuple(budget_run.limits.amounts.tolist())

    def play(self, blocks: Sequence[tuple[int, int]], *, workers: int = 1) -> Generator[Runs]:
        """Yield one `Runs` per block of repetitions, as soon as its repetitions are done.

        A repetition has the same results in every block and with any number of workers.

        blocks: pairs of the first repetition, from 0, and the number of repetitions of each block.
        workers: number of threads.
        """
        seeds = repetition_seeds(
            self.seed, max((first + count for first, count in blocks), default=0)
        )
        cases = [(p, m) for p in range(len(self.pools)) for m in range(len(self.models))]
        pieces = [
            (*case, seeds[first + r])
            for first, count in blocks
            for case in cases
            for r in range(count)
        ]
        names = action_names(self.pools[0], self.budget_runs[0])
        bounds = self._bounds()
        # One decision per kernel, to compile or to interpret, for all repetitions and threads.
        workload = workload_of(
            self.pools, self.budget, len(self.models) * sum(count for _, count in blocks)
        )
        task = partial(_repetition, self, workload)
        with closing(parallel_map(task, pieces, workers=workers, label="compare")) as results:
            for _, count in blocks:
                cells = {}
                for p, m in cases:
                    entries = [
                        Entry(self.pools[p].rows, str(self.models[m]), name)
                        for name in self.recipes
                    ]
                    cells.update(_collect(entries, islice(results, count), count))
                yield Runs(
                    cells, self.switching_price, names, self.amounts, bounds, self.target_regrets
                )

    def _bounds(self) -> dict[Entry, float]:
        """Return the proved bounds on the expected regret in random order."""
        if self.amounts or not isinstance(self.delay, int) or "random" not in map(str, self.models):
            return {}
        bounds = {}
        for pool in (member for member in self.pools if isinstance(member, Pool)):
            for name, recipe in self.recipes.items():
                learner = _learner(recipe, pool.rows)
                if not isinstance(learner, Learner):
                    continue
                bound = regret_bound(learner, pool.k, pool.rows, self.delay, self.switching_price)
                if bound is not None:
                    bounds[Entry(pool.rows, "random", name)] = bound
        return bounds


def _repetition(
    comparison: Comparison, workload: Workload, pool_index: int, model_index: int, seed: Seed
) -> list[Cell]:
    """Play all learners on one order of one pool; return a cell for each."""
    pool = comparison.pools[pool_index]
    budget_run = comparison.budget_runs[pool_index]
    streams = RngStreams(seed)
    cells = []
    with workload.active():
        rows = comparison.models[model_index].arrange(pool.rows, streams.order())
        labels = _columns(pool, streams, relabel=comparison.relabel)
        given = comparison.marks
        own = (
            log_spaced(rows.size)
            if given is None
            else [mark for mark in given if mark <= rows.size]
        )
        marks = np.union1d(np.array(own, np.int64), slice_ends(rows.size))
        for recipe in comparison.recipes.values():
            learner = _learner(recipe, rows.size)
            # The action that a parameter names is a column of the table, under any labels.
            columns = np.arange(labels.size) if getattr(learner, "names_actions", False) else labels
            played = run_learner(
                learner,
                pool,
                rows,
                columns,
                comparison.delay,
                streams,
                budget_run,
                marks=marks,
                per_round=False,
            )
            sums = played.accumulators
            # Back from the learner's labels to the columns of the table; an added null action comes
            # last.
            added = np.arange(columns.size, sums.plays.size)
            back = np.argsort(np.append(columns, added), kind="stable")
            cells.append(
                Cell(sums.marks, sums.curve[None], sums.plays[None, back], sums.shares[:, back])
            )
    return cells


def regret_bound(
    learner: Learner, actions: int, horizon: int, delay: int, price: float
) -> float | None:
    """Return the proved bound on expected regret in random order, or None.

    price: switching price, in losses per switch; above 0 the learner must have the same parameter
        `price`, else None.

    >>> from tombola import FollowTheLeader
    >>> round(regret_bound(FollowTheLeader(), 2, 1000, delay=5, price=0.0), 1)
    47.0
    """
    # A bound on regret with switching costs is proved only for learners that know the price.
    if price > 0 and getattr(learner, "price", None) != price:
        return None
    return bound_of(learner, actions=actions, horizon=horizon, delay=delay)


def _columns(pool: _AnyPool, streams: RngStreams, *, relabel: bool) -> Integers:
    """Return the column of each action of the learner; labels are not permuted."""
    if isinstance(pool, Pool):
        return (
            random_order(pool.k, streams.labels()).astype(np.int64)
            if relabel
            else np.arange(pool.k)
        )
    return np.arange(2)


def _learner(recipe: _LearnerLike, horizon: int) -> AnyLearner:
    return recipe(horizon) if callable(recipe) else recipe


def _collect(
    entries: Sequence[Entry], results: Iterable[list[Cell]], count: int
) -> dict[Entry, Cell]:
    """Gather the repetitions of one pool and order into a cell per learner."""
    cells: dict[Entry, Cell] = {}
    for repetition, single in enumerate(results):
        for entry, single_cell in zip(entries, single, strict=True):
            if entry not in cells:
                sums = np.zeros((count, *single_cell.sums.shape[1:]))
                plays = np.zeros((count, single_cell.plays.shape[1]))
                cells[entry] = Cell(
                    single_cell.rounds, sums, plays, np.zeros(single_cell.shares.shape)
                )
            cell = cells[entry]
            cell.sums[repetition] = single_cell.sums[0]
            cell.plays[repetition] = single_cell.plays[0]
            cell.shares[:] += single_cell.shares / count
    return cells


def _pools(pool: Any, kind: Kind | None, limits: tuple[float, float] | None) -> list[_AnyPool]:
    several = isinstance(pool, list | tuple) and all(
        isinstance(item, Pool | LabelledPool | np.ndarray) or is_frame(item) for item in pool
    )
    given = pool if several else [pool]
    pools: list[_AnyPool] = [as_pool(item, kind=kind, range=limits) for item in given]
    if len({p.rows for p in pools}) != len(pools) or not pools:
        raise ParameterError(
            "compare: expected one pool, or pools with different numbers of rows, got "
            f"{[p.rows for p in pools]} rows; "
            "compare pools of the same size one by one."
        )
    return pools


def _models(orders: Orders) -> list[OrderModel]:
    many: Any = orders
    single = isinstance(orders, str | np.ndarray | OrderModel) or (
        bool(many) and isinstance(many[0], int)
    )
    order_list: list[Any] = [orders] if single else list(many)
    models = [as_order_model(order) for order in order_list]
    if len({str(model) for model in models}) != len(order_list) or not models:
        raise ParameterError(
            f"compare: orders must be different ones of {', '.join(map(repr, ORDER_MODELS))}, "
            f"got {orders!r}; "
            "write for example orders=['random', 'given']."
        )
    return models


def _named(learners: Learners) -> dict[str, _LearnerLike]:
    """Return learners by name: their class, or their text where two are of one class."""
    if isinstance(learners, Mapping):
        by_name = dict(learners)
    else:
        learners = (
            learners
            if isinstance(learners, Sequence) and not isinstance(learners, str)
            else [learners]
        )
        classes = [type(learner).__name__ for learner in learners]
        by_name = {
            name if classes.count(name) == 1 else repr(learner): learner
            for name, learner in zip(classes, learners, strict=True)
        }
        if len(by_name) != len(classes):
            raise ParameterError(
                f"compare: expected different learners, got {learners!r}; name them with a dict."
            )
    for value in by_name.values():
        if isinstance(value, str | type):
            feedback_type(value)  # raises, with the text to write instead
    if not by_name or not all(
        hasattr(value, "feedback") or callable(value) for value in by_name.values()
    ):
        raise ParameterError(
            "compare: expected at least one learner, or a function of the horizon that returns "
            f"one, got {learners!r}; "
            "write for example [FollowTheLeader()]."
        )
    return by_name
