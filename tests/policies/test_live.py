"""Routed in live use: the same bits as `play`, and as a session that was never closed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import Pool, Session, SessionFile
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.policies import Ridge, Routed, Trees

MODELS = (Trees(3, trees=4), Ridge())
ROWS, FEATURES, ACTIONS = 130, 3, 3


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(ROWS, FEATURES))
    losses = (generator.random((ROWS, ACTIONS)) < 0.25 + 0.5 * (features > 0)).astype(float)
    features[::7, 1] = np.nan
    return losses, features


def routed(**parameters: Any) -> Routed:
    return Routed(models=MODELS, **parameters)


def answer(session: Session, losses: np.ndarray, round_: int) -> None:
    session.observe(session.book.ticket(round_), loss=losses[round_ - 1])


def live(session: Session, losses: np.ndarray, features: np.ndarray, delay: int, rounds: range) -> None:
    """Play these rounds; row t is answered before round t + delay + 1."""
    for t in rounds:
        if t > delay + 1:
            answer(session, losses, t - delay - 1)
        session.act(features[t - 1])


@pytest.mark.parametrize(
    ("delay", "parameters"),
    [(0, {}), (0, {"worst": 2.0}), (5, {"delays": "independent"}), (30, {"delays": "independent", "worst": 9.0})],
)
def test_session_equals_play(rows: tuple[np.ndarray, np.ndarray], delay: int, parameters: Any) -> None:
    losses, features = rows
    trace = routed(**parameters).play(Pool(losses), features, order="given", delay=delay, seed=4)
    session = Session(routed(**parameters), ACTIONS, ROWS, features=FEATURES, seed=4)
    live(session, losses, features, delay, range(1, ROWS + 1))
    decisions = np.array([session.decision_of(t)[:4] for t in range(1, ROWS + 1)])
    assert [ticket.action for ticket in session.tickets] == trace.actions.tolist()
    assert decisions[:, 0].tolist() == trace.stakes.probabilities.tolist()
    assert decisions[:, 3].tolist() == trace.stakes.capital.tolist()
    assert trace.stakes.probabilities.max() > 0.9


def arrivals(seed: int) -> list[int]:
    """Return events in a random order: 0 issues a ticket, t answers it; some tickets are never answered."""
    generator, events, pending, issued = np.random.default_rng(seed), [], [], 0
    while issued < ROWS:
        if pending and generator.random() < 0.48:
            events.append(pending.pop(int(generator.integers(len(pending)))))
        else:
            issued += 1
            events.append(0)
            if generator.random() < 0.95:
                pending.append(issued)
    return events


@pytest.mark.parametrize("delays", ["any", "independent"])
@pytest.mark.parametrize("cut", [3, 90, 200])
def test_reopened_session_continues_as_if_never_closed(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delays: str, cut: int
) -> None:
    """S1, with answers in random order; opening again fits the models of the last block only."""
    losses, features = rows
    events = arrivals(cut)

    def run(session: Session, some: list[int]) -> Session:
        for event in some:
            if event:
                answer(session, losses, event)
            else:
                session.act(features[session.round])
        return session

    whole = run(Session(routed(delays=delays), ACTIONS, ROWS, features=FEATURES, seed=2), events)
    part = run(Session(routed(delays=delays), ACTIONS, ROWS, features=FEATURES, seed=2), events[:cut])
    part.save(tmp_path / "s.json")
    fits: list[int] = []
    fit = Ridge.fit
    monkeypatch.setattr(Ridge, "fit", lambda self, x, y, seed: fits.append(len(x)) or fit(self, x, y, seed))
    again = Session.load(tmp_path / "s.json")
    assert not fits
    run(again, events[cut : cut + 1])
    assert len(fits) <= 1
    run(again, events[cut + 1 :])
    assert again.tickets == whole.tickets
    assert [again.decision_of(t) for t in range(1, ROWS + 1)] == [whole.decision_of(t) for t in range(1, ROWS + 1)]
    assert again.state == whole.state


def test_session_opens_after_a_change_of_models(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of scikit-learn fits other trees: recorded choices stand, and the session goes on."""
    losses, features = rows
    session = Session(routed(), ACTIONS, ROWS, features=FEATURES, seed=2)
    live(session, losses, features, 0, range(1, 81))
    session.save(tmp_path / "s.json")
    fit = Trees.fit
    monkeypatch.setattr(Trees, "fit", lambda self, x, y, seed: fit(self, x, y, seed + 1))
    again = Session.load(tmp_path / "s.json")
    assert again.tickets == session.tickets
    assert again.state.capital == session.state.capital
    live(again, losses, features, 0, range(81, ROWS + 1))


@pytest.mark.parametrize(
    ("number", "change"), [(0, 0.125), (1, 1.0), (2, 1.0), (3, 0.5)], ids=["stake", "router", "safe", "capital"]
)
def test_forged_decision_is_refused(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path, number: int, change: float
) -> None:
    """Stake, safe choice and capital are recomputed; the choice of a router is checked by its consequences."""
    import json

    from tombola.persistence.session_json import _digest

    losses, features = rows
    session = Session(routed(), ACTIONS, ROWS, features=FEATURES, seed=2)
    live(session, losses, features, 0, range(1, 81))
    path = tmp_path / "s.json"
    session.save(path)
    data = json.loads(path.read_text())
    tickets = [event for event in data["events"] if event[0] == "ticket"]
    # A round in which router and safe learner differ, and their losses too.
    forged = next(
        e for e in tickets if e[2][2][1] >= 0 and losses[e[1] - 1, int(e[2][2][1])] != losses[e[1] - 1, int(e[2][2][2])]
    )
    decision = forged[2][2]
    decision[number] = (decision[number] + change) % (3.0 if number in (1, 2) else 1.0)
    data.pop("digest")
    path.write_text(json.dumps({**data, "digest": _digest(data)}))
    with pytest.raises(SessionError):
        Session.load(path)


@pytest.mark.parametrize("delays", ["any", "independent"])
def test_session_file_is_the_same_after_each_opening(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path, delays: str
) -> None:
    losses, features = rows
    ids, names = [f"row {i}" for i in range(ROWS)], ["a", "b", "c"]
    tickets = {}
    for reopen in (False, True):
        path = tmp_path / f"{delays}-{reopen}.run"
        file = SessionFile.start(path, ids, names, routed(delays=delays), features=features, seed=3)
        issued = []
        for step in range(40):
            issued += file.next(3)
            for task in issued[3 * step : 3 * step + 2] if step % 3 else issued[-1:]:
                file.record(task.round, loss=losses[ids.index(task.id)])
            if reopen and step % 9 == 0:
                file.close()
                file = SessionFile.open(path)
        tickets[reopen] = issued
        assert file.state.capital > 0
        assert file.status().answered > 60
        file.close()
    assert tickets[True] == tickets[False]


def test_amended_outcome_keeps_the_decisions(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    losses, features = rows
    path = tmp_path / "amended.run"
    with SessionFile.start(
        path, map(str, range(ROWS)), ["a", "b", "c"], routed(), features=features, seed=3
    ) as file:  # fmt: skip
        for _ in range(60):
            task = file.next()[0]
            file.record(task.round, loss=losses[int(task.id)])
        before = file.view().tickets
        file.amend(30, loss=1.0 - losses[int(file.assignment(30).id)])
        assert file.view().tickets == before
        after = file.next(4)
    with SessionFile.open(path) as again:
        assert again.view().tickets[:60] == before
        assert again.pending == after


def test_features_are_checked(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="features must be a whole number"):
        Session(routed(), ACTIONS, ROWS, seed=1)
    session = Session(routed(), ACTIONS, ROWS, features=FEATURES, seed=1)
    for wrong in (None, [1.0], [1.0, 2.0, np.inf], "abc"):
        with pytest.raises(FeedbackError, match="features must be 3 numbers"):
            session.act(wrong)
    with pytest.raises(ParameterError, match="finite features of 2 rows"):
        SessionFile.start(tmp_path / "x.run", ["a", "b"], ["c", "d"], routed(), features=np.zeros((3, 2)))
