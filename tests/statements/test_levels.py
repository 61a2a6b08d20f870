"""Levels, compared with their theorems: a level that is wrong by a factor of two must be seen.

Simulations of error rates cannot see it: on most pools a race errs far below its level. So the
wealth that decides is compared with the sum over hypotheses that the theorem names.
"""

import math
from typing import Any

import numpy as np
import pytest

from tombola import rank
from tombola.evidence import Betting
from tombola.evidence.audit_statement import parse_statement
from tombola.evidence.sequences import StratifiedMean
from tombola.evidence.sequential_audit import Audit
from tombola.learners import Hedge
from tombola.policies import certificate
from tombola.policies.guard import Guard, stake_of
from tombola.racing import Race, RaceSettings
from tombola.racing.rules.best import Best
from tombola.racing.rules.gate import Gate
from tombola.racing.rules.ranks import EndlessRanks, Place, Ranks
from tombola.racing.rules.top import Top
from tombola.racing.rules.within import Within

pytestmark = pytest.mark.usefixtures("plainly")

LEVEL = 0.05


def test_best_spends_the_level_once() -> None:
    assert 1.0 / Best(9, 50, 50, LEVEL).state.threshold == pytest.approx(LEVEL)


def test_gate_shares_the_level_over_candidates() -> None:
    """Of the two hypotheses of a candidate one is true, so each has its whole share."""
    rule = Gate(6, 50, 50, LEVEL, baseline=0, margin=0.1)
    assert 5 / rule.state.threshold == pytest.approx(LEVEL)


@pytest.mark.parametrize("within", [0.001, 0.05, 0.2, 0.5])
def test_within_shares_the_level_of_drops_and_settlements(within: float) -> None:
    rule = Within(4, 100, 100, LEVEL, within=within)
    spent = 1.0 / rule.state.threshold + 1.0 / rule.state.settling_wealth
    assert spent == pytest.approx(LEVEL)
    # The deposits of one candidate are one unit of wealth in all.
    assert rule.state.deposit.sum(axis=0) - np.diag(rule.state.deposit) == pytest.approx(np.ones(4))


def test_top_with_few_sets_spends_the_level_once() -> None:
    assert 1.0 / Top(6, 50, 50, LEVEL, top=2).state.threshold == pytest.approx(LEVEL)


def test_top_with_many_sets_shares_the_level_of_pairs_and_sets() -> None:
    """C(20, 6) = 38,760 sets. Theorem 3: pairs err with probability top / pair_threshold."""
    rule = Top(20, 50, 50, LEVEL, top=6)
    spent = 1.0 / rule.state.threshold + rule.top / rule.state.pair_threshold
    assert spent == pytest.approx(LEVEL)


def test_ranks_share_the_level_over_pairs() -> None:
    for rule in (Ranks(5, 50, 50, LEVEL), EndlessRanks(5, math.inf, LEVEL)):
        assert 10 / rule.state.threshold == pytest.approx(LEVEL)


def test_place_shares_the_level_over_two_sides() -> None:
    assert 2.0 / Place(5, 50, 50, LEVEL, candidate=1).state.threshold == pytest.approx(LEVEL)


def test_groups_share_the_level_with_the_list() -> None:
    race = Race("ab", 6, level=LEVEL, seed=1, strata=["x", "y", "z"] * 2)
    parts = [race.whole.rule, *(result.rule for result in race.by_group.values())]
    assert sum(1.0 / rule.state.threshold for rule in parts) == pytest.approx(LEVEL)


def test_initial_wealth_is_one() -> None:
    """Strategies and accounts share it; with predictions too."""
    for question in ({}, {"top": 2}, {"baseline": "a", "better": True}, {"question": "ranks"}):
        rule = RaceSettings(("a", "b", "c"), level=LEVEL, **question).rule(20)
        assert rule.state.wealth.sum(axis=1) == pytest.approx(np.ones(len(rule.state.wealth)))
    best = Best(3, 20, 20, LEVEL)
    best.use_predictions()
    assert best.state.wealth.sum(axis=1) == pytest.approx(np.ones(3))


def test_metrics_and_pairs_share_the_level() -> None:
    table = [[0.0, 1.0, 0.5]] * 30
    both = rank({"x": table, "y": table}, kind="losses", level=LEVEL)
    for ranking in both.metrics.values():
        for reading in ranking.readings:
            assert reading.level == pytest.approx(LEVEL / 2)
            assert 3 / reading.goal == pytest.approx(LEVEL / 2)


def audit_levels(monkeypatch: pytest.MonkeyPatch, statements: list[str]) -> list[float]:
    """Return the levels of the e-processes of an audit, in pairs of proof and refutation."""
    from tombola.evidence import sequential_audit

    levels: list[float] = []
    plain = sequential_audit._e_process

    def spy(mean: float, population: float, level: float, **options: Any) -> Any:
        levels.append(level)
        return plain(mean, population, level, **options)

    monkeypatch.setattr(sequential_audit, "_e_process", spy)
    Audit([parse_statement(text) for text in statements], 100, LEVEL)
    return levels


def test_audit_shares_the_level_over_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = audit_levels(monkeypatch, ["mean(a) <= 0.1", "mean(b) <= 0.1"])
    assert levels == pytest.approx([LEVEL / 2] * 4)


def test_audit_shares_the_refutation_of_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """|difference| <= c is two inequalities: proved if both are, refuted if one is."""
    proof, refutation, *rest = audit_levels(monkeypatch, ["|mean(a) - mean(b)| <= 0.1"])
    assert (proof, refutation) == pytest.approx((LEVEL, LEVEL / 2))
    assert rest == pytest.approx([LEVEL, LEVEL / 2])


def test_strata_share_the_level() -> None:
    strata = StratifiedMean({"x": 10, "y": 20, "z": 5}, LEVEL)
    levels = [part.level for part in strata._sequences.values()]
    assert sum(levels) == pytest.approx(LEVEL)


def test_router_certificate_bets_up_to_the_first_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is waited for may be late because of its outcome: rows after it are not bet on."""
    seen: list[int] = []
    plain = Betting.extend

    def spy(self: Any, rows: Any) -> Any:
        seen.append(len(rows))
        return plain(self, rows)

    monkeypatch.setattr(Betting, "extend", spy)
    losses = np.random.default_rng(1).random((30, 2))
    losses[7] = np.nan
    certificate.certify_rows(losses, np.zeros(30, np.int64), population=40, block=1)
    assert seen == [7]


def test_blocks_of_a_router_share_the_level() -> None:
    """Block i has 6 level / (pi i)^2, half of it for each bound: in all at most the level."""
    shares = [0.05 * 3.0 / (math.pi * block) ** 2 for block in range(1, 2000)]
    assert 2.0 * sum(shares) <= 0.05


def test_guard_stakes_at_most_half_of_its_capital() -> None:
    state = Guard(risk=1.0).new_state()
    state[1] = 1e6  # a past of large gains
    assert stake_of(state, 0.0) <= 0.5 * state[0]


def test_hedge_rate_is_that_of_its_bound() -> None:
    for actions, horizon in ((2, 100), (10, 5000)):
        rate = Hedge().init(actions, horizon).rate
        assert rate == pytest.approx(math.sqrt(8.0 * math.log(actions) / horizon))
