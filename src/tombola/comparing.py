"""Compare: many plays of several learners, on the same orders, in parallel."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tombola import validate
from tombola.delay import DelayLike, RowDelays
from tombola.engine.draws import random_order
from tombola.errors import ParameterError
from tombola.learners.base import Learner
from tombola.order import OrderLike, model_of, rows_in
from tombola.playing import log_spaced, run
from tombola.pool import Pool
from tombola.progress import tracked
from tombola.runs import Cell, Runs, Setting
from tombola.streams import Streams
from tombola.streams import repetitions as seeds_of
from tombola.types import Floats, Rounds, Seed

LearnerLike: TypeAlias = Learner | Callable[[int], Learner]
Named: TypeAlias = Mapping[str, LearnerLike] | Sequence[Learner]


def compare(
    pool: Pool | Sequence[Pool],
    learners: Named,
    orders: Sequence[OrderLike] | OrderLike = "random",
    *,
    repetitions: int = 20,
    delay: DelayLike | RowDelays = 0,
    switching_price: float = 0.0,
    relabel: bool = True,
    workers: int = 1,
    seed: Seed,
) -> Runs:
    """Play every learner on the same orders of the pool (or of several pools), and return all runs.

    A learner may be a function of the horizon. The actions are relabelled at random in every repetition, because real
    tables often list their best action first and ties go to the lowest index; `relabel=False` keeps the labels.
    The result does not depend on the number of workers.

    >>> from tombola import FollowTheLeader, Uniform
    >>> runs = compare(Pool([[0, 1], [0, 1], [1, 0]] * 10), [FollowTheLeader(), Uniform()], repetitions=3, seed=0)
    >>> runs.ranking()
    ['FollowTheLeader', 'Uniform']
    """
    pools = [pool] if isinstance(pool, Pool) else list(pool)
    models = _orders(orders)
    recipes = _names(learners)
    count = validate.whole("compare", "repetitions", repetitions, least=1)
    price = validate.number("compare", "switching_price", switching_price, least=0)
    workers = validate.whole("compare", "workers", workers, least=1)
    if len({p.rows for p in pools}) != len(pools) or not pools:
        raise ParameterError(
            f"compare: expected one pool, or pools with different numbers of rows, got {[p.rows for p in pools]} rows; "
            "compare pools of the same size one by one."
        )
    seeds = seeds_of(seed, count)
    tasks = [(p, model, order, r) for p in pools for model, order in models.items() for r in range(count)]
    play_all = partial(_repetition, recipes=recipes, delay=delay, relabel=relabel)
    pieces = [(p, order, seeds[r]) for p, _, order, r in tasks]
    results = tracked(play_all, pieces, workers=workers, label="compare")
    return Runs(_collect(tasks, results, list(recipes)), price)


def _repetition(
    pool: Pool,
    order: OrderLike,
    seed: Seed,
    *,
    recipes: Mapping[str, LearnerLike],
    delay: DelayLike | RowDelays,
    relabel: bool,
) -> list[tuple[Rounds, Floats, Floats]]:
    """Play all learners on one order."""
    streams = Streams(seed)
    rows = rows_in(order, pool.rows, streams.order())
    labels = random_order(pool.k, streams.labels()).astype(np.int64) if relabel else np.arange(pool.k)
    marks = log_spaced(rows.size)
    results = []
    for recipe in recipes.values():
        learner = recipe if isinstance(recipe, Learner) else recipe(rows.size)
        tally = run(learner, pool, rows, labels, delay, streams, marks=marks, record="curve")
        plays = np.zeros(pool.k)
        plays[labels] = tally.plays
        results.append((marks, tally.curve, plays))
    return results


def _collect(
    tasks: list[tuple[Pool, str, OrderLike, int]],
    results: Iterable[list[tuple[Rounds, Floats, Floats]]],
    names: list[str],
) -> dict[Setting, Cell]:
    gathered: dict[Setting, list[tuple[Rounds, Floats, Floats]]] = {}
    for (pool, model, _, _), result in zip(tasks, results, strict=True):
        for name, one in zip(names, result, strict=True):
            gathered.setdefault(Setting(pool.rows, model, name), []).append(one)
    return {
        setting: Cell(ones[0][0], np.stack([one[1] for one in ones]), np.stack([one[2] for one in ones]))
        for setting, ones in gathered.items()
    }


def _orders(orders: Sequence[OrderLike] | OrderLike) -> dict[str, OrderLike]:
    single = isinstance(orders, str | np.ndarray) or (bool(orders) and isinstance(orders[0], int))
    given: list[Any] = [orders] if single else list(orders)
    models = {model_of(order): order for order in given}
    if len(models) != len(given) or not models:
        raise ParameterError(
            f"compare: orders must be different ones of 'random', 'iid' and 'given', got {orders!r}; "
            "write for example orders=['random', 'given']."
        )
    return {str(model): order for model, order in models.items()}


def _names(learners: Named) -> dict[str, LearnerLike]:
    if isinstance(learners, Mapping):
        named = dict(learners)
    else:
        kinds = [type(learner).__name__ for learner in learners]
        named = {
            kind if kinds.count(kind) == 1 else repr(learner): learner
            for kind, learner in zip(kinds, learners, strict=True)
        }
        if len(named) != len(kinds):
            raise ParameterError(f"compare: expected different learners, got {learners!r}; name them with a dict.")
    if not named or not all(isinstance(value, Learner) or callable(value) for value in named.values()):
        raise ParameterError(
            f"compare: expected at least one learner, or a function of the horizon that makes one, got {learners!r}; "
            "write for example [FollowTheLeader()]."
        )
    return named
