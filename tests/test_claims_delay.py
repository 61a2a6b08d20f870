"""The claims on delayed feedback: they hold on small settings, and come out otherwise when something is broken."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tombola import FollowTheLeader, Hedge, Simulation, bounds, instances
from tombola.claims import delay
from tombola.claims.delay import DelayCorollary, DelayLemma, DelayTheorem
from tombola.full import Uniform
from tombola.reductions import Lemma, Paper
from tombola.report.figures import draw, save

Rows = list[Any]


def lemma_rows() -> Rows:
    units = [
        {"schedule": name, "T": T, "d": d} for name in ("lemma", "paper") for T in (1, 2, 37, 64) for d in (0, 3, 70)
    ]
    return [row for unit in units for row in DelayLemma().run(unit, seed=1)]


def bound_rows() -> Rows:
    return [row for d in (0, 10) for row in DelayTheorem().run({"pool": "gap", "T": 2**13, "d": d, "plays": 8}, seed=1)]


def trap_rows() -> Rows:
    units = [{"pool": "trap", "order": "random", "T": 2**16, "d": d, "plays": 12} for d in (3, 7)]
    units += [{"pool": "trap", "order": "given", "T": 2**16, "d": d, "plays": 30} for d in (3, 7)]
    return [row for unit in units for row in DelayTheorem().run(unit, seed=1)]


right_traps = cache(trap_rows)


def theorem_rows() -> Rows:
    return bound_rows() + right_traps()


def corollary_rows() -> Rows:
    units = [{"pool": "split", "T": 2**12, "d": d, "plays": 5} for d in (1, 10, 100)]
    units += [{"pool": "hard", "T": 2**i, "d": 4, "plays": 16} for i in (7, 9, 11, 13)]
    return [row for unit in units for row in DelayCorollary().run(unit, seed=4)]


CLAIMS = {DelayLemma: lemma_rows, DelayTheorem: theorem_rows, DelayCorollary: corollary_rows}


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_claim_comes_out_as_expected_from_its_rows_alone(kind: Any, tmp_path: Path) -> None:
    rows = CLAIMS[kind]()
    again = json.loads(json.dumps(rows))
    assert again == rows, "rows are plain values"
    verdict = kind().verdict(rows)
    assert verdict.outcome == kind.expected, verdict
    assert kind().verdict(list(reversed(again))) == verdict
    assert save(draw(kind().chart(again)), tmp_path / "claim.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "broken",
    [
        lambda d: Simulation(FollowTheLeader(), Lemma(delay=d), past="all"),
        lambda d: Simulation(FollowTheLeader(), Lemma(delay=d + 1)),
        lambda d: Simulation(FollowTheLeader(), Paper(delay=d)),
        lambda _: Simulation(FollowTheLeader()),
    ],
    ids=["keeps the rows between blocks", "waits too long", "is on the other schedule", "does not wait"],
)
def test_the_lemma_is_refuted_by_a_simulation_that_trains_on_something_else(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(delay.SCHEDULES, "lemma", broken)
    assert DelayLemma().verdict(lemma_rows()).outcome == "refuted"


def test_the_lemma_as_printed_fails_in_every_block_of_the_first_row() -> None:
    """Block 0 has nothing before it: the printed sum is 0, and the training mean is the loss of round 1."""
    (row,) = (row for row in DelayLemma().run({"schedule": "lemma", "T": 2, "d": 0}, seed=1))
    assert row["corrected"] == 0.0 < row["printed"] <= 1.0
    assert (row["block"], row["known"]) == (0, 1)


@pytest.mark.parametrize("schedule", ["lemma", "paper"])
@pytest.mark.parametrize("d", [0, 1, 7, 99])
def test_blocks_are_those_of_the_schedule(schedule: str, d: int) -> None:
    kind = Lemma if schedule == "lemma" else Paper
    for T in (1, 2, 3, 64, 100):
        starts = kind(delay=d).blocks(T).starts.tolist()
        assert [block.start for _, block in delay.blocks_of(schedule, T, d)] == starts


def test_the_theorem_is_refuted_by_a_learner_that_does_not_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(delay.LEARNERS, "Simulation", lambda _: Uniform())
    assert DelayTheorem().verdict(theorem_rows()).outcome == "refuted"


def test_the_theorem_is_refuted_by_a_delay_that_costs_more_when_shuffled() -> None:
    """Bad actions for d log T rounds and more, although far below the bound."""
    rows = [{**row, "regret": row["regret"] + 60 * row["d"] * (row["order"] == "random")} for row in theorem_rows()]
    assert delay.worst([row for row in rows if row["order"] == "random"], "corrected") < 1
    assert DelayTheorem().verdict(rows).outcome == "refuted"


def test_the_theorem_is_refuted_where_given_order_is_no_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "delay_trap", lambda T, _, seed: instances.gap(T, 2, 0.4, seed=seed))
    monkeypatch.setitem(delay.LEARNERS, "Hedge", lambda _: Hedge())
    assert DelayTheorem().verdict(bound_rows() + trap_rows()).outcome == "refuted"


def test_the_theorem_holds_only_as_corrected_with_a_smaller_printed_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "simulation_printed", lambda *_: 1.0)
    assert DelayTheorem().verdict(theorem_rows()).outcome == "holds as corrected"
    monkeypatch.setattr(bounds, "simulation", lambda *_: 1.0)
    assert DelayTheorem().verdict(theorem_rows()).outcome == "refuted"


@pytest.mark.parametrize("name", ["Simulation, not waiting", "follow the leader"])
def test_the_corollary_is_refuted_by_a_learner_that_does_not_learn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(delay.LEARNERS, name, lambda _: Uniform())
    monkeypatch.setitem(delay.POOLS, "hard", lambda T: instances.split(T, 0.75))
    assert DelayCorollary().verdict(corollary_rows()).outcome == "refuted"


def test_the_corollary_is_refuted_by_a_smaller_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "follow_the_leader", lambda *_: 2.0)
    assert DelayCorollary().verdict(corollary_rows()).outcome == "refuted"


def test_worst_is_the_largest_upper_limit_over_its_bound() -> None:
    about = {"learner": "l", "T": 8, "d": 0, "corrected": 4.0}
    rows = [{**about, "pool": pool, "regret": regret} for pool, regret in (("p", 1.0), ("q", 3.0)) for _ in range(3)]
    assert delay.worst(rows, "corrected") == 0.75
