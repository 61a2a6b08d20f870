"""Fault injection at small sizes: every claim has its expected outcome, and another one with any of its faults."""

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tombola.paper.base import Claim, grid
from tombola.paper.claims.birthday import Birthday
from tombola.paper.claims.constraints import _COROLLARY, POOLS
from tombola.paper.extensions.delay import LEARNERS
from tombola.paper.extensions.empirical_lp import _PLAY_MODES
from tombola.paper.registry import CLAIMS, EXTENSIONS
from tombola.paper.reproduce import reproduce
from tombola.paper.runner import FaultResult, _unit_seed
from tombola.paper.source_faults import injected
from tombola.report.figures import draw_chart, save

SMALL_UNITS: dict[str, list[Any]] = {
    "birthday": grid(T=(4, 16, 256), plays=400)
    + grid(T=64, plays=400, law=("half on one", "rising")),
    "separation": grid(T=(256, 1024), plays=80),
    "repair": grid(T=(256, 1024), plays=100),
    "delay-lemma": grid(schedule=("lemma", "paper"), T=(2, 64), d=(0, 3)),
    "delay-theorem": grid(pool="gap", T=2**13, d=0, plays=4)
    + grid(pool="trap", order=("random", "given"), T=2**10, d=3, plays=80),
    "delay-corollary": grid(pool="split", T=2**12, d=(1, 10), plays=20)
    + grid(pool="hard", T=(2**7, 2**9, 2**11), d=4, plays=16),
    # As many plays as in `reproduce`: EmpiricalLP, for the fault "margin dropped", is stopped in
    # most of them only.
    "constraints": grid(T=2**16, pool="flipping", plays=8)
    + [{"m": m, "d": d} for m, d in ((1, 0), (1, 7), (2, 7))]
    + [{"rate": rate, "T": T, "plays": 3} for rate, T in _COROLLARY],
    "impossibility": grid(T=8, plays=0) + grid(T=(256, 1024, 4096), plays=10),
    "switching": grid(T=(2**10, 2**11, 2**12), gap=(0.5, 8.0, 16.0), plays=60)
    + grid(T=1024, learner=("faithful", "Serfling elimination"), plays=12)
    + grid(T=3 * 2**18, learner="faithful", plays=0),
    "random-walk": grid(T=(2**8, 2**9, 2**10, 2**11), walks=60),
    "uniform-convergence": grid(n=7, T=14, plays=1000) + grid(n=(16, 128), T=256, plays=100),
    "classification": grid(T=(256, 1024), plays=40) + grid(T=100, plays=0),
    "hierarchy": grid(learner="follow the leader", T=(3, 5), plays=400),
    "de-finetti": [{"k": k, "n": share * k} for k in (2, 100) for share in (10, 100, 1000)],
    "concentration": grid(N=(1, 2, 7, 30)),
    "errata": grid(number=(1, 2, 4, 41)),
    "frugal-ucb": grid(pool=("clear", "constant"), T=2**12, k=2, plays=20)
    + grid(pool="twin", T=512, k=(2, 5), plays=6),
    "thrifty": grid(pool="quiet", T=6000, k=2, price=1.0, plays=2)
    + grid(pool="quiet", T=3000, k=3, price=10.0, plays=2)
    # Long enough that its regret without a shuffle exceeds the bound.
    + grid(pool="clear", T=2**16, k=2, price=1.0, plays=2)
    + grid(pool="tie", T=2**10, k=2, price=1.0, plays=2),
    "ranks": grid(case="0/1", k=3, N=5, level=0.5)
    + grid(case="clusters", k=2, N=4, level=0.2)
    + grid(case="sample", k=3, N=6, level=0.5)
    + grid(case="running sample", k=2, N=10, level=0.2),
    "late-elimination": grid(k=2, d=1024, plays=5) + grid(k=2, d=100, T=1024),
    "bandit-repair": grid(T=512, plays=15) + grid(T=48, plays=0),
    "deviations": grid(N=(6, 12)),
    "empirical-lp": grid(T=512, plays=3) + grid(T=2**14, pool=POOLS, way=_PLAY_MODES, plays=12),
    "random-answers": grid(case="fresh rows, predictions", rows=2)
    + grid(case="recorded answers", rows=2),
    "once-each": grid(case=("stopping times", "rule", "at 1/level"), rows=2),
    "minimax": grid(T=20, learner="any") + grid(T=10, learner=LEARNERS),
}
KINDS = {kind.name: kind for kind in CLAIMS}
# Long, mostly compilation: left to full runs, and to `tombola reproduce --inject-faults`.
SLOW = (
    "constraints",
    "classification",
    "impossibility",
    "switching",
    "random-walk",
    "bandit-repair",
    "ranks",
    "known",
    "empirical-lp",
    "repair",
)
# Their units are so small that compiling takes longer.
MODES = dict.fromkeys(("minimax", "delay-lemma", "hierarchy"), "short_work")
MODES |= dict.fromkeys(("race-best", "race-within", "race-top", "race-gate"), "plainly")
MODES |= dict.fromkeys(("random-answers", "passes", "once-each"), "plainly")
SLOW_SOURCE_FAULTS = (*SLOW, "frugal-ucb", "late-elimination")


def cases(slow: tuple[str, ...], list_faults: Callable[[Claim], Iterable[str]]) -> list[Any]:
    """Return pairs of a claim and a fault, slow ones marked `full`."""
    pairs = [(name, fault) for name, kind in KINDS.items() for fault in list_faults(kind())]
    marks = {name: [pytest.mark.full] if name in slow else [] for name in KINDS}
    return [
        pytest.param(name, fault, marks=marks[name], id=f"{name} - {fault}")
        for name, fault in pairs
    ]


@pytest.fixture(autouse=True)
def _mode_of_claim(request: pytest.FixtureRequest) -> None:
    """Interpret the kernels of small claims."""
    callspec = getattr(request.node, "callspec", None)
    if callspec and callspec.params["name"] in MODES:
        request.getfixturevalue(MODES[callspec.params["name"]])


def rows_of(claim: Claim) -> list[Any]:
    """Run a claim, with or without a fault, on its small units; all seeds are fixed."""
    units = SMALL_UNITS.get(claim.name) or claim.units(full=False)
    return [row for unit in units for row in claim.run(unit, seed=_unit_seed(claim.name, unit, 1))]


@cache
def rows_without_fault(name: str) -> list[Any]:
    return rows_of(KINDS[name]())


def test_claims_describe_themselves() -> None:
    """They have at least three faults, one of them "no shuffle" if a claim of the paper is about random order."""
    assert len(KINDS) == len(CLAIMS)
    for name, kind in KINDS.items():
        assert kind.statement.endswith(".")
        assert kind.limits
        assert kind.source.startswith("our ") if kind in EXTENSIONS else "L" in kind.source
        assert (kind.section == "Beyond the paper") == (kind in EXTENSIONS)
        for full in (False, True):
            units = kind().units(full=full)
            assert json.loads(json.dumps(units)) == units
        faults = list(kind().faults())
        assert len(faults) + len(kind().source_faults()) >= 3
        if kind not in EXTENSIONS and name not in ("birthday", "delay-lemma", "errata"):
            assert any(fault.startswith("no shuffle") for fault in faults), name
    assert sum(kind.alpha for kind in CLAIMS) < 0.01


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name in SLOW)) for name in KINDS]
)
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


@pytest.mark.parametrize(("name", "fault"), cases(SLOW, lambda claim: claim.faults()))
def test_fault_changes_the_verdict(name: str, fault: str) -> None:
    claim = KINDS[name]()
    faulty = claim.with_fault(fault)
    rows = rows_without_fault(name) if faulty.same_runs(claim) else rows_of(faulty)
    assert faulty.verdict(rows).outcome != claim.expected


@pytest.mark.parametrize(
    ("name", "fault"), cases(SLOW_SOURCE_FAULTS, lambda claim: claim.source_faults())
)
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
        (result,) = reproduce(
            [Small()], out, full=False, seed=5, workers=workers, inject_faults=True
        )
        assert result.as_expected
        assert result.all_caught
        assert [fault.fault for fault in result.faults] == list(Small().faults())
        tables.append((out / "faults.json").read_text(encoding="utf-8"))
    assert tables[0] == tables[1]
    assert {entry["caught"] for entry in json.loads(tables[0])} == {True}
    page = (tmp_path / "1" / "index.html").read_text(encoding="utf-8")
    assert page.count('tag good">caught<') == len(json.loads(tables[0]))


def test_fault_that_is_not_caught_is_reported(tmp_path: Path) -> None:
    (result,) = reproduce(
        [AlwaysHolds()], tmp_path, full=False, seed=5, workers=1, inject_faults=True
    )
    assert result.as_expected
    assert not result.all_caught
    assert ">not caught<" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not FaultResult("c", "s", "holds", "holds", "").caught
