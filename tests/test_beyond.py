"""Beyond the paper: every claim comes out as expected, and each fault changes its verdict."""

import itertools
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.engine.compiler import interpreted
from tombola.exact import random_order
from tombola.learners import Hedge, Thrifty
from tombola.paper import Claim
from tombola.paper.claims.constraints import POOLS
from tombola.paper.extensions import BEYOND
from tombola.paper.extensions.coin_game import cover, game, hedge, leader, least
from tombola.paper.extensions.empirical_lp import WAYS
from tombola.paper.extensions.fixed_sample import drawn
from tombola.paper.extensions.minimax import LEARNERS
from tombola.paper.extensions.thrifty import astray
from tombola.paper.extensions.transfer import shuffled
from tombola.paper.extensions.traps import trap
from tombola.paper.unit_cache import seed_of
from tombola.pool import Pool
from tombola.report.figures import draw, save
from tombola.rng import new_rng

KINDS = {kind.name: kind for kind in BEYOND}
PAIRS = [(name, fault) for name in KINDS for fault in KINDS[name]().faults()]
SMALL: dict[str, list[dict[str, Any]]] = {
    "frugal-ucb": [{"pool": pool, "T": 2**12, "k": 2, "plays": 20} for pool in ("clear", "constant")],
    "late-elimination": [{"k": 2, "d": 1024, "plays": 5}],
    "bandit-repair": [{"T": 512, "plays": 15}],
    "deviations": [{"N": N} for N in (6, 12)],
    "empirical-lp": [{"T": 2**14, "pool": pool, "way": way, "plays": 12} for pool in POOLS for way in WAYS],
    "minimax": [{"T": 20, "learner": "any"}, *({"T": 10, "learner": name} for name in LEARNERS)],
}


def rows_of(claim: Claim, seed: int = 1) -> list[Any]:
    units = SMALL.get(claim.name, claim.units(full=False))
    return [row for unit in units for row in claim.run(unit, seed=seed_of(claim.name, unit, seed))]


@cache
def right_rows(name: str) -> list[Any]:
    return rows_of(KINDS[name]())


@pytest.mark.parametrize("name", KINDS)
def test_a_claim_comes_out_as_expected_from_its_rows_alone(name: str, tmp_path: Path) -> None:
    claim, rows = KINDS[name](), right_rows(name)
    again = json.loads(json.dumps(rows))
    assert again == rows, "rows are plain values"
    verdict = claim.verdict(rows)
    assert verdict.outcome == claim.expected, verdict
    assert claim.verdict(list(reversed(again))).outcome == verdict.outcome
    assert save(draw(claim.chart(again)), tmp_path / "claim.png").read_bytes().startswith(b"\x89PNG")
    assert len(claim.faults()) >= 3
    assert claim.section == "Beyond the paper"
    assert claim.source.startswith("our ")


@pytest.mark.parametrize(("name", "fault"), PAIRS, ids=[" - ".join(pair) for pair in PAIRS])
def test_every_saboteur_is_caught(name: str, fault: str) -> None:
    claim = KINDS[name]()
    broken = claim.fault_runs(fault)
    rows = right_rows(name) if broken.plays_as(claim) else rows_of(broken)
    assert broken.verdict(rows).outcome != claim.expected


def test_the_game_has_the_regret_of_a_learner_that_is_played() -> None:
    """Hedge as a point of the linear program, against the exact walk over all orders."""
    for T in (1, 4, 7):
        A, b = game(T)
        regrets = A @ hedge(T) + b
        for w in range(T + 1):
            pool = Pool(np.array([[0.0, 1.0]] * w + [[1.0, 0.0]] * (T - w)))
            assert regrets[w] == pytest.approx(random_order(Hedge(), pool), abs=1e-12)


def test_the_value_of_the_game_is_that_of_the_notes() -> None:
    for T, value in ((8, 1.093750), (20, 1.761971), (40, 2.507414)):
        assert least(*game(T), np.ones(T + 1)) == pytest.approx(value, abs=1e-6)
        assert cover(T) == pytest.approx(value, abs=1e-6)
    A, b = game(8)
    assert least(A, b, np.minimum(A @ leader(8) + b, A @ hedge(8) + b)) == pytest.approx(1.187, abs=1e-3)


def test_the_chance_of_a_deviation_is_that_of_all_orders() -> None:
    for N, ones, m, y in ((5, 2, 1, 0.5), (6, 3, 2, 0.75), (6, 1, 3, 1 / 3)):
        columns = set(itertools.permutations([1] * ones + [0] * (N - ones)))
        hits = sum(any(sum(c[:n]) >= y * n - 1e-9 for n in range(m, N + 1)) for c in columns)
        assert shuffled(N, ones, m, y) == pytest.approx(hits / len(columns))


def test_a_fixed_sample_is_drawn_without_replacement() -> None:
    subsets = list(itertools.combinations([1, 1, 1, -1, -1, 0], 3))
    for i, j in itertools.product(range(4), repeat=2):
        hits = sum(s.count(1) == i and s.count(-1) == j for s in subsets)
        assert i + j > 3 or drawn(6, 3, 2, 3, i, j) == pytest.approx(hits / len(subsets))


@pytest.mark.parametrize("price", [0.0, 1.0, 5.0])
def test_what_is_lost_astray_is_what_leaves_the_purse(price: float) -> None:
    """Counted from the actions alone, against the learner's own books, where there are no ties."""
    losses = np.random.default_rng(4).random((400, 3)) * [1.0, 0.9, 0.7]
    state, rng, played = Thrifty(price).init(3, 400), new_rng(np.random.SeedSequence(0)), []
    begun = float(state.tracker[0])
    with interpreted():
        for row in losses:
            action, probability = Thrifty.act(state, rng)
            Thrifty.observe(state, action, probability, float(row[action]))
            played.append(action)
    suffered = losses[np.arange(400), played]
    spent = astray(np.array(played), suffered, 3, price)
    assert spent > 0
    assert begun - state.tracker[0] == pytest.approx(spent, abs=1e-9)


def test_a_trap_has_its_gap() -> None:
    pool = trap(1000, 3, 0.4)
    assert pool.means.tolist() == pytest.approx([0.3, 0.7, 0.7])
    assert math.isclose(pool.losses[:300, 0].sum(), 300)
