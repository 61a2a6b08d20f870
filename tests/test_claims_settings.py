"""Budgets, switching and classification as claims: they hold in small, and what is broken makes them fail."""

from typing import Any

import numpy as np
import pytest

from tombola import bounds
from tombola.claims import CLAIMS
from tombola.claims.base import Claim, Rows
from tombola.claims.classification import Classification, UniformConvergence
from tombola.claims.constraints import Constraints, Impossibility
from tombola.claims.separation import Repair
from tombola.claims.switching import RandomWalk, Switching
from tombola.labels import ERM, Thresholds
from tombola.learners.bandit import UCB1
from tombola.learners.full import FixedAction
from tombola.learners.switching import SimulationSuccessiveElimination

SMALL: dict[type[Claim], list[dict[str, Any]]] = {
    Classification: [{"T": T, "plays": 15} for T in (64, 256, 1024)] + [{"T": 100, "plays": 0}],
    UniformConvergence: [{"n": n, "T": 256, "plays": 200, "delta": 0.05} for n in (16, 64, 128)],
    Switching: [{"T": T, "plays": 8} for T in (2**12, 2**14, 2**16)],
    RandomWalk: [{"T": 2**i, "walks": 16} for i in range(8, 14)],
    Constraints: [{"T": T, "plays": 3} for T in (2**10, 2**12, 2**14)],
    Impossibility: [{"T": T, "plays": 6} for T in (256, 1024, 4096, 16384)],
    Repair: [{"T": 2**i, "plays": 25} for i in range(9, 14)],
}


def measured(claim: Claim) -> Rows:
    return [row for i, u in enumerate(SMALL[type(claim)]) for row in claim.run(u, seed=np.random.SeedSequence((7, i)))]


@pytest.mark.parametrize("kind", list(SMALL), ids=lambda kind: kind.name)
def test_in_small_every_claim_comes_out_as_expected_and_can_be_drawn(kind: type[Claim]) -> None:
    claim = kind()
    rows = measured(claim)
    assert claim.verdict(rows).outcome == claim.expected
    chart = claim.chart(rows)
    assert chart.alt
    assert all(band.x.size == band.middle.size for band in chart.bands)


def test_a_learner_that_does_not_learn_labels_is_refuted() -> None:
    stubborn = Classification()
    rows = [{**row, "regret": row["T"] / 2} if row["kind"] == "coins" else row for row in measured(stubborn)]
    assert stubborn.verdict(rows).outcome == "refuted"
    lucky = [{**row, "regret": 0.0} if row["kind"] == "bad order" else row for row in measured(stubborn)]
    assert stubborn.verdict(lucky).outcome == "refuted"


def test_classification_plays_the_learner_it_is_given() -> None:
    first, last = (Classification(learner=ERM(Thresholds(), ties=ties)) for ties in ("first", "last"))
    assert measured(first) != measured(last)


def test_a_radius_that_is_too_small_is_refuted() -> None:
    narrow = UniformConvergence(factor=0.3)
    assert narrow.verdict(measured(narrow)).outcome == "refuted"


def test_a_learner_that_switches_too_often_is_refuted() -> None:
    learners = dict(Switching().learners) | {"faithful": UCB1()}
    restless = Switching(learners=learners)
    assert restless.verdict(measured(restless)).outcome == "refuted"


def test_a_tight_elimination_that_never_eliminates_is_not_taken_for_one() -> None:
    lazy = Switching(learners=dict(Switching().learners) | {"Serfling elimination": SimulationSuccessiveElimination()})
    assert lazy.verdict(measured(lazy)).outcome != lazy.expected


def test_a_wrong_bound_on_switches_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Switching()
    rows = measured(claim)
    monkeypatch.setattr(bounds, "simulation_elimination_switches", lambda horizon, actions: 3)
    assert claim.verdict(rows).outcome == "refuted"


def test_on_the_walk_a_learner_without_feedback_shows_no_gap() -> None:
    class Still(FixedAction):
        feedback = "bandit"

        @staticmethod
        def observe(state: Any, action: int, chance: float, loss: float) -> None:  # type: ignore[override]
            """Learn nothing."""

    still = RandomWalk(learner=Still(0))
    assert still.verdict(measured(still)).outcome != still.expected


def test_an_overdraft_is_refuted() -> None:
    generous = Constraints(overdraft=1.5)
    assert generous.verdict(measured(generous)).outcome == "refuted"


def test_a_wrong_bound_on_budgets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Constraints()
    rows = measured(claim)
    monkeypatch.setattr(bounds, "budget_simulation", lambda *_: 10.0)
    assert claim.verdict(rows).outcome == "refuted"


def test_a_learner_that_beats_the_adversary_is_not_believed() -> None:
    claim = Impossibility()
    rows = [{**row, "regret": row["regret"] / 100} if row["order"] == "given" else row for row in measured(claim)]
    assert claim.verdict(rows).outcome == "refuted"
    linear = [{**row, "regret": row["T"] / 10} for row in rows]
    assert claim.verdict(linear).outcome != claim.expected


def test_a_repair_that_repairs_nothing_is_refuted() -> None:
    claim = Repair()
    rows = [{**row, "regret": row["T"] / 2} for row in measured(claim)]
    assert claim.verdict(rows).outcome == "refuted"


def test_every_claim_says_what_a_reader_needs() -> None:
    assert len({kind.name for kind in CLAIMS}) == len(CLAIMS)
    for kind in CLAIMS:
        for words in (kind.name, kind.title, kind.source, kind.statement, kind.meaning):
            assert words.strip() == words != ""
        quick, full = kind().units(full=False), kind().units(full=True)
        assert 0 < len(quick) <= len(full)
