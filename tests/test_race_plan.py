"""`tombola race plan` and `plan`: the same figures in words, as JSON and in Python; errors in one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Run
from tombola.pool import Pool
from tombola.racing import Race, plan
from tombola.streams import repetitions


@pytest.fixture
def losses(tmp_path: Path) -> Path:
    table = (np.random.default_rng(0).random((120, 3)) < [0.1, 0.5, 0.6]).astype(int)
    path = tmp_path / "losses.csv"
    path.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in table) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def cli(run_python: Run) -> Callable[..., Any]:
    return lambda *words: run_python("-c", "import tombola.cli; tombola.cli.main()", "race", *words)


def test_words_and_json_say_the_same(losses: Path, cli: Callable[..., Any]) -> None:
    words = cli("plan", str(losses), "--shuffles", "20", "--level", "0.1,0.05")
    assert words.returncode == 0, words.stderr
    data = json.loads(cli("plan", str(losses), "--shuffles", "20", "--level", "0.1,0.05", "--json").stdout)
    assert data["everything"] == 360
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
    for seed, outcome in zip(repetitions(4, 3), one.outcomes, strict=True):
        race = Race(pool.actions, 80, seed=0)
        from tombola.order import rows_in
        from tombola.streams import Streams

        race._order = rows_in("random", 80, Streams(seed).order()).tolist()
        while not race.done:
            for call in race.calls():
                race.record(call, loss=table[call.place, "abc".index(call.candidate)])
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
