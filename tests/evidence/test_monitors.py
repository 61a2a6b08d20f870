"""Monitors: equal results from session, trace and record; validity under adaptive play."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from evidence_cases import Values, allowed, bernoulli_pool, enumerated_ends, sequences
from tombola import UCB1, Budget, Exp3, FollowTheLeader, Pool, Session, compare, play
from tombola._types import Order, RngState
from tombola.errors import ParameterError
from tombola.evidence import (
    ActionMonitor,
    Betting,
    PairedDifferences,
    RandomOrderTest,
    RowMonitor,
    Serfling,
    certify_plays,
    certify_trace,
)
from tombola.evidence.pending import betting_level
from tombola.learners import EmpiricalLP, SuccessiveElimination
from tombola.order import OrderModel, RandomOrder


def test_session_trace_and_record_agree() -> None:
    pool = bernoulli_pool(300, [0.2, 0.5, 0.8])
    trace = play(UCB1(), pool, seed=4)
    # A session keeps a part of its level for pending outcomes.
    part = betting_level(0.05)
    recorded = certify_plays(trace.actions, trace.losses, actions=3, population=300, level=part)
    session = Session(UCB1(), actions=3, horizon=300, seed=4)
    monitor = ActionMonitor(session)
    for t, row in enumerate(trace.order):
        ticket = session.act()
        session.observe(ticket, loss=float(pool.losses[row, ticket.action]))
        if t % 50 == 0:
            monitor.certificate()
    for other in (
        monitor.certificate(),
        certify_trace(trace, pool, level=part),
        ActionMonitor(session).certificate(),
    ):
        assert other.lows.tobytes() == recorded.lows.tobytes()
        assert other.highs.tobytes() == recorded.highs.tobytes()
        assert other.counts.tolist() == recorded.counts.tolist()
        assert other.loss == pytest.approx(recorded.loss)


def test_full_feedback_covers_all_actions() -> None:
    pool = bernoulli_pool(200, [0.1, 0.9])
    trace = play(FollowTheLeader(), pool, seed=1)
    certificate = certify_trace(trace, pool, rounds=60, level=betting_level(0.05))
    assert certificate.counts.tolist() == [60, 60]
    session = Session(FollowTheLeader(), actions=2, horizon=200, seed=1)
    monitor = ActionMonitor(session)
    for row in trace.order[:60]:
        session.observe(session.act(), loss=pool.losses[row])
    assert monitor.certificate().lows.tobytes() == certificate.lows.tobytes()
    assert monitor.certificate().regret == pytest.approx(certificate.regret)
    done = certify_trace(trace, pool)
    assert done.lows == pytest.approx(pool.means)
    assert done.highs == pytest.approx(pool.means)
    assert done.within(0) == 0.0


def test_outcomes_are_used_in_order_of_play() -> None:
    """Outcomes after a missing one only cut the interval to the certain range."""
    session = Session(SuccessiveElimination(), actions=1, horizon=50, seed=0)
    monitor = ActionMonitor(session)
    tickets = [session.act() for _ in range(10)]
    for ticket in tickets[5:]:
        session.observe(ticket, loss=0.0)
    assert monitor.certificate().counts.tolist() == [0]
    assert monitor.certificate().interval(0) == (0.0, 0.9)  # five of 50 rows have loss 0
    certificate = monitor.certificate()
    assert (certificate.loss, certificate.pending, certificate.worst_regret) == (0.0, 5, 5.0)
    for ticket in tickets[:4]:
        session.observe(ticket, loss=0.5)
    assert monitor.certificate().counts.tolist() == [4]
    session.observe(tickets[4], loss=0.5)
    assert monitor.certificate().counts.tolist() == [10]
    assert monitor.certificate().loss == 2.5


def test_outcomes_beyond_an_open_ticket_count() -> None:
    """Ticket 3 stays open: the interval uses 99 outcomes after it, and keeps three quarters of its width."""
    session = Session(SuccessiveElimination(), actions=1, horizon=640, seed=0)
    monitor = ActionMonitor(session)
    for t in range(103):
        ticket = session.act()
        if t != 3:
            session.observe(ticket, loss=float(t % 2))
    assert monitor.certificate().counts.tolist() == [3]
    low, high = monitor.certificate().interval(0)
    assert low > 0.3
    assert high < 0.7


@pytest.mark.full
def test_loss_dependent_delay_keeps_coverage() -> None:
    """Losses of 1 are answered 30 rounds late: 200 runs, level .2, false alarm below 1e-6."""
    rng, runs, missed = np.random.default_rng(0), 200, 0
    values = (rng.random(100) < 0.5).astype(float)
    for _ in range(runs):
        session = Session(SuccessiveElimination(), actions=1, horizon=100, seed=0)
        monitor, wrong = ActionMonitor(session, level=0.2), False
        rows, tickets = rng.permutation(values), []
        for t in range(100):
            tickets.append(session.act())
            if rows[t] == 0.0:
                session.observe(tickets[t], loss=0.0)
            if t >= 30 and rows[t - 30] == 1.0:
                session.observe(tickets[t - 30], loss=1.0)
            if t % 5 == 4:
                low, high = monitor.certificate().interval(0)
                wrong |= not low - 1e-9 <= values.mean() <= high + 1e-9
        missed += wrong
    assert missed / runs <= allowed(0.2, runs)


@pytest.mark.parametrize("learner", [UCB1(), SuccessiveElimination(), Exp3()])
def test_coverage_under_adaptive_play(learner: Any) -> None:
    """All intervals, the distance from the best and the regret, at five times of 150 runs; false alarm below 1e-6."""
    pool, runs, wrong = bernoulli_pool(200, [0.3, 0.4, 0.6]), 150, 0
    best = pool.means.min()
    for seed in range(runs):
        trace = play(learner, pool, seed=seed)
        failed = False
        for rounds in (10, 50, 100, 150, 200):
            c = certify_trace(trace, pool, rounds=rounds, level=0.2)
            missed = bool((c.lows > pool.means + 1e-9).any() or (c.highs < pool.means - 1e-9).any())
            failed |= missed
            if not missed:
                assert c.within(c.best) >= pool.means[c.best] - best - 1e-9
                assert c.regret >= trace.losses[:rounds].sum() - rounds * best - 1e-6
        wrong += failed
    assert wrong / runs <= allowed(0.2, runs)


def too_near(pool: Pool, level: float, runs: int, share: float = 1.0) -> float:
    """Return how often, over shuffles and all looks, pairs say that an action is nearer to the best than it is."""
    truth, rng, wrong = pool.means - pool.means.min(), np.random.default_rng(5), 0
    for _ in range(runs):
        pairs, rows, failed = (
            PairedDifferences(pool.rows, level * share, pool.k),
            rng.permutation(pool.losses),
            False,
        )
        for start in range(0, pool.rows, 8):
            pairs.extend(rows[start : start + 8])
            failed |= any(pairs.distance(a) < truth[a] - 1e-9 for a in range(1, pool.k))
        wrong += failed
    return wrong / runs


def test_paired_level_is_divided() -> None:
    """Eight actions that are worse than the best one by 1/2, independently; false alarm below 1e-6."""
    rng, level, runs = np.random.default_rng(0), 0.3, 300
    columns = [np.zeros(40)] + [rng.permutation(np.repeat([0.0, 1.0], 20)) for _ in range(8)]
    pool = Pool(np.column_stack(columns))
    assert (
        too_near(pool, level, runs) <= allowed(level, runs) < too_near(pool, level, runs, share=8.0)
    )


def test_paired_batches_are_equivalent() -> None:
    pool = bernoulli_pool(80, [0.3, 0.4, 0.6])
    whole, single, late = (PairedDifferences(80, 0.05, 3) for _ in range(3))
    whole.extend(pool.losses[:50])
    for row in pool.losses[:50]:
        single.extend(row)
        late.extend(row)
        single.distance(1)
    assert [p.distance(1) for p in (whole, single, late)] == [whole.distance(1)] * 3
    whole.extend(pool.losses[50:])
    assert whole.distance(2) == pytest.approx(pool.means[2] - pool.means.min())
    assert PairedDifferences(80, 0.05, 1).distance(0) == 0.0


def test_paired_needs_fewer_correlated_rows() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random(4000)
    rows = np.column_stack([hard < 0.5, (hard < 0.5) & (rng.random(4000) < 0.9)]).astype(float)
    monitor = RowMonitor(["first", "second"], population=4000)
    monitor.extend(rows[:400])
    certificate = monitor.certificate()
    assert (certificate.best, certificate.method, certificate.within(1)) == (1, "paired", 0.0)
    assert certificate.highs[1] - certificate.lows[0] > 0.03, "unpaired"
    assert "on the answers recorded here for these 4,000 rows" in str(certificate)


def test_certificate_of_independent_draws() -> None:
    pool = bernoulli_pool(100, [0.2, 0.7])
    trace = play(FollowTheLeader(), pool, order="iid", seed=0)
    certificate = certify_trace(trace, pool)
    assert math.isinf(certificate.population)
    assert certificate.highs[0] > certificate.lows[0]
    assert certificate.forecast(within=1e-6) is not None


def test_monitors_reject_invalid_input(one_sentence: Callable[[object], str]) -> None:
    pool = bernoulli_pool(20, [0.2, 0.7])
    cases: list[Callable[[], Any]] = [
        lambda: certify_trace(play(UCB1(), pool, order="given", seed=0), pool),
        lambda: certify_plays([0], [0.5], actions=1, population=10, method=Serfling),
        lambda: certify_plays([0] * 11, [0.5] * 11, actions=2, population=10),
        lambda: certify_plays([0, 2], [0.5, 0.5], actions=2, population=10),
        lambda: certify_plays([0], [1.5], actions=2, population=10),
        lambda: certify_plays([0.9], [0.5], actions=2, population=10),  # not action 0
        lambda: Betting(population=10, actions=2).extend([0.5], [0.9]),
        lambda: RandomOrderTest(2, 0.1, seed=1).extend([0.5], [0.9]),
        lambda: certify_plays([0], [0.5], actions=2, population=10, level=1.5),
        lambda: certify_plays([0], [0.5], actions=2, population=None),  # type: ignore[arg-type]
        lambda: ActionMonitor(Session(UCB1(), actions=2, horizon=20, seed=0), population=10),
        lambda: certify_plays([0], [0.5], actions=2, population=10, method=Betting).certified(
            within=-1
        ),
    ]
    for case in cases:
        with pytest.raises(ParameterError) as error:
            case()
        one_sentence(error.value)


@pytest.mark.parametrize("actions", [2, 5])
def test_certificate_divides_level_by_actions(actions: int) -> None:
    losses = np.random.default_rng(0).random(60)
    alone = certify_plays(
        [0] * 60, losses, actions=1, population=200, level=0.05 / actions
    ).interval(0)
    shared = certify_plays([0] * 60, losses, actions=actions, population=200, level=0.05).interval(
        0
    )
    assert (shared.low, shared.high) == pytest.approx((alone.low, alone.high), abs=1e-12)


@pytest.mark.usefixtures("plainly")
def test_action_monitor_of_budgeted_session() -> None:
    session = Session(EmpiricalLP(), 2, 400, budget=Budget(1e6, worst=1.0, null="add"), seed=0)
    watch = ActionMonitor(session)
    for _ in range(200):
        session.observe(session.act(), loss=[0.1, 0.9], cost=[0.0, 0.0])
    assert watch.certificate().best == 0
    assert watch.certificate().certified(within=0.2)


@dataclass(frozen=True, eq=False)
class BlockOrder(OrderModel):
    """Blocks of four rows, shuffled as wholes: a new order, in one class."""

    name: ClassVar[str] = "blocks"
    exchangeable: ClassVar[bool] = False

    def arrange(self, rows: int, rng: RngState) -> Order:
        blocks = RandomOrder().arrange(-(-rows // 4), rng)
        order = (blocks[:, None] * 4 + np.arange(4)).ravel()
        return order[order < rows].astype(np.uint32)


def test_certify_trace_rejects_unknown_order_models() -> None:
    pool = Pool([[0.0, 1.0]] * 10)
    trace = play(FollowTheLeader(), pool, order=BlockOrder(), seed=0)
    assert sorted(trace.order.tolist()) == list(range(10))
    assert compare(pool, [FollowTheLeader()], BlockOrder(), repetitions=2, seed=0).orders == [
        "blocks"
    ]
    with pytest.raises(ParameterError, match="exchangeable"):
        certify_trace(trace, pool)


def worst_share(lists: Any, wrong: Any) -> float:
    """Return the largest share of the orders of a list that are wrong; `lists` says which list a sequence is of."""
    _, which = np.unique(np.sort(lists, axis=1), axis=0, return_inverse=True)
    return float((np.bincount(which.ravel(), wrong) / np.bincount(which.ravel())).max())


def enumerated_too_near(rows: int, level: float, *, shrink: float = 1.0) -> float:
    """Return how often, in the worst list of differences -1, 0, 1, an action is ever said to be nearer than it is."""
    differences = sequences((-1.0, 0.0, 1.0), rows)
    _, highs = enumerated_ends((1 + differences) / 2, 2 * level)
    seen = np.cumsum(np.column_stack([np.zeros(len(differences)), differences]), axis=1)
    means = seen / np.maximum(np.arange(rows + 1), 1)
    said = means + shrink * (2 * highs - 1 - means)
    truth = differences.mean(axis=1, keepdims=True)
    return worst_share(
        differences, (np.maximum(said, 0) < np.maximum(truth, 0) - 1e-9)[:, 1:].any(axis=1)
    )


@pytest.mark.parametrize("level", [0.05, 0.4])
def test_paired_exact_coverage(level: float) -> None:
    """All lists of at most eight differences -1, 0, 1."""
    assert max(enumerated_too_near(rows, level) for rows in range(1, 9)) <= level


@pytest.mark.full
@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("rows", [9, 10, 11, 12])
def test_paired_exact_coverage_up_to_12_rows(rows: int, level: float) -> None:
    assert enumerated_too_near(rows, level) <= level


def test_distance_equals_upper_bounds() -> None:
    """The distance is the upper end of the differences, each with its share of the level, at every look."""
    rng = np.random.default_rng(0)
    for k in (2, 3):
        for _ in range(5):
            rows = rng.choice([0.0, 0.5, 1.0], (9, k))
            pairs = PairedDifferences(9, 0.3, k)
            alone = [Betting(population=9, level=0.6 / (k - 1)) for _ in range(k - 1)]
            for row in rows:
                pairs.extend(row)
                for b in range(1, k):
                    alone[b - 1].update(float((1 + row[0] - row[b]) / 2))
                assert pairs.distance(0) == max(
                    0.0, *(2 * one.interval().high - 1 for one in alone)
                )


class ChosenAfter(PairedDifferences):
    """Compares with the action that came out worst in the row itself."""

    def extend(self, rows: Any) -> None:
        table = np.asarray(rows, np.float64).reshape(-1, self.actions)
        super().extend(
            np.column_stack([table[:, 0], *[table[:, 1:].max(axis=1)] * (self.actions - 1)])
        )


class SkipsBad(PairedDifferences):
    """Leaves out rows in which the first action does badly."""

    def extend(self, rows: Any) -> None:
        if np.asarray(rows)[0] == 0.0:  # and nothing tells that a row is missing
            super().extend(rows)


def said_too_near(
    kind: type[PairedDifferences], table: Values, level: float, population: int = 0
) -> float:
    """Return in which share of all orders of a table any action is ever said to be nearer to the best than it is."""
    orders = list(_orders(tuple(map(tuple, table.tolist()))))
    means, wrong = table.mean(axis=0), 0
    for order in orders:
        pairs, failed = kind(population or len(table), level, table.shape[1]), False
        for row in order[: population or None]:
            pairs.extend(np.array(row))
            failed |= any(
                pairs.distance(a) < means[a] - means.min() - 1e-9 for a in range(table.shape[1])
            )
        wrong += failed
    return wrong / len(orders)


def _orders(rows: tuple[Any, ...]) -> Any:
    """Yield every order of the rows once; orders of equal rows are equally likely, so each has the same weight."""
    if not rows:
        yield ()
    for row in dict.fromkeys(rows):
        rest = list(rows)
        rest.remove(row)
        yield from ((row, *order) for order in _orders(tuple(rest)))


BAD = np.array(
    [[1.0, 0, 1], [1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
)  # the first is the worst, by 1/3

EVEN = np.array(
    [[0.0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 1, 1]]
)  # two are worse than the first


@pytest.mark.parametrize("table", [BAD, EVEN])
def test_paired_exact_coverage_of_three_actions(table: Values) -> None:
    assert said_too_near(PairedDifferences, table, 0.3) <= 0.3


def test_paired_faults_are_detected() -> None:
    level = 0.3
    assert said_too_near(ChosenAfter, BAD, level) > level
    assert said_too_near(SkipsBad, np.array([[0.0, 0.0]] * 9 + [[1.0, 0.0]] * 2), level) > level
    assert (
        said_too_near(
            PairedDifferences, np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0]] * 3), level, population=3
        )
        > level
    )
    assert enumerated_too_near(8, 0.4, shrink=0.5) > 0.4
