"""Compare and its runs: the same for any number of workers, paired, relabelled; and the statistics beneath."""

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tombola import (
    UCB1,
    Exp3,
    FixedAction,
    FollowTheLeader,
    Hedge,
    Pool,
    Runs,
    Session,
    check_learner,
    compare,
    play,
)
from tombola._statistics import Estimate, mean, slope
from tombola._types import Floats
from tombola.errors import LearnerError, OrderError, ParameterError, PoolError
from tombola.learners import Uniform
from tombola.report.figures import save
from tombola.rng import RngStreams, repetition_seeds
from tombola.runs import Cell, Entry

ROWS, K = 30, 3
TWO = [FollowTheLeader(), Exp3()]


def pool(seed: int = 0, rows: int = ROWS) -> Pool:
    return Pool(np.random.default_rng(seed).integers(0, 9, (rows, K)) / 8)


def same(one: Runs, two: Runs) -> bool:
    if one.cells.keys() != two.cells.keys():
        return False
    pairs = [(one.cells[s], two.cells[s]) for s in one.cells]
    return all(np.array_equal(a, b) for x, y in pairs for a, b in zip(x, y, strict=True))


def test_any_number_of_workers_gives_the_same_bits() -> None:
    alone, together = (
        compare(pool(), TWO, ["random", "iid", "given"], repetitions=5, delay=2, workers=w, seed=3) for w in (1, 2)
    )
    assert same(alone, together)
    assert not same(alone, compare(pool(), TWO, ["random", "iid", "given"], repetitions=5, delay=2, seed=4))


def test_the_first_repetitions_do_not_depend_on_their_number() -> None:
    few, many = (compare(pool(), TWO, repetitions=r, seed=3) for r in (3, 8))
    for name in few.learners:
        assert np.array_equal(few.cell(name).sums, many.cell(name).sums[:3])
        assert np.array_equal(few.cell(name).plays, many.cell(name).plays[:3])


def test_the_runs_of_a_learner_do_not_depend_on_who_else_takes_part() -> None:
    learners = {"a": Exp3(), "b": Uniform(), "c": FollowTheLeader(ties="random")}
    together = compare(pool(), learners, repetitions=4, seed=3)
    for name, learner in learners.items():
        alone = compare(pool(), {"another name": learner}, repetitions=4, seed=3)
        assert np.array_equal(alone.cell("another name").sums, together.cell(name).sums)


def test_repetitions_differ_from_each_other() -> None:
    sums = compare(pool(), [Uniform()], repetitions=6, seed=0).cell("Uniform").sums[:, -1, 0]
    assert len(set(sums.tolist())) == 6


def test_compare_is_play_without_relabelling() -> None:
    runs = compare(pool(), TWO, repetitions=3, switching_price=0.5, delay=1, relabel=False, seed=8)
    for name, learner in zip(runs.learners, TWO, strict=True):
        traces = [play(learner, pool(), delay=1, switching_price=0.5, seed=s) for s in repetition_seeds(8, 3)]
        assert runs.regrets(name).tolist() == pytest.approx([trace.regret for trace in traces])
        assert runs.cell(name).sums[:, -1, 3].tolist() == [trace.switches for trace in traces]
        plays = [np.bincount(trace.actions, minlength=K).tolist() for trace in traces]
        assert runs.cell(name).plays.tolist() == plays


def test_relabelling_hides_which_action_is_listed_first() -> None:
    first_is_best = Pool([[0.0, 1.0, 1.0]] * 10)
    told = compare(first_is_best, [FixedAction(0)], repetitions=20, relabel=False, seed=0)
    assert told.regrets("FixedAction").tolist() == [0.0] * 20
    hidden = compare(first_is_best, [FixedAction(0)], repetitions=20, seed=0)
    assert set(hidden.regrets("FixedAction").tolist()) == {0.0, 10.0}
    assert (hidden.cell("FixedAction").plays.sum(axis=1) == 10).all()
    played_best = hidden.cell("FixedAction").plays[:, 0] == 10
    assert np.array_equal(played_best, hidden.regrets("FixedAction") == 0.0)


def test_every_label_is_equally_likely() -> None:
    """The share of 1/3 is left by 5 standard deviations with probability below 1e-6."""
    runs = compare(Pool([[0.0, 1.0, 1.0]]), [FixedAction(1)], repetitions=900, seed=1)
    counts = runs.cell("FixedAction").plays.sum(axis=0)
    assert np.abs(counts - 300).max() < 5 * math.sqrt(900 * 2 / 9)


def test_the_comparator_does_not_depend_on_the_labels() -> None:
    runs = compare(pool(), TWO, repetitions=5, seed=0)
    assert runs.cell("Exp3").sums[:, -1, 2].tolist() == pytest.approx([pool().totals.min()] * 5)


def test_curves_are_the_play_cut_at_the_marks() -> None:
    runs = compare(pool(), [Exp3()], repetitions=2, relabel=False, seed=5)
    rounds, curve = runs.curve("Exp3")
    for r, seed in enumerate(repetition_seeds(5, 2)):
        trace = play(Exp3(), pool(), seed=seed)
        steps = np.cumsum(trace.losses - trace.comparator_losses)
        assert curve[r].tolist() == pytest.approx(steps[rounds - 1].tolist())


def test_a_function_of_the_horizon_makes_the_learner() -> None:
    pools = [pool(rows=rows) for rows in (10, 20)]
    runs = compare(pools, {"hedge": lambda T: Hedge(rate=1 / T)}, repetitions=2, seed=0)
    fixed = compare(pools[1], [Hedge(rate=1 / 20)], repetitions=2, seed=0)
    assert runs.horizons == [10, 20]
    assert np.array_equal(runs.cell("hedge", horizon=20).sums, fixed.cell("Hedge").sums)


def test_expected_regret_averages_over_the_coins() -> None:
    runs = compare(pool(), [Uniform()], repetitions=3, seed=0)
    exact = float(pool().losses.mean(axis=1).sum() - pool().totals.min())
    assert runs.regrets("Uniform", expected=True).tolist() == pytest.approx([exact] * 3)
    assert runs.regrets("Uniform").tolist() != pytest.approx([exact] * 3)


def test_learners_of_one_kind_are_told_apart() -> None:
    runs = compare(pool(), [Hedge(), Hedge(rate=0.5), UCB1()], repetitions=1, seed=0)
    assert runs.learners[2] == "UCB1"
    assert "rate=0.5" in runs.learners[1]


BAD: dict[str, Callable[[], object]] = {
    "no learner": lambda: compare(pool(), [], seed=0),
    "no learner by name": lambda: compare(pool(), {}, seed=0),
    "the same learner twice": lambda: compare(pool(), [UCB1(), UCB1()], seed=0),
    "not a learner": lambda: compare(pool(), {"a": 3}, seed=0),
    "no pool": lambda: compare([], TWO, seed=0),
    "pools of one size": lambda: compare([pool(0), pool(1)], TWO, seed=0),
    "no repetition": lambda: compare(pool(), TWO, repetitions=0, seed=0),
    "half a repetition": lambda: compare(pool(), TWO, repetitions=1.5, seed=0),  # type: ignore[arg-type]
    "no worker": lambda: compare(pool(), TWO, workers=0, seed=0),
    "a negative price": lambda: compare(pool(), TWO, switching_price=-1, seed=0),
    "an order twice": lambda: compare(pool(), TWO, ["random", "random"], seed=0),
    "no order": lambda: compare(pool(), TWO, [], seed=0),
    "an unknown learner": lambda: compare(pool(), TWO, repetitions=1, seed=0).regret("Hedge"),
    "an unknown order": lambda: compare(pool(), TWO, repetitions=1, seed=0).regret("Exp3", order="iid"),
    "an unknown horizon": lambda: compare(pool(), TWO, repetitions=1, seed=0).regret("Exp3", horizon=7),
    "a slope of two points": lambda: compare([pool(0, 9), pool()], [Uniform()], repetitions=1, seed=0).slope("Uniform"),
    "no half width": lambda: mean(np.array([1.0, 2.0])).more(half_width=0),
    "a half width from one number": lambda: mean(np.array([1.0])).more(half_width=1),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_compared_is_refused(what: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(ParameterError) as caught:
        BAD[what]()
    one_sentence(caught.value)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(OrderError, match="'shuffled'"):
        compare(pool(), TWO, "shuffled", seed=0)


def runs_of(**regrets: dict[int, Floats]) -> Runs:
    """Return runs with these regrets: learner, horizon, repetitions."""
    cells = {}
    for name, by_horizon in regrets.items():
        for horizon, values in by_horizon.items():
            sums = np.zeros((len(values), 1, 4))
            sums[:, 0, 0] = values
            cells[Entry(horizon, "random", name)] = Cell(
                np.array([horizon]), sums, np.zeros((len(values), 2)), np.zeros((1, 2))
            )
    return Runs(cells, 0.0)


def test_differences_are_paired() -> None:
    noise = np.random.default_rng(0).normal(100, 50, 20)
    runs = runs_of(a={9: noise + 1 + np.arange(20) / 100}, b={9: noise})
    paired = runs.difference("a", "b")
    assert paired.value == pytest.approx(1.095)
    assert paired.half_width < 0.05 < 10 < runs.regret("a").half_width


@pytest.mark.parametrize("power", [0.0, 0.5, 2 / 3, 1.0])
def test_the_slope_of_exact_powers_is_the_power(power: float) -> None:
    horizons = [10, 30, 100, 1000]
    found = runs_of(a={T: np.full(4, 3.0 * T**power) for T in horizons}).slope("a")
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low <= found.value <= found.high
    assert found.half_width < 0.01


def test_the_slope_covers_the_truth_as_often_as_it_says() -> None:
    """Right 95 % intervals miss the true power in more than 60 of 400 cases with probability below 1e-12."""
    generator = np.random.default_rng(1)
    horizons = np.array([64.0, 128.0, 256.0, 512.0, 1024.0])
    found = [slope(horizons, [np.sqrt(T) * generator.gamma(4, 0.25, 50) for T in horizons]) for _ in range(400)]
    assert sum(not e.low <= 0.5 <= e.high for e in found) <= 60
    assert np.mean([e.value for e in found]) == pytest.approx(0.5, abs=0.02)


def test_a_bend_widens_the_interval_of_the_slope() -> None:
    horizons = np.array([10.0, 100.0, 1000.0, 10000.0])
    straight = slope(horizons, [np.full(5, x) for x in (1.0, 10.0, 100.0, 1000.0)])
    bent = slope(horizons, [np.full(5, x) for x in (1.0, 40.0, 200.0, 1000.0)])
    assert bent.half_width > 10 * straight.half_width


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.random.default_rng(3).normal(2, 1, 12)
    for level in (0.9, 0.95, 0.999):
        low, high = stats.t.interval(level, 11, loc=values.mean(), scale=stats.sem(values))
        assert tuple(mean(values, level)) == pytest.approx((values.mean(), low, high, 12))
    assert mean(values[:1]) == Estimate(float(values[0]), -math.inf, math.inf, 1)


def test_more_repetitions_bring_the_interval_down() -> None:
    assert Estimate(0.0, -1.0, 1.0, 10).more(half_width=2.0) == 0
    assert Estimate(0.0, -1.0, 1.0, 10).more(half_width=0.1) == 990


def test_ranking_and_text_go_from_the_best_to_the_worst() -> None:
    runs = runs_of(bad={9: np.array([5.0, 6.0])}, good={9: np.array([1.0, 2.0])}, fair={9: np.array([3.0, 3.5])})
    assert runs.ranking() == ["good", "fair", "bad"]
    lines = str(runs).splitlines()
    assert lines[0] == "random order, 9 rows"
    assert [line.split()[0] for line in lines[1:]] == ["good", "fair", "bad"]
    assert ["above the first" in line for line in lines[1:]] == [False, True, True]


def test_columns_and_frames_hold_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = compare(pool(), TWO, ["random", "iid"], repetitions=3, switching_price=0.5, seed=0)
    columns = runs.columns()
    marks = runs.cell("Exp3").rounds.size
    assert {len(values) for values in columns.values()} == {2 * 2 * 3 * marks}
    pandas = runs.to_frame()
    assert type(pandas).__module__.startswith("pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    polars = runs.to_frame()
    assert type(polars).__module__.startswith("polars")
    for frame in (pandas, polars):
        assert {name: frame[name].to_list() for name in columns} == {n: list(values) for n, values in columns.items()}
    end = pandas[(pandas.learner == "Exp3") & (pandas.order == "iid") & (pandas["round"] == ROWS)]
    assert end.regret.tolist() == runs.regrets("Exp3", "iid").tolist()
    price = end.loss + 0.5 * end.switches - end.comparator_loss
    assert price.tolist() == pytest.approx(end.regret.tolist())
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ParameterError, match="expected pandas or polars"):
        runs.to_frame()


def is_picture(path: Path) -> bool:
    data = path.read_bytes()
    return data.startswith(b"\x89PNG") if path.suffix == ".png" else b"<svg" in data[:1000] and b"</svg>" in data[-20:]


@pytest.mark.parametrize(
    "runs",
    [
        lambda: compare(pool(), TWO, repetitions=3, seed=0),
        lambda: compare(pool(), [FixedAction(0)], repetitions=1, relabel=False, seed=0),
        lambda: compare([pool(rows=rows) for rows in (5, 10, 20)], [Uniform(), UCB1()], repetitions=2, seed=0),
        lambda: compare([Pool([[1, 0]] * r) for r in (5, 9, 20)], [FixedAction(1)], relabel=False, seed=0),
    ],
    ids=["rounds", "one repetition", "horizons", "no regret"],
)  # fmt: skip
def test_plots_are_written_as_png_and_svg(runs: Callable[[], Runs], tmp_path: Path) -> None:
    figure = runs().plot()
    for ending in (".png", ".svg"):
        assert is_picture(save(figure, tmp_path / "new" / f"plot{ending}"))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts
    assert "regret" in figure.axes[0].get_ylabel()


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    runs = compare(pool(), TWO, repetitions=3, seed=0)
    one, two = (save(runs.plot(), tmp_path / f"{i}.png").read_bytes() for i in range(2))
    assert one == two


def test_coins_of_a_learner_depend_on_what_it_is_only() -> None:
    streams = RngStreams(3)
    words: list[Any] = [
        tuple(rng.tolist())
        for rng in (streams.order(), streams.labels(), streams.learner(UCB1()), streams.learner(UCB1(scale=1)))
    ]
    assert len(set(words)) == 4
    assert tuple(RngStreams(3).learner(UCB1(scale=2.0)).tolist()) == words[2]


def test_arrays_are_pools() -> None:
    losses = np.random.default_rng(0).random((12, 2))
    pool = Pool(losses)
    for given in (losses, losses.tolist()):
        assert play(UCB1(), given, seed=1).loss == play(UCB1(), pool, seed=1).loss
        assert (
            compare(given, UCB1(), repetitions=2, seed=1).columns()
            == compare(pool, [UCB1()], repetitions=2, seed=1).columns()
        )
    assert compare([losses, losses[:5]], [UCB1()], repetitions=2, seed=1).horizons == [5, 12]
    with pytest.raises(PoolError, match=r"got int; write tombola\.Pool"):
        play(UCB1(), 5, seed=1)


@pytest.mark.parametrize(("given", "write"), [(UCB1, "UCB1()"), ("UCB1", "tombola.UCB1()")])
def test_a_class_or_a_name_is_no_learner_yet(given: Any, write: str) -> None:
    for use in (
        lambda: play(given, [[0.0, 1.0]], seed=1),
        lambda: compare([[0.0, 1.0]], [given], seed=1),
        lambda: compare([[0.0, 1.0]], given, seed=1),
        lambda: Session(given, actions=2, horizon=3, seed=1),
        lambda: check_learner(given),
    ):
        with pytest.raises(LearnerError, match=re.escape(f"write {write}")):
            use()


def test_marks_are_a_matter_of_choice() -> None:
    losses = np.random.default_rng(0).random((1000, 2))
    rounds, _ = compare(losses, UCB1(), repetitions=2, marks=[7, 33, 5000], seed=1).curve("UCB1")
    evenly = np.arange(25, 1001, 25)
    assert rounds.tolist() == np.union1d([7, 33], evenly).tolist()
    with pytest.raises(ParameterError, match="marks"):
        compare(losses, UCB1(), marks=[0], seed=1)


def test_several_orders_and_the_bound_in_axes_of_ones_own() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    pool = Pool(np.random.default_rng(0).random((100, 2)))
    runs = compare(pool, [UCB1(), Exp3()], ["random", "given"], repetitions=2, seed=1)
    chart = runs.chart(orders=["random", "given"], learners=["UCB1"], bound=True)
    assert [band.name for band in chart.bands] == ["UCB1, random", "UCB1, given"]
    (line,) = chart.lines
    assert line.y.tolist() == [UCB1().bound(2, 100)] * 2, "proved in random order only"
    assert runs.plot(ax=axes[1], orders=["random", "given"], learners=["UCB1"], bound=True) is axes[1].figure
    assert (len(axes[0].lines), len(axes[1].lines)) == (0, 3)
    assert not runs.chart(bound=False).lines
    assert not compare(pool, [UCB1()], repetitions=2, delay=[1] * 100, seed=1).chart(bound=True).lines
