"""No learner can overspend, for all proposals and writes."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import hostile
from hostile import (
    FICKLE,
    FRAGILE,
    MOODS,
    ROUTES,
    Grasping,
    Hostile,
    HostileBandit,
    Stage,
    count_overspent,
    filed,
    lived,
    played,
    played_plainly,
    question_of,
    route_of,
)
from tombola import Session, play
from tombola._types import Floats, RngState
from tombola.budget import tracker as tracker
from tombola.budget.budget import _MIN_AMOUNT, Balance, Budget
from tombola.engine.compiler import interpreted
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback import budgeted
from tombola.learners import EmpiricalLP, ThriftyLP
from tombola.pool import Pool
from tombola.rng import RngStreams, choice
from tombola.worklists import SessionFile


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("route", "numbers", "plain"),
    [
        ((played, Hostile), range(250), False),
        ((played, HostileBandit), range(150), True),
        ((played_plainly, Grasping), range(600), True),
        ((lived, HostileBandit), range(300), True),
        ((filed, Hostile), range(9, MOODS), True),
        ((filed, HostileBandit), range(9, MOODS), True),
        pytest.param((played, Hostile), range(5_000), False, marks=pytest.mark.full),
        pytest.param((lived, Hostile), range(1_005), False, marks=pytest.mark.full),
        pytest.param(None, range(10_000, 1_010_000), False, marks=pytest.mark.full),
    ],
)
def test_no_hostile_learner_overspends(route: Any, numbers: range, plain: bool) -> None:
    """Live, answers come late, out of order, twice, wrong or never; now and then the session is saved and loaded."""
    with interpreted() if plain else nullcontext():
        assert count_overspent(numbers.start, len(numbers), route) == 0


def test_hostile_questions_cover_all_routes() -> None:
    asked = [route_of(group) for group in range(1_000)]
    assert {*ROUTES, (played_plainly, Grasping), (filed, Hostile), (filed, HostileBandit)} == set(
        asked
    )
    assert min(asked.count(route) for route in ROUTES) > 200


def test_stage_plays_what_play_plays() -> None:
    """The many plays by one runner, put back to the start each time, are those of `play`, to the bit."""
    for group in range(30):
        stage = Stage(question_of(group))
        pool, budget, stop, delay, mixed = stage.question
        for mood in (6, 12, 9, 13):
            trace = play(
                Hostile(mood),
                pool,
                "given",
                delay,
                budget=budget,
                stop=stop,
                mixed=mixed,
                seed=group,
            )
            _, actions, costs = stage.play(mood, RngStreams(group).learner(Hostile(mood)))
            assert actions.tolist() == trace.actions.tolist()
            assert costs.tobytes() == trace.costs.tobytes()
            assert stage.feedback_model.balance(stage.runner.workspace) == trace.balance


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_play_same_bits_without_numba() -> None:
    for group in range(40):
        compiled = Stage(question_of(group))
        with interpreted():
            plainly = Stage(question_of(group))
            for mood in (5, 6, 8, 9, 12, FRAGILE):
                rng, bits = RngStreams(group).learner(Hostile(mood)), []
                for stage in (compiled, plainly):
                    parts = stage.play(mood, rng.copy())
                    balance = stage.feedback_model.balance(stage.runner.workspace)
                    bits.append((*(part.tobytes() for part in parts), balance))
                assert bits[0] == bits[1]


def trusting(
    tracker_: tracker.BudgetTracker, mix: Floats, rng: RngState, played: Floats, reserved: Floats
) -> tuple[int, float]:
    """Reserve each draw without the last check: a fault that must be caught."""
    action, probability = tracker_.null, math.nan
    if not tracker_.fluid:
        action = choice(mix, rng)
        probability = mix[action]
    for other in range(mix.size):
        played[other] = mix[other] if tracker_.fluid else 0.0
    if not tracker_.fluid:
        played[action] = 1.0
    for j in range(reserved.size):
        reserved[j] = tracker._cost_in_ticks(tracker_, played, tracker_.worst_costs, j)
        tracker_.reserved[j] += reserved[j]
    return action, probability


def forgetting(
    tracker_: tracker.BudgetTracker, mix: Floats, rng: RngState, played: Floats, reserved: Floats
) -> tuple[int, float]:
    """Commit without reserving anything."""
    found = tracker.draw_and_reserve(tracker_, mix, rng, played, reserved)
    for j in range(reserved.size):
        tracker_.reserved[j] -= reserved[j]
    return found


def generous(
    tracker_: tracker.BudgetTracker, played: Floats, reserved: Floats, costs: Floats
) -> None:
    """Give back twice what was reserved."""
    tracker.charge(tracker_, played, reserved, costs)
    for j in range(reserved.size):
        tracker_.reserved[j] -= reserved[j]


def careless(
    tracker_: tracker.BudgetTracker, played: Floats, costs: Floats, resource: int
) -> float:
    """Cover what a play costs as it was rounded."""
    total = 0.0
    for action in range(played.size):
        if played[action] > 0.0:
            total += played[action] * costs[action, resource]
    return tracker._to_ticks(total, tracker_.unit_ticks[resource])


def showing(self: budgeted.BudgetedFeedback, observe: Any) -> Any:
    """Show the play itself instead of a copy."""

    def tell(state: Any, round: int, workspace: budgeted._Workspace, slot: int) -> None:
        observe(state, round, workspace.played[slot], workspace.row, workspace.scaled)

    return tell


def blind(
    workspace: budgeted._Workspace, prices: Floats, action: int, loss: float, costs: Floats
) -> bool:
    """Take in any cost."""
    unpack_action(workspace, prices, action, loss, costs)
    return True


unpack_action = budgeted._unpack_action
FAULTS: dict[str, tuple[Any, str, Any, Any, range]] = {
    "no last look, in play": (
        budgeted,
        "draw_and_reserve",
        trusting,
        (played, Hostile),
        range(150),
    ),
    "no last look, live": (
        budgeted,
        "draw_and_reserve",
        trusting,
        (lived, HostileBandit),
        range(150),
    ),
    "nothing reserved, in play": (
        budgeted,
        "draw_and_reserve",
        forgetting,
        (played, HostileBandit),
        range(300),
    ),
    "nothing reserved, live": (
        budgeted,
        "draw_and_reserve",
        forgetting,
        (lived, Hostile),
        range(150),
    ),
    "given back twice, in play": (budgeted, "charge", generous, (played, Hostile), range(300)),
    "given back twice, live": (budgeted, "charge", generous, (lived, HostileBandit), range(150)),
    "no slack": (tracker, "_cost_in_ticks", careless, (played, Hostile), range(1_500)),
    "the play itself is shown": (
        budgeted.BudgetedFeedback,
        "make_observe",
        showing,
        (played, Grasping),
        range(300),
    ),
    "answered is not written down": (
        budgeted,
        "mark_answered",
        lambda pages, row: None,
        (lived, Hostile),
        range(150),
    ),
    "any cost is taken": (budgeted, "_unpack_action", blind, (lived, Hostile), range(150)),
}


@pytest.mark.usefixtures("plainly")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("what", FAULTS)
def test_sabotage_of_tracker_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken, route, numbers = FAULTS[what]
    monkeypatch.setattr(hostile, "_steps", {})
    monkeypatch.setattr(owner, name, broken)
    assert count_overspent(numbers.start, len(numbers), route) > 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_tracker_writable_by_learners_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hostile.needs_plan says that all fits; with the tracker's own array and no last look, that is believed."""

    def halts(needs_plan: Any) -> Any:
        def look_and_ask(state: Any, workspace: budgeted._Workspace) -> bool:
            tracker.update_affordable(workspace.tracker)
            return bool(
                workspace.tracker.flags[tracker.STOPPED] == 0.0
                and needs_plan(state, workspace.tracker.fits)
            )

        return look_and_ask

    monkeypatch.setattr(budgeted, "_make_pauses", halts)
    assert sum(played_plainly(group, Hostile, [8], Path()) for group in range(20)) == 0, (
        "the last look holds alone"
    )
    monkeypatch.setattr(budgeted, "draw_and_reserve", trusting)
    assert sum(played_plainly(group, Hostile, [6], Path()) for group in range(30)) > 0


@pytest.mark.parametrize("mood", range(MOODS))
def test_session_never_overspends(mood: int) -> None:
    """300 rounds that cost 1 each, and an amount of 10; a learner that falls over is told again, and charged once."""
    session = Session(
        Hostile(mood), 2, 300, budget=Budget(10.0, worst=[1.0, 1.0], null="add"), seed=mood
    )
    spent = 0
    for _ in range(300):
        ticket = session.act()
        before = session.balance
        if mood == FRAGILE:
            with pytest.raises(ZeroDivisionError):
                session.observe(ticket, loss=[0.0, 1.0], cost=[1.0, 1.0])
            assert (session.balance, session.pending) == (before, [ticket])
        assert session.observe(ticket, loss=[0.0, 1.0], cost=[1.0, 1.0])
        assert not session.observe(ticket, loss=[0.0, 1.0], cost=[1.0, 1.0])
        spent += session.names[ticket.action] != "null"
        assert session.balance == Balance((10.0,), (float(spent),), (0.0,))
    assert spent == (10 if mood in (5, 6, 8, 9, 12, FICKLE, FRAGILE) else 0)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("learner", [ThriftyLP(), EmpiricalLP()], ids=repr)
def test_least_amount_has_common_scale(learner: Any) -> None:
    """The rounds over the least amount are more than any number: learners were told of costs that are none."""
    pool = Pool(np.zeros((14, 1)), costs=np.full((14, 1), 1e-310))
    trace = play(learner, pool, "given", budget=Budget(_MIN_AMOUNT, null="add"), seed=0)
    assert 1 <= trace.plays[0] <= 2, "two ticks have all the bits that such an amount has"
    assert trace.overspent == (False,)


@pytest.mark.parametrize(
    ("mix", "is_one"),
    [
        ([0.5, 0.5], True),
        ([1.0, 0.0], True),
        ([1.0, 1e-9], True),
        ([0.0, 0.0], False),
        ([0.5, 0.4], False),
        ([1.1, -0.1], False),
        ([math.nan, 1.0], False),
        ([math.inf, 0.0], False),
        ([0.6, 0.6], False),
    ],
)
def test_what_mix_is(mix: list[float], is_one: bool) -> None:
    assert tracker._is_distribution(np.array(mix)) == is_one


@pytest.mark.usefixtures("plainly")
def test_session_file_reserves_every_ticket(tmp_path: Path) -> None:
    """A learner that is due, then is not, then is again, was once handed the first action past the tracker."""
    budget, rows = Budget(3.0, worst=1.0, null="add"), map(str, range(30))
    with SessionFile.start(
        tmp_path / "a.run", rows, ["a", "b"], HostileBandit(FICKLE), budget=budget, seed=1
    ) as run:
        tasks = [task for _ in range(30) for task in run.next() if task.action != "null"]
        assert sum(run.record(task.ticket, loss=0.5, cost=1.0) for task in tasks) == 3
        assert run.status().balance == Balance((3.0,), (3.0,), (0.0,))


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("delay", [0, 1, 3, [0, 2, 5] * 20])
@pytest.mark.parametrize("mixed", [False, True])
def test_learner_sees_copies_only(delay: Any, mixed: bool) -> None:
    """In plain Python it can keep the play of an earlier round, and once wiped out a later one in its place."""
    pool = Pool(np.zeros((60, 2)), costs=np.ones((60, 2)))
    trace = play(
        Grasping(9), pool, "given", delay, budget=Budget(5.0, null="add"), mixed=mixed, seed=0
    )
    assert trace.plays.tolist()[2] == 55.0
    assert trace.balance == Balance((5.0,), (5.0,), (0.0,))


FIRST = HostileBandit(8)  # always the first action


@pytest.mark.usefixtures("plainly")
def test_price_equals_float32_cost() -> None:
    """The float32 of 0.1 is more than the float64 of 0.1, so an amount of 0.1 does not pay for it."""
    pool = Pool(np.zeros((9, 1)), costs=np.full((9, 1), 0.1, np.float32))
    with pytest.raises(ParameterError, match="prices must equal the cost in every row"):
        play(FIRST, pool, budget=Budget(0.1, null="add", prices=[0.1]), seed=0)
    exact = float(np.float32(0.1))
    trace = play(FIRST, pool, budget=Budget(exact, null="add", prices=[exact]), seed=0)
    assert trace.plays.tolist() == [1.0, 8.0]
    assert trace.overspent == (False,)


@pytest.mark.usefixtures("plainly")
def test_session_copies_its_budget() -> None:
    amounts, worst, prices = np.array([5.0]), np.array([[1.0], [1.0]]), np.array([np.nan, 0.5])
    session = Session(FIRST, 2, 9, budget=Budget(cast(Any, amounts), worst, "add", prices), seed=0)
    amounts[:], worst[:], prices[:] = 1e9, 1e9, 1e9
    assert session.balance.amounts == (5.0,)
    with pytest.raises(FeedbackError, match="worst cost declared"):
        session.observe(session.act(), loss=0.5, cost=1.5)
    assert session.balance.reserved == (1.0,)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("huge", [10**400, -(10**400), "1e999", "1 dollar"])
def test_numbers_beyond_floats_are_rejected(
    huge: Any, one_sentence: Callable[[object], str]
) -> None:
    for wrong in (
        {"amounts": huge},
        {"amounts": 1.0, "worst": huge},
        {"amounts": 1.0, "prices": [huge]},
    ):
        with pytest.raises(ParameterError) as refused:
            Budget(**wrong)
        one_sentence(refused.value)
    session = Session(FIRST, 1, 9, budget=Budget(5.0, worst=1.0, null="add"), seed=0)
    ticket, before = session.act(), session.balance
    for outcome in ({"loss": 0.5, "cost": huge}, {"loss": huge, "cost": 0.5}):
        with pytest.raises(FeedbackError) as caught:
            session.observe(ticket, **outcome)
        one_sentence(caught.value)
    assert session.balance == before
