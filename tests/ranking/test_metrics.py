"""Tables to rank from paths, data frames and several files, each read once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import rank, read_table
from tombola.errors import ParameterError, TableError
from tombola.ranking.metrics import read_candidates, read_metrics
from tombola.ranking.page import _points_to_name, scatter_chart
from tombola.ranking.result import MetricsRanking
from tombola.report.chart import Point
from tombola.report.figures import draw_chart
from tombola.tables.formats import read_file
from tombola.tables.options import ReadOptions

RIGHT = (np.random.default_rng(0).random((80, 3)) < [0.9, 0.6, 0.3]).astype(int)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [f"r{i},t{i // 4},{','.join(map(str, row))}" for i, row in enumerate(RIGHT)]
    file = tmp_path / "answers.csv"
    file.write_text("\n".join(["id,talk,large,middle,small", *lines]))
    return file


def test_path_is_ranked_like_its_table(path: Path) -> None:
    ranking = rank(path, kind="scores", clusters="talk")
    labels = [f"t{i // 4}" for i in range(80)]
    answers = read_table(path, kind="scores", ignore=["talk"])
    assert ranking.to_json() == rank(answers, clusters=labels).to_json()
    assert ranking.clusters == 20
    assert str(ranking).startswith("Read as scores: higher is better.")
    assert all(statement.caption in str(ranking) for statement in ranking.statements)
    assert "</html>" in ranking.to_page()
    with pytest.raises(TableError, match="can be either"):
        rank(path)


def test_clusters_of_a_data_frame_are_a_column(path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path)
    ranking = rank(frame, kind="scores", clusters="talk")
    assert ranking.to_json() == rank(path, kind="scores", clusters="talk").to_json()


def test_a_table_with_clusters_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def counted(file: str, options: Any) -> Any:
        reads.append(file)
        return read_file(file, options)

    monkeypatch.setattr("tombola.tables.table.read_file", counted)
    rank(path, kind="scores", clusters="talk")
    assert reads == [str(path)]


def test_metrics_have_the_candidates_of_the_first(path: Path, tmp_path: Path) -> None:
    price = tmp_path / "price.csv"
    rows = [f"r{i},t{i // 4},1,9,4" for i in range(80)]
    price.write_text("\n".join(["id,talk,small,large,middle", *rows]))
    metrics = read_metrics({"right": path, "price": price}, ReadOptions(ignore=["talk"]))
    assert metrics["price"].names == metrics["right"].names == ("large", "middle", "small")
    assert metrics["price"].values[0].tolist() == [9, 4, 1]
    ranking = rank(
        {"right": path, "price": price},
        kind={"right": "scores", "price": "losses"},
        range={"price": (0, 10)},
        clusters="talk",
        reading="recorded",
    )
    assert ranking.front() == ["large", "middle", "small"]
    with pytest.raises(ParameterError, match="direction of each metric, got none of 'price'"):
        rank({"right": path, "price": price}, kind={"right": "scores"})
    assert "on the front: large, middle and small or fewer" in ranking.statements[0].short


def test_missing_answers_are_kept_and_lead_to_a_race(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join([*lines[:40], *(f"{line.rpartition(',')[0]}," for line in lines[40:])])
    )
    candidates = read_candidates(path, ReadOptions(kind="scores", ignore=["talk"]))
    assert np.isnan(candidates.values[39:, 2]).all()
    assert [command.split()[:3] for _, command in candidates.next_steps] == [
        ["tombola", "race", "start"]
    ]


def test_names_in_the_scatter_have_lines_of_their_own() -> None:
    """The ends of the front are named; two names are a line apart."""
    front = [Point(f"model {number}", number / 40, -(number**2) / 1600) for number in range(41)]
    named = _points_to_name(front, 0.06)
    assert front[0] in named
    assert front[-1] in named
    heights = sorted(point.y for point in named)
    assert 5 < len(named) < len(front)
    assert min(np.diff(heights)) >= 0.06
    assert _points_to_name(front[:1], 0.06)[0] == front[0]


def test_names_in_the_scatter_cover_no_point_and_no_name() -> None:
    """Names stand on the better side of the front, with room up to the edge of the axes."""
    rng = np.random.default_rng(4)
    ability = np.linspace(0.3, 0.8, 58)
    accuracy = (rng.random((400, 58)) < ability).astype(float)
    price = np.tile(ability**2 / 2 + rng.random(58) / 5, (400, 1))
    names = [f"organisation/model-{number}" for number in range(58)]
    metrics = {
        "accuracy": rank(accuracy, names=names, kind="scores"),
        "price": rank(price, names=names, kind="losses"),
    }
    found = MetricsRanking(metrics, level=0.05)
    figure = draw_chart(scatter_chart(found), titled=False)
    figure.canvas.draw()
    axes = figure.axes[0]
    labels = [text.get_window_extent() for text in axes.texts if text.get_text().startswith("org")]
    dots = [
        axes.transData.transform(np.asarray(line.get_xydata())[0])
        for line in axes.lines
        if line.get_marker() == "o"
    ]
    assert len(labels) > 2
    assert len(dots) == 58
    for box in labels:
        assert not any(box.contains(*dot) for dot in dots)
        assert sum(box.overlaps(other) for other in labels) == 1
        assert box.x1 <= axes.bbox.x1
    low, high = axes.get_xlim()
    assert sum(low <= tick <= high for tick in axes.get_xticks()) > 2
