"""Bandit rounds in a compiled play, against C and against other libraries."""

import math
from functools import cache, partial
from typing import Any

import numpy as np

import baseline
from measure import Row, faster, left_out, race, within
from peers import peers
from tombola import UCB1, Exp3, Learner, MixedLearner, Pool
from tombola._play import log_spaced, run_learner
from tombola._types import Order
from tombola.learners import SuccessiveElimination, TsallisInf
from tombola.order import draw_order
from tombola.rng import RngStreams

ACTIONS, ROWS, SEED = 10, 1_000_000, 1


@cache
def pool_of(rows: int, actions: int) -> Pool:
    """Return a pool whose first action is best by a little; its totals are known before anything is timed."""
    worse = np.linspace(0.0, 0.5, actions)
    losses = (np.random.default_rng(SEED).random((rows, actions)) + worse) / 1.5
    pool = Pool(losses)
    assert pool.best == 0
    return pool


@cache
def order_of(rows: int) -> Order:
    """Return a random order of the rows."""
    return draw_order("random", rows, RngStreams(SEED).order())


def played(learner: Learner, pool: Pool) -> Any:
    """Play the whole pool in random order, writing down a curve."""
    marks = log_spaced(pool.rows)
    labels = np.arange(pool.k)
    accumulators, _ = run_learner(
        learner, pool, order_of(pool.rows), labels, 0, RngStreams(SEED), marks=marks, per_round=False
    )
    return accumulators


def in_c(function: Any, learner: Learner, pool: Pool, parameter: float) -> Any:
    """Play the same in C, with the same rng."""
    rng = RngStreams(SEED).learner(learner)
    return baseline.run(
        function, pool.losses, order_of(pool.rows), pool.best, log_spaced(pool.rows), rng, parameter
    )  # fmt: skip


def against_c() -> list[Row]:
    """Compare four learners with the same loops in C, after checking that both do the same."""
    work = f"bandit play, k = {ACTIONS}, T = {ROWS:.0e}"
    library = baseline.compiled()
    if isinstance(library, str):
        return [left_out(work, f"C: {library}")]
    pool, rows = pool_of(ROWS, ACTIONS), []
    loops = [
        (UCB1(), library.ucb1, 2.0),
        (SuccessiveElimination(), library.successive_elimination, math.sqrt(2 * math.log(ROWS))),
        (Exp3(), library.exp3, math.sqrt(2 * math.log(ACTIONS) / (ACTIONS * ROWS))),
        (TsallisInf(), library.tsallis_inf, 0.0),
    ]
    for learner, function, parameter in loops:
        ours, theirs = played(learner, pool), in_c(function, learner, pool, parameter)
        same = check_same(learner, ours, theirs)
        best = race({"tombola": partial(played, learner, pool), "C": partial(in_c, function, learner, pool, parameter)})
        name = f"{type(learner).__name__} {work}"
        rows.append(within(name, best["tombola"] / ROWS, f"C ({same})", best["C"] / ROWS, 2))
    return rows


def check_same(learner: Learner, ours: Any, theirs: Any) -> str:
    """Say how equal the results are; a deterministic learner must agree to the bit, a random one within 1 %."""
    sums, plays, curve = theirs
    if all(np.array_equal(a, b) for a, b in ((ours.sums, sums), (ours.plays, plays), (ours.curve, curve))):
        return "same to the bit"
    apart = abs(ours.sums[0] - sums[0]) / sums[0]
    if not isinstance(learner, MixedLearner) or apart > 0.01:
        raise SystemExit(f"{learner!r} differs from baseline.c: {ours.sums} {ours.plays} against {sums} {plays}")
    return f"loss within {apart:.1g}"


def against_peers() -> list[Row]:
    """Compare compiled play with libraries that play one round at a time."""
    pool = pool_of(ROWS, ACTIONS)
    learners: dict[str, Learner] = {"UCB1": UCB1(), "Exp3": Exp3()}
    found, missing = peers()
    rows = []
    for peer in found:
        learner = learners[peer.algorithm]
        played(learner, pool)
        few = pool.losses[order_of(ROWS)[: peer.rounds]].tolist()
        best = race({"tombola": partial(played, learner, pool), "peer": partial(peer.play, few)}, turns=5)
        name = f"{peer.algorithm} bandit play, k = {ACTIONS}"
        rows.append(faster(name, best["tombola"] / ROWS, peer.library, best["peer"] / peer.rounds, peer.target))
    return rows + [left_out(f"bandit play, k = {ACTIONS}", f"{name}: {why}") for name, why in missing.items()]
