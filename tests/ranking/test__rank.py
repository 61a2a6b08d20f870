"""`rank` on full and partly filled tables, with clusters and metrics."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from tombola import Pool, rank
from tombola.cli.app import app
from tombola.errors import ParameterError, TableError, TombolaWarning
from tombola.ranking import _rank
from tombola.ranking.page import ranking_page
from tombola.ranking.paired_tests import _betting_pvalues, pair_pvalues
from tombola.tables import read_table

pytestmark = pytest.mark.usefixtures("plainly")


def right_or_wrong(rows: int, shares: list[float], seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((rows, len(shares))) < shares).astype(float)


def test_full_table_has_both_readings_and_exact_ranks() -> None:
    """Scores reverse the order of losses; a pool has losses."""
    losses = right_or_wrong(200, [0.1, 0.3, 0.6], seed=1)
    found = rank(losses, kind="losses", names=["a", "b", "c"])
    assert [one.name for one in found.readings] == ["recorded", "beyond"]
    assert [found.rank_set(name) for name in "abc"] == [(1, 1), (2, 2), (3, 3)]
    assert json.loads(json.dumps(found.to_json()))["readings"][0]["exact"]
    assert rank(Pool(losses)).kind == "losses"
    scores = rank(losses, kind="scores", reading="recorded")
    assert scores.order() == found.order()[::-1]
    assert scores.value(float(scores.means[2])) == pytest.approx(losses[:, 2].mean())


def test_ties_share_their_rank_set() -> None:
    losses = np.array([[0, 1, 0], [0, 0, 1]] * 10, float)
    found = rank(losses, kind="losses", reading="recorded")
    assert [found.rank_set(name) for name in found.names] == [(1, 1), (2, 3), (2, 3)]
    tie = "1 and 2 have the same mean loss on the answers recorded here for these 20 rows, for certain"
    assert found.compare("1", "2").startswith(tie)
    near, far = (
        found.rows_to_separate("0", "1", "recorded"),
        found.rows_to_separate("1", "2", "recorded"),
    )
    assert near < far == math.inf


def test_binomial_pvalues_equal_definition() -> None:
    losses = right_or_wrong(40, [0.3, 0.5, 0.5], seed=3)
    found = pair_pvalues(losses, binary=True)
    assert (pair_pvalues(losses) == np.minimum(2.0 * found, 1.0)).all(), "a choice costs a factor 2"
    for a, b in itertools.permutations(range(3), 2):
        wins = int(((losses[:, a] == 1) & (losses[:, b] == 0)).sum())
        differ = int((losses[:, a] != losses[:, b]).sum())
        assert found[a, b] == pytest.approx(
            sum(binom.pmf(j, differ, 0.5) for j in range(wins, differ + 1))
        )


def test_identical_candidates_are_never_separated() -> None:
    losses = np.repeat(right_or_wrong(300, [0.5], seed=4), 3, axis=1)
    assert not rank(losses, kind="losses", reading="beyond").reading().before.any()


def test_betting_pvalues_are_valid_over_samples_and_orders() -> None:
    """All samples of 5 independent rows with equal means, and all second orders: P(p <= x) <= x for
    every x.

    The largest e-value of the two orders, instead of the largest average of the first ones, breaks
    this.
    """
    rows = np.array([(0.0, 1.0), (1.0, 0.0)])
    probability: dict[float, float] = {}
    for sample in itertools.product(range(2), repeat=5):
        # Orders that arrange the sample in the same way have the same e-value: one of each is
        # enough.
        seconds = {
            tuple(sample[i] for i in order): order for order in itertools.permutations(range(5))
        }
        for second in seconds.values():
            p = float(_betting_pvalues(rows[list(sample)], [range(5), second], level=0.5)[0, 1])
            probability[p] = probability.get(p, 0.0) + 1.0 / (32 * len(seconds))
    assert min(probability) < 0.5
    assert all(
        sum(mass for q, mass in probability.items() if q <= p) <= p + 1e-9 for p in probability
    )


@pytest.fixture
def without_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the intervals of means, which take most of the time of a ranking."""
    monkeypatch.setattr(
        _rank, "_intervals", lambda rows, *_, **__: (rows.min(axis=0), rows.max(axis=0))
    )


@pytest.mark.usefixtures("without_intervals")
def test_partly_filled_table_gives_rank_sets_that_cover() -> None:
    """100 random halves of a table: at level .2 more than 33 misses have probability below 1e-3."""
    losses = right_or_wrong(60, [0.2, 0.3, 0.5], seed=5)
    truth = np.argsort(np.argsort(losses.mean(axis=0), kind="stable")) + 1
    missed = 0
    for seed in range(100):
        table = losses.copy()
        table[np.random.default_rng(seed).permutation(60)[30:]] = np.nan
        sets = rank(table, kind="losses", level=0.2, seed=seed).reading().ranks
        missed += any(not sets[a, 0] <= truth[a] <= sets[a, 1] for a in range(3))
    assert missed <= 33


def test_clusters_cover_and_rows_of_clusters_as_independent_do_not() -> None:
    """Clusters of 20 equal rows: as independent rows the p-values are far too small; 300 tables, both tied in law."""
    wrong = {True: 0, False: 0}
    for seed in range(300):
        units = (np.random.default_rng(seed).random((15, 2)) < 0.5).astype(float)
        losses, names = np.repeat(units, 20, axis=0), np.repeat(np.arange(15), 20)
        for clustered in (True, False):
            found = rank(
                losses,
                kind="losses",
                clusters=names if clustered else None,
                reading="beyond",
            )
            wrong[clustered] += bool(found.reading().before.any())
    assert (
        wrong[True] <= 30
    )  # two directions at .05 each; 30 of 300 is the expectation of the level, mostly less
    assert wrong[False] > 90


def test_intervals_of_a_sorted_file_contain_the_means() -> None:
    """In file order the bets follow the sorting, and nearly all intervals miss their means."""
    losses = np.random.default_rng(0).random((400, 4)) ** [1, 2, 3, 4]
    found = rank(losses[np.argsort(losses.sum(axis=1))], kind="losses")
    for a, mean in enumerate(losses.mean(axis=0)):
        low, high = found.interval(a, "beyond")
        assert low < mean < high
        assert 0.05 < high - low < 0.2


def test_cluster_intervals_are_in_units_of_rows() -> None:
    losses = right_or_wrong(120, [0.3, 0.6], seed=7)
    found = rank(losses, kind="losses", clusters=np.repeat(np.arange(40), 3), reading="recorded")
    low, high = found.interval(0)
    assert low == pytest.approx(losses[:, 0].mean()) == high


@pytest.mark.usefixtures("without_intervals")
def test_clusters_of_unequal_size_keep_the_level_at_all_looks() -> None:
    """All orders of 5 clusters. By rows a is better, by means of clusters b is: means would be wrong in every order."""
    a_loses, b_loses, b_loses_all = [(1.0, 0.0)], [(0.0, 1.0)], [(0.0, 1.0)] * 3
    clusters = (a_loses, a_loses, a_loses, b_loses, b_loses_all)
    orders = {
        tuple(map(tuple, order)) for order in itertools.permutations(clusters)
    }  # equally likely
    wrong = 0
    for order in orders:
        # Names that sort in another order than the clusters are listed in.
        names = [str(9 - place) for place, rows in enumerate(order) for _ in rows]
        looks = []
        for filled in range(1, 6):
            table = np.array(list(itertools.chain(*order)))
            table[sum(map(len, order[:filled])) :] = np.nan
            one = rank(
                table, kind="losses", clusters=names, in_order=True, level=0.5, reading="recorded"
            ).reading()
            looks.append(one.before)
        assert [bool(before.any()) for before in looks] == sorted(
            bool(before.any()) for before in looks
        )
        wrong += any(before[1, 0] for before in looks)
    assert 0 < wrong <= 0.5 * len(orders)


def test_ties_of_exact_ranks_dominate() -> None:
    """c is worse in one metric and equal in the other; equal candidates do not exclude each other."""
    error, price = [[0.0, 1.0, 1.0, 0.0]] * 40, [[1.0, 0.0, 1.0, 1.0]] * 40
    found = rank({"error": error, "price": price}, kind="losses", names=["a", "b", "c", "d"])
    assert found.front("recorded") == ["a", "d", "b"], "the best in the first metric first"
    assert sorted(found.front("beyond")) == list("abcd"), "a sample proves no tie"


def test_metrics_share_the_level_and_give_a_front() -> None:
    right = right_or_wrong(400, [0.1, 0.5, 0.9], seed=8)
    cheap = right_or_wrong(400, [0.9, 0.5, 0.95], seed=9)
    found = rank({"error": right, "price": cheap}, kind="losses", names=["a", "b", "c"])
    assert found.metrics["error"].readings[0].level == pytest.approx(0.025)
    assert found.front() == ["a", "b"]
    assert found.front_sentences()[0].startswith(
        "The Pareto front of 3 candidates in 2 metrics is among a and b on the answers recorded here"
    )
    assert "<strong>price</strong>" in found._repr_html_()
    kinds: Any = {"error": "losses", "price": "scores"}
    assert rank({"error": right, "price": cheap}, kind=kinds).metrics["price"].kind == "scores"


PERCENT = np.column_stack([np.linspace(0, 1, 20), np.linspace(59, 99, 20), np.linspace(0, 1, 20)])
METRICS = {"error": [[0.0, 1.0]], "price": [[0.0, 1.0]]}


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([[0.0, 1.0]], {"kind": None}, "kind='losses'"),
        ([[0.0, 7.0], [3.0, 2.0]], {"kind": "scores"}, r"range=\(0, 10\)"),
        # A range over two units would rank 80 (percent) before 0.9.
        (
            PERCENT,
            {"kind": "scores", "names": "abc"},
            r"\(outside only in b\); in percent\? divide it by 100",
        ),
        (PERCENT, {"names": ["a_seconds", "b_seconds", "c_seconds"]}, r"write range=\(0, 100\)"),
        (
            [[0.0, 1.0]] * 60,
            {"clusters": [0, 1] * 30, "reading": "beyond"},
            "enough rows or clusters",
        ),
        # The first row of a large cluster comes early in a shuffle of rows: clusters are not in
        # random order.
        (
            [[0.0, 1.0]] * 4,
            {"clusters": ["a", "b", "a", "b"], "in_order": True},
            "shuffle whole clusters",
        ),
        (METRICS, {"kind": {"size": "losses"}}, "kind of the metrics error, price, got 'size'"),
        (METRICS, {"range": {"size": (0, 1)}}, "range of the metrics"),
        ([[0.0, 1.0]], {"kind": {"error": "losses"}}, "give a mapping of tables too"),
        ([[0.0, 1.0]], {"missing": "best"}, "expected one of missing='keep'"),
        ([[np.nan, 1.0]], {"missing": "drop"}, "expected rows with answers"),
        (
            Pool([[0.0, 1.0]]),
            {"kind": "scores"},
            "as in the table, got 'scores' and None; leave them out",
        ),
        (Pool([[0.0, 1.0]]), {"names": ["a"]}, "expected 2 different names, got 1"),
    ],
)
def test_tables_and_options_that_do_not_fit_are_refused(
    table: Any, options: Any, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        rank(table, **{"kind": "losses", **options})


@pytest.mark.usefixtures("without_intervals")
def test_plot_draws_one_bar_per_candidate() -> None:
    losses = right_or_wrong(120, [0.1, 0.3, 0.35, 0.8], seed=12)
    found = rank(losses, kind="losses", names=["a", "b", "c", "d"])
    figure = found.plot("beyond")
    ends = [path.vertices[:, 0].tolist() for path in figure.axes[0].collections[0].get_paths()]
    assert ends == found.reading("beyond").ranks[found.order()].tolist()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("without_intervals")
def test_looks_at_a_growing_table_only_add_claims_in_order() -> None:
    """With `in_order` a later look keeps every claim of an earlier one: one e-process, not a new one per look."""
    losses = right_or_wrong(200, [0.2, 0.3, 0.45], seed=13)
    for reading in ("recorded", "beyond"):
        earlier = np.zeros((3, 3), bool)
        for n in (25, 60, 90, 140, 199):
            table = losses.copy()
            table[n:] = np.nan
            one = rank(table, kind="losses", reading=reading, in_order=True, level=0.3).reading()
            assert one.rows == n
            assert (one.before | ~earlier).all()
            earlier = one.before
        assert earlier.any()


def test_page_of_open_order_says_who_could_be_first() -> None:
    rows = np.random.default_rng(1).random((200, 6))
    losses = (rows < [0.1, 0.12, 0.11, 0.9, 0.9, 0.9]).astype(float)
    page = ranking_page(rank(losses, names=list("abcdef"), kind="losses"), "ranks")
    assert "3 of 6 could be first, 3 cannot: " in page
    assert "groups in order" not in page
    assert "<dt>groups, each before the next</dt><dd>2</dd>" in page
    alike = (rows < 0.5).astype(float)
    found = rank(alike, names=list("abcdef"), kind="losses", reading="beyond")
    page = ranking_page(found, "ranks")
    assert "groups" not in page.split("</section>")[0]
    assert "There is no such edge yet; " in page


def test_page_escapes_names() -> None:
    losses = right_or_wrong(50, [0.1, 0.9], seed=10)
    found = rank(losses, kind="losses", names=["<script>alert(1)</script>", "b"])
    page = ranking_page(found, "ranks")
    assert "<script>alert" not in page
    assert "<code>tombola cite rank</code>" in page
    assert "<script>alert" not in found._repr_html_()


def test_incomplete_rows_are_counted_or_the_worst() -> None:
    table = np.array([[1.0, 0.0], [np.nan, 0.0], [1.0, 0.0]] * 20)
    kept = rank(table, kind="scores", names=["a", "b"], reading="recorded")
    assert (kept.n_incomplete, kept.to_json()["rows_not_used"]) == (20, 20)
    assert "20 of 60 rows with a missing answer are not used" in str(kept)
    filled = rank(table, kind="scores", reading="recorded", missing="worst")
    assert (filled.n_incomplete, filled.readings[0].exact) == (0, True)
    assert filled.to_json()["answers_counted_as_worst"] == 20
    assert filled.value(float(filled.means[0])) == pytest.approx(2 / 3)
    dropped = rank(
        table,
        kind="scores",
        reading="recorded",
        missing="drop",
        clusters=[n // 3 for n in range(60)],
    )
    assert (dropped.population, dropped.n_incomplete, dropped.readings[0].exact) == (40, 0, True)
    assert dropped.to_json()["rows_left_out"] == 20
    sentence = (
        "20 of 60 rows have a missing answer and were left out; the ranks are about the other 40."
    )
    for text in (str(dropped), dropped._repr_html_(), ranking_page(dropped, "ranks")):
        assert sentence in text
        assert "60 rows, for certain" not in text


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        (
            60,
            {"missing": "worst"},
            "for certain: the whole table is known, with 20 missing answers counted as the worst.",
        ),
        (
            60,
            {"missing": "worst", "reading": "beyond"},
            "for one look, with 20 missing answers counted as the worst; 60 rows.",
        ),
        (
            60,
            {"missing": "drop"},
            "these 40 rows, for certain: the whole table is known, without the 20 rows left out.",
        ),
        (
            60,
            {"missing": "drop", "reading": "beyond"},
            "for one look, without the 20 rows left out; 40 rows.",
        ),
        (
            3,
            {"missing": "drop"},
            "1 of 3 rows has a missing answer and was left out; the ranks are about the other 2.",
        ),
        (
            1,
            {"missing": "drop"},
            "on the answers recorded here for this row, for certain: the whole table is known.",
        ),
    ],
)
def test_sentences_about_incomplete_rows(rows: int, options: Any, sentence: str) -> None:
    table = np.array([[1.0, 0.0], [np.nan, 0.0], [1.0, 0.0]] * 20)[:rows]
    assert sentence in str(rank(table, kind="scores", **{"reading": "recorded", **options}))


def run(*words: object) -> str:
    """Return the output of `tombola rank`, without notes."""
    done = CliRunner().invoke(app, ["rank", *map(str, words)])
    assert done.exit_code == 0, done.exception or done.output
    return done.stdout


def test_half_filled_table_names_the_race_that_finishes_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "id,a,b\n" + "".join(f"q{n},1,{n % 3}\n" if n % 2 else f"q{n},,\n" for n in range(40))
    )
    options = ["--scores", "--range", "0,10"]
    start = f"tombola race start {path} --candidates a,b --known {path} --scores --range 0,10"
    assert f"{start} --file {tmp_path}/t.race --question ranks\n" in run(
        path, *options, "--missing", "keep"
    )
    for full in ([*options, "--missing", "drop"], [*options, "--missing", "worst"]):
        assert "race start t" not in run(path, *full).replace(str(tmp_path), "t")


def test_means_are_in_the_unit_of_the_columns(tmp_path: Path) -> None:
    table = np.array([[10.0, 20.0], [30.0, 60.0]] * 20)
    seconds = ["minisat seconds", "glucose seconds"]
    assert "mean seconds" in str(
        rank(table, kind="losses", names=seconds, range=(0, 60), reading="recorded")
    )
    assert "mean points" in str(
        rank(table, kind="scores", range=(0, 60), unit="points", reading="recorded")
    )
    assert "mean loss" in str(
        rank(table / 60, kind="losses", names=["a_error", "b_error"], reading="recorded")
    )
    path = tmp_path / "t.csv"
    path.write_text("id,a_accuracy,b_accuracy\n" + "".join(f"q{n},1,{n % 2}\n" for n in range(20)))
    assert "mean accuracy" in run(path, "--reading", "recorded")


def test_kind_against_the_names_of_the_columns_is_warned() -> None:
    names = ["a_accuracy", "b_accuracy"]
    with pytest.warns(
        TombolaWarning, match=r"rank: the names say higher is better \(a_accuracy, b_accuracy\)"
    ):
        rank([[0.0, 1.0]] * 20, kind="losses", names=names)
    with pytest.warns(TombolaWarning, match="but kind='scores' was given"):
        rank({"time": np.ones((9, 2))}, kind="scores", names=["a seconds", "b seconds"])
    rank([[0.0, 1.0]] * 20, kind="scores", names=names)


def test_timeouts_in_a_frame_are_refused() -> None:
    """A cell with a word is not converted; `read_table` asks for the time limit."""
    pandas = pytest.importorskip(
        "pandas", reason="pandas is not installed: pip install 'tombola[pandas]'"
    )
    frame = pandas.DataFrame(
        {"a_seconds": [1, 7, 3], "b_seconds": [2, "timeout", 3], "c_seconds": [5, 5, 4]}
    )
    with pytest.raises(
        ParameterError,
        match=r"expected a table of numbers.*'timeout'.*rank\(read_table\(\.\.\.\)\)",
    ):
        rank(frame, kind="losses", range=(0, 60))
    with pytest.raises(TableError, match="with timeouts write missing='worst' and the time limit"):
        rank(read_table(frame, kind="losses"))
    table = read_table(frame, kind="losses", missing="worst", range=(0, 60))
    found = rank(table, reading="recorded")
    assert found.value(found.means[1]) == pytest.approx((2 + 60 + 3) / 3)


def test_table_is_ranked_in_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,a,b\n" + "".join(f"q{i},{i % 3},{i % 5}\n" for i in range(30)))
    table = read_table(path, kind="scores", range=(0, 10))
    found, frame = (
        rank(table),
        rank([[i % 3, i % 5] for i in range(30)], kind="scores", names="ab", range=(0, 10)),
    )
    assert str(found) == str(frame)
    for wrong in ({"kind": "losses"}, {"range": (0, 5)}):
        with pytest.raises(ParameterError, match=r"as in the table, got .*; leave them out"):
            rank(table, **wrong)


def test_pool_of_scores_gives_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    """A pool has losses already; its names may still say score."""
    rank(Pool([[0.5, 0.2], [0.4, 0.3]], actions=["a_score", "b_score"]))
    assert not recwarn.list
