"""Report of a race: numbers, JSON and the HTML page."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from browser import needs_browser
from race_cases import NAMES, answer_all, finish_files, start_file
from tombola.cli.race import app
from tombola.racing import Event, Race, race
from tombola.racing.page import survivor_chart
from tombola.racing.report import RaceReport, run_times

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize(
    "asked", [{}, {"top": 2}, {"baseline": "a", "better": True}, {"within": 0.25}]
)
def test_page_of_one_row(asked: Any) -> None:
    """What is certain after the first row has a wealth without end from the start."""
    losses = {"a": 0.0, "b": 0.5, "c": 1.0}
    race = answer_all(Race("abc", 1, seed=1, **asked), losses)
    page = RaceReport.from_race(race).to_html()
    assert ("Within 0.25 of the best: a" in page) == ("within" in asked and len(race.active) > 1)
    assert ("0: certain" in page) == ("for certain: the whole table is known" in race.verdict)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_calls": 3}, "The question is about"),
        ({"max_calls": 3}, "Nothing is claimed, so there is nothing that could be wrong."),
        ({}, "Nothing is claimed yet, so there is nothing that could be wrong."),
    ],
)
def test_page_of_open_race_says_that_nothing_is_claimed(limits: Any, words: str) -> None:
    race = Race("abc", 100, seed=1, answers="fixed", **limits)
    for call in race.calls(3):
        race.record(call, loss=0.5)
    page = RaceReport.from_race(race).to_html()
    assert "nothing is claimed" in page
    assert words in page
    assert "is wrong with probability" not in page


def test_page_says_how_probable_an_error_is() -> None:
    losses = {"a": 0.0, "b": 1.0}
    proved = answer_all(Race("ab", 4_000, seed=1, answers="fixed"), losses)
    page = RaceReport.from_race(proved).to_html()
    assert "It is wrong with probability at most 0.05, however often" in page
    assert "Its only assumption is that tombola shuffled" in page
    certain = answer_all(Race("ab", 1, seed=1, answers="fixed"), losses)
    page = RaceReport.from_race(certain).to_html()
    assert "It is certain, in whatever order the rows came." in page
    assert "is wrong with probability" not in page
    assert "assumption" not in page


def test_counts_of_page_with_answers_on_file_add_up() -> None:
    """Of 600 cells 200 are on file; the pilot asks some of the others twice."""
    known = np.full((300, 2), np.nan)
    known[:200, 0] = 0.0
    race = Race("ab", 300, seed=1, known=known)
    for _ in range(3):
        for call in race.calls(8):
            race.record(call, loss=0.1 * (call.candidate == "b"))
    extra = len(race.pilot)
    called = race.calls_answered - extra
    assert extra > 0
    page = RaceReport.from_race(race).to_html()
    assert (
        f"The table has 600 cells: 200 on file, {called} answered by calls, {400 - called} "
        f"without an answer. {extra} calls of the pilot filled no cell."
    ) in page
    assert "was never asked" not in page
    assert "rows counted, of 300" in page
    assert "Pilot (" in page
    assert " in mean loss on the rows counted; " in race.verdict
    axes = race.plot("lanes").axes[0]
    assert axes.get_xlabel() == "rows counted, of 300 in random order"
    assert axes.texts[-1].get_text().endswith(" of 600 answers not counted")


def test_sentence_on_many_candidates_names_the_leaders_and_counts_the_rest() -> None:
    names = [f"c{number:02d}" for number in range(20)]
    race = Race(names, 2_000, seed=1, answers="fixed")
    while not race.dropped:
        for call in race.calls():
            number = int(call.candidate[1:])
            loss = 1.0 if number < 2 else 0.3 - number / 1_000
            race.record(call, loss=loss)
    assert len(race.active) == 18
    assert (
        "the best of 20 candidates is among c19, c18, c17 and 15 more (18 of 20 are left, 2 out) on"
    ) in race.verdict


def test_gate_highlights_candidates_that_passed() -> None:
    race = answer_all(
        Race(["old", "new", "bad"], 40, seed=1, baseline="old", better=True),
        {"old": 0.5, "new": 0.0, "bad": 1.0},
    )
    page = RaceReport.from_race(race).to_html()
    assert [f'class="name first">{name}<' in page for name in ("old", "new", "bad")] == [
        False,
        True,
        False,
    ]
    assert ">baseline<" in page
    assert [word in race._repr_html_() for word in ("baseline", "passed", "failed", "behind")] == [
        True
    ] * 3 + [False]


def test_a_gate_says_over_which_rows_a_difference_is() -> None:
    """The means of a list and the difference in the answer are over different rows."""
    race = Race(["old", "new", "bad"], 40, seed=1, baseline="old", better=True)
    losses = {"old": 0.5, "new": 0.4, "bad": 1.0}
    race = answer_all(race, losses)
    assert race.whole.rule.state.drop_row[2] < race.rows_counted
    page = RaceReport.from_race(race).to_html()
    assert "compares both on the same rows, those up to the decision" in page
    assert f"the mean of old here is over all {race.rows_counted} rows counted." in page
    best = answer_all(Race(["old", "new"], 40, seed=1), losses)
    assert "compares both" not in RaceReport.from_race(best).to_html()


def test_report_of_file(tmp_path: Path) -> None:
    with start_file(tmp_path / "my.race") as file:
        finish_files(file)
        report = RaceReport.from_file(file)
    found = report.race
    for one in found.dropped:
        wealth = found.wealth[:, NAMES.index(one.candidate)]
        assert np.isfinite(wealth[: one.row]).all()
        assert np.isnan(wealth[one.row :]).all()
        assert wealth[one.row - 1] == one.wealth or math.isinf(one.wealth)
    [steps] = survivor_chart(report).bands
    assert (steps.middle[0], steps.middle[-1]) == (3, len(found.active))
    assert steps.x[-1] <= found.calls_made
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["verdict"] == found.verdict
    assert data["cost_saved_estimate"] == pytest.approx(0.25 * found.calls_left)
    assert data["candidates"][0]["name"] == "low"


LETTERS = """[...document.querySelectorAll("figure svg text")]
  .filter((one) => one.getClientRects().length)
  .map((one) => one.getBoundingClientRect())
  .map((box) => [box.height, box.left, box.right - innerWidth])"""


@needs_browser
@pytest.mark.parametrize("count", [3, 240])
def test_page_fits_phone(browser: Any, tmp_path: Path, count: int) -> None:
    names = [f"vendor/some-long-name-{number:03d}-instruct" for number in range(count)]
    place = tmp_path / "race.html"
    found = race(
        names,
        range(60),
        lambda name, row: float(name > names[1] or (name, row % 3) == (names[1], 0)),
        kind="losses",
        seed=1,
        workers=1,
    )
    place.write_text(RaceReport.from_race(found).to_html(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(place.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    letters = page.evaluate(LETTERS)
    assert len(letters) > 10
    for size, left, beyond in letters:
        assert size > 9
        assert left >= 0
        assert beyond <= 0


@needs_browser
@pytest.mark.parametrize("width", [400, 1280])
def test_all_bars_have_the_scale_of_the_axis(browser: Any, tmp_path: Path, width: int) -> None:
    """Each row had a grid of its own: a longer number made its bar shorter."""
    known = np.array([[8.25, 1.0]] * 20 + [[math.nan, 1.0]] * 20)
    race = Race(["good", "bad"], 40, known=known, seed=1, kind="scores", range=(0, 10))
    place = tmp_path / "race.html"
    place.write_text(RaceReport.from_race(race).to_html(), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(place.as_uri())
    boxes = page.evaluate(
        """[...document.querySelectorAll(".rows .track, .rows .ticks")]
          .map((one) => one.getBoundingClientRect()).map((box) => `${box.left} ${box.width}`)"""
    )
    assert len(boxes) == 3
    assert len({*boxes}) == 1


@pytest.mark.parametrize("count", [2, 3, 40])
def test_page_escapes_names(count: int) -> None:
    names = [f"<script>alert({number})</script>" for number in range(count)]
    found = race(
        names,
        [f"r{i}" for i in range(30)],
        lambda name, row: min(1.0, names.index(name) / 9 + 0.05),
        kind="losses",
        seed=1,
        progress=False,
        workers=1,
    )
    page = replace(RaceReport.from_race(found), name="<b>.race").to_html()
    assert "<script>alert" not in page
    assert "<b>.race" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg") == (2 if found.rows_counted else 0)


@pytest.mark.parametrize("asked", [{}, {"top": 2}, {"candidate": "b"}])
def test_page_of_ranks(asked: Any) -> None:
    running = Race("abc", 90, seed=1, question="ranks", **asked)
    assert "Ranks" in RaceReport.from_race(running).to_html()
    finished = answer_all(running, {"a": 0.0, "b": 0.5, "c": 1.0})
    report = RaceReport.from_race(finished)
    page = report.to_html()
    assert (
        page.count('<li class="good"><span class="name">') // 2
        == len(finished.rank_sets)
        == (1 if asked.get("candidate") else 3)
    )
    assert 'title="b: rank 2, mean 0.5"' in page
    assert "b has rank 2" in page if asked.get("candidate") else "In order: a, b" in page
    assert "Wealth of the bet" not in page
    ranks = {
        one["name"]: one["ranks"]
        for one in json.loads(json.dumps(report.to_json(), allow_nan=False))["candidates"]
    }
    assert ranks["b"] == [2, 2]
    assert (ranks["a"] is None) == bool(asked.get("candidate"))


def test_title_of_final_answer_with_open_groups() -> None:
    """The question is answered for the list, and still open for a group of few rows."""
    race = Race("ab", 60, seed=1, strata=["many"] * 56 + ["few"] * 4, max_calls=90)
    while not race.whole.proved:
        for call in race.calls():
            race.record(call, loss=float(call.candidate == "b") if call.row_index < 56 else 0.5)
    for limit, state in ((90, "in progress"), (race.calls_made, "undecided")):
        race.settings = replace(race.settings, max_calls=limit)
        assert (race.proved, race.whole.proved, race.done) == (None, True, state == "undecided")
        for page in (RaceReport.from_race(race).to_html(), race._repr_html_()):
            assert f"The best: a; parts {state}" in page


def test_page_of_answers_on_file() -> None:
    """Before the first row there are means instead of empty charts; later there are both."""
    known = np.array([[8.2, 1.1]] * 20 + [[math.nan] * 2] * 20)
    race = Race(["good", "bad"], 40, known=known, seed=1, kind="scores", range=(0, 10))
    page = RaceReport.from_race(race).to_html()
    assert "<svg" not in page
    for words in (
        "Means so far",
        "8.2 (20 of 40)",
        "mean score 8.2 on 20 of 40 rows, from 4.1 to 9.1 on all",
    ):
        assert words in page
    # Converting 1.1 to a loss and back gives 1.0999999999999996.
    assert [one["mean"] for one in RaceReport.from_race(race).to_json()["candidates"]] == [8.2, 1.1]
    answer_all(race, {"good": 0.0, "bad": 1.0})
    assert RaceReport.from_race(race).to_html().count("<svg") == 2 * (race.rows_counted >= 3)


def test_par10_counts_timeouts_and_failures_ten_times() -> None:
    race = Race(["a", "b"], rows=3, seed=1)
    # Tickets 1, 3, 5 belong to the first candidate, 2, 4, 6 to the second.
    answers = [(1, 0.25, 15.0, False), (3, 1.0, 60.0, False), (5, None, 2.0, True)]
    events = [Event("call", 1), *(Event("answer", *one) for one in answers)]
    first, second = run_times(race, events, 60.0)
    assert (first.calls, first.seconds, first.timeouts, first.failures) == (3, 77.0, 1, 1)
    assert first.par10 == pytest.approx((15 + 600 + 600) / 3)
    assert (second.calls, second.seconds, second.timeouts) == (0, 0.0, 0)
    assert math.isnan(second.par10)


def test_race_status_prints_run_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("0.01\n0.02\n")
    command = [
        "run",
        "rows.txt",
        "--candidate",
        "fast=true {row}",
        "--candidate",
        "slow=sh -c 'sleep 3' {row}",
    ]
    options = [
        "--loss",
        "seconds",
        "--cap",
        "0.5",
        "--file",
        "t.race",
        "--seed",
        "1",
        "--quiet",
        "--json",
    ]
    CliRunner().invoke(app, [*command, *options])
    said = CliRunner().invoke(app, ["status", "t.race", "--json"])
    times = {one["name"]: one for one in json.loads(said.output)["run_times"]}
    assert times["slow"]["timeouts"] == times["slow"]["calls"] >= 1
    assert times["slow"]["par10"] == 5.0
    assert times["fast"]["timeouts"] == 0
    assert "PAR10" in CliRunner().invoke(app, ["status", "t.race"]).output
