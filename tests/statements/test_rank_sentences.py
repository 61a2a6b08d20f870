"""Rankings that once said more than was proved, read as a user reads them."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from tombola import Race, rank
from tombola.engine.compiler import compiled
from tombola.errors import ParameterError
from tombola.ranking import _rank
from tombola.ranking.page import ranking_page
from tombola.ranking.paired_tests import pair_pvalues

pytestmark = pytest.mark.usefixtures("plainly")

NAN = float("nan")


def wrong_share(
    sizes: tuple[int, int],
    clusters: int,
    level: float,
    *,
    share: float | None = None,
    stated: bool = True,
    **options: Any,
) -> float:
    """Return the exact probability of a wrong order beyond the list, over samples of clusters.

    Small clusters favour b, large ones a. share: of the large clusters; None: as many as make the
    means over rows equal. No order against the file, b before a, is true.
    stated: whether a claim under a condition that does not hold is not wrong.
    """
    small, large = sizes
    share = small / (small + large) if share is None else share
    wrong = 0.0
    for n_large in range(clusters + 1):
        rows = [(1.0, 0.0)] * small * (clusters - n_large) + [(0.0, 1.0)] * large * n_large
        names = [f"s{i // small}" for i in range(small * (clusters - n_large))]
        names += [f"l{i // large}" for i in range(large * n_large)]
        try:
            ranking = rank(
                rows, kind="losses", names=["a", "b"], clusters=names, level=level,
                reading="beyond", **options,
            )  # fmt: skip
        except ParameterError:
            continue  # nothing is claimed
        reading = ranking.reading()
        condition = re.search(r"if no cluster has more than (\d+) rows?", reading.conditions)
        # A claim under a condition that does not hold is not wrong.
        holds = not stated or condition is None or int(condition[1]) >= large
        if reading.before[1, 0] and holds:
            ways = len(list(itertools.combinations(range(clusters), n_large)))
            wrong += ways * share**n_large * (1 - share) ** (clusters - n_large)
    return wrong


@pytest.mark.parametrize("sizes", [(1, 2), (1, 5)])
def test_clusters_of_unequal_size_keep_the_level_beyond_this_list(sizes: tuple[int, int]) -> None:
    """Divided by the largest cluster of the sample, the order was wrong far above the level."""
    assert wrong_share(sizes, clusters=9, level=0.05) <= 0.05
    assert wrong_share(sizes, clusters=9, level=0.05, largest_cluster=max(sizes)) <= 0.05


@pytest.mark.parametrize(
    ("sizes", "share", "wrong"), [((1, 2), 0.34, 0.125), ((1, 5), 0.168, 0.40)]
)
def test_clusters_divided_by_the_largest_of_the_sample_exceed_the_level(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int], share: float, wrong: float
) -> None:
    """The formula of before, as a twin: .125 and .40 at level .05, exactly, for five clusters.

    The order is wrong if all five are small. The large ones are a little more frequent than at the
    tie, so that "b is better" is false, not only strict at a tie.
    """
    assert wrong_share(sizes, 5, 0.05, share=share, binary=True) == 0.0
    monkeypatch.setattr(_rank._Clusters, "goes_beyond", True)
    of_twin = wrong_share(sizes, 5, 0.05, share=share, stated=False, binary=True)
    assert of_twin == pytest.approx((1.0 - share) ** 5)
    assert of_twin == pytest.approx(wrong, abs=0.002)


def test_unequal_clusters_need_the_largest_possible_size() -> None:
    rows, names = [[0.0, 1.0]] * 30, [0] + [1 + i // 2 for i in range(29)]
    with pytest.raises(ParameterError, match=r"largest_cluster=\d"):
        rank(rows, kind="losses", clusters=names, reading="beyond")
    both = rank(rows, kind="losses", clusters=names)
    assert [reading.name for reading in both.readings] == ["recorded"]
    assert "clusters have 1 to 2 rows" in str(both)
    ranking = rank(rows, kind="losses", clusters=names, reading="beyond", largest_cluster=4)
    assert "if no cluster has more than 4 rows" in str(ranking)
    with pytest.raises(ParameterError, match="largest_cluster"):
        rank(rows, kind="losses", clusters=names, reading="beyond", largest_cluster=1)


def test_interval_of_a_mean_with_clusters_contains_it() -> None:
    """All samples of 8 clusters with 1 row of loss 1, or 4 rows of loss 0: the mean is 1 / 5."""
    misses = 0.0
    for n_large in range(9):
        rows = [(1.0, 0.5)] * (8 - n_large) + [(0.0, 0.5)] * 4 * n_large
        names = [f"s{i}" for i in range(8 - n_large)] + [f"l{i // 4}" for i in range(4 * n_large)]
        ranking = rank(
            rows, kind="losses", clusters=names, reading="beyond", largest_cluster=4,
            level=0.2,
        )  # fmt: skip
        low, high = ranking.interval(0)
        ways = len(list(itertools.combinations(range(8), n_large)))
        misses += ways * 0.5**8 * (not low <= 0.2 <= high)
    assert misses <= 0.2


def missed_means(seeds: Iterable[int]) -> list[int]:
    """Return the seeds of samples of 480 clusters of 1 or 5 rows whose interval misses the mean 1/3.

    Each cluster has one row of loss 1: the mean over clusters is known, the mean size is not.
    """
    missed = []
    for seed in seeds:
        sizes = np.where(np.random.default_rng(seed).random(480) < 0.5, 5, 1)
        names = np.repeat(np.arange(480), sizes)
        first = np.append(True, names[1:] != names[:-1])
        rows = np.column_stack([first, np.full(len(names), 0.5)])
        ranking = rank(
            rows, kind="losses", clusters=names.tolist(), reading="beyond", largest_cluster=5
        )
        low, high = ranking.interval(0)
        if not low <= 1 / 3 <= high:
            missed.append(seed)
    return missed


# Samples that the interval of before misses.
MISSED = [0, 4, 6, 7, 11, 15, 16, 18, 19, 23]


def test_interval_scaled_by_the_mean_size_of_the_sample_misses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The formula of before took the mean size of the sample for the true one; level .05."""
    assert missed_means(MISSED[:1]) == []
    monkeypatch.setattr(_rank, "_with_sizes", lambda reading, *_: reading)
    assert missed_means(MISSED[:1]) == MISSED[:1]


@pytest.mark.full
def test_interval_scaled_by_the_mean_size_of_the_sample_misses_10_of_24(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The 24 samples are those of seeds 0 to 23."""
    assert missed_means(range(24)) == []
    monkeypatch.setattr(_rank, "_with_sizes", lambda reading, *_: reading)
    assert missed_means(range(24)) == MISSED


def wrong_looks(runs: int, level: float) -> int:
    """Return how many of the growing files of equal candidates are wrong at any of 20 looks."""
    plan = _rank._Plan(level, 0, in_order=True, final_rows=None, binary=None)
    wrong = 0
    for seed in range(runs):
        first = (np.random.default_rng(seed).random(43) < 0.5).astype(float)
        table = np.column_stack([first, 1.0 - first])
        for count in range(4, 44, 2):
            rows = table[:count]
            horizon = _rank._horizon(plan, rows)
            if _rank._running(rows, float("inf"), plan, horizon).before[1, 0]:
                wrong += 1
                break
    return wrong


def test_present_number_of_rows_as_horizon_exceeds_the_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """20 looks at level .2, fixed seeds: the twin takes the present rows as the end of the file."""
    no_interval = lambda rows, *_: (rows.min(axis=0), rows.max(axis=0))  # noqa: E731
    monkeypatch.setattr(_rank, "_intervals", no_interval)
    assert wrong_looks(25, 0.2) <= 0.2 * 25
    monkeypatch.setattr(_rank, "_horizon", lambda _, units: len(units))
    assert wrong_looks(25, 0.2) > 0.2 * 25


def wrong_orders(runs: int) -> float:
    """Return the share of growing files of two fair coins with an order at any of 40 looks.

    A look every four rows, level .05, seeds 0 to runs - 1. No order of equal candidates is strict.
    """
    plan = _rank._Plan(0.05, 0, in_order=True, final_rows=None, binary=None)
    wrong = 0
    for seed in range(runs):
        table = (np.random.default_rng(seed).random((160, 2)) < 0.5).astype(float)
        for count in range(4, 161, 4):
            rows = table[:count]
            if _rank._running(rows, float("inf"), plan, _rank._horizon(plan, rows)).before.any():
                wrong += 1
                break
    return wrong / runs


@pytest.mark.full
def test_40_looks_with_the_present_rows_as_horizon_err_with_probability_183(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The formula of before gives .1825 over 2,000 runs, both directions; here 500 (error .017).

    Without a horizon both directions together stay below twice the level: .0345 over 2,000 runs.
    """
    no_interval = lambda rows, *_: (rows.min(axis=0), rows.max(axis=0))  # noqa: E731
    monkeypatch.setattr(_rank, "_intervals", no_interval)
    with compiled():
        assert wrong_orders(500) <= 2 * 0.05
        monkeypatch.setattr(_rank, "_horizon", lambda _, units: len(units))
        assert wrong_orders(500) == pytest.approx(0.183, abs=0.05)


def growing_looks(table: np.ndarray, **options: Any) -> list[np.ndarray]:
    """Return the proved orders at every look at a file that grows row by row."""
    orders = []
    for n in range(12, len(table) + 1, 8):
        ranking = rank(
            table[:n], kind="losses", in_order=True, level=0.2, reading="beyond",
            **options,
        )  # fmt: skip
        orders.append(ranking.reading().before)
        assert "however often you look" in str(ranking)
    return orders


def test_looks_at_a_file_that_grows_keep_all_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the present number of rows as horizon, every look was another test."""
    no_interval = lambda rows, *_: (rows.min(axis=0), rows.max(axis=0))  # noqa: E731
    monkeypatch.setattr(_rank, "_betting_interval", no_interval)
    table = (np.random.default_rng(3).random((60, 2)) < [0.35, 0.65]).astype(float)
    for options in ({}, {"final_rows": 60}):
        orders = growing_looks(table, **options)
        assert orders[-1].any()
        for before, after in itertools.pairwise(orders):
            assert (after | ~before).all(), "a later look keeps every claim: it is one process"
    with pytest.raises(ParameterError, match="final_rows"):
        rank(table, kind="losses", in_order=True, reading="beyond", final_rows=30)


@pytest.mark.parametrize("clusters", [None, [row // 2 for row in range(20)]])
def test_rows_in_order_assume_a_random_order(clusters: list[int] | None) -> None:
    """A sorted file proves the wrong order for sure; the sentence had no condition at all."""
    rows = [[0.0, 1.0]] * 10 + [[1.0, 0.0]] * 10
    growing = np.array(rows)
    growing[10:] = NAN
    options: dict[str, Any] = {"in_order": True, "clusters": clusters, "level": 0.4}
    ranking = rank(growing, kind="losses", names="ab", **options)
    [statement] = ranking.statements
    assert ranking.reading().before[0, 1], "a tie by all rows: a and b are equal"
    part = "rows" if clusters is None else "clusters"
    assert f"if the file lists its {part} in random order, however often" in str(ranking)
    assert statement.to_json()["condition"].startswith("if the file lists its")
    whole = rank(rows, kind="losses", names="ab", in_order=True, reading="recorded")
    assert "random order" not in str(whole)


def test_expected_answers_of_finished_runs_assume_independent_rows() -> None:
    """One seed per run makes rows dependent: the sentence said nothing about it."""
    rows = [[0.0, 1.0]] * 30
    dependent = rank(rows, kind="losses", names="ab", reading="expected", run_effects=True)
    independent = rank(rows, kind="losses", names="ab", reading="expected")
    assert "if answers to different rows are independent, for one look" in str(independent)
    assert "independent" not in str(dependent)


def test_clusters_with_missing_rows_name_clusters() -> None:
    """ "208 rows" were clusters, and the condition is about clusters, not rows."""
    rows = [[0, 1], [0, NAN], [1, 0], [0, 1], [0, 1], [0, 1]] * 6
    names = [6 * i + j // 2 for i in range(6) for j in range(6)]
    ranking = rank(rows, kind="losses", clusters=names, names=["a", "b"])
    page = re.sub(r"<[^>]*>", " ", ranking_page(ranking, "ranks"))
    for text in (str(ranking), page):
        words = " ".join(text.split())
        assert "24 rows in 12 clusters" in words
        assert "if the clusters answered are a random part of all clusters" in words
        assert "if the other rows are a random part" not in words
        assert "12 rows" not in words


def test_json_counts_rows_and_clusters_apart() -> None:
    """36 rows in 18 clusters, of which 6 have a missing answer: the rows were 18, and 12 of them."""
    rows = [[0, 1], [0, NAN], [1, 0], [0, 1], [0, 1], [0, 1]] * 6
    names = [6 * i + j // 2 for i in range(6) for j in range(6)]
    [data] = rank(rows, kind="losses", clusters=names).to_json()["readings"]
    counts = data["statement"]["counts"]
    assert (counts["rows"], counts["counted"], counts["clusters"]) == (36, 24, 12)
    assert (data["rows"], data["clusters"]) == (24, 12)
    assert "these 36 rows" in data["statement"]["text"]


def test_page_of_open_ranks_is_not_tagged_good() -> None:
    """All rank sets are 1 to 3: nothing is proved, and the page must not look as if it were."""
    table = np.random.default_rng(1).random((20, 3))
    table[5:, 0] = NAN
    ranking = rank(table, kind="losses", names=["a", "b", "c"])
    assert ranking.reading().ranks.tolist() == [[1, 3]] * 3
    page = ranking_page(ranking, "ranks")
    assert 'class="answer fair"' in page
    assert '<p class="verdict">undecided</p>' in page
    assert "nothing is proved about the rank of a, b and c" in page
    assert 'class="answer good"' in ranking_page(rank(table[:5], kind="losses"), "ranks")


def test_order_of_equal_candidates_is_called_not_worse() -> None:
    """Beyond this list only a claim against the order of the file excludes a tie."""
    rows = [[0, 1], [0, 1], [1, 1]] * 20
    along = rank(rows, kind="losses", names=["a", "b"])
    against = rank([row[::-1] for row in rows], kind="losses", names=["b", "a"])
    recorded = "a is better than b on the answers recorded here for these 60 rows, for certain: "
    assert along.compare("a", "b", "recorded").startswith(recorded)
    beyond = " for rows like these, with probability 0.95 or more, for one look; 60 rows."
    assert along.compare("a", "b", "beyond") == f"a is not worse than b{beyond}"
    assert against.compare("a", "b", "beyond") == f"a is better than b{beyond}"
    assert "candidates with equal means are placed as in the file" in str(along)


def test_pareto_front_excludes_only_strictly() -> None:
    """a is proved not worse than b in both metrics; equal candidates are both on the front."""
    rows = [[0, 1], [0, 1], [1, 1]] * 20
    tables = {"error": rows, "price": rows}
    along = rank(tables, kind="losses", names=["a", "b"])
    assert along.front("beyond") == ["a", "b"]
    assert along.front("recorded") == ["a"]
    reverse = {name: [row[::-1] for row in table] for name, table in tables.items()}
    assert rank(reverse, kind="losses", names=["b", "a"]).front("beyond") == ["a"]


def test_known_answers_with_a_foreign_label_are_rejected() -> None:
    """Answers of r1, r3 and zz were read as those of r3, r1 and r2."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": [0.1, 0.2, 0.3]}, index=["r1", "r3", "zz"])
    with pytest.raises(ParameterError, match="zz"):
        Race("ab", ["r3", "r1", "r2"], known=frame, kind="losses", seed=1)
    part = frame.iloc[:2]
    answers = Race("ab", ["r3", "r1", "r2"], known=part, kind="losses", seed=1).answers
    assert answers[:2, 0].tolist() == [0.2, 0.1]
    assert np.isnan(answers[2, 0])
    numbered = frame.reset_index(drop=True)
    by_position = Race("ab", ["r3", "r1", "r2"], known=numbered, kind="losses", seed=1).answers
    assert by_position[:, 0].tolist() == [0.1, 0.2, 0.3]


def test_choice_of_the_test_by_the_answers_keeps_the_level() -> None:
    """7 rows, d = 1, -1 or -.99 with mean 0: McNemar, or a bet of everything if -.99 turns up.

    Exactly .0705 at level .0625 if each has the whole level; with half of it each, below.
    """
    law = {1.0: 0.49875, -1.0: 0.25125, -0.99: 0.25}
    level = 1 / 16
    wrong = {1.0: 0.0, 2.0: 0.0}
    for sample in itertools.product(law, repeat=7):
        probability = float(np.prod([law[d] for d in sample]))
        losses = np.array([(max(d, 0.0), max(-d, 0.0)) for d in sample])
        if np.isin(losses, (0.0, 1.0)).all():
            p = float(pair_pvalues(losses, binary=True)[0, 1])
        else:
            p = 1.0 / max(float(np.maximum.accumulate(np.cumprod(1.0 + np.array(sample)))[-1]), 1.0)
        for factor in wrong:
            wrong[factor] += probability * (factor * p <= level)
    assert wrong[1.0] == pytest.approx(0.0705, abs=1e-4)
    assert wrong[2.0] <= level


def test_declared_right_or_wrong_answers() -> None:
    """Five rows that all agree prove an order at level .05 only if the test was fixed before."""
    rows = [[0.0, 1.0]] * 5
    declared = rank(rows, kind="losses", binary=True, reading="beyond")
    assert declared.reading().before[0, 1]
    with pytest.raises(ParameterError, match="expected enough rows"):
        rank(rows, kind="losses", reading="beyond")
    with pytest.raises(ParameterError, match="right or wrong"):
        rank([[0.5, 1.0]] * 5, kind="losses", binary=True)


def test_beyond_may_be_narrower_than_expected() -> None:
    """The readings are about different means, and have different tests (docs/theory/ranks.md)."""
    options: dict[str, Any] = {"kind": "losses", "names": "ab", "binary": True}
    rows = [[0.0, 1.0]] * 5
    beyond = rank(rows, reading="beyond", **options)
    expected = rank(rows, reading="expected", **options)
    assert beyond.reading().ranks.tolist() == [[1, 1], [2, 2]]
    assert expected.reading().ranks.tolist() == [[1, 2], [1, 2]]
