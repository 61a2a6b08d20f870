"""A model with fit and predict as a hypothesis class."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from label_cases import Majority
from tombola import Session, play
from tombola.classification import ERM, Estimator, LabelledPool, Thresholds
from tombola.errors import SessionError


def test_estimator_refits_as_data_grows() -> None:
    fits = []

    class Counting(Majority):
        def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> "Majority":
            fits.append(len(labels))
            return Majority.fit(self, rows, labels, sample_weight)

    pool = LabelledPool(np.zeros(100), [0, 0, 0, *[1] * 97])
    trace = play(ERM(Estimator(Counting(), growth_factor=2)), pool, order="given", seed=0)
    assert fits == [4, 8, 16, 32, 64]
    assert trace.regret == 2
    assert fits[-1] == 100, "the comparator is the model fitted to the whole pool"
    assert trace.actions.tolist() == [0] * 8 + [1] * 92
    assert trace.mistakes == 5
    assert ERM(Estimator(Majority())).bound(100) is None
    weighted = LabelledPool(np.zeros(4), [0, 1, 1, 0], [1, 0.25, 0.25, 1])
    assert play(ERM(Estimator(Majority())), weighted, order="given", seed=0).actions[3] == 0


def test_estimator_session_needs_its_learner(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    learner = ERM(Estimator(Majority()))
    session = Session(learner, horizon=10, seed=0)
    session.observe(session.act(1.0), label=1)
    session.save(tmp_path / "s.json")
    with pytest.raises(SessionError, match="learner=") as error:
        Session.load(tmp_path / "s.json")
    one_sentence(error.value)
    with pytest.raises(SessionError, match="the same learner"):
        Session.load(tmp_path / "s.json", ERM(Thresholds()))
