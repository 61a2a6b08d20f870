"""ERM over thresholds, against refitting a stump of scikit-learn every round."""

from functools import cache, partial
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from measure import Row, below, faster, left_out, race
from tombola import Session, Trace, play
from tombola.classification import ERM, LabelledPool, Thresholds

ROWS, FEW, REFITS, SESSION_ROUNDS, SEED = 1_000_000, 10_000, 20, 5000, 1


@cache
def labelled(rows: int) -> LabelledPool:
    """Return numbers with the label 1 from 1/2 on, one label of ten wrong."""
    rng = np.random.default_rng(SEED)
    features = rng.random(rows)
    return LabelledPool(features, (features >= 0.5) ^ (rng.random(rows) < 0.1))


def erm(rows: int) -> Trace:
    """Play ERM over thresholds on so many rows in random order, from a pool whose numbers are not yet sorted."""
    known = labelled(rows)
    known.__dict__.pop("ranks", None)
    return play(ERM(Thresholds()), known, seed=SEED)


def erm_rounds() -> list[Row]:
    """Time whole plays, against the limit and against refitting; a refit is timed on half of the rows."""
    erm(FEW)
    best = race({"many": partial(erm, ROWS), "few": partial(erm, FEW)}, turns=5)
    work = "ERM over thresholds, T = {:.0e}"
    rows = [below(work.format(ROWS), best["many"], 2.0, "s", f"{ROWS / best['many']:,.0f} rounds a second, all of it")]
    try:
        refit = refitting()
    except ImportError as error:
        rows.append(left_out(work.format(FEW), f"scikit-learn: {error}"))
    else:
        rows.append(faster(work.format(FEW), best["few"] / FEW, "scikit-learn stump, refitted", refit, 1000))
    return [*rows, below("Session predict + observe, ERM over thresholds", 1e6 * label_session(), None, "us")]


def refitting() -> float:
    """Return the seconds to fit a stump to half of the rows and to predict one label: the best of a few."""
    tree: Any = import_module("sklearn.tree")
    pool, half = labelled(FEW), FEW // 2

    def round_() -> None:
        stump = tree.DecisionTreeClassifier(max_depth=1).fit(pool.features[:half], pool.labels[:half])
        stump.predict(pool.features[half : half + 1])

    return race({"refit": round_}, REFITS)["refit"]


def label_session() -> float:
    """Return the seconds of a round of a live session."""
    pool = labelled(SESSION_ROUNDS)
    session = Session(ERM(Thresholds()), horizon=SESSION_ROUNDS, seed=SEED)
    rounds = list(zip(pool.features[:, 0].tolist(), pool.labels.tolist(), strict=True))
    start = perf_counter()
    for value, label in rounds:
        session.observe(session.act(value), label=label)
    return (perf_counter() - start) / SESSION_ROUNDS
