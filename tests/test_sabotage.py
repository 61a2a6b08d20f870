"""FaultInjection in small: every claim comes out as expected, and otherwise when any of its faults is at work."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tombola.paper import CLAIMS, Claim
from tombola.paper.claims.birthday import Birthday
from tombola.paper.faults import FaultRun
from tombola.paper.reproduce import reproduce
from tombola.paper.unit_cache import seed_of

FAST: dict[str, list[dict[str, Any]]] = {
    "birthday": [{"T": T, "plays": 400} for T in (4, 16, 256)],
    "separation": [{"T": T, "plays": 80} for T in (256, 1024)],
    "repair": [{"T": T, "plays": 100} for T in (256, 1024)],
    "delay-lemma": [{"schedule": name, "T": T, "d": d} for name in ("lemma", "paper") for T in (2, 64) for d in (0, 3)],
    "delay-theorem": [
        {"pool": "gap", "T": 2**13, "d": 0, "plays": 4},
        *({"pool": "trap", "order": order, "T": 2**10, "d": 3, "plays": 80} for order in ("random", "given")),
    ],
    "delay-corollary": [
        *({"pool": "split", "T": 2**12, "d": d, "plays": 20} for d in (1, 10)),
        *({"pool": "hard", "T": 2**i, "d": 4, "plays": 16} for i in (7, 9, 11)),
    ],
    "constraints": [{"T": 2**16, "pool": "flipping", "plays": 5}],
    "impossibility": [{"T": 8, "plays": 0}, *({"T": T, "plays": 10} for T in (256, 1024, 4096))],
    "switching": [{"T": T, "gap": gap, "plays": 60} for T in (2**10, 2**11, 2**12) for gap in (0.5, 8.0, 16.0)],
    "random-walk": [{"T": 2**i, "walks": 60} for i in (8, 9, 10, 11)],
    "uniform-convergence": [{"n": 7, "T": 14, "plays": 1000}, *({"n": n, "T": 256, "plays": 100} for n in (16, 128))],
    "classification": [*({"T": T, "plays": 40} for T in (256, 1024)), {"T": 100, "plays": 0}],
    "hierarchy": [{"learner": "follow the leader", "T": T, "plays": 400} for T in (3, 5)],
    "de-finetti": [{"k": k, "n": share * k} for k in (2, 100) for share in (10, 100, 1000)],
    "concentration": [{"N": N} for N in (1, 2, 7, 30)],
    "errata": [{"number": number} for number in (1, 2, 4, 41)],
}
KINDS = {kind.name: kind for kind in CLAIMS if kind.section != "Beyond the paper"}  # those have tests of their own
PAIRS = [(name, fault) for name in FAST for fault in KINDS[name]().faults()]


def marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """Leave to a full run, and to `tombola reproduce --inject-faults`, what takes half a minute to compile."""
    return (pytest.mark.full,) if name in ("constraints", "classification") else ()


def rows_of(claim: Claim) -> list[Any]:
    """Run a claim, or a broken one, on the small units; all seeds are fixed."""
    return [row for unit in FAST[claim.name] for row in claim.run(unit, seed=seed_of(claim.name, unit, 1))]


@cache
def right_rows(name: str) -> list[Any]:
    return rows_of(KINDS[name]())


def test_every_claim_has_saboteurs_and_says_how_it_is_judged() -> None:
    assert set(FAST) == set(KINDS)
    for kind in CLAIMS:
        assert len(kind().faults()) >= 3
        assert kind.limits
    assert sum(kind.luck for kind in CLAIMS) < 0.01


RANDOM = set(KINDS) - {"birthday", "delay-lemma", "errata"}


def test_no_shuffle_is_a_saboteur_of_every_claim_about_random_order() -> None:
    for name in RANDOM:
        assert any(fault.startswith("no shuffle") for fault in KINDS[name]().faults()), name


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in FAST])
def test_in_small_a_claim_comes_out_as_expected_from_its_rows_alone(name: str) -> None:
    claim, rows = KINDS[name](), right_rows(name)
    again = json.loads(json.dumps(rows))
    assert again == rows, "rows are plain values"
    verdict = claim.verdict(rows)
    assert verdict.outcome == claim.expected, verdict
    assert claim.verdict(list(reversed(again))) == verdict
    assert claim.chart(again).alt


@pytest.mark.parametrize(
    ("name", "fault"), [pytest.param(*pair, marks=marks(pair[0]), id=" - ".join(pair)) for pair in PAIRS]
)
def test_in_small_every_saboteur_is_caught(name: str, fault: str) -> None:
    claim = KINDS[name]()
    broken = claim.fault_runs(fault)
    rows = right_rows(name) if broken.plays_as(claim) else rows_of(broken)
    assert broken.verdict(rows).outcome != claim.expected


class Small(Birthday):
    """The birthday claim with little to do, and two faults."""

    def units(self, *, full: bool) -> Any:
        return [{"T": T, "plays": 100} for T in (4, 16)]

    def faults(self) -> Any:
        kept = ("no test", "the bound 1.25 √T")
        return {name: parts for name, parts in Birthday.faults(self).items() if name in kept}


class Asleep(Small):
    """A claim that never fails."""

    def verdict(self, rows: Any) -> Any:
        return Birthday.verdict(Birthday(), right_rows("birthday"))


def test_the_table_of_saboteurs_is_written_and_does_not_depend_on_workers(tmp_path: Path) -> None:
    tables = []
    for workers in (1, 2):
        (done,) = reproduce([Small()], tmp_path / str(workers), full=False, seed=5, workers=workers, fault_runs=True)
        assert done.as_expected
        assert done.all_caught
        assert [one.fault for one in done.fault_runs] == list(Small().faults())
        tables.append((tmp_path / str(workers) / "inject_faults.json").read_text(encoding="utf-8"))
    assert tables[0] == tables[1]
    assert {entry["caught"] for entry in json.loads(tables[0])} == {True}
    page = (tmp_path / "1" / "index.html").read_text(encoding="utf-8")
    assert page.count('tag good">caught<') == len(json.loads(tables[0]))


def test_a_saboteur_that_is_not_caught_is_told(tmp_path: Path) -> None:
    (done,) = reproduce([Asleep()], tmp_path, full=False, seed=5, workers=1, fault_runs=True)
    assert done.as_expected
    assert not done.all_caught
    assert ">not caught<" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not FaultRun("c", "s", "holds", "holds", "").caught
