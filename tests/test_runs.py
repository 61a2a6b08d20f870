"""Runs: statistics, tables and plots of repeated plays."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tombola import UCB1, Exp3, FixedAction, FollowTheLeader, Pool, Runs, compare
from tombola._types import Floats
from tombola.errors import ParameterError, TombolaWarning
from tombola.learners import Uniform
from tombola.report.figures import save
from tombola.runs import Cell, Entry

ROWS, K = 30, 3
TWO = [FollowTheLeader(), Exp3()]


def pool(seed: int = 0, rows: int = ROWS) -> Pool:
    return Pool(np.random.default_rng(seed).integers(0, 9, (rows, K)) / 8)


def test_expected_regret_averages_over_randomness() -> None:
    runs = compare(pool(), [Uniform()], repetitions=3, seed=0)
    exact = float(pool().losses.mean(axis=1).sum() - pool().totals.min())
    assert runs.regrets("Uniform", expected=True).tolist() == pytest.approx([exact] * 3)
    assert runs.regrets("Uniform").tolist() != pytest.approx([exact] * 3)


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
def test_slope_of_exact_powers(power: float) -> None:
    horizons = [10, 30, 100, 1000]
    found = runs_of(a={T: np.full(4, 3.0 * T**power) for T in horizons}).slope("a")
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low <= found.value <= found.high
    assert found.half_width < 0.01


def test_ranking_and_text_are_sorted_by_regret() -> None:
    runs = runs_of(
        bad={9: np.array([5.0, 6.0])},
        good={9: np.array([1.0, 2.0])},
        fair={9: np.array([3.0, 3.5])},
    )
    assert runs.ranking() == ["good", "fair", "bad"]
    lines = str(runs).splitlines()
    assert lines[0] == "random order, 9 rows"
    assert [line.split()[0] for line in lines[1:]] == ["good", "fair", "bad"]
    assert ["above the first" in line for line in lines[1:]] == [False, True, True]


def test_columns_and_frames(monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert {name: frame[name].to_list() for name in columns} == {
            n: list(values) for n, values in columns.items()
        }
    end = pandas[(pandas.learner == "Exp3") & (pandas.order == "iid") & (pandas["round"] == ROWS)]
    assert end.regret.tolist() == runs.regrets("Exp3", "iid").tolist()
    price = end.loss + 0.5 * end.switches - end.comparator_loss
    assert price.tolist() == pytest.approx(end.regret.tolist())
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ParameterError, match="expected pandas or polars"):
        runs.to_frame()


@pytest.mark.parametrize(
    "runs",
    [
        lambda: compare(pool(), TWO, repetitions=3, seed=0),
        lambda: compare(pool(), [FixedAction(0)], repetitions=1, relabel=False, seed=0),
        lambda: compare(
            [pool(rows=rows) for rows in (5, 10, 20)], [Uniform(), UCB1()], repetitions=2, seed=0
        ),
        lambda: compare(
            [Pool([[1, 0]] * r) for r in (5, 9, 20)], [FixedAction(1)], relabel=False, seed=0
        ),
    ],
    ids=["rounds", "one repetition", "horizons", "no regret"],
)
def test_plot_as_png_and_svg(runs: Callable[[], Runs], tmp_path: Path) -> None:
    found = runs()
    one, two = (save(found.plot(), tmp_path / "new" / f"{i}.png").read_bytes() for i in range(2))
    assert one == two
    assert one.startswith(b"\x89PNG")
    assert b"<svg" in save(found.plot(), tmp_path / "plot.svg").read_bytes()[:1000]
    assert "regret" in found.plot().axes[0].get_ylabel()


def test_plot_of_several_orders_with_bound() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    pool = Pool(np.random.default_rng(0).random((100, 2)))
    runs = compare(pool, [UCB1(), Exp3()], ["random", "given"], repetitions=2, seed=1)
    chart = runs.chart(orders=["random", "given"], learners=["UCB1"], bound=True)
    assert [band.name for band in chart.bands] == ["UCB1, random", "UCB1, given"]
    (line,) = chart.lines
    assert line.y.tolist() == [UCB1().bound(2, 100)] * 2, "proved in random order only"
    assert (
        runs.plot(ax=axes[1], orders=["random", "given"], learners=["UCB1"], bound=True)
        is axes[1].figure
    )
    assert (len(axes[0].lines), len(axes[1].lines)) == (0, 3)
    assert not runs.chart(bound=False).lines
    late = compare(pool, [UCB1()], repetitions=2, delay=[1] * 100, seed=1)
    with pytest.warns(TombolaWarning, match="got none for UCB1 in random order"):
        assert not late.chart(bound=True).lines
