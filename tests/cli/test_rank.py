"""`tombola rank`: readings, clusters, pairs, pages and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tombola.cli.app import app
from tombola.errors import ParameterError, TableError

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of right and wrong answers of three models, with a column of conversations."""
    generator = np.random.default_rng(0)
    right = (generator.random((120, 3)) < [0.9, 0.6, 0.3]).astype(int)
    lines = ["id,talk,small,middle,large", *(f"r{i},t{i // 2},{a},{b},{c}" for i, (a, b, c) in enumerate(right))]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*words: object) -> str:
    done = CliRunner().invoke(app, ["rank", *map(str, words)])
    if done.exception:
        raise done.exception
    return done.output


def test_direction_is_asked_for_with_both_answers(table: Path) -> None:
    with pytest.raises(TableError, match=r"scores.* if higher is better, .*losses.* if lower"):
        run(table, "--clusters", "talk")


def test_scores_rank_the_best_first(table: Path) -> None:
    output = run(table, "--scores", "--ignore", "talk", "--pair", "small,large")
    assert output.startswith("Read as scores: higher is better.\n")
    assert output.index("small") < output.index("middle") < output.index("large")
    assert "small is before large (beyond this list)." in output


def test_json_and_page_with_clusters(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranks.html"
    facts = json.loads(run(table, "--scores", "--clusters", "talk", "--json", "--out", out))
    assert facts["clusters"] == 60
    assert facts["readings"][0]["candidates"][0]["candidate"] == "small"
    assert "</html>" in out.read_text(encoding="utf-8")


def test_partly_filled_table_is_ranked(table: Path) -> None:
    lines = table.read_text().splitlines()
    keep = set(np.random.default_rng(1).permutation(np.arange(1, 121))[:60].tolist())
    blank = [
        line if i in keep or i == 0 else ",".join([*line.split(",")[:2], "", "", ""]) for i, line in enumerate(lines)
    ]
    table.write_text("\n".join(blank) + "\n")
    output = run(table, "--scores", "--ignore", "talk")
    assert "On this list: from 60 rows in random order" in output
    assert "Beyond" not in output


def test_pair_needs_two_names(table: Path) -> None:
    with pytest.raises(ParameterError, match="--pair A,B"):
        run(table, "--scores", "--ignore", "talk", "--pair", "small")
