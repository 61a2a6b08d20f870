"""Routed in live use: the same bits as `play`, and as a session that was never closed."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias
from unittest.mock import Mock

import numpy as np
import pytest

from tombola import Pool, Session, SessionFile, play
from tombola.delay import RowDelays, rounds_due
from tombola.engine.tickets import OUTCOME_START
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.learners import FollowTheLeader
from tombola.paper.source_faults import SourceFault, injected
from tombola.policies import Ridge, Routed, Trees
from tombola.policies import guard as guard_module
from tombola.policies import live as live_module
from tombola.policies.guard import ANSWERS, CAPITAL, stake_of
from tombola.policies.live import LiveRouter
from tombola.policies.routed_feedback import DECISION_WIDTH, RoutedFeedback
from tombola.worklists.session_json import _digest

MODELS = (Trees(3, trees=4), Ridge())
ROWS, FEATURES, ACTIONS = 130, 3, 3
Table: TypeAlias = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def rows() -> Table:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(ROWS, FEATURES))
    losses = (generator.random((ROWS, ACTIONS)) < 0.25 + 0.5 * (features > 0)).astype(float)
    features[::7, 1] = np.nan
    return losses, features


def routed(**parameters: Any) -> Routed:
    return Routed(models=MODELS, **parameters)


def started(seed: int = 2, **parameters: Any) -> Session:
    return Session(routed(**parameters), ACTIONS, ROWS, features=FEATURES, seed=seed)


def decisions_of(session: Session) -> list[list[float]]:
    return [session.decision_of(t) or [] for t in range(1, ROWS + 1)]


def answer(session: Session, losses: np.ndarray, round_: int) -> None:
    session.observe(session.ticket_table.ticket(round_), loss=losses[round_ - 1])


DELAYS = np.random.default_rng(3).integers(0, 25, ROWS)


@pytest.mark.parametrize(
    ("delay", "parameters"),
    [
        (0, {}),
        (0, {"worst": 2.0}),
        (5, {"delays": "independent"}),
        (30, {"delays": "independent", "worst": 9.0}),
        (RowDelays(DELAYS), {}),
        (RowDelays(DELAYS), {"worst": 4.0}),
        (RowDelays(0 * DELAYS), {}),
    ],
)
def test_session_equals_play(rows: Table, delay: Any, parameters: Any) -> None:
    """With a delay per row the stakes in flight are reserved, so `risk` holds on this order."""
    losses, features = rows
    pool = Pool(losses, features=features)
    trace = play(routed(**parameters), pool, order="given", delay=delay, seed=4)
    record = trace.router
    assert record is not None
    session = started(4, **parameters)
    for t, arrived in enumerate(
        rounds_due(delay if isinstance(delay, int) else delay.values, ROWS)
    ):
        for past in arrived:
            answer(session, losses, past + 1)
        session.act(features[t])
    decisions = np.array([decision[:4] for decision in decisions_of(session)])
    assert [ticket.action for ticket in session.tickets] == trace.actions.tolist()
    assert decisions[:, 0].tolist() == record.stakes.probabilities.tolist()
    assert decisions[:, 3].tolist() == record.stakes.capital.tolist()
    if isinstance(delay, int):
        assert record.stakes.probabilities.max() > 0.9
    else:
        assert trace.expected_loss <= record.safe_loss + 3.0 + 1e-9
        assert record.stakes.probabilities.max() > 0.5


def arrivals(seed: int) -> list[int]:
    """Return events in a random order: 0 issues a ticket, t answers it; some tickets are never answered."""
    generator, issued = np.random.default_rng(seed), 0
    events: list[int] = []
    pending: list[int] = []
    while issued < ROWS:
        if pending and generator.random() < 0.48:
            events.append(pending.pop(int(generator.integers(len(pending)))))
        else:
            issued += 1
            events.append(0)
            if generator.random() < 0.95:
                pending.append(issued)
    return events


def run(session: Session, losses: np.ndarray, features: np.ndarray, events: list[int]) -> Session:
    for event in events:
        if event:
            answer(session, losses, event)
        else:
            session.act(features[session.round])
    return session


# Every row is answered before the next one.
IN_TURN = [event for t in range(1, ROWS + 1) for event in (0, t)]


@pytest.fixture
def saved(rows: Table, tmp_path: Path) -> tuple[Session, Path]:
    """A session after 80 rounds, and the file that it was saved to."""
    session = run(started(), *rows, IN_TURN[:160])
    session.save(tmp_path / "s.json")
    return session, tmp_path / "s.json"


@pytest.mark.parametrize("delays", ["any", "independent"])
@pytest.mark.parametrize("cut", [3, 90, 200])
def test_reopened_session_continues_as_if_never_closed(
    rows: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delays: str, cut: int
) -> None:
    """S1, with answers in random order; opening again fits the models of the last block only."""
    events = arrivals(cut)
    whole = run(started(delays=delays), *rows, events)
    part = run(started(delays=delays), *rows, events[:cut])
    part.save(tmp_path / "s.json")
    fit = Mock(side_effect=Ridge().fit)
    monkeypatch.setattr(Ridge, "fit", fit)
    again = Session.load(tmp_path / "s.json")
    assert not fit.called
    run(again, *rows, events[cut : cut + 1])
    assert fit.call_count <= 1
    run(again, *rows, events[cut + 1 :])
    assert again.tickets == whole.tickets
    assert decisions_of(again) == decisions_of(whole)
    assert again.state == whole.state


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self._advance()", "pass"),
        ("int(decision[ROUTER]), choices", "NO_ROUTER, choices"),
        ("choices = decision[_LOGGED:]", "choices = []"),
    ],
    ids=["block", "router", "rows in flight"],
)
def test_reopening_that_loses_state_is_caught(
    rows: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """S1: a replay without the block, the router's choices, or their renewal for rows in flight."""
    fault = SourceFault("policies.live:LiveRouter.repeat", old, new)
    with injected(fault), pytest.raises((AssertionError, SessionError)):
        test_reopened_session_continues_as_if_never_closed(
            rows, tmp_path, monkeypatch, "independent", 200
        )


def test_session_opens_after_a_change_of_models(
    rows: Table, saved: tuple[Session, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of scikit-learn fits other trees: recorded choices stand, and the session goes on."""
    session, path = saved
    fit = Trees.fit
    monkeypatch.setattr(Trees, "fit", lambda self, x, y, seed: fit(self, x, y, seed + 1))
    again = Session.load(path)
    assert again.tickets == session.tickets
    assert again.state.capital == session.state.capital
    run(again, *rows, IN_TURN[160:])


@pytest.mark.parametrize(
    ("number", "change"),
    [(0, 0.125), (1, 1.0), (2, 1.0), (3, 0.5)],
    ids=["stake", "router", "safe", "capital"],
)
def test_forged_decision_is_refused(
    rows: Table, saved: tuple[Session, Path], number: int, change: float
) -> None:
    """Stake, safe choice and capital are recomputed; the choice of a router is checked by its consequences."""
    path, losses = saved[1], rows[0]
    data = json.loads(path.read_text())
    decisions = [(event[1] - 1, event[2][2]) for event in data["events"] if event[0] == "ticket"]
    # A round in which router and safe learner differ, and their losses too.
    decision = next(
        d for t, d in decisions if d[1] >= 0 and losses[t, int(d[1])] != losses[t, int(d[2])]
    )
    decision[number] = (decision[number] + change) % (3.0 if number in (1, 2) else 1.0)
    data.pop("digest")
    path.write_text(json.dumps({**data, "digest": _digest(data)}))
    with pytest.raises(SessionError):
        Session.load(path)


@pytest.mark.parametrize("learner", [routed(), routed(delays="independent")])
def test_session_file_is_the_same_after_each_opening(
    rows: Table, tmp_path: Path, learner: Any
) -> None:
    losses, features = rows
    ids, names, tickets = [f"row {i}" for i in range(ROWS)], ["a", "b", "c"], {}
    for reopen in (False, True):
        path = tmp_path / f"{reopen}.run"
        file = SessionFile.start(path, ids, names, learner, features=features, seed=3)
        issued = []
        for step in range(40):
            issued += file.next(3)
            for task in issued[3 * step : 3 * step + 2] if step % 3 else issued[-1:]:
                row = losses[ids.index(task.id)]
                file.record(task.ticket, loss=row)
            if reopen and step % 9 == 0:
                file.close()
                file = SessionFile.open(path)
        tickets[reopen] = issued
        assert file.status().answered > 60
        file.close()
    assert tickets[True] == tickets[False]


def test_amended_outcome_keeps_the_decisions(rows: Table, tmp_path: Path) -> None:
    losses, features = rows
    path, ids = tmp_path / "amended.run", map(str, range(ROWS))
    with SessionFile.start(path, ids, ["a", "b", "c"], routed(), features=features, seed=3) as file:
        for _ in range(60):
            task = file.next()[0]
            file.record(task.ticket, loss=losses[int(task.id)])
        before = file.view().tickets
        file.amend(30, loss=1.0 - losses[int(file.assignment(30).id)])
        assert file.view().tickets == before
        after = file.next(4)
    with SessionFile.open(path) as again:
        assert again.view().tickets[:60] == before
        assert again.pending == after


def test_features_are_checked(rows: Table, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="features must be a whole number"):
        Session(routed(), ACTIONS, ROWS, seed=1)
    session = started()
    for wrong in (None, [1.0], [1.0, 2.0, np.inf], "abc"):
        with pytest.raises(FeedbackError, match="features must be 3 numbers"):
            session.act(wrong)
    with pytest.raises(ParameterError, match="finite features of 2 rows"):
        SessionFile.start(
            tmp_path / "x.run", ["a", "b"], ["c", "d"], routed(), features=np.zeros((3, 2))
        )


class Failing:
    """A model that predicts its training rows perfectly, and fails on others."""

    def fit(self, features: np.ndarray, centred: np.ndarray, seed: int) -> Any:
        self.out_of_bag = centred
        return self

    def predict(self, features: np.ndarray) -> np.ndarray:
        raise IndexError("no such tree")


def test_error_of_a_model_is_not_replaced(rows: Table) -> None:
    session = Session(Routed(models=(Failing(),)), ACTIONS, ROWS, features=FEATURES, seed=1)
    with pytest.raises(IndexError, match="no such tree"):
        run(session, *rows, IN_TURN)


class Stubborn(FollowTheLeader):
    """A safe learner that always plays action 0."""

    @staticmethod
    def act(state: Any, rng: Any) -> tuple[int, float]:
        return 0, 1.0


class Enumerated(Routed):
    """Routed that trains after every answer: all of C3' happens on six rows."""

    def block_starts(self, rounds: int) -> list[int]:
        return list(range(1, rounds))


class Policy:
    """A model that knows the table; the feature of a row is its number.

    "mean": as bad as possible after some answers, as good as possible after others. "worst": always
    bad. "pending": bad on a row that it sees for the first time, good on one that is in flight.
    """

    def __init__(self, kind: str, losses: np.ndarray) -> None:
        self.kind, self.losses, self.shown = kind, losses, set[int]()

    def fit(self, features: np.ndarray, centred: np.ndarray, seed: int) -> Any:
        answered = [int(row) for row in features[:, 0]]
        return SimpleNamespace(
            out_of_bag=-1e9 * np.eye(ACTIONS)[self.losses[answered].argmin(axis=1)],
            predict=lambda rows: np.array(
                [self.prediction(int(row), answered) for row in rows[:, 0]]
            ),
        )

    def prediction(self, row: int, answered: list[int]) -> np.ndarray:
        good = {"mean": sum(answered) % 2 == 0, "worst": False, "pending": row in self.shown}[
            self.kind
        ]
        self.shown.add(row)
        return np.asarray(self.losses[row] if good else -self.losses[row])


# Number of rows answered before each of six rounds.
SCHEDULES = {
    "delay 0": (0, 1, 2, 3, 4, 5),
    "delay 1": (0, 0, 1, 2, 3, 4),
    "delay 2": (0, 0, 0, 1, 2, 3),
    "batches": (0, 0, 0, 3, 3, 3),
    "growing delay": (0, 0, 1, 1, 2, 2),
}


def enumerate_orders(
    monkeypatch: pytest.MonkeyPatch,
    losses: np.ndarray,
    schedule: str,
    kind: str = "mean",
    fault: str = "",
) -> tuple[float, float]:
    """Return the excess over the safe learner and risk - capital, means over all orders of six rows; risk 1."""
    # The largest stake that C3' allows; the guard of the package stakes less.
    monkeypatch.setattr(
        guard_module, "stake_of", lambda state, reserved: max(0.0, min(1.0, state[CAPITAL]))
    )
    monkeypatch.setattr(live_module, "choose", lambda fitted, losses: (fitted[0], 0.0))
    if fault:
        is_late = fault == "every round"
        monkeypatch.setattr(
            guard_module, "may_stake", lambda state: state[ANSWERS] > 0 or not is_late
        )
    excess, settled = [], []
    # All rows are alike where a fault is shown, so that a few orders stand for all.
    for order in itertools.islice(
        itertools.permutations(range(6)), 0, None, 1 if kind == "mean" else 60
    ):
        policy = Policy(kind, losses)
        model = RoutedFeedback(ACTIONS, 6, 1)
        chosen = Enumerated(safe=Stubborn(), models=(policy,), risk=1.0, delays="independent")
        router = LiveRouter(chosen, model, np.arange(1, 5, dtype=np.uint64))
        if fault == "before the first answer":
            router.model = policy.fit(np.zeros((0, 1)), np.zeros((0, ACTIONS)), 0)
        cells, lost, answered = np.zeros((7, OUTCOME_START + ACTIONS + DECISION_WIDTH + 1)), 0.0, 0
        for t, n in enumerate((*SCHEDULES[schedule], 6)):
            while answered < n:
                answered += 1
                router.observe(cells, answered, answered, tuple(losses[order[answered - 1]]))
            if t < 6:
                row = order[t]
                round_, *_ = router.act(cells, np.array([float(row)]))
                stake, choice, safe, _ = router.decision(cells, round_)[:4]
                if choice >= 0:
                    lost += stake * (losses[row, int(choice)] - losses[row, int(safe)])
        excess.append(lost)
        settled.append(1.0 - router.account[CAPITAL])
    return float(np.mean(excess)), float(np.mean(settled))


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_mean_excess_over_all_orders_of_six_rows(
    monkeypatch: pytest.MonkeyPatch, schedule: str
) -> None:
    """L5: C3' exactly: the mean excess is the capital lost, and at most the risk."""
    losses = np.random.default_rng(7).integers(0, 3, (6, ACTIONS)) / 2
    excess, settled = enumerate_orders(monkeypatch, losses, schedule)
    assert excess == pytest.approx(settled, abs=1e-12)
    assert excess <= 1.0 + 1e-12


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("schedule", "kind", "fault"),
    [
        ("batches", "worst", "every round"),
        ("growing delay", "worst", "every round"),
        ("delay 1", "pending", ""),
        ("delay 1", "worst", "before the first answer"),
    ],
)
def test_broken_conditions_are_caught(
    monkeypatch: pytest.MonkeyPatch, schedule: str, kind: str, fault: str
) -> None:
    """L5: each of the four conditions of C3' is needed; without it a router loses more than the risk of 1."""
    losses = np.tile([0.5, 0.0, 1.0] if kind == "pending" else [0.0, 0.5, 1.0], (6, 1))
    assert enumerate_orders(monkeypatch, losses, schedule, kind, fault)[0] > 1.2


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("kind", "fault"), [("mean", False), ("worst", False), ("pending", False), ("worst", True)]
)
def test_reserve_holds_for_every_delay(
    monkeypatch: pytest.MonkeyPatch, kind: str, fault: bool
) -> None:
    """L6: answers in random order, some never; on every path at most `risk` rows worse. The fault reserves nothing."""
    generator = np.random.default_rng(5)
    if fault:
        monkeypatch.setattr(guard_module, "stake_of", lambda state, reserved: stake_of(state, 0.0))
    monkeypatch.setattr(live_module, "choose", lambda fitted, losses: (fitted[0], 0.0))
    largest = 0.0
    for seed in range(6):
        losses = (
            np.sort(generator.random((ROWS, ACTIONS)), axis=1)
            if kind == "worst"
            else generator.random((ROWS, 3))
        )
        hostile = Routed(models=(Policy(kind, losses),), safe=Stubborn())
        session = Session(hostile, ACTIONS, ROWS, features=1, seed=seed)
        run(session, losses, np.arange(float(ROWS))[:, None], arrivals(seed))
        records = np.array([decision[:3] for decision in decisions_of(session)])
        rounds, stakes, choices = np.arange(ROWS), records[:, 0], records[:, 1].astype(int)
        worse = np.where(choices < 0, 0.0, losses[rounds, choices] - losses[:, 0])
        largest = max(largest, float(np.cumsum(stakes * worse).max()))
    assert (largest > 3.0 + 1e-9) is fault
