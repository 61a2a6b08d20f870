"""Claim `ranks`: the enumeration against a count over permutations."""

import itertools

import numpy as np
import pytest

from naive import ranks as naive
from tombola.paper.extensions.ranks import (
    RankSets,
    _NoUnion,
    _row_types,
    _Tree,
    _true_order,
    _worst_pair,
)
from tombola.racing.rules.ranks import Ranks

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize("make", [Ranks, _NoUnion])
def test_probability_of_a_pool_equals_permutations(make: type[Ranks]) -> None:
    """The same pool by all permutations of its rows, repeated rows included."""
    types, pool, level = _row_types(3, 1), (1, 1, 4, 6), 0.6
    losses, wrong = types[list(pool)].astype(float), []
    ahead = _true_order(types[list(pool)].sum(axis=0))
    for order in itertools.permutations(range(len(pool))):
        rule = make(3, len(pool), len(pool), level)
        for row in order:
            if not rule.done:
                rule.update(losses[row])
        wrong.append(bool((rule.before & ~ahead).any()))
    tree = _Tree(
        make(3, len(pool), len(pool), level),
        [kind[None, :] * 1.0 for kind in types],
        types,
        len(pool),
    )
    leaves = [
        (sequence, before) for sequence, before in tree.leaves() if tuple(sorted(sequence)) == pool
    ]
    assert np.mean([bool((before & ~ahead).any()) for _, before in leaves]) == pytest.approx(
        np.mean(wrong)
    )


@pytest.mark.parametrize(("steps", "rows"), [(1, 5), (3, 3)])
@pytest.mark.parametrize("make", [Ranks, _NoUnion])
def test_worst_pair_equals_enumeration_of_all_sequences(
    make: type[Ranks], steps: int, rows: int
) -> None:
    types, level = _row_types(2, steps), 0.6
    tree = _Tree(make(2, rows, rows, level), [kind[None, :] / steps for kind in types], types, rows)
    worst, pools = _worst_pair(make(2, rows, rows, level), np.arange(-steps, steps + 1), steps)
    expected, n_pools = tree.worst_pool()
    assert worst == pytest.approx(expected)
    assert worst > 0.0
    assert pools == n_pools


# Level .05 needs 14 rows and compiled kernels: the claim has it (`tombola reproduce --claims ranks
# --full`).
@pytest.mark.full
@pytest.mark.parametrize(("level", "rows"), [(0.5, 9), (0.2, 11)])
def test_wrong_claim_on_four_candidates_needs_rows(level: float, rows: int) -> None:
    """One row less allows no wrong claim of any pair: the wealth stays below the threshold of 6 / level."""
    types = np.arange(-1, 2)
    fewer, enough = (_worst_pair(Ranks(2, n, n, level / 6), types, 1)[0] for n in (rows - 1, rows))
    assert fewer == 0.0 < 6 * enough <= level


def test_true_order_breaks_ties_by_file_order() -> None:
    totals = np.array([2, 1, 2, 0])
    expected, _ = naive.order_of([totals.tolist()])  # type: ignore[no-untyped-call]
    assert sorted(range(4), key=lambda a: _true_order(totals)[:, a].sum()) == expected


def test_pair_of_three_bets_as_two_at_a_third_of_the_level() -> None:
    """The case "pairs in thirds" judges three candidates by two: their wealth is the same, until a pair is decided."""
    losses = np.random.default_rng(1).integers(0, 4, (12, 3)) / 3.0
    three, two = Ranks(3, 12, 12, 0.3), Ranks(2, 12, 12, 0.1)
    for row in losses:
        three.update(row)
        two.update(row[:2])
        assert three.state.threshold == pytest.approx(two.state.threshold)
        # Bettor a k + b bets against "a is at most b".
        assert three.state.wealth[[1, 3]].sum(axis=1) == pytest.approx(
            two.state.wealth[[1, 2]].sum(axis=1)
        )


@pytest.mark.parametrize("level", [0.05, 0.5])
def test_samples_can_be_judged_at_every_level(level: float) -> None:
    """Six answers declared right or wrong separate three candidates also at the smallest level."""
    [row] = RankSets().run({"case": "sample", "k": 3, "N": 6, "level": level}, seed=1)
    assert 0.0 < row["probability"] <= level
