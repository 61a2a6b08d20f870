"""Time of bandit rounds in a compiled play, against C and against other libraries."""

import math
from functools import cache, partial
from typing import Any

import numpy as np

import baseline
from measure import Row, best_times, skipped_row, slowdown_row, speedup_row
from peers import installed_peers
from tombola import UCB1, Exp3, Learner, MixedLearner, Pool
from tombola._play import log_spaced, run_learner
from tombola._types import Order
from tombola.learners import SuccessiveElimination, TsallisInf
from tombola.order import draw_order
from tombola.rng import RngStreams

ACTIONS, ROWS, SEED = 10, 1_000_000, 1


@cache
def random_pool(rows: int, actions: int) -> Pool:
    """Return a pool whose first action is best by a little."""
    offsets = np.linspace(0.0, 0.5, actions)
    pool = Pool((np.random.default_rng(SEED).random((rows, actions)) + offsets) / 1.5)
    assert pool.best == 0  # computes the totals of the actions before anything is timed
    return pool


@cache
def random_order(rows: int) -> Order:
    """Return a random order of the rows."""
    return draw_order("random", rows, RngStreams(SEED).order())


def play_pool(learner: Learner, pool: Pool) -> Any:
    """Play the pool in random order, and return sums, plays and a curve."""
    order, labels, marks = random_order(pool.rows), np.arange(pool.k), log_spaced(pool.rows)
    return run_learner(
        learner, pool, order, labels, 0, RngStreams(SEED), marks=marks, per_round=False
    )[0]


def play_in_c(function: Any, learner: Learner, pool: Pool, parameter: float) -> Any:
    """Play the pool in C, with the same order and rng."""
    rng, order, marks = (
        RngStreams(SEED).learner(learner),
        random_order(pool.rows),
        log_spaced(pool.rows),
    )
    return baseline.run(function, pool.losses, order, pool.best, marks, rng, parameter)


def against_c() -> list[Row]:
    """Compare four learners with the same loops in C, after a check of equal results."""
    work = f"bandit play, k = {ACTIONS}, T = {ROWS:.0e}"
    library = baseline.compile_library()
    if isinstance(library, str):
        return [skipped_row(work, f"C: {library}")]
    pool, rows = random_pool(ROWS, ACTIONS), []
    loops = [
        (UCB1(), library.ucb1, 2.0),
        (SuccessiveElimination(), library.successive_elimination, math.sqrt(2 * math.log(ROWS))),
        (Exp3(), library.exp3, math.sqrt(2 * math.log(ACTIONS) / (ACTIONS * ROWS))),
        (TsallisInf(), library.tsallis_inf, 0.0),
    ]
    for learner, function, parameter in loops:
        ours, theirs = (
            partial(play_pool, learner, pool),
            partial(play_in_c, function, learner, pool, parameter),
        )
        agreement = compare_results(learner, ours(), theirs())
        best = best_times({"tombola": ours, "C": theirs})
        name = f"{type(learner).__name__} {work}"
        rows.append(
            slowdown_row(name, best["tombola"] / ROWS, f"C ({agreement})", best["C"] / ROWS, 2)
        )
    return rows


def compare_results(learner: Learner, ours: Any, theirs: Any, tolerance: float = 0.01) -> str:
    """Describe how far two results agree; SystemExit if they do not.

    A deterministic learner must agree to the bit, a random one within `tolerance` of its loss.
    """
    sums, plays, curve = theirs
    if all(
        np.array_equal(a, b)
        for a, b in ((ours.sums, sums), (ours.plays, plays), (ours.curve, curve))
    ):
        return "same to the bit"
    error = abs(ours.sums[0] - sums[0]) / sums[0]
    if not isinstance(learner, MixedLearner) or error > tolerance:
        raise SystemExit(
            f"{learner!r} differs from baseline.c: {ours.sums} {ours.plays} against {sums} {plays}"
        )
    return f"loss within {error:.1g}"


def against_peers() -> list[Row]:
    """Compare compiled play with libraries that play one round at a time."""
    pool = random_pool(ROWS, ACTIONS)
    learners: dict[str, Learner] = {"UCB1": UCB1(), "Exp3": Exp3()}
    peers, missing = installed_peers()
    rows = []
    for peer in peers:
        ours = partial(play_pool, learners[peer.algorithm], pool)
        ours()
        losses = pool.losses[random_order(ROWS)[: peer.rounds]].tolist()
        best = best_times({"tombola": ours, "peer": partial(peer.play, losses)}, turns=5)
        name = f"{peer.algorithm} bandit play, k = {ACTIONS}"
        rows.append(
            speedup_row(
                name, best["tombola"] / ROWS, peer.library, best["peer"] / peer.rounds, peer.target
            )
        )
    return rows + [
        skipped_row(f"bandit play, k = {ACTIONS}", f"{name}: {reason}")
        for name, reason in missing.items()
    ]
