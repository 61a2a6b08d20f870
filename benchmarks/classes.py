"""Time of ERM over thresholds, against a stump of scikit-learn that is refitted."""

from functools import cache, partial
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from measure import Row, best_times, limit_row, skipped_row, speedup_row
from tombola import Session, Trace, play
from tombola.classification import ERM, LabelledPool, Thresholds

ROWS, PEER_ROWS, REFITS, SESSION_ROUNDS, SEED = 1_000_000, 10_000, 20, 5000, 1


@cache
def labelled_pool(rows: int) -> LabelledPool:
    """Return numbers in [0, 1] with label 1 from 1/2 on; one label in ten is wrong."""
    rng = np.random.default_rng(SEED)
    features = rng.random(rows)
    return LabelledPool(features, (features >= 0.5) ^ (rng.random(rows) < 0.1))


def play_erm(rows: int) -> Trace:
    """Play ERM over thresholds in random order; the play sorts the features."""
    pool = labelled_pool(rows)
    pool.__dict__.pop("ranks", None)
    return play(ERM(Thresholds()), pool, seed=SEED)


def erm_rounds() -> list[Row]:
    """Time plays against a limit and against refits, and rounds of a session."""
    play_erm(PEER_ROWS)
    best = best_times(
        {"long": partial(play_erm, ROWS), "short": partial(play_erm, PEER_ROWS)}, turns=5
    )
    work, per_second = "ERM over thresholds, T = {:.0e}", ROWS / best["long"]
    rows = [
        limit_row(
            work.format(ROWS),
            best["long"],
            2.0,
            "s",
            f"{per_second:,.0f} rounds a second, all of it",
        )
    ]
    try:
        peer = ("scikit-learn stump, refitted", refit_seconds(), 1000)
        rows.append(speedup_row(work.format(PEER_ROWS), best["short"] / PEER_ROWS, *peer))
    except ImportError as error:
        rows.append(skipped_row(work.format(PEER_ROWS), f"scikit-learn: {error}"))
    return [
        *rows,
        limit_row(
            "Session predict + observe, ERM over thresholds", 1e6 * session_seconds(), None, "us"
        ),
    ]


def refit_seconds() -> float:
    """Return the seconds to fit a stump to half of the rows and to predict one label."""
    tree: Any = import_module("sklearn.tree")
    pool, half = labelled_pool(PEER_ROWS), PEER_ROWS // 2

    def refit() -> None:
        stump = tree.DecisionTreeClassifier(max_depth=1).fit(
            pool.features[:half], pool.labels[:half]
        )
        stump.predict(pool.features[half : half + 1])

    return best_times({"refit": refit}, REFITS)["refit"]


def session_seconds() -> float:
    """Return the seconds per round of a session."""
    pool = labelled_pool(SESSION_ROUNDS)
    session = Session(ERM(Thresholds()), horizon=SESSION_ROUNDS, seed=SEED)
    rounds = list(zip(pool.features[:, 0].tolist(), pool.labels.tolist(), strict=True))
    start = perf_counter()
    for value, label in rounds:
        session.observe(session.act(value), label=label)
    return (perf_counter() - start) / SESSION_ROUNDS
