"""`tombola race plan` and `plan`: the same figures in words, as JSON and in Python; errors in one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Run
from tombola.errors import ParameterError
from tombola.pool import Pool
from tombola.racing import Race, plan
from tombola.rng import repetition_seeds


@pytest.fixture
def losses(tmp_path: Path) -> Path:
    table = (np.random.default_rng(0).random((120, 3)) < [0.1, 0.5, 0.6]).astype(int)
    path = tmp_path / "losses.csv"
    path.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in table) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def cli(run_python: Run) -> Callable[..., Any]:
    return lambda *words: run_python("-c", "import tombola.cli.app; tombola.cli.app.main()", "race", *words)


def test_words_and_json_say_the_same(losses: Path, cli: Callable[..., Any]) -> None:
    words = cli("plan", str(losses), "--shuffles", "20", "--level", "0.1,0.05")
    assert words.returncode == 0, words.stderr
    data = json.loads(cli("plan", str(losses), "--shuffles", "20", "--level", "0.1,0.05", "--json").stdout)
    assert data["total_calls"] == 360
    assert [race["level"] for race in data["races"]] == [0.1, 0.05]
    for race in data["races"]:
        assert race["answers"] == [{"candidates": ["a"], "shuffles": 20}]
        assert race["wrong"] == 0
        assert race["calls_low"] <= race["calls"] <= race["calls_high"] < 360
        assert f"{race['calls']:,.0f}" in words.stdout
    assert "answer at level 0.05: a (100 % of shuffles)" in words.stdout


@pytest.mark.parametrize(
    "wrong", [["--level", "0"], ["--level", "x"], ["--baseline", "nobody"], ["--top", "3"], ["--within", "2"]]
)
def test_bad_input_is_one_sentence(losses: Path, cli: Callable[..., Any], one_sentence: Any, wrong: list[str]) -> None:
    done = cli("plan", str(losses), *wrong)
    assert done.returncode == 2
    assert done.stdout == ""
    one_sentence(done.stderr.strip().removeprefix("tombola: "))


def test_a_plan_is_the_live_race_on_the_same_shuffles() -> None:
    table = (np.random.default_rng(1).random((80, 3)) < [0.2, 0.4, 0.6]).astype(float)
    pool = Pool(table, actions=["a", "b", "c"])
    [one] = plan(pool, seed=4, shuffles=3)
    for seed, outcome in zip(repetition_seeds(4, 3), one.outcomes, strict=True):
        race = Race(pool.actions, 80, seed=0)
        from tombola.order import draw_order
        from tombola.rng import RngStreams

        race._order = draw_order("random", 80, RngStreams(seed).order()).tolist()
        while not race.done:
            for call in race.calls():
                race.record(call, loss=table[call.row_index, "abc".index(call.candidate)])
        assert (race.calls_made, race.rows_counted, race.answer) == (outcome.calls, outcome.rows, outcome.answer)


def test_a_plan_answers_the_other_questions_too() -> None:
    pool = Pool((np.random.default_rng(1).random((150, 3)) < [0.1, 0.15, 0.8]).astype(float), actions=["a", "b", "c"])
    [top] = plan(pool, seed=1, shuffles=5, top=2)
    assert top.answers == [(("a", "b"), 5)]
    [gate] = plan(pool, seed=1, shuffles=5, baseline="c")
    assert gate.answers == [(("a", "b"), 5)]
    [near] = plan(pool, seed=1, shuffles=5, within=0.2)
    assert near.wrong == 0
    assert near.share < 1


@pytest.fixture
def invoke(tmp_path: Path) -> Callable[..., str]:
    """Return the command, run in this process on a table of numbers from 0 to 100."""
    from typer.testing import CliRunner

    from tombola.cli.race import app

    table = np.repeat([[0.0, 3.0], [100.0, 100.0]], 20, axis=0)
    table[:4, 1] = 0.0
    path = tmp_path / "percent.csv"
    path.write_text("id,a,b\n" + "\n".join(f"r{i},{a},{b}" for i, (a, b) in enumerate(table)) + "\nx,,3\n")

    def run(*words: str) -> str:
        done = CliRunner().invoke(
            app, ["plan", str(path), "--rescale", "--missing", "drop", "--shuffles", "4", "--workers", "1", *words]
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.stdout

    return run


@pytest.mark.usefixtures("plainly")
def test_what_is_near_enough_is_in_the_unit_of_the_table(invoke: Callable[..., str], one_sentence: Any) -> None:
    """The means differ by 1.2 of 100: within 0.5 there is only one answer, within 1.5 it is not even asked for long."""
    near, far = (json.loads(invoke("--within", within, "--json"))["races"][0] for within in ("1.5", "0.5"))
    assert far["answers"] == [{"candidates": ["a"], "shuffles": 4}]
    assert near["calls"] < far["calls"]
    assert json.loads(invoke("--within", "50", "--json"))["races"][0]["calls"] < 60
    with pytest.raises(ParameterError) as refused:
        invoke("--within", "100")
    assert "less than 100, as the numbers are from 0 to 100" in one_sentence(refused.value)


@pytest.mark.usefixtures("plainly")
def test_a_plan_says_what_was_done_to_the_table(invoke: Callable[..., str]) -> None:
    said = " ".join(invoke("--losses").split())
    assert "note: dropped 1 of 41 rows, which have missing cells" in said
    assert "note: losses rescaled from [0, 100], the smallest and the largest, to [0, 1]" in said
    assert "dropped 1 of 41 rows, which have missing cells" in json.loads(invoke("--json"))["notes"]


def test_names_on_two_lines_are_refused(invoke: Callable[..., str], one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        invoke("--ignore", "a\nb")
    one_sentence(refused.value)
