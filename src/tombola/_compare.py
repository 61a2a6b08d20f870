"""Compare: many plays of several learners, on the same orders, in parallel, in any setting."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tombola import _validate
from tombola._formatting import option_text
from tombola._parallel import parallel_map
from tombola._play import log_spaced, resolve_budget, run_learner
from tombola._types import Floats, Rounds, Seed
from tombola.budget.budget import Budget, BudgetRun, Stop
from tombola.budget.target import TargetRegret, target_regret
from tombola.classification.pool import LabelledPool
from tombola.delay import DelayLike, RowDelays
from tombola.engine.loop import Accumulators
from tombola.errors import ParameterError
from tombola.feedback import feedback_type
from tombola.order import ORDER_MODELS, OrderLike, OrderModel, as_order_model, random_order
from tombola.pool import Pool, as_pool
from tombola.rng import RngStreams, repetition_seeds
from tombola.runs import Cell, Entry, Runs, slices

LearnerLike: TypeAlias = Any  # a learner, or a function of the horizon that makes one
Named: TypeAlias = Mapping[str, LearnerLike] | Sequence[Any] | LearnerLike
AnyPool: TypeAlias = Pool | LabelledPool
PoolLike: TypeAlias = AnyPool | ArrayLike


class Kept(NamedTuple):
    """What is kept of one play: the marked rounds, the sums and plays at each, and all plays."""

    marks: Rounds
    curve: Floats
    shares: Floats
    plays: Floats


def compare(
    pool: PoolLike | Sequence[AnyPool],
    learners: Named,
    orders: Sequence[OrderLike] | OrderLike = "random",
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
    seed: Seed,
) -> Runs:
    """Play every learner on the same orders of the pool (or of several pools), and return all runs.

    A learner may be a function of the horizon. The actions are relabelled at random in every repetition, because real
    tables often list their best action first and ties go to the lowest index; `relabel=False` keeps the labels.
    With a `budget`, the comparator is the best fixed mix within it, with a target the cheapest mix that reaches it. The
    result does not depend on the number of workers. Sums are kept at the rounds in `marks` (about twelve in every power
    of ten, if left out), at the end, and after each fortieth of the rounds. `first` leaves out as many repetitions at
    the beginning: those of `first=40` are further ones of the same comparison. Arrays of losses will do as pools.

    >>> from tombola import FollowTheLeader
    >>> from tombola.learners import Uniform
    >>> runs = compare(Pool([[0, 1], [0, 1], [1, 0]] * 10), [FollowTheLeader(), Uniform()], repetitions=3, seed=0)
    >>> runs.ranking()
    ['FollowTheLeader', 'Uniform']
    """
    count = _validate.integer("compare", "repetitions", repetitions, least=1)
    first = _validate.integer("compare", "first", first, least=0)
    workers = _validate.integer("compare", "workers", workers, least=1)
    comparison = Comparison.of(
        pool, learners, orders, delay=delay, switching_price=switching_price, budget=budget, stop=stop, relabel=relabel,
        marks=marks, seed=seed,
    )  # fmt: skip
    (runs,) = comparison.play([(first, count)], workers=workers)
    return runs


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is compared, checked: every repetition of it can be played by itself, anywhere, to the same bit."""

    pools: Sequence[AnyPool]
    allowances: Sequence[BudgetRun | None]
    models: Sequence[OrderModel]
    recipes: Mapping[str, LearnerLike]
    delay: DelayLike | RowDelays
    price: float
    amounts: tuple[float, ...]
    relabel: bool
    marks: tuple[int, ...] | None
    seed: Seed
    aims: Mapping[int, TargetRegret]

    @classmethod
    def of(
        cls,
        pool: PoolLike | Sequence[AnyPool],
        learners: Named,
        orders: Sequence[OrderLike] | OrderLike = "random",
        *,
        delay: DelayLike | RowDelays = 0,
        switching_price: float = 0.0,
        budget: Budget | None = None,
        stop: Stop = "fits",
        relabel: bool = True,
        marks: Sequence[int] | None = None,
        seed: Seed,
    ) -> "Comparison":
        """Return the comparison that is asked for in the words of `compare`."""
        pools = _pools(pool)
        price = _validate.real("compare", "switching_price", switching_price, least=0)
        allowances = [resolve_budget(p, budget, stop, best=True) for p in pools]
        chosen = (
            None if marks is None else tuple(_validate.integer("compare", "marks", mark, least=1) for mark in marks)
        )
        amounts = () if allowances[0] is None else tuple(allowances[0].limits.amounts.tolist())
        aims = {p.rows: aim for p in pools if (aim := target_regret(p, budget)) is not None}
        if aims and price > 0:
            raise ParameterError(
                "compare: expected no price of a switch with a target, where what counts is what is spent, "
                f"got {price:g}; leave out {option_text('switching_price')}, or the target."
            )
        return cls(
            pools, allowances, _orders(orders), _names(learners), delay, price, amounts, relabel, chosen, seed, aims
        )  # fmt: skip

    def play(self, parts: Sequence[tuple[int, int]], *, workers: int = 1) -> Generator[Runs]:
        """Yield the runs of every part (the first repetition, how many), each when it is done; all are in work."""
        seeds = repetition_seeds(self.seed, max((first + count for first, count in parts), default=0))
        cases = [(p, m) for p in range(len(self.pools)) for m in range(len(self.models))]
        pieces = [(*case, seeds[first + r]) for first, count in parts for case in cases for r in range(count)]
        names = _action_names(self.pools[0], self.allowances[0])
        with closing(parallel_map(partial(_repetition, self), pieces, workers=workers, label="compare")) as results:
            for _, count in parts:
                cells = {}
                for p, m in cases:
                    entries = [Entry(self.pools[p].rows, str(self.models[m]), name) for name in self.recipes]
                    cells.update(_collect(entries, islice(results, count), count))
                yield Runs(cells, self.price, names, self.amounts, self._bounds(), self.aims)

    def _bounds(self) -> dict[Entry, float]:
        """Return what is proved of the expected regret in random order, where anything is."""
        if self.amounts or not isinstance(self.delay, int) or "random" not in map(str, self.models):
            return {}
        found = {}
        for pool in (one for one in self.pools if isinstance(one, Pool)):
            for name, recipe in self.recipes.items():
                bound = bound_of(_made(recipe, pool.rows), pool.k, pool.rows, self.delay, self.price)
                found.update({} if bound is None else {Entry(pool.rows, "random", name): bound})
        return found


def _repetition(comparison: Comparison, which: int, how: int, seed: Seed) -> list[Kept]:
    """Play all learners on one order of one pool."""
    pool, budget_run = comparison.pools[which], comparison.allowances[which]
    streams = RngStreams(seed)
    rows = comparison.models[how].arrange(pool.rows, streams.order())
    columns = _columns(pool, streams, relabel=comparison.relabel)
    marks = np.union1d(_marks(comparison.marks, rows.size), slices(rows.size))
    found = []
    for recipe in comparison.recipes.values():
        learner = _made(recipe, rows.size)
        accumulators, _ = run_learner(
            learner, pool, rows, columns, comparison.delay, streams, budget_run, marks=marks, per_round=False
        )
        found.append(_kept(accumulators, columns))
    return found


def bound_of(learner: Any, actions: int, horizon: int, delay: int, price: float) -> float | None:
    """Return the proved bound on the expected regret of a learner in random order, or None where none is proved.

    >>> from tombola import FollowTheLeader
    >>> round(bound_of(FollowTheLeader(), 2, 1000, delay=5, price=0.0), 1)
    47.0
    """
    if price > 0 and getattr(learner, "price", None) != price:
        return None
    found: float | None = learner.bound(actions, horizon, delay)
    return found


def _marks(chosen: tuple[int, ...] | None, horizon: int) -> Rounds:
    return log_spaced(horizon) if chosen is None else np.array([m for m in chosen if m <= horizon], np.int64)


def _columns(pool: AnyPool, streams: RngStreams, *, relabel: bool) -> Rounds:
    """Return the column that each action stands for; labels are what they are."""
    if isinstance(pool, Pool):
        return random_order(pool.k, streams.labels()).astype(np.int64) if relabel else np.arange(pool.k)
    return np.arange(2)


def _made(recipe: LearnerLike, horizon: int) -> Any:
    return recipe if hasattr(recipe, "feedback") else recipe(horizon)


def _kept(accumulators: Accumulators, columns: Rounds) -> Kept:
    """Return what is kept of a play, by columns; an added null action comes last."""
    added = np.arange(columns.size, accumulators.plays.size)
    back = np.argsort(np.append(columns, added), kind="stable")
    return Kept(accumulators.marks, accumulators.curve, accumulators.shares[:, back], accumulators.plays[back])


def _collect(entries: Sequence[Entry], results: Iterable[list[Kept]], count: int) -> dict[Entry, Cell]:
    """Gather the repetitions of a pool and an order, each as it comes."""
    cells: dict[Entry, Cell] = {}
    for repetition, kept in enumerate(results):
        for entry, one in zip(entries, kept, strict=True):
            if entry not in cells:
                shape = one.curve.shape
                cells[entry] = Cell(
                    one.marks, np.zeros((count, *shape)), np.zeros((count, one.plays.size)), np.zeros(one.shares.shape)
                )
            cell = cells[entry]
            cell.sums[repetition], cell.plays[repetition] = one.curve, one.plays
            cell.shares[:] += one.shares / count
    return cells


def _pools(pool: Any) -> list[AnyPool]:
    several = isinstance(pool, list | tuple) and all(isinstance(one, Pool | LabelledPool | np.ndarray) for one in pool)
    pools: list[AnyPool] = [as_pool(one) for one in (pool if several else [pool])]
    if len({p.rows for p in pools}) != len(pools) or not pools:
        raise ParameterError(
            f"compare: expected one pool, or pools with different numbers of rows, got {[p.rows for p in pools]} rows; "
            "compare pools of the same size one by one."
        )
    return pools


def _action_names(pool: AnyPool, budget_run: BudgetRun | None) -> tuple[str, ...]:
    names = pool.actions if isinstance(pool, Pool) else ("0", "1")
    return (*names, "none of them") if budget_run is not None and budget_run.limits.added else names


def _orders(orders: Sequence[OrderLike] | OrderLike) -> list[OrderModel]:
    many: Any = orders
    single = isinstance(orders, str | np.ndarray | OrderModel) or (bool(many) and isinstance(many[0], int))
    given: list[Any] = [orders] if single else list(many)
    models = [as_order_model(order) for order in given]
    if len({str(model) for model in models}) != len(given) or not models:
        raise ParameterError(
            f"compare: orders must be different ones of {', '.join(map(repr, ORDER_MODELS))}, got {orders!r}; "
            "write for example orders=['random', 'given']."
        )
    return models


def _names(learners: Named) -> dict[str, LearnerLike]:
    if isinstance(learners, Mapping):
        named = dict(learners)
    else:
        learners = [learners] if isinstance(learners, str) or not isinstance(learners, Sequence) else learners
        kinds = [type(learner).__name__ for learner in learners]
        named = {
            kind if kinds.count(kind) == 1 else repr(learner): learner
            for kind, learner in zip(kinds, learners, strict=True)
        }
        if len(named) != len(kinds):
            raise ParameterError(f"compare: expected different learners, got {learners!r}; name them with a dict.")
    for value in named.values():
        if isinstance(value, str | type):
            feedback_type(value)  # says what to write
    if not named or not all(_plays(value) for value in named.values()):
        raise ParameterError(
            f"compare: expected at least one learner, or a function of the horizon that makes one, got {learners!r}; "
            "write for example [FollowTheLeader()]."
        )
    return named


def _plays(value: Any) -> bool:
    return not isinstance(value, type) and (hasattr(value, "feedback") or callable(value))
