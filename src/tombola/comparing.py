"""Compare: many plays of several learners, on the same orders, in parallel, in any setting."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola import validate
from tombola.budget import Allowance, Budget, Stop
from tombola.delay import DelayLike, RowDelays
from tombola.engine.draws import random_order
from tombola.errors import ParameterError
from tombola.hypotheses.labelled_pool import LabelledPool
from tombola.order import MODELS, Model, OrderLike, model_of
from tombola.playing import Played, allowance_on, log_spaced, run
from tombola.pool import Pool
from tombola.progress import tracked
from tombola.runs import Cell, Entry, Runs, slices
from tombola.streams import Streams
from tombola.streams import repetitions as seeds_of
from tombola.types import Floats, Rounds, Seed

LearnerLike: TypeAlias = Any  # a learner, or a function of the horizon that makes one
Named: TypeAlias = Mapping[str, LearnerLike] | Sequence[Any]
AnyPool: TypeAlias = Pool | LabelledPool


class Kept(NamedTuple):
    """What is kept of one play: the marked rounds, the sums and plays at each, and all plays."""

    marks: Rounds
    curve: Floats
    shares: Floats
    plays: Floats


def compare(
    pool: AnyPool | Sequence[AnyPool],
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
    workers: int = 1,
    seed: Seed,
) -> Runs:
    """Play every learner on the same orders of the pool (or of several pools), and return all runs.

    A learner may be a function of the horizon. The actions are relabelled at random in every repetition, because real
    tables often list their best action first and ties go to the lowest index; `relabel=False` keeps the labels.
    With a `budget`, the comparator is the best fixed mix within it. The result does not depend on the number of
    workers. `first` leaves out as many repetitions at the beginning: those of `first=40` are further ones of the same
    comparison.

    >>> from tombola import FollowTheLeader
    >>> from tombola.full import Uniform
    >>> runs = compare(Pool([[0, 1], [0, 1], [1, 0]] * 10), [FollowTheLeader(), Uniform()], repetitions=3, seed=0)
    >>> runs.ranking()
    ['FollowTheLeader', 'Uniform']
    """
    pools: list[AnyPool] = [pool] if isinstance(pool, Pool | LabelledPool) else list(pool)
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
    allowances = [allowance_on(p, budget, stop, best=True) for p in pools]
    first = validate.whole("compare", "first", first, least=0)
    seeds = seeds_of(seed, first + count)[first:]
    tasks = [
        (p, allowance, model, r)
        for p, allowance in zip(pools, allowances, strict=True)
        for model in models
        for r in range(count)
    ]
    play_all = partial(_repetition, recipes=recipes, delay=delay, relabel=relabel)
    pieces = [(p, allowance, model, seeds[r]) for p, allowance, model, r in tasks]
    results = tracked(play_all, pieces, workers=workers, label="compare")
    entries = ([Entry(p.rows, str(model), name) for name in recipes] for p, _, model, _ in tasks)
    amounts = () if budget is None else tuple(budget.per_resource.tolist())
    return Runs(_collect(entries, results, count), price, _action_names(pools[0], allowances[0]), amounts)


def _repetition(
    pool: AnyPool,
    allowance: Allowance | None,
    model: Model,
    seed: Seed,
    *,
    recipes: Mapping[str, LearnerLike],
    delay: DelayLike | RowDelays,
    relabel: bool,
) -> list[Kept]:
    """Play all learners on one order."""
    streams = Streams(seed)
    rows = model.arrange(pool.rows, streams.order())
    columns = _columns(pool, streams, relabel=relabel)
    marks = np.union1d(log_spaced(rows.size), slices(rows.size))
    return [
        _kept(
            run(_made(recipe, rows.size), pool, rows, columns, delay, streams, allowance, marks=marks, kept=False),
            columns,
        )
        for recipe in recipes.values()
    ]


def _columns(pool: AnyPool, streams: Streams, *, relabel: bool) -> Rounds:
    """Return the column that each action stands for; labels are what they are."""
    if isinstance(pool, Pool):
        return random_order(pool.k, streams.labels()).astype(np.int64) if relabel else np.arange(pool.k)
    return np.arange(2)


def _made(recipe: LearnerLike, horizon: int) -> Any:
    return recipe if hasattr(recipe, "feedback") else recipe(horizon)


def _kept(played: Played, columns: Rounds) -> Kept:
    """Return what is kept of a play, by columns; an added null action comes last."""
    tally = played.tally
    added = np.arange(columns.size, tally.plays.size)
    back = np.argsort(np.append(columns, added), kind="stable")
    return Kept(tally.marks, tally.curve, tally.shares[:, back], tally.plays[back])


def _collect(entries: Iterable[list[Entry]], results: Iterable[list[Kept]], count: int) -> dict[Entry, Cell]:
    """Gather the repetitions of every entry, each as it comes."""
    cells: dict[Entry, Cell] = {}
    done: Counter[Entry] = Counter()
    for keys, kept in zip(entries, results, strict=True):
        for entry, one in zip(keys, kept, strict=True):
            if entry not in cells:
                shape = one.curve.shape
                cells[entry] = Cell(
                    one.marks, np.zeros((count, *shape)), np.zeros((count, one.plays.size)), np.zeros(one.shares.shape)
                )
            cell, repetition = cells[entry], done[entry]
            cell.sums[repetition], cell.plays[repetition] = one.curve, one.plays
            cell.shares[:] += one.shares / count
            done[entry] += 1
    return cells


def _action_names(pool: AnyPool, allowance: Allowance | None) -> tuple[str, ...]:
    names = pool.actions if isinstance(pool, Pool) else ("0", "1")
    return (*names, "none of them") if allowance is not None and allowance.limits.added else names


def _orders(orders: Sequence[OrderLike] | OrderLike) -> list[Model]:
    many: Any = orders
    single = isinstance(orders, str | np.ndarray | Model) or (bool(many) and isinstance(many[0], int))
    given: list[Any] = [orders] if single else list(many)
    models = [model_of(order) for order in given]
    if len({str(model) for model in models}) != len(given) or not models:
        raise ParameterError(
            f"compare: orders must be different ones of {', '.join(map(repr, MODELS))}, got {orders!r}; "
            "write for example orders=['random', 'given']."
        )
    return models


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
    if not named or not all(_plays(value) for value in named.values()):
        raise ParameterError(
            f"compare: expected at least one learner, or a function of the horizon that makes one, got {learners!r}; "
            "write for example [FollowTheLeader()]."
        )
    return named


def _plays(value: Any) -> bool:
    return not isinstance(value, type) and (hasattr(value, "feedback") or callable(value))
