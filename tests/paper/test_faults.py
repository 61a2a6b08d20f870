"""Fault injection at small sizes: every claim has its expected outcome, and another one with any of its faults."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tombola.paper.base import Claim
from tombola.paper.claims.birthday import Birthday
from tombola.paper.claims.constraints import _COROLLARY, POOLS
from tombola.paper.extensions.delay import LEARNERS
from tombola.paper.extensions.empirical_lp import _PLAY_MODES
from tombola.paper.registry import CLAIMS, EXTENSIONS
from tombola.paper.reproduce import reproduce
from tombola.paper.runner import FaultResult, _unit_seed
from tombola.paper.source_faults import injected
from tombola.report.figures import draw_chart, save

SMALL_UNITS: dict[str, list[dict[str, Any]]] = {
    "birthday": [
        *({"T": T, "plays": 400} for T in (4, 16, 256)),
        *({"T": 64, "plays": 400, "law": law} for law in ("half on one", "rising")),
    ],
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
    "constraints": [
        # As many plays as in `reproduce`: EmpiricalLP, for the fault "margin dropped", is stopped in most of them only.
        {"T": 2**16, "pool": "flipping", "plays": 8},
        *({"m": m, "d": d} for m, d in ((1, 0), (1, 7), (2, 7))),
        *({"rate": rate, "T": T, "plays": 3} for rate, T in _COROLLARY),
    ],
    "impossibility": [{"T": 8, "plays": 0}, *({"T": T, "plays": 10} for T in (256, 1024, 4096))],
    "switching": [
        *({"T": T, "gap": gap, "plays": 60} for T in (2**10, 2**11, 2**12) for gap in (0.5, 8.0, 16.0)),
        *({"T": 1024, "learner": name, "plays": 12} for name in ("faithful", "Serfling elimination")),
        {"T": 3 * 2**18, "learner": "faithful", "plays": 0},
    ],
    "random-walk": [{"T": 2**i, "walks": 60} for i in (8, 9, 10, 11)],
    "uniform-convergence": [{"n": 7, "T": 14, "plays": 1000}, *({"n": n, "T": 256, "plays": 100} for n in (16, 128))],
    "classification": [*({"T": T, "plays": 40} for T in (256, 1024)), {"T": 100, "plays": 0}],
    "hierarchy": [{"learner": "follow the leader", "T": T, "plays": 400} for T in (3, 5)],
    "de-finetti": [{"k": k, "n": share * k} for k in (2, 100) for share in (10, 100, 1000)],
    "concentration": [{"N": N} for N in (1, 2, 7, 30)],
    "errata": [{"number": number} for number in (1, 2, 4, 41)],
    "frugal-ucb": [
        *({"pool": pool, "T": 2**12, "k": 2, "plays": 20} for pool in ("clear", "constant")),
        *({"pool": "twin", "T": 512, "k": k, "plays": 6} for k in (2, 5)),
    ],
    "thrifty": [
        *({"pool": "quiet", "T": T, "k": k, "price": p, "plays": 2} for T, k, p in ((6000, 2, 1.0), (3000, 3, 10.0))),
        # Long enough that its regret without a shuffle exceeds the bound.
        *({"pool": pool, "T": T, "k": 2, "price": 1.0, "plays": 2} for pool, T in (("clear", 2**16), ("tie", 2**10))),
    ],
    "ranks": [
        {"case": case, "k": k, "N": rows, "level": level}
        for case, k, rows, level in (
            ("0/1", 3, 5, 0.5),
            ("clusters", 2, 4, 0.2),
            ("sample", 3, 6, 0.5),
            ("running sample", 2, 10, 0.2),
        )
    ],
    "late-elimination": [{"k": 2, "d": 1024, "plays": 5}, {"k": 2, "d": 100, "T": 1024}],
    "bandit-repair": [{"T": 512, "plays": 15}, {"T": 48, "plays": 0}],
    "deviations": [{"N": N} for N in (6, 12)],
    "empirical-lp": [
        {"T": 512, "plays": 3},
        *({"T": 2**14, "pool": pool, "way": mode, "plays": 12} for pool in POOLS for mode in _PLAY_MODES),
    ],
    "minimax": [{"T": 20, "learner": "any"}, *({"T": 10, "learner": name} for name in LEARNERS)],
}
KINDS = {kind.name: kind for kind in CLAIMS}
# Long, mostly compilation: left to full runs, and to `tombola reproduce --inject-faults`. The claims on races and ranks
# have shorter tests in the folder extensions.
SLOW = (
    "constraints", "classification", "impossibility", "switching", "random-walk", "bandit-repair",
    "ranks", "known", "race-best", "race-within", "race-top", "race-gate", "empirical-lp", "repair",
)  # fmt: skip
# Their units are so small that compiling takes longer.
SHORT = ("minimax", "delay-lemma", "hierarchy")
SLOW_SOURCE_FAULTS = (*SLOW, "frugal-ucb", "late-elimination")
CLAIM_CASES = [pytest.param(name, marks=[pytest.mark.full] if name in SLOW else []) for name in KINDS]
FAULT_CASES = [
    pytest.param(name, fault, marks=[pytest.mark.full] if name in SLOW else [], id=f"{name} - {fault}")
    for name in KINDS
    for fault in KINDS[name]().faults()
]
SOURCE_FAULT_CASES = [
    pytest.param(name, fault, marks=[pytest.mark.full] if name in SLOW_SOURCE_FAULTS else [], id=f"{name} - {fault}")
    for name in KINDS
    for fault in KINDS[name]().source_faults()
]


@pytest.fixture(autouse=True)
def _mode_of_claim(request: pytest.FixtureRequest) -> None:
    """Interpret the kernels of small claims."""
    if getattr(request.node, "callspec", None) and request.node.callspec.params["name"] in SHORT:
        request.getfixturevalue("short_work")


def rows_of(claim: Claim) -> list[Any]:
    """Run a claim, with or without a fault, on its small units; all seeds are fixed."""
    units = SMALL_UNITS.get(claim.name) or claim.units(full=False)
    return [row for unit in units for row in claim.run(unit, seed=_unit_seed(claim.name, unit, 1))]


@cache
def rows_without_fault(name: str) -> list[Any]:
    return rows_of(KINDS[name]())


def test_claims_describe_themselves() -> None:
    assert len(KINDS) == len(CLAIMS)
    for kind in CLAIMS:
        assert kind.statement.endswith(".")
        assert kind.limits
        assert kind.source.startswith("our ") if kind in EXTENSIONS else "L" in kind.source
        assert (kind.section == "Beyond the paper") == (kind in EXTENSIONS)
        for full in (False, True):
            units = kind().units(full=full)
            assert json.loads(json.dumps(units)) == units
    assert sum(kind.alpha for kind in CLAIMS) < 0.01


def test_claims_have_faults() -> None:
    """At least three each, one of them "no shuffle" if the claim is about random order."""
    for name, kind in KINDS.items():
        faults = list(kind().faults())
        assert len(faults) >= 3
        if kind not in EXTENSIONS and name not in ("birthday", "delay-lemma", "errata"):
            assert any(fault.startswith("no shuffle") for fault in faults), name


@pytest.mark.parametrize("name", CLAIM_CASES)
def test_verdict_is_as_expected(name: str, tmp_path: Path) -> None:
    """Verdict and chart depend on rows of JSON values only, not on their order."""
    claim, rows = KINDS[name](), rows_without_fault(name)
    again = json.loads(json.dumps(rows))
    assert again == rows
    verdict = claim.verdict(rows)
    assert verdict.outcome == claim.expected, verdict
    assert claim.verdict(list(reversed(again))).outcome == verdict.outcome
    chart = claim.chart(again)
    assert chart.alt
    if name not in SMALL_UNITS:
        assert save(draw_chart(chart), tmp_path / "claim.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "fault"), FAULT_CASES)
def test_fault_changes_the_verdict(name: str, fault: str) -> None:
    claim = KINDS[name]()
    faulty = claim.with_fault(fault)
    rows = rows_without_fault(name) if faulty.same_runs(claim) else rows_of(faulty)
    assert faulty.verdict(rows).outcome != claim.expected


@pytest.mark.parametrize(("name", "fault"), SOURCE_FAULT_CASES)
def test_source_fault_changes_the_verdict(name: str, fault: str) -> None:
    claim = KINDS[name]()
    with injected(claim.source_faults()[fault]):
        assert claim.verdict(rows_of(claim)).outcome != claim.expected


class Small(Birthday):
    """The birthday claim with two units and two faults."""

    def units(self, *, full: bool) -> Any:
        return [{"T": T, "plays": 100} for T in (4, 16)]

    def faults(self) -> Any:
        return {name: Birthday.faults(self)[name] for name in ("no test", "the bound 1.25 √T")}


class AlwaysHolds(Small):
    """A claim whose verdict never changes."""

    def verdict(self, rows: Any) -> Any:
        return Birthday.verdict(Birthday(), rows_without_fault("birthday"))


def test_fault_results_do_not_depend_on_workers(tmp_path: Path) -> None:
    tables = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        (result,) = reproduce([Small()], out, full=False, seed=5, workers=workers, inject_faults=True)
        assert result.as_expected
        assert result.all_caught
        assert [fault.fault for fault in result.faults] == list(Small().faults())
        tables.append((out / "faults.json").read_text(encoding="utf-8"))
    assert tables[0] == tables[1]
    assert {entry["caught"] for entry in json.loads(tables[0])} == {True}
    page = (tmp_path / "1" / "index.html").read_text(encoding="utf-8")
    assert page.count('tag good">caught<') == len(json.loads(tables[0]))


def test_fault_that_is_not_caught_is_reported(tmp_path: Path) -> None:
    (result,) = reproduce([AlwaysHolds()], tmp_path, full=False, seed=5, workers=1, inject_faults=True)
    assert result.as_expected
    assert not result.all_caught
    assert ">not caught<" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not FaultResult("c", "s", "holds", "holds", "").caught
