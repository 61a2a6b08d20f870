"""Budgets with bandit feedback: what is told, what is reserved, price lists, and that live use is play to the bit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tombola import Pool, RowDelays, Session, Ticket, compare, play
from tombola._play import resolve_budget
from tombola._types import Floats
from tombola.budget.budget import Budget, BudgetTerms
from tombola.budget.optimum import dual_prices
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback import BudgetedBanditFeedback, make_feedback_model
from tombola.learners import BudgetedBanditLearner, EmpiricalLP, OptimisticLP, ThriftyLP
from tombola.learners.budgeted.thrifty_lp import _expected_costs, _money_prices, _worth_trying
from twin_cases import BUDGETED_BANDIT

T, K, M = 60, 3, 2
RNG = np.random.default_rng(8)
COSTS = RNG.random((T, K, M)) * np.array([1.0, 50.0])
POOL = Pool(RNG.random((T, K)), costs=COSTS)
BUDGET = Budget([9.0, 600.0], worst=COSTS.max(axis=0), null="add")


class Log(NamedTuple):
    """All that was told: round, action, probability, loss, costs."""

    observed: Floats


@dataclass(frozen=True)
class Scribe(BudgetedBanditLearner):
    """Play every action alike, and write down what is told."""

    def init(self, terms: BudgetTerms) -> Log:
        return Log(np.zeros((terms.horizon, 4 + terms.resources)))

    @staticmethod
    def mix(state: Log, mix: Floats) -> None:
        for action in range(mix.size):
            mix[action] = 1.0 / mix.size

    @staticmethod
    def observe(
        state: Log, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        observed = state.observed[round - 1]
        observed[0], observed[1], observed[2], observed[3] = round, action, probability, loss
        for j in range(costs.size):
            observed[4 + j] = costs[j]
            costs[j] = -1.0  # harmless


@pytest.mark.usefixtures("plainly")
def test_action_played_is_observed_and_no_other() -> None:
    setting = make_feedback_model(Scribe(), T, actions=K, budget_run=resolve_budget(POOL, BUDGET))
    assert isinstance(setting, BudgetedBanditFeedback)
    assert not setting.full_feedback
    session = Session(Scribe(), K, T, budget=BUDGET, seed=3)
    for delay in (0, 5):
        trace = play(Scribe(), POOL, "given", delay, budget=BUDGET, seed=3)
        session = Session(Scribe(), K, T, budget=BUDGET, seed=3)
        tickets: list[Ticket] = []
        for t in range(T):
            if delay and t > delay:
                answer(session, tickets[t - delay - 1])
            tickets.append(session.act())
            if not delay:
                answer(session, tickets[-1])
        assert [ticket.action for ticket in tickets] == trace.actions.tolist()
        scale = min(9.0 / COSTS[:, :, 0].max(), 600.0 / COSTS[:, :, 1].max(), T) / np.array(
            [9.0, 600.0]
        )
        for row in session.state.observed:
            if row[0] > 0 and row[1] < K:
                t, action = int(row[0]) - 1, int(row[1])
                assert row[2] == trace.probabilities[t]
                assert row[3] == POOL.losses[t, action]
                assert row[4:].tolist() == (COSTS[t, action] * scale).tolist()
            elif row[0] > 0:
                assert row[3:].tolist() == [1.0, 0.0, 0.0], (
                    "what an added null action loses and costs"
                )


def answer(session: Session, ticket: Ticket) -> bool:
    if session.names[ticket.action] == "null":
        return session.observe(ticket)
    row = ticket.round - 1
    return session.observe(
        ticket, loss=POOL.losses[row, ticket.action], cost=COSTS[row, ticket.action]
    )


@pytest.mark.usefixtures("plainly")
def test_invalid_feedback_changes_nothing(one_sentence: Any) -> None:
    session = Session(Scribe(), K, horizon=T, budget=BUDGET, seed=0)
    ticket = next(ticket for _ in range(T) if (ticket := session.act()).action < K)
    memory, balance = session._live.runner.memory.copy(), session.balance
    wrong: list[dict[str, Any]] = [
        {"loss": POOL.losses[0], "cost": COSTS[0]},
        {"loss": 0.5},
        {"loss": 0.5, "cost": 0.1},
        {"loss": 0.5, "cost": [0.1, -1.0]},
        {"loss": 0.5, "cost": [0.1, np.nan]},
        {"loss": 0.5, "cost": [100.0, 0.1]},
        {"loss": 1.5, "cost": [0.1, 0.1]},
        {"cost": [0.1, 0.1]},
        {"loss": 0.5, "reward": 0.5, "cost": [0.1, 0.1]},
        {"loss": 0.5, "cost": [0.1, 0.1], "label": 1},
    ]
    for feedback in wrong:
        with pytest.raises(FeedbackError) as caught:
            session.observe(ticket, **feedback)
        one_sentence(caught.value)
    assert session._live.runner.memory.tolist() == memory.tolist()
    assert session.balance == balance
    assert session.observe(ticket, reward=0.25, cost=[0.1, 0.2])
    assert session.outcomes[ticket.round - 1] == (0.75, (0.1, 0.2))
    assert not session.observe(ticket, loss=0.75, cost=(0.1, 0.2))
    assert session.balance.spent == pytest.approx((0.1, 0.2))


@pytest.mark.usefixtures("plainly")
def test_added_null_action_is_observed_without_cost(one_sentence: Any) -> None:
    session = Session(Scribe(), K, horizon=T, budget=Budget(0.0, worst=1.0, null="add"), seed=0)
    ticket = session.act()
    assert session.names[ticket.action] == "null"
    with pytest.raises(FeedbackError) as caught:
        session.observe(ticket, loss=0.5)
    one_sentence(caught.value)
    assert session.observe(ticket)
    assert session.outcomes == ((1.0, (0.0,)),)
    assert session.loss == 1.0


def test_fluid_play_has_no_action_to_see(one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        play(OptimisticLP(), POOL, budget=BUDGET, mixed=True, seed=0)
    one_sentence(caught.value)
    with pytest.raises(ParameterError):
        play(OptimisticLP(), POOL, seed=0)


# prices


PRICES = [0.0, 0.1, None]
LIST = Budget(3.0, worst=2.0, prices=PRICES)


@pytest.mark.usefixtures("plainly")
def test_price_is_reserved_and_known() -> None:
    limits = LIST.resolve(3, 1)
    assert limits.worst.ravel().tolist() == [0.0, 0.1, 2.0]
    assert limits.null == 0
    assert limits.relabelled(np.array([2, 0, 1])).prices.ravel().tolist()[1:] == [0.0, 0.1]
    session = Session(Scribe(), 3, 100, budget=LIST, seed=1)
    terms = session.feedback_model.terms  # type: ignore[attr-defined]
    scale = 1.5 / 3.0
    assert terms.prices.ravel()[:2].tolist() == [0.0, 0.1 * scale]
    assert np.isnan(terms.prices[2, 0])
    assert not terms.added
    for _ in range(20):
        before = session.balance.left[0]
        ticket = session.act()
        assert before - session.balance.left[0] == pytest.approx([0.0, 0.1, 2.0][ticket.action])


@pytest.mark.usefixtures("short_work")
def test_cost_with_price_may_be_left_out(tmp_path: Path, one_sentence: Any) -> None:
    session = Session(Scribe(), 3, 100, budget=LIST, seed=1)
    tickets = [session.act() for _ in range(40)]
    cheap = next(ticket for ticket in tickets if ticket.action == 1)
    with pytest.raises(FeedbackError) as caught:
        session.observe(cheap, loss=0.5, cost=0.2)
    one_sentence(caught.value)
    with pytest.raises(FeedbackError, match=r"price declared, 0\.1 for action 1, got 0\.05"):
        session.observe(cheap, loss=0.5, cost=0.05)
    for ticket in tickets:
        cost = 0.7 if ticket.action == 2 else None
        assert session.observe(ticket, loss=0.5, cost=cost)
    session.save(tmp_path / "s.json")
    again = Session.load(tmp_path / "s.json", Scribe())
    assert again.balance == session.balance
    assert again.budget is not None
    assert again.budget.prices == PRICES
    assert [again.act() for _ in range(9)] == [session.act() for _ in range(9)]


@pytest.mark.usefixtures("plainly")
def test_whole_rows_know_price_lists_too() -> None:
    budget = Budget(3.0, prices=[0.0, 0.1, 0.2])
    session = Session(EmpiricalLP(), 3, 100, budget=budget, seed=1)
    assert session.observe(session.act(), loss=[1.0, 0.5, 0.25])
    assert session.outcomes == (((1.0, 0.5, 0.25), (0.0, 0.1, 0.2)),)
    with pytest.raises(FeedbackError):
        session.observe(session.act(), loss=[1.0, 0.5, 0.25], cost=[0.0, 0.1, 0.1])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Budget(1.0, prices=[-1.0]),
        lambda: Budget(1.0, prices=[np.inf]),
        lambda: Budget(1.0, prices="cheap"),
        lambda: Budget(1.0, prices=[0.0, 1.0]).resolve(3, 1),
        lambda: Budget(1.0, prices=0.5).resolve(3, 1),
        lambda: Budget(1.0, prices=[0.0, None]).resolve(2, 1),
        lambda: Budget(1.0, prices=[[0.0, 1.0]]).resolve(2, 1),
        lambda: Budget(1.0, prices=[1.0, 1.0]).resolve(2, 1),
        lambda: play(
            ThriftyLP(), POOL, budget=Budget([1.0, 1.0], null="add", prices=COSTS[0]), seed=0
        ),
    ],
)
def test_bad_prices_are_rejected(wrong: Any, one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        wrong()
    one_sentence(caught.value)


def test_known_prices_are_not_explored() -> None:
    """Two actions alike but for a price above all that is left: known, it is never played; unknown, it is."""
    T = 400
    costs = np.tile([0.0, 1.0, 90.0], (T, 1))
    pool = Pool.from_rewards(np.tile([0.0, 0.6, 0.7], (T, 1)), costs=costs)
    observed = play(OptimisticLP(), pool, budget=Budget(100.0, prices=costs[0]), seed=0)
    blind = play(OptimisticLP(), pool, budget=Budget(100.0), seed=0)
    assert observed.plays[2] == 0 < blind.plays[2]
    assert observed.reward > blind.reward


# delays, switching


def test_late_rows_and_switching_prices_under_budget() -> None:
    delays = RowDelays(np.arange(T) % 7)
    for learner in (OptimisticLP(), ThriftyLP()):
        trace = play(learner, POOL, delay=delays, switching_price=0.5, budget=BUDGET, seed=0)
        assert not any(trace.overspent)
        assert trace.regret == pytest.approx(
            trace.loss + 0.5 * trace.switches - trace.comparator_loss
        )
    runs = compare(
        POOL, [ThriftyLP()], delay=delays, switching_price=0.5, budget=BUDGET, repetitions=2, seed=0
    )
    plain = compare(POOL, [ThriftyLP()], delay=delays, budget=BUDGET, repetitions=2, seed=0)
    assert (runs.regrets("ThriftyLP") > plain.regrets("ThriftyLP")).all()


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (9, 1), (13, 60)])
@pytest.mark.parametrize("amount", [0.0, 1e-9, 3.0])
def test_one_row_one_action_and_no_money(shape: tuple[int, int], amount: float) -> None:
    rng = np.random.default_rng(0)
    pool = Pool(rng.integers(0, 3, shape) / 2, costs=np.ceil(rng.random((*shape, 1)) * 3) / 10)
    for learner in (OptimisticLP(), ThriftyLP()):
        trace = play(learner, pool, delay=2, budget=Budget(amount, null="add"), seed=0)
        assert not any(trace.overspent)
        assert trace.plays.sum() == shape[0]


# the naive twin


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("delay", [0, 6])
@pytest.mark.parametrize("name", BUDGETED_BANDIT)
def test_every_plan_is_a_best_mix_of_the_twin(name: str, delay: int) -> None:
    """On pools with ties, over whole sessions, with an added null action and with an own one."""
    case = BUDGETED_BANDIT[name]
    for number, budget in enumerate(
        [Budget([60.0, 50.0], worst=1.0, null="add"), Budget([90.0, 40.0], worst=1.0, null=0)]
    ):
        rng = np.random.default_rng(number)
        losses, costs = rng.integers(0, 5, (200, 3)) / 4, rng.integers(0, 3, (200, 3, 2)) / 2
        if budget.null == 0:
            costs[:, 0] = 0.0
        session = Session(case.learner, 3, 200, budget=budget, seed=0)
        twin = case.new_twin(session.actions + (budget.null == "add"), 2, 200, budget)
        tickets: list[Ticket] = []
        for _ in range(200):
            if min(session.balance.left) <= 1.0:
                break  # from here on actions cease to fit, which is not in the program
            tickets.append(session.act())
            assert session.mix is not None
            twin.check(session.mix.tolist(), list(session.balance.spent))
            for ticket in tickets[-1 - delay :][:1] if len(tickets) > delay else []:
                t, a = ticket.round - 1, ticket.action
                loss, cost = (
                    (float(losses[t, a]), costs[t, a].tolist()) if a < 3 else (1.0, [0.0, 0.0])
                )
                session.observe(ticket, **({"loss": loss, "cost": cost} if a < 3 else {}))
                twin.observe(a, loss, cost)
        assert twin.checked > 20


# the price of a trial


UNLIKE, ALIKE = ((0.1, 0.7), (0.6, 0.4)), ((0.5, 0.5), (0.5, 0.5))


def state_after_trials(tried: Any, rate: float, price: float, target: float = np.inf) -> Any:
    """Return a due state of ThriftyLP: 40 losses of actions 1 and 2 with (cost, mean), action 3 never tried."""
    prices = np.array([[0.0], [np.nan], [np.nan], [price]])
    state = ThriftyLP().init(BudgetTerms(4, 1, 1000, rate, 0, prices, added=True, target=target))
    for action, (cost, mean) in enumerate(tried, start=1):
        for number in range(40):
            ThriftyLP.observe(state, 0, action, 1.0, float(number < 40 * mean), np.array([cost]))
    state.following[0] = 0.0
    assert ThriftyLP.needs_plan(state, np.ones(4))
    return state


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("tried", "rest", "rate", "price", "pays"),
    [
        pytest.param(UNLIKE, 400, 0.3, 0.5, True, id="cheap"),
        pytest.param(UNLIKE, 400, 0.3, 0.9, False, id="dear"),
        pytest.param(UNLIKE, 400, 0.95, 0.9, True, id="dear, but money is left"),
        pytest.param(UNLIKE, 10, 0.3, 0.5, False, id="late"),
        pytest.param(ALIKE, 400, 0.3, 0.7, True, id="alike: the least spread pays"),
        pytest.param(ALIKE, 400, 0.3, 0.75, False, id="alike and dearer"),
    ],
)
def test_thrifty_lp_prices_a_trial(
    tried: Any, rest: int, rate: float, price: float, pays: bool
) -> None:
    """A trial must pay in the rounds left, at the dual price of money, for a spread of .15 c (1 - c) at least."""
    state = state_after_trials(tried, rate, price)
    costs, _ = _expected_costs(state)
    found, is_free = _worth_trying(state, costs, np.array([rate]), float(rest), np.array([0, 1, 2]))
    assert bool(found[3]) is pays
    assert is_free is (rate > 0.6)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("rate", "target", "at_once"), [(0.9, np.inf, True), (0.3, np.inf, False), (0.9, 0.5, False)]
)
def test_thrifty_lp_makes_a_trial_at_once_if_money_has_no_price(
    rate: float, target: float, at_once: bool
) -> None:
    """A trial at a price is the whole plan if money is not scarce, and not if it is or there is a target."""
    state = state_after_trials(UNLIKE, rate, 0.85, target)
    state.chosen[1:3] = 40.0
    ThriftyLP().plan(state, np.array([rate * 920]), np.ones(4), np.zeros(4, np.uint64))
    assert bool(state.played[3] > 0.999) is at_once


def test_money_prices_of_one_resource_are_the_dual_prices() -> None:
    """The direct formula equals that of the linear program, and no limit has price 0."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        rewards, costs = (
            np.append(rng.random(4), 0.0),
            np.append(rng.random((4, 1)), [[0.0]], axis=0),
        )
        rate = rng.random(1)
        assert _money_prices(rewards, costs, rate) == pytest.approx(
            dual_prices(rewards, costs, rate), abs=1e-7
        )
    assert _money_prices(rewards, costs, np.array([np.inf])).tolist() == [0.0]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("price", "tries"), [(0.5, True), (0.9, False)])
def test_thrifty_lp_plans_no_trial_that_does_not_pay(price: float, tries: bool) -> None:
    """The plan follows the price of a trial: an action never tried is left out if it is too dear."""
    state = state_after_trials(UNLIKE, 0.3, price)
    state.chosen[1:3] = 40.0
    ThriftyLP().plan(state, np.array([0.3 * 400]), np.ones(4), np.zeros(4, np.uint64))
    assert bool(state.played[3] > 1e-9) is tries
