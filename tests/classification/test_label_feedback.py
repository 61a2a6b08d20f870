"""Label sessions: late feedback, save and load, and what is refused, there and in labelled pools."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from label_cases import Majority
from tombola import FollowTheLeader, Hedge, Session, Simulation, Ticket, play
from tombola.classification import (
    ERM,
    AllLabellings,
    Estimator,
    Experts,
    FiniteClass,
    Halfplanes,
    Halving,
    Intervals,
    LabelLearner,
    LabelledPool,
    Rectangles,
    StandardOptimal,
    Stumps,
    Thresholds,
    Unions,
)
from tombola.errors import FeedbackError, ParameterError, PoolError, SessionError
from tombola.worklists.session_json import _digest

CHAIN = FiniteClass(Thresholds().on_points(6))
LEARNERS: list[tuple[LabelLearner, int]] = [
    (ERM(Thresholds(), "random"), 1),
    (ERM(Intervals(), "middle"), 1),
    (ERM(Unions(2)), 1),
    (ERM(Stumps(2), "last"), 2),
    (ERM(Rectangles()), 2),
    (ERM(Halfplanes()), 2),
    (ERM(CHAIN, "random"), 1),
    (ERM(AllLabellings(6)), 1),
    (Halving(CHAIN), 1),
    (StandardOptimal(CHAIN), 1),
    (Experts(CHAIN, Hedge()), 1),
]


def play_some(session: Session, rounds: int, seed: int) -> list[int]:
    """Go on with late, lost and out-of-order labels."""
    rng = np.random.default_rng([seed, session.round])
    made = []
    for _ in range(rounds):
        made.append(
            session.act(rng.integers(0, 6, session.feedback_model.n_features).astype(float)).action
        )
        for ticket in session.pending[::-1]:
            if rng.random() < 0.4:
                session.observe(
                    ticket, label=int(rng.integers(0, 2)), weight=float(rng.choice([0.3, 1.0]))
                )
    return made


@pytest.mark.parametrize(("learner", "features"), LEARNERS, ids=lambda value: repr(value)[:40])
@pytest.mark.usefixtures("short_work")
def test_saved_session_continues_unchanged(
    learner: LabelLearner, features: int, tmp_path: Path
) -> None:
    session = Session(learner, horizon=60, features=features, seed=3)
    play_some(session, 25, 1)
    session.save(tmp_path / "s.json")
    again = Session.load(tmp_path / "s.json")
    assert again.learner == learner
    assert (again.round, again.mistakes) == (session.round, session.mistakes)
    assert [ticket[:2] for ticket in again.pending] == [ticket[:2] for ticket in session.pending]
    assert play_some(again, 25, 2) == play_some(session, 25, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(("learner", "features"), LEARNERS, ids=lambda value: repr(value)[:40])
def test_session_equals_play(learner: LabelLearner, features: int) -> None:
    rng = np.random.default_rng(2)
    pool = LabelledPool(rng.integers(0, 6, (40, features)), rng.integers(0, 2, 40))
    trace = play(learner, pool, delay=1, seed=9)
    session = Session(learner, horizon=40, features=features, seed=9)
    tickets: list[Ticket] = []
    for t in range(40):
        if t >= 2:
            session.observe(tickets[t - 2], label=trace.labels[t - 2])
        tickets.append(session.act(pool.features[trace.order[t]]))
    assert [ticket.action for ticket in tickets] == trace.actions.tolist()


def test_feedback_that_does_not_fit_is_rejected(one_sentence: Callable[[object], str]) -> None:
    session = Session(ERM(Thresholds()), horizon=2, seed=0)
    ticket = session.act(0.5)
    assert session.observe(ticket, label=1)
    assert not session.observe(ticket, label=True)
    wrong: list[Any] = [
        lambda: session.observe(ticket, label=0),
        lambda: session.observe(ticket, label=0.5),
        lambda: session.observe(ticket, label="1"),
        lambda: session.observe(ticket, label=None),
        lambda: session.observe(ticket, label=[1]),
        lambda: session.observe(Ticket(2, 0, 1.0), label=0),
        lambda: session.observe("ticket", label=0),  # type: ignore[arg-type]
        lambda: session.act(float("nan")),
        lambda: session.act([1.0, 2.0]),
        lambda: session.act("x"),
    ]
    for call in wrong:
        with pytest.raises(FeedbackError) as error:
            call()
        one_sentence(error.value)
    with pytest.raises(ParameterError, match="weight"):
        session.observe(session.act(0.1), label=0, weight=0)
    with pytest.raises(SessionError, match="all 2 rounds"):
        session.act(0.2)
    assert (session.round, len(session.pending), session.mistakes) == (2, 1, 1)
    with pytest.raises(PoolError, match="1 feature"):
        Session(ERM(Thresholds()), horizon=2, features=3, seed=0)


@pytest.mark.usefixtures("short_work")
def test_files_that_are_no_session_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    session = Session(ERM(Thresholds()), horizon=5, seed=0)
    session.act(0.5)
    session.save(path)
    data = json.loads(path.read_text())
    changes: list[dict[str, Any]] = [
        {"format": 1},
        {"events": [["outcome", 1, [1.0, 1.0]]]},
        {"events": [["ticket", 1, [0, 1.0, 0.5]], ["outcome", 1, [7.0, 1.0]]]},
        {"events": [["ticket", 1, [0, 1.0, 0.5]], ["outcome", 1, [1.0, -1.0]]]},
        {"events": [["ticket", 1, [1, 1.0, 0.5]]]},
        {"events": [["ticket", 1, [0, 1.0, math.nan]]]},
        {"events": [["ticket", 1, [0, 1.0, "x"]]]},
        {"events": [["ticket", 1, [0, 1.0]]]},
        {"features": 2},
        {"learner": {"name": "os", "parameters": {}}},
    ]
    for change in changes:
        about = {name: value for name, value in {**data, **change}.items() if name != "digest"}
        path.write_text(json.dumps({**about, "digest": _digest(about)}))
        with pytest.raises(SessionError):
            Session.load(path)
    path.write_text("[1, 2")
    with pytest.raises(SessionError, match="not one"):
        Session.load(path)


def test_bad_learners_are_rejected(one_sentence: Callable[[object], str]) -> None:
    wrong: list[Any] = [
        lambda: ERM("thresholds"),  # type: ignore[arg-type]
        lambda: ERM(Thresholds(), "lowest"),  # type: ignore[arg-type]
        lambda: ERM(Rectangles(), "middle"),
        lambda: Experts(CHAIN, "hedge"),  # type: ignore[arg-type]
        lambda: Experts(CHAIN, Simulation(FollowTheLeader())),
        lambda: Estimator("model"),
        lambda: Estimator(Majority(), growth_factor=0.5),
    ]
    for call in wrong:
        with pytest.raises(ParameterError) as error:
            call()
        one_sentence(error.value)
    with pytest.raises(PoolError, match="1 feature") as refused:
        play(ERM(Thresholds()), LabelledPool([[1, 2]], [0]), seed=0)
    one_sentence(refused.value)
    assert Experts(CHAIN, FollowTheLeader()).bound(10) == FollowTheLeader().bound(7, 10)
